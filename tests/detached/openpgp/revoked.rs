//! Revocations, wherever they stand and whatever their digest is, and the times of back signatures.

use super::forge::{ForgedKey, MD5, SHA1, SHA224, SHA256, Statement, packet, subpacket};
use super::{
    BORN, LATER, MESSAGE, NOW, SIGNED, check, code, exported, gpg, gpg_told, key, signed, workplace,
};
use crate::detached::agree;

const SIGNATURE: u8 = 2;
const CREATED: u32 = 1_700_000_000;
const MADE: u32 = 1_720_000_000;

/// GnuPG's own revocation, at every place of a keyring.
#[test]
fn a_revocation_counts_wherever_it_stands() {
    let Some(bench) = workplace() else { return };
    let gone = key(&bench, "gone", "ed25519", "sign,cert");
    gpg(
        &bench,
        BORN,
        &["--quick-add-key", &gone, "cv25519", "encr", "never"],
    );
    key(&bench, "other", "ed25519", "sign,cert");
    let signature = signed(&bench, SIGNED, "gone", &[]);
    let (ring, other) = (exported(&bench, "gone"), exported(&bench, "other"));
    let text = bench.read(&format!("gnupg/openpgp-revocs.d/{gone}.rev"));
    let text = String::from_utf8(text).unwrap();
    let text = text.replace(":-----BEGIN", "-----BEGIN");
    bench.write("revocation", text.as_bytes());
    let revocation = gpg(&bench, LATER, &["--output", "-", "--dearmor", "revocation"]);
    assert_eq!(revocation[3], 0x20, "a revocation of a key");
    let armored = gpg(&bench, LATER, &["--armor", "--export", "=gone"]);
    let first = 2 + usize::from(ring[1]);
    assert_eq!(ring[0], 0x98, "a public key");
    let (head, tail) = ring.split_at(first);
    let two_armors = [&armored, b"\n".as_slice(), text.as_bytes()].concat();
    let rings: [(&str, Vec<u8>, &str); 8] = [
        ("nowhere", ring.clone(), "ok"),
        (
            "behind the key",
            [head, &revocation, tail].concat(),
            "openpgp-revoked",
        ),
        (
            "behind the subkey",
            [&ring[..], &revocation].concat(),
            "openpgp-revoked",
        ),
        (
            "before the key",
            [&revocation[..], &ring].concat(),
            "openpgp-revoked",
        ),
        (
            "behind another key",
            [&ring[..], &other, &revocation].concat(),
            "openpgp-revoked",
        ),
        (
            "behind another key before it",
            [&other[..], &revocation, &ring].concat(),
            "openpgp-revoked",
        ),
        ("in an armor of its own", two_armors, "openpgp-revoked"),
        ("of another key", [&ring[..], &other].concat(), "ok"),
    ];
    let found: Vec<_> = rings
        .iter()
        .map(|(title, ring, expected)| {
            (
                *title,
                code(check(MESSAGE, &signature, ring, &gone)),
                *expected,
            )
        })
        .collect();
    agree(found);
}

/// GnuPG revokes with the digest that it is told; the weak ones revoke as well.
#[test]
fn a_revocation_counts_with_every_digest_of_gnupg() {
    let Some(bench) = workplace() else { return };
    let mut rows = Vec::new();
    for (digest, number, algorithm) in [
        ("SHA1", 2u8, "rsa2048"),
        ("RIPEMD160", 3, "rsa2048"),
        ("SHA224", 11, "rsa2048"),
        ("SHA512", 10, "rsa2048"),
        ("SHA512", 10, "nistp256"),
    ] {
        let name = format!("{digest}-{algorithm}");
        let fingerprint = key(&bench, &name, algorithm, "sign,cert");
        let signature = signed(&bench, SIGNED, &name, &[]);
        let told = "revkey\ny\n2\n\ny\nsave\n";
        let arguments = ["--cert-digest-algo", digest, "--command-fd", "0"];
        let edit = ["--edit-key", fingerprint.as_str()];
        gpg_told(&bench, LATER, &[&arguments[..], &edit].concat(), told);
        let ring = exported(&bench, &name);
        let is_made = ring
            .windows(4)
            .any(|it| it[..2] == [4, 0x20] && it[3] == number);
        assert!(is_made, "{name} is revoked with this digest");
        rows.push((name, code(check(MESSAGE, &signature, &ring, &fingerprint))));
    }
    agree(
        rows.iter()
            .map(|(name, found)| (name.as_str(), *found, "openpgp-revoked")),
    );
}

/// GnuPG's designated revoker (`addrevoker`), with and without its key in the keyring.
#[test]
fn a_designated_revoker_of_gnupg_revokes_the_key() {
    let Some(bench) = workplace() else { return };
    let owner = key(&bench, "owner", "ed25519", "sign,cert");
    key(&bench, "revoker", "ed25519", "sign,cert");
    let named = "addrevoker\nrevoker\ny\nsave\n";
    let edit = ["--command-fd", "0", "--edit-key", owner.as_str()];
    gpg_told(&bench, BORN, &edit, named);
    let signature = signed(&bench, SIGNED, "owner", &[]);
    let (ring, revoker) = (exported(&bench, "owner"), exported(&bench, "revoker"));
    let arguments = ["--no-batch", "--command-fd", "0", "--output", "-"];
    let revoke = ["--desig-revoke", owner.as_str()];
    let arguments = [&arguments[..], &revoke].concat();
    let armored = gpg_told(&bench, LATER, &arguments, "y\n0\n\ny\n");
    bench.write("revocation", &armored);
    let revoked = gpg(&bench, LATER, &["--output", "-", "--dearmor", "revocation"]);

    // The key, its revocation behind it, and the rest of the key.
    let first = 2 + usize::from(ring[1]);
    let second = first + 2 + usize::from(revoked[first + 1]);
    assert_eq!(revoked[first + 3], 0x20, "a revocation of a key");
    let mut forged = revoked[first..second].to_vec();
    *forged.last_mut().unwrap() ^= 1;
    let rings: [(&str, Vec<u8>, &str); 5] = [
        ("not revoked", ring.clone(), "ok"),
        (
            "revoked, with the revoker's key",
            [&revoked[..], &revoker].concat(),
            "openpgp-revoked",
        ),
        ("revoked, without it", revoked.clone(), "openpgp-revoked"),
        (
            "a damaged revocation, with the revoker's key",
            [&ring[..], &forged, &revoker].concat(),
            "ok",
        ),
        (
            "a damaged revocation, without it",
            [&ring[..], &forged].concat(),
            "openpgp-revoked",
        ),
    ];
    let mut found = Vec::new();
    for (title, ring, expected) in &rings {
        let outcome = code(check(MESSAGE, &signature, ring, &owner));
        found.push((*title, outcome, *expected));
    }
    agree(found);
}

/// Keys that a key names may take back what the key itself may take back, and nobody else may.
#[test]
fn only_a_named_revoker_revokes() {
    let forged = Forged::new();
    let revoker = ForgedKey::new(4, CREATED);
    let stranger = ForgedKey::new(5, CREATED);
    let mut rows: Vec<(String, &'static str, &'static str)> = Vec::new();
    for (class, counts) in [(0x80, true), (0xc0, true), (0x40, false)] {
        let named = [&[class, 27][..], &revoker.fingerprint_bytes()].concat();
        let named = subpacket(12, &named);
        let statement = Statement {
            signed: &named,
            ..Statement::new(0x1f, MADE)
        };
        let part = forged.primary.part();
        let word = packet(SIGNATURE, &forged.primary.sign(&part, statement));
        for (who, is_revoker) in [(&revoker, true), (&stranger, false)] {
            for present in [true, false] {
                let ring = |kind: u8, part: &[u8], more: &[Vec<u8>]| {
                    let taken = who.sign(part, Statement::new(kind, MADE));
                    let mut ring = forged.ring(true, &[]);
                    ring.extend(&word);
                    ring.extend(more.concat());
                    ring.extend(packet(SIGNATURE, &taken));
                    if present {
                        ring.extend(who.packet(6));
                    }
                    ring
                };
                let revokes = counts && is_revoker;
                let title = format!("class {class:#x}, named {is_revoker}, present {present}");
                let expect = |code: &'static str| if revokes { code } else { "ok" };
                let key = ring(0x20, &part, &[]);
                let subkey = ring(0x28, &forged.over_subkey(), &forged.bound(Some(MADE), 0));
                rows.push((
                    format!("key: {title}"),
                    forged.judge(&forged.primary, &key),
                    expect("openpgp-revoked"),
                ));
                rows.push((
                    format!("subkey: {title}"),
                    forged.judge(&forged.subkey, &subkey),
                    expect("openpgp-revoked"),
                ));
                let elsewhere = ring(0x20, &stranger.part(), &[]);
                rows.push((
                    format!("another key: {title}"),
                    forged.judge(&forged.primary, &elsewhere),
                    "ok",
                ));
                let direct = ring(0x30, &part, &[]);
                rows.push((
                    format!("direct: {title}"),
                    forged.judge(&forged.primary, &direct),
                    expect("openpgp-key"),
                ));
            }
        }
    }
    agree(
        rows.iter()
            .map(|(title, found, expected)| (title.as_str(), *found, *expected)),
    );
}

struct Forged {
    primary: ForgedKey,
    subkey: ForgedKey,
}

const USER: &[u8] = b"forged";

impl Forged {
    fn new() -> Self {
        Self {
            primary: ForgedKey::new(1, CREATED),
            subkey: ForgedKey::new(2, CREATED),
        }
    }

    fn over_user(&self) -> Vec<u8> {
        let length = u32::try_from(USER.len()).unwrap().to_be_bytes();
        [&self.primary.part()[..], &[0xb4], &length, USER].concat()
    }

    fn over_subkey(&self) -> Vec<u8> {
        [self.primary.part(), self.subkey.part()].concat()
    }

    /// Primary key with a direct-key signature or a user, and these packets behind it.
    fn ring(&self, direct: bool, more: &[Vec<u8>]) -> Vec<u8> {
        let mut ring = self.primary.packet(6);
        if direct {
            let word = self
                .primary
                .sign(&self.primary.part(), Statement::new(0x1f, MADE));
            ring.extend(packet(SIGNATURE, &word));
        } else {
            ring.extend(packet(13, USER));
            let word = self
                .primary
                .sign(&self.over_user(), Statement::new(0x13, MADE));
            ring.extend(packet(SIGNATURE, &word));
        }
        ring.extend(more.concat());
        ring
    }

    /// The subkey, bound for signing, with a back signature of this time and lifetime.
    fn bound(&self, made: Option<u32>, lifetime: u32) -> Vec<Vec<u8>> {
        let lives = subpacket(3, &lifetime.to_be_bytes());
        let back = Statement {
            signed: &lives,
            ..Statement::new(0x19, made.unwrap_or(MADE))
        };
        let mut back = self.subkey.sign(&self.over_subkey(), back);
        if made.is_none() {
            // The subpacket of the time gets a type that means nothing.
            back[7] = 100;
        }
        let (flags, back) = (subpacket(27, &[2]), subpacket(32, &back));
        let binding = Statement {
            signed: &flags,
            unsigned: &back,
            ..Statement::new(0x18, MADE)
        };
        let binding = self.primary.sign(&self.over_subkey(), binding);
        vec![self.subkey.packet(14), packet(SIGNATURE, &binding)]
    }

    fn judge(&self, signer: &ForgedKey, ring: &[u8]) -> &'static str {
        let made = signer.sign(MESSAGE, Statement::new(0, MADE + 1000));
        let signature = packet(SIGNATURE, &made);
        code(check(
            MESSAGE,
            &signature,
            ring,
            &self.primary.fingerprint(),
        ))
    }
}

/// Every kind of revocation with every kind of digest, over what it revokes and over something else.
#[test]
fn a_revocation_that_cannot_be_checked_counts() {
    let forged = Forged::new();
    let (primary, subkey) = (&forged.primary, &forged.subkey);
    let stranger = ForgedKey::new(3, CREATED);
    let mut rows: Vec<(String, &'static str, &'static str)> = Vec::new();
    let mut add = |title: String, found, expected| rows.push((title, found, expected));
    let of_user = |packets: &[Vec<u8>]| forged.judge(primary, &forged.ring(false, packets));
    let direct = |packets: &[Vec<u8>]| forged.judge(primary, &forged.ring(true, packets));
    let bound = |packets: &[Vec<u8>]| {
        let all = [forged.bound(Some(MADE), 0), packets.to_vec()].concat();
        forged.judge(subkey, &forged.ring(false, &all))
    };
    add("user alone".to_owned(), of_user(&[]), "ok");
    add("direct-key signature alone".to_owned(), direct(&[]), "ok");
    add("subkey alone".to_owned(), bound(&[]), "ok");
    for digest in [MD5, SHA1, SHA224, SHA256] {
        let revoke = |signer: &ForgedKey, kind: u8, part: &[u8], named: bool| {
            let statement = Statement {
                digest,
                named,
                ..Statement::new(kind, MADE)
            };
            vec![packet(SIGNATURE, &signer.sign(part, statement))]
        };
        let key = revoke(primary, 0x20, &primary.part(), true);
        add(format!("key, {digest}"), of_user(&key), "openpgp-revoked");
        let user = revoke(primary, 0x30, &forged.over_user(), true);
        add(format!("user, {digest}"), of_user(&user), "openpgp-key");
        let word = revoke(primary, 0x30, &primary.part(), true);
        add(format!("direct, {digest}"), direct(&word), "openpgp-key");
        let part = revoke(primary, 0x28, &forged.over_subkey(), true);
        add(format!("subkey, {digest}"), bound(&part), "openpgp-revoked");
        add(format!("subkey's, {digest}"), of_user(&part), "ok");
        let foreign = revoke(&stranger, 0x20, &primary.part(), true);
        add(format!("by a stranger, {digest}"), of_user(&foreign), "ok");
    }
    for (title, digest, expected) in [
        ("names nobody, unknown digest", MD5, "openpgp-revoked"),
        ("names nobody, of another key", SHA256, "ok"),
    ] {
        let statement = Statement {
            digest,
            named: false,
            ..Statement::new(0x20, MADE)
        };
        let made = stranger.sign(&primary.part(), statement);
        add(
            title.to_owned(),
            of_user(&[packet(SIGNATURE, &made)]),
            expected,
        );
    }
    // A critical subpacket that nobody knows makes the statement unreadable, and not void.
    let unknown = subpacket(0x80 | 0x63, &[1]);
    let statement = Statement {
        signed: &unknown,
        ..Statement::new(0x20, MADE)
    };
    let made = packet(SIGNATURE, &primary.sign(&primary.part(), statement));
    add("critical".to_owned(), of_user(&[made]), "openpgp-revoked");
    for (key, expected) in [(primary, "openpgp-revoked"), (&stranger, "ok")] {
        let time = MADE.to_be_bytes();
        let older = [&[3, 5, 0x20][..], &time, &key.id(), &[1, 1, 0, 0, 0, 0]].concat();
        let found = of_user(&[packet(SIGNATURE, &older)]);
        add(format!("version 3, {}", key.fingerprint()), found, expected);
    }
    agree(
        rows.iter()
            .map(|(title, found, expected)| (title.as_str(), *found, *expected)),
    );
}

#[test]
fn a_back_signature_has_a_time_of_its_own() {
    let forged = Forged::new();
    let now = u32::try_from(NOW).unwrap();
    let day = 86_400;
    let rows = [
        ("with its binding", Some(MADE), 0, "ok"),
        ("lives long enough", Some(MADE), now - MADE + day, "ok"),
        ("expired", Some(MADE), day, "openpgp-time"),
        ("from the future", Some(now + day), 0, "openpgp-time"),
        (
            "older than the subkey",
            Some(CREATED - day),
            0,
            "openpgp-time",
        ),
    ];
    let found: Vec<_> = rows
        .iter()
        .map(|(title, made, lifetime, expected)| {
            let ring = forged.ring(false, &forged.bound(*made, *lifetime));
            (*title, forged.judge(&forged.subkey, &ring), *expected)
        })
        .collect();
    agree(found);
    let ring = forged.ring(false, &forged.bound(None, 0));
    let found = forged.judge(&forged.subkey, &ring);
    // Without a time it is not what the subkey signed, either.
    assert!(matches!(found, "openpgp-key" | "openpgp-time"), "{found}");
}

/// Each signature of the key costs a pass over the file.
#[test]
fn signatures_of_one_key_are_bounded() {
    let forged = Forged::new();
    let ring = forged.ring(false, &[]);
    let made = forged.primary.sign(MESSAGE, Statement::new(0, MADE + 1000));
    let one = packet(SIGNATURE, &made);
    let fingerprint = forged.primary.fingerprint();
    let judge = |count: usize| code(check(MESSAGE, &one.repeat(count), &ring, &fingerprint));
    assert_eq!(judge(4), "ok");
    assert_eq!(judge(5), "openpgp-malformed");
}

/// A signature in a signature in a signature: 2,000 of them are 20 KB, and were a recursion each.
#[test]
fn embedded_signatures_are_parsed_to_a_depth_of_one() {
    const SUBKEY_BINDING: u8 = 0x18;
    let nest = |depth: usize| {
        let mut body = vec![4, SUBKEY_BINDING, 27, SHA256, 0, 0, 0, 0, 7, 7];
        for _ in 0..depth {
            let length = u32::try_from(body.len() + 1).unwrap().to_be_bytes();
            let embedded = [&[255], &length[..], &[32], &body].concat();
            let length = u16::try_from(embedded.len()).unwrap().to_be_bytes();
            let head = [4, SUBKEY_BINDING, 27, SHA256, 0, 0];
            body = [&head[..], &length, &embedded, &[7, 7]].concat();
        }
        packet(SIGNATURE, &body)
    };
    let judge = |signature: Vec<u8>| {
        let judged = std::thread::Builder::new()
            .stack_size(256 << 10)
            .spawn(move || {
                let forged = Forged::new();
                let ring = forged.ring(false, &[]);
                let fingerprint = forged.primary.fingerprint();
                code(check(MESSAGE, &signature, &ring, &fingerprint))
            });
        judged.unwrap().join().unwrap()
    };
    assert_eq!(judge(nest(2000)), "openpgp-malformed");
    assert_eq!(judge(nest(2)), "openpgp-malformed");
    assert_ne!(judge(nest(1)), "openpgp-malformed");
}
