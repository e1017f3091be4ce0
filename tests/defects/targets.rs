//! One table over all targets: what image-builder's providers get wrong, and what their users complained of, looked
//! for in the plan, the machine and the workspace of each target.

mod checks;

use std::collections::BTreeSet;

use checks::{
    check_bounds, check_clock, check_closed, check_default_secrets, check_digests, check_discs,
    check_kubelet, check_line, check_options, check_own_files, check_password_age, check_passwords,
    check_plugin_order, check_release_settings, check_reported_address, check_scripts,
    check_sharing, check_timeouts, check_updates,
};
use imagegen::catalog::Trees;
use imagegen::guest::Guest;
use imagegen::lock::Lock;
use imagegen::machine::Machine;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::plan::Plan;
use imagegen::model::target::{ImageTarget, Target};
use imagegen::model::target_record::{CheckStage, TargetCheck};
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::render::render_workspace;
use imagegen::selection::read_trees;

use super::azure;
use crate::support::targets::{find_checks, image_targets, write_versions};
use crate::support::{Test, files, root};

/// An image of a target, as far as it exists before a machine does.
struct Made {
    plan: Plan,
    guest: Guest,
    machine: Machine,
    /// The HCL of the workspace.
    hcl: String,
    /// Every file of the workspace that is text.
    texts: Vec<(String, String)>,
}

impl Made {
    fn target(&self) -> &Target {
        &self.plan.target
    }

    fn image(&self) -> &ImageTarget {
        self.target().image().expect("an image")
    }

    fn text(&self, name: &str) -> Option<&str> {
        self.texts
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, text)| text.as_str())
    }
}

fn make(target: &str, windows: &str, kubernetes: &str, trees: &Trees) -> Made {
    let selection = ImageDefinition {
        target: Some(target.to_owned()),
        windows: Some(windows.to_owned()),
        ..azure(kubernetes)
    };
    let plan =
        resolve_plan(&selection, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let (guest, prediction) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let lock = Lock::for_preview(&plan);
    let workspace = render_workspace(&plan, &lock, &guest, &trees.packer, &trees.provisioners);
    let workspace = workspace.unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let texts: Vec<(String, String)> = workspace
        .files
        .iter()
        .filter_map(|(name, bytes)| Some((name.clone(), String::from_utf8(bytes.clone()).ok()?)))
        .collect();
    let is_hcl = |name: &str| name.ends_with(".pkr.hcl");
    let hcl = texts
        .iter()
        .filter(|(name, _)| is_hcl(name))
        .map(|(_, text)| text.as_str())
        .collect();
    Made {
        plan,
        guest,
        machine: prediction.machine,
        hcl,
        texts,
    }
}

type Check = fn(&Made);

/// What must hold of every target: number of the defect or of the complaint, and its check.
const ROWS: &[(&str, Check)] = &[
    ("D1 a download or a medium without a digest", check_digests),
    (
        "D3 settings of the release are missing",
        check_release_settings,
    ),
    ("D4 the clock of the platform is lost", check_clock),
    ("D5 an option of cloudbase-init is empty", check_options),
    (
        "D6 the kubelet needs kubeadm's file of flags",
        check_kubelet,
    ),
    ("D7 a program that the line does not have", check_line),
    ("D8 remote management stays open", check_closed),
    ("D9 a password in a file", check_passwords),
    (
        "D12 the answer file uses a disc that nobody attached",
        check_discs,
    ),
    (
        "#581 users edit files that the build wrote over",
        check_own_files,
    ),
    (
        "#1672, CVE-2024-9486, CVE-2024-9594 a default password",
        check_default_secrets,
    ),
    (
        "#2117 the administrator's password expires before the first sign-in",
        check_password_age,
    ),
    ("#759 automatic updates restart the node", check_updates),
    (
        "#1109 the order of plugins breaks sign-in",
        check_plugin_order,
    ),
    (
        "#1097, #1953 the session ends before the machine answers",
        check_timeouts,
    ),
    ("#660, b18049552 a wait without end", check_bounds),
    (
        "images are public or copied to other regions by default",
        check_sharing,
    ),
    ("a script downloads what nobody verified", check_scripts),
    (
        "VMware Tools report no address once a pod network has it",
        check_reported_address,
    ),
];

#[test]
fn no_target_has_a_defect_of_image_builder() {
    let trees = read_trees(None).expect("the catalog");
    let newest = *trees.catalog.kubernetes_minors().last().expect("a line");
    let newest = trees
        .catalog
        .load_kubernetes_line(newest)
        .expect("line")
        .latest
        .to_string();
    let mut checked = 0;
    for target in image_targets() {
        for (windows, kubernetes) in [("2019", "1.20.0"), ("2022", "1.30.0"), ("2025", &newest)] {
            let made = make(&target.name, windows, kubernetes, &trees);
            for (row, check) in ROWS {
                // A failing row names itself, the target and the release.
                println!("{row}: {} {windows} {kubernetes}", target.name);
                check(&made);
                checked += 1;
            }
        }
    }
    assert_eq!(checked, ROWS.len() * image_targets().len() * 3);
}

/// D10: a name that no variable has is refused, for every target.
#[test]
fn d10_an_unknown_variable_is_refused_by_every_target() {
    for target in image_targets() {
        let line = format!(
            "plan --target {} --k8s 1.36.4 --var no_such_variable=1",
            target.name
        );
        Test::new().line(&line).fails(3, &["no_such_variable"]);
    }
}

/// D11: each builder and each Windows release of a target was given to Packer, or the target has no plugin to run.
#[test]
fn d11_every_builder_and_release_was_validated() {
    let mut validated = 0;
    for target in image_targets() {
        let selections: Vec<&String> = find_checks(&target.record, CheckStage::Validated)
            .flat_map(|check| &check.selections)
            .collect();
        if selections.is_empty() {
            let by_name = find_checks(&target.record, CheckStage::CheckedByName).next();
            let executed = find_checks(&target.record, CheckStage::Executed).next();
            assert!(by_name.is_some() || executed.is_some(), "{}", target.name);
            continue;
        }
        validated += 1;
        for release in target.releases.keys() {
            let given = selections
                .iter()
                .any(|it| it.contains(&format!("--windows {release}")));
            assert!(
                given,
                "{}: no validated selection of {release}",
                target.name
            );
        }
        let image = target.image().expect("an image");
        let others = target
            .selectors
            .iter()
            .flat_map(|it| &it.values)
            .filter_map(|it| it.builder.clone());
        let builders: BTreeSet<String> = others.chain([image.builder.clone()]).collect();
        let checks = find_checks(&target.record, CheckStage::Validated);
        let run: BTreeSet<String> = checks
            .flat_map(|check| check.selections.iter().map(move |it| (check, it)))
            .map(|(check, selection)| builder_of(&target, check, selection))
            .collect();
        assert_eq!(run, builders, "{}", target.name);
    }
    assert!(validated >= 7, "{validated}");
}

/// The source type of the workspace of a selection.
fn builder_of(target: &Target, check: &TargetCheck, selection: &str) -> String {
    let mut test = Test::new().line(&format!(
        "build --target {} {selection} --no-bake --out o",
        target.name
    ));
    for (name, value) in &check.variables {
        test = test.args(["--var", &format!("{name}={value}")]);
    }
    let source = test.file("imagegen.json", &write_versions(target, check));
    source.succeeds();
    let source = source.text("o/source.pkr.hcl");
    let line = source
        .lines()
        .find_map(|line| line.strip_prefix("source \""))
        .expect("a source");
    line.split('"').next().unwrap_or_default().to_owned()
}

/// Scripts and answer files of the targets, whatever selects them.
#[test]
fn no_file_of_a_target_downloads_or_restarts_the_session() {
    let mut checked = 0;
    for (name, bytes) in files(&root().join("packer")) {
        let is_script = [".ps1", ".cmd", ".sh", ".xml", ".pkrtpl"]
            .iter()
            .any(|ending| name.ends_with(ending));
        if !is_script {
            continue;
        }
        let text = String::from_utf8(bytes).expect("UTF-8");
        for command in [
            "Invoke-WebRequest",
            "WebClient",
            "Start-BitsTransfer",
            "curl ",
            "wget ",
            "Restart-Service",
        ] {
            assert!(!text.contains(command), "{name}: {command}");
        }
        checked += 1;
    }
    assert!(checked >= 5, "{checked}");
}
