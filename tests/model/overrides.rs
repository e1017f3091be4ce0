//! Overrides on the command line.

use imagegen::base::url::HttpUrl;
use imagegen::model::component::{PayloadKind, SignatureKind};
use imagegen::model::overrides::{Overrides, set_overrides};

#[test]
fn fields_are_set_one_by_one() {
    let mut overrides = Overrides::new();
    let digest = format!("kubelet.sha256={}", "a".repeat(64));
    let texts = [
        "kubelet.url=https://x.example/{version}/kubelet.exe?sig=s3cret",
        &digest,
        "kubelet.size=12",
        "hns.psm1.url=https://x.example/a=b",
        "kubelet.signature.url=https://x.example/kubelet.sig",
        "kubelet.signature.key=cosign.pub",
        "kubelet.signature.kind=minisign",
        "kubelet.kind=tar.gz",
    ];
    for text in texts {
        set_overrides(&mut overrides, &[text.to_owned()]).expect(text);
    }
    let kubelet = &overrides["kubelet"];
    assert_eq!(kubelet.size, Some(12));
    let url = kubelet.url.as_ref().expect("url");
    assert_eq!(
        url.request_url(),
        "https://x.example/{version}/kubelet.exe?sig=s3cret"
    );
    assert_eq!(kubelet.kind, Some(PayloadKind::TarGz));
    let signature = kubelet.signature.as_ref().expect("signature");
    assert_eq!(signature.kind, SignatureKind::Minisign);
    assert_eq!(signature.key.as_deref(), Some("cosign.pub"));
    assert_eq!(
        overrides["hns.psm1"].url.as_ref().map(HttpUrl::public_url),
        Some("https://x.example/a=b")
    );
}

#[test]
fn other_texts_are_refused() {
    for (text, part) in [
        ("kubelet", "COMPONENT.FIELD=VALUE"),
        ("kubelet=1", "COMPONENT.FIELD=VALUE"),
        ("kubelet.uri=x", "one of url, sha256"),
        (".url=x", "COMPONENT.FIELD=VALUE"),
        ("kubelet.size=many", "not a number"),
        ("kubelet.kind=rar", "unknown value `rar`"),
        (
            "kubelet.url=mirror.example",
            "expected `https://` and a host",
        ),
        ("kubelet.sha256=aa", "64 lower-case hexadecimal digits"),
        (
            "kubelet.signature.key=cosign.pub",
            "the key `url` is missing",
        ),
    ] {
        let error = set_overrides(&mut Overrides::new(), &[text.to_owned()]).expect_err(text);
        assert!(error.contains(part), "{text}: {error}");
    }
}
