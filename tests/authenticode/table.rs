//! Files, good and bad, with the verdict that each must get.

use std::path::{Path, PathBuf};

use imagegen::verify::authenticode::{FileKind, SignatureDemand};
use imagegen::verify::chain::parse_roots;
use rustls_pki_types::UnixTime;

use super::der::Node;
use super::policy;
use super::workshop::{AFTER, BEFORE, NOW, THEN, Workshop, catalog, pe};

pub struct Row {
    pub name: String,
    pub kind: FileKind,
    pub bytes: Vec<u8>,
    pub policy: SignatureDemand,
    pub root: &'static str,
    /// The publisher of the policy, as a flag names it.
    pub publisher: Option<String>,
    /// `ok`, or the code.
    pub expected: &'static str,
    /// Why osslsigncode accepts it and this program does not.
    pub stricter: Option<&'static str>,
    /// Why it is the other way round.
    pub looser: Option<&'static str>,
}

impl Row {
    /// The name by which osslsigncode tells what it is.
    pub fn file(&self) -> String {
        match self.kind {
            FileKind::Pe => "row.exe",
            FileKind::Msi => "row.msi",
            FileKind::PowerShell => "row.ps1",
            FileKind::Cab => "row.cab",
            FileKind::Cat => "row.cat",
        }
        .to_owned()
    }
}

const STAMP: &str = "1.3.6.1.4.1.311.3.3.1";
const NESTED: &str = "1.3.6.1.4.1.311.2.4.1";
const COUNTER: &str = "1.2.840.113549.1.9.6";
const DIGEST: &str = "1.2.840.113549.1.9.4";
const CONTENT: &str = "1.2.840.113549.1.9.3";

struct Table<'a> {
    workshop: &'a Workshop,
    rows: Vec<Row>,
}

impl Table<'_> {
    fn row(
        &mut self,
        name: &str,
        kind: FileKind,
        bytes: Vec<u8>,
        expected: &'static str,
    ) -> &mut Row {
        let policy = policy(self.workshop, "root");
        let (name, root) = (name.to_owned(), "root");
        self.rows.push(Row {
            name,
            kind,
            bytes,
            policy,
            root,
            publisher: None,
            expected,
            stricter: None,
            looser: None,
        });
        self.rows.last_mut().unwrap()
    }

    fn pe(&mut self, name: &str, bytes: Vec<u8>, expected: &'static str) -> &mut Row {
        self.row(name, FileKind::Pe, bytes, expected)
    }

    fn signed_by(&mut self, leaf: &str, expected: &'static str) -> &mut Row {
        let bytes = self.workshop.sign("s.exe", &pe(true), leaf, &[]);
        self.pe(&format!("signed by {leaf}"), bytes, expected)
    }

    /// A signed image whose signature was changed.
    fn changed(
        &mut self,
        name: &str,
        expected: &'static str,
        change: impl FnOnce(&mut Node),
    ) -> &mut Row {
        let bytes = self
            .workshop
            .stamped("s.exe", &pe(true), "leaf", "tsa", THEN);
        let mut signature = signature(&bytes);
        change(&mut signature);
        self.pe(
            name,
            with_signature(&pe(true), &signature.bytes()),
            expected,
        )
    }
}

impl Row {
    fn stricter(&mut self, why: &'static str) -> &mut Self {
        self.stricter = Some(why);
        self
    }

    fn named(&mut self, name: &str) -> &mut Self {
        name.clone_into(&mut self.name);
        self
    }

    fn publisher(&mut self, text: &str) -> &mut Self {
        self.policy.publisher = Some(text.parse().unwrap());
        self.publisher = Some(text.to_owned());
        self
    }

    fn at(&mut self, time: UnixTime) -> &mut Self {
        self.policy.at = time;
        self
    }
}

pub fn rows(workshop: &Workshop) -> Vec<Row> {
    let mut table = Table {
        workshop,
        rows: Vec::new(),
    };
    good(&mut table);
    leaves(&mut table);
    publishers(&mut table);
    tables(&mut table);
    signatures(&mut table);
    timestamps(&mut table);
    nested(&mut table);
    policies(&mut table);
    scripts(&mut table);
    packages(&mut table);
    cabinets(&mut table);
    catalogs(&mut table);
    table.rows
}

fn good(table: &mut Table<'_>) {
    let workshop = table.workshop;
    for (name, wide) in [("PE32+", true), ("PE32", false)] {
        let bytes = workshop.sign("s.exe", &pe(wide), "leaf", &[]);
        table.pe(name, bytes, "ok");
    }
    for digest in ["sha384", "sha512"] {
        let bytes = workshop.sign("s.exe", &pe(true), "leaf", &["-h", digest]);
        table.pe(digest, bytes, "ok");
    }
    let bytes = workshop.sign("s.exe", &pe(true), "leaf", &["-ph"]);
    table.pe("with page hashes", bytes, "ok");
    let mut odd = pe(true);
    odd.extend(b"an overlay of odd length");
    odd.push(1);
    let bytes = workshop.sign("s.exe", &odd, "leaf", &[]);
    table.pe("with an overlay", bytes, "ok");
    table.signed_by("leaf-ec", "ok");
    table.pe("unsigned", pe(true), "unsigned");
    let bytes = workshop.sign("s.exe", &pe(true), "leaf", &["-h", "sha1"]);
    table
        .pe("SHA-1", bytes.clone(), "sha1")
        .stricter("SHA-1 proves nothing unless a policy allows it");
    table.pe("SHA-1, allowed", bytes, "ok").policy.allow_sha1 = true;
    let bytes = workshop.sign("s.exe", &pe(true), "leaf", &["-h", "md5"]);
    table
        .pe("MD5", bytes, "algorithm")
        .stricter("MD5 is broken")
        .policy
        .allow_sha1 = true;
}

fn leaves(table: &mut Table<'_>) {
    table.signed_by("leaf-expired", "certificate-expired");
    table.signed_by("leaf-future", "certificate-not-yet-valid");
    table
        .signed_by("leaf-no-eku", "wrong-usage")
        .stricter("a certificate that does not say what it is for is for nothing");
    table.signed_by("leaf-server", "wrong-usage");
    table
        .signed_by("leaf-authority", "wrong-usage")
        .stricter("an authority does not sign code");
    table
        .signed_by("leaf-no-sign", "wrong-usage")
        .stricter("the key may not sign data");
    table
        .signed_by("leaf-1024", "weak-key")
        .stricter("RSA of 1024 bits is too short");
    table.signed_by("leaf-other-root", "untrusted-root");
    table
        .signed_by("leaf-sha1", "sha1")
        .stricter("a SHA-1 certificate needs a policy that allows it");
    let row = table.signed_by("leaf-sha1", "ok");
    row.policy.allow_sha1 = true;
    row.name += ", allowed";
}

fn publishers(table: &mut Table<'_>) {
    const NO_RULE: &str = "osslsigncode has no rule for names";
    let workshop = table.workshop;
    let full = "CN=Harness Publisher,O=Harness\\, Inc.,L=Timisoara,C=RO";
    for text in [
        full,
        "O=\"Harness, Inc.\"",
        "O=Harness\\, Inc., CN=Harness Publisher",
        "cn=Harness Publisher",
    ] {
        table.signed_by("leaf", "ok").publisher(text).name = format!("publisher {text}");
    }
    for text in [
        "O=Harness",
        "O=harness\\, inc.",
        "CN=Harness",
        "O=Harness Publisher",
        "OU=Harness\\, Inc.",
        "CN=Harness Publisher,O=Harness\\, Inc.,L=Cluj",
    ] {
        let row = table
            .signed_by("leaf", "publisher")
            .publisher(text)
            .stricter(NO_RULE);
        row.name = format!("publisher {text}");
    }
    table
        .signed_by("leaf-longer", "publisher")
        .publisher("O=Harness\\, Inc.")
        .stricter(NO_RULE);
    table
        .signed_by("leaf-two-names", "publisher")
        .publisher("O=Harness\\, Inc.")
        .stricter(NO_RULE);
    // The right name from another authority of the same name.
    table
        .signed_by("leaf-other-root", "untrusted-root")
        .publisher(full)
        .named("right name, other root");
    table
        .signed_by("leaf-twin", "chain-invalid")
        .publisher(full)
        .named("right name, other root of the same name");
    let pin = |name: &str| {
        parse_roots(&workshop.read(&format!("{name}.pem")))
            .unwrap()
            .remove(0)
            .sha256
    };
    for name in ["leaf", "authority"] {
        let row = table.signed_by("leaf", "ok");
        row.policy.certificates = vec![pin("leaf-ec"), pin(name).to_uppercase()];
        row.name = format!("pinned {name}");
    }
    let row = table
        .signed_by("leaf", "certificate-pin")
        .stricter("no such rule was given to osslsigncode");
    row.policy.certificates = vec![pin("leaf-ec")];
}

/// The signature in an image's table.
fn signature(image: &[u8]) -> Node {
    let (start, size) = place(image);
    let entry = &image[start..start + size];
    let length = usize::from(entry[10]) << 8 | usize::from(entry[11]);
    Node::parse(&entry[8..8 + 4 + length])
}

/// The table's place and size.
fn place(image: &[u8]) -> (usize, usize) {
    let word = |at: usize| u32::from_le_bytes(image[at..at + 4].try_into().unwrap()) as usize;
    (word(DIRECTORY), word(DIRECTORY + 4))
}

/// Of the table, in a PE32+ image of the workshop.
const DIRECTORY: usize = 0x40 + 24 + 112 + 32;

fn set(bytes: &mut [u8], at: usize, value: u32) {
    bytes[at..at + 4].copy_from_slice(&value.to_le_bytes());
}

fn number(value: usize) -> u32 {
    u32::try_from(value).unwrap()
}

/// An image with a table of its own.
fn with_table(image: &[u8], table: &[u8]) -> Vec<u8> {
    let mut bytes = image.to_vec();
    set(&mut bytes, DIRECTORY, number(image.len()));
    set(&mut bytes, DIRECTORY + 4, number(table.len()));
    bytes.extend(table);
    bytes
}

fn entry(content: &[u8]) -> Vec<u8> {
    let mut entry = number(8 + content.len()).to_le_bytes().to_vec();
    entry.extend([0, 2, 2, 0]);
    entry.extend(content);
    entry
}

fn padded(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().div_ceil(8) * 8, 0);
    bytes
}

fn with_signature(image: &[u8], signature: &[u8]) -> Vec<u8> {
    with_table(image, &entry(&padded(signature.to_vec())))
}

fn tables(table: &mut Table<'_>) {
    let workshop = table.workshop;
    let signed = workshop.sign("s.exe", &pe(true), "leaf", &[]);
    let (start, size) = place(&signed);
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = signed.clone();
        change(&mut bytes);
        bytes
    };
    let der = signature(&signed).bytes();
    let image = signed[..start].to_vec();
    let rebuilt = with_signature(&image, &der);
    assert_eq!(
        rebuilt[start..],
        signed[start..],
        "the table is made as osslsigncode makes it"
    );

    table.pe(
        "a flipped byte",
        changed(&|bytes| bytes[0x210] ^= 1),
        "file-digest",
    );
    table.pe(
        "another time stamp in the header",
        changed(&|bytes| bytes[0x48] ^= 1),
        "file-digest",
    );
    table.pe(
        "another checksum",
        changed(&|bytes| bytes[0x40 + 24 + 64] ^= 1),
        "ok",
    );
    table.pe(
        "appended bytes",
        changed(&|bytes| bytes.extend([0; 8])),
        "certificate-table",
    );
    table.pe(
        "cut off",
        changed(&|bytes| bytes.truncate(start + size - 8)),
        "certificate-table",
    );
    table.pe(
        "cut off in the table's header",
        changed(&|bytes| bytes.truncate(start + 4)),
        "certificate-table",
    );
    table.pe(
        "cut off in the headers",
        changed(&|bytes| bytes.truncate(0x60)),
        "file-malformed",
    );
    table.pe(
        "cut off in the DOS header",
        changed(&|bytes| bytes.truncate(0x3d)),
        "file-malformed",
    );
    table.pe(
        "offset over the end",
        changed(&|bytes| set(bytes, DIRECTORY, u32::MAX)),
        "certificate-table",
    );
    table.pe(
        "size over the end",
        changed(&|bytes| set(bytes, DIRECTORY + 4, u32::MAX)),
        "certificate-table",
    );
    table.pe(
        "size 0",
        changed(&|bytes| set(bytes, DIRECTORY + 4, 0)),
        "certificate-table",
    );
    table.pe(
        "offset in the headers",
        changed(&|bytes| set(bytes, DIRECTORY, 8)),
        "certificate-table",
    );
    for length in [0, 4, 8, number(size) + 8, u32::MAX] {
        let bytes = changed(&|bytes| set(bytes, start, length));
        table.pe(
            &format!("entry of length {length}"),
            bytes,
            "certificate-table",
        );
    }
    table.pe(
        "PE header beyond the end",
        changed(&|bytes| set(bytes, 0x3c, u32::MAX)),
        "file-malformed",
    );
    table.pe("no MZ", changed(&|bytes| bytes[0] = b'X'), "file-malformed");
    table.pe(
        "other magic",
        changed(&|bytes| bytes[0x40 + 24] = 7),
        "file-malformed",
    );
    table.pe(
        "type 1",
        changed(&|bytes| bytes[start + 6] = 1),
        "certificate-table",
    );
    table.pe(
        "revision 1",
        changed(&|bytes| bytes[start + 5] = 1),
        "certificate-table",
    );
    let fewer = changed(&|bytes| set(bytes, 0x40 + 24 + 108, 4));
    table.pe("no directory for a table", fewer, "unsigned");
    let middle = changed(&|bytes| {
        let moved = bytes[start..].to_vec();
        bytes.extend(moved);
        bytes[start..start + size].fill(0);
    });
    table.pe("table in the middle", middle, "certificate-table");
    payloads(table, &image, &der);
}

fn payloads(table: &mut Table<'_>, image: &[u8], der: &[u8]) {
    const HOLE: &str = "CVE-2013-3900: bytes beside the signature that nothing covers";
    let payload = [padded(der.to_vec()), vec![0x90; 64]].concat();
    table
        .pe(
            "64 bytes behind the signature",
            with_table(image, &entry(&payload)),
            "padding",
        )
        .stricter(HOLE);
    let zeros = [padded(der.to_vec()), vec![0; 8]].concat();
    table
        .pe(
            "eight more zeros",
            with_table(image, &entry(&zeros)),
            "padding",
        )
        .stricter(HOLE);
    let mut full = der.to_vec();
    full.resize(
        der.len().div_ceil(8) * 8 + if der.len().is_multiple_of(8) { 4 } else { 0 },
        0x41,
    );
    let bytes = with_table(image, &padded(entry(&full)));
    table
        .pe("padding of letters", bytes, "padding")
        .stricter(HOLE);
    let twice = [entry(&padded(der.to_vec())), entry(&padded(der.to_vec()))].concat();
    table.pe(
        "two entries",
        with_table(image, &twice),
        "several-signatures",
    );
    table.pe(
        "no DER",
        with_table(image, &entry(&[0; 64])),
        "cms-malformed",
    );
    table.pe(
        "DER cut off",
        with_table(image, &entry(&padded(der[..der.len() / 2].to_vec()))),
        "cms-malformed",
    );
}

fn signatures(table: &mut Table<'_>) {
    table.changed("unchanged", "ok", |_| ());
    table.changed("no certificates", "signer-certificate", |der| {
        der.signed_data().parts.retain(|part| part.tag != 0xa0);
    });
    let row = table.changed("an attribute certificate beside", "ok", |der| {
        der.signed_data()
            .tagged(0xa0)
            .parts
            .push(Node::group(0xa1, vec![Node::oid("1.2.3")]));
    });
    row.looser = Some("CMS has them, and Microsoft's timestamps; nothing is taken from them");
    table.changed("two signers", "several-signers", |der| {
        let signer = der.signer().clone();
        der.signed_data()
            .parts
            .last_mut()
            .unwrap()
            .parts
            .push(signer);
    });
    table.changed("no signer", "several-signers", |der| {
        der.signed_data().parts.last_mut().unwrap().parts.clear();
    });
    table
        .changed("signature flipped", "signature-invalid", |der| {
            der.signer()
                .parts
                .iter_mut()
                .find(|part| part.tag == 4)
                .unwrap()
                .body[9] ^= 1;
        })
        .stricter = None;
    table.changed("other digest in the content", "file-digest", |der| {
        der.at_mut(&[1, 0, 2, 1, 0, 1, 1]).body[3] ^= 1;
    });
    table.changed("other text in the content", "message-digest", |der| {
        // The flags of SpcPeImageData, which the file's digest does not show.
        der.at_mut(&[1, 0, 2, 1, 0, 0, 1, 0]).body = vec![1, 0];
    });
    table.changed("other signed digest", "message-digest", |der| {
        der.attribute(0xa0, DIGEST).parts[0].body[3] ^= 1;
    });
    table.changed("no signed digest", "signed-attributes", |der| {
        let kind = Node::oid(DIGEST).body;
        der.signer()
            .tagged(0xa0)
            .parts
            .retain(|part| part.parts[0].body != kind);
    });
    table.changed("two signed digests", "signed-attributes", |der| {
        let digest = der.attribute(0xa0, DIGEST);
        let value = digest.parts[0].clone();
        digest.parts.push(value);
    });
    table.changed("other signed content type", "signed-attributes", |der| {
        der.attribute(0xa0, CONTENT).parts[0] = Node::oid("1.2.840.113549.1.7.1");
    });
    table.changed(
        "nothing signed but the content",
        "signed-attributes",
        |der| {
            der.signer().parts.retain(|part| part.tag != 0xa0);
        },
    );
    table.changed("content of another type", "wrong-content", |der| {
        der.at_mut(&[1, 0, 2, 0]).body = Node::oid("1.2.840.113549.1.7.1").body;
    });
    table.changed("no SignedData", "cms-malformed", |der| {
        der.parts[0] = Node::oid("1.2.840.113549.1.7.1");
    });
    let workshop = table.workshop;
    let script = workshop.sign("s.ps1", b"'a'\r\n", "leaf", &[]);
    let block = String::from_utf8(script).unwrap();
    let base64: String = block
        .lines()
        .filter(|line| !line.contains("SIG #"))
        .filter_map(|line| line.strip_prefix("# "))
        .collect();
    let der = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, base64).unwrap();
    table.pe(
        "signature of a script",
        with_signature(&pe(true), &der),
        "wrong-content",
    );
}

fn timestamps(table: &mut Table<'_>) {
    const BAD_STAMP: &str = "a timestamp that does not hold is not taken for none";
    let workshop = table.workshop;
    let mut stamped =
        |name: &str, leaf: &str, tsa: &str, at: u64, expected: &'static str| -> usize {
            let bytes = workshop.stamped("s.exe", &pe(true), leaf, tsa, at);
            table.pe(name, bytes, expected);
            table.rows.len() - 1
        };
    stamped("timestamp", "leaf", "tsa", THEN, "ok");
    stamped(
        "expired since the timestamp",
        "leaf-expired",
        "tsa",
        THEN,
        "ok",
    );
    stamped(
        "expired before the timestamp",
        "leaf-expired",
        "tsa",
        AFTER,
        "certificate-expired",
    );
    stamped(
        "timestamp before the certificate",
        "leaf",
        "tsa",
        1_590_969_600,
        "certificate-not-yet-valid",
    );
    let old = stamped(
        "timestamp's certificate expired",
        "leaf",
        "tsa-expired",
        THEN,
        "timestamp-chain",
    );
    let before = stamped(
        "timestamp before all",
        "leaf",
        "tsa",
        BEFORE,
        "timestamp-chain",
    );
    let other = stamped(
        "timestamp under another root",
        "leaf",
        "tsa-other-root",
        THEN,
        "timestamp-chain",
    );
    let future = stamped(
        "timestamp after now",
        "leaf",
        "tsa",
        NOW + 86_400,
        "timestamp-future",
    );
    let lifetime = stamped(
        "lifetime signing",
        "leaf-lifetime",
        "tsa",
        THEN,
        "certificate-expired",
    );
    for row in [old, before, other] {
        table.rows[row].stricter = Some(BAD_STAMP);
    }
    table.rows[future].stricter = Some("nobody signs tomorrow");
    table.rows[lifetime].stricter = Some("the certificate says that its signatures end with it");
    let bytes = workshop.sign("s.exe", &pe(true), "leaf", &[]);
    let row = table.pe(
        "no timestamp where one is demanded",
        bytes,
        "timestamp-missing",
    );
    row.stricter("osslsigncode has no such rule")
        .policy
        .require_timestamp = true;
    let both = [workshop.read("root.pem"), workshop.read("young-root.pem")].concat();
    workshop.write("both-roots.pem", &both);
    let bytes = workshop.stamped("s.exe", &pe(true), "leaf-young", "tsa", THEN);
    let row = table.pe("timestamp from before the root", bytes, "untrusted-root");
    row.root = "both-roots";
    row.policy.roots = parse_roots(&workshop.read("young-root.pem")).unwrap();
    changed_stamps(table, BAD_STAMP);
    countersignatures(table);
}

fn changed_stamps(table: &mut Table<'_>, why: &'static str) {
    let workshop = table.workshop;
    let mut other = signature(&workshop.stamped("s.exe", &pe(true), "leaf-ec", "tsa", THEN));
    let stamp = other.attribute(0xa1, STAMP).parts[0].clone();
    table
        .changed(
            "timestamp of another signature",
            "timestamp-imprint",
            |der| {
                der.attribute(0xa1, STAMP).parts[0] = stamp;
            },
        )
        .stricter(why);
    table
        .changed("two timestamps", "timestamp-several", |der| {
            let values = der.attribute(0xa1, STAMP);
            let value = values.parts[0].clone();
            values.parts.push(value);
        })
        .stricter("which of the two counts is not said");
    table
        .changed(
            "timestamp's signature flipped",
            "timestamp-signature",
            |der| {
                let stamp = &mut der.attribute(0xa1, STAMP).parts[0];
                stamp
                    .signer()
                    .parts
                    .iter_mut()
                    .find(|part| part.tag == 4)
                    .unwrap()
                    .body[9] ^= 1;
            },
        )
        .stricter(why);
    table
        .changed("timestamp's time changed", "timestamp-signature", |der| {
            let info = &mut der.attribute(0xa1, STAMP).parts[0].signed_data().parts[2].parts[1]
                .parts[0]
                .body;
            let place = info.windows(6).position(|part| part == b"202206").unwrap();
            info[place + 3] = b'3';
        })
        .stricter(why);
    table
        .changed("timestamp that is no CMS", "timestamp-malformed", |der| {
            der.attribute(0xa1, STAMP).parts[0] = Node::sequence(vec![]);
        })
        .stricter(why);
    table
        .changed(
            "timestamp without certificates",
            "timestamp-signature",
            |der| {
                let stamp = &mut der.attribute(0xa1, STAMP).parts[0];
                stamp.signed_data().parts.retain(|part| part.tag != 0xa0);
            },
        )
        .stricter(why);
}

fn countersignatures(table: &mut Table<'_>) {
    let workshop = table.workshop;
    // Later than the server's clock, however long it takes.
    let day = std::time::Duration::from_secs(86_400);
    let now =
        UnixTime::since_unix_epoch(std::time::Duration::from_secs(UnixTime::now().as_secs()) + day);
    let bytes = workshop.countersigned("s.exe", &pe(true), "tsa");
    table.pe("countersignature", bytes.clone(), "ok").at(now);
    // osslsigncode's own authority refuses to stamp with these.
    for tsa in ["tsa-wrong", "tsa-both"] {
        let bytes = workshop.countersigned("s.exe", &pe(true), tsa);
        let row = table.pe(
            &format!("countersignature by {tsa}"),
            bytes,
            "timestamp-usage",
        );
        row.at(now)
            .stricter("a timestamp that does not hold is not taken for none");
    }
    let mut flipped = signature(&bytes);
    let counter = &mut flipped.attribute(0xa1, COUNTER).parts[0];
    counter
        .parts
        .iter_mut()
        .find(|part| part.tag == 4)
        .unwrap()
        .body[9] ^= 1;
    let flipped = with_signature(&pe(true), &flipped.bytes());
    table
        .pe("countersignature flipped", flipped, "timestamp-signature")
        .at(now)
        .stricter("a timestamp that does not hold is not taken for none");
    let mut moved = signature(&workshop.sign("s.exe", &pe(true), "leaf-ec", &[]));
    let mut own = signature(&bytes);
    let attributes = own.signer().tagged(0xa1).clone();
    moved.signer().parts.push(attributes);
    let certificates = own.signed_data().tagged(0xa0).parts.clone();
    moved.signed_data().tagged(0xa0).parts.extend(certificates);
    let moved = with_signature(&pe(true), &moved.bytes());
    table
        .pe(
            "countersignature of another signature",
            moved,
            "timestamp-imprint",
        )
        .at(now)
        .stricter("a timestamp that does not hold is not taken for none");
}

fn nested(table: &mut Table<'_>) {
    const ANY: &str = "osslsigncode is content with one good signature of several";
    let workshop = table.workshop;
    let outer = workshop.sign("s.exe", &pe(true), "leaf", &[]);
    let two = |leaf: &str| workshop.sign("n.exe", &outer, leaf, &["-nest", "-h", "sha512"]);
    table.pe("nested", two("leaf-ec"), "ok");
    table
        .pe(
            "nested, expired",
            two("leaf-expired"),
            "certificate-expired",
        )
        .stricter(ANY);
    table
        .pe(
            "nested, other root",
            two("leaf-other-root"),
            "untrusted-root",
        )
        .stricter(ANY);
    table
        .pe("nested, other publisher", two("leaf-longer"), "publisher")
        .publisher("O=Harness\\, Inc.")
        .stricter("osslsigncode has no rule for names");
    let mut spoiled = signature(&two("leaf-ec"));
    let inner = &mut spoiled.attribute(0xa1, NESTED).parts[0];
    inner.at_mut(&[1, 0, 2, 1, 0, 1, 1]).body[3] ^= 1;
    table
        .pe(
            "nested, of another file",
            with_signature(&pe(true), &spoiled.bytes()),
            "file-digest",
        )
        .stricter(ANY);
    let mut deep = signature(&two("leaf-ec"));
    let inner = deep.clone();
    deep.attribute(0xa1, NESTED).parts[0] = inner;
    table
        .pe(
            "nested in nested",
            with_signature(&pe(true), &deep.bytes()),
            "several-signatures",
        )
        .stricter("real signatures nest once");
}

/// A critical extension with policies, as Microsoft's older time-stamping authorities have it, for a reader who accepts
/// any policy (RFC 5280, 6.1.1).
fn policies(table: &mut Table<'_>) {
    const PROCESSED: &str = "OpenSSL looks into policies only where it is asked to";
    let workshop = table.workshop;
    let signed = workshop.sign("s.exe", &pe(true), "leaf-policy", &[]);
    table.pe("policies, of the signer", signed, "ok");
    for (tsa, expected) in [
        ("tsa-policy", "ok"),
        ("tsa-policy-other-root", "timestamp-chain"),
        ("tsa-policy-critical", "timestamp-chain"),
    ] {
        let bytes = workshop.stamped("s.exe", &pe(true), "leaf-expired", tsa, THEN);
        table.pe(&format!("policies, {tsa}"), bytes, expected);
    }
    for tsa in [
        "tsa-policy-qualifier",
        "tsa-policy-twice",
        "tsa-policy-constrained",
    ] {
        let bytes = workshop.stamped("s.exe", &pe(true), "leaf-expired", tsa, THEN);
        table
            .pe(&format!("policies, {tsa}"), bytes, "timestamp-chain")
            .stricter(PROCESSED);
    }
    // What the certificate says is what its issuer signed: a policy that was changed is refused.
    let bytes = workshop.stamped("s.exe", &pe(true), "leaf-expired", "tsa-policy", THEN);
    let policy = [0x06, 0x09, 0x2b, 6, 1, 4, 1, 0x82, 0x37, 0x2e, 3];
    let image = pe(true);
    let mut changed = signature(&bytes).bytes();
    let places: Vec<usize> = (0..changed.len())
        .filter(|at| changed[*at..].starts_with(&policy))
        .collect();
    assert!(places.len() >= 2, "the authority's and its own");
    for at in places {
        changed[at + policy.len() - 1] = 4;
    }
    table.pe(
        "policies, changed",
        with_signature(&image, &changed),
        "timestamp-chain",
    );
}

/// A large image whose signature holds the same nested signature this many times.
pub fn nest_copies(workshop: &Workshop, copies: usize) -> Vec<u8> {
    let mut image = pe(true);
    image.resize(1 << 20, 0x5a);
    let outer = workshop.sign("s.exe", &image, "leaf", &[]);
    let two = workshop.sign("n.exe", &outer, "leaf-ec", &["-nest", "-h", "sha512"]);
    let mut der = signature(&two);
    let nested = der.attribute(0xa1, NESTED);
    let one = nested.parts[0].clone();
    nested.parts.resize(copies, one);
    with_signature(&image, &der.bytes())
}

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn scripts(table: &mut Table<'_>) {
    let workshop = table.workshop;
    let text = "param($A)\r\nWrite-Output $A\r\n";
    let umlaut = "'\u{e4}\u{20ac}\u{1f600}'\r\n";
    let forms: &[(&str, Vec<u8>)] = &[
        ("ASCII", text.into()),
        ("UTF-8", umlaut.into()),
        ("UTF-8 with mark", format!("\u{feff}{umlaut}").into()),
        ("UTF-16", utf16(&format!("\u{feff}{umlaut}"))),
        ("LF", text.replace('\r', "").into()),
        ("no newline at the end", text.trim_end().into()),
    ];
    for (name, bytes) in forms {
        let signed = workshop.sign("s.ps1", bytes, "leaf", &[]);
        table.row(
            &format!("script, {name}"),
            FileKind::PowerShell,
            signed,
            "ok",
        );
    }
    let signed =
        String::from_utf8(workshop.stamped("s.ps1", text.as_bytes(), "leaf", "tsa", THEN)).unwrap();
    let mut script = |name: &str, bytes: String, expected: &'static str| -> usize {
        table.row(
            &format!("script, {name}"),
            FileKind::PowerShell,
            bytes.into_bytes(),
            expected,
        );
        table.rows.len() - 1
    };
    script("timestamp", signed.clone(), "ok");
    script("unsigned", text.to_owned(), "unsigned");
    script(
        "blanks after the block",
        format!("{signed} \t\r\n\r\n"),
        "ok",
    );
    script(
        "changed",
        signed.replace("param($A)", "param($B)"),
        "file-digest",
    );
    script("line before", format!("'x'\r\n{signed}"), "file-digest");
    script(
        "line before the block",
        signed.replacen("\r\n# SIG # Begin", "\r\n'x'\r\n# SIG # Begin", 1),
        "file-digest",
    );
    script("mark added", format!("\u{feff}{signed}"), "file-digest");
    script(
        "LF instead of CRLF",
        signed.replace('\r', ""),
        "signature-block",
    );
    script(
        "no end",
        signed.replace("# SIG # End signature block", ""),
        "signature-block",
    );
    script(
        "end alone",
        format!("{text}# SIG # End signature block\r\n"),
        "signature-block",
    );
    script(
        "cut off",
        signed[..signed.len() / 2].to_owned(),
        "signature-block",
    );
    let code_after = script(
        "line after the block",
        format!("{signed}Remove-Item x\r\n"),
        "text-after-signature",
    );
    let same_line = script(
        "text after the end marker",
        format!("{}; 'x'\r\n", signed.trim_end()),
        "text-after-signature",
    );
    let inside = script(
        "line in the block",
        signed.replacen("# SIG # End", "'x'\r\n# SIG # End", 1),
        "signature-block",
    );
    script(
        "text after the first marker",
        signed.replacen("Begin signature block", "Begin signature block 'x'", 1),
        "signature-block",
    );
    let block = signed[signed.find("\r\n# SIG # Begin").unwrap()..].to_owned();
    let twice = script(
        "two blocks",
        format!("{}{block}", signed.trim_end()),
        "several-signatures",
    );
    let comment = script(
        "comment in the block",
        signed.replacen("# SIG # End", "# a b\r\n# SIG # End", 1),
        "signature-block",
    );
    table.rows[comment].stricter = Some("unsigned text inside the block");
    for row in [code_after, inside] {
        table.rows[row].stricter = Some("PowerShell would run a line that no digest covers");
    }
    table.rows[same_line].stricter = Some("unsigned text behind the marker");
    table.rows[twice].stricter = Some("which of the two counts is not said");
    let latin = [b"'\xe4'\r\n", signed.as_bytes()].concat();
    table.row("script, Latin-1", FileKind::PowerShell, latin, "encoding");
    let big: Vec<u8> = format!("\u{feff}{signed}")
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    table.row(
        "script, UTF-16 big-endian",
        FileKind::PowerShell,
        big,
        "encoding",
    );
    let mut half = workshop.sign("s.ps1", &utf16("\u{feff}'a'\r\n"), "leaf", &[]);
    half.push(32);
    table
        .row(
            "script, half a letter",
            FileKind::PowerShell,
            half,
            "encoding",
        )
        .stricter("what reads it may see something else");
}

fn packages(table: &mut Table<'_>) {
    let workshop = table.workshop;
    let plain = workshop.sign("s.msi", &workshop.msi(), "leaf", &[]);
    let full = workshop.sign("s.msi", &workshop.msi(), "leaf", &["-add-msi-dse"]);
    let mut msi = |name: &str, bytes: Vec<u8>, expected: &'static str| -> usize {
        table.row(&format!("package, {name}"), FileKind::Msi, bytes, expected);
        table.rows.len() - 1
    };
    msi("signed", plain.clone(), "ok");
    msi("signed with its metadata", full.clone(), "ok");
    msi(
        "timestamp",
        workshop.stamped("s.msi", &workshop.msi(), "leaf-expired", "tsa", THEN),
        "ok",
    );
    msi("unsigned", workshop.msi(), "unsigned");
    msi(
        "stream added",
        edited(&plain, |file| write(file, "/added", b"more")),
        "file-digest",
    );
    msi(
        "stream changed",
        edited(&plain, |file| write(file, icon(file), b"AN ICON")),
        "file-digest",
    );
    msi(
        "stream removed",
        edited(&plain, |file| file.remove_stream(icon(file)).unwrap()),
        "file-digest",
    );
    msi(
        "storage added",
        edited(&plain, |file| file.create_storage("/more").unwrap()),
        "file-digest",
    );
    let class_changed = |file: &mut Compound| {
        let none = *file.entry(icon(file)).unwrap().clsid();
        file.set_storage_clsid("/", none).unwrap();
    };
    msi(
        "class id changed",
        edited(&plain, class_changed),
        "file-digest",
    );
    let renamed = |file: &mut Compound| {
        file.remove_stream(icon(file)).unwrap();
        write(file, "/renamed", b"an icon");
    };
    msi(
        "stream renamed, its name unsigned",
        edited(&plain, renamed),
        "ok",
    );
    msi("stream renamed", edited(&full, renamed), "msi-metadata");
    let metadata = msi(
        "metadata's digest changed",
        edited(&full, |file| {
            write(file, "/\u{5}MsiDigitalSignatureEx", &[7; 32]);
        }),
        "msi-metadata",
    );
    msi(
        "metadata's digest removed",
        edited(&full, |file| {
            file.remove_stream("/\u{5}MsiDigitalSignatureEx").unwrap();
        }),
        "file-digest",
    );
    msi(
        "metadata's digest added",
        edited(&plain, |file| {
            write(file, "/\u{5}MsiDigitalSignatureEx", &[7; 32]);
        }),
        "msi-metadata",
    );
    // In no digest of the format: only a pin of the whole file sees it.
    msi(
        "appended bytes",
        [plain.clone(), vec![0x90; 512]].concat(),
        "ok",
    );
    let mut cut = plain.clone();
    cut.truncate(plain.len() / 2);
    msi("cut off", cut, "file-malformed");
    msi("only a header", plain[..512].to_vec(), "file-malformed");
    msi("no package", b"nothing of it".to_vec(), "file-malformed");
    table.rows[metadata].stricter = Some("the file says what it was signed with, wrongly");
}

type Compound = cfb::CompoundFile<std::io::Cursor<Vec<u8>>>;

fn edited<T>(bytes: &[u8], edit: impl FnOnce(&mut Compound) -> T) -> Vec<u8> {
    let mut file = Compound::open(std::io::Cursor::new(bytes.to_vec())).unwrap();
    edit(&mut file);
    file.flush().unwrap();
    file.into_inner().into_inner()
}

/// The stream that was put in; MSI writes names in letters of its own.
fn icon(file: &Compound) -> PathBuf {
    let mut entries = file
        .walk()
        .filter(|entry| entry.is_stream() && entry.len() == 7);
    entries.next().unwrap().path().to_path_buf()
}

fn write(file: &mut Compound, path: impl AsRef<Path>, bytes: &[u8]) {
    std::io::Write::write_all(&mut file.create_stream(path).unwrap(), bytes).unwrap();
}

fn cabinets(table: &mut Table<'_>) {
    let workshop = table.workshop;
    let signed = workshop.sign("s.cab", &workshop.cab(), "leaf", &[]);
    let start = u32::from_le_bytes(signed[44..48].try_into().unwrap()) as usize;
    let changed = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = signed.clone();
        change(&mut bytes);
        bytes
    };
    let mut cab = |name: &str, bytes: Vec<u8>, expected: &'static str| -> usize {
        table.row(&format!("cabinet, {name}"), FileKind::Cab, bytes, expected);
        table.rows.len() - 1
    };
    cab("signed", signed.clone(), "ok");
    cab(
        "timestamp",
        workshop.stamped("s.cab", &workshop.cab(), "leaf-expired", "tsa", THEN),
        "ok",
    );
    cab("unsigned", workshop.cab(), "unsigned");
    cab(
        "a flipped byte",
        changed(&|bytes| bytes[start - 1] ^= 1),
        "file-digest",
    );
    cab(
        "appended bytes",
        changed(&|bytes| bytes.extend([0; 8])),
        "certificate-table",
    );
    cab(
        "offset over the end",
        changed(&|bytes| set(bytes, 44, u32::MAX)),
        "certificate-table",
    );
    cab(
        "size over the end",
        changed(&|bytes| set(bytes, 48, u32::MAX)),
        "certificate-table",
    );
    cab(
        "cut off",
        changed(&|bytes| bytes.truncate(40)),
        "certificate-table",
    );
    cab(
        "of a set",
        changed(&|bytes| bytes[30] |= 1),
        "file-malformed",
    );
    cab("no cabinet", b"MSCG".to_vec(), "file-malformed");
    let size = u32::from_le_bytes(signed[48..52].try_into().unwrap());
    let hole = changed(&|bytes| {
        bytes.extend([0x90; 64]);
        set(bytes, 48, size + 64);
    });
    let number = cab(
        "number in a set",
        changed(&|bytes| bytes[34] = 1),
        "certificate-table",
    );
    let reserved = cab(
        "reserved bytes",
        changed(&|bytes| bytes[53] = 1),
        "certificate-table",
    );
    let payload = cab("64 bytes behind the signature", hole, "padding");
    for row in [number, reserved, payload] {
        table.rows[row].stricter = Some("bytes that nothing covers");
    }
}

fn catalogs(table: &mut Table<'_>) {
    let workshop = table.workshop;
    let signed = workshop.sign("s.cat", &catalog(), "leaf", &[]);
    let stamped = workshop.stamped("s.cat", &catalog(), "leaf-expired", "tsa", THEN);
    table.row("catalog, signed", FileKind::Cat, signed.clone(), "ok");
    table.row("catalog, timestamp", FileKind::Cat, stamped, "ok");
    table.row(
        "catalog, unsigned",
        FileKind::Cat,
        catalog(),
        "several-signers",
    );
    let mut changed = Node::parse(&signed);
    changed.at_mut(&[1, 0, 2, 1, 0, 1]).body[0] ^= 1;
    table.row(
        "catalog, changed",
        FileKind::Cat,
        changed.bytes(),
        "message-digest",
    );
    let more = [signed.clone(), vec![0; 8]].concat();
    table
        .row(
            "catalog, appended bytes",
            FileKind::Cat,
            more,
            "cms-malformed",
        )
        .stricter("bytes that nothing covers");
    table.row(
        "catalog, cut off",
        FileKind::Cat,
        signed[..signed.len() / 2].to_vec(),
        "cms-malformed",
    );
    let image = signature(&workshop.sign("s.exe", &pe(true), "leaf", &[])).bytes();
    table
        .row(
            "catalog, signature of an image",
            FileKind::Cat,
            image,
            "wrong-content",
        )
        .stricter("it is no list of files");
}
