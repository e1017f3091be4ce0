//! A node comes, by each flow, or a mistake keeps it away.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::{
    CONFIG, KUBEADM, NAMED, NODE, Runtime, Scene, TOLD, compare, flows, guest, has_proxy, imagegen,
    join, joins_by_template, logs, mistakes, pauses, person, predicted, proxies, ready, reset,
    text, told, wait_until_ready,
};
use crate::join::mistakes::{Found, Made, Mistake};
use crate::join::wine::Wine;
use crate::support::Test;
use crate::support::targets::executed_versions;

const CLOUD: &str =
    "--var location=westeurope --var managed_image_resource_group_name=rg --var auth=client_secret";

/// The release whose node a person also upgrades.
const UPGRADED: &str = "1.30.0";

pub(super) fn comes(scene: &Scene<'_>, selection: &str) {
    let payload = payload(scene.test, selection);
    let wine = Wine::new(&scene.test.folder.join("prefix"), scene.programs);
    let plan = guest::unpack(&wine, &payload);
    let before = wine.snapshot();
    let laid = guest::lay(&wine, &plan);
    let predicted = predicted(scene.test, selection);
    compare::machine(&wine, &before, &laid, &predicted);
    flows::share_folders(scene, &wine);
    let held = scene.start(&wine, &laid, true);
    join(scene, &wine);
    ready(scene, &wine);
    told(&scene.node(NODE));
    compare::lines(&wine, &predicted);
    if has_proxy(scene.version) && scene.runtime != Runtime::Docker {
        proxies(scene, &wine);
        compare::lines(&wine, &predicted);
    }
    drop(held);
    restarted(scene, &wine, &plan, NODE);
    check_rights(scene.version, &wine, &plan);
    compare::lines(&wine, &predicted);
    if scene.runtime == Runtime::Docker {
        pauses(scene, &wine);
    }
    reset(scene, &wine, &predicted);
    if scene.runtime == Runtime::Docker || joins_by_template(scene.version, scene.runtime) {
        comes_by_others(scene, &wine, &laid, &plan, &predicted);
    }
}

/// The same machine joins again: as a person does it, and by a template that others publish, where there is one.
fn comes_by_others(
    scene: &Scene<'_>,
    wine: &Wine,
    laid: &guest::Laid,
    plan: &Value,
    predicted: &Value,
) {
    scene.leave(wine);
    person::join_by_hand(scene, wine);
    restarted(scene, wine, plan, person::MACHINE);
    reset(scene, wine, predicted);
    if !joins_by_template(scene.version, scene.runtime) {
        return;
    }

    scene.leave(wine);
    flows::join_by_template(scene, wine);
    wait_until_ready(scene, wine, NODE);
    restarted(scene, wine, plan, NODE);
    reset(scene, wine, predicted);

    if scene.version == UPGRADED {
        scene.leave(wine);
        person::join_by_hand(scene, wine);
        person::upgrade_by_hand(scene, wine, laid);
    }
}

/// After a restart the node is Ready again without another join, and is what `Test-Node.ps1` wants.
fn restarted(scene: &Scene<'_>, wine: &Wine, plan: &Value, name: &str) {
    compare::node(wine, plan);
    let heartbeat = |node: &Value| {
        let conditions = node["status"]["conditions"].as_array().unwrap();
        let ready = conditions.iter().find(|it| it["type"] == "Ready").unwrap();
        ready["lastHeartbeatTime"].as_str().unwrap().to_owned()
    };
    let before = scene.node(name);
    // What a restart of the machine does: all programs end, and those that start by themselves start.
    let _held = scene.restart(wine);
    let ready = (0..600).any(|_| {
        let node = scene.node(name);
        let conditions = node["status"]["conditions"].as_array().unwrap();
        let ready = conditions
            .iter()
            .any(|it| it["type"] == "Ready" && it["status"] == "True");
        ready && heartbeat(&node) > heartbeat(&before)
    });
    assert!(
        ready,
        "{:#}\n{}",
        scene.node(name)["status"]["conditions"],
        logs(wine)
    );
    compare::node(wine, plan);
}

/// What the kubelet does to the rights of folders is volatile in the plan, and 1.31 does it.
fn check_rights(version: &str, wine: &Wine, plan: &Value) {
    let log =
        std::fs::read_to_string(wine.path(r"C:\var\log\kubelet\kubelet.log")).unwrap_or_default();
    let changed = compare::folders_of_the_kubelet(&log, plan);
    let resources = plan["resources"].as_array().unwrap();
    for path in &changed {
        let is_it =
            |it: &&Value| it["properties"]["path"] == path.as_str() && it["type"] == "directory";
        let folder = resources.iter().find(is_it).unwrap();
        let volatile = folder["volatile"].get("sddl").is_some();
        assert!(
            volatile,
            "{version}: {path} is compared, and the kubelet changes it"
        );
    }
    if version == "1.31.0" {
        let own = [r"C:\var\log\containers", r"C:\var\log\pods"].map(str::to_owned);
        assert_eq!(changed, own.into());
    }
}

/// The real programs notice the mistake and name it.
pub(super) fn stays_away(scene: &Scene<'_>, mistake: &Mistake, prefix: &Path) {
    let plan = mistakes::guest_plan(mistake, &mistakes::overrides(&scene.test.folder)).unwrap();
    let wine = Wine::new(prefix, scene.programs);
    let laid = guest::lay(&wine, &plan);
    let _held = scene.start(&wine, &laid, !matches!(mistake.made, Made::NoNetwork));
    let mut data = scene.join_data(&format!("{NAMED} {TOLD}"));
    if let Made::Configuration { right, wrong } = mistake.made {
        assert!(data.contains(right), "{data}");
        data = data.replace(right, wrong);
    }
    if let Made::Cluster { right, wrong } = mistake.made {
        scene.cluster.change_kubelet(right, wrong);
    }
    std::fs::write(wine.path(CONFIG), data).unwrap();
    let seconds = if matches!(mistake.found, Found::Fails(_)) {
        45
    } else {
        120
    };
    let joined = wine.run(seconds, &[KUBEADM, "join", "--config", CONFIG]);
    let all = text(&joined) + &logs(&wine);
    match mistake.found {
        Found::Fails(said) => {
            assert!(
                !joined.status.success() && all.contains(said),
                "{}: {all}",
                mistake.name
            );
            let nodes = scene.cluster.kubectl(&["get", "nodes", "-o", "name"]);
            assert_eq!(nodes, "", "{}: {all}", mistake.name);
        }
        Found::NotReady(said) => {
            assert!(joined.status.success(), "{}: {all}", mistake.name);
            not_ready(scene, said);
        }
        Found::Refused(_) => unreachable!("there is no node to join"),
    }
    scene.cluster.kubectl(&["delete", "nodes", "--all"]);
}

fn not_ready(scene: &Scene<'_>, said: &str) {
    let mut last = Value::Null;
    for _ in 0..200 {
        let node = scene.node(NODE);
        let conditions = node["status"]["conditions"]
            .as_array()
            .into_iter()
            .flatten();
        let ready = conditions
            .into_iter()
            .find(|condition| condition["type"] == "Ready");
        last = ready.cloned().unwrap_or_default();
        if last["status"] == "False" && last["message"].as_str().unwrap().contains(said) {
            return;
        }
    }
    panic!("{last}");
}

/// The payload of the selection, its artifacts replaced by what the mirror holds. Of the newest minor it is what the
/// real Packer sent to a guest that keeps what it gets.
fn payload(test: &Test, selection: &str) -> PathBuf {
    let line = format!(
        "build {selection} --out o --offline --store store --overrides overrides.json --ignore-lock"
    );
    if !selection.contains("1.36.0") {
        imagegen(test, &format!("{line} --no-bake"));
        return test.folder.join("o/payload.zip");
    }
    let versions = executed_versions("azure");
    std::fs::write(test.folder.join("imagegen.json"), versions).unwrap();
    let report = write_report(&test.folder);
    let packer = crate::bake::simulation().expect("seen outside");
    let mut command = test.command();
    command
        .args(line.split(' '))
        .args(CLOUD.split(' '))
        .arg("--packer")
        .arg(packer);
    let records = test.folder.join("records");
    let baked = crate::bake::simulated_command(
        &command,
        &test.folder,
        &records,
        &["--report", report.to_str().unwrap()],
    );
    assert!(baked.status.success(), "{}", text(&baked));
    find_upload(&records)
}

/// What the simulated guest says of its check.
pub(super) fn write_report(folder: &Path) -> PathBuf {
    let report = folder.join("report.json");
    let text = r#"{"schema": "imagegen.dev/check-report/v1", "passed": true, "checked": 1, "failed": 0, "resources": []}"#;
    std::fs::write(&report, text).unwrap();
    report
}

/// The payload that Packer sent.
pub(super) fn find_upload(records: &Path) -> PathBuf {
    let uploads = std::fs::read_dir(records.join("winrm/uploads")).unwrap();
    let mut sent = uploads.map(|entry| entry.unwrap().path());
    sent.find(|path| path.to_str().unwrap().ends_with("-payload.zip"))
        .expect("Packer sent a payload")
}
