//! What is on a Windows Server before the plan begins: the few directories, files and services
//! that plans name. One table each, with the origin of the thing.

use crate::model::paths;
use crate::model::target::Platform;

/// Where an inbox thing comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum From {
    Windows,
    /// There after the feature was installed and the machine restarted.
    Feature(&'static str),
    /// On images of the target.
    Platform,
}

/// What access ordinary users have to a new thing in a directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Children {
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

const SERVICES: [(&str, From); 22] = [
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
];

/// What new things in this inbox directory get, by the directory's key.
pub(super) fn find_directory(key: &str, platform: &Platform) -> Option<Children> {
    let of_platform = platform.directories.iter().map(|directory| {
        let children = if directory.writable {
            Children::Open
        } else {
            Children::Guarded
        };
        (paths::normalize_key(&directory.path), children)
    });
    let of_windows = DIRECTORIES
        .iter()
        .find(|(path, _)| *path == key)
        .map(|(_, children)| *children);
    of_windows.or_else(|| {
        of_platform
            .into_iter()
            .find(|(path, _)| path == key)
            .map(|(_, children)| children)
    })
}

pub(super) fn is_file(key: &str) -> bool {
    FILES.contains(&key)
}

/// Where the service comes from, whether or not it is on this machine.
pub(super) fn find_service_origin(name: &str, platform: &Platform) -> Option<From> {
    if platform
        .services
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
    {
        return Some(From::Platform);
    }
    let name = name.to_lowercase();
    SERVICES
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, from)| *from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::target::PlatformDirectory;

    #[test]
    fn tables_are_keys() {
        for (path, _) in DIRECTORIES {
            assert_eq!(paths::normalize_key(path), path);
        }
        for path in FILES {
            assert_eq!(paths::normalize_key(path), path);
            let above = paths::parent_path(path).expect("a file lies somewhere");
            assert!(
                find_directory(&above, &Platform::default()).is_some(),
                "{above}"
            );
        }
        for (name, _) in SERVICES {
            assert_eq!(name.to_lowercase(), *name);
        }
    }

    #[test]
    fn the_platform_adds_its_own() {
        let platform = Platform {
            directories: vec![PlatformDirectory {
                path: r"C:\Agent".to_owned(),
                writable: true,
            }],
            services: vec!["CloudAgent".parse().expect("a name")],
            ..Platform::default()
        };
        for (platform, is_there) in [(&platform, true), (&Platform::default(), false)] {
            assert_eq!(
                find_service_origin("cloudagent", platform).is_some(),
                is_there
            );
            assert_eq!(find_directory(r"c:\agent", platform).is_some(), is_there);
        }
    }
}
