//! Windows paths as text: one spelling, comparison without case, and what Windows forbids.

use std::borrow::Cow;

use crate::base::member::{LONGEST_PATH, is_reserved};
use crate::base::text::into_lowercase;

/// Backslashes only, none at the end but a drive's.
pub fn normalize_path(path: &str) -> String {
    let path = if path.contains('/') {
        Cow::Owned(path.replace('/', r"\"))
    } else {
        Cow::Borrowed(path)
    };
    let trimmed = path.trim_end_matches('\\');
    match trimmed.strip_suffix(':') {
        Some(drive) if drive.len() == 1 => format!(r"{trimmed}\"),
        _ => trimmed.to_owned(),
    }
}

/// The text by which paths are compared: two spellings of one path have the same.
pub fn normalize_key(path: &str) -> String {
    into_lowercase(normalize_path(path))
}

/// The directory a normal path lies in; none for a drive.
pub fn parent_path(path: &str) -> Option<String> {
    let (above, name) = path.rsplit_once('\\')?;
    (!name.is_empty()).then(|| normalize_path(above))
}

/// Every directory above a normal path, the nearest first.
pub fn list_ancestors(path: &str) -> impl Iterator<Item = String> {
    std::iter::successors(parent_path(path), |above| parent_path(above))
}

/// Whether one key lies somewhere below the other.
pub fn is_below(path: &str, above: &str) -> bool {
    path.strip_prefix(above)
        .is_some_and(|rest| above.ends_with('\\') && !rest.is_empty() || rest.starts_with('\\'))
}

/// Whether it begins with a drive: `C:\…` or `C:/…`.
pub fn is_absolute(path: &str) -> bool {
    let bytes = path.as_bytes();
    bytes.len() >= 3
        && bytes[0].is_ascii_alphabetic()
        && bytes[1] == b':'
        && matches!(bytes[2], b'\\' | b'/')
}

pub fn file_name(path: &str) -> &str {
    path.rsplit(['\\', '/']).next().unwrap_or(path)
}

/// The file's name without suffix, in lower case.
pub fn file_stem(path: &str) -> String {
    let name = file_name(path);
    name.rsplit_once('.')
        .map_or(name, |(stem, _)| stem)
        .to_lowercase()
}

pub fn has_extension(path: &str) -> bool {
    file_name(path)
        .rsplit_once('.')
        .is_some_and(|(stem, suffix)| !stem.is_empty() && !suffix.is_empty())
}

/// The reason why Windows, or imagegen, refuses the path.
pub fn find_fault(path: &str) -> Option<String> {
    if !is_absolute(path) {
        return Some("is not absolute".to_owned());
    }
    if path.encode_utf16().count() > LONGEST_PATH {
        return Some(format!("is longer than {LONGEST_PATH} characters"));
    }
    normalize_path(&path[2..])
        .split('\\')
        .skip(1)
        .find_map(find_name_fault)
}

fn find_name_fault(name: &str) -> Option<String> {
    if name.contains(':') {
        return Some(format!("names an alternate data stream, `{name}`"));
    }
    if let Some(bad) = name
        .chars()
        .find(|c| "<>\"|?*".contains(*c) || c.is_control())
    {
        return Some(format!("has the forbidden character {bad:?} in `{name}`"));
    }
    if name.is_empty() || name == "." || name == ".." {
        return Some("has an empty or relative part".to_owned());
    }
    if name.ends_with(['.', ' ']) || name.starts_with(' ') {
        return Some(format!(
            "has a part that begins with a blank or ends with a blank or dot, `{name}`"
        ));
    }
    is_reserved(name).then(|| format!("uses the device name `{name}`"))
}

#[cfg(test)]
mod tests {
    use super::{find_fault, is_below, list_ancestors, normalize_key, normalize_path};

    #[test]
    fn spellings_of_one_path_have_one_key() {
        for spelling in [
            r"C:\K\kubelet.exe",
            "c:/k/kubelet.exe",
            r"C:\k\KUBELET.EXE\",
        ] {
            assert_eq!(normalize_key(spelling), r"c:\k\kubelet.exe");
        }
        assert_eq!(normalize_path(r"C:\"), r"C:\");
        assert_eq!(normalize_path("C:/"), r"C:\");
    }

    #[test]
    fn climbs_to_the_drive() {
        let above: Vec<String> = list_ancestors(r"C:\opt\cni\bin").collect();
        assert_eq!(above, [r"C:\opt\cni", r"C:\opt", r"C:\"]);
        assert!(is_below(r"c:\opt\cni", r"c:\opt"));
        assert!(is_below(r"c:\opt", r"c:\"));
        assert!(!is_below(r"c:\optional", r"c:\opt"));
        assert!(!is_below(r"c:\opt", r"c:\opt"));
    }

    #[test]
    fn refuses_what_windows_refuses() {
        let long = format!(r"C:\{}", "a".repeat(260));
        for (path, part) in [
            ("k", "not absolute"),
            (r"\k", "not absolute"),
            (r"\\server\share", "not absolute"),
            (r"C:k", "not absolute"),
            (long.as_str(), "longer than 259"),
            (r"C:\a:b", "alternate data stream"),
            (r"C:\a?", "forbidden character '?'"),
            (r"C:\a\*", "forbidden character '*'"),
            ("C:\\a\u{7}", "forbidden character"),
            (r"C:\a\\b", "empty or relative"),
            (r"C:\a\..\b", "empty or relative"),
            (r"C:\a.\b", "ends with a blank or dot"),
            (r"C:\a \b", "ends with a blank or dot"),
            (r"C:\NUL", "device name"),
            (r"C:\a\com1.txt", "device name"),
            (r"C:\lpt9", "device name"),
            (r"C:\com0", "device name"),
            (r"C:\conin$", "device name"),
        ] {
            let fault = find_fault(path).unwrap_or_default();
            assert!(fault.contains(part), "{path}: {fault}");
        }
        for path in [
            r"C:\",
            r"C:\k",
            "c:/opt/cni/bin",
            r"C:\k\.hidden",
            r"C:\com",
            r"C:\com10",
            r"C:\k\",
        ] {
            assert_eq!(find_fault(path), None, "{path}");
        }
    }
}
