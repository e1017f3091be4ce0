//! Options and parts of containerd's configuration that a user gives.

use imagegen::base::toml::{ClosedKey, TomlFragment, merge_fragments};
use imagegen::lock::Lock;
use imagegen::model::containerd::ContainerdOptions;
use imagegen::selection::read_trees;
use serde_json::Value;

use super::{MIRROR, VERSIONS, machine, missing, options, planned, planned_with, toml};
use crate::support::Test;

/// Each option of the definition reaches containerd under the name that its version has for it.
#[test]
fn every_minor_takes_the_options_of_a_definition() {
    let trees = read_trees(None).unwrap();
    let machine = machine();
    for (version, kubernetes) in VERSIONS {
        let planned = planned_with(&trees, version, kubernetes, false, MIRROR, Some(options()));
        let text = &planned.configuration;
        let wanted = [
            "level = 'debug'",
            "max_concurrent_downloads = 5",
            "discard_unpacked_layers = true",
            "address = '127.0.0.1:1338'",
        ];
        for line in wanted {
            assert_eq!(text.matches(line).count(), 1, "{version}: {line}: {text}");
        }
        let pulls_itself = text.contains("use_local_image_pull = true");
        let can_transfer = !["1.6.32", "1.7.27", "2.0.5"].contains(version);
        assert_eq!(pulls_itself, can_transfer, "{version}: {text}");
        if let Some(machine) = &machine {
            let problems = machine.problems(version, text.as_bytes(), "dump");
            assert_eq!(problems, "", "{version}");
        }
    }
}

/// Keys of a fragment that containerd reads under one name in every version, and one of the version's own.
fn fragment(configuration: &str) -> (i64, String) {
    let version = toml(configuration.as_bytes())["version"].as_i64().unwrap();
    let runtime = match version {
        2 => "io.containerd.grpc.v1.cri",
        _ => "io.containerd.cri.v1.runtime",
    };
    let text = format!(
        "version = {version}\n\n# Ours.\n[timeouts]\n'io.containerd.timeout.shim.load' = \"9s\"\n\n\
         [plugins.'{runtime}']\nignore_image_defined_volumes = true\n\n\
         [plugins.'{runtime}'.containerd.runtimes.mine]\nruntime_type = 'io.containerd.runhcs.v1'\n"
    );
    (version, text)
}

fn fragments(texts: &[&str]) -> ContainerdOptions {
    serde_json::from_value(serde_json::json!({ "fragments": texts })).unwrap()
}

/// The keys of a fragment stand beside those of the image, in each version of the configuration.
#[test]
fn every_minor_takes_the_fragment_of_its_version() {
    let trees = read_trees(None).unwrap();
    let machine = machine();
    for (version, kubernetes) in VERSIONS {
        let plain = planned(&trees, version, kubernetes, false, MIRROR).configuration;
        let (form, text) = fragment(&plain);
        let other = format!("version = {}\nroot = 'elsewhere'\n", form + 1);
        let options = Some(fragments(&[&text, &other]));
        let planned = planned_with(&trees, version, kubernetes, false, MIRROR, options);

        let merged = toml(planned.configuration.as_bytes());
        let mut problems = String::new();
        for part in [plain.as_bytes(), text.as_bytes()] {
            missing("", &toml(part), &merged, &mut problems);
        }
        assert_eq!(problems, "", "{version}: {}", planned.configuration);
        if let Some(machine) = &machine {
            let found = machine.problems(version, planned.configuration.as_bytes(), "dump");
            assert_eq!(found, "", "{version}");
        }
    }
}

/// Every value of the image's configuration with its path.
fn leaves(at: &[String], value: &Value, found: &mut Vec<(Vec<String>, Value)>) {
    match value {
        Value::Object(table) => {
            for (key, value) in table {
                leaves(&[at, std::slice::from_ref(key)].concat(), value, found);
            }
        }
        value => found.push((at.to_vec(), value.clone())),
    }
}

/// `version = 3` and another value at a path.
fn contradiction(version: &Value, path: &[String]) -> TomlFragment {
    let keys: Vec<String> = path.iter().map(|key| format!("'{key}'")).collect();
    let first = if path == ["version"] {
        ""
    } else {
        &*format!("version = {version}\n")
    };
    format!("{first}{} = 9999\n", keys.join("."))
        .parse()
        .unwrap()
}

/// No fragment changes what the image relies on: neither a value that the image sets, nor one of `closed.json`.
#[test]
fn no_fragment_contradicts_the_image() {
    let trees = read_trees(None).unwrap();
    let closed: Vec<ClosedKey> =
        serde_json::from_slice(trees.provisioners.get("closed.json").unwrap()).unwrap();
    let mut used = vec![false; closed.len()];
    for (version, kubernetes) in VERSIONS {
        let file = planned(&trees, version, kubernetes, true, MIRROR).configuration;
        let content = toml(file.as_bytes());
        let form = &content["version"];
        let mut facts = Vec::new();
        leaves(&[], &content, &mut facts);
        assert!(facts.len() > 12, "{version}: {facts:?}");
        for (path, own) in facts {
            let part = contradiction(form, &path);
            let error = merge_fragments(&file, &[part], &closed).expect_err(&path.join("."));
            assert_eq!((&*error.given, error.own), ("`9999`", format!("`{own}`")));
        }
        // A table of another version is no table of this one, and closed all the same.
        for (key, used) in closed.iter().zip(&mut used) {
            let name = |part: &String| part.replace('*', "io.containerd.grpc.v1.cri");
            let path: Vec<String> = key.key.iter().map(name).collect();
            let Some(first) = key.forbidden.first() else {
                let part = contradiction(form, &path);
                let error = merge_fragments(&file, &[part], &closed).expect_err(&path.join("."));
                *used |= error.remedy.as_ref() == Some(&key.remedy);
                continue;
            };
            let text = format!("version = {form}\n{} = ['x', '{first}']", path.join("."));
            let part: TomlFragment = text.parse().unwrap();
            let error = merge_fragments(&file, &[part], &closed).expect_err(&text);
            *used |= error.remedy.as_ref() == Some(&key.remedy);
        }
    }
    for (key, used) in closed.iter().zip(used) {
        assert!(used, "{:?}", key.key);
    }
}

/// A file beside the definition is part of the lockfile, and its contradictions name the key, both values and a remedy.
#[test]
fn a_fragment_beside_a_definition_is_part_of_the_image() {
    let definition = r#"{"target": "azure", "kubernetes": "1.36.4", "containerd": {"fragments": ["containerd.toml"]}}"#;
    let given = |text: &str| {
        let test = Test::new();
        test.file("imagegen.json", definition)
            .file("containerd.toml", text)
    };
    let good = given("version = 4\n[timeouts]\n'io.containerd.timeout.shim.load' = '9s'\n")
        .line("build --no-bake --out o");
    good.succeeds();
    for file in ["o/imagegen.lock.json", "o/guest-plan.json"] {
        let text = good.text(file);
        assert!(text.contains("io.containerd.timeout.shim.load"), "{file}");
    }
    let lock = Lock::decode("lock", &good.read("o/imagegen.lock.json"));
    lock.expect("a text of several lines");
    for (text, said) in [
        (
            "version = 4\nroot = 'D:\\x'\n",
            &[
                r#"sets `root` to `"D:\\x"`, but the file has `"C:\\"#,
                "remove `root`",
            ][..],
        ),
        (
            "version = 4\n[plugins.'io.containerd.cri.v1.images']\nsnapshotter = 'overlayfs'\n",
            &[
                "sets `plugins.'io.containerd.cri.v1.images'.snapshotter` to `\"overlayfs\"`, but the file has `\"windows\"`",
                "remove the key",
            ],
        ),
        (
            "version = 4\n[plugins.'io.containerd.cri.v1.images'.registry.headers]\nAuthorization = ['Basic c2VjcmV0']\n",
            &["credential providers"],
        ),
        (
            "version = 4\npassword = 'c2VjcmV0'\n",
            &["containerd.toml: the name of `password` says"],
        ),
        (
            "version = 3\n",
            &["has no fragment with `version = 4`, which containerd 2.3.4 reads"],
        ),
        ("[timeouts]\n", &["containerd.toml: it has no `version`"]),
        ("version = 4\nx = = 1\n", &["containerd.toml: line 2: "]),
    ] {
        let ran = given(text).line("build --no-bake --out o").fails(3, said);
        assert!(
            !ran.stderr.contains("c2VjcmV0") || said[0].contains("credential"),
            "{}",
            ran.stderr
        );
    }
    Test::new()
        .file("imagegen.json", definition)
        .line("build --no-bake --out o")
        .fails(3, &["there is no file `containerd.toml`"]);
}
