//! Attacks by the files that somebody brings: folders of steps, definitions, policies, workspaces.

use serde_json::{Value, json};

use super::artifact;
use crate::support::Test;

const DIGEST: &str = "abababababababababababababababababababababababababababababababab";
const HOST: &str = "--target host --k8s 1.36.0";

fn write_step(content: &Value) -> String {
    let properties = json!({"path": "C:\\x.txt", "ensure": "present", "content": content});
    let resource =
        json!({"name": "f", "type": "file", "source": "derived: x", "properties": properties});
    json!({"id": "x", "summary": "s", "phase": "install", "resources": [resource]}).to_string()
}

/// A folder of steps reads no file but its own, wherever it is named.
#[cfg(unix)]
#[test]
fn a_folder_of_steps_reads_no_other_file() {
    use std::os::unix::fs::symlink;
    let outside = Test::new()
        .file("secret.txt", "T0pS3cret")
        .file("steps/500-x.json", &write_step(&json!("a")));
    let secret = outside.folder.join("secret.txt");
    let forms = [
        json!({"file": "l"}),
        json!({"base64": "l"}),
        json!({"template": "l"}),
    ];
    for (place, content) in ["l", "l", "templates/l"].into_iter().zip(&forms) {
        let test = Test::new()
            .file("steps/500-x.json", &write_step(content))
            .file("steps/templates/a", "a");
        symlink(&secret, test.folder.join("steps").join(place)).expect("link");
        let test = test
            .line("build --no-bake --out o --steps steps")
            .line(HOST);
        let ran = test.fails(
            3,
            &["--steps: reading steps/", "a link leads out of the folder"],
        );
        assert!(!test.exists("o") && !ran.stderr.contains("T0pS3cret"));
    }
    // A link inside of the folder is what mounted configuration has.
    let test = Test::new()
        .file("steps/500-x.json", &write_step(&json!({"file": "l"})))
        .file("steps/.data/real", "content")
        .line("plan --steps steps")
        .line(HOST);
    symlink(".data/real", test.folder.join("steps/l")).expect("link");
    test.succeeds();
    // A definition names folders below its own; the operator may name any.
    let steps = outside.folder.join("steps").display().to_string();
    for named in [steps.as_str(), "../steps", "d/../../steps", "linked"] {
        for field in ["steps", "targets", "componentFiles"] {
            let test = Test::new().file("d/imagegen.json", &json!({field: [named]}).to_string());
            symlink(&steps, test.folder.join("d/linked")).expect("link");
            let test = test.line("plan --config d/imagegen.json").line(HOST);
            test.fails(
                3,
                &[
                    "does not lie below the folder of the definition",
                    "name it on the command line",
                ],
            );
        }
    }
    Test::new()
        .line(&format!("plan --steps {steps}"))
        .line(HOST)
        .succeeds();
    // A pipe would be waited for.
    let test = Test::new()
        .file("steps/500-x.json", &write_step(&json!("a")))
        .line("plan --steps steps")
        .line(HOST);
    let pipe = test.folder.join("steps/600-y.json");
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &pipe,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RWXU,
        0,
    )
    .expect("pipe");
    test.fails(3, &["not a regular file"]);
}

#[test]
fn a_component_is_called_as_its_file() {
    let example =
        crate::support::root().join("provisioners/example/components/monitoring-agent.json");
    let content = std::fs::read_to_string(example).expect("example");
    let test = Test::new()
        .file("c/kubelet.json", &content)
        .line("plan --component-files c")
        .line(HOST);
    test.fails(
        3,
        &["`name` is `monitoring-agent`, and must be that of the file, `kubelet`"],
    );
}

#[test]
fn pins_belong_to_a_component() {
    let pins = |component: &str| json!({"component": component, "pins": []}).to_string();
    let rows = [
        (
            "c/pins/kubelet.json",
            pins("kubeadm"),
            "`component` is `kubeadm`, and must be that of the file, `kubelet`",
        ),
        (
            "c/pins/kubelett.json",
            pins("kubelett"),
            "no component `kubelett` has these pins",
        ),
        (
            "c/pins/kubelet.json",
            json!({"pins": []}).to_string(),
            "missing field `component`",
        ),
        (
            "c/pins/more/kubelet.json",
            pins("kubelet"),
            "name component files as in",
        ),
        (
            "c/kubelet.json",
            json!({"name": "kubelet", "pins": []}).to_string(),
            "move the list to `pins/NAME.json`",
        ),
    ];
    for (path, content, said) in rows {
        let test = Test::new()
            .file(path, &content)
            .line("plan --component-files c")
            .line(HOST);
        test.fails(3, &[said]);
    }
}

/// A component of the user's own in the place of the program's has no pins of other bytes.
#[test]
fn a_component_file_takes_the_pins_of_what_it_replaces_away() {
    let file = crate::support::root().join("manifests/components/crictl.json");
    let content = std::fs::read_to_string(file).expect("the component");
    let plan = |test: &Test| {
        let line = "plan --format json --target host --k8s 1.36.0 --component-files c";
        artifact(&test.prints_json(line), "crictl")
    };
    let test = Test::new().file("c/README.md", "none");
    let version = plan(&test)["version"].clone();
    assert!(plan(&test)["digests"].is_array());
    let test = test.file("c/crictl.json", &content);
    assert!(plan(&test)["digests"].as_array().is_none_or(Vec::is_empty));
    let pin = json!({"version": version, "algorithm": "sha256", "digest": DIGEST, "confidence": "low",
        "source": ["https://x.example"]});
    let pins = json!({"component": "crictl", "pins": [pin]});
    let test = test.file("c/pins/crictl.json", &pins.to_string());
    assert_eq!(plan(&test)["digests"][0]["digest"], DIGEST);
}

/// What the platform downloads by itself is a subject, too.
#[test]
fn media_that_the_platform_downloads_are_judged() {
    let line = "plan --target nutanix --k8s 1.36.0 --policy policy.json";
    let media = |windows: &str, drivers: &str| {
        let urls = json!({"windows_iso_url": windows, "windows_iso_sha256": DIGEST, "drivers_iso_url": drivers,
            "drivers_iso_sha256": "cd".repeat(32)});
        json!({ "variables": urls }).to_string()
    };
    let hosts = [
        "dl.k8s.io",
        "github.com",
        "registry.k8s.io",
        "raw.githubusercontent.com",
        "releases.hashicorp.com",
        "objects.githubusercontent.com",
    ];
    let good = "https://github.com/x.iso";
    let rows = [
        (
            media("https://evil.example/w.iso", good),
            json!({"allowedHosts": hosts}),
            "windows_iso_url: it comes from evil.example",
        ),
        (
            media(good, "https://evil.example/d.iso"),
            json!({"allowedHosts": hosts}),
            "drivers_iso_url: it comes from evil.example",
        ),
        (
            media(good, good),
            json!({"minimumConfidence": "medium", "trustedDigests": [{"digest": DIGEST, "components": ["windows-iso"]}]}),
            "drivers_iso_url: the image definition alone states its digest",
        ),
        (
            media(good, good),
            json!({"require": [{"id": "r", "roles": ["medium"], "anyOf": ["minisign"]}]}),
            "drivers_iso_url: it must be proven by minisign",
        ),
        (
            media("https://joe:s3cretval99@x.example/w.iso", good),
            json!({}),
            "no user and no password",
        ),
        (
            media("https://x.example/w.iso?sig=s3cretval99", good),
            json!({}),
            "a query that may be a secret",
        ),
    ];
    for (definition, mut policy, said) in rows {
        policy["name"] = "ours".into();
        let test = Test::new()
            .file("imagegen.json", &definition)
            .file("policy.json", &policy.to_string())
            .line(line);
        let ran = test.fails(3, &[said]);
        assert!(!ran.stderr.contains("s3cretval99"), "{}", ran.stderr);
    }
    let control = Test::new()
        .file("imagegen.json", &media(good, good))
        .file(
            "policy.json",
            &json!({"name": "ours", "allowedHosts": hosts}).to_string(),
        )
        .line(line);
    control.succeeds();
}

/// A signed URL of installation media is asked for with its query, which no file has.
#[test]
fn the_query_of_signed_media_is_written_nowhere() {
    for target in ["qemu", "proxmox", "vsphere", "hyperv", "vmware"] {
        let url = "https://x.example/w.iso?X-Amz-Signature=s3cretval99&st=s3cretval99";
        let mut variables = json!({"windows_iso_url": url, "windows_iso_sha256": DIGEST});
        if matches!(target, "qemu" | "proxmox") {
            variables["drivers_iso_url"] = url.into();
            variables["drivers_iso_sha256"] = DIGEST.into();
        }
        let definition = json!({ "variables": variables }).to_string();
        for verb in [
            "plan",
            "plan --format json",
            "build --no-bake --out o",
            "lock",
        ] {
            let line = format!("{verb} --target {target} --k8s 1.36.0");
            let ran = Test::new().file("imagegen.json", &definition).line(&line);
            let said = ran.run();
            assert!(
                !(said.stdout + &said.stderr).contains("s3cretval99"),
                "{line}"
            );
            for (name, bytes) in crate::support::files(&ran.folder) {
                let shown = String::from_utf8_lossy(&bytes).contains("s3cretval99");
                assert!(!shown || name == "imagegen.json", "{line}: {name}");
            }
        }
    }
}

/// What is waived on a command line is a proof that could be missing.
#[test]
fn a_waiver_names_a_declared_proof() {
    for (waiver, code, said) in [
        ("containerd=attestation", 0, ""),
        ("containerd=checksum-file", 0, ""),
        // Several images share flags: the component need not be part of each.
        ("wins=checksum-file", 0, ""),
        ("containerd=openpgp", 3, "containerd declares no openpgp"),
        // An override may drop it.
        ("cloudbase-init=authenticode", 0, ""),
        (
            "containerd=authenticode",
            3,
            "containerd declares no authenticode",
        ),
        (
            "containerd=pin",
            3,
            "name one of the proofs that can be missing",
        ),
    ] {
        let ran = Test::new()
            .line("plan")
            .line(HOST)
            .args(["--waive", waiver])
            .run();
        assert_eq!(ran.code, Some(code), "{waiver}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{waiver}: {}", ran.stderr);
    }
}

/// A policy that demands less than it seems to is wrong.
#[test]
fn a_policy_says_what_it_can_mean() {
    for (policy, said) in [
        (json!({"name": " "}), "the policy has no name"),
        (
            json!({"name": "a", "allowedHosts": null}),
            "`allowedHosts` is `null`",
        ),
        (
            json!({"name": "a", "minimumConfidence": null}),
            "`minimumConfidence` is `null`",
        ),
        (
            json!({"name": "a", "waivers": [{"component": "*", "proof": "authenticode"}]}),
            "no component is named `*`",
        ),
        (
            json!({"name": "a", "waivers": [{"component": "kube*", "proof": "authenticode"}]}),
            "no component is named `kube*`",
        ),
        (
            json!({"name": "a", "waivers": [{"component": "containerd", "proof": "pin"}]}),
            "pin of containerd is no file that can be missing",
        ),
        (
            json!({"name": "a", "forbiddenComponents": ["KBx"]}),
            "no component or program is named `KBx`",
        ),
        (
            json!({"name": "a", "allowedHosts": ["github.com."]}),
            "`github.com.` is not",
        ),
        (
            json!({"name": "a", "allowedHosts": ["github.com:443"]}),
            "`github.com:443` is not",
        ),
        (
            json!({"name": "a", "allowedHosts": ["127.1"]}),
            "`127.1` is not",
        ),
        (json!({"name": "a\u{200b}"}), "control character U+200B"),
    ] {
        let test = Test::new()
            .file("p.json", &policy.to_string())
            .line("plan --policy p.json")
            .line(HOST);
        test.fails(3, &[said]);
    }
    let bom = format!("\u{feff}{}", json!({"name": "a", "allowedHosts": null}));
    Test::new()
        .file("p.json", &bom)
        .line("plan --policy p.json")
        .line(HOST)
        .fails(3, &["`allowedHosts` is `null`"]);
}

/// Texts that a reviewer reads as something else, and headers that change what is asked for.
#[test]
fn a_definition_means_what_it_shows() {
    let over = |fields: Value| json!({"overrides": {"containerd": fields}});
    let header = |name: &str| {
        over(
            json!({"url": "https://x.example/c.tar.gz", "sha256": DIGEST, "headers": {name: "TOKEN"}}),
        )
    };
    for (definition, said) in [
        (
            over(json!({"publisher": "O=Micro\u{ad}soft"})),
            "control character U+00AD",
        ),
        (
            over(json!({"publisher": "O=Microsoft\u{e0041}"})),
            "control character U+E0041",
        ),
        (
            over(json!({"url": "https://github%2ecom/c", "sha256": DIGEST})),
            "roundabout",
        ),
        (
            over(json!({"url": "https://2130706433/c", "sha256": DIGEST})),
            "roundabout",
        ),
        (header("Host"), "`Host` is not a header for credentials"),
        (
            header("transfer-encoding"),
            "is not a header for credentials",
        ),
        (header("Range"), "is not a header for credentials"),
        (header("X:Y"), "is not a header for credentials"),
        (
            json!({"containerImages": [format!("EVIL.example/x:1@sha256:{DIGEST}")]}),
            "is not an image: expected",
        ),
        (
            json!({"mirrors": {"Registry.K8s.io": ["https://x.example/"]}}),
            "is not a registry",
        ),
        (
            json!({"variables": {"location": "west\u{200b}europe"}}),
            "control character U+200B",
        ),
    ] {
        let test = Test::new()
            .file("imagegen.json", &definition.to_string())
            .line("plan")
            .line(HOST);
        test.fails(3, &[said]);
    }
    let prose = json!({"note": "careful \u{26a0}\u{fe0f}\nsecond line"});
    Test::new()
        .file("imagegen.json", &prose.to_string())
        .line("plan")
        .line(HOST)
        .succeeds();
}

/// What a link leads to may be another file by the time that Packer reads it.
#[cfg(unix)]
#[test]
fn a_workspace_holds_no_links() {
    let test = Test::new().line("build --no-bake --out w --target azure --k8s 1.36.0");
    test.succeeds();
    for name in [
        "build.pkr.hcl",
        "payload.zip",
        "imagegen.lock.json",
        "README.md",
    ] {
        let (own, moved) = (test.folder.join("w").join(name), test.folder.join("moved"));
        std::fs::rename(&own, &moved).expect("rename");
        std::os::unix::fs::symlink(&moved, &own).expect("link");
        let command = Test::new()
            .line("verify w --format json")
            .command()
            .current_dir(&test.folder)
            .output();
        let output = command.expect("starts");
        let said =
            String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(5), "{name}: {said}");
        assert!(
            said.contains("it is a link or no regular file"),
            "{name}: {said}"
        );
        std::fs::remove_file(&own).expect("link");
        std::fs::rename(&moved, &own).expect("rename");
    }
}

/// Windows replaces `%NAME%` in the command line of a service.
#[test]
fn an_argument_of_the_kubelet_is_what_it_shows() {
    let run = |argument: &str| {
        let hash = format!("sha256:{DIGEST}");
        Test::new()
            .line(
                "join-data --k8s 1.36.0 --endpoint a.example:6443 --token-env TOKEN --ca-cert-hash",
            )
            .args([hash.as_str(), "--kubelet-arg", argument])
            .env("TOKEN", "abcdef.0123456789abcdef")
    };
    for argument in ["v=%PATH%", "v=2%windir%3", "node-ip=%COMPUTERNAME%"] {
        run(argument).fails(
            3,
            &[
                "holds a variable, which Windows replaces",
                "[argument-format]",
            ],
        );
    }
    for argument in [
        "v=2",
        "eviction-hard=memory.available<5%,nodefs.available<10%",
    ] {
        let ran = run(argument).run();
        assert!(
            !ran.stderr.contains("holds a variable"),
            "{argument}: {}",
            ran.stderr
        );
    }
}
