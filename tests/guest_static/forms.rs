//! Patterns of scripts, held against what Rust reads of the same texts, and against what templates become.

use imagegen::base::value::HostPattern;
use regex_lite::Regex;
use url::Url;

use crate::support::root;

fn read(name: &str) -> String {
    let path = root().join("provisioners").join(name);
    std::fs::read_to_string(path).expect(name)
}

/// The pattern between single quotes that follows a text of a script.
fn read_form(name: &str, before: &str) -> String {
    let script = read(name);
    let (_, rest) = script.split_once(before).expect(before);
    rest.split_once('\'').unwrap().0.to_owned()
}

fn find_all(form: &str, text: &str) -> Vec<String> {
    let form = Regex::new(form).unwrap();
    form.captures_iter(text)
        .map(|it| it[1].to_owned())
        .collect()
}

/// URLs that `Split-DownloadUrl` takes, with their hosts.
const TAKEN: [(&str, &str); 12] = [
    ("https://files.example/a", "files.example"),
    ("https://Files.Example:8443/a?b=@c#d", "Files.Example"),
    ("https://files.example?x@evil.example/", "files.example"),
    ("https://files.example#@evil.example/", "files.example"),
    (
        "https://a_b.files.example/{a,b}[1-3]|^",
        "a_b.files.example",
    ),
    ("https://xn--bcher-kva.example", "xn--bcher-kva.example"),
    ("https://files.example./a", "files.example."),
    ("https://[::1]:8443/a", "[::1]"),
    ("http://127.0.0.1/a", "127.0.0.1"),
    ("https://127.1/a", "127.1"),
    ("https://0x7f000001/a", "0x7f000001"),
    ("https://[0:0:0:0:0:0:0:1]/a", "[0:0:0:0:0:0:0:1]"),
];

const REFUSED: [&str; 21] = [
    "https://user@files.example/a",
    "https://@files.example/a",
    "https://files.example:80@evil.example/a",
    r"https://evil.example\@files.example/a",
    r"https://files.example/a\b",
    "https://files%2eexample/a",
    "https://files.example%00.evil.example/a",
    "https://[fe80::1%25eth0]/a",
    "https://b\u{fc}cher.example/a",
    "https://files\u{3002}example/a",
    "https://files.example/\u{fc}",
    "https://files.example/a b",
    "https://files.example/a\"b",
    "https://files.example/a\n",
    "https://files.example/a\nhttps://evil.example/",
    "https://files.example:123456/a",
    "https://*.example/a",
    "https:///files.example/a",
    "https:/files.example/a",
    "files.example/a",
    "",
];

/// The host that the engine compares is the host that the program's own parser reads, and no pattern fits another
/// spelling of it.
#[test]
fn hosts_are_read_as_the_program_reads_them() {
    let form = Regex::new(&read_form("engine/Downloads.ps1", "$form = '")).unwrap();
    for (url, expected) in TAKEN {
        assert_eq!(&form.captures(url).expect(url)[2], expected);
        let read = Url::parse(url).unwrap();
        assert!(
            read.username().is_empty() && read.password().is_none(),
            "{url}"
        );
        let found = expected.to_ascii_lowercase();
        let is_same = read.host_str() == Some(found.as_str());
        let fits_none = found.parse::<HostPattern>().is_err();
        assert!(is_same || fits_none, "{url}: {:?}", read.host_str());
    }
    for url in REFUSED {
        assert!(!form.is_match(url), "{url:?}");
    }
}

/// Every pattern that a policy can hold is one that the engine takes.
#[test]
fn the_engine_takes_the_hosts_of_a_policy() {
    let form = Regex::new(&read_form("engine/Selection.ps1", "$form = '")).unwrap();
    let taken = "dl.k8s.io *.Example.com localhost 127.0.0.1 [::1] [2001:db8::a] xn--a-0ga.example";
    for pattern in taken.split(' ') {
        assert!(
            form.is_match(pattern) && pattern.parse::<HostPattern>().is_ok(),
            "{pattern}"
        );
    }
    let refused = "* *. f* ?iles.example [a-z]iles.example a.*.example a.example:443 a.example. ";
    for text in refused.split(' ') {
        assert!(
            !form.is_match(text) && text.parse::<HostPattern>().is_err(),
            "{text}"
        );
    }
}

/// The script finds the port of the kubelet's health in what kubeadm writes.
#[test]
fn the_port_of_the_kubelet_is_found_in_its_configuration() {
    let script = read("node/Network.ps1");
    let (_, rest) = script.split_once("function Select-YamlValue").unwrap();
    let (_, rest) = rest.split_once("$form = '").unwrap();
    let form = rest.split_once("' -f").unwrap().0.replace("''", "'");
    let text = "healthzBindAddress: 127.0.0.1\nhealthzPort: 10348\nhttpCheckFrequency: 0s\n";
    for (key, value) in [
        ("healthzBindAddress", "127.0.0.1"),
        ("healthzPort", "10348"),
    ] {
        assert_eq!(find_all(&form.replace("{0}", key), text), [value]);
    }
}

/// The scripts take card and address out of what each template makes of them, and no network of the cluster for one.
#[test]
fn addresses_of_a_node_are_found_in_its_configuration() {
    let card = read_form("node/Bridge.ps1", "$Text -notmatch '");
    let bridge = read("node/Bridge.ps1");
    let (_, rest) = bridge.split_once("function Get-ConfiguredAddress").unwrap();
    let (_, rest) = rest.split_once("$Text -match '").unwrap();
    let address = rest.split_once('\'').unwrap().0;
    // Of Docker and of containerd.
    for (name, form, count) in [
        ("cni-plain.conf", card.as_str(), 2),
        ("cni-plain.conf", address, 3),
        ("cni-flannel.conf", address, 3),
        ("cni-calico.conf", address, 0),
    ] {
        let filled = read(&format!("templates/{name}")).replace("@NODE_ADDRESS@", "10.1.18.7");
        let filled = filled.replace("{{ network.services }}", "10.96.0.0/12");
        assert_eq!(find_all(form, &filled), vec!["10.1.18.7"; count], "{name}");
    }
}
