//! Directories and services that a machine has before the plan begins: those of Windows and those of the platform.

use crate::model::platform::Platform;
use crate::windows::inbox::{Children, InboxOrigin, find_inbox_directory, find_inbox_service};
use crate::windows::paths;

/// Origin of a service that no resource of the plan makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ServiceOrigin {
    Windows(InboxOrigin),
    Platform,
}

/// Access of ordinary users to new things in a directory that is there before the plan, by the directory's key.
pub(super) fn find_directory(key: &str, platform: &Platform) -> Option<Children> {
    if let Some(children) = find_inbox_directory(key) {
        return Some(children);
    }
    let mut directories = platform.directories.iter();
    let found = directories.find(|directory| paths::normalize_key(&directory.path) == key)?;
    Some(if found.writable {
        Children::Open
    } else {
        Children::Guarded
    })
}

/// Origin of the service, whether or not it is on this machine.
pub(super) fn find_service_origin(name: &str, platform: &Platform) -> Option<ServiceOrigin> {
    let mut names = platform
        .services
        .iter()
        .flat_map(|service| [&service.name].into_iter().chain(&service.alternatives));
    if names.any(|known| known.eq_ignore_ascii_case(name)) {
        return Some(ServiceOrigin::Platform);
    }
    find_inbox_service(name).map(ServiceOrigin::Windows)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::platform::{PlatformDirectory, PlatformService};

    #[test]
    fn the_platform_adds_its_own() {
        let platform = Platform {
            directories: vec![PlatformDirectory {
                path: r"C:\Agent".to_owned(),
                writable: true,
            }],
            services: vec![PlatformService {
                name: "CloudAgent".parse().expect("a name"),
                alternatives: vec!["OldAgent".parse().expect("a name")],
                source: "derived: a test".to_owned(),
            }],
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
