//! Options with values, and those that act on the host alone.

use super::effects::Verb;

/// An option with values of which one at least changes something, or is refused.
pub struct Sample {
    pub verb: Verb,
    /// The whole words, by value: one value may be what the situation has by itself.
    pub words: &'static [&'static str],
}

impl Sample {
    pub fn option(&self) -> &'static str {
        let first = self.words[0].split(' ').next();
        first
            .and_then(|word| word.strip_prefix("--"))
            .expect("an option")
    }
}

/// An option that decides nothing of the machine or the cluster.
pub struct HostOption {
    pub verb: Verb,
    pub name: &'static str,
    pub reason: &'static str,
}

const fn build(words: &'static [&'static str]) -> Sample {
    Sample {
        verb: Verb::Build,
        words,
    }
}

const fn cluster(words: &'static [&'static str]) -> Sample {
    Sample {
        verb: Verb::ClusterManifests,
        words,
    }
}

const fn join(words: &'static [&'static str]) -> Sample {
    Sample {
        verb: Verb::JoinData,
        words,
    }
}

pub const SAMPLES: &[Sample] = &[
    build(&["--target qemu"]),
    build(&["--windows 2019", "--windows 2022"]),
    build(&["--k8s 1.30", "--k8s 1.20"]),
    build(&["--runtime containerd", "--runtime docker"]),
    build(&["--cni none", "--cni flannel-overlay"]),
    build(&["--host-access services", "--host-access wins"]),
    build(&["--join templates"]),
    build(&["--join none"]),
    build(&["--delivery media"]),
    build(&["--delivery mirror"]),
    build(&["--component crictl=1.30.0", "--component crictl=1.31.1"]),
    build(&["--component nssm=2.24"]),
    build(&["--component flannel=0.28.9", "--component flannel=0.25.1"]),
    build(&["--component wins=0.5.3-r2"]),
    build(&["--component csi-proxy=1.2.1"]),
    build(&["--var vm_size=Standard_D8s_v3"]),
    build(&[
        "--image mcr.microsoft.com/windows/nanoserver@sha256:abababababababababababababababababababababababababababababababab",
    ]),
    build(&["--images workloads"]),
    build(&["--feature smb"]),
    build(&["--feature static-address"]),
    build(&["--feature dual-stack"]),
    build(&["--feature windows-taint"]),
    build(&["--feature cluster-reservations"]),
    build(&["--updates SecurityUpdates"]),
    build(&["--registry-mirror docker.io=https://mirror.example"]),
    build(&["--registry-mirror quay.io=https://mirror.example"]),
    build(&["--http-proxy http://proxy.example:3128"]),
    build(&["--https-proxy http://proxy.example:3128"]),
    build(&["--no-proxy 10.0.0.0/8,.example.com"]),
    build(&[
        "--override kubelet.url=https://own.example/kubelet.exe --override kubelet.sha256=abababababababababababababababababababababababababababababababab",
    ]),
    build(&["--overrides overrides.json"]),
    cluster(&["--k8s 1.30", "--k8s 1.20"]),
    cluster(&["--runtime containerd", "--runtime docker"]),
    cluster(&["--cni none --hns-network own", "--cni flannel-overlay"]),
    cluster(&["--host-access services", "--host-access wins"]),
    cluster(&["--component csi-proxy=1.2.1 --with csi-proxy"]),
    cluster(&["--pod-subnet 10.245.0.0/16"]),
    cluster(&["--service-subnet 10.112.0.0/12"]),
    cluster(&["--node-subnet 10.1.0.0/24"]),
    cluster(&["--dns 10.96.0.20"]),
    cluster(&["--domain example.internal"]),
    cluster(&["--hns-network own"]),
    cluster(&["--flannel-namespace own"]),
    cluster(&["--image kube-proxy-wins=own.example/kube-proxy:1"]),
    cluster(&["--image hostprocess-base=own.example/base:1"]),
    cluster(&["--pipe-account kube-system:own"]),
    cluster(&["--with csi-proxy"]),
    cluster(&["--with hypervisor"]),
    join(&["--k8s 1.30", "--k8s 1.20"]),
    join(&["--runtime docker", "--runtime containerd"]),
    join(&["--from join.json"]),
    join(&["--endpoint other.example.com:443"]),
    join(&[
        "--ca-cert-hash sha256:cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd",
    ]),
    join(&["--discovery-timeout 7m0s"]),
    join(&["--name win-7"]),
    join(&["--label a=b"]),
    join(&["--taint os=windows:NoSchedule"]),
    join(&["--kubelet-arg max-pods=77"]),
    join(&["--ignore-preflight-error all"]),
    join(&["--as ps1"]),
    join(&[
        "--as capi --template-api v1beta1",
        "--as capi --template-api v1beta2",
    ]),
    join(&["--template-api v1beta1"]),
    join(&["--signed-scripts"]),
    join(&["--as ps1 --signed-scripts"]),
];

const fn host(verb: Verb, name: &'static str, reason: &'static str) -> HostOption {
    HostOption { verb, name, reason }
}

const CHOICE: &str = "chooses images of a definition, and what happens to the others";
const FILE: &str = "names the file that options are read from or results are written to";
const PROOF: &str =
    "decides which proofs are demanded: the bytes have the digests of the plan either way";
const FETCH: &str = "decides how the building machine fetches files that have the plan's digests";
const BAKE: &str = "decides how Packer runs";

pub const HOST_OPTIONS: &[HostOption] = &[
    host(Verb::Build, "all", CHOICE),
    host(Verb::Build, "keep-going", CHOICE),
    host(Verb::Build, "fail-fast", CHOICE),
    host(Verb::Build, "jobs", CHOICE),
    host(Verb::Build, "config", FILE),
    host(Verb::Build, "lock", FILE),
    host(Verb::Build, "locked", FILE),
    host(Verb::Build, "ignore-lock", FILE),
    host(Verb::Build, "out", FILE),
    host(Verb::Build, "force", FILE),
    host(
        Verb::Build,
        "image-version",
        "is part of the image's name alone",
    ),
    host(Verb::Build, "waive", PROOF),
    host(Verb::Build, "allow-http", PROOF),
    host(Verb::Build, "allow-old", PROOF),
    host(Verb::Build, "policy", PROOF),
    host(
        Verb::Build,
        "scripts",
        "gives the scripts of the payload, whose digests the plan has",
    ),
    host(Verb::Build, "mirror", FETCH),
    host(Verb::Build, "store", FETCH),
    host(Verb::Build, "offline", FETCH),
    host(Verb::Build, "proxy", FETCH),
    host(Verb::Build, "ca-file", FETCH),
    host(Verb::Build, "allow-header-env", FETCH),
    host(Verb::Build, "no-bake", BAKE),
    host(Verb::Build, "packer", BAKE),
    host(Verb::Build, "work", BAKE),
    host(Verb::Build, "pass-env", BAKE),
    host(Verb::Build, "on-error", BAKE),
    host(Verb::ClusterManifests, "config", FILE),
    host(Verb::ClusterManifests, "out", FILE),
    host(Verb::ClusterManifests, "policy", PROOF),
    host(Verb::ClusterManifests, "allow-http", PROOF),
    host(Verb::JoinData, "config", FILE),
    host(Verb::JoinData, "out", FILE),
    host(Verb::JoinData, "policy", PROOF),
    host(Verb::JoinData, "allow-http", PROOF),
    host(
        Verb::JoinData,
        "ca-cert",
        "is another form of `--ca-cert-hash`; tests/join_data.rs compares them",
    ),
    host(
        Verb::JoinData,
        "discovery-kubeconfig",
        "is another form of endpoint and CA; tests/join_data.rs compares them",
    ),
    host(
        Verb::ClusterManifests,
        "endpoint",
        "is asked for where an agent reads it; the same line serves every pod network",
    ),
    host(
        Verb::JoinData,
        "token",
        "is refused: a token is no argument",
    ),
    host(Verb::JoinData, "token-env", "names where the token is read"),
    host(
        Verb::JoinData,
        "token-file",
        "names where the token is read",
    ),
];
