//! One table over all targets: what image-builder's providers get wrong, and what their users complained of, looked
//! for in the plan, the machine and the workspace of each target.

use std::collections::BTreeSet;

use imagegen::catalog::Trees;
use imagegen::guest::Guest;
use imagegen::lock::Lock;
use imagegen::machine::Machine;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::plan::Plan;
use imagegen::model::record::{CheckStage, TargetCheck};
use imagegen::model::target::{ImageTarget, Start, Target};
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::render::render_workspace;
use imagegen::selection::read_trees;
use imagegen::windows::resource::Phase;
use imagegen::windows::resource::{
    Ensure, RegistryData, RegistryValue, ResourceKind, WinrmListener,
};
use serde_json::Value;

use super::{azure, file, options};
use crate::support::targets::{image_targets, write_versions};
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

fn check_digests(made: &Made) {
    let unpinned: Vec<_> = made.plan.unpinned_artifacts().map(|it| &it.url).collect();
    for resource in &made.guest.plan.resources {
        let download = match &resource.kind {
            ResourceKind::Artifact(it) => &it.download,
            ResourceKind::Archive(it) => &it.download,
            ResourceKind::Msi(it) => &it.download,
            _ => continue,
        };
        let is_open = unpinned.iter().any(|url| **url == download.url);
        assert!(
            is_open != download.digest.is_some(),
            "{}: {download:?}",
            resource.name
        );
    }
    assert!(!made.hcl.contains(r#""none""#), "a medium without checksum");
    let media = made.hcl.lines().filter(|line| {
        let name = line.split('=').next().unwrap_or_default().trim();
        ["iso_url", "iso_file", "source_image_uri"].contains(&name)
    });
    let sums = made.hcl.lines().filter(|line| {
        let name = line.split('=').next().unwrap_or_default().trim();
        ["iso_checksum", "source_image_checksum"].contains(&name) && line.contains("var.")
    });
    assert_eq!(media.count(), sums.count(), "{}", made.hcl);
    for medium in made.image().media() {
        let variable = made
            .target()
            .find_variable(&medium.sha256)
            .expect("a variable");
        assert!(
            variable.required && variable.default.is_none(),
            "{}",
            medium.sha256
        );
    }
}

fn check_release_settings(made: &Made) {
    assert!(!made.plan.windows.registry.is_empty());
    for setting in &made.plan.windows.registry {
        let mut values = made.machine.present_resources::<RegistryValue>();
        let found = values.find(|it| it.it.value_name == setting.name && *it.it.key == setting.key);
        assert_eq!(
            found.map(|it| &it.settings.data),
            Some(&setting.data),
            "{}",
            setting.name
        );
    }
}

fn check_clock(made: &Made) {
    let text = file(&made.guest, r"\cloudbase-init.conf")
        .content()
        .expect("content")
        .to_owned();
    let expected = made.image().platform.cloudbase_init.rtc_utc.to_string();
    assert_eq!(options(&text)["real_time_clock_utc"], expected);
}

fn check_options(made: &Made) {
    for name in [r"\cloudbase-init.conf", r"\cloudbase-init-unattend.conf"] {
        let text = file(&made.guest, name)
            .content()
            .expect("content")
            .to_owned();
        let empty: Vec<_> = options(&text)
            .into_iter()
            .filter(|(_, value)| value.is_empty())
            .collect();
        assert!(empty.is_empty(), "{name}: {empty:?}");
    }
    let services = &made.image().platform.cloudbase_init.main.services;
    assert!(
        services
            .iter()
            .any(|class| !class.ends_with("EmptyMetadataService")),
        "no platform: {services:?}"
    );
}

fn check_kubelet(made: &Made) {
    let kubelet = made
        .machine
        .find_service("kubelet")
        .expect("kubelet")
        .settings;
    let has = |flag: &str| kubelet.arguments.iter().any(|word| word.starts_with(flag));
    assert!(
        has("--config=") || has("--container-runtime-endpoint="),
        "{:?}",
        kubelet.arguments
    );
}

fn check_line(made: &Made) {
    let is_old = made.plan.kubernetes < "1.23.0".parse().expect("version");
    let has = made
        .machine
        .present_files()
        .any(|file| file.path.ends_with("kube-log-runner.exe"));
    assert!(!(is_old && has), "kube-log-runner");
}

fn check_closed(made: &Made) {
    assert!(
        made.machine
            .resources_of::<WinrmListener>()
            .all(|(it, _)| it.ensure == Ensure::Absent)
    );
    let late = made
        .guest
        .plan
        .resources
        .iter()
        .filter(|resource| resource.phase == Phase::Firstboot);
    let late: Vec<&str> = late.map(|resource| resource.name.as_str()).collect();
    assert!(late.contains(&"firstboot/winrm-listener"), "{late:?}");
    assert!(
        !made.hcl.contains("winrm_use_ntlm   = false"),
        "{}",
        made.hcl
    );
    // Over plain HTTP, the password is never sent as it is.
    let encrypted = made.hcl.contains("winrm_use_ssl") || made.hcl.contains("winrm_use_ntlm");
    assert!(
        encrypted,
        "the password travels in clear text: {}",
        made.hcl
    );
}

fn check_passwords(made: &Made) {
    for (name, text) in &made.texts {
        for line in text
            .lines()
            .filter(|line| line.contains("password") && !line.contains("_timeout"))
        {
            let value = line.split_once('=').map_or("", |(_, value)| value.trim());
            let is_literal = value.starts_with('"') && value.len() > 2 && !value.contains("${");
            let describes =
                line.trim_start().starts_with("description") || !name.ends_with(".pkr.hcl");
            assert!(describes || !is_literal, "{name}: {line}");
        }
        for secret in made
            .target()
            .variables
            .iter()
            .filter(|variable| variable.sensitive)
        {
            let written =
                name.ends_with("pkrvars.json") && text.contains(&format!("\"{}\"", secret.name));
            assert!(!written, "{name} has {}", secret.name);
        }
    }
    if let Some(answers) = made.text("Autounattend.xml.pkrtpl") {
        assert!(answers.contains("<Value>${password}</Value>"), "{answers}");
    }
}

/// Drivers and commands of the answer file are on discs that the builder attaches.
fn check_discs(made: &Made) {
    let Start::BootMedia { .. } = made.image().start else {
        return;
    };
    let mut paths = made
        .hcl
        .split("driver_paths")
        .map(|rest| rest.trim_start_matches([' ', '=']));
    let paths = paths
        .find_map(|rest| rest.strip_prefix('['))
        .expect("paths of drivers")
        .trim_start();
    if !paths.starts_with(']') {
        let discs = ["drivers_iso", "vmware_tools_iso"];
        let brings = discs
            .iter()
            .any(|name| made.hcl.contains(&format!("var.{name}")));
        assert!(brings, "no disc with drivers: {}", made.hcl);
    }
    // Letters of drives differ from machine to machine.
    for (name, text) in &made.texts {
        let fixed = ["\"D:\\\\", "\"E:\\\\", "\"F:\\\\", "A:/", "F:/"];
        assert!(
            fixed.iter().all(|letter| !text.contains(letter)),
            "{name} names a drive"
        );
    }
}

fn check_own_files(made: &Made) {
    assert!(
        made.texts
            .iter()
            .all(|(name, _)| !name.starts_with('/') && !name.contains("..")),
        "a file elsewhere"
    );
}

/// The address of a machine moves to an adapter of Hyper-V, which VMware Tools leave out unless told otherwise:
/// <https://github.com/openshift/windows-machine-config-operator/blob/master/docs/vsphere-golden-image.md>.
fn check_reported_address(made: &Made) {
    let services = &made.image().platform.services;
    let has_tools = services
        .iter()
        .any(|service| service.name.as_str() == "VMTools");
    let mut files = made.machine.present_files();
    let file = files.find(|file| file.path.ends_with(r"\VMware Tools\tools.conf"));
    assert_eq!(file.is_some(), has_tools);
    if let Some(file) = file {
        let content = file.content.expect("a text");
        assert!(
            content.contains("[guestinfo]\r\nexclude-nics=\r\n"),
            "{content}"
        );
    }
}

fn check_default_secrets(made: &Made) {
    for variable in &made.target().variables {
        let secret = variable.sensitive
            || variable.name.contains("password")
            || variable.name.contains("secret");
        assert!(
            !secret || (variable.sensitive && variable.default.is_none()),
            "{}",
            variable.name
        );
    }
}

fn check_password_age(made: &Made) {
    let names: Vec<&str> = made
        .guest
        .plan
        .resources
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    assert!(
        names.iter().any(|name| name.ends_with("/password-age")),
        "{names:?}"
    );
}

fn check_updates(made: &Made) {
    let mut values = made.machine.present_resources::<RegistryValue>();
    let found = values
        .find(|it| it.it.value_name == "NoAutoUpdate")
        .expect("the setting");
    assert_eq!(found.settings.data, RegistryData::DWord(1));
}

fn check_plugin_order(made: &Made) {
    let plugins = &made.image().platform.cloudbase_init.main.plugins;
    let at = |name: &str| plugins.iter().position(|class| class.ends_with(name));
    let order = [
        "CreateUserPlugin",
        "SetUserPasswordPlugin",
        "SetUserSSHPublicKeysPlugin",
        "UserDataPlugin",
    ];
    let found: Vec<usize> = order.iter().filter_map(|name| at(name)).collect();
    assert!(found.is_sorted(), "{plugins:?}");
    assert!(
        at("UserDataPlugin").is_some(),
        "nothing reads the join: {plugins:?}"
    );
}

/// Packer waits for a machine that installs Windows or restarts: at least half an hour.
fn check_timeouts(made: &Made) {
    let minutes = |text: &str| {
        let number: String = text.chars().take_while(char::is_ascii_digit).collect();
        number.parse::<u32>().unwrap_or_default() * if text.contains('h') { 60 } else { 1 }
    };
    let times: Vec<u32> = made
        .hcl
        .lines()
        .filter_map(|line| line.trim().strip_prefix("winrm_timeout"))
        .map(|rest| minutes(rest.trim_start_matches([' ', '=', '"'])))
        .collect();
    assert_eq!(times.len(), 1, "{}", made.hcl);
    let least = if matches!(made.image().start, Start::BootMedia { .. }) {
        120
    } else {
        30
    };
    assert!(times[0] >= least, "{} minutes", times[0]);
}

/// Every resource of the engine ends, and so does every provisioner that waits.
fn check_bounds(made: &Made) {
    assert!(
        made.guest
            .plan
            .resources
            .iter()
            .all(|it| it.timeout_seconds > 0)
    );
    let restarts = made.hcl.matches("provisioner \"windows-restart\"").count();
    assert_eq!(made.hcl.matches("restart_timeout").count(), restarts);
    assert!(restarts >= 2, "{}", made.hcl);
}

fn check_sharing(made: &Made) {
    let values = made.text("imagegen.auto.pkrvars.json").expect("values");
    let values: Value = serde_json::from_str(values).expect("JSON");
    for name in [
        "ami_groups",
        "ami_users",
        "ami_regions",
        "snapshot_groups",
        "image_members",
    ] {
        assert!(values[name].is_null(), "{name} is set by default: {values}");
    }
    assert!(
        [Value::Null, "private".into()].contains(&values["image_visibility"]),
        "{values}"
    );
    assert!(
        !made.hcl.contains(r#"= "all""#) && !made.hcl.contains(r#"= "public""#),
        "{}",
        made.hcl
    );
}

fn check_scripts(made: &Made) {
    let commands = [
        "Invoke-WebRequest",
        "Invoke-RestMethod",
        "WebClient",
        "Start-BitsTransfer",
        "curl",
        "wget",
        "iwr ",
    ];
    let is_prose = |name: &str| [".json", ".md"].iter().any(|ending| name.ends_with(ending));
    for (name, text) in made.texts.iter().filter(|(name, _)| !is_prose(name)) {
        assert!(
            commands.iter().all(|command| !text.contains(command)),
            "{name} downloads by itself"
        );
    }
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
        let selections: Vec<&String> = target
            .record
            .find_checks(CheckStage::Validated)
            .flat_map(|check| &check.selections)
            .collect();
        if selections.is_empty() {
            let by_name = target.record.find_checks(CheckStage::CheckedByName).next();
            let executed = target.record.find_checks(CheckStage::Executed).next();
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
        let checks = target.record.find_checks(CheckStage::Validated);
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
