//! Patterns of a policy.

use imagegen::model::policy::{AllowedHosts, matches_pattern};

#[test]
fn patterns_end_in_a_star() {
    assert!(matches_pattern("kube*", "kubelet"));
    assert!(matches_pattern("kubelet", "kubelet"));
    assert!(!matches_pattern("kubelet", "kubelet2"));
    assert!(!matches_pattern("*kube", "kube"));
}

#[test]
fn hosts_are_matched_whole() {
    let hosts = AllowedHosts {
        policy: "p".to_owned(),
        patterns: ["a.example", "*.B.example"]
            .map(|text| text.parse().expect(text))
            .into(),
    };
    for (host, allowed) in [
        ("a.example", true),
        ("A.Example", true),
        ("x.a.example", false),
        ("a.example.evil", false),
        ("x.b.example", true),
        ("x.y.b.example", true),
        ("b.example", false),
        ("xb.example", false),
    ] {
        assert_eq!(hosts.allows_host(host), allowed, "{host}");
    }
}
