//! Defects D8 and D9: passwords and ways in.

use imagegen::guest::Guest;
use imagegen::machine::Machine;
use imagegen::model::definition::ImageDefinition;
use imagegen::selection::read_trees;
use imagegen::windows::resource::{
    Ensure, EnsureUser, LocalUser, Phase, RegistryData, RegistryValue, WinrmListener, WinrmSetting,
};

use super::{azure, file, images, made, made_in};

fn check_closed((guest, machine): &(Guest, Machine), selection: &ImageDefinition) {
    assert!(
        machine
            .resources_of::<WinrmListener>()
            .all(|(it, _)| it.ensure == Ensure::Absent),
        "{selection:?}"
    );
    assert!(
        machine
            .resources_of::<LocalUser>()
            .all(|(it, _)| it.ensure != EnsureUser::Present),
        "{selection:?}"
    );
    for opening in [
        r"Service\Auth\Basic",
        r"Service\AllowUnencrypted",
        r"Service\Auth\CredSSP",
    ] {
        let setting = machine
            .resources_of::<WinrmSetting>()
            .find(|(it, _)| it.setting == opening);
        assert_eq!(
            setting.map(|(it, _)| it.value.as_str()),
            Some("false"),
            "{selection:?}: {opening}"
        );
    }
    let late = guest
        .plan
        .resources
        .iter()
        .filter(|resource| resource.phase == Phase::Firstboot);
    let late: Vec<&str> = late.map(|resource| resource.name.as_str()).collect();
    for closing in ["firstboot/build-user", "firstboot/winrm-listener"] {
        assert!(late.contains(&closing), "{selection:?}: {late:?}");
    }
    let content = |name: &str| file(guest, name).content().expect("content").to_owned();
    let mut setup = content(r"\SetupComplete.cmd");
    // Where the platform has a command of its own, ours follows it.
    if setup
        .trim_end()
        .ends_with(r"& call C:\Windows\OEM\SetupComplete2.cmd")
    {
        setup = content(r"\SetupComplete2.cmd");
    }
    assert!(setup.contains("localport=598"), "{selection:?}: {setup}");
}

/// D8 and D9 in the answer file: it turns no protection off for good, and has no password or key of its own.
#[test]
fn d8_d9_the_answer_file_has_nothing_of_its_own() {
    let packer = imagegen::embedded::Tree::embedded_packer();
    let answers = packer
        .get("shared/Autounattend.xml.pkrtpl")
        .expect("the answer file");
    let answers = String::from_utf8_lossy(answers).into_owned();
    for weakness in [
        "EnableLUA",
        "DisableAntiSpyware",
        "fDenyTSConnections",
        "EnableFirewall",
        "ExecutionPolicy",
    ] {
        assert!(!answers.contains(weakness), "{weakness}");
    }
    for (name, value) in [
        ("Password", "${password}"),
        ("AdministratorPassword", "${password}"),
        ("ProductKey", "${product_key}"),
    ] {
        for part in answers.split(&format!("<{name}>")).skip(1) {
            let part = part.split(&format!("</{name}>")).next().expect("its end");
            assert!(part.contains(value), "{name}: {part}");
        }
    }
    assert!(
        answers.contains("<LogonCount>1</LogonCount>"),
        "the automatic logon ends by itself"
    );
}

/// D8: at the end there is no way in that only the build needed.
#[test]
fn d8_no_remote_management_is_left() {
    let trees = read_trees(None).expect("the catalog");
    for selection in images("1.36.4") {
        check_closed(&made_in(&selection, &trees), &selection);
    }
    let (guest, machine) = made(&azure("1.36.4"));
    let profiles = machine
        .present_resources::<RegistryValue>()
        .filter(|it| it.it.value_name == "EnableFirewall");
    let on: Vec<_> = profiles.map(|it| &it.settings.data).collect();
    assert_eq!(
        on,
        [&RegistryData::DWord(1); 3],
        "the firewall is on in every profile"
    );
    // Closed where nothing listens to the build any more, before accounts and join of the clone.
    let setup = file(&guest, "SetupComplete.cmd")
        .content()
        .expect("content")
        .to_owned();
    let at = |part: &str| {
        setup
            .find(part)
            .unwrap_or_else(|| panic!("{part}: {setup}"))
    };
    assert!(at("localport=5986") < at("Initialize-Clone.ps1"));
    assert!(at("Initialize-Clone.ps1") < at("if not %errorlevel%==0 "));
    assert!(at("if not %errorlevel%==0 ") < at("sc.exe start cloudbase-init"));
    assert!(
        setup.ends_with("\r\n") && !setup.replace("\r\n", "").contains('\n'),
        "{setup}"
    );
    let oem = file(&guest, r"C:\Windows\OEM\SetupComplete2.cmd");
    assert_eq!(
        oem.content(),
        file(&guest, "SetupComplete.cmd").content(),
        "what a platform runs in its place does the same"
    );
    let late: Vec<&str> = guest
        .plan
        .resources
        .iter()
        .filter(|resource| resource.phase == Phase::Firstboot)
        .map(|resource| resource.name.as_str())
        .collect();
    let expected = [
        "firstboot/build-user",
        "firstboot/winrm-listener",
        "firstboot/token-filter",
        "firstboot/user-data-rights",
        "firstboot/platform-address imagegen-wireserver",
        "os-baseline/no-automatic-updates again",
        "os-baseline/updates-only-notify again",
        "os-baseline/time-trigger again",
        "os-baseline/power-plan again",
        "os-baseline/no-hibernation again",
        "os-baseline/dynamic-tcp-ports again",
        "os-baseline/dynamic-udp-ports again",
        "os-baseline/platform-port UDP 65330 again",
    ];
    assert_eq!(late, expected);
}

/// D9: no resource holds a password; accounts are made by the platform, at first boot.
#[test]
fn d9_no_password_is_in_a_plan() {
    let trees = read_trees(None).expect("the catalog");
    for kubernetes in ["1.20.0", "1.36.4"] {
        let plans = images(kubernetes)
            .into_iter()
            .map(|selection| made_in(&selection, &trees).0.plan);
        let text: String = plans
            .map(|plan| imagegen::guest::format_plan(&plan))
            .collect();
        let text = text.to_lowercase();
        let found = text
            .match_indices("password")
            .map(|(at, _)| text[at.saturating_sub(30)..at + 25].to_owned());
        for around in found {
            let harmless = [
                "inject_user_password",
                "user_password_length",
                "reset_service_password",
                "setuserpassword",
                "password-age",
                "maximumpasswordage",
                // Sealing removes it.
                "sign-in-password",
                "defaultpassword",
            ];
            assert!(
                harmless.iter().any(|name| around.contains(name)),
                "{around}"
            );
        }
    }
}
