//! What comes out of a verb, without what says only that an option was given.

use std::fmt::Write as _;

use serde_json::Value;

use crate::support::verbs::remove_options;
use crate::support::{Ran, Test, files};

/// A verb whose options are tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    Build,
    ClusterManifests,
    JoinData,
}

impl Verb {
    pub const ALL: [Self; 3] = [Self::Build, Self::ClusterManifests, Self::JoinData];

    pub fn name(self) -> &'static str {
        match self {
            Self::Build => "build",
            Self::ClusterManifests => "cluster-manifests",
            Self::JoinData => "join-data",
        }
    }

    /// What the verb needs besides the situation.
    fn words(self) -> &'static str {
        match self {
            Self::Build => "--target azure --no-bake --out out",
            Self::ClusterManifests => "--endpoint api.example.com:6443",
            Self::JoinData => {
                "--endpoint api.example.com:6443 --ca-cert-hash HASH --token-env JOIN_TOKEN"
            }
        }
    }
}

/// What the verb writes; none where it refuses the line.
pub fn collect_effects(verb: Verb, row: &str, words: &str) -> Option<String> {
    let given: Vec<&str> = words
        .split_whitespace()
        .filter(|word| word.starts_with("--"))
        .collect();
    let mut line = remove_options(&format!("{} {row}", verb.words()), &given);
    line = line.replace("HASH", &format!("sha256:{}", "ab".repeat(32)));
    let test = Test::new()
        .file("overrides.json", &format!("{{\"kubelet\": {{\"url\": \"https://own.example/kubelet.exe\", \"sha256\": \"{}\"}}}}", "ab".repeat(32)))
        .file("join.json", "{\"labels\": {\"a\": \"b\"}}")
        .env("JOIN_TOKEN", "abcdef.0123456789abcdef")
        .line(verb.name())
        .line(&line)
        .line(words);
    let ran = test.run();
    if ran.code != Some(0) {
        assert!(
            matches!(ran.code, Some(2 | 3 | 5)),
            "{line} {words}: {}",
            ran.stderr
        );
        return None;
    }
    Some(match verb {
        Verb::Build => read_workspace(&test),
        Verb::ClusterManifests => remove_comments(&ran.stdout),
        Verb::JoinData => read_join_data(&ran),
    })
}

fn read_join_data(ran: &Ran) -> String {
    remove_comments(&ran.stdout)
}

fn remove_comments(text: &str) -> String {
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// Resources of the guest plan, Packer's files, and the variables that these read.
fn read_workspace(test: &Test) -> String {
    let plan: Value = serde_json::from_slice(&test.read("out/guest-plan.json")).expect("JSON");
    let mut effects = format!("{:#}\n", plan["resources"]);
    for (name, content) in files(&test.folder.join("out")) {
        if name.ends_with(".pkr.hcl") {
            effects += &remove_comments(std::str::from_utf8(&content).expect("UTF-8"));
        }
    }
    let values: Value =
        serde_json::from_slice(&test.read("out/imagegen.auto.pkrvars.json")).expect("JSON");
    for (name, value) in values.as_object().expect("variables") {
        let is_read = effects.contains(&format!("var.{name}"));
        let text = value.to_string();
        let is_name = text.contains("-k8s-") || name == "payload_sha256" || name == "image_tags";
        if is_read && !is_name {
            writeln!(effects, "{name} = {text}").expect("a text");
        }
    }
    effects
}
