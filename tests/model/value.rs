//! Values that a user gives: each type takes its form alone.

use std::net::Ipv4Addr;
use std::str::FromStr;

use imagegen::base::value::{
    Cidr, ComponentName, DnsName, HostPattern, ImageReference, Ipv4Address, NoProxy, Registry,
    Sha256, Sha512, StepId, VolumePlugin,
};
use imagegen::windows::value::{
    AccountName, HexBytes, KbId, Ports, RegistryKey, RemoteAddress, ServiceName, WindowsPath,
};

#[test]
fn networks_are_read_strictly() {
    for (text, good) in [
        ("10.244.0.0/16", true),
        ("192.168.1.1/32", true),
        ("10.244.0.1/16", false),
        ("10.244.0.0", false),
        ("10.244.0.0/33", false),
        ("10.0.0.0/99", false),
        ("10.0.0.0/0", false),
        ("fd00::/64", false),
        ("banana", false),
        ("x/8", false),
    ] {
        assert_eq!(text.parse::<Cidr>().is_ok(), good, "{text}");
    }
    let network = |text: &str| text.parse::<Cidr>().expect(text);
    assert!(network("10.0.0.0/8").overlaps(&network("10.1.0.0/16")));
    assert!(!network("10.96.0.0/12").overlaps(&network("10.244.0.0/16")));
    assert!(network("10.96.0.0/12").contains(Ipv4Addr::new(10, 111, 0, 1)));
    assert!(!network("10.96.0.0/12").contains(Ipv4Addr::new(10, 112, 0, 1)));
}

#[test]
fn texts_of_another_form_are_refused() {
    fn refused<T: FromStr>(texts: &[&str]) {
        for text in texts {
            assert!(text.parse::<T>().is_err(), "{text}");
        }
    }
    let hex = "0".repeat(64);
    let empty = imagegen::base::digest::sha256_hex(b"");
    refused::<Sha256>(&["", "0", &"G".repeat(64), &empty, &"A".repeat(64)]);
    refused::<Sha512>(&[&hex]);
    refused::<ImageReference>(&[
        "mcr.example/x:1",
        &format!("@sha256:{hex}"),
        &format!("a b@sha256:{hex}"),
    ]);
    refused::<ImageReference>(&[
        &format!("MCR.example/x@sha256:{hex}"),
        &format!("mcr.example/X:1@sha256:{hex}"),
        &format!("mcr.example//x:1@sha256:{hex}"),
        &format!("mcr.example./x:1@sha256:{hex}"),
        &format!("mcr.example/./x:1@sha256:{hex}"),
        &format!("mcr.example/a/../x:1@sha256:{hex}"),
        &format!("mcr.example:0/x@sha256:{hex}"),
        &format!("mcr.example/x:1:2@sha256:{hex}"),
        &format!("mcr.example/x:@sha256:{hex}"),
        &format!("mcr.example/a-/x@sha256:{hex}"),
        &format!("mcr.example/@sha256:{hex}"),
    ]);
    assert!(
        format!("mcr.example/x:LTSC@sha256:{hex}")
            .parse::<ImageReference>()
            .is_ok()
    );
    refused::<Registry>(&[
        "",
        "a b",
        "Docker.io",
        "https://docker.io",
        "docker.io:0",
        "x:99999",
        "x’y",
    ]);
    refused::<ComponentName>(&["", "Kubelet", "a b", "../a", "a/b", ".a", "a.", "-a", "ä"]);
    refused::<StepId>(&["", "A", "a.b", "a/b", "010_x", "-a"]);
    refused::<HostPattern>(&[
        "",
        "*",
        "*.",
        "a.*",
        "https://a.example",
        "a.example:443",
        "a_b",
        "[::1",
        "*.[::1]",
        "a..b",
        "-a.example",
        "a.example.",
        "127.1",
    ]);
    for text in [
        "dl.k8s.io",
        "*.Example.com",
        "127.0.0.1",
        "[::1]",
        "localhost",
    ] {
        assert!(text.parse::<HostPattern>().is_ok(), "{text}");
    }
    assert!("hns.v2.psm1".parse::<ComponentName>().is_ok());
    refused::<VolumePlugin>(&["x", "a~", "~b", "a~b/c", "a~..", "a~b’c"]);
    refused::<NoProxy>(&["", "a,,b", "a;b", "a’b", "$env:x"]);
    refused::<DnsName>(&["", "A", "a..b", "-a", "a_b", "’"]);
    refused::<Ipv4Address>(&["10.96.0", "::1", "10.96.0.256"]);
    assert!(
        format!("mcr.example:5000/a/b:1@sha256:{hex}")
            .parse::<ImageReference>()
            .is_ok()
    );
    assert!(
        "10.0.0.0/8, .svc,*.x,<local>,[::1]"
            .parse::<NoProxy>()
            .is_ok()
    );
    assert!("registry.example:5000".parse::<Registry>().is_ok());
}

#[test]
fn texts_that_windows_does_not_take_are_refused() {
    fn refused<T: std::str::FromStr>(texts: &[&str]) {
        for text in texts {
            assert!(text.parse::<T>().is_err(), "{text}");
        }
    }
    refused::<KbId>(&["KB12", "5058411", "kb5058411", "KB50584111", "KB505841x"]);
    refused::<Ports>(&["", "0", "65536", "9-8", "any", "1-2-3", " 1", "+1"]);
    refused::<AccountName>(&[
        "",
        "a/b",
        "a\\b",
        "...",
        "a@b",
        "a-name-of-21-letters!",
        "a\u{7}",
    ]);
    refused::<RegistryKey>(&[
        r"HKCU:\Software",
        r"HKLM:\",
        r"HKLM:\a\",
        r"HKLM:\a\\b",
        "HKLM:a",
    ]);
    refused::<ServiceName>(&["", " a", "a/b", r"a\b", "a\u{7}", &"a".repeat(257)]);
    refused::<RemoteAddress>(&[
        "",
        "banana",
        "any",
        "10.0.0.1/8",
        "10.0.0.0/255.0.0.0",
        "10.0.0.0/33",
        "10.0.0.9-10.0.0.1",
        "10.0.0.1-::2",
        "10.0.0.01",
        "2001:DB8::/32",
        "10.0.0.1,10.0.0.2",
    ]);
    for text in [
        "Any",
        "LocalSubnet4",
        "10.0.0.1",
        "10.0.0.0/8",
        "10.0.0.1-10.0.0.9",
        "2001:db8::/32",
    ] {
        assert!(text.parse::<RemoteAddress>().is_ok(), "{text}");
    }
    assert!("windows_exporter".parse::<ServiceName>().is_ok());
    refused::<HexBytes>(&["0x0", "0", "zz"]);
    assert_eq!(
        "10250".parse::<Ports>().expect("port").bounds(),
        (10250, 10250)
    );
    assert_eq!(
        "30000-32767".parse::<Ports>().expect("ports").bounds(),
        (30000, 32767)
    );
    assert!("Administrator".parse::<AccountName>().is_ok());
    assert!(
        r"HKLM:\SYSTEM\CurrentControlSet"
            .parse::<RegistryKey>()
            .is_ok()
    );
    assert!("00FF".parse::<HexBytes>().is_ok());
    let error = r"C:\k\nul"
        .parse::<WindowsPath>()
        .expect_err("a device")
        .to_string();
    assert!(error.contains("uses the device name `nul`"), "{error}");
}
