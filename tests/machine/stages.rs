//! Accounts of the stages of a clone's life: no line and no target runs kubeadm under an account that it refuses.

use std::collections::BTreeMap;

use imagegen::catalog::Trees;
use imagegen::embedded::Tree;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::line::Minor;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use serde_json::{Value, json};

use crate::support::targets::image_targets;

use super::plan::Plan;

/// The last line whose kubeadm refuses SYSTEM: kubernetes/kubernetes#108140, mended by #124665.
const LAST: &str = "1.30";

/// The problems that a target has with the newest release of each of the lines.
fn list_problems(trees: &Trees, target: &str, minors: &[Minor]) -> BTreeMap<Minor, String> {
    let mut problems = BTreeMap::new();
    for &minor in minors {
        let line = trees.catalog.load_kubernetes_line(minor).expect("a line");
        let selection = ImageDefinition {
            target: Some(target.to_owned()),
            kubernetes: Some(line.latest.as_str().to_owned()),
            ..ImageDefinition::default()
        };
        let plan = resolve_plan(&selection, trees).expect("a plan");
        if let Err(error) = predict_machine(&plan, trees) {
            problems.insert(minor, format!("{error:#}"));
        }
    }
    problems
}

/// The catalog with one file of `provisioners` edited.
fn edit_provisioners(path: &str, edit: impl FnOnce(&mut Value)) -> Trees {
    let mut trees = read_trees(None).expect("the catalog");
    let mut files = trees.provisioners.files();
    let bytes = files.get_mut(path).expect(path);
    let mut value = serde_json::from_slice(bytes).expect(path);
    edit(&mut value);
    *bytes = serde_json::to_vec(&value).expect("JSON");
    trees.provisioners = Tree::from_files("provisioners".to_owned(), files);
    trees
}

/// Whether of these lines exactly those up to [`LAST`] are refused, each by the check's name.
fn check_refused(trees: &Trees, target: &str, minors: &[Minor], part: &str) {
    let problems = list_problems(trees, target, minors);
    let last: Minor = LAST.parse().expect("a minor");
    let minors = minors.iter().copied();
    let expected: Vec<Minor> = minors.filter(|minor| *minor <= last).collect();
    let refused: Vec<Minor> = problems.keys().copied().collect();
    assert_eq!(refused, expected, "{problems:#?}");
    for (minor, problem) in &problems {
        assert!(problem.contains("[account-refused]"), "{minor}: {problem}");
        assert!(problem.contains("IsPrivilegedUser"), "{minor}: {problem}");
        assert!(problem.contains(part), "{minor}: {problem}");
    }
}

/// As images were before: user-data of every line ran as SYSTEM.
#[test]
fn user_data_as_system_is_refused_up_to_1_30() {
    let trees = edit_provisioners("steps/150-cloudbase-init.json", |step| {
        let resources = step["resources"].as_array_mut().expect("resources");
        for package in resources.iter_mut().filter(|it| it["type"] == "msi") {
            package["properties"]["arguments"] =
                serde_json::json!(["RUN_SERVICE_AS_LOCAL_SYSTEM=1"]);
        }
    });
    // Every line on one target, and the lines on both sides of the change on each.
    let all = trees.catalog.kubernetes_minors();
    let sides: Vec<Minor> = ["1.30", "1.31"]
        .map(|minor| minor.parse().expect("a minor"))
        .to_vec();
    for target in image_targets() {
        let minors = if target.name == "azure" { &all } else { &sides };
        check_refused(&trees, &target.name, minors, "stage `user-data`");
    }
}

/// A join that does not name the check in `node.conf` is no join as SYSTEM.
#[test]
fn a_join_as_system_that_ignores_nothing_is_refused_up_to_1_30() {
    let trees = edit_provisioners("stages.json", |stages| {
        for stage in stages["stages"].as_array_mut().expect("stages") {
            if let Some(ignores) = stage.get_mut("ignores") {
                ignores["key"] = "another".into();
            }
        }
    });
    let sides = ["1.17", "1.30", "1.31"].map(|minor| minor.parse().expect("a minor"));
    for target in ["host", "azure"] {
        check_refused(&trees, target, &sides, "stage `a script of the node");
    }
}

/// The same package without the argument belongs to an administrator, and a check that the file names is ignored.
#[test]
fn an_account_that_the_program_takes_is_no_problem() {
    let mut plan = Plan::good();
    super::breaks::refuse_system(&mut plan);
    plan.platform.cloudbase_init.main.plugins = vec![super::breaks::USER_DATA.to_owned()];
    plan.set("cloudbase/package", "arguments", serde_json::json!([]));
    assert_eq!(plan.predict().problems, []);

    let stage = serde_json::json!({
        "stage": "task", "runsAs": {"account": "system"}, "runs": ["kubelet.exe"],
        "ignores": {"path": r"C:\k\start-kubelet.cmd", "key": "ignored"}, "source": "test",
    });
    plan.stages = vec![serde_json::from_value(stage).expect("a stage")];
    assert_eq!(plan.predict().problems.len(), 1);
    plan.set(
        "kubelet/start",
        "content",
        "if not exist \"C:\\var\\lib\\kubelet\\config.yaml\" exit 0\r\nignored=Groups\r\n",
    );
    assert_eq!(plan.predict().problems, []);
}

/// The catalog with another rule of the clone's first boot.
fn edit_platform_address(edit: impl FnOnce(&mut Value)) -> Trees {
    edit_provisioners("steps/950-firstboot.json", |step| {
        let resources = step["resources"].as_array_mut().expect("resources");
        let rule = resources.iter_mut().find(|it| it["type"] == "firewallRule");
        edit(rule.expect("a rule"));
    })
}

/// As images of Azure were before: the rule let LocalSystem alone pass, so cloudbase-init found no user-data where its
/// service has an account of its own.
#[test]
fn metadata_that_the_account_of_user_data_cannot_ask_are_refused() {
    let sides = ["1.17", "1.30", "1.31"].map(|minor| minor.parse().expect("a minor"));
    let none = |rule: &mut Value| rule["properties"]["exceptUser"] = json!([]);
    let early = |rule: &mut Value| rule["phase"] = json!("install");
    let last: Minor = LAST.parse().expect("a minor");
    for trees in [edit_platform_address(none), edit_platform_address(early)] {
        let problems = list_problems(&trees, "azure", &sides);
        let refused: Vec<Minor> = problems.keys().copied().collect();
        let expected: Vec<Minor> = sides.into_iter().filter(|it| *it <= last).collect();
        assert_eq!(refused, expected, "{problems:#?}");
        for problem in problems.values() {
            assert!(problem.contains("[metadata-blocked]"), "{problem}");
            assert!(problem.contains("168.63.129.16"), "{problem}");
        }
    }
}

/// A rule that lets the account pass where it reads user-data is none of the rule's business, nor is one of elsewhere.
#[test]
fn metadata_that_the_account_may_ask_are_no_problem() {
    let mut plan = Plan::good();
    super::breaks::block_metadata(&mut plan, "install", json!(["192.0.2.1"]));
    assert_eq!(plan.predict().problems, []);

    let mut plan = Plan::good();
    super::breaks::block_metadata(&mut plan, "firstboot", json!(["192.0.2.1"]));
    plan.set("cloudbase/package", "arguments", json!([]));
    plan.set("x/metadata", "exceptUser", json!(["Cloudbase-Init"]));
    assert_eq!(plan.predict().problems, []);

    let mut plan = Plan::good();
    super::breaks::block_metadata(&mut plan, "install", json!(["198.51.100.0/24"]));
    plan.set("x/metadata", "exceptAccount", json!(["S-1-5-19"]));
    assert_eq!(plan.predict().problems, []);
}
