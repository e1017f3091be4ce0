//! Workspaces under the real Packer with the real plugins.

use std::process::Command;

use crate::support::{Test, needs};

#[test]
fn packer_accepts_the_workspace() {
    let Some(packer) = needs("IMAGEGEN_TEST_PACKER", "Packer") else { return };
    let media = "--var windows_iso_sha256=0000000000000000000000000000000000000000000000000000000000000000 \
                 --var windows_iso_url=https://media.example.com/w.iso \
                 --var drivers_iso_url=https://media.example.com/d.iso \
                 --var drivers_iso_sha256=0000000000000000000000000000000000000000000000000000000000000000";
    let azure = "--var location=westeurope --var managed_image_resource_group_name=rg";
    let azure = (r#"{"azure": "1.4.5"}"#, azure);
    let qemu = (r#"{"qemu": "1.0.9"}"#, media);
    for (line, (plugins, variables)) in [
        ("build --target azure --k8s 1.20.0 --no-bake --out o", azure),
        ("build --target azure --k8s 1.36.4 --windows 2025 --no-bake --out o", azure),
        ("build --target azure --k8s 1.36.4 --updates SecurityUpdates --no-bake --out o", azure),
        ("build --target qemu --k8s 1.20.0 --windows 2019 --no-bake --out o", qemu),
        (
            "build --target qemu --k8s 1.36.4 --windows 2025 --no-bake --out o \
             --var product_key=AAAAA-BBBBB-CCCCC-DDDDD-EEEEE --var disk_compression=true",
            qemu,
        ),
    ] {
        let test = Test::new()
            .file("imagegen.json", &format!(r#"{{"packer": {{"version": "1.12.0", "plugins": {plugins}}}}}"#))
            .line(line)
            .line(variables);
        test.succeeds();
        for arguments in [&["fmt", "-check", "-diff", "."][..], &["init", "."], &["validate", "."]] {
            let output = Command::new(&packer)
                .args(arguments)
                .current_dir(test.folder.join("o"))
                .env("HOME", &test.folder)
                .env("CHECKPOINT_DISABLE", "1")
                .env("PKR_VAR_windows_iso", "/dev/null")
                .env("PKR_VAR_drivers_iso", "/dev/null")
                .output()
                .expect("packer starts");
            let said = String::from_utf8_lossy(&output.stdout).into_owned()
                + &String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "packer {arguments:?}: {said}");
        }
    }
}
