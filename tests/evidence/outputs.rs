//! Every JSON that a verb prints or writes names its schema and follows it. A new verb without a row fails.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use clap::CommandFactory as _;
use imagegen::cli::Cli;
use serde_json::Value;

use crate::bake::{MANIFEST, REPORT, with_packer};
use crate::publish::Build;
use crate::support::{Test, files};

use super::check_document;

/// What a verb prints with `--format json`.
enum Printed {
    /// Objects of these schemas: one for each of the lines, which are run in their order.
    Own(&'static [(&'static str, &'static str)]),
    /// A document of another format: it has this member.
    Foreign(&'static str, &'static str),
    /// Another test holds it, or another verb prints by the same function.
    Elsewhere(&'static str),
}

use Printed::{Elsewhere, Foreign, Own};

const FETCHED: &str = "--target azure --k8s 1.20.0 --runtime containerd --host-access services --cni none --offline \
                       --store store --overrides overrides.json";

/// In the order of the runs: a line may need what lines before it wrote.
const OUTPUTS: &[(&str, Printed)] = &[
    (
        "build",
        Own(&[
            (
                "render",
                "--target azure --k8s 1.36.4 --no-bake --out preview",
            ),
            ("installer", "--target host --k8s 1.36.0 --out host"),
            (
                "images",
                "--config several.json --all --no-bake --out images",
            ),
        ]),
    ),
    (
        "render",
        Own(&[("render", "--target azure --k8s 1.36.4 --out rendered")]),
    ),
    (
        "plan",
        Own(&[
            ("plan", "--target azure --k8s 1.36.4"),
            ("machine", "--target azure --k8s 1.36.4 --state"),
            ("images", "--config several.json --all --jobs 1"),
            ("images", "--config several.json --all --jobs 2"),
            ("images", "--config several.json --all --state"),
        ]),
    ),
    (
        "lock",
        Own(&[
            ("lock", "--target host --k8s 1.36.0 --lock made.lock.json"),
            ("images", "--config several.json --all"),
        ]),
    ),
    (
        "outdated",
        Elsewhere("mirror::outdated, which has a publisher to ask"),
    ),
    ("fetch", Own(&[("fetch", FETCHED)])),
    (
        "bundle create",
        Own(&[(
            "bundle-output",
            "--lock o/imagegen.lock.json --out node.zip --offline --store store",
        )]),
    ),
    ("bundle verify", Own(&[("bundle-output", "node.zip")])),
    (
        "bundle extract",
        Own(&[("bundle-output", "node.zip --store other")]),
    ),
    (
        "verify",
        Own(&[
            ("verify", "several.json"),
            ("verify-lock", "made.lock.json --offline --store store"),
            ("verify-lock", "preview"),
            ("bundle", "node.zip"),
        ]),
    ),
    ("doctor", Own(&[("doctor", "--target host --k8s 1.36.4")])),
    (
        "explain",
        Own(&[
            ("explanation", "kubelet --target azure --k8s 1.36.4"),
            ("explanation", "runtime=containerd --k8s 1.36.4"),
        ]),
    ),
    (
        "diff",
        Own(&[("diff", "preview/imagegen.lock.json o/imagegen.lock.json")]),
    ),
    ("sbom", Foreign("bomFormat", "o/image.json")),
    ("attest", Own(&[("attest", "o")])),
    (
        "report",
        Own(&[("report", "o"), ("report", "--all --from o")]),
    ),
    ("history", Own(&[("history", "--from o")])),
    ("history show", Own(&[("image", "--from o VERSION")])),
    (
        "history prune",
        Own(&[("history-prune", "--from o --keep 1 --dry-run")]),
    ),
    (
        "test-clone",
        Own(&[("clone-test", "published.json --var flavor=m1.large")]),
    ),
    ("promote", Own(&[("publish", "published.json")])),
    ("retire", Own(&[("publish", "published.json --delete")])),
    (
        "join-data",
        Own(&[(
            "join-data",
            "--k8s 1.36.0 --endpoint a.example:6443 --token-env TOKEN \
             --ca-cert-hash sha256:abababababababababababababababababababababababababababababababab",
        )]),
    ),
    (
        "cluster-manifests",
        Own(&[(
            "cluster-manifests",
            "--k8s 1.36.0 --endpoint a.example:6443 --cni flannel-overlay",
        )]),
    ),
    ("conformance", Own(&[("conformance", "--k8s 1.36.4")])),
    (
        "scripts export",
        Own(&[("written-folder", "--out scripts")]),
    ),
    ("store add", Own(&[("store", "several.json --store store")])),
    ("store verify", Own(&[("store", "--store store")])),
    ("store path", Own(&[("store", "--store store")])),
    ("store gc", Own(&[("store", "--store store --days 1")])),
    (
        "catalog export",
        Own(&[("written-folder", "--out catalog")]),
    ),
    ("catalog lint", Own(&[("findings", "")])),
    (
        "pin",
        Own(&[(
            "pins",
            "kube-log-runner 1.36.4 --manifests catalog --from several.json \
             --source https://dl.k8s.io/v1.36.4/bin/windows/amd64/kube-log-runner.exe.sha256",
        )]),
    ),
    ("list targets", Own(&[("list-targets", "")])),
    ("list kubernetes", Own(&[("list-kubernetes", "")])),
    ("list windows", Own(&[("list-windows", "")])),
    ("list networks", Own(&[("list-networks", "")])),
    ("list features", Own(&[("list-features", "")])),
    ("list variables", Own(&[("list-variables", "")])),
    ("list steps", Own(&[("list-steps", "")])),
    (
        "list images",
        Own(&[("list-images", "--config several.json")]),
    ),
    ("list rules", Own(&[("list-rules", "")])),
    (
        "list components",
        Own(&[("list-components", ""), ("pins", "containerd")]),
    ),
    ("schema", Own(&[("schemas", "")])),
    (
        "init",
        Own(&[("init", "--target host --k8s 1.36 --out new.json")]),
    ),
    ("completions", Own(&[("completions", "bash")])),
    ("man", Own(&[("written-folder", "--out man")])),
];

fn list_verbs(command: &clap::Command, path: &str, found: &mut BTreeSet<String>) {
    if !command.is_subcommand_required_set() {
        found.insert(path.to_owned());
    }
    for command in command.get_subcommands() {
        if command.get_name() == "help" {
            continue;
        }
        list_verbs(
            command,
            format!("{path} {}", command.get_name()).trim(),
            found,
        );
    }
}

#[test]
fn every_verb_has_a_row_for_its_output() {
    let mut verbs = BTreeSet::new();
    let mut command = Cli::command();
    command.build();
    list_verbs(&command, "", &mut verbs);
    let rows: BTreeSet<String> = OUTPUTS.iter().map(|(verb, _)| (*verb).to_owned()).collect();
    assert_eq!(rows.len(), OUTPUTS.len(), "a verb has two rows");
    assert_eq!(verbs, rows);
    for (verb, printed) in OUTPUTS {
        if let Elsewhere(place) = printed {
            assert!(place.len() > 20, "{verb}");
        }
    }
}

/// Documents to check: a name for messages and the text.
type Documents = Vec<(String, Value)>;

/// The object with its schema's name; results of several images are objects of their own.
fn add_document(name: &str, value: &Value, documents: &mut Documents) {
    for (image, inner) in value["images"].as_object().into_iter().flatten() {
        if value["schema"] == "imagegen.dev/images/v1" {
            add_document(&format!("{name}: {image}"), inner, documents);
        }
    }
    documents.push((name.to_owned(), value.clone()));
}

/// `plan` of `imagegen.dev/plan/v1`.
fn read_schema_name<'a>(name: &str, value: &'a Value) -> &'a str {
    let schema = value["schema"]
        .as_str()
        .unwrap_or_else(|| panic!("{name} has no schema: {value:#}"));
    let name = schema
        .strip_prefix("imagegen.dev/")
        .and_then(|rest| rest.split_once("/v"));
    name.unwrap_or_else(|| panic!("{schema}")).0
}

/// Runs every line; all that fail are told at once.
fn run_verbs(test: &Test, documents: &mut Documents) {
    let image: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    let version = image["imageVersion"].as_str().expect("version");
    let mut failures = Vec::new();
    let mut print = |line: &str| -> Value {
        let line = line.replace("VERSION", version);
        let ran = test.bare().run(&format!("{line} --format json"));
        serde_json::from_str(&ran.stdout).unwrap_or_else(|error| {
            failures.push(format!("{line}: {error}: {}\n{}", ran.stdout, ran.stderr));
            Value::Null
        })
    };
    for (verb, printed) in OUTPUTS {
        match printed {
            Own(lines) => {
                for (schema, line) in *lines {
                    let line = format!("{verb} {line}");
                    let value = print(&line);
                    if value.is_null() {
                        continue;
                    }
                    assert_eq!(read_schema_name(&line, &value), *schema, "{line}");
                    add_document(&line, &value, documents);
                }
            }
            Foreign(member, line) => {
                let value = print(&format!("{verb} {line}"));
                assert!(
                    value.is_null() || value[member].is_string(),
                    "{verb}: {value:#}"
                );
            }
            Elsewhere(_) => {}
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}

/// Documents of other formats name these, or have these names.
const FOREIGN_MEMBERS: &[&str] = &[
    "$schema",
    "_type",
    "mediaType",
    "bomFormat",
    "spdxVersion",
    "packerVersion",
];
const FOREIGN_FILES: &[&str] = &[
    "packer-manifest.json",
    ".auto.pkrvars.json",
    // The format of a predicate is named by the statement beside it.
    ".predicate.json",
];

/// The JSON files below a folder that a verb wrote.
fn add_files(test: &Test, folder: &str, documents: &mut Documents) -> usize {
    let mut count = 0;
    for (path, bytes) in files(&test.folder.join(folder)) {
        let is_json = Path::new(&path)
            .extension()
            .is_some_and(|extension| extension == "json");
        if !is_json || FOREIGN_FILES.iter().any(|name| path.ends_with(name)) {
            continue;
        }
        let value: Value = serde_json::from_slice(&bytes).expect("JSON");
        if FOREIGN_MEMBERS
            .iter()
            .any(|member| value.get(member).is_some())
        {
            continue;
        }
        add_document(&format!("{folder}/{path}"), &value, documents);
        count += 1;
    }
    count
}

/// The lines of stderr, each with a schema of its own.
fn add_lines(name: &str, stderr: &str, documents: &mut Documents) {
    for line in stderr.lines() {
        let value = serde_json::from_str(line).unwrap_or_else(|_| panic!("{name}: {line}"));
        add_document(name, &value, documents);
    }
}

#[test]
fn every_output_follows_its_schema() {
    let several = r#"{"target": "host", "hostAccess": "services", "images": {
        "new": {"kubernetes": "1.36.0"}, "schema": {"kubernetes": "1.20.0"}}}"#;
    let published = Build::default();
    let test = with_packer(&format!(
        "echo '==> x: started'; [ \"$1\" = build ] || exit 0\n{MANIFEST}\n{REPORT}"
    ))
    .file("several.json", several)
    .file("bad.json", "{ \"target\": 7 }")
    .file("published.json", &published.record().to_string())
    .env("TOKEN", "abcdef.0123456789abcdef");
    let mut documents = Documents::new();
    let built = test.run_with("--format json");
    let image = serde_json::from_str(&built.stdout).expect("JSON");
    assert_eq!(read_schema_name("build", &image), "image");
    add_document("build", &image, &mut documents);
    add_lines("build", &built.stderr, &mut documents);
    run_verbs(&test, &mut documents);
    let version = test.bare().prints("--version --format json");
    let version: Value = serde_json::from_str(&version).expect("JSON");
    assert_eq!(read_schema_name("--version", &version), "version");
    assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
    assert!(version["system"].is_string(), "{version:#}");
    add_document("--version", &version, &mut documents);
    let failed = test.bare().run("plan --config bad.json --format json");
    add_lines("plan --config bad.json", &failed.stderr, &mut documents);
    for (folder, least) in [("o", 8), ("preview", 2), ("host", 1), ("scripts", 1)] {
        let count = add_files(&test, folder, &mut documents);
        assert!(count >= least, "{folder}: {count}");
    }

    check_documents(&test, &documents);
}

/// Holds documents against the schemas that they name.
pub fn check_documents(test: &Test, documents: &[(String, Value)]) {
    let mut named: BTreeMap<String, Vec<Value>> = BTreeMap::new();
    for (name, value) in documents {
        let schema = read_schema_name(name, value).to_owned();
        let entry = serde_json::json!({"name": name, "document": value});
        named.entry(schema).or_default().push(entry);
    }
    let mut checks = Vec::new();
    for (name, documents) in named {
        let schema: Value =
            serde_json::from_str(&test.bare().prints(&format!("schema {name}"))).expect("JSON");
        assert!(
            schema["properties"]["schema"]["pattern"].is_string(),
            "{name}: the schema does not name itself"
        );
        checks.push(serde_json::json!({"schema": schema, "documents": documents}));
    }
    let text = Value::from(checks).to_string();
    fs::write(test.folder.join("checks.json"), text).expect("file");
    check_document(test, &["outputs", "checks.json"]);
}
