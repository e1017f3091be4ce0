//! `NO_PROXY` as curl and Go read it.

use imagegen::base::no_proxy::{ProxyException, ProxyExceptions};
use imagegen::base::value::NoProxy;
use reqwest::Url;

#[test]
fn hosts_without_proxy_are_compared_in_one_form() {
    // List, URLs that are asked directly, URLs that are asked through the proxy.
    let rows: &[(&str, &[&str], &[&str])] = &[
        (
            "example.com",
            &[
                "https://example.com/",
                "https://EXAMPLE.com./",
                "http://a.example.com:8080/",
                "https://%65xample.com/",
            ],
            &[
                "https://notexample.com/",
                "https://example.com.evil.example/",
            ],
        ),
        (
            "EXAMPLE.Com.",
            &["https://example.com/", "https://a.example.com/"],
            &["https://example.org/"],
        ),
        (
            ".example.com",
            &["https://example.com/", "https://a.example.com/"],
            &["https://notexample.com/"],
        ),
        (
            "*.example.com",
            &["https://a.example.com/", "https://a.b.example.com/"],
            &["https://example.com/", "https://notexample.com/"],
        ),
        (
            "XN--Bcher-kva.Example",
            &[
                "https://xn--bcher-kva.example/",
                "https://a.xn--bcher-kva.example/",
            ],
            &["https://bucher.example/"],
        ),
        (
            "*",
            &[
                "https://example.com/",
                "https://10.1.2.3/",
                "https://[fd00::1]/",
            ],
            &[],
        ),
        (
            "example.com:443",
            &[
                "https://example.com/",
                "https://a.example.com:443/",
                "http://example.com:443/",
            ],
            &["https://example.com:8443/", "http://example.com/"],
        ),
        (
            "10.1.2.3, 10.9.0.0/16 192.168.1.7:8080",
            &[
                "https://10.1.2.3/",
                "https://10.9.255.1/",
                "http://192.168.1.7:8080/",
                "http://0xa090001/",
            ],
            &[
                "https://10.1.2.4/",
                "https://10.10.0.1/",
                "http://192.168.1.7/",
            ],
        ),
        ("127.1", &["http://127.0.0.1/"], &["http://127.0.1.1/"]),
        (
            "fd00:1::/32,[2001:db8::1],[2001:db8::2]:8443",
            &[
                "https://[fd00:1:2::3]/",
                "https://[2001:DB8:0:0::1]:9/",
                "https://[2001:db8::2]:8443/",
            ],
            &[
                "https://[fd00:2::1]/",
                "https://[2001:db8::2]/",
                "https://[2001:db8::3]/",
            ],
        ),
        (
            "10.0.0.1,::ffff:10.0.0.2",
            &["https://[::ffff:10.0.0.1]/", "https://10.0.0.2/"],
            &["https://[::ffff:10.0.0.3]/"],
        ),
        (
            "0.0.0.0/0",
            &["https://1.2.3.4/"],
            &["https://[::1]/", "https://a.example/"],
        ),
        (
            "::/0",
            &["https://[::1]/"],
            &["https://1.2.3.4/", "https://a.example/"],
        ),
        // No entry: a network that is too narrow, a port that is none, a name inside an address.
        (
            "10.0.0.0/33,example.com:https,3,,.,B\u{dc}cher.example,%C3%9CX.example",
            &[],
            &[
                "https://10.0.0.1/",
                "https://example.com/",
                "https://1.2.3.3/",
            ],
        ),
    ];
    for (list, direct, proxied) in rows {
        let exceptions = ProxyExceptions::parse_list(list);
        for (urls, expected) in [(direct, true), (proxied, false)] {
            for url in *urls {
                let parsed = Url::parse(url).expect(url);
                let host = parsed.host_str().expect("a host");
                let found = exceptions.contains(host, parsed.port_or_known_default());
                assert_eq!(found, expected, "{url} with NO_PROXY={list}");
            }
        }
    }
}

#[test]
fn an_entry_is_written_in_its_normal_form() {
    for (entry, expected) in [
        ("*", "*"),
        ("Example.COM.", "example.com"),
        (".Example.com", ".example.com"),
        ("*.example.com:8443", "*.example.com:8443"),
        ("[FD00::1]", "fd00::1"),
        ("[fd00:0::1]:80", "[fd00::1]:80"),
        ("10.0.0.0/8", "10.0.0.0/8"),
        ("127.1", "127.0.0.1"),
    ] {
        let parsed = ProxyException::parse(entry).expect(entry);
        assert_eq!(parsed.to_string(), expected);
    }
}

#[test]
fn a_list_for_nodes_has_hosts_and_networks_alone() {
    for list in [
        "localhost,.cluster.local,10.0.0.0/8",
        "<local>, [::1]",
        "10.*",
        "*",
    ] {
        list.parse::<NoProxy>().expect(list);
    }
    for list in [
        "10.0.0.0/33",
        "a.example:https",
        "[::1",
        ".",
        "a.example,,b.example",
    ] {
        assert!(list.parse::<NoProxy>().is_err(), "{list}");
    }
}
