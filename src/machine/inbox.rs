//! What is on a Windows Server before the plan begins: the few directories, files and services
//! that plans name. One table each, with who brings the thing.

use crate::model::paths;

/// Who brings an inbox thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Windows,
    /// There after the feature was installed and the machine restarted.
    Feature(&'static str),
    /// On images of this target.
    Target(&'static str),
    /// Brought by the package whose `creates` has this part.
    Package(&'static str),
}

/// What access ordinary users have to a new thing in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Children {
    Guarded,
    Open,
}

const DIRECTORIES: [(&str, Children, From); 26] = [
    (r"c:\", Children::Open, From::Windows),
    (r"c:\windows", Children::Guarded, From::Windows),
    (r"c:\windows\system32", Children::Guarded, From::Windows),
    (r"c:\windows\system32\config", Children::Guarded, From::Windows),
    (r"c:\windows\system32\config\systemprofile", Children::Guarded, From::Windows),
    (r"c:\windows\system32\drivers", Children::Guarded, From::Windows),
    (r"c:\windows\system32\drivers\etc", Children::Guarded, From::Windows),
    (r"c:\windows\system32\sysprep", Children::Guarded, From::Windows),
    (r"c:\windows\system32\sysprep\panther", Children::Guarded, From::Windows),
    (r"c:\windows\system32\wbem", Children::Guarded, From::Windows),
    (r"c:\windows\system32\windowspowershell", Children::Guarded, From::Windows),
    (r"c:\windows\system32\windowspowershell\v1.0", Children::Guarded, From::Windows),
    (r"c:\windows\logs", Children::Guarded, From::Windows),
    (r"c:\windows\panther", Children::Guarded, From::Windows),
    (r"c:\windows\setup", Children::Guarded, From::Windows),
    (r"c:\windows\softwaredistribution", Children::Guarded, From::Windows),
    (r"c:\windows\softwaredistribution\download", Children::Guarded, From::Windows),
    (r"c:\windows\temp", Children::Open, From::Windows),
    (r"c:\program files", Children::Guarded, From::Windows),
    (r"c:\program files (x86)", Children::Guarded, From::Windows),
    (r"c:\programdata", Children::Open, From::Windows),
    (r"c:\programdata\microsoft", Children::Open, From::Windows),
    (r"c:\users", Children::Open, From::Windows),
    (r"c:\users\public", Children::Open, From::Windows),
    (r"c:\windowsazure", Children::Open, From::Target("azure")),
    (r"c:\packages", Children::Open, From::Target("azure")),
];

const FILES: [&str; 15] = [
    r"c:\windows\explorer.exe",
    r"c:\windows\system32\bcdedit.exe",
    r"c:\windows\system32\cmd.exe",
    r"c:\windows\system32\curl.exe",
    r"c:\windows\system32\dism.exe",
    r"c:\windows\system32\drivers\etc\hosts",
    r"c:\windows\system32\msiexec.exe",
    r"c:\windows\system32\netsh.exe",
    r"c:\windows\system32\powercfg.exe",
    r"c:\windows\system32\sc.exe",
    r"c:\windows\system32\svchost.exe",
    r"c:\windows\system32\sysprep\sysprep.exe",
    r"c:\windows\system32\tar.exe",
    r"c:\windows\system32\w32tm.exe",
    r"c:\windows\system32\windowspowershell\v1.0\powershell.exe",
];

const SERVICES: [(&str, From); 24] = [
    ("bfe", From::Windows),
    ("bits", From::Windows),
    ("cryptsvc", From::Windows),
    ("dhcp", From::Windows),
    ("dnscache", From::Windows),
    ("eventlog", From::Windows),
    ("lanmanserver", From::Windows),
    ("lanmanworkstation", From::Windows),
    ("mpssvc", From::Windows),
    ("msiscsi", From::Windows),
    ("netprofm", From::Windows),
    ("nlasvc", From::Windows),
    ("rpcss", From::Windows),
    ("schedule", From::Windows),
    ("termservice", From::Windows),
    ("w32time", From::Windows),
    ("windefend", From::Windows),
    ("winmgmt", From::Windows),
    ("winrm", From::Windows),
    ("wuauserv", From::Windows),
    ("hns", From::Feature("Containers")),
    ("vmcompute", From::Feature("Containers")),
    ("rdagent", From::Target("azure")),
    ("windowsazureguestagent", From::Target("azure")),
];

/// Services that packages bring along.
const PACKAGE_SERVICES: [(&str, From); 1] = [("cloudbase-init", From::Package(r"\cloudbase-init\"))];

/// Programs that do nothing before a feature is there.
const NEEDS: [(&str, &str); 4] = [
    ("containerd", "Containers"),
    ("ctr", "Containers"),
    ("docker", "Containers"),
    ("dockerd", "Containers"),
];

/// Programs that only start another, named by their first argument that is no flag.
const LAUNCHERS: [&str; 1] = ["kube-log-runner"];

/// What new things in this inbox directory get, by the directory's key.
pub(super) fn directory(key: &str, target: &str) -> Option<Children> {
    DIRECTORIES
        .iter()
        .find(|(path, _, from)| *path == key && on_target(*from, target))
        .map(|(_, children, _)| *children)
}

pub(super) fn is_file(key: &str) -> bool {
    FILES.contains(&key)
}

/// Who brings the service, whether or not it is there on this machine.
pub(super) fn service(name: &str, target: &str) -> Option<From> {
    let name = name.to_lowercase();
    SERVICES
        .iter()
        .chain(&PACKAGE_SERVICES)
        .find(|(known, from)| *known == name && on_target(*from, target))
        .map(|(_, from)| *from)
}

fn on_target(from: From, target: &str) -> bool {
    !matches!(from, From::Target(wanted) if wanted != target)
}

/// The feature that a program or service cannot do without.
pub(super) fn needed_feature(name: &str) -> Option<&'static str> {
    let stem = paths::stem(name);
    NEEDS.iter().find(|(known, _)| *known == stem).map(|(_, feature)| *feature)
}

pub(super) fn is_launcher(program: &str) -> bool {
    LAUNCHERS.contains(&paths::stem(program).as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_keys() {
        for (path, _, _) in DIRECTORIES {
            assert_eq!(paths::key(path), path);
        }
        for path in FILES {
            assert_eq!(paths::key(path), path);
            let above = paths::parent(path).expect("a file lies somewhere");
            assert!(directory(&above, "azure").is_some(), "{above}");
        }
        for (name, _) in SERVICES.iter().chain(&PACKAGE_SERVICES) {
            assert_eq!(name.to_lowercase(), *name);
        }
    }

    #[test]
    fn a_target_brings_its_own() {
        assert!(service("RdAgent", "azure").is_some());
        assert!(service("RdAgent", "aws").is_none());
        assert!(directory(r"c:\windowsazure", "aws").is_none());
    }
}
