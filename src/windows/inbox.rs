//! Contents of a Windows Server before the plan begins: the few directories, files and services
//! that plans name. One table each, with the origin of the thing.

/// Where a service of Windows comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InboxOrigin {
    Windows,
    /// There after the feature was installed and the machine restarted.
    Feature(&'static str),
}

/// Access of ordinary users to a new thing in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Children {
    Guarded,
    Open,
}

const DIRECTORIES: [(&str, Children); 24] = [
    (r"c:\", Children::Open),
    (r"c:\windows", Children::Guarded),
    (r"c:\windows\system32", Children::Guarded),
    (r"c:\windows\system32\config", Children::Guarded),
    (
        r"c:\windows\system32\config\systemprofile",
        Children::Guarded,
    ),
    (r"c:\windows\system32\drivers", Children::Guarded),
    (r"c:\windows\system32\drivers\etc", Children::Guarded),
    (r"c:\windows\system32\sysprep", Children::Guarded),
    (r"c:\windows\system32\sysprep\panther", Children::Guarded),
    (r"c:\windows\system32\wbem", Children::Guarded),
    (r"c:\windows\system32\windowspowershell", Children::Guarded),
    (
        r"c:\windows\system32\windowspowershell\v1.0",
        Children::Guarded,
    ),
    (r"c:\windows\logs", Children::Guarded),
    (r"c:\windows\panther", Children::Guarded),
    (r"c:\windows\setup", Children::Guarded),
    (r"c:\windows\softwaredistribution", Children::Guarded),
    (
        r"c:\windows\softwaredistribution\download",
        Children::Guarded,
    ),
    (r"c:\windows\temp", Children::Open),
    (r"c:\program files", Children::Guarded),
    (r"c:\program files (x86)", Children::Guarded),
    (r"c:\programdata", Children::Open),
    (r"c:\programdata\microsoft", Children::Open),
    (r"c:\users", Children::Open),
    (r"c:\users\public", Children::Open),
];

/// Programs of https://learn.microsoft.com/windows-server/administration/windows-commands/windows-commands that
/// steps run, and what else is there.
const FILES: [&str; 29] = [
    r"c:\windows\explorer.exe",
    r"c:\windows\system32\auditpol.exe",
    r"c:\windows\system32\bcdedit.exe",
    r"c:\windows\system32\certutil.exe",
    r"c:\windows\system32\cmd.exe",
    r"c:\windows\system32\curl.exe",
    r"c:\windows\system32\dism.exe",
    r"c:\windows\system32\drivers\etc\hosts",
    r"c:\windows\system32\fsutil.exe",
    r"c:\windows\system32\gpresult.exe",
    r"c:\windows\system32\icacls.exe",
    r"c:\windows\system32\ipconfig.exe",
    r"c:\windows\system32\msiexec.exe",
    r"c:\windows\system32\net.exe",
    r"c:\windows\system32\netsh.exe",
    r"c:\windows\system32\powercfg.exe",
    r"c:\windows\system32\reg.exe",
    r"c:\windows\system32\sc.exe",
    r"c:\windows\system32\schtasks.exe",
    r"c:\windows\system32\secedit.exe",
    r"c:\windows\system32\svchost.exe",
    r"c:\windows\system32\sysprep\sysprep.exe",
    r"c:\windows\system32\systeminfo.exe",
    r"c:\windows\system32\tar.exe",
    r"c:\windows\system32\tzutil.exe",
    r"c:\windows\system32\w32tm.exe",
    r"c:\windows\system32\wevtutil.exe",
    r"c:\windows\system32\whoami.exe",
    r"c:\windows\system32\windowspowershell\v1.0\powershell.exe",
];

const SERVICES: [(&str, InboxOrigin); 22] = [
    ("bfe", InboxOrigin::Windows),
    ("bits", InboxOrigin::Windows),
    ("cryptsvc", InboxOrigin::Windows),
    ("dhcp", InboxOrigin::Windows),
    ("dnscache", InboxOrigin::Windows),
    ("eventlog", InboxOrigin::Windows),
    ("lanmanserver", InboxOrigin::Windows),
    ("lanmanworkstation", InboxOrigin::Windows),
    ("mpssvc", InboxOrigin::Windows),
    ("msiscsi", InboxOrigin::Windows),
    ("netprofm", InboxOrigin::Windows),
    ("nlasvc", InboxOrigin::Windows),
    ("rpcss", InboxOrigin::Windows),
    ("schedule", InboxOrigin::Windows),
    ("termservice", InboxOrigin::Windows),
    ("w32time", InboxOrigin::Windows),
    ("windefend", InboxOrigin::Windows),
    ("winmgmt", InboxOrigin::Windows),
    ("winrm", InboxOrigin::Windows),
    ("wuauserv", InboxOrigin::Windows),
    ("hns", InboxOrigin::Feature("Containers")),
    ("vmcompute", InboxOrigin::Feature("Containers")),
];

/// Access of ordinary users to new things in an inbox directory, by the directory's key.
pub fn find_inbox_directory(key: &str) -> Option<Children> {
    let found = DIRECTORIES.iter().find(|(path, _)| *path == key);
    found.map(|(_, children)| *children)
}

/// Whether Windows has the file, by its key.
pub fn is_inbox_file(key: &str) -> bool {
    FILES.contains(&key)
}

/// Origin of a service of Windows, whether or not it is on this machine.
pub fn find_inbox_service(name: &str) -> Option<InboxOrigin> {
    let name = name.to_lowercase();
    let found = SERVICES.iter().find(|(known, _)| *known == name);
    found.map(|(_, origin)| *origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::paths;

    #[test]
    fn tables_are_keys() {
        for (path, _) in DIRECTORIES {
            assert_eq!(paths::normalize_key(path), path);
        }
        for path in FILES {
            assert_eq!(paths::normalize_key(path), path);
            let above = paths::parent_path(path).expect("a file lies somewhere");
            assert!(find_inbox_directory(&above).is_some(), "{above}");
        }
        for (name, _) in SERVICES {
            assert_eq!(name.to_lowercase(), *name);
        }
    }
}
