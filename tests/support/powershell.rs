//! Texts of PowerShell that the program makes, judged by `ci/analyzer/judge.ps1`.

use std::process::Command;

use super::root;

/// Without `pwsh` it says that nothing was judged.
pub fn judge_powershell(texts: &[&str]) {
    let folder = tempfile::tempdir().unwrap();
    let mut judge = Command::new("pwsh");
    judge.args(["-NoProfile", "-NonInteractive", "-File"]);
    judge.arg(root().join("ci/analyzer/judge.ps1"));
    for (number, text) in texts.iter().enumerate() {
        let file = folder.path().join(format!("{number}.ps1"));
        std::fs::write(&file, text).unwrap();
        judge.arg(file);
    }

    let Ok(ran) = judge.output() else {
        println!("skipped: needs pwsh");
        return;
    };
    let found = [ran.stdout, ran.stderr].map(|it| String::from_utf8_lossy(&it).into_owned());
    assert!(ran.status.success(), "{}{texts:#?}", found.concat());
}
