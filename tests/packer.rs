//! Workspaces under the real Packer with the real azure plugin.

use std::process::Command;

use crate::support::{Test, needs};

const OLD_PLUGIN: &str = r#"{"packer": {"version": "1.12.0", "plugins": {"azure": "1.4.5"}}}"#;

#[test]
fn packer_accepts_the_workspace() {
    let Some(packer) = needs("IMAGEGEN_TEST_PACKER", "Packer") else { return };
    for line in [
        "build --target azure --k8s 1.20.0 --no-bake --out o",
        "build --target azure --k8s 1.36.4 --windows 2025 --no-bake --out o",
    ] {
        let test = Test::new()
            .file("imagegen.json", OLD_PLUGIN)
            .line(line)
            .line("--var location=westeurope --var managed_image_resource_group_name=rg");
        test.succeeds();
        for arguments in [&["fmt", "-check", "-diff", "."][..], &["init", "."], &["validate", "."]] {
            let output = Command::new(&packer)
                .args(arguments)
                .current_dir(test.folder.join("o"))
                .env("HOME", &test.folder)
                .env("CHECKPOINT_DISABLE", "1")
                .output()
                .expect("packer starts");
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "packer {arguments:?}: {said}");
        }
    }
}
