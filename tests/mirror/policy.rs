//! The policy that is shipped as an example, on a provider's own site.

use serde_json::{Value, json};

use super::signers::signed_by_cosign;
use super::site::{Site, proven};
use crate::detached::tools::bench;
use crate::support::root;

const OLD: &str =
    "--target azure --k8s 1.20.0 --runtime containerd --host-access services --cni none";

#[test]
fn the_regulated_policy_is_satisfied_by_signed_builds_alone() {
    let Some(bench) = bench(&["openssl"]) else {
        return;
    };
    let Some(mut site) = Site::new() else { return };
    site.stock(OLD);
    let policy = std::fs::read(root().join("manifests/policy/regulated.json")).expect("policy");
    let mut policy: Value = serde_json::from_slice(&policy).expect("JSON");
    // The support of 1.20 has ended; other tests set the day.
    policy["refuseUnsupported"] = json!(false);
    // Nodes pull the pause image from its registry; the tool of the pod network is checked by digest.
    policy["allowedHosts"] = json!(["127.0.0.1", "mcr.microsoft.com", "registry.k8s.io"]);
    policy["trustedDigests"] =
        json!([{"digest": site.overrides["hns.psm1"]["sha256"], "components": ["hns.psm1"]}]);
    site.write("policy.json", policy.to_string().as_bytes());
    let lock = format!("lock {OLD} --policy policy.json");
    let unsigned = "crictl 1.20.0: it must be proven by authenticode or cosign-key";
    site.fails(
        &lock,
        3,
        &[
            "policy regulated",
            unsigned,
            "as `signed-programs` requires",
            "override crictl with",
        ],
    );

    let programs = ["kubernetes-node", "containerd", "crictl", "cloudbase-init"];
    for (component, end) in programs
        .iter()
        .zip([".tar.gz", ".tar.gz", ".tar.gz", ".msi"])
    {
        signed_by_cosign(&bench, &mut site, component, end);
    }
    // A key that only an override names is no anchor.
    let key = "an override uses the key with SHA-256";
    site.fails(&lock, 3, &["crictl 1.20.0", key, "[policy-trusted-keys]"]);
    let shown = site.run(&lock).stderr;
    let digest = shown
        .split(key)
        .nth(1)
        .and_then(|rest| rest.split_whitespace().next())
        .expect("a digest");
    policy["trustedKeys"] = json!([{"key": digest.trim_end_matches(','), "components": programs}]);
    site.write("policy.json", policy.to_string().as_bytes());
    // The rules hold for bytes too, and not for what is promised about them alone.
    site.remove("/own/crictl.tar.gz.sig");
    site.fails(
        &format!("{lock} --prove"),
        5,
        &[
            "crictl 1.20.0 failed verification",
            "cosign-key",
            "[proof-missing",
        ],
    );
    signed_by_cosign(&bench, &mut site, "crictl", ".tar.gz");
    site.succeeds(&format!("{lock} --prove"));
    for component in programs {
        let locked = site.locked(component);
        assert!(
            proven(&locked, "pin") && proven(&locked, "cosign-key"),
            "{locked:#}"
        );
    }
    site.succeeds(&format!("fetch {OLD} --policy policy.json --locked"));
    site.fails(
        "lock --target azure --k8s 1.20.0 --runtime containerd --host-access wins --policy policy.json",
        3,
        &[
            "wins 0.5.5: the component is forbidden",
            "[policy-forbidden-components]",
            "--host-access services",
        ],
    );
    policy["allowedHosts"] = json!(["artifacts.example.com"]);
    site.write("policy.json", policy.to_string().as_bytes());
    site.fails(&lock, 3, &["127.0.0.1", "[policy-allowed-hosts]"]);
}
