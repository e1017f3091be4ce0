//! Laws of Windows in files of targets and steps that no simulation reads.

use crate::support::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
}

/// `schtasks` hands a task to Task Scheduler as UTF-16, which refuses another declared encoding:
/// <https://github.com/fatso83/vmware-auto-suspend/issues/8>.
fn find_encoding(text: &str) -> Option<&str> {
    let declaration = text.lines().next().filter(|line| line.starts_with("<?xml"));
    declaration.filter(|line| line.contains("encoding") || !text.is_ascii())
}

#[test]
fn tasks_declare_no_encoding() {
    let mut seen = 0;
    for entry in walkdir::WalkDir::new(root().join("packer/targets")) {
        let path = entry.expect("a folder").into_path();
        if path.extension().is_none_or(|suffix| suffix != "xml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("XML");
        assert_eq!(find_encoding(&text), None, "{}", path.display());
        seen += 1;
    }
    assert!(seen > 0);
    let old = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Task>\n";
    assert!(find_encoding(old).is_some());
}

/// What runs as SYSTEM lies where users cannot write before anything starts it, and the folder does not stay.
#[test]
fn the_folder_of_the_disc_is_closed_before_its_task_is_made() {
    let script = read("packer/targets/media/SetupComplete.cmd");
    let at = |part: &str| script.find(part).unwrap_or_else(|| panic!("no {part}"));
    let rights = "/inheritance:r /grant:r *S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F";
    assert!(at("icacls.exe C:\\imagegen-disc") < at("schtasks.exe /create"));
    assert!(script.contains(rights));
    assert!(at("schtasks.exe /create") < at("eventcreate.exe"));
    assert!(at("goto failed") < at("certutil.exe -f -addstore"));
    assert!(at("certutil.exe -f -addstore") < at("schtasks.exe /create"));
    let target = read("packer/targets/media/target.json");
    assert!(target.contains(r#""sourceFolder": "C:\\imagegen-disc""#));
    let step = read("provisioners/steps/880-finish.json");
    assert!(step.contains(r#""each": "target.sourceFolders""#));
}

/// A restart within the delay of a registration loses the start for good, so Windows' own starts are one, too; and the
/// task has the name under which `Install.ps1` replaces and removes it:
/// <https://learn.microsoft.com/windows/win32/taskschd/registrationtrigger-delay>.
#[test]
fn the_task_of_the_disc_outlives_a_restart_and_ends_with_the_installation() {
    let task = read("packer/targets/media/install-task.xml");
    for part in [
        "<RegistrationTrigger>",
        "<BootTrigger>",
        "<MultipleInstancesPolicy>IgnoreNew<",
    ] {
        assert!(task.contains(part), "no {part}");
    }
    let delays = task.matches("<Delay>PT5M</Delay>").count();
    assert_eq!(delays, 2, "each start waits until Setup has ended");
    let script = read("packer/targets/media/SetupComplete.cmd");
    assert!(script.contains("/tn imagegen-install /xml"));
    let installer = read("provisioners/installer/Install.ps1");
    assert!(installer.contains("$script:Task = 'imagegen-install'"));
    let at = |part: &str| installer.find(part).unwrap_or_else(|| panic!("no {part}"));
    assert!(at("= Lock-Installation ") < at("{ Copy-Installer "));
}

/// `EC2Launch.exe` returns before its work has ended unless it is told to wait
/// (hashicorp/packer-plugin-amazon@5028903 docs/builders/ebs.mdx).
#[test]
fn agents_that_can_wait_are_told_to() {
    let text = read("packer/targets/aws/target.json");
    let target: serde_json::Value = serde_json::from_str(&text).expect("a target");
    let agents = &target["kind"]["image"]["seal"]["agent"]["agents"];
    let commands = agents[0]["commands"].as_array().expect("commands");
    let verbs: Vec<&str> = commands
        .iter()
        .filter_map(|command| command["arguments"][0].as_str())
        .collect();
    assert_eq!(verbs, ["reset", "sysprep"]);
    for command in commands {
        let program = command["program"].as_str().expect("a program");
        assert!(program.ends_with(r"\EC2Launch.exe"), "{program}");
        assert_eq!(command["arguments"][1], "--block", "{command}");
    }
}

/// Azure places the page file on its own disk, and set-up may choose the power plan again: neither keeps a clone
/// from its join.
#[test]
fn what_windows_changes_on_a_clone_is_no_drift() {
    let find = |file: &str, name: &str| -> serde_json::Value {
        let step: serde_json::Value = serde_json::from_str(&read(file)).expect("a step");
        let resources = step["resources"].as_array().expect("resources");
        let found = resources.iter().find(|it| it["name"] == name);
        found.unwrap_or_else(|| panic!("no {name}")).clone()
    };
    let baseline = "provisioners/steps/020-os-baseline.json";
    assert_eq!(find(baseline, "page-file")["scope"], "image");
    for name in ["power-plan", "no-automatic-updates", "dynamic-tcp-ports"] {
        assert_eq!(find(baseline, name)["firstboot"], true, "{name}");
    }
}
