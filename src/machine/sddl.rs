//! Security descriptors in their text form, as far as owner, group and the list of who may do
//! what. Auditing (`S:`) is refused: no resource of ours sets it.

use crate::model::resource::SecuredObject;

const ALIASES: [&str; 30] = [
    "AN", "AO", "AU", "BA", "BG", "BO", "BU", "CG", "CO", "DA", "DG", "DU", "EA", "IU", "LA", "LG", "LS",
    "NO", "NS", "NU", "OW", "PA", "PU", "RC", "RD", "RS", "RU", "SU", "SY", "WD",
];
/// Groups that any person with an account, or any container user, is in.
const ORDINARY: [&str; 11] =
    ["AN", "AU", "BG", "BU", "IU", "LG", "WD", "S-1-1-0", "S-1-5-11", "S-1-5-32-545", "S-1-5-4"];
/// Accounts by alias and number, as an administrator calls them.
const NAMES: [(&str, &str, &str); 6] = [
    ("SY", "S-1-5-18", "SYSTEM"),
    ("BA", "S-1-5-32-544", "Administrators"),
    ("BU", "S-1-5-32-545", "Users"),
    ("AU", "S-1-5-11", "Authenticated Users"),
    ("CO", "S-1-3-0", "Creator Owner"),
    ("WD", "S-1-1-0", "Everyone"),
];
const ACE_FLAGS: [&str; 5] = ["CI", "OI", "NP", "IO", "ID"];
/// Rights of a file or directory by their letters.
const RIGHTS: [(&str, u32); 24] = [
    ("GA", 0x1000_0000),
    ("GX", 0x2000_0000),
    ("GW", 0x4000_0000),
    ("GR", 0x8000_0000),
    ("SD", 0x1_0000),
    ("RC", 0x2_0000),
    ("WD", 0x4_0000),
    ("WO", 0x8_0000),
    ("CC", 0x1),
    ("DC", 0x2),
    ("LC", 0x4),
    ("SW", 0x8),
    ("RP", 0x10),
    ("WP", 0x20),
    ("DT", 0x40),
    ("LO", 0x80),
    ("CR", 0x100),
    ("FA", 0x1f_01ff),
    ("FR", 0x12_0089),
    ("FW", 0x12_0116),
    ("FX", 0x12_00a0),
    ("KA", 0xf_003f),
    ("KR", 0x2_0019),
    ("KW", 0x2_0006),
];
/// Write or append data, delete children or itself, change access control or owner.
const CHANGES: u32 = 0x2 | 0x4 | 0x40 | 0x1_0000 | 0x4_0000 | 0x8_0000 | 0x1000_0000 | 0x4000_0000;

/// What the rules want to know of a descriptor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Access {
    /// Whether nothing is inherited from above.
    pub protected: bool,
    /// Whether someone without special rights may change what is there.
    pub open_to_users: bool,
}

pub(super) fn parse(text: &str, _object: SecuredObject) -> Result<Access, String> {
    parse_access(text)
}

fn parse_access(text: &str) -> Result<Access, String> {
    let rest = text.strip_prefix("O:").ok_or("it must begin with the owner, `O:`")?;
    let rest = after_sid(rest)?;
    let rest = rest.strip_prefix("G:").ok_or("the group, `G:`, must follow the owner")?;
    let rest = after_sid(rest)?;
    let rest = rest.strip_prefix("D:").ok_or("the access list, `D:`, must follow the group")?;
    let entries_at = rest.find('(').unwrap_or(rest.len());
    let (flags, entries) = rest.split_at(entries_at);
    let protected = list_flags(flags)?;
    Ok(Access { protected, open_to_users: open_entries(entries)? })
}

/// Who may do what, for people: `SYSTEM full`. Empty for what is no descriptor.
pub(super) fn in_words(text: &str) -> Vec<String> {
    if parse_access(text).is_err() {
        return Vec::new();
    }
    let entries = text.split_once('(').map_or("", |(_, entries)| entries);
    let mut words: Vec<String> = entries.split('(').filter_map(entry_in_words).collect();
    if parse_access(text).is_ok_and(|access| access.protected) {
        words.push("nothing from above".to_owned());
    }
    words
}

fn entry_in_words(entry: &str) -> Option<String> {
    let fields: Vec<&str> = entry.trim_end_matches(')').split(';').collect();
    let [kind, _, rights, _, _, sid] = fields.as_slice() else { return None };
    let who =
        NAMES.iter().find(|(short, long, _)| short == sid || long == sid).map_or(*sid, |(_, _, name)| name);
    let what = match mask(rights)? {
        0x1f_01ff | 0x1000_0000 => "full",
        0x12_00a9 => "read and run",
        0x12_0089 => "read",
        0x13_01bf => "change",
        _ => rights,
    };
    Some(if *kind == "D" { format!("{who} never {what}") } else { format!("{who} {what}") })
}

/// What stands behind the account at the start of `text`.
fn after_sid(text: &str) -> Result<&str, String> {
    let length = if text.starts_with("S-1-") {
        let end = text[1..].find(|c: char| !c.is_ascii_digit() && c != '-');
        end.map_or(text.len(), |end| end + 1)
    } else {
        2
    };
    let sid = text.get(..length).unwrap_or(text);
    is_sid(sid).then(|| &text[length..]).ok_or_else(|| format!("`{sid}` is no account"))
}

fn is_sid(sid: &str) -> bool {
    match sid.strip_prefix("S-1-") {
        Some(numbers) => {
            let parts: Vec<&str> = numbers.split('-').collect();
            parts.len() >= 2 && parts.iter().all(|part| part.parse::<u64>().is_ok())
        }
        None => ALIASES.contains(&sid),
    }
}

/// `P`, `AI` and `AR` in any order; whether `P` is among them.
fn list_flags(flags: &str) -> Result<bool, String> {
    let (mut rest, mut protected) = (flags, false);
    while !rest.is_empty() {
        rest = if let Some(rest) = rest.strip_prefix('P') {
            protected = true;
            rest
        } else {
            rest.strip_prefix("AI")
                .or_else(|| rest.strip_prefix("AR"))
                .ok_or_else(|| format!("`{flags}` are no flags of an access list"))?
        };
    }
    Ok(protected)
}

fn open_entries(entries: &str) -> Result<bool, String> {
    let (mut rest, mut open) = (entries, false);
    if rest.is_empty() {
        return Err("an access list without entries lets nobody in".to_owned());
    }
    while !rest.is_empty() {
        let inner =
            rest.strip_prefix('(').ok_or_else(|| format!("`{rest}` is not expected behind an entry"))?;
        let end = inner.find(')').ok_or("an entry has no closing bracket")?;
        open |= open_entry(&inner[..end])?;
        rest = &inner[end + 1..];
    }
    Ok(open)
}

fn open_entry(entry: &str) -> Result<bool, String> {
    let fields: Vec<&str> = entry.split(';').collect();
    let [kind, flags, rights, "", "", sid] = fields.as_slice() else {
        return Err(format!("`({entry})` is not `(type;flags;rights;;;account)`"));
    };
    if !matches!(*kind, "A" | "D") {
        return Err(format!("`{kind}` is neither allow (`A`) nor deny (`D`)"));
    }
    pairs(flags)
        .filter(|known| known.iter().all(|flag| ACE_FLAGS.contains(flag)))
        .ok_or_else(|| format!("`{flags}` are no flags of an entry"))?;
    if !is_sid(sid) {
        return Err(format!("`{sid}` is no account"));
    }
    let mask = mask(rights).ok_or_else(|| format!("`{rights}` are no rights"))?;
    Ok(*kind == "A" && ORDINARY.contains(sid) && mask & CHANGES != 0)
}

fn mask(rights: &str) -> Option<u32> {
    if let Some(number) = rights.strip_prefix("0x") {
        return u32::from_str_radix(number, 16).ok();
    }
    if rights.is_empty() {
        return None;
    }
    pairs(rights)?.iter().try_fold(0, |mask, pair| {
        let (_, bits) = RIGHTS.iter().find(|(letters, _)| letters == pair)?;
        Some(mask | bits)
    })
}

/// `OICI` as `OI`, `CI`.
fn pairs(text: &str) -> Option<Vec<&str>> {
    (0..text.len()).step_by(2).map(|at| text.get(at..at + 2)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_who_may_write() {
        for (text, protected, open_to_users) in [
            ("O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)", true, false),
            ("O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)", true, false),
            ("O:BAG:SYD:PAI(A;OICI;0x1301bf;;;AU)", true, true),
            ("O:BAG:SYD:AI(A;OICI;FA;;;SY)", false, false),
            ("O:S-1-5-32-544G:S-1-5-18D:P(A;;FRFX;;;S-1-5-32-545)", true, false),
            ("O:BAG:SYD:P(A;OICIIO;GA;;;S-1-5-32-545)", true, true),
            ("O:BAG:SYD:P(A;;FW;;;WD)", true, true),
            ("O:BAG:SYD:P(D;;FW;;;WD)(A;;FA;;;SY)", true, false),
        ] {
            assert_eq!(parse_access(text), Ok(Access { protected, open_to_users }), "{text}");
        }
    }

    #[test]
    fn says_it_in_words() {
        for (text, words) in [
            (
                "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)",
                "SYSTEM full, Users read and run, nothing from above",
            ),
            ("O:BAG:SYD:AI(A;;FR;;;S-1-5-11)(D;;WDWO;;;PU)", "Authenticated Users read, PU never WDWO"),
            ("nonsense", ""),
        ] {
            assert_eq!(in_words(text).join(", "), words);
        }
    }

    #[test]
    fn refuses_what_is_no_descriptor() {
        for (text, part) in [
            ("", "begin with the owner"),
            ("D:P(A;;FA;;;SY)", "begin with the owner"),
            ("O:XXG:SYD:P(A;;FA;;;SY)", "`XX` is no account"),
            ("O:S-1-5G:SYD:P(A;;FA;;;SY)", "`S-1-5` is no account"),
            ("O:BAD:P(A;;FA;;;SY)", "the group"),
            ("O:BAG:SY", "the access list"),
            ("O:BAG:SYD:PX(A;;FA;;;SY)", "no flags of an access list"),
            ("O:BAG:SYD:P", "lets nobody in"),
            ("O:BAG:SYD:P(A;;FA;;;SY", "no closing bracket"),
            ("O:BAG:SYD:P(A;;FA;;SY)", "is not `(type;"),
            ("O:BAG:SYD:P(Z;;FA;;;SY)", "neither allow"),
            ("O:BAG:SYD:P(A;OX;FA;;;SY)", "no flags of an entry"),
            ("O:BAG:SYD:P(A;OIC;FA;;;SY)", "no flags of an entry"),
            ("O:BAG:SYD:P(A;;QQ;;;SY)", "no rights"),
            ("O:BAG:SYD:P(A;;;;;SY)", "no rights"),
            ("O:BAG:SYD:P(A;;0xzz;;;SY)", "no rights"),
            ("O:BAG:SYD:P(A;;FA;;;Users)", "`Users` is no account"),
            ("O:BAG:SYD:P(A;;FA;;;SY)S:AI", "not expected"),
            ("O:é", "is no account"),
        ] {
            let message = parse_access(text).expect_err(text);
            assert!(message.contains(part), "{text}: {message}");
        }
    }
}
