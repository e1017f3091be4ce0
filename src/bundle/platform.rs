//! The platform that the configuration of a single image states: without a list, nothing else says it
//! (<https://github.com/opencontainers/image-spec/blob/main/config.md>).

use super::images::ImagePlatform;
use crate::base::code::Code;
use crate::base::json::parse_foreign;
use crate::verify::ProofError;

/// Windows Server 2022. From it on, a host also runs images of builds between this one and its own; before, of its own
/// build alone (`compatLTSCReleases` of containerd/platforms@v1.0.0-rc.4 platform_windows_compat.go).
const COMPATIBLE_FROM: u32 = 20348;

/// The version of Windows that a configuration states; none where it states none.
///
/// # Errors
/// The image is not for windows/amd64.
pub fn check_platform(name: &str, config: &[u8]) -> Result<Option<String>, ProofError> {
    let Ok(stated) = parse_foreign::<ImagePlatform>(config) else {
        return Ok(None);
    };
    let is_windows = matches!(stated.os.as_str(), "" | "windows");
    let is_amd64 = matches!(stated.architecture.as_str(), "" | "amd64");
    if is_windows && is_amd64 {
        return Ok(stated.os_version);
    }
    let (os, architecture) = (&stated.os, &stated.architecture);
    let message = format!("{name} is an image for {os}/{architecture}, not for windows/amd64");
    Err(ProofError::new(Code::IMAGE_PLATFORM, message))
}

/// Checks that a build of Windows runs images of a version.
///
/// # Errors
/// It runs none of them.
pub fn check_build(name: &str, version: &str, build: u32) -> Result<(), ProofError> {
    let stated = version.split('.').nth(2).and_then(|part| part.parse().ok());
    let is_other =
        stated.is_some_and(|image| image != build && !(COMPATIBLE_FROM..build).contains(&image));
    if !is_other {
        return Ok(());
    }
    let message = format!("{name} is an image for Windows {version}, not for build {build}");
    Err(ProofError::new(Code::IMAGE_PLATFORM, message))
}
