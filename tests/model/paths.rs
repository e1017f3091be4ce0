//! Paths of Windows.

use imagegen::windows::paths::{
    find_fault, is_below, list_ancestors, normalize_key, normalize_path,
};

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
