//! The defects of image-builder's Windows images (D1 to D12 of its examination) as far as the guest
//! could have them: each is put into a plan or looked for in every one.

mod passwords;
mod targets;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use imagegen::catalog::Trees;
use imagegen::guest::Guest;
use imagegen::machine::Machine;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::target::TargetKind;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use imagegen::windows::resource::{ContainerImage, File, RegistryValue, ResourceKind, StartType};
use serde_json::Value;

use crate::support::targets::{azure, image_targets};
use crate::support::{Test, root};

/// A selection of every target that makes images: what holds for one cloud holds for all.
fn images(kubernetes: &str) -> Vec<ImageDefinition> {
    image_targets()
        .iter()
        .map(|target| ImageDefinition {
            target: Some(target.name.clone()),
            ..azure(kubernetes)
        })
        .collect()
}

fn made(selection: &ImageDefinition) -> (Guest, Machine) {
    made_in(selection, &read_trees(None).expect("the catalog"))
}

fn made_in(selection: &ImageDefinition, trees: &Trees) -> (Guest, Machine) {
    let plan =
        resolve_plan(selection, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    let (guest, prediction) =
        predict_machine(&plan, trees).unwrap_or_else(|error| panic!("{selection:?}: {error:#}"));
    (guest, prediction.machine)
}

fn file<'a>(guest: &'a Guest, name: &str) -> &'a File {
    let files = guest
        .plan
        .resources
        .iter()
        .filter_map(|resource| match &resource.kind {
            ResourceKind::File(file) => Some(file),
            _ => None,
        });
    files
        .into_iter()
        .find(|file| file.path.ends_with(name))
        .unwrap_or_else(|| panic!("no {name}"))
}

/// D1: nothing that is downloaded goes unchecked.
#[test]
fn d1_every_download_has_a_digest_that_the_engine_demands() {
    let trees = read_trees(None).expect("the catalog");
    let plan = resolve_plan(&azure("1.20.0"), &trees).expect("a plan");
    let (guest, _) = predict_machine(&plan, &trees).expect("a machine");
    let mut checked = 0;
    for resource in &guest.plan.resources {
        let download = match &resource.kind {
            ResourceKind::Artifact(it) => &it.download,
            ResourceKind::Archive(it) => &it.download,
            ResourceKind::Msi(it) => &it.download,
            _ => continue,
        };
        let known = plan
            .unpinned_artifacts()
            .any(|artifact| artifact.url == download.url);
        assert!(
            known != download.digest.is_some(),
            "{}: {download:?}",
            resource.name
        );
        checked += 1;
    }
    assert!(checked >= 6, "{checked}");
    // What nobody pinned is refused before anything is changed.
    let engine =
        std::fs::read_to_string(root().join("provisioners/engine/Selection.ps1")).expect("engine");
    assert!(
        engine.contains("pins nothing"),
        "the engine takes any digest"
    );
}

/// D2: images are pulled, by digest, or the selection is refused.
#[test]
fn d2_an_image_that_is_asked_for_is_in_the_plan_or_refused() {
    let digest = "a".repeat(64);
    for (release, kubernetes) in [("2019", "1.20.0"), ("2022", "1.30.0"), ("2025", "1.36.4")] {
        let image = format!("mcr.microsoft.com/windows/nanoserver:x@sha256:{digest}");
        let selection = ImageDefinition {
            windows: Some(release.to_owned()),
            container_images: vec![image.parse().unwrap()],
            ..azure(kubernetes)
        };
        let (_, machine) = made(&selection);
        assert!(
            machine
                .resources_of::<ContainerImage>()
                .any(|(it, _)| *it.reference == image),
            "{release}"
        );
    }
    Test::new()
        .line("build --target host --k8s 1.36.0 --image mcr.microsoft.com/windows/nanoserver:ltsc2022")
        .fails(5, &["not pinned by digest", "nanoserver:ltsc2022"]);
}

/// D3: what depends on the release depends on a release that is always known.
#[test]
fn d3_each_release_gets_its_registry_settings() {
    let trees = read_trees(None).expect("the catalog");
    for (release, kubernetes) in [("2019", "1.20.0"), ("2022", "1.30.0"), ("2025", "1.36.4")] {
        let windows = trees.catalog.load_windows_release(release);
        let wanted = windows.expect("release").registry.clone();
        assert!(!wanted.is_empty(), "{release}");
        for image in images(kubernetes) {
            let selection = ImageDefinition {
                windows: Some(release.to_owned()),
                ..image
            };
            let (_, machine) = made_in(&selection, &trees);
            for setting in &wanted {
                let mut values = machine.present_resources::<RegistryValue>();
                let found =
                    values.find(|it| it.it.value_name == setting.name && *it.it.key == setting.key);
                let data = found.map(|it| &it.settings.data);
                assert_eq!(data, Some(&setting.data), "{selection:?}: {}", setting.name);
            }
        }
    }
}

/// Options of a cloudbase-init configuration, below its one section.
fn options(text: &str) -> BTreeMap<&str, &str> {
    assert!(
        text.starts_with("[DEFAULT]\n") && text.matches('[').count() == 1,
        "{text}"
    );
    text.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('='))
        .collect()
}

/// D4: what a target says of its clock reaches the machine.
#[test]
fn d4_the_clock_is_the_targets() {
    let trees = read_trees(None).expect("the catalog");
    let mut plan = resolve_plan(&azure("1.36.4"), &trees).expect("a plan");
    for utc in [false, true] {
        let TargetKind::Image(image) = &mut Arc::make_mut(&mut plan.target).kind else {
            panic!("an image")
        };
        image.platform.cloudbase_init.rtc_utc = utc;
        let (guest, _) = predict_machine(&plan, &trees).expect("a machine");
        let text = file(&guest, r"\cloudbase-init.conf")
            .content()
            .expect("content")
            .to_owned();
        assert_eq!(options(&text)["real_time_clock_utc"], utc.to_string());
    }
}

/// D5 and D9: no option without a value, none that cloudbase-init does not know, no class that it
/// lacks, nothing said twice, and no user data in its log.
#[test]
fn d5_d9_cloudbase_init_is_configured_with_what_it_knows() {
    let text = std::fs::read_to_string(root().join("tests/fixtures/cloudbase-init-options.json"))
        .expect("data");
    let known: Value = serde_json::from_str(&text).expect("JSON");
    let names = |list: &str| -> BTreeSet<String> {
        known[list]
            .as_array()
            .expect(list)
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect()
    };
    let mut classes: BTreeSet<String> = names("metadataServices")
        .union(&names("plugins"))
        .cloned()
        .collect();
    // Of the module of base classes, which the data leaves out; image-builder names it too.
    classes.insert("cloudbaseinit.metadata.services.base.EmptyMetadataService".to_owned());
    let trees = read_trees(None).expect("the catalog");
    let guests: Vec<Guest> = images("1.36.4")
        .iter()
        .map(|selection| made_in(selection, &trees).0)
        .collect();
    let files = [r"\cloudbase-init.conf", r"\cloudbase-init-unattend.conf"];
    for (guest, name) in guests
        .iter()
        .flat_map(|guest| files.map(|name| (guest, name)))
    {
        let text = file(guest, name).content().expect("content").to_owned();
        let options = options(&text);
        assert!(options.len() > 10, "{name}");
        for (option, value) in &options {
            let is_known = !known["options"]["DEFAULT"][option].is_null()
                || ["debug", "logdir", "logfile", "username", "groups"].contains(option);
            assert!(is_known, "{name}: {option}");
            assert!(!value.is_empty(), "{name}: {option} is empty");
        }
        assert_eq!(
            options["debug"], "false",
            "{name}: user data and the token in it would be logged"
        );
        for list in ["metadata_services", "plugins"] {
            let given: Vec<&str> = options[list].split(',').collect();
            let once: BTreeSet<&&str> = given.iter().collect();
            assert_eq!(
                once.len(),
                given.len(),
                "{name}: {list} says something twice"
            );
            for class in given {
                assert!(classes.contains(class), "{name}: {class}");
            }
        }
    }
}

/// D6: the service manager reads no file of arguments, so nothing that the kubelet cannot start
/// without may be left to it; what kubeadm writes there is merged when the node joins.
#[test]
fn d6_the_kubelet_starts_without_kubeadm_flags_env() {
    for (kubernetes, wanted) in [
        (
            "1.20.0",
            &["--network-plugin=cni", "--pod-infra-container-image="][..],
        ),
        (
            "1.23.0",
            &[
                "--container-runtime=remote",
                "--container-runtime-endpoint=npipe",
            ],
        ),
        ("1.30.0", &["--container-runtime-endpoint=npipe"]),
        ("1.36.4", &["--config="]),
    ] {
        let (_, machine) = made(&azure(kubernetes));
        let kubelet = machine.find_service("kubelet").expect("kubelet").settings;
        for flag in wanted {
            assert!(
                kubelet.arguments.iter().any(|word| word.starts_with(flag)),
                "{kubernetes}: {flag}"
            );
        }
        assert_eq!(
            kubelet.start_type,
            Some(StartType::Auto),
            "{kubernetes}: its batch file ends quietly until it has joined"
        );
    }
}

/// D7: old lines are built of what existed then, and combinations that cannot speak are refused.
#[test]
fn d7_lines_before_1_23_are_built_without_kube_log_runner() {
    let (_, machine) = made(&azure("1.20.0"));
    assert!(
        machine
            .present_files()
            .all(|file| !file.path.ends_with("kube-log-runner.exe"))
    );
    Test::new()
        .line("plan --target azure --k8s 1.22.0 --runtime containerd --component containerd=2.3.4")
        .fails(3, &["containerd-cri-v1alpha2"]);
}

/// Files of the steps, of which a test changes one.
fn copy_provisioners(trees: &Trees) -> BTreeMap<String, Vec<u8>> {
    let tree = &trees.provisioners;
    let mut paths: Vec<String> = [
        "paths.json",
        "sddl.json",
        "later.json",
        "ports.json",
        "needs.json",
        "writes.json",
        "arguments.json",
        "stages.json",
        "updates.json",
    ]
    .map(str::to_owned)
    .into();
    for folder in ["steps", "templates", "engine", "resources"] {
        paths.extend(tree.list_files(folder));
    }
    let copied = paths.into_iter().map(|path| {
        let bytes = tree.get(&path).expect("listed").to_vec();
        (path, bytes)
    });
    copied.collect()
}

/// D10: an unknown name in a step or template is an error and never an empty text.
#[test]
fn d10_an_undefined_name_is_an_error() {
    let mut trees = read_trees(None).expect("the catalog");
    let plan = resolve_plan(&azure("1.36.4"), &trees).expect("a plan");
    let mut files = copy_provisioners(&trees);
    let template = files.get_mut("templates/crictl.yaml").expect("template");
    template.extend_from_slice(b"debug: {{ runtime.debug }}\n");
    trees.provisioners = imagegen::embedded::Tree::from_files("provisioners".to_owned(), files);
    let error = format!(
        "{:#}",
        predict_machine(&plan, &trees).expect_err("an undefined name")
    );
    assert!(
        error.contains("templates/crictl.yaml") && error.contains("debug"),
        "{error}"
    );
}

/// D11: every release and every line of the catalog is planned by a test (`matrix`,
/// `combinations`), so none can lack one; this holds the sets against each other.
#[test]
fn d11_every_release_is_made_by_some_line() {
    let trees = read_trees(None).expect("the catalog");
    let mut made = BTreeSet::new();
    for minor in trees.catalog.kubernetes_minors() {
        let line = trees.catalog.load_kubernetes_line(minor).expect("line");
        made.extend(line.windows.iter().map(|windows| windows.value.clone()));
    }
    let all: BTreeSet<String> = trees.catalog.windows_names().into_iter().collect();
    let missing: Vec<&String> = all.difference(&made).collect();
    assert_eq!(missing, [""; 0]);
}

/// D12: what a check asks for is on the machine: a service that nobody brings is refused.
#[test]
fn d12_a_check_of_what_nobody_installs_is_refused() {
    let mut trees = read_trees(None).expect("the catalog");
    let plan = resolve_plan(&azure("1.36.4"), &trees).expect("a plan");
    let mut files = copy_provisioners(&trees);
    let checks = files.get_mut("steps/200-checks.json").expect("checks");
    *checks = String::from_utf8_lossy(checks)
        .replacen(
            r#""serviceName": "containerd""#,
            r#""serviceName": "VMTools""#,
            1,
        )
        .into();
    trees.provisioners = imagegen::embedded::Tree::from_files("provisioners".to_owned(), files);
    let error = format!(
        "{:#}",
        predict_machine(&plan, &trees).expect_err("an unknown service")
    );
    assert!(
        error.contains("service-unknown") && error.contains("VMTools"),
        "{error}"
    );
}
