//! How much is downloaded, as far as it is known.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// Files with the sizes that their pins record. Most publishers state none: a lockfile records what was seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct DownloadSize {
    pub files: usize,
    /// Bytes of the files whose size is known.
    pub bytes: u64,
    /// Files whose size is unknown until they are downloaded.
    pub unknown: usize,
}

impl DownloadSize {
    pub fn sum(sizes: impl Iterator<Item = Option<u64>>) -> Self {
        sizes.fold(
            Self {
                files: 0,
                bytes: 0,
                unknown: 0,
            },
            |sum, size| Self {
                files: sum.files + 1,
                bytes: sum.bytes + size.unwrap_or(0),
                unknown: sum.unknown + usize::from(size.is_none()),
            },
        )
    }
}

impl fmt::Display for DownloadSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = format_megabytes(self.bytes);
        let unknown = format_files(self.unknown);
        match (self.files - self.unknown, self.unknown) {
            (0, 0) => f.write_str("nothing"),
            (0, _) => write!(f, "{unknown} of unknown size"),
            (known, 0) => write!(f, "{}, {bytes}", format_files(known)),
            (known, _) => write!(
                f,
                "{}, {bytes}; {unknown} of unknown size",
                format_files(known)
            ),
        }
    }
}

/// In units of 1,000,000 bytes, rounded up.
pub fn format_megabytes(bytes: u64) -> String {
    let tenths = bytes.div_ceil(100_000);
    format!("{}.{} MB", tenths / 10, tenths % 10)
}

fn format_files(count: usize) -> String {
    match count {
        1 => "1 file".to_owned(),
        _ => format!("{count} files"),
    }
}

#[cfg(test)]
mod tests {
    use super::DownloadSize;

    #[test]
    fn an_unknown_size_is_never_nothing() {
        for (sizes, expected) in [
            (vec![], "nothing"),
            (vec![None], "1 file of unknown size"),
            (vec![Some(0)], "1 file, 0.0 MB"),
            (vec![Some(1), Some(2_000_000)], "2 files, 2.1 MB"),
            (
                vec![None, Some(5_000_000), None],
                "1 file, 5.0 MB; 2 files of unknown size",
            ),
        ] {
            assert_eq!(DownloadSize::sum(sizes.into_iter()).to_string(), expected);
        }
    }
}
