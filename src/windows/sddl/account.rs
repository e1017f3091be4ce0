//! Accounts of a security descriptor: security identifiers and the letters that stand for them.
//!
//! Letters: <https://learn.microsoft.com/windows/win32/secauthz/sid-strings>; numbers:
//! <https://learn.microsoft.com/windows-server/identity/ad-ds/manage/understand-security-identifiers>.

/// Letters, number and name of accounts that every Windows has. Windows prints the letters.
const KNOWN: [(&str, &str, &str); 17] = [
    ("AN", "S-1-5-7", "Anonymous"),
    ("AO", "S-1-5-32-548", "Account Operators"),
    ("AU", "S-1-5-11", "Authenticated Users"),
    ("BA", "S-1-5-32-544", "Administrators"),
    ("BG", "S-1-5-32-546", "Guests"),
    ("BO", "S-1-5-32-551", "Backup Operators"),
    ("BU", "S-1-5-32-545", "Users"),
    ("CG", "S-1-3-1", "Creator Group"),
    ("CO", "S-1-3-0", "Creator Owner"),
    ("IU", "S-1-5-4", "Interactive"),
    ("LS", "S-1-5-19", "Local Service"),
    ("NS", "S-1-5-20", "Network Service"),
    ("NU", "S-1-5-2", "Network"),
    ("OW", "S-1-3-4", "Owner Rights"),
    ("SU", "S-1-5-6", "Service"),
    ("SY", "S-1-5-18", "SYSTEM"),
    ("WD", "S-1-1-0", "Everyone"),
];
/// Groups that any person with an account, or any container user, is in.
const ORDINARY: [&str; 6] = ["AN", "AU", "BG", "BU", "IU", "WD"];

/// An account by its letters, or by its identifier if it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Account<'a> {
    pub text: &'a str,
    sid: &'a str,
}

/// Identifier authority, count of the other numbers, and those: the order in which .NET compares
/// (`dotnet/runtime@v9.0.0 src/libraries/System.Security.Principal.Windows/src/System/Security/Principal/SID.cs`).
pub(super) type SidOrder = (u64, usize, Vec<u64>);

impl Account<'_> {
    pub(super) fn order(&self) -> SidOrder {
        let mut numbers = self
            .sid
            .split('-')
            .skip(2)
            .filter_map(|part| part.parse().ok());
        let authority = numbers.next().unwrap_or_default();
        let others: Vec<u64> = numbers.collect();
        (authority, others.len(), others)
    }

    pub(super) fn is_ordinary(&self) -> bool {
        ORDINARY.contains(&self.text)
    }

    pub(super) fn display_name(&self) -> &str {
        KNOWN
            .iter()
            .find(|(letters, ..)| *letters == self.text)
            .map_or(self.text, |(.., name)| name)
    }
}

/// The account at the start of a text, and what follows it.
pub(super) fn parse_account(text: &str) -> Result<(Account<'_>, &str), String> {
    let length = if text.starts_with("S-1-") {
        let end = text[1..].find(|c: char| !c.is_ascii_digit() && c != '-');
        end.map_or(text.len(), |end| end + 1)
    } else {
        2
    };
    let (account, rest) = text.split_at_checked(length).unwrap_or((text, ""));
    if let Some((letters, sid, _)) = KNOWN.iter().find(|(letters, ..)| *letters == account) {
        return Ok((Account { text: letters, sid }, rest));
    }
    if let Some((letters, ..)) = KNOWN.iter().find(|(_, sid, _)| *sid == account) {
        return Err(format!("Windows prints `{account}` as `{letters}`"));
    }
    if !is_sid(account) {
        return Err(format!(
            "`{account}` is not an account that every Windows has, nor a SID"
        ));
    }
    Ok((
        Account {
            text: account,
            sid: account,
        },
        rest,
    ))
}

fn is_sid(text: &str) -> bool {
    let Some(numbers) = text.strip_prefix("S-1-") else {
        return false;
    };
    numbers.contains('-') && numbers.split('-').all(is_canonical_number)
}

fn is_canonical_number(text: &str) -> bool {
    text.parse::<u64>()
        .is_ok_and(|number| number.to_string() == text)
}
