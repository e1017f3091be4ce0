//! Every verb of the command line, and how a policy holds for it. A new verb without a row fails.

use serde_json::json;

use crate::support::Test;
use crate::support::verbs::list_verbs;

/// How a policy holds for a verb.
enum Gate {
    /// It writes, fetches or plans what is installed: a policy that forbids a component refuses this line, and
    /// nothing is written.
    Refuses(&'static str),
    /// Nothing that it writes is installed, locked or run.
    Free(&'static str),
}

use Gate::{Free, Refuses};

const JOIN: &str = "--k8s 1.36.0 --endpoint a.example:6443 --token-env TOKEN --out made \
                    --ca-cert-hash sha256:abababababababababababababababababababababababababababababababab";

const VERBS: &[(&str, Gate)] = &[
    ("build", Refuses("--target host --k8s 1.36.0 --out made")),
    ("render", Refuses("--target host --k8s 1.36.0 --out made")),
    ("plan", Refuses("--target host --k8s 1.36.0")),
    ("lock", Refuses("--target host --k8s 1.36.0 --lock made")),
    (
        "outdated",
        Refuses("--target host --k8s 1.36.0 --offline --ignore-lock"),
    ),
    (
        "fetch",
        Refuses("--target host --k8s 1.36.0 --offline --store made --ignore-lock"),
    ),
    ("verify", Refuses("imagegen.lock.json")),
    ("doctor", Refuses("--target host --k8s 1.36.0 --offline")),
    ("explain", Refuses("containerd --k8s 1.36.0")),
    (
        "bundle create",
        Refuses("--out made --offline --store made"),
    ),
    ("bundle verify", Refuses("node.zip")),
    ("bundle extract", Refuses("node.zip --store made")),
    ("join-data", Refuses(JOIN)),
    (
        "cluster-manifests",
        Refuses("--k8s 1.36.0 --endpoint a.example:6443 --out made"),
    ),
    ("conformance", Refuses("--k8s 1.36.0")),
    (
        "scripts export",
        Free("the program's own scripts, which `build` compares"),
    ),
    (
        "store add",
        Free("a cache by digest: a file counts where a digest names it"),
    ),
    ("store verify", Free("it removes damaged files alone")),
    ("store gc", Free("it removes files alone")),
    ("store path", Free("it prints a path")),
    ("catalog lint", Free("it prints findings")),
    (
        "catalog export",
        Free("the program's own catalog; under a policy `--manifests` needs its digest"),
    ),
    (
        "pin",
        Free("it writes a catalog; under a policy `--manifests` needs its digest"),
    ),
    (
        "diff",
        Free("it prints what differs and writes nothing that is built"),
    ),
    (
        "sbom",
        Free("it writes a list of what a lockfile or image names; nothing is installed from it"),
    ),
    (
        "attest",
        Free("it states what a bake recorded; whoever verifies the statement judges it"),
    ),
    (
        "report",
        Free("it describes images that were baked or planned, and installs nothing"),
    ),
    ("history list", Free("it prints the records of builds")),
    ("history show", Free("it prints the record of a build")),
    (
        "history prune",
        Free("it removes records of builds, and no image"),
    ),
    (
        "test-clone",
        Free("it tests an image that was baked under the policy, and deletes the machine"),
    ),
    (
        "promote",
        Free("it marks images that were baked under the policy"),
    ),
    (
        "retire",
        Free("it takes images out of use and installs nothing"),
    ),
    ("schema", Free("it prints a schema")),
    (
        "init",
        Free("it writes an image definition, which is judged where it is used"),
    ),
    (
        "completions",
        Free("it prints a script for the user's own shell"),
    ),
    ("man", Free("it writes manual pages")),
];

#[test]
fn every_verb_has_a_row_and_takes_the_policy_that_it_needs() {
    let mut verbs = list_verbs();
    // What `list` prints is the catalog.
    verbs.retain(|verb, _| !verb.starts_with("list "));
    assert!(verbs.len() > 20, "{verbs:?}");
    for (verb, command) in verbs {
        let mut arguments = command.get_arguments();
        let takes_policy = arguments.any(|argument| argument.get_id() == "policy");
        let row = VERBS.iter().find(|(name, _)| *name == verb);
        let (_, gate) =
            row.unwrap_or_else(|| panic!("`{verb}` has no row: how does a policy hold for it?"));
        let free = matches!(gate, Free(_));
        assert_ne!(free, takes_policy, "`{verb}`");
        if let Free(reason) = gate {
            assert!(reason.len() > 10, "`{verb}` needs a reason");
        }
    }
}

#[test]
fn a_policy_refuses_whatever_the_verb_is() {
    let line = "--target host --k8s 1.36.0";
    let made = Test::new()
        .line("lock")
        .line(line)
        .stocked(&format!("plan {line}"));
    made.succeeds();
    let waived = "kubernetes-node=cosign-keyless,containerd=attestation";
    let bundle = Test::new()
        .env("IMAGEGEN_WAIVE", waived)
        .line("bundle create --out node.zip --offline --store store");
    for name in ["store", "imagegen.lock.json"] {
        std::fs::rename(made.folder.join(name), bundle.folder.join(name)).expect(name);
    }
    bundle.succeeds();
    for (verb, gate) in VERBS {
        let Refuses(line) = gate else { continue };
        let forbids = json!({"name": "ours", "forbiddenComponents": ["containerd"]}).to_string();
        let allows = json!({"name": "ours", "forbiddenComponents": ["docker"]}).to_string();
        let run = |policy: &str| {
            Test::new()
                .file("imagegen.lock.json", &bundle.text("imagegen.lock.json"))
                .bytes("node.zip", &bundle.read("node.zip"))
                .file("policy.json", policy)
                .env("TOKEN", "abcdef.0123456789abcdef")
                .line(verb)
                .line(line)
                .line("--policy policy.json")
        };
        let refused = run(&forbids);
        refused.fails(
            3,
            &[
                "containerd",
                "the component is forbidden",
                "[policy-forbidden-components]",
            ],
        );
        assert!(
            !refused.exists("made") && !refused.exists("imagegen-out"),
            "{verb} wrote something"
        );
        // The same line under a policy that allows it is refused for no component.
        let allowed = run(&allows).run();
        assert!(
            !allowed.stderr.contains("[policy-forbidden-components]"),
            "{verb}: {}",
            allowed.stderr
        );
    }
}
