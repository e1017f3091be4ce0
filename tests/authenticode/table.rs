//! Files, good and bad, with the verdict that each must get.

mod formats;
mod images;
mod stamps;

use std::path::Path;

use formats::{packages, scripts};
use imagegen::verify::authenticode::{FileKind, SignatureDemand};
use images::{signatures, tables};
use rustls_pki_types::UnixTime;
use stamps::timestamps;

use super::der::Node;
use super::policy;
use super::workshop::{THEN, Workshop, pe};

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
        }
        .to_owned()
    }
}

const NESTED: &str = "1.3.6.1.4.1.311.2.4.1";

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
        .pe("SHA-1", bytes, "sha1")
        .stricter("SHA-1 proves nothing");
    let bytes = workshop.sign("s.exe", &pe(true), "leaf", &["-h", "md5"]);
    table
        .pe("MD5", bytes, "algorithm")
        .stricter("MD5 is broken");
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
        .stricter("a SHA-1 certificate proves nothing");
}

fn publishers(table: &mut Table<'_>) {
    const NO_RULE: &str = "osslsigncode has no rule for names";
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

type Compound = cfb::CompoundFile<std::io::Cursor<Vec<u8>>>;

fn write(file: &mut Compound, path: impl AsRef<Path>, bytes: &[u8]) {
    std::io::Write::write_all(&mut file.create_stream(path).unwrap(), bytes).unwrap();
}
