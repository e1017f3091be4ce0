//! Contents of a Windows Server before the plan begins: the few directories, files and services
//! that plans name. A table for each kind and access or origin.

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

/// Directories where ordinary users may make new things.
const OPEN: [&str; 6] = [
    r"c:\",
    r"c:\windows\temp",
    r"c:\programdata",
    r"c:\programdata\microsoft",
    r"c:\users",
    r"c:\users\public",
];

const GUARDED: [&str; 18] = [
    r"c:\windows",
    r"c:\windows\system32",
    r"c:\windows\system32\config",
    r"c:\windows\system32\config\systemprofile",
    r"c:\windows\system32\drivers",
    r"c:\windows\system32\drivers\etc",
    r"c:\windows\system32\sysprep",
    r"c:\windows\system32\sysprep\panther",
    r"c:\windows\system32\wbem",
    r"c:\windows\system32\windowspowershell",
    r"c:\windows\system32\windowspowershell\v1.0",
    r"c:\windows\logs",
    r"c:\windows\panther",
    r"c:\windows\setup",
    r"c:\windows\softwaredistribution",
    r"c:\windows\softwaredistribution\download",
    r"c:\program files",
    r"c:\program files (x86)",
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

const SERVICES: [&str; 20] = [
    "bfe",
    "bits",
    "cryptsvc",
    "dhcp",
    "dnscache",
    "eventlog",
    "lanmanserver",
    "lanmanworkstation",
    "mpssvc",
    "msiscsi",
    "netprofm",
    "nlasvc",
    "rpcss",
    "schedule",
    "termservice",
    "w32time",
    "windefend",
    "winmgmt",
    "winrm",
    "wuauserv",
];

/// Services of the feature `Containers`.
const CONTAINERS: [&str; 2] = ["hns", "vmcompute"];

/// Access of ordinary users to new things in an inbox directory, by the directory's key.
pub fn find_inbox_directory(key: &str) -> Option<Children> {
    if OPEN.contains(&key) {
        return Some(Children::Open);
    }
    GUARDED.contains(&key).then_some(Children::Guarded)
}

/// Whether Windows has the file, by its key.
pub fn is_inbox_file(key: &str) -> bool {
    FILES.contains(&key)
}

/// Origin of a service of Windows, whether or not it is on this machine.
pub fn find_inbox_service(name: &str) -> Option<InboxOrigin> {
    let lower = name.to_lowercase();
    let key = lower.as_str();
    if SERVICES.contains(&key) {
        return Some(InboxOrigin::Windows);
    }
    let origin = InboxOrigin::Feature("Containers");
    CONTAINERS.contains(&key).then_some(origin)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::windows::paths;

    #[test]
    fn tables_are_keys() {
        for path in OPEN.into_iter().chain(GUARDED) {
            assert_eq!(paths::normalize_key(path), path);
        }
        for path in FILES {
            assert_eq!(paths::normalize_key(path), path);
            let above = paths::parent_path(path).expect("a file lies somewhere");
            assert!(find_inbox_directory(&above).is_some(), "{above}");
        }
        for name in SERVICES.into_iter().chain(CONTAINERS) {
            assert_eq!(name.to_lowercase(), *name);
        }
    }
}
