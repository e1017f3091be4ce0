//! Publishers' sites on one TLS server with a test authority, each below its host's name.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::process::Command;
use std::sync::{Arc, Mutex};

use imagegen::base::digest::{encode_hex, sha256_hex};
use serde_json::{Map, Value, json};

use crate::fetch::tls::{certificates, config};
use crate::support::archives::{pack_artifact, stand_in};
use crate::support::planned::{SINGLY, list_artifacts};
use crate::support::server::{Asked, Server, status, whole};
use crate::support::{Ran, Test, program};

pub struct Site {
    /// The folder of the certificates and of all runs.
    pub home: Test,
    server: Server,
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// Paths that need a login.
    closed: Arc<Mutex<BTreeSet<String>>>,
    pub overrides: Map<String, Value>,
    /// Artifacts of what was stocked last.
    planned: Vec<Value>,
    /// `component=proof` of signatures that components declare and the site does not serve.
    pub waivers: BTreeSet<String>,
}

impl Site {
    /// None where openssl is absent, which is said.
    pub fn new() -> Option<Self> {
        program("openssl")?;
        let home = Test::new();
        certificates(&home.folder);
        let files = Arc::new(Mutex::new(BTreeMap::<String, Vec<u8>>::new()));
        let closed = Arc::new(Mutex::new(BTreeSet::<String>::new()));
        let (answers, refused) = (Arc::clone(&files), Arc::clone(&closed));
        let server = Server::tls(config(&home.folder, "good"), move |asked| {
            if refused.lock().expect("paths").contains(&asked.path) {
                return status("403 Forbidden", &[]);
            }
            match answers.lock().expect("files").get(&asked.path) {
                Some(bytes) => whole(bytes, &[]),
                None => status("404 Not Found", &[]),
            }
        });
        Some(Self {
            home,
            server,
            files,
            closed,
            overrides: Map::new(),
            planned: Vec::new(),
            waivers: BTreeSet::new(),
        })
    }

    pub fn requests(&self) -> usize {
        self.server.asked().len()
    }

    /// Every request.
    pub fn list_asked(&self) -> Vec<Asked> {
        self.server.asked()
    }

    /// How often a publisher's URL was asked for.
    pub fn asked(&self, url: &str) -> usize {
        let path = url.strip_prefix("https:/").unwrap_or(url);
        self.server
            .asked()
            .iter()
            .filter(|asked| asked.path == path)
            .count()
    }

    pub fn url(&self, path: &str) -> String {
        self.server.url(path)
    }

    /// Serves this in the place of what the URL's publisher has.
    pub fn serve(&self, url: &str, bytes: &[u8]) {
        let path = url.strip_prefix("https:/").unwrap_or(url).to_owned();
        self.files
            .lock()
            .expect("files")
            .insert(path, bytes.to_vec());
    }

    /// What is served for a publisher's URL.
    pub fn served(&self, url: &str) -> Vec<u8> {
        let path = url.strip_prefix("https:/").unwrap_or(url);
        self.files.lock().expect("files")[path].clone()
    }

    pub fn remove(&self, url: &str) {
        let path = url.strip_prefix("https:/").unwrap_or(url);
        assert!(
            self.files.lock().expect("files").remove(path).is_some(),
            "{url} was served"
        );
    }

    /// Refuses whoever asks for it, or no more.
    pub fn close(&self, url: &str, closed: bool) {
        let path = url.strip_prefix("https:/").unwrap_or(url).to_owned();
        let mut paths = self.closed.lock().expect("paths");
        let _ = if closed {
            paths.insert(path)
        } else {
            paths.remove(&path)
        };
    }

    /// Puts a file beside the overrides.
    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.home.folder.join(name), bytes).expect("file");
    }

    /// Serves bytes of our own for all that a selection plans. What the catalog pins gets our digests by an override;
    /// for the rest its publisher's SHA-256 files are made. Of Kubernetes 1.36.4, the catalog pins all single programs
    /// but one: they are taken one by one.
    pub fn stock(&mut self, selection: &str) {
        self.stock_with(selection, false, &stand_in);
    }

    /// The same with bytes of the caller's, and with checksum files for all that have them, where
    /// `proofs` wants it. Gives the artifacts of the plan.
    pub fn stock_with(
        &mut self,
        selection: &str,
        proofs: bool,
        bytes: &dyn Fn(&Value) -> Vec<u8>,
    ) -> Vec<Value> {
        let singly = if selection.contains("--k8s 1.36.4") {
            SINGLY
        } else {
            ""
        };
        let artifacts = list_artifacts(&format!("plan {selection} {singly}")).to_vec();
        self.planned.clone_from(&artifacts);
        for artifact in &artifacts {
            self.publish(artifact, &bytes(artifact), proofs);
        }
        artifacts
    }

    /// A build of the provider's own: the text, or an archive with the members that are planned.
    pub fn own_build(&self, component: &str, text: &str) -> Vec<u8> {
        let artifact = self
            .planned
            .iter()
            .find(|artifact| artifact["component"] == component);
        pack_artifact(artifact.unwrap_or(&Value::Null), text)
    }

    /// Serves this for an artifact; where neither pin nor checksum file is known, the user states the digest.
    pub fn publish(&mut self, artifact: &Value, bytes: &[u8], proofs: bool) {
        let component = artifact["component"].as_str().expect("component");
        let url = artifact["url"].as_str().expect("url");
        self.serve(url, bytes);
        let has = |list: &str| {
            artifact[list]
                .as_array()
                .is_some_and(|list| !list.is_empty())
        };
        let pinned = has("digests") || !has("checksums");
        if pinned {
            let mut over = json!({"sha256": sha256_hex(bytes)});
            let digests = artifact["digests"].as_array().into_iter().flatten();
            if { digests }.any(|digest| digest["algorithm"] == "sha512") {
                // Another algorithm's digest adds to the catalog's.
                let sha512 = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, bytes);
                over["sha512"] = encode_hex(sha512.as_ref()).into();
            }
            if artifact["authenticode"].is_object() {
                // Only an address of one's own takes away what the publisher's bytes must carry.
                let own = format!("/own/{component}.msi");
                self.serve(&own, bytes);
                over["url"] = self.url(&own).into();
                self.waivers.insert(format!("{component}=authenticode"));
            }
            self.overrides.insert(component.to_owned(), over);
        }
        for signature in artifact["signatures"].as_array().into_iter().flatten() {
            let kind = signature["kind"]
                .as_str()
                .expect("kind")
                .trim_end_matches("-over-checksums");
            self.waivers
                .insert(format!("{component}={}", proof_name(kind)));
        }
        if pinned && !proofs {
            if has("checksums") {
                self.waivers.insert(format!("{component}=checksum-file"));
            }
            return;
        }
        let file = url.rsplit('/').next().expect("file");
        for checksum in artifact["checksums"].as_array().into_iter().flatten() {
            let digest = match checksum["algorithm"].as_str() {
                Some("sha512") if proofs => encode_hex(
                    aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA512, bytes).as_ref(),
                ),
                Some("sha512") => continue,
                _ => sha256_hex(bytes),
            };
            let text = if checksum["format"] == "bare" {
                digest
            } else {
                format!("{digest}  {file}\n")
            };
            self.serve(checksum["url"].as_str().expect("url"), text.as_bytes());
        }
    }

    /// A run against the site, in a folder that they share.
    pub fn run(&self, line: &str) -> Ran {
        Self::ran(&mut self.command(line))
    }

    pub fn command(&self, line: &str) -> Command {
        self.write(
            "overrides.json",
            Value::Object(self.overrides.clone()).to_string().as_bytes(),
        );
        let mut test = Test::new()
            .line(line)
            .line("--ca-file ca.pem --store store --overrides overrides.json");
        test = test.args(["--mirror", &self.url("/")]);
        if !line.contains("--policy") {
            for waiver in &self.waivers {
                test = test.args(["--waive", waiver]);
            }
        }
        let mut command = test.command();
        command.current_dir(&self.home.folder);
        command
    }

    /// The flags that accept what the site does not have.
    pub fn list_waivers(&self) -> String {
        self.waivers
            .iter()
            .map(|waiver| format!("--waive {waiver} "))
            .collect()
    }

    /// A run in the same folder that is told nothing of the site.
    #[track_caller]
    pub fn plain(&self, line: &str, code: i32) -> Ran {
        let ran = Self::ran(
            Test::new()
                .line(line)
                .command()
                .current_dir(&self.home.folder),
        );
        assert_eq!(
            ran.code,
            Some(code),
            "{line}\n{}\n{}",
            ran.stdout,
            ran.stderr
        );
        ran
    }

    fn ran(command: &mut Command) -> Ran {
        let output = command.output().expect("the program starts");
        Ran {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    #[track_caller]
    pub fn succeeds(&self, line: &str) -> Ran {
        let ran = self.run(line);
        assert_eq!(ran.code, Some(0), "{line}\n{}", ran.stderr);
        ran
    }

    #[track_caller]
    pub fn fails(&self, line: &str, code: i32, said: &[&str]) {
        let ran = self.run(line);
        assert_eq!(
            ran.code,
            Some(code),
            "{line}\n{}\n{}",
            ran.stdout,
            ran.stderr
        );
        for part in said {
            assert!(
                ran.stderr.contains(part),
                "{line}: no `{part}` in:\n{}",
                ran.stderr
            );
        }
    }

    /// What the lock says of a component.
    #[track_caller]
    pub fn locked(&self, component: &str) -> Value {
        let lock: Value =
            serde_json::from_str(&self.home.text("imagegen.lock.json")).expect("JSON");
        let artifacts = lock["artifacts"].as_array().expect("artifacts");
        artifacts
            .iter()
            .find(|artifact| artifact["component"] == component)
            .expect("locked")
            .clone()
    }

    /// Forgets the lock and what was downloaded.
    pub fn afresh(&self) {
        for name in ["store", "o"] {
            let path = self.home.folder.join(name);
            if path.exists() {
                fs::remove_dir_all(path).expect("removed");
            }
        }
        let lock = self.home.folder.join("imagegen.lock.json");
        if lock.exists() {
            fs::remove_file(lock).expect("removed");
        }
    }
}

fn proof_name(kind: &str) -> &str {
    if kind == "github-attestation" {
        "attestation"
    } else {
        kind
    }
}

/// Whether the evidence of a locked artifact has such a proof.
pub fn proven(artifact: &Value, proof: &str) -> bool {
    let evidence = artifact["evidence"].as_array().expect("evidence");
    evidence
        .iter()
        .any(|one| one["proof"] == proof && one["verdict"] == "verified")
}
