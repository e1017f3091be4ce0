//! Each rule of the lint finds its fault.

use serde_json::{Value, json};

use super::{SOURCE, findings, hex, pin, set, small};

/// Each case breaks the small catalog in one place: file, pointer, value, and the finding.
fn check_findings<const N: usize>(cases: [(&str, &str, Value, &str); N]) {
    assert_eq!(findings(&small()), Vec::<String>::new());
    for (file, pointer, value, message) in cases {
        let mut files = small();
        set(files.get_mut(file).expect(file), pointer, value);
        let found = findings(&files);
        let is_found = found.iter().any(|finding| finding.contains(message));
        assert!(is_found, "{file}{pointer}: no `{message}` in {found:#?}");
    }
}

#[test]
fn rules_of_components_find_what_is_wrong() {
    let component = "components/containerd.json";
    let pins = "pins/containerd.json";
    let choice = |range: &str| json!({ "kubernetes": range, "default": "1.0.0", "allowed": "<2.0.0", "reason": "r", "source": SOURCE });
    check_findings([
        (
            pins,
            "/pins/1/digest",
            json!(hex("a", 64)),
            "1.0.0 and 1.1.0 have the same digest",
        ),
        (
            pins,
            "/pins",
            json!([
                pin("1.0.0", "sha1", &hex("c", 40)),
                pin(
                    "1.0.0",
                    "sha256",
                    &format!("{}{}", hex("c", 40), hex("d", 24))
                )
            ]),
            "so it is invented [invented-digest]",
        ),
        (
            pins,
            "/pins/0/digest",
            json!(hex("a", 63)),
            "is not a SHA-256 of a file: expected 64 lower-case hexadecimal digits",
        ),
        (
            pins,
            "/pins/0/digest",
            json!(hex("A", 64)),
            "expected 64 lower-case hexadecimal digits",
        ),
        (
            pins,
            "/pins/0/source",
            json!([""]),
            "the digest has no source; add `source` [pin-without-source]",
        ),
        (
            component,
            "/releases/0/signatures",
            json!([{"kind": "cosign-keyless", "url": "https://a.example/f.sig", "identity": "a@b.example", "issuer": "https://b.example"}]),
            "the signature https://a.example/f.sig lacks `certificateUrl` [signature-incomplete]",
        ),
        (
            component,
            "/releases/0/signatures",
            json!([{"kind": "github-attestation", "url": "https://a.example/f.jsonl", "identity": "https://github.com/a/b/.github/workflows/r.yml@refs/heads/main", "issuer": "https://token.actions.githubusercontent.com"}]),
            "lacks `{version}` in `identity` [signature-incomplete]",
        ),
        (
            component,
            "/releases/0/signatures",
            json!([{"kind": "openpgp-over-checksums", "url": "https://a.example/f.sig", "key": "hashicorp", "identity": "AB"}]),
            "lacks the checksum file that it is over (`checksums`) [signature-incomplete]",
        ),
        (
            pins,
            "/pins/0/version",
            json!("9.1.0"),
            "no entry of `releases` contains 9.1.0 [dangling-reference]",
        ),
        (
            component,
            "/releases/0/versions",
            json!("<0.5.0"),
            "no entry of `releases` contains the default 1.0.0 [unreachable-default]",
        ),
        (component, "/name", json!("other"), "`name` is `other`"),
        (pins, "/component", json!("other"), "`component` is `other`"),
        (
            component,
            "/pins",
            json!([]),
            "move the list to `pins/NAME.json`",
        ),
        (pins, "/pins/0/colour", json!(1), "unknown key `colour`"),
        (
            component,
            "/choices/0/default",
            json!("2.5.0"),
            "the default 2.5.0 is outside `<2.0.0` [unreachable-default]",
        ),
        (
            component,
            "/choices",
            json!([choice("<1.21"), choice(">=1.20")]),
            "`choices`: containerd: `<1.21` and `>=1.20` overlap [overlapping-ranges]",
        ),
        (
            component,
            "/choices",
            json!([choice("<1.20"), choice(">=1.21")]),
            "`choices`: containerd: no entry for Kubernetes 1.20 [missing-range]",
        ),
        (
            component,
            "/choices",
            json!([choice("<1.21")]),
            "runtime containerd has no version for Kubernetes 1.21 [missing-range]",
        ),
        (
            component,
            "/choices/0/kubernetes",
            json!(">=1.20.3"),
            "is not a range of Kubernetes lines",
        ),
        (
            component,
            "/choices/0/source",
            json!("my notes"),
            "choices[0].source: `my notes` is not a URL",
        ),
    ]);
}

#[test]
fn rules_of_lines_find_what_is_wrong() {
    let (line, support) = ("kubernetes/lines/1.20.json", "kubernetes/support.json");
    let runtime = |range: &str| json!({ "kubernetes": range, "name": "containerd", "reason": "r", "source": SOURCE });
    let pause = |range: &str| json!({ "kubernetes": range, "kubeadm": "p:1", "image": "p:1", "source": SOURCE });
    let access = |range: &str| json!({ "kubernetes": range, "name": "services", "reason": "r", "source": SOURCE });
    let api = |range: &str| json!({ "kubernetes": range, "api": "v1", "source": SOURCE });
    let supported = |versions: &str, default: bool| json!({ "versions": versions, "default": default, "source": SOURCE });
    check_findings([
        (
            line,
            "/patches",
            json!([]),
            "no patch release is known [unreachable-default]",
        ),
        (
            line,
            "/patches",
            json!(["1.20.1", "1.20.0"]),
            "patch releases are not ascending [order]",
        ),
        (
            line,
            "/patches",
            json!(["1.20.0", "1.21.0"]),
            "a patch release does not belong to 1.20 [dangling-reference]",
        ),
        (
            support,
            "/runtimes/0/name",
            json!("nothing"),
            "no components/nothing.json [dangling-reference]",
        ),
        (
            support,
            "/runtimes",
            json!([runtime("<1.20"), runtime("*")]),
            "`runtimes`: containerd: `<1.20` and `*` overlap [overlapping-ranges]",
        ),
        (
            support,
            "/runtimes",
            json!([runtime(">=1.20")]),
            "`runtimes` has no entry for Kubernetes 1.19 [missing-range]",
        ),
        (
            support,
            "/hostAccess",
            json!([access("<1.20")]),
            "`hostAccess` has no entry for Kubernetes 1.21 [missing-range]",
        ),
        (
            support,
            "/cri",
            json!([api(">=1.21")]),
            "`cri` has no entry for Kubernetes 1.19 [missing-range]",
        ),
        (
            support,
            "/kubeadmApi",
            json!([api("<1.20"), api("<1.20")]),
            "`kubeadmApi`: v1: `<1.20` and `<1.20` overlap [overlapping-ranges]",
        ),
        (
            support,
            "/networks/0/name",
            json!("bridge"),
            "unknown pod network `bridge`",
        ),
        (
            support,
            "/pause",
            json!([pause("<1.20"), pause(">=1.21")]),
            "`pause` has no entry for Kubernetes 1.20 [missing-range]",
        ),
        (
            support,
            "/pause",
            json!([pause("<1.21"), pause(">=1.20")]),
            "`pause`: pause image: `<1.21` and `>=1.20` overlap [overlapping-ranges]",
        ),
        (
            support,
            "/pause/0/source",
            json!("windows-node-spec 4.2"),
            "names notes that readers cannot open",
        ),
        (
            "windows/2019.json",
            "/kubernetes",
            json!([supported("<1.20.0", true)]),
            "no Windows release is the default of Kubernetes 1.20.0 [missing-range]",
        ),
        (
            "windows/2019.json",
            "/kubernetes",
            json!([supported(">=1.19.0", true), supported(">=1.20.1", false)]),
            "`kubernetes`: `>=1.19.0` and `>=1.20.1` overlap [overlapping-ranges]",
        ),
        (
            "kubernetes/support.json",
            "/pauseImages/images/0/builds",
            json!([20348]),
            "no pause image contains a build that it runs",
        ),
        (
            "windows/2019.json",
            "/runsImagesOf",
            json!([20348]),
            "`runsImagesOf` does not begin with its own build 17763",
        ),
    ]);
}

#[test]
fn rules_of_programs_find_what_is_wrong() {
    let programs = "kubernetes/programs.json";
    let flags =
        |since: &str, until: &str| json!({ "since": since, "until": until, "names": ["b"] });
    let gates = |program: &str| json!([{ "programs": [program], "gates": [] }]);
    check_findings([
        (
            programs,
            "/flags/kubelet/2/since",
            json!("1.19"),
            "kubelet flags: a: ranges overlap [overlapping-ranges]",
        ),
        (
            programs,
            "/flags/kubelet/1",
            flags("1.20", "1.19"),
            "kubelet flags since 1.20: `until` is before `since` [missing-range]",
        ),
        (
            programs,
            "/flags/kubelet/1",
            flags("1.18", "1.19"),
            "kubelet flags since 1.18: the range starts or ends with a line that is not surveyed [dangling-reference]",
        ),
        (
            programs,
            "/flags/kubelet/1/names",
            json!(["c", "b"]),
            "kubelet flags since 1.19: b stands after c [order]",
        ),
        (
            programs,
            "/featureGates",
            gates("kublet"),
            "featureGates: kublet has no list of flags",
        ),
        (
            programs,
            "/featureGates",
            json!([{
                "programs": ["kubelet"],
                "gates": [{ "since": "1.20", "until": "1.20", "names": ["A"] }],
                "lockedOn": [{ "since": "1.20", "names": ["A"] }],
            }]),
            "featureGates: A is locked in 1.21, whose programs do not accept it [dangling-reference]",
        ),
        (
            programs,
            "/surveyed/1/release",
            json!("1.18.0"),
            "1.18.0 is not a release of a known line 1.20",
        ),
        (
            programs,
            "/surveyed",
            json!([{ "minor": "1.19", "release": "1.19.0" }, { "minor": "1.21", "release": "1.21.0" }]),
            "m/kubernetes/programs.json: the programs of Kubernetes 1.20 are not surveyed",
        ),
    ]);
}

#[test]
fn rules_of_other_files_find_what_is_wrong() {
    let flag = |versions: &str| json!({ "program": "kubelet", "flag": "--x", "versions": versions, "reason": "r", "source": SOURCE });
    check_findings([
        (
            "contents.json",
            "/groups/0/alternatives/0/0/component",
            json!("nothing"),
            "no components/nothing.json [dangling-reference]",
        ),
        (
            "rules.json",
            "/refusals",
            json!([{ "id": "r", "components": { "nothing": "*" }, "reason": "r", "instead": "i", "source": SOURCE }]),
            "r: no components/nothing.json [dangling-reference]",
        ),
        (
            "kubernetes/flags.json",
            "/flags",
            json!([flag("<1.24.0"), flag(">=1.20.0")]),
            "kubelet --x: `<1.24.0` and `>=1.20.0` overlap [overlapping-ranges]",
        ),
        ("windows/2019.json", "/build", json!("x"), "expected u"),
    ]);
}

#[test]
fn two_entries_for_one_version_are_found() {
    let mut files = small();
    let releases = files
        .get_mut("components/containerd.json")
        .expect("component")
        .pointer_mut("/releases")
        .expect("releases");
    let first = releases[0].clone();
    releases.as_array_mut().expect("list").push(first);
    assert!(
        findings(&files)
            .iter()
            .any(|finding| finding.contains("[overlapping-ranges]"))
    );
    let mut files = small();
    let mut other = files["windows/2019.json"].clone();
    other["release"] = json!("2022");
    files.insert("windows/2022.json".to_owned(), other);
    let found = findings(&files);
    assert!(
        found
            .iter()
            .any(|finding| finding.contains("1.19.0 has the defaults 2019, 2022")),
        "{found:#?}"
    );
}
