//! Says at the end of `cargo test` what nothing judged: without PowerShell no script of the guest ran.

#![expect(
    clippy::disallowed_methods,
    reason = "tests start programs by themselves"
)]

use std::process::{Command, Stdio};

fn main() {
    let mut shell = Command::new("pwsh");
    shell.args(["-NoProfile", "-NonInteractive", "-Command", "exit 0"]);
    let status = shell.stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !status.is_ok_and(|status| status.success()) {
        println!(
            "skipped: needs pwsh, of PowerShell 7: no script of provisioners was judged (tests/guest/README.md)"
        );
    }
}
