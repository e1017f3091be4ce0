//! Rows of timestamps and countersignatures.

use imagegen::verify::chain::parse_roots;
use rustls_pki_types::UnixTime;

use super::{Table, signature, with_signature};
use crate::authenticode::der::Node;
use crate::authenticode::workshop::{AFTER, BEFORE, NOW, THEN, pe};

const STAMP: &str = "1.3.6.1.4.1.311.3.3.1";

const COUNTER: &str = "1.2.840.113549.1.9.6";

pub(super) fn timestamps(table: &mut Table<'_>) {
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
