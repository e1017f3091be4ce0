//! Objects, images and arguments that the manifests name.

use std::collections::BTreeSet;

use imagegen::base::choice::HostAccess;
use imagegen::catalog::Catalog;
use imagegen::embedded::Tree;
use imagegen::model::kubernetes::ProgramTable;
use imagegen::model::line::Minor;
use serde_json::{Value, json};

use super::{documents, matrix};

/// Everything that a document refers to is in the same set, or is Kubernetes' own.
#[test]
fn references_lead_somewhere() {
    for case in matrix() {
        let all: Vec<(String, Value)> = case.documents().collect();
        let exists = |kind: &str, namespace: &str, name: &str| {
            all.iter().any(|(_, document)| {
                document["kind"] == kind
                    && document["metadata"]["name"] == name
                    && (namespace.is_empty() || document["metadata"]["namespace"] == namespace)
            })
        };
        for (at, document) in &all {
            let namespace = document["metadata"]["namespace"]
                .as_str()
                .unwrap_or_default();
            if !namespace.is_empty() {
                let given = namespace == "kube-system" || exists("Namespace", "", namespace);
                // The Linux side's own manifest makes its namespace.
                assert!(
                    given || document["metadata"]["name"] == "kube-flannel-cfg",
                    "{at}: namespace {namespace}"
                );
            }
            for subject in document["subjects"]
                .as_array()
                .into_iter()
                .flatten()
                .filter(|s| s["kind"] == "ServiceAccount")
            {
                let text = |name: &str| subject[name].as_str().expect("text");
                assert!(
                    exists("ServiceAccount", text("namespace"), text("name")),
                    "{at}: {subject}"
                );
            }
            let spec = if document["kind"] == "Pod" {
                &document["spec"]
            } else {
                &document["spec"]["template"]["spec"]
            };
            if spec.is_null() {
                continue;
            }
            if let Some(account) = spec["serviceAccountName"].as_str() {
                assert!(
                    exists("ServiceAccount", namespace, account),
                    "{at}: account {account}"
                );
            }
            if let Some(class) = spec["runtimeClassName"].as_str() {
                assert!(exists("RuntimeClass", "", class), "{at}: class {class}");
            }
            let volumes: BTreeSet<&str> = spec["volumes"]
                .as_array()
                .into_iter()
                .flatten()
                .filter_map(|v| v["name"].as_str())
                .collect();
            let mut mounted = BTreeSet::new();
            let first = spec["initContainers"].as_array().into_iter().flatten();
            for container in first.chain(spec["containers"].as_array().expect("containers")) {
                mounted.extend(
                    container["volumeMounts"]
                        .as_array()
                        .into_iter()
                        .flatten()
                        .filter_map(|m| m["name"].as_str()),
                );
            }
            assert_eq!(volumes, mounted, "{at}");
            for source in spec["volumes"]
                .as_array()
                .into_iter()
                .flatten()
                .flat_map(|volume| {
                    let projected = volume["projected"]["sources"]
                        .as_array()
                        .cloned()
                        .unwrap_or_default();
                    projected.into_iter().chain([volume.clone()])
                })
            {
                for (field, kind) in [("configMap", "ConfigMap"), ("secret", "Secret")] {
                    if let Some(name) = source[field]["name"]
                        .as_str()
                        .filter(|name| *name != "kube-root-ca.crt")
                    {
                        assert!(exists(kind, namespace, name), "{at}: {kind} {name}");
                    }
                }
            }
            let labels = &document["spec"]["template"]["metadata"]["labels"];
            assert_eq!(&document["spec"]["selector"]["matchLabels"], labels, "{at}");
        }
    }
}

/// Agents tolerate every taint and go to Windows alone; images have a tag that is not `latest`.
#[test]
fn pods_go_to_windows_with_images_that_are_fixed() {
    for case in matrix() {
        for (at, document) in case.documents() {
            let spec = &document["spec"]["template"]["spec"];
            if spec.is_null() {
                continue;
            }
            for container in spec["containers"].as_array().expect("containers") {
                let image = container["image"].as_str().expect("image");
                let tag = image
                    .rsplit('/')
                    .next()
                    .and_then(|last| last.split_once(':'))
                    .map(|(_, tag)| tag);
                assert!(
                    tag.is_some_and(|tag| !tag.is_empty() && tag != "latest"),
                    "{at}: {image}"
                );
                assert!(
                    image.split('/').next().expect("registry").contains('.'),
                    "{at}: {image} names no registry"
                );
            }
            if document["kind"] == "DaemonSet" {
                assert_eq!(spec["nodeSelector"]["kubernetes.io/os"], "windows", "{at}");
                assert_eq!(spec["tolerations"], json!([{"operator": "Exists"}]), "{at}");
                let options = &spec["securityContext"]["windowsOptions"];
                let host_process = case.access == HostAccess::Hostprocess;
                assert_eq!(options["hostProcess"] == json!(true), host_process, "{at}");
                assert!(
                    !host_process || spec["hostNetwork"] == json!(true),
                    "{at}: HostProcess pods use the host's network"
                );
                let paths = spec["volumes"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(|v| v["hostPath"]["path"].as_str());
                for path in paths {
                    assert!(!host_process, "{at}: {path}");
                    assert!(path.len() > 4, "{at}: the whole disk is mounted");
                }
            } else {
                assert!(spec["runtimeClassName"].is_string(), "{at}");
            }
        }
    }
}

/// Each node runs its own kube-proxy.exe, which may be three minor versions older than the cluster.
fn check_older_programs(at: &str, table: &ProgramTable, minor: Minor, arguments: &[String]) {
    let surveys = table.surveyed.0.iter().map(|survey| survey.minor);
    let mut minors: Vec<Minor> = surveys.filter(|other| *other <= minor).collect();
    minors.sort_unstable();
    for older in minors.into_iter().rev().take(4) {
        let program = &table.list_programs(older)["kube-proxy"];
        let mut gates = Vec::new();
        for argument in arguments {
            let (flag, value) = argument.split_once('=').expect("a value");
            let flag = flag.trim_start_matches('-').to_owned();
            assert!(program.flags.contains(&flag), "{at}: {older} {flag}");
            if flag == "feature-gates" {
                assert_eq!(program.find_gate_faults(value), [], "{at}: {older}");
                gates.extend(value.split(','));
            }
        }
        let is_direct = arguments.contains(&"--enable-dsr=true".to_owned());
        let first: Minor = "1.33".parse().expect("a minor");
        if is_direct && older < first {
            assert!(gates.contains(&"WinDSR=true"), "{at}: {older}");
        }
    }
}

/// Arguments of kube-proxy are flags and gates that the program of the line has.
#[test]
fn arguments_are_known_to_the_programs() {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let table = catalog.load_programs().expect("programs");
    let mut checked = 0;
    for case in matrix() {
        let Some((at, map)) = case.documents().find(|(_, d)| {
            d["kind"] == "ConfigMap" && d["metadata"]["name"] == "kube-proxy-windows"
        }) else {
            assert_eq!(case.access, HostAccess::Services, "{}", case.name());
            continue;
        };
        let text = |name: &str| {
            map["data"][name]
                .as_str()
                .unwrap_or_else(|| panic!("{at}: no {name}"))
                .to_owned()
        };
        let arguments: Vec<String> = serde_json::from_str(&text("arguments.json")).expect("JSON");
        // Programs of the nearest surveyed line stand for those of a line that is not surveyed.
        let survey = table
            .surveyed
            .find_nearest(case.line.minor)
            .expect("a surveyed line");
        let program = table
            .list_programs(survey.minor)
            .remove("kube-proxy")
            .expect("program");
        for argument in &arguments {
            let (flag, value) = argument
                .trim_start_matches('-')
                .split_once('=')
                .expect("value");
            assert!(
                program.flags.iter().any(|known| known == flag),
                "{at}: {flag}"
            );
            if flag == "feature-gates" {
                assert_eq!(program.find_gate_faults(value), [], "{at}");
            }
            checked += 1;
        }
        check_older_programs(&at, &table, case.line.minor, &arguments);
        let overlay = catalog.network(&case.cni).expect("a network").overlay;
        // The same as the service of an image for the default Windows release.
        let windows = &case.line.windows.first().expect("a release").value;
        let release = catalog.load_windows_release(windows).expect("a release");
        assert_eq!(
            arguments.contains(&"--enable-dsr=true".to_owned()),
            overlay && release.dsr,
            "{at}: direct server return"
        );
        assert_eq!(
            arguments.contains(&"--source-vip=${SOURCE_VIP}".to_owned()),
            overlay,
            "{at}"
        );
        assert!(
            arguments.contains(&"--hostname-override=${NODE_NAME}".to_owned()),
            "{at}"
        );
        let config = documents(&text("kubeconfig.conf")).remove(0);
        assert_eq!(
            config["clusters"][0]["cluster"]["server"],
            "https://api.example.com:6443"
        );
        assert_eq!(
            config["users"][0]["user"],
            json!({"tokenFile": "token"}),
            "no secret stands in a ConfigMap"
        );
    }
    assert!(checked > 1000, "{checked}");
}
