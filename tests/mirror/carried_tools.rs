//! Packer and its plugin in a bundle: from their publisher's site to a machine without network, which bakes with them.

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::signers::gpg_key;
use super::site::Site;
use super::tools::{catalog, publish};
use crate::bake::{simulated_command, simulation};
use crate::detached::tools::bench;
use crate::support::targets::executed_versions;
use crate::support::{Ran, Test, files};

const SELECTION: &str = "--target azure --k8s 1.20.0 --host-access services";
const VARIABLES: &str =
    "--var location=westeurope --var managed_image_resource_group_name=rg --var auth=client_secret";
const REPORT: &str = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 150, "failed": 0, "resources": []}"#;

/// Versions of Packer and the plugin in an image definition of one plugin.
fn read_versions(definition: &str) -> (String, String) {
    let value: Value = serde_json::from_str(definition).expect("JSON");
    let text = |value: &Value| value.as_str().expect("a version").to_owned();
    let packer = &value["packer"];
    (text(&packer["version"]), text(&packer["plugins"]["azure"]))
}

/// A site that has these bytes as Packer and the plugin for this machine, signed, and a lockfile that was made of it.
fn publish_tools(packer: &[u8], plugin: &[u8], definition: &str) -> Option<Site> {
    let bench = bench(&["gpg"])?;
    let mut site = Site::new()?;
    site.stock(SELECTION);
    let (fingerprint, key) = gpg_key(&bench);
    catalog(&site, &fingerprint, &key);

    let (version, of_plugin) = read_versions(definition);
    publish(&bench, &site, "packer", &version, "packer", packer);
    let member = format!("packer-plugin-azure_v{of_plugin}_x5.0_linux_amd64");
    let tool = "packer-plugin-azure";
    publish(&bench, &site, tool, &of_plugin, &member, plugin);

    site.write("imagegen.json", definition.as_bytes());
    site.succeeds(&format!("lock {SELECTION} {VARIABLES} --manifests catalog"));
    Some(site)
}

/// Flags with which the lock is used at the site.
fn create_line(site: &Site, out: &str, more: &str) -> String {
    let (waivers, mirror) = (site.list_waivers(), site.url("/"));
    format!(
        "bundle create --out {out} --store store --ca-file ca.pem --manifests catalog {waivers} --mirror {mirror} {more}"
    )
}

/// Makes `bake.zip` for this machine, which nobody needs to name. What was printed.
fn create_bundle(site: &Site) -> String {
    let made = run_in(&site.home.folder, &create_line(site, "bake.zip", ""));
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    made.stdout
}

/// A folder of another machine: nothing of the site but the catalog, the definition, the overrides and the bundle.
fn carry_bundle(site: &Site) -> Test {
    let mut test = Test::new().file("report.json", REPORT);
    for (name, bytes) in files(&site.home.folder.join("catalog")) {
        test = test.bytes(&format!("catalog/{name}"), &bytes);
    }
    for name in ["imagegen.json", "overrides.json", "bake.zip"] {
        test = test.bytes(name, &site.home.read(name));
    }
    test
}

/// The plugin that the tests have built.
fn read_plugin() -> Vec<u8> {
    let folder = PathBuf::from(std::env::var_os("PACKER_PLUGIN_PATH").expect("plugins"));
    let found = files(&folder.join("github.com/hashicorp/azure")).into_iter();
    let mut programs = found.filter(|(name, _)| !name.ends_with("_SHA256SUM"));
    programs.next().expect("the plugin").1
}

/// The network namespace has loopback only, the PATH a single empty folder, and the store what the bundle carries.
#[test]
fn an_image_is_baked_from_a_bundle_alone() {
    let Some(packer) = simulation() else { return };
    let definition = executed_versions("azure");
    let program = fs::read(&packer).expect("Packer");
    let Some(site) = publish_tools(&program, &read_plugin(), &definition) else {
        return;
    };
    let made = create_bundle(&site);
    let (version, of_plugin) = read_versions(&definition);
    let carried = format!(
        "with packer {version} for linux/amd64, packer-plugin-azure {of_plugin} for linux/amd64\n"
    );
    assert!(made.contains(&carried), "{made}");

    let test = carry_bundle(&site).env("PACKER_PLUGIN_PATH", "/nonexistent");
    let (waivers, mirror) = (site.list_waivers(), site.url("/"));
    drop(site);
    test.prints(
        "bundle extract bake.zip --manifests catalog --store store --write-lock imagegen.lock.json",
    );
    fs::create_dir(test.folder.join("empty")).expect("folder");
    let records = test.folder.join("records");
    let report = test.folder.join("report.json").display().to_string();
    let mut inner = Command::new("/usr/bin/env");
    inner
        .arg(format!("PATH={}", test.folder.join("empty").display()))
        .arg(env!("CARGO_BIN_EXE_imagegen"))
        .args(format!("build {SELECTION} {VARIABLES} --manifests catalog").split_whitespace())
        .args(
            "--out o --locked --offline --store store --overrides overrides.json --mirror"
                .split(' '),
        )
        .arg(&mirror)
        .args(waivers.split_whitespace());
    let output = simulated_command(&inner, &test.folder, &records, &["--report", &report]);
    let log = fs::read(test.folder.join("o/packer.log")).unwrap_or_default();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        output.status.success(),
        "{said}\n{}",
        String::from_utf8_lossy(&log)
    );

    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    assert_eq!(image["checked"], 150, "{image}");
    let requests = fs::read_to_string(records.join("arm.jsonl")).expect("requests");
    assert!(
        requests.contains("/images/windows-2019-k8s-1.20.0"),
        "{requests}"
    );
}

/// Small stand-ins, whose bytes nothing runs.
fn publish_stand_ins() -> Option<Site> {
    let definition = json!({"packer": {"version": "1.16.0", "plugins": {"azure": "2.6.3"}}});
    publish_tools(
        b"stands for packer",
        b"stands for the plugin",
        &definition.to_string(),
    )
}

fn read_index(bundle: &[u8]) -> Value {
    let mut zip = zip::ZipArchive::new(Cursor::new(bundle)).expect("zip");
    let mut text = String::new();
    let mut file = zip.by_name("bundle.json").expect("index");
    file.read_to_string(&mut text).expect("text");
    serde_json::from_str(&text).expect("JSON")
}

/// The same bundle with another index, and without the files that it does not list.
fn with_index(bundle: &[u8], index: &Value) -> Vec<u8> {
    let mut zip = zip::ZipArchive::new(Cursor::new(bundle)).expect("zip");
    let mut written = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let listed = index["files"].as_array().expect("files");
    for number in 0..zip.len() {
        let mut file = zip.by_index(number).expect("member");
        let name = file.name().expect("a name").into_owned();
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes).expect("bytes");
        if name == "bundle.json" {
            bytes = index.to_string().into_bytes();
        } else if !listed.iter().any(|it| it["path"] == name.as_str()) {
            continue;
        }
        let options = imagegen::verify::archive::own_options(bytes.len() as u64);
        written.start_file(name, options).expect("member");
        written.write_all(&bytes).expect("bytes");
    }
    written.finish().expect("zip").into_inner()
}

fn verify_bundle(folder: &Path, bundle: &[u8]) -> Ran {
    fs::write(folder.join("changed.zip"), bundle).expect("bundle");
    run_in(folder, "bundle verify changed.zip --manifests catalog")
}

/// A run in a folder, with credentials that no cloud knows.
fn run_in(folder: &Path, line: &str) -> Ran {
    let id = "00000000-0000-0000-0000-000000000001";
    let test = Test::new()
        .line(line)
        .env("ARM_SUBSCRIPTION_ID", id)
        .env("ARM_CLIENT_ID", id)
        .env("ARM_CLIENT_SECRET", "s3cret-of-the-test");
    let mut command = test.command();
    // The default is this machine.
    command.current_dir(folder).env_remove("IMAGEGEN_FOR");
    let output = command.output().expect("start");
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// Takes a tool away from an index, with its file and the address of it.
fn remove_tool(index: &mut Value, number: usize) {
    let tool = index["tools"].as_array_mut().expect("tools").remove(number);
    let path = format!(
        "objects/sha256/{}",
        tool["sha256"].as_str().expect("digest")
    );
    let files = index["files"].as_array_mut().expect("files");
    files.retain(|file| file["path"] != path.as_str());
    for url in tool["urls"].as_array().expect("URLs") {
        let origins = index["origins"].as_object_mut().expect("origins");
        origins.remove(url.as_str().expect("a URL"));
    }
    let named: Vec<Value> = index["origins"]
        .as_object()
        .expect("origins")
        .values()
        .cloned()
        .collect();
    let files = index["files"].as_array_mut().expect("files");
    files.retain(|file| {
        let path = file["path"].as_str().expect("path");
        let object = path.strip_prefix("objects/sha256/");
        object.is_none_or(|digest| named.iter().any(|known| known == digest))
    });
}

/// An index may name the tools of its lockfile from their publisher, each with its bytes, and nothing else.
#[test]
fn tools_of_a_bundle_are_those_of_its_lockfile() {
    let Some(site) = publish_stand_ins() else {
        return;
    };
    create_bundle(&site);
    let bundle = site.home.read("bake.zip");
    let index = read_index(&bundle);
    let tools = index["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), 2, "{tools:#?}");
    assert_eq!(verify_bundle(&site.home.folder, &bundle).code, Some(0));

    let mut cases: BTreeMap<&str, Value> = BTreeMap::new();
    let mut change = |said: &'static str, edit: &dyn Fn(&mut Value)| {
        let mut changed = index.clone();
        edit(&mut changed);
        cases.insert(said, changed);
    };
    change(
        "packer 1.15.0 for linux/amd64: the lockfile does not name it",
        &|index| {
            index["tools"][0]["version"] = "1.15.0".into();
        },
    );
    change(
        "packer 1.16.0 for linux/amd64: the index names it twice",
        &|index| {
            index["tools"][1] = index["tools"][0].clone();
        },
    );
    change(
        "packer 1.16.0 for linux/amd64: no file has its digest",
        &|index| {
            index["tools"][0]["sha256"] = "ab".repeat(32).into();
        },
    );
    change(
        "packer-plugin-azure for linux/amd64 is not in the bundle",
        &|index| {
            remove_tool(index, 1);
        },
    );
    change(
        "packer 1.16.0 for windows/amd64: the catalog publishes it otherwise",
        &|index| {
            for number in 0..2 {
                index["tools"][number]["host"] = "windows/amd64".into();
            }
        },
    );
    change("`beos/amd64` is not a machine to bake on", &|index| {
        index["tools"][0]["host"] = "beos/amd64".into();
    });
    // An address that is no tool's may be given bytes by nobody.
    change(
        "packer 1.16.0 for linux/amd64: the catalog publishes it otherwise",
        &|index| {
            let digest = index["tools"][0]["sha256"].clone();
            index["origins"]["https://dl.k8s.io/v1.20.0/bin/x"] = digest;
            let urls = index["tools"][0]["urls"].as_array_mut().expect("URLs");
            urls.push("https://dl.k8s.io/v1.20.0/bin/x".into());
        },
    );
    assert_eq!(cases.len(), 7);
    for (said, changed) in cases {
        let ran = verify_bundle(&site.home.folder, &with_index(&bundle, &changed));
        assert_eq!(ran.code, Some(5), "{said}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
    }
}

/// The archive in the bundle is not what the publisher signed: the index says so consistently, and the bake refuses it.
#[test]
fn a_tool_of_a_bundle_is_proven_where_it_bakes() {
    let Some(site) = publish_stand_ins() else {
        return;
    };
    create_bundle(&site);
    let index = read_index(&site.home.read("bake.zip"));
    let tool = &index["tools"][0];
    let digest = tool["sha256"].as_str().expect("digest");
    site.plain(
        "bundle extract bake.zip --manifests catalog --store other",
        0,
    );

    // As a forged bundle would leave the store.
    let other = site.home.folder.join("other");
    let forged = b"another program".to_vec();
    let place = |digest: &str| other.join("objects/sha256").join(&digest[..2]).join(digest);
    fs::remove_file(place(digest)).expect("the store has it");
    let sum = sha256_hex(&forged);
    fs::create_dir_all(place(&sum).parent().expect("folder")).expect("folder");
    fs::write(place(&sum), &forged).expect("object");
    for (name, bytes) in files(&other.join("urls")) {
        let text = String::from_utf8_lossy(&bytes).replace(digest, &sum);
        fs::write(other.join("urls").join(name), text).expect("origin");
    }
    let mirror = site.url("/");
    let flags =
        format!("{VARIABLES} --manifests catalog --overrides overrides.json --mirror {mirror}");
    let waivers = site.list_waivers();
    let build =
        format!("build {SELECTION} {flags} --out o --locked --offline --store other {waivers}");
    let ran = run_in(&site.home.folder, &build);
    assert_eq!(ran.code, Some(4), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("packer 1.16.0: ") && ran.stderr.contains("is not in the store"),
        "{}",
        ran.stderr
    );
    assert!(!site.home.exists("o/packer.log"));
}

#[test]
fn the_machines_of_the_tools_are_the_users_choice() {
    let Some(site) = publish_stand_ins() else {
        return;
    };
    site.plain(&create_line(&site, "none.zip", "--for none"), 0);
    assert_eq!(
        read_index(&site.home.read("none.zip"))["tools"],
        Value::Null
    );
    for name in ["beos/amd64", "linux", "LINUX/amd64"] {
        let ran = site.plain(&create_line(&site, "x.zip", &format!("--for {name}")), 3);
        let said = format!("`{name}` is not a machine to bake on: expected one of linux/amd64");
        assert!(
            ran.stderr.contains(&said) && ran.stderr.contains("`this` or `none`"),
            "{}",
            ran.stderr
        );
    }
    // The site has the programs of this machine alone.
    let ran = site.plain(&create_line(&site, "x.zip", "--for windows/amd64"), 4);
    assert!(
        ran.stderr.contains("packer_1.16.0_windows_amd64.zip"),
        "{}",
        ran.stderr
    );

    let line = format!("fetch {SELECTION} {VARIABLES} --manifests catalog --locked");
    let both = site
        .succeeds(&format!("{line} --for this --for linux/amd64"))
        .stdout;
    let tools = both.lines().filter(|line| line.starts_with("packer"));
    assert_eq!(tools.count(), 2, "{both}");
    let without = site.succeeds(&format!("{line} --for none")).stdout;
    assert!(!without.contains("packer"), "{without}");
}

/// Everything else of the store is gone, and a bundle with the tools is still made, without network.
#[test]
fn a_swept_store_has_the_tools_of_its_lockfile() {
    let Some(site) = publish_stand_ins() else {
        return;
    };
    create_bundle(&site);
    site.write("other", b"nothing names it");
    site.plain("store add other --store store", 0);
    let swept = site.plain(
        "store gc --days 0 --lock imagegen.lock.json --manifests catalog --store store",
        0,
    );
    assert!(!swept.stdout.starts_with("0 files"), "{}", swept.stdout);

    let again = create_line(&site, "again.zip", "--offline");
    let made = run_in(&site.home.folder, &again);
    assert_eq!(made.code, Some(0), "{}", made.stderr);
    let bundles = ["bake.zip", "again.zip"].map(|name| read_index(&site.home.read(name)));
    assert_eq!(bundles[0]["tools"], bundles[1]["tools"]);
}

/// What a lockfile names and the catalog does not know cannot be found in a store: nothing is removed.
#[test]
fn a_store_is_not_swept_of_tools_that_the_catalog_lacks() {
    let Some(site) = publish_stand_ins() else {
        return;
    };
    create_bundle(&site);
    let lock = site
        .home
        .text("imagegen.lock.json")
        .replace("\"name\": \"azure\"", "\"name\": \"azores\"");
    site.write("other.lock.json", lock.as_bytes());
    let before = files(&site.home.folder.join("store/objects"));
    let ran = site.plain(
        "store gc --days 0 --lock other.lock.json --manifests catalog --store store",
        3,
    );
    assert!(
        ran.stderr.contains("packer-plugin-azores"),
        "{}",
        ran.stderr
    );
    assert_eq!(files(&site.home.folder.join("store/objects")), before);
}
