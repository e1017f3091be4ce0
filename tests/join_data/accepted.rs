//! What nodes and templates may be given: expressions, and the gates of their kubelet.

use std::collections::BTreeMap;

use imagegen::base::version::Version;
use imagegen::model::kubernetes::NameRange;
use imagegen::model::policy::matches_pattern;
use imagegen::selection::read_trees;
use serde_json::{Value, json};

use super::{HASH, TOKEN, test, yaml};
use crate::catalog::forget_survey;
use crate::support::Test;

/// The settings of published templates: cloudbase-init renders what Cluster API writes.
#[test]
fn cluster_api_gets_expressions_for_each_machine() {
    let capi = |line: &str| {
        Test::new()
            .line("join-data --as capi --k8s 1.27")
            .line(line)
            .args(["--name", "{{ ds.meta_data.local_hostname }}"])
            .args([
                "--kubelet-arg",
                "provider-id=oci://{{ ds.meta_data.instance_id }}",
            ])
            .args([
                "--kubelet-arg",
                "feature-gates=WindowsHostProcessContainers=true",
            ])
            .args([
                "--kubelet-arg",
                "windows-priorityclass=ABOVE_NORMAL_PRIORITY_CLASS",
            ])
            .succeeds()
            .stdout
    };
    let expected = [
        ("provider-id", "oci://{{ ds.meta_data.instance_id }}"),
        ("feature-gates", "WindowsHostProcessContainers=true"),
        ("windows-priorityclass", "ABOVE_NORMAL_PRIORITY_CLASS"),
    ];
    let list: Vec<Value> = expected
        .iter()
        .map(|(name, value)| json!({ "name": name, "value": value }))
        .collect();
    let map: BTreeMap<&str, &str> = expected.into_iter().collect();
    for (line, version, arguments) in [
        ("", "v1beta2", json!(list)),
        ("--template-api v1beta1", "v1beta1", json!(map)),
    ] {
        let template = yaml(&capi(line));
        assert_eq!(
            template["apiVersion"],
            format!("bootstrap.cluster.x-k8s.io/{version}")
        );
        let spec = &template["spec"]["template"]["spec"];
        let registration = &spec["joinConfiguration"]["nodeRegistration"];
        assert_eq!(registration["name"], "{{ ds.meta_data.local_hostname }}");
        assert_eq!(registration["kubeletExtraArgs"], arguments);
    }
}

/// cloudbase-init renders with `jinja2.Template` as SYSTEM, and an input file comes with anybody's pull request.
#[test]
fn a_template_runs_nothing_on_the_machine() {
    let code = "{{ lipsum.__globals__['os'].popen('whoami').read() }}";
    let tight = "{{cycler.__init__.__globals__.os.popen('id').read()}}";
    for (input, said) in [
        (
            json!({ "name": format!("win-{code}") }),
            "template-expression",
        ),
        (
            json!({ "name": "{{ ds.meta_data.__class__ }}" }),
            "template-expression",
        ),
        (
            json!({ "labels": [format!("example.com/a={code}")] }),
            "template-expression",
        ),
        (json!({ "labels": [format!("{code}=a")] }), "label-format"),
        (
            json!({ "taints": [format!("a={code}:NoSchedule")] }),
            "template-expression",
        ),
        (
            json!({ "taints": [format!("{code}:NoSchedule")] }),
            "taint-format",
        ),
        (
            json!({ "kubeletArgs": [format!("v={tight}")] }),
            "template-expression",
        ),
        (
            json!({ "kubeletArgs": ["v={%import'os'%}"] }),
            "template-expression",
        ),
        (
            json!({ "kubeletArgs": ["v=2{#a#}"] }),
            "template-expression",
        ),
        (
            json!({ "ignorePreflightErrors": [tight] }),
            "preflight-format",
        ),
    ] {
        let test = Test::new().file("join.json", &input.to_string());
        let line = "join-data --as capi --k8s 1.36.4 --from join.json";
        test.line(line).fails(3, &[said]);
    }
    // No program of this line is surveyed, so no name is unknown.
    for k8s in ["1.36.4", "1.20.0"] {
        let given = Test::new().args(["--kubelet-arg", &format!("{tight}=1")]);
        let refused = given.line(&format!("join-data --as capi --k8s {k8s}"));
        let code = refused.run().code;
        assert!(matches!(code, Some(2 | 3)), "{k8s}: {code:?}");
    }
    // In no other form is it an expression.
    test("--k8s 1.36.4")
        .args(["--kubelet-arg", "v={%import'os'%}"])
        .fails(3, &["template-expression"]);
}

/// A value that ends the kubelet is none that a node joins with.
#[test]
fn a_compiled_in_cloud_provider_is_for_kubelets_that_have_one() {
    let run = |minor: &str, arguments: &[&str]| {
        let given = arguments.iter().flat_map(|it| ["--kubelet-arg", it]);
        test("--k8s").args([minor]).args(given)
    };
    for minor in ["1.29", "1.30", "1.33", "1.34", "1.36"] {
        for value in ["azure", "aws", "vsphere"] {
            let said = run(minor, &[&format!("cloud-provider={value}")]);
            said.fails(3, &["argument-value", "cloud-provider=external"]);
        }
        run(minor, &["cloud-provider=external"]).succeeds();
    }
    for (minor, value) in [
        ("1.25", "Azure"),
        ("1.26", "openstack"),
        ("1.27", "aws"),
        ("1.28", "aws"),
        ("1.28", "extrenal"),
    ] {
        let said = run(minor, &[&format!("cloud-provider={value}")]);
        said.fails(3, &["argument-value", "does not know this cloud provider"]);
    }
    for (minor, value) in [
        ("1.20", "openstack"),
        ("1.25", "openstack"),
        ("1.26", "aws"),
    ] {
        run(minor, &[&format!("cloud-provider={value}")]).succeeds();
    }
    run("1.28", &["cloud-provider=azure"]).succeeds();
    let freed = "feature-gates=DisableCloudProviders=false";
    run("1.30", &["cloud-provider=azure", freed]).succeeds();
    run("1.30", &["cloud-provider=aws", freed]).fails(3, &["does not know"]);
    run("1.36", &["cloud-provider=azure", freed]).fails(3, &["argument-value"]);
}

/// A value that the kubelet cannot read ends it, when the machine is there.
#[test]
fn values_have_the_form_that_the_kubelet_reads() {
    let run = |minor: &str, line: &str| {
        let given = line.split(' ').flat_map(|it| ["--kubelet-arg", it]);
        test("--k8s").args([minor]).args(given)
    };
    let refused = [
        ("1.36", "max-pods=11O", "digits alone"),
        ("1.20", "register-node=yes", "`true` or `false`"),
        ("1.36", "node-status-update-frequency=10", "`10s`"),
        (
            "1.30",
            "kube-reserved=cpu=100m;memory=1Gi",
            "cpu=500m,memory=2Gi",
        ),
        (
            "1.36",
            "eviction-hard=memory.available=500Mi",
            "memory.available<500Mi",
        ),
        ("1.36", "container-log-max-files=1", "`2` or more"),
        ("1.30", "container-log-max-size=10MB", "`10Mi`"),
        ("1.36", "v=high", "digits alone"),
        ("1.20", "tls-min-version=TLS1.2", "`VersionTLS12`"),
        ("1.36", "image-gc-high-threshold=850", "from 0 to 100"),
        (
            "1.36",
            "node-ip=10.0.0.1,10.0.0.2",
            "an IPv4 and an IPv6 address",
        ),
        ("1.36", "node-ip=10.0.0.1/24", "an IPv4 and an IPv6 address"),
        ("1.19", "node-ip=10.0.0.1,fd00::1", "write one address"),
        ("1.20", "node-ip=10.0.0.1,fd00::1", "IPv6DualStack"),
        (
            "1.28",
            "node-ip=10.0.0.1,fd00::1 cloud-provider=external",
            "CloudDualStackNodeIPs",
        ),
        ("1.30", "reserved-cpus=0,1", "kube-reserved=cpu=1"),
        ("1.36", "reserved-cpus=0", "WindowsCPUAndMemoryAffinity"),
        ("1.24", "seccomp-default=true", "Windows has no seccomp"),
        ("1.36", "topology-manager-policy=best", "`best-effort`"),
        ("1.20", "hairpin-mode=hairpin", "remove it"),
        ("1.36", "authorization-mode=Node,RBAC", "`Webhook`"),
        ("1.30", "logging-format=yaml", "`text` or `json`"),
        (
            "1.35",
            "cpu-cfs-quota-period=50ms",
            "Windows has no such period",
        ),
        ("1.36", "log-flush-frequency=5", "`10s`"),
        ("1.20", "address=localhost", "such as `0.0.0.0`"),
        (
            "1.36",
            "topology-manager-scope=node",
            "`container` or `pod`",
        ),
        ("1.36", "max-pods=-1", "`0` or more"),
        ("1.20", "read-only-port=70000", "up to 65535"),
        ("1.36", "oom-score-adj=-2000", "Windows has no such score"),
        (
            "1.36",
            "eviction-soft=memory.available<1Gi eviction-soft-grace-period=memory.available=90",
            "memory.available=1m30s",
        ),
        (
            "1.36",
            "eviction-minimum-reclaim=memory.available=5GB",
            "memory.available=500Mi",
        ),
    ];
    for (minor, line, said) in refused {
        run(minor, line).fails(3, &["argument-value", said]);
    }
    let taken = [
        (
            "1.20",
            "node-ip=10.0.0.1,fd00::1 feature-gates=IPv6DualStack=T",
        ),
        ("1.21", "node-ip=10.0.0.1,fd00::1"),
        ("1.28", "node-ip=10.0.0.1,fd00::1 cloud-provider="),
        (
            "1.28",
            "node-ip=10.0.0.1,fd00::1 cloud-provider=external feature-gates=CloudDualStackNodeIPs=true",
        ),
        ("1.29", "node-ip=10.0.0.1,fd00::1 cloud-provider=external"),
        (
            "1.36",
            "eviction-hard=nodefs.available<0%,nodefs.inodesFree<0%,imagefs.available<0% max-pods=110",
        ),
        (
            "1.30",
            "cloud-provider=azure feature-gates=DisableCloudProviders=true,DisableCloudProviders=F",
        ),
        ("1.21", "reserved-cpus=0"),
        ("1.37", "reserved-cpus=0"),
        (
            "1.36",
            "reserved-cpus=0 feature-gates=WindowsCPUAndMemoryAffinity=true",
        ),
        (
            "1.24",
            "seccomp-default=true feature-gates=SeccompDefault=true",
        ),
        ("1.25", "seccomp-default=true"),
        (
            "1.36",
            "cpu-cfs-quota-period=50ms read-only-port=0 address=::",
        ),
    ];
    for (minor, line) in taken {
        run(minor, line).succeeds();
    }
}

/// What the cluster's kubelet-config says is not known here, so this is a warning.
#[test]
fn flags_that_rest_on_another_are_warned_of() {
    let run = |line: &str| {
        let given = line.split(' ').flat_map(|it| ["--kubelet-arg", it]);
        test("--k8s 1.36").args(given).succeeds().stderr
    };
    for (line, said) in [
        (
            "eviction-soft=memory.available<1Gi",
            "`kubelet-config` has `evictionSoftGracePeriod`",
        ),
        (
            "image-gc-high-threshold=80",
            "the low threshold is 80 by itself",
        ),
        ("image-gc-low-threshold=85", "`imageGCHighThresholdPercent`"),
    ] {
        let warned = run(line);
        assert!(warned.contains(said), "{line}: {warned}");
    }
    for line in [
        "eviction-soft=memory.available<1Gi eviction-soft-grace-period=memory.available=1m30s",
        "image-gc-high-threshold=81",
        "image-gc-low-threshold=84",
        "image-gc-high-threshold=70 image-gc-low-threshold=60",
    ] {
        let warned = run(line);
        assert!(!warned.contains("kubelet-config"), "{line}: {warned}");
    }
}

/// From 1.35 on gates rest on each other, and a kubelet with one of two ends.
#[test]
fn gates_have_those_that_they_rest_on() {
    let run = |minor: &str, gates: &str| {
        let given = format!("feature-gates={gates}");
        test("--k8s").args([minor, "--kubelet-arg", given.as_str()])
    };
    let both = "GracefulNodeShutdownBasedOnPodPriority=false,WindowsGracefulNodeShutdown=false";
    for (minor, gates, said) in [
        ("1.35", "GracefulNodeShutdown=false", both),
        (
            "1.37",
            "GracefulNodeShutdown=F,WindowsGracefulNodeShutdown=0",
            "add `GracefulNodeShutdownBasedOnPodPriority=false` to",
        ),
        (
            "1.36",
            "NodeDeclaredFeatures=false",
            "add `ExtendWebSocketsToKubelet=false,InPlacePodLevelResourcesVerticalScaling=false,",
        ),
        ("1.36", "GangScheduling=true", "add `GenericWorkload=true`"),
    ] {
        run(minor, gates).fails(3, &["argument-value", said]);
    }
    for (minor, gates) in [
        ("1.34", "GracefulNodeShutdown=false".to_owned()),
        ("1.36", format!("GracefulNodeShutdown=false,{both}")),
        ("1.36", "GracefulNodeShutdown=true".to_owned()),
    ] {
        run(minor, &gates).succeeds();
    }
}

/// Gates with a wrong name would be asked for in vain.
#[test]
fn gates_that_rest_on_others_are_those_of_a_kubelet() {
    let trees = read_trees(None).expect("the catalog");
    let flags = trees.catalog.load_flags().expect("the flags");
    let programs = trees.catalog.load_programs().expect("the programs");
    let known: Vec<&NameRange> = programs.list_gates("kubelet").collect();
    let companions = flags.flag_companions.iter();
    let named = companions.flat_map(|rule| [&rule.flag, &rule.needs]);
    let list: Vec<&NameRange> = programs.list_flags("kubelet").collect();
    for name in named {
        assert!(list.iter().any(|range| range.has_name(name)), "{name}");
    }
    // Gates that are new in 1.37 are not surveyed.
    let surveyed = ["1.35.0", "1.36.0"].map(|text| text.parse::<Version>().expect("a version"));
    let mut rules = flags.gate_needs.clone();
    rules.retain(|rule| surveyed.iter().any(|it| rule.versions.contains(it)));
    for rule in &rules {
        for state in std::iter::once(&rule.gate).chain(&rule.needs) {
            let (gate, _) = state.split_once('=').expect("GATE=STATE");
            assert!(known.iter().any(|range| range.has_name(gate)), "{gate}");
        }
    }
}

/// A name that no kubelet of Windows has would be one that nobody can give.
#[test]
fn named_flags_are_those_of_a_kubelet() {
    let trees = read_trees(None).expect("the catalog");
    let flags = trees.catalog.load_flags().expect("the flags");
    let programs = trees.catalog.load_programs().expect("the programs");
    let known: Vec<&NameRange> = programs.list_flags("kubelet").collect();
    let free = flags.join_flags.iter().flat_map(|rule| &rule.names);
    let formed = flags.flag_forms.iter().flat_map(|rule| &rule.names);
    for name in free.chain(formed) {
        let mut names = known.iter().flat_map(|range| &range.names);
        assert!(names.any(|flag| matches_pattern(name, flag)), "{name}");
    }
}

/// Gates as the kubelets themselves take them, those that their help hides too.
#[test]
fn gates_are_those_that_the_kubelet_accepts() {
    for (minor, gates) in [
        ("1.27", "WindowsHostProcessContainers=true"),
        ("1.34", "SidecarContainers=true"),
        (
            "1.36",
            "SidecarContainers=True,InPlacePodVerticalScaling=1,",
        ),
        ("1.20", "ExecProbeTimeout=false"),
        ("1.30", "ExecProbeTimeout=f"),
        ("1.36", ""),
    ] {
        test("")
            .args([
                "--k8s",
                minor,
                "--kubelet-arg",
                &format!("feature-gates={gates}"),
            ])
            .succeeds();
    }
    for (minor, gates, code) in [
        ("1.34", "WinDSR=false", "gate-locked"),
        ("1.27", "WindowsHostProcessContainers=false", "gate-locked"),
        ("1.21", "WindowsHostProcessContainers=true", "gate-unknown"),
        ("1.36", "SidecarContainers=yes", "gate-format"),
    ] {
        test("")
            .args([
                "--k8s",
                minor,
                "--kubelet-arg",
                &format!("feature-gates={gates}"),
            ])
            .fails(3, &[code]);
    }
}

/// The node leaves out what earlier kubelets had, so that a template for several lines is no error.
#[test]
fn arguments_that_the_node_leaves_out_are_warned_of() {
    for (line, said) in [
        (
            "--k8s 1.28 --kubelet-arg feature-gates=WindowsHostProcessContainers=true",
            "no feature gate `WindowsHostProcessContainers`, so the node leaves it out: only kubelets from 1.22 to 1.27",
        ),
        (
            "--k8s 1.37 --kubelet-arg feature-gates=WindowsHostProcessContainers=false",
            "only kubelets from 1.22 to 1.27 have it",
        ),
        (
            "--k8s 1.37 --kubelet-arg feature-gates=SidecarContainers=true,WindowsHostNetwork=true",
            "no feature gate `SidecarContainers`, so the node leaves it out: only kubelets from 1.28 to 1.36 have it",
        ),
        (
            "--k8s 1.36 --kubelet-arg network-plugin=cni",
            "no flag `--network-plugin`, so the node leaves it out: only kubelets from 1.17 to 1.23 have it",
        ),
        (
            "--k8s 1.37 --kubelet-arg pod-infra-container-image=x",
            "no flag `--pod-infra-container-image`, so the node leaves it out: only kubelets from 1.17 to 1.34 have it",
        ),
    ] {
        let ran = test(line).succeeds();
        assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
    }
}

/// What the programs of a line that is not surveyed take is not known: a new name is no error.
#[test]
fn a_line_that_is_not_surveyed_is_warned_of() {
    let catalog = forget_survey().env("T", TOKEN);
    let out = catalog.bare().run(&format!(
        "join-data --endpoint api.example.com:6443 --token-env T --ca-cert-hash {HASH} --k8s 1.37 --manifests mine \
         --format json --kubelet-arg feature-gates=NewIn137=true --kubelet-arg new-flag=1"
    ));
    let warnings = yaml(&out.stdout)["warnings"].to_string();
    for said in ["1.37 are not surveyed", "`NewIn137`", "`--new-flag`"] {
        assert!(warnings.contains(said), "{warnings}");
        assert!(out.stderr.contains(said), "{}", out.stderr);
    }
    let manifests = catalog.bare().run(
        "cluster-manifests --k8s 1.37 --cni flannel-overlay --endpoint a.example:6443 --manifests mine --format json",
    );
    let warnings = yaml(&manifests.stdout)["warnings"].to_string();
    assert!(warnings.contains("1.37 are not surveyed"), "{warnings}");
}
