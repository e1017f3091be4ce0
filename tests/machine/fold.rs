use imagegen::machine::Machine;
use imagegen::windows::resource::{Directory, DirectoryState, Service};
use serde_json::json;

use super::plan::Plan;

/// The resource that a service comes from, and for how long it holds.
fn containerd_origin(machine: &Machine) -> (String, String) {
    let mut services = machine.present_resources::<Service>();
    let service = services
        .find(|it| it.it.service_name == "containerd")
        .expect("containerd");
    (
        service.origin.resource.clone(),
        format!("{:?}", service.origin.scope),
    )
}

#[test]
fn a_build_change_of_a_service_ends_with_the_next_resource_of_the_image() {
    let mut plan = Plan::good();
    let running = json!({"serviceName": "CONTAINERD", "ensure": "present", "state": "running"});
    plan.add("x/running", "install", "service", running.clone());
    plan.of("x/running")["scope"] = "build".into();
    let changed = plan.predict().machine;
    assert_eq!(
        containerd_origin(&changed),
        ("x/running".to_owned(), "Build".to_owned())
    );
    plan.add("x/again", "seal", "service", running);
    let restored = plan.predict().machine;
    assert_eq!(
        containerd_origin(&restored),
        ("containerd/service".to_owned(), "Node".to_owned())
    );
}

#[test]
fn a_thing_is_there_or_absent_but_never_both() {
    let mut plan = Plan::good();
    plan.add(
        "x/gone",
        "install",
        "file",
        json!({"path": "C:/k/CRICTL.yaml", "ensure": "absent"}),
    );
    let states = |plan: &Plan| {
        let machine = plan.predict().machine;
        let at = machine
            .find_at_path(r"C:\k\crictl.yaml")
            .expect("a thing")
            .clone();
        (
            machine
                .present_files()
                .any(|it| it.path.to_lowercase().contains("crictl.y")),
            at.is_absent(),
        )
    };
    assert_eq!(states(&plan), (false, true));
    let back = json!({"path": "C:/k/CRICTL.yaml", "ensure": "present", "content": "x"});
    plan.add("x/back", "install", "file", back);
    assert_eq!(states(&plan), (true, false));
}

#[test]
fn a_removed_directory_removes_everything_below() {
    let mut plan = Plan::good();
    plan.add(
        "x/k",
        "seal",
        "directory",
        json!({"path": r"c:\K", "ensure": "absent"}),
    );
    let machine = plan.predict().machine;
    assert!(
        machine
            .present_files()
            .all(|file| !file.path.starts_with(r"C:\k\"))
    );
    let mut directories = machine.resources_of::<Directory>();
    let (k, _) = directories
        .find(|(it, _)| it.path.eq_ignore_ascii_case(r"C:\k"))
        .expect("the directory");
    assert_eq!(k.state, DirectoryState::Absent {});
}

#[test]
fn an_emptied_directory_keeps_its_access_control() {
    let mut plan = Plan::good();
    plan.add(
        "x/k",
        "seal",
        "directory",
        json!({"path": r"C:\k", "ensure": "empty"}),
    );
    let machine = plan.predict().machine;
    let mut directories = machine.resources_of::<Directory>();
    let (k, _) = directories
        .find(|(it, _)| &*it.path == r"C:\k")
        .expect("the directory");
    assert!(k.clears_content() && k.sddl().is_some(), "{k:?}");
}

#[test]
fn counts_restarts() {
    assert_eq!(Plan::good().predict().machine.restarts, 2);
}

#[test]
fn a_fold_continues_from_a_machine() {
    let whole = Plan::good().predict().machine;
    let (mut first, mut second) = (Plan::good(), Plan::good());
    second.resources = first.resources.split_off(12);
    assert_eq!(second.fold_from(first.predict().machine), whole);
}
