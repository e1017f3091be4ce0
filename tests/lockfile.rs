//! The lockfile of a folder: what it blocks and what not, and a base image that it does not fix.

use imagegen::base::digest::sha256_hex;
use imagegen::base::program::ProgramVersion;
use imagegen::embedded::Tree;
use imagegen::model::target::Target;
use serde_json::Value;

use crate::support::Test;

const NEW: &str =
    "--target azure --k8s 1.36.0 --host-access services --var image_version=20348.2762.241009";
const OLD: &str = "--target host --k8s 1.20.0 --host-access services";

fn locked() -> Test {
    let test = Test::new();
    test.prints(&format!("lock {NEW}"));
    test
}

#[test]
fn another_selection_is_planned_beside_a_lock() {
    let plan = locked().line("plan").line(OLD).succeeds();
    assert!(plan.stdout.contains("Kubernetes 1.20.0"), "{}", plan.stdout);
    for part in [
        "warning: the lockfile is not used",
        "`kubernetes` was 1.36.0 and is 1.20.0",
        "hint: run `imagegen lock`",
    ] {
        assert!(plan.stderr.contains(part), "{part}: {}", plan.stderr);
    }
    // One change a line, few of them, and no JSON.
    assert!(
        plan.stderr.lines().all(|line| line.chars().count() < 200),
        "{}",
        plan.stderr
    );
    assert!(
        plan.stderr
            .lines()
            .filter(|line| line.starts_with("  "))
            .count()
            <= 8,
        "{}",
        plan.stderr
    );
    assert!(!plan.stderr.contains('{'), "{}", plan.stderr);
    let fetch = locked().line("fetch --offline --store s").line(OLD);
    fetch.fails(4, &["the lockfile is not used", "is not in the store"]);
    let outdated = locked()
        .line("outdated --offline --store s")
        .line(OLD)
        .run();
    assert!(
        outdated.stderr.contains("the lockfile is not used"),
        "{}",
        outdated.stderr
    );
    for flag in ["--locked", "--lock imagegen.lock.json"] {
        let plan = locked().line("plan").line(OLD).line(flag);
        plan.fails(
            3,
            &[
                "error: imagegen.lock.json is stale:\n  ",
                "and is 1.20.0",
                "--ignore-lock",
            ],
        );
    }
    // What is installed needs a lock that fits.
    locked()
        .line("build --no-bake --out o")
        .line(OLD)
        .fails(3, &["is stale"]);
}

#[test]
fn a_lock_names_its_own_selection() {
    let test = locked();
    let before = test.text("imagegen.lock.json");
    test.prints("lock");
    assert_eq!(test.text("imagegen.lock.json"), before);
    assert!(test.prints("plan --locked").contains("Kubernetes 1.36.0"));
    test.prints("build --locked --no-bake --out o --var location=westeurope");
    test.prints("lock --k8s 1.35.0");
    assert!(
        test.text("imagegen.lock.json")
            .contains(r#""kubernetes": "1.35.0""#)
    );
    Test::new()
        .line("lock")
        .fails(3, &["the selection names no target"]);
    let governed = Test::new().file(
        "policy.json",
        r#"{"name": "ours", "forbiddenComponents": ["nssm"]}"#,
    );
    governed.prints(&format!("lock --policy policy.json {NEW}"));
    let again = Test::new()
        .file("imagegen.lock.json", &governed.text("imagegen.lock.json"))
        .line("lock");
    again.fails(
        3,
        &["was written under the policy `ours`", "add `--policy FILE`"],
    );
    governed.prints("lock --policy policy.json");
}

/// Which program wrote a lockfile is a record: it makes no lockfile stale, and a build leaves the lockfile as it is.
#[test]
fn a_lock_of_another_release_of_the_program_is_used_as_it_is() {
    let test = locked();
    let lock = test.text("imagegen.lock.json");
    let value: Value = serde_json::from_str(&lock).expect("JSON");
    let program = ProgramVersion::current();
    assert_eq!(
        value["writtenBy"],
        serde_json::to_value(&program).expect("JSON")
    );
    assert!(
        test.prints("--version").contains(&program.catalog),
        "the same digest"
    );
    let other = lock.replace(&program.catalog, &"0".repeat(64));
    let test = test.file("imagegen.lock.json", &other);
    test.prints("plan --locked");
    test.prints("build --locked --no-bake --out o");
    assert_eq!(test.text("o/imagegen.lock.json"), other);
    let values: Value =
        serde_json::from_str(&test.text("o/imagegen.auto.pkrvars.json")).expect("JSON");
    let tags = &values["image_tags"];
    assert_eq!(tags["imagegen-lock"], sha256_hex(other.as_bytes()));
    // The image is made by this program, whoever wrote the lockfile.
    assert_eq!(tags["imagegen-catalog"], program.catalog);
    assert_eq!(tags["imagegen-version"], program.version);
    let readme = test.text("o/README.md");
    assert!(
        readme.contains(&program.format_line()) && readme.contains(&program.catalog),
        "{readme}"
    );
    test.prints("lock");
    assert_eq!(
        test.text("imagegen.lock.json"),
        lock,
        "a new lockfile names its writer"
    );
    // A workspace of another release is verified by that release.
    let foreign = test
        .text("o/imagegen.auto.pkrvars.json")
        .replace(&program.catalog, &"0".repeat(64));
    let test = test.file("o/imagegen.auto.pkrvars.json", &foreign);
    let said = test.line("verify o").fails(5, &["proofs failed"]).stdout;
    assert!(
        said.contains("verify it with the version that wrote it"),
        "{said}"
    );
}

/// Each definition has a lockfile of its own.
#[test]
fn definitions_beside_each_other_have_their_own_locks() {
    let definition = |release: &str| {
        format!(r#"{{"target": "host", "kubernetes": "{release}", "hostAccess": "services"}}"#)
    };
    let test = Test::new()
        .file("new.json", &definition("1.36.0"))
        .file("old/old.json", &definition("1.20.0"));
    for (path, lock) in [
        ("new.json", "new.lock.json"),
        ("old/old.json", "old/old.lock.json"),
    ] {
        assert!(
            test.prints(&format!("lock --config {path}"))
                .starts_with(lock)
        );
        test.prints(&format!("plan --config {path} --locked"));
    }
    assert!(
        test.text("new.lock.json").contains("1.36.0")
            && test.text("old/old.lock.json").contains("1.20.0")
    );
    assert!(!test.exists("imagegen.lock.json"));
}

#[test]
fn a_base_image_that_floats_is_named_with_the_way_to_fix_it() {
    let plan = |line: &str| {
        Test::new()
            .line("plan --target azure --k8s 1.36.0 --format json")
            .line(line)
            .succeeds()
            .stdout
    };
    let floating = plan("");
    for part in [
        "`image_version` is `latest`",
        "the lockfile does not fix it",
        "`--var image_version=…`",
    ] {
        assert!(floating.contains(part), "{part}: {floating}");
    }
    let command = "az vm image list --all --publisher MicrosoftWindowsServer --offer windowsserver2022 --sku 2022-datacenter";
    assert!(floating.contains(command), "{floating}");
    let fixed = plan("--var image_version=20348.2762.241009");
    assert!(!fixed.contains("base image:"), "{fixed}");
    let gallery = "--var source_gallery_name=g --var source_gallery_image_name=i --var source_gallery_resource_group=rg \
                   --var source_gallery_subscription=00000000-0000-0000-0000-000000000001";
    let floating = plan(gallery);
    assert!(
        floating.contains("`source_gallery_image_version` has no value")
            && floating.contains("--gallery-name g "),
        "{floating}"
    );
    assert!(
        !plan(&format!(
            "{gallery} --var source_gallery_image_version=1.0.0"
        ))
        .contains("base image:")
    );
    let id = "--var image_source=community_gallery --var community_gallery_image_id=/communityGalleries/g/images/i";
    assert!(plan(id).contains("`community_gallery_image_id` is "));
    assert!(!plan(&format!("{id}/versions/1.0.0")).contains("base image:"));
    let lock = Test::new().line("lock --target azure --k8s 1.36.0 --host-access services");
    assert!(
        lock.succeeds()
            .stderr
            .contains("warning: base image: `image_version` is `latest`")
    );
    let lock: Value = serde_json::from_str(&lock.text("imagegen.lock.json")).expect("JSON");
    let ids: Vec<&str> = lock["warnings"]
        .as_array()
        .expect("warnings")
        .iter()
        .filter_map(|it| it["id"].as_str())
        .collect();
    assert!(ids.contains(&"floating-base-image"), "{ids:?}");
}

/// A target that starts from an image of the platform knows by which values that image floats.
#[test]
fn targets_with_source_images_say_what_floats() {
    let packer = Tree::embedded_packer();
    for name in packer.list_folders("targets") {
        let target: Target = packer
            .read_json(&format!("targets/{name}/target.json"))
            .expect("a target")
            .expect("a file");
        let Some(image) = target.image() else {
            continue;
        };
        let floating: Vec<_> = target
            .variables
            .iter()
            .filter_map(|variable| variable.floating.as_ref())
            .collect();
        let chosen = target
            .variables
            .iter()
            .any(|it| it.base_image && (it.default.is_some() || it.default_from.is_some()));
        if image.media().is_empty() && chosen {
            assert!(!floating.is_empty(), "{name}: no variable has `floating`");
        }
        for entry in floating {
            assert!(
                regex_lite::Regex::new(&entry.pattern).is_ok(),
                "{name}: {}",
                entry.pattern
            );
            assert!(
                is_plain_line(&entry.list),
                "{name}: a shell reads more than words in `{}`",
                entry.list
            );
            for part in entry.list.split('{').skip(1) {
                let variable = part.split_once('}').expect("a closed name").0;
                assert!(
                    target.find_variable(variable).is_some(),
                    "{name}: {variable}"
                );
            }
            assert!(
                entry
                    .variable
                    .as_ref()
                    .is_none_or(|it| target.find_variable(it).is_some()),
                "{name}"
            );
        }
    }
}

/// Whether a shell reads words alone in a line that a user copies: zsh refuses `[].name`, and bash `value(name)`.
fn is_plain_line(line: &str) -> bool {
    let outside = line.split('"').step_by(2);
    line.matches('"').count().is_multiple_of(2)
        && outside
            .flat_map(str::chars)
            .all(|sign| !"[]()*?~$`;&|<>'\\".contains(sign))
}

/// A second target of one definition has a lockfile of its own; what is there is found as before.
#[test]
fn two_targets_of_one_definition_have_a_lockfile_each() {
    let test = Test::new().file(
        "imagegen.json",
        r#"{"target": "azure", "kubernetes": "1.36.0", "hostAccess": "services"}"#,
    );
    test.prints("lock");
    let first = test.text("imagegen.lock.json");
    test.prints("lock --target host");
    assert_eq!(test.text("imagegen.lock.json"), first);
    assert!(
        test.text("imagegen.host.lock.json")
            .contains(r#""target": "host""#)
    );
    for line in ["", "--target host", "--target azure"] {
        test.prints(&format!("build {line} --locked --no-bake --out o --force"));
        test.prints(&format!("lock {line}"));
    }
    assert_eq!(test.text("imagegen.lock.json"), first);

    // Without a definition, or with one that names no target: the first target keeps the name that it always had.
    let flags = Test::new();
    flags.prints(&format!("lock {NEW}"));
    let first = flags.text("imagegen.lock.json");
    let refused = flags.bare().run(&format!("build {OLD} --no-bake --out o"));
    assert_eq!(refused.code, Some(3), "{}", refused.stderr);
    flags.prints(&format!("lock {OLD}"));
    assert_eq!(flags.text("imagegen.lock.json"), first);
    assert!(flags.exists("imagegen.host.lock.json"));
    for (line, folder) in [(OLD, "host"), (NEW, "azure")] {
        flags.prints(&format!("build {line} --locked --no-bake --out {folder}"));
    }

    // A lockfile from before stays the one of its target.
    let kept = Test::new().file("imagegen.lock.json", &first).file(
        "imagegen.json",
        r#"{"target": "host", "kubernetes": "1.36.0"}"#,
    );
    kept.prints(&format!("build {NEW} --locked --no-bake --out o"));
    kept.prints(&format!("lock {NEW}"));
    assert!(!kept.exists("imagegen.azure.lock.json"));
}

/// `imagegen.TARGET.lock.json` is the lockfile of `imagegen.json` for a target, and of a definition `imagegen.TARGET.json`.
#[test]
fn two_definitions_never_share_a_lockfile() {
    let definition = |target: &str| {
        format!(
            r#"{{"target": "{target}", "kubernetes": "1.36.0", "windows": "2022", "hostAccess": "services"}}"#
        )
    };
    let test = Test::new()
        .file("imagegen.json", &definition("host"))
        .file("imagegen.azure.json", &definition("azure"));
    test.prints("lock");
    test.prints("lock --config imagegen.azure.json");
    let (own, other) = (
        test.text("imagegen.lock.json"),
        test.text("imagegen.azure.lock.json"),
    );

    let ran = test.run_with("lock --target azure");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    for said in [
        "imagegen.json and imagegen.azure.json would have the same lockfile: imagegen.azure.lock.json",
        "rename imagegen.azure.json, or name another lockfile with `--lock FILE`",
    ] {
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
    assert_eq!(test.text("imagegen.lock.json"), own);
    assert_eq!(test.text("imagegen.azure.lock.json"), other);
    // Another definition's lockfile is not read either.
    let ran = test.run_with("build --target azure --locked --no-bake --out o");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    assert!(
        !ran.stderr.contains("imagegen.azure.lock.json"),
        "{}",
        ran.stderr
    );

    test.prints("lock --target azure --lock named.json");
    test.prints("build --target azure --lock named.json --locked --no-bake --out o");

    // An image of several whose name is that of another definition.
    let several = r#"{"images": {"azure": {"target": "azure", "kubernetes": "1.36.0"}}}"#;
    let test = Test::new()
        .file("imagegen.json", several)
        .file("imagegen.azure.json", &definition("azure"));
    let ran = test.run_with("lock azure");
    assert_eq!(ran.code, Some(3), "{}", ran.stderr);
    let said = "imagegen.json#azure and imagegen.azure.json would have the same lockfile";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}

/// Each image of a definition has a lockfile for each target that it is locked for.
#[test]
fn images_and_targets_have_lockfiles_of_their_own() {
    let test = Test::new().file(
        "imagegen.json",
        r#"{"kubernetes": "1.36.0", "hostAccess": "services",
            "images": {"new": {"target": "azure", "windows": "2025"}, "old": {"target": "azure"}}}"#,
    );
    test.prints("lock --all");
    test.prints("lock --all --target host");
    for name in ["new", "new.host", "old"] {
        assert!(test.exists(&format!("imagegen.{name}.lock.json")), "{name}");
    }
    test.prints("plan --all --locked");
    test.prints("plan --all --locked --target host");
}
