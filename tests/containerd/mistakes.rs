//! Mistakes in a configuration of containerd.

use imagegen::selection::read_trees;

use super::{MIRROR, PIPE, VERSIONS, asked, machine, planned, unusual};

/// What the checks of this file are worth: each mistake that a version of containerd lets pass is seen.
#[test]
fn mistakes_in_a_configuration_are_seen() {
    let Some(machine) = machine() else { return };
    let trees = read_trees(None).unwrap();
    let content = |version: &str| {
        let (_, kubernetes) = VERSIONS
            .iter()
            .find(|(known, _)| *known == version)
            .unwrap();
        planned(&trees, version, kubernetes, true, MIRROR).configuration
    };
    for (version, of, from, to, said) in [
        // Dropped in silence.
        (
            "1.6.32",
            "1.6.32",
            "sandbox_image",
            "sandbox_imag",
            "sandbox_imag:",
        ),
        ("1.7.27", "1.7.27", "conf_dir", "confdir", "confdir:"),
        (
            "2.1.4",
            "2.1.4",
            "conf_dir",
            "confdir",
            "Ignoring unknown key in TOML",
        ),
        // Names of another version.
        (
            "2.1.4",
            "2.1.4",
            "io.containerd.cri.v1.runtime",
            "io.containerd.grpc.v1.cri",
            "Ignoring unknown key in TOML",
        ),
        ("2.0.5", "2.1.4", "", "", "Ignoring unknown key in TOML"),
        // Kept although nobody reads them.
        (
            "2.1.4",
            "2.1.4",
            "sandbox = ",
            "sandbx = ",
            "/sandbx: unknown",
        ),
        (
            "2.3.4",
            "2.3.4",
            "io.containerd.server.v1.grpc'",
            "io.containerd.server.v1.grcp'",
            "v1.grcp: unknown",
        ),
        ("1.7.27", "2.0.5", "", "", "unsupported config version"),
        ("2.2.7", "2.3.4", "", "", "version"),
        // Windows PowerShell's UTF-8.
        (
            "2.2.7",
            "2.2.7",
            "# Configuration",
            "\u{feff}# Configuration",
            "invalid character",
        ),
    ] {
        let right = content(of);
        let wrong = right.replace(from, to);
        assert_eq!(wrong == right, from == to, "{version}: {from}");
        let problems = machine.problems(version, wrong.as_bytes(), "dump");
        assert!(
            problems.contains(said),
            "{version}, {from} → {to}: {problems}"
        );
    }
    // `config dump` says nothing of these: only the daemon does.
    let alone = content("1.7.27").replace("runtimes.runhcs-wcow-process]", "runtimes.mine]");
    assert_eq!(machine.problems("1.7.27", alone.as_bytes(), "dump"), "");
    let daemon = machine.start("1.7.27", &["--config", r"C:\tried.toml"]);
    assert!(
        daemon.log.contains("no corresponding runtime configured"),
        "{}",
        daemon.log
    );
    assert!(!unusual(&daemon.log).is_empty());
    machine.stop();
    let old = content("2.1.4").replace(
        "bin_dirs = [\"C:/opt/cni/bin\"]",
        "bin_dir = \"C:/opt/cni/bin\"",
    );
    machine.write(r"C:\tried.toml", old.as_bytes());
    let daemon = machine.start("2.1.4", &["--config", r"C:\tried.toml"]);
    assert!(daemon.log.contains("successfully booted"), "{}", daemon.log);
    let _held = machine.wine.hold(PIPE);
    let (ready, lasting, _) = asked(&machine.wine);
    assert!(ready && !lasting);
    machine.stop();
}
