//! Texts that Windows takes in a fixed form.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::base::text::{is_digits, is_hex};
use crate::text_value;
use crate::windows::paths::find_fault;
use crate::windows::pattern::find_pattern_fault;

text_value!(
    /// The identifier of a class or of an application, in braces.
    Guid,
    is_guid,
    "an identifier: expected hexadecimal digits in braces, such as `{CCC2A336-D7F3-4818-A213-272B7924213E}`"
);

text_value!(
    /// An identifier as `powercfg.exe` and the update agent print it.
    PlainGuid,
    |text| text.to_lowercase() == text && is_guid(&format!("{{{text}}}")),
    "an identifier: expected lower-case hexadecimal digits, such as `8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c`"
);

text_value!(
    /// Text that a mandatory parameter of the guest's scripts takes: PowerShell refuses an empty one
    /// (<https://learn.microsoft.com/powershell/module/microsoft.powershell.core/about/about_functions_advanced_parameters>,
    /// `AllowEmptyString`).
    FilledText,
    |text| !text.trim().is_empty(),
    "what the guest's scripts take: expected text, such as `NAT`"
);

text_value!(
    /// A Windows update.
    KbId,
    |text| text.strip_prefix("KB").is_some_and(|digits| (6..=7).contains(&digits.len()) && is_digits(digits)),
    "a Windows update: expected `KB` and six or seven digits, such as `KB5058411`"
);

text_value!(
    /// An absolute path, as it was written.
    WindowsPath,
    |text| find_fault(text).is_none(),
    "a path that Windows takes: expected an absolute path such as `C:\\k`",
    find_fault
);

text_value!(
    /// The name of a local account (`NetUserAdd`, `usri1_name`).
    AccountName,
    is_account_name,
    "the name of a local account: expected at most 20 characters without `\"/\\[]:;|=,+*?<>@`, such as `packer`"
);

text_value!(
    /// The security identifier of an account that is the same on every machine.
    AccountSid,
    is_lasting_sid,
    "the identifier of an account of Windows itself: expected one such as `S-1-5-18`; those of local accounts and \
     groups (`S-1-5-21-…`) change with each clone"
);

text_value!(
    /// The name of a service (`CreateServiceW`, `lpServiceName`).
    ServiceName,
    is_service_name,
    "the name of a service: expected at most 256 characters without `/\\*?[]'` and backticks, such as `kubelet`"
);

text_value!(
    /// The name of a firewall rule, a feature or a capability. Windows takes a pattern in its place, which finds none
    /// of that name, or others (<https://github.com/dsccommunity/NetworkingDsc/issues/348>).
    LiteralName,
    |text| !text.is_empty() && text.trim() == text && !has_pattern(text) && !text.contains(char::is_control),
    "a name that Windows takes as it is: expected text without `*?[]`, backticks and blanks at its ends, such as \
     `Containers`"
);

text_value!(
    /// The name of a task, with its folders (<https://github.com/ansible-collections/community.windows/pull/168>).
    TaskName,
    is_task_name,
    "the name of a task: expected text without `/:*?\"<>|[]` and backticks, such as `Corp\\clean`"
);

text_value!(
    /// The name of an environment variable.
    VariableName,
    |text| !text.is_empty() && find_variable_fault(text).is_none() && !text.contains(char::is_control),
    "the name of an environment variable: expected text without `=`, such as `HTTP_PROXY`",
    find_variable_fault
);

text_value!(
    /// Text that a script prints, as the guest compares it.
    PrintedText,
    |text| text.trim() == text,
    "what a script prints: expected text without blanks at both ends, such as `True`"
);

text_value!(
    /// A regular expression that the guest holds against what a program prints.
    OutputPattern,
    |text| find_pattern_fault(text).is_none(),
    "a regular expression: expected one of .NET, such as `^v1[.]36`",
    find_pattern_fault
);

text_value!(
    /// A remote address of a firewall rule (`New-NetFirewallRule -RemoteAddress`), in the form in which Windows
    /// returns it. Any other form would differ from the machine in every comparison.
    RemoteAddress,
    is_remote_address,
    "a remote address of a firewall rule: expected an address, a network without host bits, a range or a keyword, \
     such as `10.0.0.0/8`, `10.0.0.1-10.0.0.9` or `LocalSubnet`"
);

text_value!(
    /// A port, or a range of ports.
    Ports,
    |text| parse_ports(text).is_some(),
    "a port or a range of ports: expected numbers from 1 to 65535, such as `30000-32767`"
);

text_value!(
    /// A key of the machine's registry.
    RegistryKey,
    is_registry_key,
    "a key of the machine's registry: expected a path below `HKLM:\\`, such as `HKLM:\\SOFTWARE\\Microsoft`"
);

text_value!(
    /// Bytes, as two hexadecimal digits each.
    HexBytes,
    |text| text.len() % 2 == 0 && is_hex(text),
    "hexadecimal: expected two digits for each byte, such as `00ff`"
);

impl Ports {
    /// The first and the last one.
    ///
    /// # Panics
    /// Never: the text was parsed when the value was made.
    pub fn bounds(&self) -> (u16, u16) {
        parse_ports(self).expect("`Ports` are numbers")
    }

    /// Whether all of the other's ports are among these.
    pub fn covers(&self, other: &Self) -> bool {
        let ((low, high), (first, last)) = (self.bounds(), other.bounds());
        low <= first && last <= high
    }

    /// Whether one port is among both.
    pub fn overlaps(&self, other: &Self) -> bool {
        let ((low, high), (first, last)) = (self.bounds(), other.bounds());
        low <= last && first <= high
    }
}

fn is_guid(text: &str) -> bool {
    let inner = text.strip_prefix('{').and_then(|it| it.strip_suffix('}'));
    let parts: Vec<&str> = inner.unwrap_or_default().split('-').collect();
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12])
        && parts.iter().all(|part| is_hex(part))
}

/// Sysprep gives a clone another machine identifier, and so its accounts and groups other numbers.
fn is_lasting_sid(text: &str) -> bool {
    let mut numbers = text
        .strip_prefix("S-1-")
        .into_iter()
        .flat_map(|rest| rest.split('-'));
    let form = numbers.clone().count() > 1 && numbers.all(is_digits);
    form && !text.starts_with("S-1-5-21-")
}

fn parse_ports(text: &str) -> Option<(u16, u16)> {
    let (low, high) = text.split_once('-').unwrap_or((text, text));
    if !is_digits(low) || !is_digits(high) {
        return None;
    }
    let (first, last) = (low.parse().ok()?, high.parse().ok()?);
    (0 < first && first <= last).then_some((first, last))
}

fn is_account_name(text: &str) -> bool {
    (1..=20).contains(&text.encode_utf16().count())
        && !text.contains(|c: char| c.is_control() || "\"/\\[]:;|=,+*?<>@".contains(c))
        && !text.chars().all(|c| c == '.' || c == ' ')
}

/// Scripts ask for a service by commands that take patterns, and by its name in quotation marks.
fn is_service_name(text: &str) -> bool {
    (1..=256).contains(&text.encode_utf16().count())
        && text.trim() == text
        && !has_pattern(text)
        && !text.contains(|c: char| c.is_control() || r"/\'".contains(c))
}

/// Whether PowerShell takes the text for a pattern.
fn has_pattern(text: &str) -> bool {
    text.contains(['*', '?', '[', ']', '`'])
}

fn is_task_name(text: &str) -> bool {
    let names = text.strip_prefix('\\').unwrap_or(text).split('\\');
    let has_names = names
        .clone()
        .all(|name| !name.is_empty() && name.trim() == name && !name.ends_with('.'));
    has_names
        && !has_pattern(text)
        && !text.contains(|c: char| c.is_control() || "/:\"<>|".contains(c))
}

/// A whole new `Path` would take away that of Windows and of each step.
fn find_variable_fault(text: &str) -> Option<String> {
    if text.eq_ignore_ascii_case("path") {
        return Some("is made of entries: write a `pathEntry` for each".to_owned());
    }
    text.contains('=')
        .then(|| "has `=`, which ends a name".to_owned())
}

/// Keywords that `New-NetFirewallRule` documents for remote addresses.
const ADDRESS_KEYWORDS: [&str; 10] = [
    "Any",
    "DHCP",
    "DNS",
    "DefaultGateway",
    "Internet",
    "Intranet",
    "IntranetRemoteAccess",
    "LocalSubnet",
    "PlayToDevice",
    "WINS",
];

fn is_remote_address(text: &str) -> bool {
    let keyword = text.strip_suffix(['4', '6']).unwrap_or(text);
    if ADDRESS_KEYWORDS.contains(&keyword) || parse_canonical_address(text).is_some() {
        return true;
    }
    if let Some((low, high)) = text.split_once('-') {
        return match (parse_canonical_address(low), parse_canonical_address(high)) {
            (Some(first), Some(last)) => first.is_ipv4() == last.is_ipv4() && first < last,
            _ => false,
        };
    }
    text.parse::<IpNet>().is_ok_and(|network| {
        let has_hosts = network.prefix_len() < network.max_prefix_len();
        has_hosts && network.trunc() == network && network.to_string() == text
    })
}

/// An address as Windows prints it, so that a comparison of texts is one of addresses.
fn parse_canonical_address(text: &str) -> Option<IpAddr> {
    let address = text.parse::<IpAddr>().ok()?;
    (address.to_string() == text).then_some(address)
}

fn is_registry_key(text: &str) -> bool {
    let below = text.strip_prefix(r"HKLM:\").unwrap_or_default();
    below.split('\\').all(|name| !name.is_empty()) && !below.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::{
        AccountName, FilledText, HexBytes, KbId, LiteralName, PlainGuid, Ports, PrintedText,
        RegistryKey, RemoteAddress, ServiceName, TaskName, VariableName, WindowsPath,
    };
    use crate::base::value::{
        Cidr, ComponentName, DnsName, HostPattern, ImageReference, Ipv4Address, NoProxy, Registry,
        Sha256, Sha512, StepId, VolumePlugin,
    };
    use std::net::Ipv4Addr;
    use std::str::FromStr;

    fn refused<T: FromStr>(texts: &[&str]) {
        for text in texts {
            assert!(text.parse::<T>().is_err(), "{text}");
        }
    }

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
        let hex = "0".repeat(64);
        let empty = crate::base::digest::sha256_hex(b"");
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
    fn names_that_windows_does_not_take_are_refused() {
        refused::<ServiceName>(&["", " a", "a/b", r"a\b", "a\u{7}", &"a".repeat(257)]);
        refused::<ServiceName>(&["a's", "a*", "a[1]"]);
        refused::<LiteralName>(&["", " ", "*", "Web-?", "corp [agent] in", "a`b", "a\u{7}"]);
        refused::<LiteralName>(&[" Containers", "Containers "]);
        refused::<TaskName>(&[
            "", r"\", r"a\\b", r"a\", "a/b", "a:b", "a*", "a[1]", "a\"b", "a|b", "a ", r"a.\b",
        ]);
        refused::<FilledText>(&["", " \n"]);
        refused::<PlainGuid>(&[
            "Balanced",
            "8C5E7FDA-E8BF-4A96-9A85-A6E23A8C635C",
            "{8c5e7fda-e8bf-4a96-9a85-a6e23a8c635c}",
        ]);
        // Both are keys of Windows, which the guest reads and writes by their names.
        for text in [
            r"HKLM:\SYSTEM\x\Ciphers\RC4 128/128",
            r"HKLM:\SOFTWARE\Classes\*",
        ] {
            assert!(text.parse::<RegistryKey>().is_ok(), "{text}");
        }
    }

    #[test]
    fn texts_that_windows_does_not_take_are_refused() {
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
        refused::<VariableName>(&["", "a=b", "PATH", "Path", "a\u{7}"]);
        refused::<PrintedText>(&[" True", "True\r\n"]);
        assert!("ProgramFiles(x86)".parse::<VariableName>().is_ok());
        assert!("OpenSSH.Server~~~~0.0.1.0".parse::<LiteralName>().is_ok());
        assert!(r"\Corp\clean up (daily)".parse::<TaskName>().is_ok());
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
            "10.0.0.1/32",
            "2001:db8::1/128",
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
}
