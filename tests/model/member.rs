//! Names of members of archives.

use imagegen::base::member::{MemberFile, MemberName};

#[test]
fn names_of_members_are_plain() {
    for name in [
        "bin/ctr.exe",
        "./containerd.exe",
        "kubernetes-{version}/x.exe",
        "a b/c+d.dll",
    ] {
        assert!(name.parse::<MemberName>().is_ok(), "{name}");
    }
    for name in [
        "",
        ".",
        "..",
        "../x",
        "a/../b",
        "a//b",
        "/x",
        "C:/x",
        "a.exe:stream",
        "a\\b",
        "*.exe",
        "a?.exe",
        "[a].exe",
        "-C/x",
        "@list",
        "nul",
        "bin/AUX.exe",
        "COM1.txt",
        "lpt\u{b9}",
        "a./b",
        "a /b",
        "x.",
        "x ",
        "a\u{202e}exe.txt",
        "a\nb",
        "a\0b",
        ".//x",
        "./../x",
        "././x",
    ] {
        assert!(name.parse::<MemberName>().is_err(), "{name:?}");
    }
    assert!("x".repeat(300).parse::<MemberName>().is_err());
    assert!("ctr.exe".parse::<MemberFile>().is_ok());
    for file in [
        "a/b.exe", "..", "con", "x.exe:y", "a'b.exe", "$x.exe", "-x", "a\\b",
    ] {
        assert!(file.parse::<MemberFile>().is_err(), "{file}");
    }
}
