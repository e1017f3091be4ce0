//! Checks of a made image, one for each defect.

use imagegen::model::target::Start;
use imagegen::windows::resource::{
    Ensure, Phase, RegistryData, RegistryValue, ResourceKind, WinrmListener,
};
use serde_json::Value;

use super::Made;
use crate::defects::{file, options};

pub(super) fn check_digests(made: &Made) {
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

pub(super) fn check_release_settings(made: &Made) {
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

pub(super) fn check_clock(made: &Made) {
    let text = file(&made.guest, r"\cloudbase-init.conf")
        .content()
        .expect("content")
        .to_owned();
    let expected = made.image().platform.cloudbase_init.rtc_utc.to_string();
    assert_eq!(options(&text)["real_time_clock_utc"], expected);
}

pub(super) fn check_options(made: &Made) {
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

pub(super) fn check_kubelet(made: &Made) {
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

pub(super) fn check_line(made: &Made) {
    let is_old = made.plan.kubernetes < "1.23.0".parse().expect("version");
    let has = made
        .machine
        .present_files()
        .any(|file| file.path.ends_with("kube-log-runner.exe"));
    assert!(!(is_old && has), "kube-log-runner");
}

pub(super) fn check_closed(made: &Made) {
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

pub(super) fn check_passwords(made: &Made) {
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
        check_remote_access(answers);
    }
}

/// The first network of a machine may be Public, or have no profile yet, while the commands of the first logon run.
/// WinRM refuses settings on such a network (PowerShell/PowerShell#13654), and nothing tries a command again.
fn check_remote_access(answers: &str) {
    for command in [
        "quickconfig",
        "NetConnectionProfile",
        "winrm.cmd set",
        "Set-Item",
    ] {
        assert!(
            !answers.contains(command),
            "{command} depends on the network"
        );
    }
    let place = |part: &str| answers.find(part).unwrap_or_else(|| panic!("no {part}"));
    let restart = place("net.exe start WinRM");
    assert!(
        place("/v allow_unencrypted /t REG_DWORD /d 1") < restart,
        "WinRM reads settings when it starts"
    );
    assert!(place("New-WSManInstance -ResourceURI winrm/config/Listener") > restart);
    let rule = &answers[place("advfirewall firewall add rule")..];
    let rule = rule.lines().next().unwrap_or_default();
    assert!(
        rule.contains("localport=5985") && !rule.contains("profile="),
        "{rule}"
    );
}

/// Drivers and commands of the answer file are on discs that the builder attaches.
pub(super) fn check_discs(made: &Made) {
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

pub(super) fn check_own_files(made: &Made) {
    assert!(
        made.texts
            .iter()
            .all(|(name, _)| !name.starts_with('/') && !name.contains("..")),
        "a file elsewhere"
    );
}

/// The address of a machine moves to an adapter of Hyper-V, which VMware Tools leave out unless told otherwise:
/// <https://github.com/openshift/windows-machine-config-operator/blob/master/docs/vsphere-golden-image.md>.
pub(super) fn check_reported_address(made: &Made) {
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

pub(super) fn check_default_secrets(made: &Made) {
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

pub(super) fn check_password_age(made: &Made) {
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

pub(super) fn check_updates(made: &Made) {
    let mut values = made.machine.present_resources::<RegistryValue>();
    let found = values
        .find(|it| it.it.value_name == "NoAutoUpdate")
        .expect("the setting");
    assert_eq!(found.settings.data, RegistryData::DWord(1));
}

pub(super) fn check_plugin_order(made: &Made) {
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
pub(super) fn check_timeouts(made: &Made) {
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
pub(super) fn check_bounds(made: &Made) {
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

pub(super) fn check_sharing(made: &Made) {
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

pub(super) fn check_scripts(made: &Made) {
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
