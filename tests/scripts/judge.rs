//! Scripts that come from outside are accepted only as they were exported.

use std::collections::BTreeMap;

use imagegen::base::digest::sha256_hex;
use imagegen::embedded::Tree;
use imagegen::model::overrides::{Overrides, set_overrides};
use imagegen::scripts::{accept_scripts, collect_scripts, export_scripts};

fn judge(change: impl FnOnce(&mut BTreeMap<String, Vec<u8>>), overrides: &[&str]) -> Vec<String> {
    let provisioners = Tree::embedded_provisioners();
    let mut files = export_scripts(&provisioners);
    change(&mut files);
    let mut given = Overrides::new();
    let texts: Vec<String> = overrides.iter().map(|text| (*text).to_owned()).collect();
    set_overrides(&mut given, &texts).expect("overrides");
    match accept_scripts("own", files, &provisioners, &given) {
        Ok(_) => Vec::new(),
        Err(foreign) => foreign
            .findings
            .iter()
            .map(|it| format!("{} [{}]", it.subject, it.code))
            .collect(),
    }
}

#[test]
fn what_was_exported_is_accepted_as_it_is() {
    assert!(judge(|_| (), &[]).is_empty());
    let paths: Vec<String> = collect_scripts(&Tree::embedded_provisioners())
        .into_keys()
        .collect();
    for path in [
        "engine/Engine.psm1",
        "installer/Install.ps1",
        "node/Node.psm1",
        "resources/file.ps1",
    ] {
        assert!(paths.contains(&path.to_owned()), "{path}");
    }
}

#[test]
fn ends_of_lines_are_no_change_and_others_are() {
    let body = "engine/Tools.ps1";
    let change = |change: fn(&[u8]) -> Vec<u8>| {
        let edit = |files: &mut BTreeMap<String, Vec<u8>>| {
            let changed = change(&files[body]);
            files.insert(body.to_owned(), changed);
        };
        judge(edit, &[])
    };
    let with_crlf = |text: &[u8]| {
        String::from_utf8(text.to_vec())
            .expect("text")
            .replace("\r\n", "\n")
            .replace('\n', "\r\n")
            .into_bytes()
    };
    assert!(change(with_crlf).is_empty());
    assert_eq!(
        change(|text| [text, b"\r"].concat()),
        ["engine/Tools.ps1 [script-changed]"]
    );
}

#[test]
fn what_is_not_the_programs_own_is_named() {
    let body = "engine/Tools.ps1";
    let own = b"# own\n".to_vec();
    let named = format!("scripts/{body}.sha256={}", sha256_hex(&own));
    let changed = |files: &mut BTreeMap<String, Vec<u8>>| {
        files.insert(body.to_owned(), own.clone());
    };
    assert_eq!(judge(changed, &[]), ["engine/Tools.ps1 [script-changed]"]);
    assert!(judge(changed, &[&named]).is_empty());
    assert_eq!(
        judge(|_| (), &[&named]),
        ["engine/Tools.ps1 [script-digest]"]
    );
    let other = named.replace("Tools", "Toys");
    assert_eq!(
        judge(|_| (), &[&other]),
        ["engine/Toys.ps1 [script-unknown]"]
    );
    assert_eq!(
        judge(|files| drop(files.remove(body)), &[]),
        ["engine/Tools.ps1 [script-missing]"]
    );
    let extra = |files: &mut BTreeMap<String, Vec<u8>>| {
        files.insert("engine/Extra.ps1".to_owned(), Vec::new());
    };
    assert_eq!(judge(extra, &[]), ["engine/Extra.ps1 [script-unknown]"]);
}

/// A signature block that hides code is no signature block.
#[test]
fn code_in_a_signature_block_is_found() {
    let hide = |tail: &'static str| {
        move |files: &mut BTreeMap<String, Vec<u8>>| {
            let script = files.get_mut("engine/Tools.ps1").expect("script");
            script.extend_from_slice(b"\r\n# SIG # Begin signature block\r\n");
            script.extend_from_slice(tail.as_bytes());
        }
    };
    for (tail, code) in [
        (
            "# AAAA\r\n# SIG # End signature block\r\nwhoami\r\n",
            "text-after-signature",
        ),
        (
            "# AAAA\r\nwhoami\r\n# SIG # End signature block\r\n",
            "signature-block",
        ),
        ("# AAAA\r\n", "signature-block"),
    ] {
        assert_eq!(
            judge(hide(tail), &[]),
            [format!("engine/Tools.ps1 [{code}]")]
        );
    }
}
