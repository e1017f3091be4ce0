use serde_json::json;

use super::plan::Plan;

#[test]
fn what_is_taken_back_is_the_images_again() {
    let mut plan = Plan::good();
    let running = json!({"serviceName": "CONTAINERD", "ensure": "present", "state": "running"});
    plan.add("x/running", "install", "service", running.clone());
    plan.of("x/running")["scope"] = "build".into();
    let service = |plan: &Plan| plan.predict().machine.services[1].clone();
    assert_eq!(service(&plan).origin.resource, "x/running", "as long as it is not taken back");
    plan.add("x/again", "seal", "service", running);
    let service = service(&plan);
    assert_eq!(
        (service.name.as_str(), service.origin.resource.as_str()),
        ("containerd", "containerd/service")
    );
}

#[test]
fn a_thing_is_there_or_absent_but_never_both() {
    let mut plan = Plan::good();
    let file = |ensure: &str| json!({"path": "C:/k/CRICTL.yaml", "ensure": ensure, "content": "x"});
    plan.add("x/gone", "install", "file", file("absent"));
    let has = |plan: &Plan| {
        let machine = plan.predict().machine;
        let there = machine.files.iter().any(|it| it.path.eq_ignore_ascii_case(r"C:\k\crictl.yaml"));
        let absent = machine.absent.iter().any(|it| it.name.eq_ignore_ascii_case(r"C:\k\crictl.yaml"));
        (there, absent)
    };
    assert_eq!(has(&plan), (false, true));
    plan.add("x/back", "install", "file", file("present"));
    assert_eq!(has(&plan), (true, false));
}

#[test]
fn a_removed_directory_takes_everything_below() {
    let mut plan = Plan::good();
    plan.add("x/k", "seal", "directory", json!({"path": r"c:\K", "ensure": "absent"}));
    let machine = plan.predict().machine;
    assert!(machine.files.iter().all(|file| !file.path.starts_with(r"C:\k\")));
    assert!(machine.directories.iter().all(|it| it.path != r"C:\k"));
}

#[test]
fn knows_where_access_control_comes_from() {
    let machine = Plan::good().predict().machine;
    let from = |path: &str| {
        let found = machine.directories.iter().find(|it| it.path == path).expect(path);
        found.inherits_from.clone()
    };
    assert_eq!(from(r"C:\var\lib"), Some(r"C:\var".to_owned()));
    assert_eq!(from(r"C:\etc"), Some(r"C:\".to_owned()));
    assert_eq!(from(r"C:\k"), None);
    assert_eq!(machine.restarts, 2);
}
