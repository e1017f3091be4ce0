//! Rows of the signature table of a program, and of what stands in it.

use super::{
    DIRECTORY, Table, entry, number, padded, place, set, signature, with_signature, with_table,
};
use crate::authenticode::der::Node;
use crate::authenticode::workshop::pe;

const DIGEST: &str = "1.2.840.113549.1.9.4";

const CONTENT: &str = "1.2.840.113549.1.9.3";

pub(super) fn tables(table: &mut Table<'_>) {
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

pub(super) fn signatures(table: &mut Table<'_>) {
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
