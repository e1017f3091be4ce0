//! Security descriptors in SDDL: owner, group and DACL. Auditing (`S:`) is refused, because no resource sets it.
//!
//! The engine compares the plan's text with .NET's text of the object, so a plan needs the canonical text: .NET sorts
//! entries (deny before allow, each by SID), merges the entries of an account, and clears inheritance flags of files;
//! Windows prints `OICI`, letters for known SIDs, and rights in one of three forms. Sources:
//! `dotnet/runtime@v9.0.0 src/libraries/System.Security.AccessControl/src/System/Security/AccessControl/ACL.cs`
//! (`InspectAce`, `CompareAces`, `MergeAces`) and
//! <https://learn.microsoft.com/windows/win32/secauthz/ace-strings>.

mod account;

use crate::windows::resource::SecuredObject;

use account::{Account, parse_account};

/// An entry's inheritance flags, in the order in which Windows prints them.
const ACE_FLAGS: [&str; 4] = ["OI", "CI", "NP", "IO"];
/// Masks that Windows prints as one name.
const NAMED_RIGHTS: [(&str, u32); 7] = [
    ("FA", 0x1f_01ff),
    ("FR", 0x12_0089),
    ("FW", 0x12_0116),
    ("FX", 0x12_00a0),
    ("KA", 0xf_003f),
    ("KR", 0x2_0019),
    ("KW", 0x2_0006),
];
/// Bits with letters, in the order in which Windows prints them.
const BITS: [(&str, u32); 17] = [
    ("CC", 0x1),
    ("DC", 0x2),
    ("LC", 0x4),
    ("SW", 0x8),
    ("RP", 0x10),
    ("WP", 0x20),
    ("DT", 0x40),
    ("LO", 0x80),
    ("CR", 0x100),
    ("SD", 0x1_0000),
    ("RC", 0x2_0000),
    ("WD", 0x4_0000),
    ("WO", 0x8_0000),
    ("GA", 0x1000_0000),
    ("GX", 0x2000_0000),
    ("GW", 0x4000_0000),
    ("GR", 0x8000_0000),
];
/// Write or append data, delete children or itself, change access control or owner.
const CHANGES: u32 = 0x2 | 0x4 | 0x40 | 0x1_0000 | 0x4_0000 | 0x8_0000 | 0x1000_0000 | 0x4000_0000;

/// Facts of a descriptor that the rules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Access {
    /// Whether the object inherits nothing.
    pub protected: bool,
    /// Whether an account without special rights may change the object.
    pub open_to_users: bool,
}

struct AccessEntry<'a> {
    denies: bool,
    flags: &'a str,
    rights: &'a str,
    mask: u32,
    account: Account<'a>,
}

/// Parses the canonical text for the kind of object and refuses every other.
///
/// # Errors
/// The text is no access control list, is not canonical, or does not fit the kind of object.
pub fn parse_sddl(text: &str, object: SecuredObject) -> Result<Access, String> {
    let (protected, entries) = parse_parts(text)?;
    for entry in &entries {
        check_flags(entry, object)?;
    }
    for pair in entries.windows(2) {
        check_order(&pair[0], &pair[1])?;
    }
    Ok(Access {
        protected,
        open_to_users: entries.iter().any(opens_to_users),
    })
}

fn opens_to_users(entry: &AccessEntry<'_>) -> bool {
    !entry.denies && entry.account.is_ordinary() && entry.mask & CHANGES != 0
}

/// The accounts and their rights, for people: `SYSTEM full`. Empty if the text cannot be parsed.
pub fn describe_access(text: &str) -> Vec<String> {
    let Ok((protected, entries)) = parse_parts(text) else {
        return Vec::new();
    };
    let inheritance = protected.then(|| "inheritance disabled".to_owned());
    entries
        .iter()
        .map(format_entry)
        .chain(inheritance)
        .collect()
}

fn format_entry(entry: &AccessEntry<'_>) -> String {
    let account = entry.account.display_name();
    let rights = match entry.mask {
        0x1f_01ff | 0x1000_0000 => "full",
        0x12_00a9 => "read and run",
        0x12_0089 => "read",
        0x13_01bf => "change",
        _ => entry.rights,
    };
    if entry.denies {
        format!("{account} denied {rights}")
    } else {
        format!("{account} {rights}")
    }
}

/// Whether inheritance is disabled, and the entries.
fn parse_parts(text: &str) -> Result<(bool, Vec<AccessEntry<'_>>), String> {
    let rest = text
        .strip_prefix("O:")
        .ok_or("it must begin with the owner, `O:`")?;
    let (_, rest) = parse_account(rest)?;
    let rest = rest
        .strip_prefix("G:")
        .ok_or("the group, `G:`, must follow the owner")?;
    let (_, rest) = parse_account(rest)?;
    let rest = rest
        .strip_prefix("D:")
        .ok_or("the access list, `D:`, must follow the group")?;
    let (flags, entries) = rest.split_at(rest.find('(').unwrap_or(rest.len()));
    let protected = match flags {
        "PAI" => true,
        "AI" => false,
        "P" => return Err("Windows prints the flag `P` as `PAI`".to_owned()),
        _ => return Err(format!("`{flags}` is neither `PAI` nor `AI`")),
    };
    Ok((protected, parse_entries(entries)?))
}

fn parse_entries(text: &str) -> Result<Vec<AccessEntry<'_>>, String> {
    let (mut rest, mut entries) = (text, Vec::new());
    while !rest.is_empty() {
        let inner = rest
            .strip_prefix('(')
            .ok_or_else(|| format!("`{rest}` after an entry is not expected"))?;
        let (entry, after) = inner
            .split_once(')')
            .ok_or("an entry has no closing bracket")?;
        entries.push(parse_entry(entry)?);
        rest = after;
    }
    if entries.is_empty() {
        return Err("an access list without entries grants no access".to_owned());
    }
    Ok(entries)
}

fn parse_entry(entry: &str) -> Result<AccessEntry<'_>, String> {
    let fields: Vec<&str> = entry.split(';').collect();
    let [kind, flags, rights, "", "", sid] = fields.as_slice() else {
        return Err(format!(
            "`({entry})` is not `(type;flags;rights;;;account)`"
        ));
    };
    let denies = match *kind {
        "A" => false,
        "D" => true,
        _ => return Err(format!("`{kind}` is neither allow (`A`) nor deny (`D`)")),
    };
    let (account, rest) = parse_account(sid)?;
    if !rest.is_empty() {
        return Err(format!("`{sid}` is not an account"));
    }
    Ok(AccessEntry {
        denies,
        flags,
        rights,
        mask: parse_rights(rights)?,
        account,
    })
}

fn parse_rights(rights: &str) -> Result<u32, String> {
    let mask = match rights.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => parse_named_rights(rights),
    };
    let Some(mask) = mask.filter(|mask| *mask != 0) else {
        return Err(format!("`{rights}` are not rights"));
    };
    let canonical = format_rights(mask);
    if canonical == rights {
        Ok(mask)
    } else {
        Err(format!("Windows prints `{rights}` as `{canonical}`"))
    }
}

fn parse_named_rights(rights: &str) -> Option<u32> {
    let mut mask = 0;
    for pair in split_pairs(rights) {
        let mut names = NAMED_RIGHTS.iter().chain(&BITS);
        let (_, bits) = names.find(|(name, _)| *name == pair)?;
        mask |= bits;
    }
    Some(mask)
}

/// As Windows prints a mask: by one name, else by letters, else in hexadecimal
/// (`wine-mirror/wine dlls/sechost/security.c`, `print_rights`, behaves alike).
fn format_rights(mask: u32) -> String {
    if let Some((name, _)) = NAMED_RIGHTS.iter().find(|(_, named)| *named == mask) {
        return (*name).to_owned();
    }
    let mut letters = String::new();
    let mut rest = mask;
    for (name, bit) in BITS {
        if mask & bit != 0 {
            letters.push_str(name);
            rest &= !bit;
        }
    }
    if rest == 0 {
        letters
    } else {
        format!("{mask:#x}")
    }
}

/// `OICI` as `OI`, `CI`.
fn split_pairs(text: &str) -> Vec<&str> {
    (0..text.len())
        .step_by(2)
        .map(|at| text.get(at..at + 2).unwrap_or(text))
        .collect()
}

fn check_flags(entry: &AccessEntry<'_>, object: SecuredObject) -> Result<(), String> {
    let flags = entry.flags;
    if flags.is_empty() {
        return Ok(());
    }
    if object == SecuredObject::File {
        return Err(format!(
            "an entry of a file has no inheritance flags, but this one has `{flags}`"
        ));
    }
    let pairs = split_pairs(flags);
    let canonical: String = ACE_FLAGS
        .into_iter()
        .filter(|flag| pairs.contains(flag))
        .collect();
    if canonical.len() < flags.len() {
        return Err(format!(
            "`{flags}` are not flags of an entry that a resource sets"
        ));
    }
    if canonical != flags {
        return Err(format!("Windows prints `{flags}` as `{canonical}`"));
    }
    if !pairs.contains(&"OI") && !pairs.contains(&"CI") {
        return Err(format!("`{flags}` has no meaning without `OI` or `CI`"));
    }
    Ok(())
}

/// Entries are sorted, and an account has one of each kind: .NET merges two, or keeps no order of them.
fn check_order(first: &AccessEntry<'_>, second: &AccessEntry<'_>) -> Result<(), String> {
    let [before, after] = [first, second].map(|entry| (!entry.denies, entry.account.order()));
    let [name, next] = [first, second].map(|entry| entry.account.text);
    if before == after {
        return Err(format!(
            "`{name}` has two entries, which .NET merges or reorders"
        ));
    }
    if before > after {
        return Err(format!(
            "the entry of `{next}` must stand before that of `{name}`: deny first, then by SID"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIRECTORY: SecuredObject = SecuredObject::Directory;
    const FILE: SecuredObject = SecuredObject::File;

    #[test]
    fn finds_who_may_write() {
        for (text, object, protected, open_to_users) in [
            (
                "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)",
                DIRECTORY,
                true,
                false,
            ),
            (
                "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)",
                DIRECTORY,
                true,
                false,
            ),
            ("O:BAG:SYD:PAI(A;OICI;0x1301bf;;;AU)", DIRECTORY, true, true),
            ("O:BAG:SYD:AI(A;OICI;FA;;;SY)", DIRECTORY, false, false),
            ("O:BAG:SYD:PAI(A;OICIIO;GA;;;BU)", DIRECTORY, true, true),
            ("O:BAG:SYD:PAI(A;;FA;;;SY)(A;;FA;;;BA)", FILE, true, false),
            ("O:BAG:SYD:PAI(A;;FW;;;WD)", FILE, true, true),
            ("O:BAG:SYD:PAI(D;;FW;;;WD)(A;;FA;;;SY)", FILE, true, false),
            (
                "O:SYG:SYD:PAI(A;;FR;;;S-1-5-21-1-2-3-1001)",
                FILE,
                true,
                false,
            ),
        ] {
            assert_eq!(
                parse_sddl(text, object),
                Ok(Access {
                    protected,
                    open_to_users
                }),
                "{text}"
            );
        }
    }

    #[test]
    fn describes_entries() {
        for (text, words) in [
            (
                "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;0x1200a9;;;BU)",
                "SYSTEM full, Users read and run, inheritance disabled",
            ),
            (
                "O:BAG:SYD:AI(D;;WDWO;;;BG)(A;;FR;;;AU)",
                "Guests denied WDWO, Authenticated Users read",
            ),
            ("nonsense", ""),
        ] {
            assert_eq!(describe_access(text).join(", "), words);
        }
    }
}
