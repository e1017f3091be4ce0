//! Mirrors are the operator's: they decide where bytes come from, and nothing of what a lock says.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::site::Site;
use crate::bundle::registry::{Registry, image};
use crate::support::{Ran, Test, files};

const SELECTION: &str = "--target host --k8s 1.36.0";
const GITHUB: &str = "https://github.com/";

/// A run in the folder of a site, with an environment.
#[track_caller]
fn run(site: &Site, line: &str, environment: &[(&str, &str)], code: i32) -> Ran {
    let mut test = Test::new().line(line);
    for (name, value) in environment {
        test = test.env(name, value);
    }
    let mut command = test.command();
    let output = command
        .current_dir(&site.home.folder)
        .output()
        .expect("the program starts");
    let ran = Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).expect("UTF-8"),
        stderr: String::from_utf8(output.stderr).expect("UTF-8"),
    };
    assert_eq!(ran.code, Some(code), "{line}\n{}", ran.stderr);
    ran
}

fn read_plan(site: &Site, folder: &str) -> String {
    site.home.text(&format!("{folder}/guest-plan.json"))
}

#[test]
fn flag_environment_and_settings_name_mirrors_that_no_lock_has() {
    let Some(mut site) = Site::new() else { return };
    site.stock(SELECTION);
    let overrides = Value::Object(site.overrides.clone()).to_string();
    site.write("overrides.json", overrides.as_bytes());
    let place = site.url("/");
    let own = format!("{SELECTION} --overrides overrides.json");

    run(
        &site,
        &format!("lock {own} --lock with.json --mirror {place}"),
        &[],
        0,
    );
    run(&site, &format!("lock {own} --lock without.json"), &[], 0);
    let lock = site.home.text("with.json");
    assert_eq!(lock, site.home.text("without.json"));
    assert!(!lock.contains(&place), "{lock}");

    let build = format!("build {own} --no-bake --locked --lock with.json");
    run(&site, &format!("{build} --out none"), &[], 0);
    run(
        &site,
        &format!("{build} --out flag --mirror {place}"),
        &[],
        0,
    );
    let bare = place.trim_end_matches('/');
    let by_environment = format!("{GITHUB}={bare}/github.com,https://={bare}");
    let environment = [("IMAGEGEN_MIRROR", by_environment.as_str())];
    run(
        &site,
        &format!("{build} --out environment"),
        &environment,
        0,
    );
    site.write(
        "settings.json",
        json!({"mirrors": {"https://": bare}})
            .to_string()
            .as_bytes(),
    );
    let settings = [("IMAGEGEN_SETTINGS", "settings.json")];
    run(&site, &format!("{build} --out settings"), &settings, 0);

    let mirrored = read_plan(&site, "flag");
    assert!(mirrored.contains(&format!("{place}github.com/")));
    assert_eq!(mirrored, read_plan(&site, "environment"));
    assert_eq!(mirrored, read_plan(&site, "settings"));
    let published = read_plan(&site, "none");
    assert!(!published.contains(&place) && published.contains(GITHUB));
    for folder in ["none", "flag", "environment", "settings"] {
        assert_eq!(
            site.home.text(&format!("{folder}/imagegen.lock.json")),
            lock
        );
        run(&site, &format!("verify {folder} --lock with.json"), &[], 0);
    }

    // What a workspace says of mirrors and what its plan has are one.
    let record = site.home.text("flag/imagegen.workspace.json");
    site.write(
        "flag/imagegen.workspace.json",
        record.replace(&place, "https://other.example/").as_bytes(),
    );
    let ran = run(&site, "verify flag --lock with.json", &[], 5);
    assert!(ran.stdout.contains("guest-plan.json"), "{}", ran.stdout);
}

#[test]
fn settings_lie_in_the_configuration_folder_and_an_empty_variable_leaves_them_out() {
    let settings = r#"{"mirrors": {"https://": "https://mirror.example/win"}}"#;
    let test = Test::new().file(".config/imagegen/settings.json", settings);
    let build = format!("build {SELECTION} --no-bake --out");
    test.prints(&format!("{build} o"));
    let plan = test.text("o/guest-plan.json");
    assert!(
        plan.contains("https://mirror.example/win/dl.k8s.io/"),
        "{plan}"
    );
    assert!(!test.text("o/imagegen.lock.json").contains("mirror.example"));
    let without = Test::new()
        .file(".config/imagegen/settings.json", settings)
        .env("IMAGEGEN_SETTINGS", "")
        .line(&format!("{build} o"));
    without.succeeds();
    assert!(!without.text("o/guest-plan.json").contains("mirror.example"));

    for (content, message) in [
        (r#"{"mirror": {}}"#, "did you mean `mirrors`?"),
        (
            r#"{"mirrors": {"github.com": "https://m.example/"}}"#,
            "ends with `/`",
        ),
        (
            r#"{"mirrors": {"https://": "https://m.example/?token=abc"}}"#,
            "without query",
        ),
        (
            r#"{"mirrors": {"https://": "https://user:s3cret@m.example/"}}"#,
            "`mirrors.https",
        ),
        (
            r#"{"mirrors": {"https://": "user:s3cret@m.example"}}"#,
            "`mirrors.https",
        ),
        (
            r#"{"mirrors": {"user:s3cret@github.com/": "https://m.example/"}}"#,
            "`github.com/` is not",
        ),
    ] {
        let test = Test::new()
            .file(".config/imagegen/settings.json", content)
            .line("plan")
            .line(SELECTION);
        let ran = test.run();
        assert_eq!(ran.code, Some(3), "{content}: {}", ran.stderr);
        assert!(ran.stderr.contains(message), "{message}: {}", ran.stderr);
        assert!(
            !ran.stderr.contains("s3cret") && !ran.stderr.contains("abc"),
            "{}",
            ran.stderr
        );
    }
}

#[test]
fn a_login_of_a_mirror_goes_to_the_mirror_alone_and_is_written_nowhere() {
    let Some(mut site) = Site::new() else { return };
    site.stock(SELECTION);
    let waivers = site.list_waivers();
    let overrides = Value::Object(site.overrides.clone()).to_string();
    site.write("overrides.json", overrides.as_bytes());
    let mirror = json!({"url": site.url("/"), "headers": {"Authorization": "MIRROR_TOKEN"}});
    let settings = json!({"mirrors": {"https://": mirror}});
    site.write("settings.json", settings.to_string().as_bytes());
    let own = format!("{SELECTION} --overrides overrides.json");
    let network = format!("--ca-file ca.pem --store store {waivers}");
    let given = [
        ("IMAGEGEN_SETTINGS", "settings.json"),
        ("MIRROR_TOKEN", "Bearer s3cret-of-the-mirror"),
    ];

    let ran = run(&site, &format!("fetch {own} {network}"), &given[..1], 3);
    assert!(ran.stderr.contains("MIRROR_TOKEN"), "{}", ran.stderr);
    assert_eq!(site.requests(), 0);
    let fetched = run(&site, &format!("fetch {own} {network} -v"), &given, 0);
    let asked = site.list_asked();
    assert!(!asked.is_empty());
    for request in asked {
        assert_eq!(
            request.header("authorization"),
            Some("Bearer s3cret-of-the-mirror")
        );
    }
    assert!(!fetched.stderr.contains("s3cret-of-the-mirror"));
    let build = format!("build {own} {network} --out o");
    let built = run(&site, &build, &given, 0);
    assert!(
        built.stderr.contains("the guest sends no headers"),
        "{}",
        built.stderr
    );
    for (name, bytes) in files(&site.home.folder) {
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains("s3cret-of-the-mirror"), "{name}");
    }

    // A definition can ask for a variable, and not send it.
    let asks =
        json!({"https://": {"url": site.url("/"), "headers": {"Authorization": "MIRROR_TOKEN"}}});
    let mut overrides = site.overrides.clone();
    overrides.extend(asks.as_object().expect("an object").clone());
    let definition = json!({"overrides": overrides});
    site.write("asks.json", definition.to_string().as_bytes());
    let ran = run(
        &site,
        &format!("fetch {SELECTION} --config asks.json {network}"),
        &given[1..],
        3,
    );
    assert!(
        ran.stderr
            .contains("--allow-header-env MIRROR_TOKEN=127.0.0.1"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_policy_judges_the_hosts_that_are_asked_and_rules_see_the_publishers() {
    let Some(mut site) = Site::new() else { return };
    site.stock(SELECTION);
    let overrides = Value::Object(site.overrides.clone()).to_string();
    site.write("overrides.json", overrides.as_bytes());
    let plan = format!(
        "plan {SELECTION} --overrides overrides.json --policy policy.json --mirror {}",
        site.url("/")
    );
    let hosts = json!(["127.0.0.1", "registry.k8s.io", "mcr.microsoft.com"]);
    let mut policy = json!({"name": "p", "allowedHosts": hosts});
    site.write("policy.json", policy.to_string().as_bytes());
    run(&site, &plan, &[], 0);
    let away = plan.replace(&site.url("/"), "https://elsewhere.example/");
    let ran = run(&site, &away, &[], 3);
    assert!(
        ran.stderr.contains("it comes from elsewhere.example"),
        "{}",
        ran.stderr
    );
    // A mirror takes nothing out of a rule.
    for host in ["dl.k8s.io", "127.0.0.1"] {
        policy["require"] = json!([{"id": "signed", "hosts": [host], "anyOf": ["openpgp"]}]);
        site.write("policy.json", policy.to_string().as_bytes());
        let ran = run(&site, &plan, &[], 3);
        assert!(
            ran.stderr.contains("as `signed` requires"),
            "{host}: {}",
            ran.stderr
        );
    }
}

#[test]
fn what_a_mirror_brought_is_found_without_it() {
    let Some(mut site) = Site::new() else { return };
    let selection = "--target azure --k8s 1.36.4";
    site.stock(selection);
    let waivers = site.list_waivers();
    site.succeeds(&format!("lock {selection}"));
    let lock = site.home.text("imagegen.lock.json");
    assert!(
        !lock.contains("127.0.0.1") || lock.contains("/own/"),
        "only own builds: {lock}"
    );
    // The mirror's checksum file states what its bytes are, and raises no confidence.
    let locked = site.locked("kube-log-runner");
    assert_eq!(locked["digests"][0]["confidence"], "low", "{locked:#}");
    site.succeeds(&format!("fetch {selection} --locked"));
    let asked = site.requests();
    let own = format!("{selection} --overrides overrides.json --store store {waivers}");
    run(&site, &format!("fetch {own} --locked --offline"), &[], 0);
    let made = format!("bundle create --out node.zip --store store --offline {waivers}");
    run(&site, &made, &[], 0);
    run(
        &site,
        "bundle verify node.zip --lock imagegen.lock.json",
        &[],
        0,
    );
    assert_eq!(site.requests(), asked);
}

#[test]
fn images_come_from_the_mirror_of_their_registry() {
    let Some(mut site) = Site::new() else { return };
    site.stock(SELECTION);
    let overrides = Value::Object(site.overrides.clone()).to_string();
    site.write("overrides.json", overrides.as_bytes());
    let registry = Registry::start();
    let (list, ..) = image(&registry, "hub/windows/app", &["10.0.20348.1"]);
    let name = format!("registry.example/windows/app@sha256:{list}");
    let network = format!(
        "--ca-file ca.pem --store store --mirror {} --mirror docker://registry.example/={}/",
        site.url("/"),
        registry.url("/hub")
    );
    run(
        &site,
        &format!("lock {SELECTION} --overrides overrides.json"),
        &[],
        0,
    );
    let waivers = site.list_waivers();
    let create = format!("bundle create --out node.zip --image {name} {waivers} {network}");
    run(&site, &create, &[], 0);
    let index = run(&site, "bundle verify node.zip --format json", &[], 0).stdout;
    assert!(index.contains(&name), "{index}");
    assert!(!index.contains(&registry.address()), "{index}");
    assert!(Path::new(&site.home.folder.join("node.zip")).exists());
    fs::remove_file(site.home.folder.join("node.zip")).expect("the bundle");
}
