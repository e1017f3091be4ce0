//! The CRI plugin of each minor of containerd.

use imagegen::selection::read_trees;
use serde_json::Value;

use super::{PIPE, VERSIONS, asked, configured, machine, planned, plugins, unusual};
use crate::join::wine::Held;
use crate::support::root;
use crate::support::server::{Server, Step};

#[test]
fn every_minor_loads_the_cri_plugin() {
    let Some(machine) = machine() else { return };
    let trees = read_trees(None).unwrap();
    let nothing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    let mirror = Server::new(|_| vec![Step::Send(nothing.to_vec()), Step::Close]);
    for (version, kubernetes) in VERSIONS {
        for hypervisor in [false, true] {
            let planned = planned(&trees, version, kubernetes, hypervisor, &mirror.url(""));
            for (path, content) in &planned.files {
                machine.write(path, content.as_bytes());
            }
            let (last, plain) = planned.arguments.split_last().unwrap();
            assert_eq!(
                last, "--run-service",
                "Wine never tells that it runs when it starts it as a service"
            );
            let plain: Vec<&str> = plain.iter().map(String::as_str).collect();
            let daemon = machine.start(version, &plain);
            assert_eq!(unusual(&daemon.log), Vec::<&str>::new(), "{version}");
            configured(version, hypervisor, &planned.configuration, &daemon.log);
            assert!(
                daemon.log.contains("successfully booted"),
                "{version}: {}",
                daemon.log
            );
            let _held: Held = machine.wine.hold(PIPE);
            plugins(&machine.wine, version);
            let before = mirror.asked().len();
            let (ready, lasting, pulled) = asked(&machine.wine);
            assert!(ready && lasting, "{version}");
            assert!(
                pulled.contains("registry.invalid:5000/library/x:1"),
                "{version}: {pulled}"
            );
            let wanted: Vec<String> = mirror.asked()[before..]
                .iter()
                .map(|asked| asked.path.clone())
                .collect();
            let manifest = "/v2/library/x/manifests/1?ns=registry.invalid%3A5000";
            assert!(
                wanted.iter().any(|path| path == manifest),
                "{version}: {wanted:?}, {pulled}"
            );
            machine.stop();
        }
    }
}

/// Each version of the table is built, and each minor that the catalog has is in it.
#[test]
fn the_table_follows_the_build_and_the_catalog() {
    let folder = root().join("ci/programs/containerd");
    let built = |version: &str| {
        let minor = version.rsplit_once('.').unwrap().0;
        std::fs::read_to_string(folder.join(minor).join("go.mod")).is_ok_and(|text| {
            text.lines()
                .any(|line| line.ends_with(&format!(" v{version}")))
        })
    };
    for (version, _) in VERSIONS {
        assert!(built(version), "{version}");
    }
    let text = std::fs::read_to_string(root().join("manifests/pins/containerd.json")).unwrap();
    let catalog: Value = serde_json::from_str(&text).unwrap();
    for pin in catalog["pins"].as_array().unwrap() {
        let version = pin["version"].as_str().unwrap();
        let minor = version.rsplit_once('.').unwrap().0;
        let tried = VERSIONS
            .iter()
            .any(|(known, _)| known.rsplit_once('.').unwrap().0 == minor);
        assert!(tried || ["1.4", "1.5"].contains(&minor), "{version}");
    }
}
