//! What the records of the targets claim, held against the tests that exist and the programs that they run.

mod machines;
mod networks;
mod tags;
mod windows;

use std::collections::BTreeSet;
use std::fs;

use imagegen::base::choice::Delivery;
use imagegen::base::version::Version;
use imagegen::catalog::Trees;
use imagegen::embedded::Tree;
use imagegen::lock::Lock;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::target::Target;
use imagegen::model::target_record::{CheckStage, TargetCheck};
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::render::{Workspace, render_workspace};
use imagegen::selection::read_trees;
use serde_json::Value;

use crate::support::targets::{all_targets, image_targets};
use crate::support::{Test, root};

#[test]
fn records_name_tests_that_exist_and_the_versions_that_they_run() {
    for target in all_targets() {
        assert!(
            !target.record.checks.is_empty(),
            "{} has no record.json",
            target.name
        );
        for check in &target.record.checks {
            check_test(&target, check);
            check_versions(&target, check);
        }
        let pinned = target
            .image()
            .map(|image| image.plugins.first().version.clone());
        let known = |version: &Version| {
            target
                .record
                .checks
                .iter()
                .any(|it| it.plugin.as_ref() == Some(version))
        };
        assert!(
            pinned.iter().all(known),
            "{}: nothing was checked with the pinned {pinned:?}",
            target.name
        );
    }
}

/// The test exists, runs, and takes the target and the versions from the record.
fn check_test(target: &Target, check: &TargetCheck) {
    let (modules, function) = check.test.rsplit_once("::").expect("module::function");
    let path = root().join(format!("tests/{}.rs", modules.replace("::", "/")));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    assert!(
        text.contains(&format!("#[test]\nfn {function}()")),
        "{}: no test `{}`",
        target.name,
        check.test
    );
    let name = &target.name;
    let marks = match (check.stage, target.image()) {
        (CheckStage::Executed, Some(_)) => {
            vec![format!("--target {name} "), format!("(\"{name}\"")]
        }
        (CheckStage::Executed, None) => vec![format!("--target {name} ")],
        (CheckStage::Validated, _) => {
            vec!["find_checks(&target.record, CheckStage::Validated)".to_owned()]
        }
        (CheckStage::CheckedByName, _) => vec!["image_targets()".to_owned()],
    };
    // The target's name is the first argument of the helper that reads its versions.
    for mark in marks {
        assert!(
            text.contains(&mark),
            "{name}: the file of `{}` has no `{mark}`",
            check.test
        );
    }
    assert_eq!(
        check.stage == CheckStage::Executed,
        check.against.is_some(),
        "{name}: `against`"
    );
    assert_eq!(
        check.stage == CheckStage::Validated,
        !check.selections.is_empty(),
        "{name}: `selections`"
    );
}

/// Packer and plugin that ran are those that `ci/programs/tools` builds; names are those of
/// `tests/fixtures/plugins`.
fn check_versions(target: &Target, check: &TargetCheck) {
    let Some(image) = target.image() else {
        return assert!(
            check.packer.is_none() && check.plugin.is_none(),
            "{}",
            target.name
        );
    };
    let plugin = check.plugin.as_ref().expect("a version of the plugin");
    if check.stage == CheckStage::CheckedByName {
        let fields = root().join(format!("tests/fixtures/plugins/{}.json", target.name));
        let fields = fs::read_to_string(fields).expect("the arguments of the plugin");
        let fields: Value = serde_json::from_str(&fields).expect("JSON");
        let versions = [&fields["tested"]["version"], &fields["newer"]["version"]];
        return assert!(
            versions.contains(&&Value::from(plugin.as_str())),
            "{}: {plugin}",
            target.name
        );
    }
    let packer = check.packer.as_ref().expect("a version of Packer");
    let name = &image.plugins.first().name;
    let pinned = fs::read_to_string(root().join("ci/programs/tools/go.mod")).expect("go.mod");
    for (tool, version) in [
        ("packer", packer),
        (&*format!("packer-plugin-{name}"), plugin),
    ] {
        let line = format!("\n\tgithub.com/hashicorp/{tool} v{version}\n");
        assert!(
            pinned.contains(&line),
            "{}: ci/programs/tools does not build {tool} {version}",
            target.name
        );
    }
}

const START: &str = "<!-- targets: from `imagegen list targets` -->\n";

const END: &str = "<!-- end of targets -->\n";

/// The README's table of targets is what `list targets` knows; `UPDATE_GOLDEN=1` writes it.
#[test]
fn the_table_of_the_readme_is_what_list_knows() {
    let listed = Test::new()
        .line("list targets --format json")
        .succeeds()
        .stdout;
    let listed: Value = serde_json::from_str(&listed).expect("JSON");
    let rows = listed["items"].as_array().expect("rows");
    let mut table =
        "| target | builder | Windows | init, validate | build | made of it |\n|---|---|---|---|---|---|\n"
            .to_owned();
    for row in rows {
        table += &format_row(row);
    }
    let path = root().join("README.md");
    let readme = fs::read_to_string(&path).expect("README.md");
    let (before, rest) = readme.split_once(START).expect("the start of the table");
    let (there, after) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        fs::write(&path, format!("{before}{START}{table}{END}{after}")).expect("README.md");
        return;
    }
    assert_eq!(there, table, "UPDATE_GOLDEN=1 writes the table anew");
}

fn format_row(row: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let words = |value: &Value| {
        value
            .as_array()
            .into_iter()
            .flatten()
            .map(text)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let plugin = row["plugins"].as_array().and_then(|all| all.first());
    let builder = plugin.map_or_else(
        || "none".to_owned(),
        |plugin| format!("{} {}", words(&row["builders"]), text(&plugin["version"])),
    );
    let checks = row["checks"].as_array().expect("checks");
    let find = |stage: &str| checks.iter().find(|check| check["stage"] == stage);
    // A build runs `init` and `validate` as well.
    let validated = find("validated").or_else(|| find("executed").filter(|_| plugin.is_some()));
    let validated = validated.map_or_else(
        || {
            if plugin.is_some() {
                "names only".to_owned()
            } else {
                "-".to_owned()
            }
        },
        |check| format!("plugin {}", text(&check["plugin"])),
    );
    let executed = find("executed").map_or_else(
        || "not executed".to_owned(),
        |check| {
            let plugin = check["plugin"]
                .as_str()
                .map(|version| format!("plugin {version}, "));
            format!("{}{}", plugin.unwrap_or_default(), text(&check["against"]))
        },
    );
    let output = &row["output"];
    let made = match (
        output["cloudImage"]["kinds"].is_array(),
        output["files"]["formats"].is_array(),
    ) {
        (true, _) => words(&output["cloudImage"]["kinds"]),
        (_, true) => words(&output["files"]["formats"]),
        _ => "installer".to_owned(),
    };
    let windows = match words(&row["windows"]) {
        all if all.is_empty() => "all".to_owned(),
        some => some,
    };
    format!(
        "| `{}` | {builder} | {windows} | {validated} | {executed} | {made} |\n",
        text(&row["name"])
    )
}

#[test]
fn every_image_target_tells_of_the_windows_license() {
    for target in all_targets()
        .iter()
        .filter(|target| target.image().is_some())
    {
        let tells = target
            .notes
            .iter()
            .any(|note| note.text.contains("license"));
        assert!(
            tells,
            "{}: no note tells of the license of Windows",
            target.name
        );
        let test = Test::new().line(&format!(
            "build --target {} --k8s 1.36.4 --no-bake --out o",
            target.name
        ));
        test.succeeds();
        assert!(
            test.text("o/README.md").contains("## Notes\n\n- "),
            "{}",
            target.name
        );
    }
}

/// Whoever chooses a way to sign in gets that one: all ways of a target stand in one selector, and what Packer keeps of
/// the environment is part of what it would otherwise not get.
#[test]
fn sign_in_is_chosen_and_never_found() {
    let mut checked = 0;
    for selector in all_targets().iter().flat_map(|target| &target.selectors) {
        for value in &selector.values {
            let unknown = value
                .environment
                .iter()
                .find(|name| !selector.environment.contains(name));
            assert_eq!(unknown, None, "{}={}", selector.name, value.value);
            // A folder of the home is the user's, and no path out of it.
            for path in &value.home {
                assert!(!path.starts_with('/') && !path.contains(".."), "{path}");
            }
            checked += usize::from(!selector.environment.is_empty());
        }
    }
    assert!(checked >= 15, "{checked}");
}

/// Every target for each of its Windows releases with the oldest and the newest Kubernetes, with delivery by media,
/// and with each value of its selectors: planned, predicted and rendered in this process.
#[test]
fn every_target_is_previewed_for_its_windows_releases_and_choices() {
    let trees = read_trees(None).expect("the catalog");
    let newest = trees
        .catalog
        .load_kubernetes_line(*trees.catalog.kubernetes_minors().last().expect("a line"));
    let newest = newest.expect("line").latest.to_string();
    let mut previews = 0;
    for target in all_targets() {
        let releases = trees.catalog.windows_names();
        let offered =
            |release: &&String| target.image().is_none() || target.releases.contains_key(*release);
        for release in releases.iter().filter(offered) {
            for kubernetes in ["1.20.0", &newest] {
                previews += preview_target(&select_target(&target, kubernetes, release), &trees);
            }
        }
        let latest = target.releases.keys().max().map_or("2022", String::as_str);
        let selection = select_target(&target, &newest, latest);
        let by_media = target.delivery().as_slice().contains(&Delivery::Media);
        if by_media {
            let selection = ImageDefinition {
                delivery: Some(Delivery::Media),
                ..selection.clone()
            };
            previews += preview_target(&selection, &trees);
        }
        for (selector, value) in target
            .selectors
            .iter()
            .flat_map(|it| it.values.iter().map(move |value| (it, value)))
        {
            let needed = value
                .requires
                .iter()
                .filter_map(|(name, all)| Some((name.clone(), all.first()?.clone())));
            let chosen = needed.chain([(selector.name.clone(), value.value.clone())]);
            let variables = chosen
                .map(|(name, value)| (name, Value::from(value)))
                .collect();
            previews += preview_target(
                &ImageDefinition {
                    variables,
                    ..selection.clone()
                },
                &trees,
            );
        }
    }
    assert!(previews >= 5 * all_targets().len(), "{previews}");
}

fn select_target(target: &Target, kubernetes: &str, release: &str) -> ImageDefinition {
    ImageDefinition {
        target: Some(target.name.clone()),
        kubernetes: Some(kubernetes.to_owned()),
        windows: Some(release.to_owned()),
        ..ImageDefinition::default()
    }
}

/// The number of previews: none where the catalog does not offer the Windows release for the Kubernetes version.
fn preview_target(selection: &ImageDefinition, trees: &Trees) -> usize {
    let title = serde_json::to_string(selection).expect("JSON");
    let plan = match resolve_plan(selection, trees) {
        Ok(plan) => plan,
        Err(error) => {
            let refusal = format!("{error:#}");
            assert!(
                refusal.contains("does not support Windows"),
                "{title}: {refusal}"
            );
            return 0;
        }
    };
    let (guest, _) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{title}: {error:#}"));
    let lock = Lock::for_preview(&plan);
    let workspace = render_workspace(&plan, &lock, &guest, &trees.packer, &trees.provisioners);
    check_variables(
        &title,
        &plan.target,
        &workspace.unwrap_or_else(|error| panic!("{title}: {error:#}")),
    );
    1
}

/// Packer refuses a variable that is used and not declared; one that no block of the target uses would do nothing.
fn check_variables(title: &str, target: &Target, workspace: &Workspace) {
    let hcl = workspace
        .files
        .iter()
        .filter(|(name, _)| name.ends_with(".pkr.hcl"));
    let text: String = hcl
        .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
        .collect();
    assert!(
        !text.contains("{%") && !text.contains("{{"),
        "{title}: a tag remains"
    );
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let name = |rest: &str| {
        rest.split(|c| !is_name(c))
            .next()
            .unwrap_or_default()
            .to_owned()
    };
    let used: BTreeSet<String> = text.split("var.").skip(1).map(name).collect();
    let declared: BTreeSet<String> = text.split("\nvariable \"").skip(1).map(name).collect();
    let more: Vec<_> = text
        .strip_prefix("variable \"")
        .map(name)
        .into_iter()
        .collect();
    let declared: BTreeSet<String> = declared.into_iter().chain(more).collect();
    let source = Tree::embedded_packer();
    let source = source
        .get(&format!("targets/{}/source.pkr.hcl", target.name))
        .unwrap_or_default();
    let source = String::from_utf8_lossy(source).into_owned();
    let elsewhere: BTreeSet<String> = source.split("var.").skip(1).map(name).collect();
    let undeclared: Vec<_> = used.difference(&declared).collect();
    assert!(
        undeclared.is_empty(),
        "{title}: used and not declared: {undeclared:?}"
    );
    let unused: Vec<_> = declared
        .difference(&used)
        .filter(|name| !elsewhere.contains(*name))
        .collect();
    assert!(
        unused.is_empty(),
        "{title}: declared and used nowhere: {unused:?}"
    );
}

/// Evaluation media are known by their digest and by their name, and used only where they are asked for.
#[test]
fn evaluation_media_are_refused_unless_they_are_asked_for() {
    let release = read_trees(None)
        .expect("the catalog")
        .catalog
        .load_windows_release("2022")
        .expect("2022");
    let known = release
        .evaluation_media
        .first()
        .expect("a digest")
        .sha256
        .clone();
    let by_digest = ("https://media.example.com/windows.iso".to_owned(), known);
    let by_name = (
        "https://media.example.com/20348_SERVER_EVAL_x64FRE_en-us.iso".to_owned(),
        "0".repeat(64),
    );
    for target in image_targets()
        .iter()
        .filter(|target| target.find_variable("windows_iso_url").is_some())
    {
        for (url, digest) in [&by_digest, &by_name] {
            let line = format!(
                "plan --target {} --k8s 1.36.4 --windows 2022 --var windows_iso_url={url} --var windows_iso_sha256={digest}",
                target.name
            );
            let asked = [
                "evaluation-media",
                "must not be published",
                "--var evaluation=true",
            ];
            Test::new().line(&line).fails(3, &asked);
            Test::new()
                .line(&line)
                .line("--var evaluation=true")
                .succeeds();
        }
    }
    let other = "--var windows_iso_url=https://media.example.com/retrieval-medieval.iso --var windows_iso_sha256=";
    let line = format!("plan --target qemu --k8s 1.36.4 {other}{}", "0".repeat(64));
    Test::new().line(&line).succeeds();
}
