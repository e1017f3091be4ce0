//! A web server on loopback that holds what a plan downloads.

use std::fs;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use serde_json::{Map, Value, json};

use crate::support::archives;

const PORT: u16 = 8080;

pub struct Mirror {
    folder: PathBuf,
    server: Child,
}

impl Mirror {
    pub fn new(folder: &Path) -> Self {
        fs::create_dir_all(folder).unwrap();
        let server = Command::new("python3")
            .args(["-m", "http.server", "--bind", "127.0.0.1", "--directory"])
            .arg(folder)
            .arg(PORT.to_string())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while TcpStream::connect(("127.0.0.1", PORT)).is_err() {
            std::thread::yield_now();
        }
        Self {
            folder: folder.to_owned(),
            server,
        }
    }

    /// Puts a file of the same layout here and into a store for each artifact of the plan, and writes the overrides
    /// for them.
    pub fn fill(&self, plan: &Value, programs: &Path, real: bool, folder: &Path) {
        let mut given = Map::new();
        for resource in plan["resources"].as_array().unwrap() {
            let properties = &resource["properties"];
            let Some(url) = properties["url"].as_str() else {
                continue;
            };
            let component = component(url);
            if given.contains_key(component) {
                continue;
            }
            let name = url.rsplit('/').next().unwrap();
            let bytes = if let Some(members) = properties["members"].as_array() {
                let version = plan["kubernetes"].as_str().unwrap();
                let members: Vec<(&str, Vec<u8>)> = members
                    .iter()
                    .map(|member| member["member"].as_str().unwrap())
                    .map(|member| (member, read_program(programs, version, real, name, member)))
                    .collect();
                pack(&members, name)
            } else {
                format!("stands for {name}\n").into_bytes()
            };
            fs::write(self.folder.join(name), &bytes).unwrap();
            let digest = imagegen::base::digest::sha256_hex(&bytes);
            let object = folder.join(format!("store/objects/sha256/{}/{digest}", &digest[..2]));
            fs::create_dir_all(object.parent().unwrap()).unwrap();
            fs::hard_link(self.folder.join(name), object).unwrap();
            let url = format!("http://127.0.0.1:{PORT}/{name}");
            let sha512 = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, &bytes);
            let sha512 = imagegen::base::digest::encode_hex(sha512.as_ref());
            given.insert(
                component.to_owned(),
                json!({"url": url, "sha256": digest, "sha512": sha512}),
            );
        }
        fs::write(
            folder.join("overrides.json"),
            Value::Object(given).to_string(),
        )
        .unwrap();
    }
}

impl Drop for Mirror {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// The archive that the name says. Nothing is compressed: the programs are hundreds of megabytes.
fn pack(members: &[(&str, Vec<u8>)], name: &str) -> Vec<u8> {
    let members: Vec<(String, &[u8])> = members
        .iter()
        .map(|(member, bytes)| ((*member).to_owned(), bytes.as_slice()))
        .collect();
    if Path::new(name).extension().is_some_and(|end| end == "zip") {
        archives::zip(&members)
    } else {
        archives::tar_gz(&members)
    }
}

fn component(url: &str) -> &'static str {
    [
        ("/containerd-", "containerd"),
        ("/kubernetes-node-", "kubernetes-node"),
        ("/crictl-", "crictl"),
        ("/cni-plugins-", "cni-plugins"),
        ("/hns.psm1", "hns.psm1"),
        ("/CloudbaseInitSetup", "cloudbase-init"),
        ("/nssm-", "nssm"),
        ("/docker-", "docker"),
        ("/wins.exe", "wins"),
        ("/cni-plugin/", "flannel-cni-plugin"),
        ("/flanneld.exe", "flannel"),
    ]
    .into_iter()
    .find(|(part, _)| url.contains(part))
    .unwrap_or_else(|| panic!("nothing stands for {url}"))
    .1
}

/// The program that a member of an archive is; for those that no test starts, a text in its place.
fn read_program(
    programs: &Path,
    kubernetes: &str,
    real: bool,
    archive: &str,
    member: &str,
) -> Vec<u8> {
    let name = member.rsplit('/').next().unwrap();
    let built = match name {
        "containerd.exe" if !real => programs.join("cri.exe"),
        "containerd.exe" if kubernetes != "1.20.0" => containerd(archive),
        "containerd.exe" | "crictl.exe" | "nssm.exe" | "docker.exe" | "dockerd.exe"
        | "host-local.exe" | "win-overlay.exe" => programs.join(name),
        _ => programs.join(kubernetes).join("windows").join(name),
    };
    if built.exists() {
        return fs::read(&built).unwrap();
    }
    assert!(
        [
            "ctr.exe",
            "containerd-shim-runhcs-v1.exe",
            "kubectl.exe",
            "kube-proxy.exe",
            "win-bridge.exe",
            "flannel.exe",
        ]
        .contains(&name),
        "{} is not built",
        built.display()
    );
    b"never started here\n".to_vec()
}

/// The containerd of an archive's version, as `ci/programs/containerd/build` has it.
fn containerd(archive: &str) -> PathBuf {
    let version = archive.split('-').nth(1).unwrap();
    let programs = super::containerds().expect("seen outside");
    programs.join(version).join("containerd.exe")
}
