//! Real programs for Windows under the catalog's paths: what Microsoft signed, out of wheels, and what
//! nobody signed, out of a wheel and an npm package.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::path::Path;
use std::process::Command;

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::site::{Site, proven};
use crate::authenticode::wheels::{DEBUGPY, MSVC_RUNTIME, Wheel, cached, wheel};
use crate::support::archives::{tar_gz, zip};
use crate::support::program;

/// A build tool in C++.
const NINJA: Wheel = Wheel {
    package: "ninja",
    version: "1.13.0",
    digest: "fb8ee8719f8af47fed145cced4a85f0755dd55d45b2bddaf7431fa89803c5f3e",
};

/// A program in Go, as Kubernetes' own are, and as large as some of them: package, file, SHA-256.
const ESBUILD: (&str, &str, &str) = (
    "@esbuild/win32-x64@0.25.12",
    "esbuild-win32-x64-0.25.12.tgz",
    "c77076b48f96323cae6257bd515e5ea96ecf38ab8f7fa34364d4fc4ae5905b74",
);

const PUBLISHER: &str = "O=Microsoft Corporation,C=US";

struct Programs {
    signed: Vec<Vec<u8>>,
    unsigned: Vec<Vec<u8>>,
}

/// `None` where a registry cannot be reached, which was said.
fn programs() -> Option<Programs> {
    let mut unsigned: Vec<Vec<u8>> = wheel(&NINJA, &[".exe"])?
        .into_iter()
        .map(|(_, bytes)| bytes)
        .collect();
    unsigned.push(npm()?);
    let mut seen = BTreeSet::new();
    let mut signed = Vec::new();
    for one in [DEBUGPY, MSVC_RUNTIME] {
        for (name, bytes) in wheel(&one, &[".dll", ".exe", ".pyd"])? {
            // The wheel's own module is not signed, and two places hold the same files.
            if !name.starts_with("msvc_runtime.") && seen.insert(sha256_hex(&bytes)) {
                signed.push(bytes);
            }
        }
    }
    assert!(
        signed.len() >= 15 && unsigned.len() == 2,
        "{} {}",
        signed.len(),
        unsigned.len()
    );
    for bytes in signed.iter().chain(&unsigned) {
        assert!(bytes.starts_with(b"MZ") && bytes.len() > 10_000);
    }
    Some(Programs { signed, unsigned })
}

fn npm() -> Option<Vec<u8>> {
    let npm = program("npm")?;
    let (package, file, digest) = ESBUILD;
    let bytes = cached(file, digest, |folder: &Path| {
        let mut command = Command::new(npm);
        command
            .args([
                "pack",
                package,
                "--silent",
                "--fetch-retries=0",
                "--pack-destination",
            ])
            .arg(folder);
        command
    })?;
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(Cursor::new(bytes)));
    for entry in archive.entries().expect("entries") {
        let mut entry = entry.expect("entry");
        if entry.path().expect("path") == Path::new("package/esbuild.exe") {
            let mut bytes = Vec::new();
            std::io::Read::read_to_end(&mut entry, &mut bytes).expect("bytes");
            return Some(bytes);
        }
    }
    panic!("{package} holds no program")
}

impl Programs {
    /// A program of its own for each name; of those that nobody signed, now and then.
    fn pick(&self, name: &str) -> &[u8] {
        let number = usize::from_str_radix(&sha256_hex(name.as_bytes())[..8], 16).expect("digits");
        let pool = if number.is_multiple_of(5) {
            &self.unsigned
        } else {
            &self.signed
        };
        &pool[number / 5 % pool.len()]
    }

    /// What stands for an artifact: programs, archives of programs, texts for scripts and packages.
    fn of(&self, artifact: &Value, signed_alone: bool) -> Vec<u8> {
        let text = |name: &str| artifact[name].as_str().expect("text").to_owned();
        let members = artifact["members"].as_array().cloned().unwrap_or_default();
        let files: Vec<(String, &[u8])> = members
            .iter()
            .enumerate()
            .map(|(number, one)| {
                let name = one["member"].as_str().expect("member").to_owned();
                let bytes = if signed_alone {
                    &self.signed[number]
                } else {
                    self.pick(&name)
                };
                (name, bytes)
            })
            .collect();
        match text("kind").as_str() {
            "exe" => self.pick(&text("component")).to_vec(),
            "tar.gz" => tar_gz(&files),
            "zip" => zip(&files),
            _ => format!("stands for {}", text("component")).into_bytes(),
        }
    }
}

#[test]
fn real_programs_are_locked_fetched_and_built_with() {
    let Some(programs) = programs() else { return };
    for selection in [
        "--target azure --k8s 1.20.0 --host-access wins --cni flannel-overlay",
        "--target azure --k8s 1.36.4 --cni flannel-overlay",
        "--target host --k8s 1.36.4 --cni sdnoverlay",
    ] {
        let Some(mut site) = Site::new() else { return };
        let served = site.stock_with(selection, true, &|artifact| programs.of(artifact, false));
        site.succeeds(&format!("lock {selection} --prove"));
        let archives = served
            .iter()
            .filter(|artifact| artifact["members"].is_array())
            .count();
        assert!(archives >= 2, "{selection}: {archives}");
        for artifact in &served {
            let component = artifact["component"].as_str().expect("component");
            let locked = site.locked(component);
            let sums = artifact["checksums"].as_array().map_or(0, Vec::len);
            let evidence = locked["evidence"].as_array().expect("evidence");
            let stated = evidence
                .iter()
                .filter(|one| one["proof"] == "checksum-file")
                .count();
            let own = locked["url"].as_str().expect("url").contains("/own/");
            assert!(own || stated == sums, "{selection}: {locked:#}");
            assert!(
                evidence.iter().all(|one| one["verdict"] != "failed"),
                "{locked:#}"
            );
        }
        site.succeeds(&format!("fetch {selection} --locked"));
        site.succeeds(&format!("fetch {selection} --locked --offline"));
        site.succeeds(&format!("build {selection} --no-bake --locked --out o"));
    }
}

/// A provider who has the publishers' programs signed, under the publishers' own paths.
#[test]
fn real_signatures_are_demanded_of_programs_and_of_members() {
    let Some(programs) = programs() else { return };
    let Some(mut site) = Site::new() else { return };
    let selection = "--target host --k8s 1.36.4";
    let served = site.stock_with(selection, true, &|artifact| programs.of(artifact, true));
    let of = |name: &str| {
        served
            .iter()
            .find(|one| one["component"] == name)
            .expect("planned")
    };
    let serve = |site: &mut Site, name: &str, bytes: &[u8], more: Value| {
        site.publish(of(name), bytes, true);
        let mut over = json!({"sha256": sha256_hex(bytes), "publisher": PUBLISHER});
        over.as_object_mut()
            .expect("object")
            .extend(more.as_object().cloned().unwrap_or_default());
        site.overrides.insert(name.to_owned(), over);
    };
    let members = json!({"signedMembers": ["bin/*.exe"]});
    serve(&mut site, "kube-proxy", &programs.signed[0], json!({}));
    serve(
        &mut site,
        "containerd",
        &programs.of(of("containerd"), true),
        members.clone(),
    );
    site.succeeds(&format!("lock {selection}"));
    site.succeeds(&format!("lock {selection} --prove"));
    let locked = site.locked("kube-proxy");
    assert!(
        proven(&locked, "pin") && proven(&locked, "authenticode"),
        "{locked:#}"
    );
    let locked = site.locked("containerd");
    let evidence = locked["evidence"].as_array().expect("evidence");
    let signed: Vec<&str> = evidence
        .iter()
        .filter(|one| one["proof"] == "authenticode" && one["verdict"] == "verified")
        .filter_map(|one| one["subject"].as_str()?.split_once('!'))
        .map(|(_, member)| member)
        .collect();
    assert_eq!(
        signed,
        [
            "bin/containerd.exe",
            "bin/ctr.exe",
            "bin/containerd-shim-runhcs-v1.exe"
        ]
    );

    // One member that nobody signed, one byte, another publisher.
    let archive: Vec<(String, &[u8])> = signed
        .iter()
        .zip(&programs.signed)
        .map(|(name, bytes)| ((*name).to_owned(), bytes.as_slice()))
        .collect();
    let mut mixed = archive.clone();
    mixed[1].1 = &programs.unsigned[1];
    serve(&mut site, "containerd", &tar_gz(&mixed), members.clone());
    site.fails(
        &format!("lock {selection} --prove"),
        5,
        &["!bin/ctr.exe", "[unsigned]"],
    );
    let mut flipped = programs.signed[2].clone();
    flipped[0x800] ^= 1;
    mixed[1].1 = archive[1].1;
    mixed[2].1 = &flipped;
    serve(&mut site, "containerd", &tar_gz(&mixed), members.clone());
    site.fails(
        &format!("lock {selection} --prove"),
        5,
        &["!bin/containerd-shim-runhcs-v1.exe", "[file-digest]"],
    );
    serve(&mut site, "containerd", &tar_gz(&archive), members);
    serve(
        &mut site,
        "kube-proxy",
        &programs.signed[0],
        json!({"publisher": "O=Microsoft"}),
    );
    site.fails(
        &format!("lock {selection} --prove"),
        5,
        &["kube-proxy 1.36.4", "[publisher]"],
    );
}
