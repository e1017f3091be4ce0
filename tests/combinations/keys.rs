//! Keys of configuration files that their programs read.

use std::collections::BTreeSet;

use imagegen::base::choice::{HostAccess, Runtime};
use imagegen::base::version::Version;
use imagegen::model::definition::ImageDefinition;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;

use super::{azure, files, made};
use crate::support::root;

/// `table` and `key` of each assignment of a TOML text, quotes left out.
fn assignments(text: &str) -> BTreeSet<(String, String)> {
    let mut table = String::new();
    let mut found = BTreeSet::new();
    for line in text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'))
    {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            table = name.replace(['"', '\''], "");
        } else if let Some((key, _)) = line.split_once(" = ") {
            found.insert((table.clone(), key.replace(['"', '\''], "")));
        }
    }
    found
}

/// A key that containerd does not know is dropped in silence: each of ours is among the defaults
/// that the program itself prints.
#[test]
fn containerd_knows_every_key_of_its_configuration() {
    let trees = read_trees(None).expect("the catalog");
    for (kubernetes, version) in [
        ("1.20.0", "1.5.18"),
        ("1.22.0", "1.6.38"),
        ("1.26.0", "1.7.27"),
        ("1.30.0", "2.0.4"),
        ("1.33.0", "2.1.0"),
        ("1.34.0", "2.2.0"),
    ] {
        let path = root().join(format!("tests/fixtures/containerd/{version}.toml"));
        let defaults = assignments(&std::fs::read_to_string(&path).expect("defaults"));
        for feature in [None, Some("hyper-v")] {
            let mut selection = azure(kubernetes);
            selection
                .components
                .insert("containerd".to_owned(), version.parse().expect("version"));
            selection.features = feature.into_iter().map(str::to_owned).collect();
            selection.runtime = Some(Runtime::Containerd);
            let plan = resolve_plan(&selection, &trees)
                .unwrap_or_else(|error| panic!("{version}: {error:#}"));
            let (guest, _) = predict_machine(&plan, &trees).expect("a machine");
            let file = files(&guest)
                .find(|file| file.path.ends_with("config.toml"))
                .expect("a file");
            let ours = assignments(file.content().expect("content"));
            let own = |table: &str| table.contains(".runtimes.runhcs-wcow-");
            let unknown: Vec<_> = ours
                .iter()
                .filter(|(table, key)| {
                    !own(table) && !defaults.contains(&(table.clone(), key.clone()))
                })
                .collect();
            assert_eq!(unknown, Vec::<&(String, String)>::new(), "{version}");
            let hypervisor = ours
                .iter()
                .any(|(table, _)| table.ends_with("runtimes.runhcs-wcow-hypervisor"));
            assert_eq!(hypervisor, feature.is_some(), "{version}");
            let process = ours
                .iter()
                .any(|(table, _)| table.ends_with("runtimes.runhcs-wcow-process"));
            assert!(
                process,
                "{version}: naming one runtime takes the default away"
            );
        }
    }
}

/// A key that this wins does not read leaves the list empty, and an empty list lets everything
/// start.
#[test]
fn wins_gets_its_list_under_the_key_that_it_reads() {
    let trees = read_trees(None).expect("the catalog");
    for version in ["0.0.4", "0.1.1", "0.1.2", "0.1.3"] {
        let version: Version = version.parse().expect("version");
        let mut selection = ImageDefinition {
            host_access: Some(HostAccess::Wins),
            ..azure("1.20.0")
        };
        selection
            .components
            .insert("wins".to_owned(), version.clone());
        let (guest, machine) =
            made(&selection, &trees).unwrap_or_else(|| panic!("{version} is refused"));
        let file = files(&guest)
            .find(|file| file.path.ends_with(r"wins\config"))
            .expect("a configuration");
        let text = file.content().expect("content");
        let old = version < "0.1.3".parse().expect("version");
        let key = if old { "whiteList:" } else { "white_list:" };
        assert!(text.starts_with(key), "{version}: {text}");
        let listed: Vec<&str> = text
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- "))
            .collect();
        let allowed = [
            r"'C:\k\kube-proxy\kube-proxy.exe'",
            r"'C:\k\flannel\flanneld.exe'",
            r"'C:\k\flannel\setup.exe'",
        ];
        assert_eq!(listed, allowed, "{version}");
        assert!(
            text.contains("upgrade:\n  mode: none"),
            "{version}: it would replace itself"
        );
        for folder in [r"C:\k\kube-proxy", r"C:\k\flannel", r"C:\etc\rancher\wins"] {
            let own = machine
                .find_at_path(folder)
                .and_then(|it| it.properties().descriptor());
            assert!(
                own.is_some(),
                "{version}: who may write to {folder} starts what he likes"
            );
        }
    }
}
