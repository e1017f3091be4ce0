//! Packer and its plugin from their publisher's site, by his OpenPGP key, into the store and run.

use std::io::{Cursor, Write as _};
use std::path::Path;

use imagegen::base::digest::sha256_hex;
use serde_json::json;

use super::signers::{gpg_key, gpg_sign};
use super::site::Site;
use crate::detached::tools::{Bench, bench};
use crate::support::{files, root};

const SELECTION: &str = "--target azure --k8s 1.20.0 --host-access services --manifests catalog";
const BUILD: &str = "--out o --var location=westeurope --var managed_image_resource_group_name=rg";

/// Stands for Packer: notes where it looks for plugins, and makes an image.
const PACKER: &str = r#"#!/bin/sh
OUT='FOLDER/notes'
mkdir -p "$OUT"
printf %s "$PACKER_PLUGIN_PATH" > "$OUT/plugin-path"
printf %s "$0" > "$OUT/program-path"
cp -r "$PACKER_PLUGIN_PATH" "$OUT/plugins.$1"
[ "$1" = build ] || exit 0
cat > packer-manifest.json <<'M'
{"builds": [{"builder_type": "azure-arm", "artifact_id": "/subscriptions/s/images/i", "packer_run_uuid": "1"}],
 "last_run_uuid": "1"}
M
echo '{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 7, "failed": 0}' > check-report.json
"#;

pub fn zipped(name: &str, bytes: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    // Packer is large, and an unoptimized build of the tests compresses slowly.
    let stored =
        zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    writer.start_file(name, stored).expect("entry");
    writer.write_all(bytes).expect("bytes");
    writer.finish().expect("zip").into_inner()
}

/// The catalog, with another key in the place of the publisher's.
pub fn catalog(site: &Site, fingerprint: &str, key: &[u8]) {
    for (name, bytes) in files(&root().join("manifests")) {
        let path = site.home.folder.join("catalog").join(&name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        let bytes = match name.as_str() {
            "trust/hashicorp.asc" => key.to_vec(),
            "trust/keys.json" => {
                let key = json!([{"name": "hashicorp", "fingerprint": fingerprint.to_lowercase(),
                                  "file": "hashicorp.asc", "source": "this test"}]);
                key.to_string().into_bytes()
            }
            name if name.starts_with("components/packer") => {
                let text = String::from_utf8(bytes).expect("UTF-8");
                let other = text.replace("C874011F0AB405110D02105534365D9472D7468F", fingerprint);
                assert!(
                    other != text || !text.contains("releases.hashicorp.com"),
                    "{name} names its signer"
                );
                other.into_bytes()
            }
            _ => bytes,
        };
        std::fs::write(path, bytes).expect("file");
    }
}

/// Serves a tool with its signed checksum file, whose address is the result.
pub fn publish(
    bench: &Bench,
    site: &Site,
    tool: &str,
    version: &str,
    program: &str,
    bytes: &[u8],
) -> String {
    let base = format!("https://releases.hashicorp.com/{tool}/{version}/{tool}_{version}");
    let archive = zipped(program, bytes);
    let sums = format!(
        "{}  {tool}_{version}_linux_amd64.zip\n",
        sha256_hex(&archive)
    );
    site.serve(&format!("{base}_linux_amd64.zip"), &archive);
    site.serve(&format!("{base}_SHA256SUMS"), sums.as_bytes());
    site.serve(
        &format!("{base}_SHA256SUMS.sig"),
        &gpg_sign(bench, sums.as_bytes()),
    );
    format!("{base}_SHA256SUMS")
}

#[test]
fn packer_is_proven_kept_and_run_with_plugins_of_its_own() {
    let Some(bench) = bench(&["gpg"]) else { return };
    let Some(mut site) = Site::new() else { return };
    site.stock("--target azure --k8s 1.20.0 --host-access services");
    let (fingerprint, key) = gpg_key(&bench);
    catalog(&site, &fingerprint, &key);
    let packer = PACKER.replace("FOLDER", &site.home.folder.display().to_string());
    let member = "packer-plugin-azure_v2.6.3_x5.0_linux_amd64";
    let plugin = b"#!/bin/sh\nexit 0\n";
    let sums = publish(
        &bench,
        &site,
        "packer",
        "1.16.0",
        "packer",
        packer.as_bytes(),
    );
    publish(
        &bench,
        &site,
        "packer-plugin-azure",
        "2.6.3",
        member,
        plugin,
    );

    // A checksum file that was changed after it was signed: nothing of it runs.
    let honest = format!(
        "{}  packer_1.16.0_linux_amd64.zip\n",
        sha256_hex(&zipped("packer", packer.as_bytes()))
    );
    site.serve(&sums, format!("{honest}\n").as_bytes());
    site.fails(
        &format!("build {SELECTION} {BUILD}"),
        5,
        &["packer 1.16.0", "openpgp"],
    );
    assert!(!site.home.exists("notes"));
    site.serve(&sums, honest.as_bytes());

    let ran = site.succeeds(&format!("build {SELECTION} {BUILD} --force"));
    assert_eq!(ran.stdout, "/subscriptions/s/images/i\n");
    let folder = site.home.text("notes/plugin-path");
    let work = site.home.folder.join("store/work");
    assert!(Path::new(&folder).starts_with(&work), "{folder}");
    assert!(Path::new(&site.home.text("notes/program-path")).starts_with(&work));
    assert_eq!(
        std::fs::read_dir(&work).expect("the store").count(),
        0,
        "a bake leaves nothing"
    );
    let plugins = site.home.folder.join("notes/plugins.build");
    let found = files(&plugins.join("github.com/hashicorp/azure"));
    let names: Vec<&str> = found.keys().map(String::as_str).collect();
    assert_eq!(names, [member, &format!("{member}_SHA256SUM")]);
    assert_eq!(found[member], plugin);

    // Nobody pins these tools: what the signed checksum file states is in the store already.
    let archive = sums.replace("SHA256SUMS", "linux_amd64.zip");
    std::fs::remove_dir_all(site.home.folder.join("notes")).expect("written by the stand-in");
    assert_eq!(
        site.asked(&archive),
        1,
        "the one that was not proven at first is the one that now is"
    );
    site.succeeds(&format!("build {SELECTION} {BUILD} --force"));
    assert_eq!(site.asked(&archive), 1);
    assert!(
        site.asked(&sums) > 2,
        "its publisher is asked what he states now"
    );
    let checks = site.run(&format!("doctor {SELECTION} --offline")).stdout;
    for tool in ["packer", "packer-plugin-azure"] {
        let line = checks
            .lines()
            .find(|line| line.split_whitespace().nth(1) == Some(tool))
            .expect(tool);
        assert!(line.contains("is in the store"), "{line}");
    }

    // The store alone is enough from now on, for tools too.
    let asked = site.requests();
    let variables = BUILD.replace("--out o ", "");
    site.succeeds(&format!("lock {SELECTION} {variables}"));
    site.succeeds(&format!(
        "build {SELECTION} {variables} --out again --locked --offline"
    ));
    assert_eq!(site.requests(), asked);
}
