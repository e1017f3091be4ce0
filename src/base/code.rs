//! Codes of errors, refusals, warnings and rules: one table, from which exit codes, messages, `imagegen list rules` and
//! `imagegen explain` come. A code is a constant of [`Code`], so one that the table lacks does not compile.

mod archive;
mod bundle;
mod catalog;
mod download;
mod error;
mod policy;
mod proof;
mod refusal;
mod rule;
mod signature;
mod warning;

use std::fmt;

/// Kind of an error, as far as a calling script tells it apart. The number is the exit code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum ErrorClass {
    /// The program itself, or the machine it runs on.
    Internal = 1,
    /// The command line does not parse.
    Usage = 2,
    /// A value or an input file.
    Selection = 3,
    Fetch = 4,
    Verification = 5,
    Render = 6,
    Packer = 7,
    Checks = 8,
    Interrupted = 130,
}

impl ErrorClass {
    pub const ALL: &'static [Self] = &[
        Self::Internal,
        Self::Usage,
        Self::Selection,
        Self::Fetch,
        Self::Verification,
        Self::Render,
        Self::Packer,
        Self::Checks,
        Self::Interrupted,
    ];

    pub fn exit_code(self) -> u8 {
        self as u8
    }

    /// The word for the class in JSON, and the code of errors that have none of their own.
    pub fn name(self) -> &'static str {
        match self {
            Self::Internal => "internal",
            Self::Usage => "usage",
            Self::Selection => "value",
            Self::Fetch => "download",
            Self::Verification => "verification",
            Self::Render => "render",
            Self::Packer => "packer",
            Self::Checks => "checks",
            Self::Interrupted => "interrupted",
        }
    }

    /// As the README's table and `imagegen --help` describe it.
    pub fn description(self) -> &'static str {
        match self {
            Self::Internal => {
                "internal error, or the system refused an operation (permission, full disk)"
            }
            Self::Usage => {
                "the command line does not parse: unknown flag, missing or conflicting arguments"
            }
            Self::Selection => {
                "invalid or missing value: flag, image definition, overrides, policy, lockfile, catalog, own steps or \
                 targets"
            }
            Self::Fetch => "download failed",
            Self::Verification => "verification failed",
            Self::Render => "the workspace cannot be rendered or written",
            Self::Packer => "Packer or the platform's program failed or is missing",
            Self::Checks => "checks of the baked machine failed",
            Self::Interrupted => "interrupted",
        }
    }
}

/// Stable name of something that the program reports, in kebab case.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Code {
    name: &'static str,
    class: ErrorClass,
}

impl Code {
    pub const fn as_str(self) -> &'static str {
        self.name
    }

    /// The class of an error of this code, unless the error knows better.
    pub const fn class(self) -> ErrorClass {
        self.class
    }
}

impl fmt::Display for Code {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name)
    }
}

impl From<Code> for String {
    fn from(code: Code) -> Self {
        code.name.to_owned()
    }
}

/// The code as text: in findings that come from a record or a rule of the catalog, too.
impl PartialEq<Code> for String {
    fn eq(&self, code: &Code) -> bool {
        self == code.name
    }
}

/// Codes of one kind.
#[derive(Debug)]
pub struct CodeTable {
    /// As `imagegen explain` and `imagegen list rules` name it.
    pub kind: &'static str,
    /// Each code with its meaning, a sentence; in the order of their names.
    pub rows: &'static [(Code, &'static str)],
}

/// Every code, by kind.
pub const TABLES: &[CodeTable] = &[
    error::TABLE,
    refusal::TABLE,
    policy::TABLE,
    warning::TABLE,
    download::TABLE,
    proof::TABLE,
    signature::TABLE,
    archive::TABLE,
    bundle::TABLE,
    catalog::TABLE,
    rule::TABLE,
];

/// Rules of the machine model.
pub const RULES: &[(Code, &str)] = rule::TABLE.rows;

/// Declares codes of one kind: class, constant, name and meaning.
macro_rules! codes {
    ($kind:literal $($class:ident $constant:ident $name:literal $meaning:literal,)+) => {
        impl crate::base::code::Code {
            $(
                #[doc = $meaning]
                pub const $constant: Self = Self {
                    name: $name,
                    class: crate::base::code::ErrorClass::$class,
                };
            )+
        }

        pub(super) const TABLE: crate::base::code::CodeTable = crate::base::code::CodeTable {
            kind: $kind,
            rows: &[$((crate::base::code::Code::$constant, $meaning)),+],
        };
    };
}
use codes;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_in_order_and_have_a_sentence() {
        let mut names = Vec::new();
        for table in TABLES {
            let rows = table.rows;
            assert!(
                rows.is_sorted_by_key(|(code, _)| code.name),
                "{}",
                table.kind
            );
            for (code, meaning) in rows {
                assert!(
                    meaning.ends_with('.') && meaning.len() < 160,
                    "{code}: {meaning}"
                );
                names.push(code.name);
            }
        }
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
