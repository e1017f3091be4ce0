//! Laws of Windows that no simulation shows: in files that Windows itself reads, and in texts of scripts.

use std::path::Path;

use super::script::{root, scripts_below};

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

/// Text of a script and what is wrong with it on Windows PowerShell 5.1.
const REFUSED: [(&str, &str); 4] = [
    (
        "Add-WindowsCapability -Online",
        "a remote session may not: Invoke-AsSystem starts Dism.exe",
    ),
    (
        "ZipFile]::CreateFromDirectory(",
        "5.1 puts backslashes into the archive: name the members",
    ),
    (
        "[Console]::Out.Write",
        "a remote session does not carry it: use Write-Information",
    ),
    (
        "Stop-Service -Name",
        "asks in any state: Wait-ServiceState asks when the service takes it",
    ),
];

fn find_refused(name: &str, text: &str) -> Vec<String> {
    // The request itself, and a script's frame, which is a process of its own.
    let allowed = |part: &str| {
        (name.ends_with("/windows/services.ps1") && part.starts_with("Stop-Service"))
            || (name.ends_with("/Native.ps1") && part.starts_with("[Console]"))
    };
    let found = REFUSED
        .iter()
        .filter(|(part, _)| text.contains(part) && !allowed(part));
    found
        .map(|(part, why)| format!("{name}: `{part}`: {why}"))
        .collect()
}

#[test]
fn scripts_avoid_what_windows_does_otherwise() {
    let found: Vec<String> = scripts_below("provisioners")
        .iter()
        .flat_map(|script| find_refused(&script.name, &script.text))
        .collect();
    assert_eq!(found, Vec::<String>::new());
    for (part, _) in REFUSED {
        assert_eq!(find_refused("x/planted.ps1", part).len(), 1, "{part}");
    }
}

/// Commands whose failures are swallowed: none of them says by it that a thing is not there.
const SWALLOWED: [(&str, &str, &str); 4] = [
    (
        "",
        "Get-Command ",
        "it asks this session alone, and has no other failure than that there is no such command",
    ),
    (
        "/windows/files.ps1",
        "Get-Item ",
        "a link that cannot be asked is made anew, which says why it cannot be",
    ),
    (
        "/windows/diagnosis.ps1",
        "MaxEvents = ",
        "a diagnosis has what it gets",
    ),
    ("", "$ProgressPreference = ", "progress is no failure"),
];

/// Lines that take any failure of a command for the absence of what it asks for.
fn find_swallowed(name: &str, text: &str) -> Vec<String> {
    let is_known = |line: &str| {
        let mut rows = SWALLOWED.iter();
        rows.any(|(file, command, _)| name.ends_with(file) && line.contains(command))
    };
    let lines = text
        .lines()
        .filter(|line| line.contains("SilentlyContinue"));
    let found = lines.filter(|line| !is_known(line));
    found
        .map(|line| format!("{name}: {}: Get-Existing names the error", line.trim()))
        .collect()
}

#[test]
fn a_failure_is_not_taken_for_absence() {
    let found: Vec<String> = scripts_below("provisioners")
        .iter()
        .flat_map(|script| find_swallowed(&script.name, &script.text))
        .collect();
    assert_eq!(found, Vec::<String>::new());
    let planted = "$user = Get-LocalUser -Name $Name -ErrorAction SilentlyContinue";
    assert_eq!(find_swallowed("x/planted.ps1", planted).len(), 1);
    for (file, command, _) in SWALLOWED {
        let planted = format!("{command}'x' -ErrorAction SilentlyContinue");
        let name = format!("x{file}");
        assert_eq!(find_swallowed(&name, &planted), Vec::<String>::new());
    }
}

/// Loops that wait for a time of day. The clock of a clone is set while it starts, often by hours: the hardware's
/// clock has UTC where Windows expects local time (`real_time_clock_utc` of
/// <https://cloudbase-init.readthedocs.io/en/latest/config.html>).
fn find_awaited_times(name: &str, text: &str) -> Vec<String> {
    let waits = |line: &str| {
        let line = line.trim_start().trim_start_matches("} ");
        ["while (", "until (", "for ("]
            .iter()
            .any(|start| line.starts_with(start))
    };
    let tells = |line: &str| line.contains("[DateTime]") || line.contains("Get-Date");
    text.replace("\\n", "\n")
        .lines()
        .filter(|line| waits(line) && tells(line))
        .map(|line| {
            format!(
                "{name}: {}: a Stopwatch counts on when the clock is set",
                line.trim()
            )
        })
        .collect()
}

#[test]
fn nothing_waits_for_a_time_of_day() {
    let mut found = Vec::new();
    for folder in ["provisioners", "packer", "manifests/cluster"] {
        for entry in walkdir::WalkDir::new(root().join(folder)) {
            let path = entry.expect("a folder").into_path();
            let suffix = path.extension().and_then(|it| it.to_str());
            if ["ps1", "psm1", "json", "hcl", "yaml"].contains(&suffix.unwrap_or_default()) {
                let text = std::fs::read_to_string(&path).expect("text");
                found.extend(find_awaited_times(&path.display().to_string(), &text));
            }
        }
    }
    assert_eq!(found, Vec::<String>::new());
    let planted = "do {\n} while ([DateTime]::UtcNow -lt $end)";
    assert_eq!(find_awaited_times("x", planted).len(), 1);
    assert_eq!(
        find_awaited_times("x", &planted.replace('\n', "\\n")).len(),
        1
    );
}

/// Each script that has grown beyond this is split by subject.
#[test]
fn scripts_are_short() {
    for folder in ["provisioners", "packer/shared", "tests/guest"] {
        assert!(Path::new(&root().join(folder)).is_dir());
        for script in scripts_below(folder) {
            let lines = script.text.lines().count();
            // A test of a case has its name, its end and a blank line besides.
            let most = if script.is_case() { 400 } else { 250 };
            assert!(lines <= most, "{}: {lines} lines", script.name);
        }
    }
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

/// Windows refuses these in a session of the network, which Packer's is: a task of SYSTEM runs them.
const REFUSED_BY_NETWORK: [&str; 7] = [
    "Add-AppxPackage",
    "Add-AppxProvisionedPackage",
    "Add-WindowsCapability",
    "Microsoft.Update.Session",
    "Remove-AppxPackage",
    "Remove-WindowsCapability",
    "wusa.exe",
];

#[test]
fn a_session_of_the_network_leaves_to_system_what_it_may_not() {
    let mut seen = 0;
    for entry in std::fs::read_dir(root().join("provisioners/steps")).expect("steps") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|suffix| suffix != "json") {
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a step");
        let step: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        for resource in step["resources"].as_array().expect("resources") {
            let set = resource["properties"]["set"].as_str().unwrap_or_default();
            let asks = REFUSED_BY_NETWORK
                .iter()
                .any(|command| set.contains(command));
            assert!(!asks || set.contains("'S-1-5-18'"), "{}", resource["name"]);
            seen += usize::from(asks);
        }
    }
    assert!(seen > 0);
}
