//! Texts of a fixed form. Each is parsed where it enters and cannot hold anything else later.

mod digest;
mod image;

use std::fmt::{self, Display};
use std::marker::PhantomData;
use std::net::{Ipv4Addr, Ipv6Addr};
use std::str::FromStr;
use std::time::Duration;

use ipnet::Ipv4Net;
use serde::de::Visitor;

use super::duration::read_duration;
use super::no_proxy::ProxyException;
use super::secret::is_secret_name;
use super::text::{is_alphanumeric_or, is_digits, is_lowercase_or};
use super::url::hide_login;

pub use digest::*;

/// A text that does not have the form of its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is not {expected}{}", .fault.as_ref().map(|fault| format!("; it {fault}")).unwrap_or_default())]
pub struct ValueError {
    pub text: String,
    /// With an example.
    pub expected: &'static str,
    /// The fault, as a verb and its object.
    pub fault: Option<String>,
}

impl ValueError {
    /// The user, password and query of an address are left out.
    pub fn new(text: &str, expected: &'static str) -> Self {
        Self {
            text: hide_login(text),
            expected,
            fault: None,
        }
    }

    /// As [`ValueError::new`], of a value that is no address: `x@y` has no user.
    pub fn of_name(text: &str, expected: &'static str) -> Self {
        let hidden = Self::new(text, expected);
        if text.contains("://") {
            return hidden;
        }
        Self {
            text: text.to_owned(),
            ..hidden
        }
    }
}

/// Adds the example that the description of an expected value names.
pub fn add_example(schema: &mut schemars::Schema, expected: &str) {
    let quoted = expected
        .split_once("such as ")
        .and_then(|(_, rest)| rest.split('`').nth(1));
    if let Some(example) = quoted {
        schema.insert("examples".to_owned(), serde_json::json!([example]));
    }
}

/// Declares a text of a fixed form: how it is checked, what a message says is expected, and what may be
/// wrong with a text.
#[macro_export]
macro_rules! text_value {
    ($(#[$doc:meta])* $name:ident, $check:expr, $expected:literal) => {
        $crate::text_value!($(#[$doc])* $name, $check, $expected, |_| None);
    };
    ($(#[$doc:meta])* $name:ident, $check:expr, $expected:literal, $find_fault:expr) => {
        $crate::text_value!(
            $(#[$doc])* $name, $check, $expected, $find_fault, $crate::base::value::ValueError::new
        );
    };
    ($(#[$doc:meta])* $name:ident, $check:expr, $expected:literal, $find_fault:expr, $refuse:path) => {
        $(#[$doc])*
        #[derive(
            Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
            schemars::JsonSchema,
        )]
        #[serde(try_from = "String", into = "String")]
        #[schemars(with = "String", transform = |schema: &mut schemars::Schema| {
            $crate::base::value::add_example(schema, $expected);
        })]
        pub struct $name(String);

        impl $name {
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::base::value::ValueError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::try_from(text.to_owned())
            }
        }

        impl TryFrom<String> for $name {
            type Error = $crate::base::value::ValueError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                let check: fn(&str) -> bool = $check;
                if check(&text) {
                    return Ok(Self(text));
                }
                let find_fault: fn(&str) -> Option<String> = $find_fault;
                let error = $refuse(&text, $expected);
                Err($crate::base::value::ValueError { fault: find_fault(&text), ..error })
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl From<&$name> for String {
            fn from(value: &$name) -> Self {
                value.0.clone()
            }
        }

        impl PartialEq<str> for $name {
            fn eq(&self, other: &str) -> bool {
                self.0 == other
            }
        }

        impl PartialEq<&str> for $name {
            fn eq(&self, other: &&str) -> bool {
                self.0 == *other
            }
        }

        impl std::ops::Deref for $name {
            type Target = str;

            fn deref(&self) -> &str {
                &self.0
            }
        }

        impl std::borrow::Borrow<str> for $name {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(&self.0)
            }
        }
    };
}

/// Reads text without keeping a copy of it.
pub(crate) struct Text<T>(pub PhantomData<T>);

impl<T: FromStr<Err: Display>> Visitor<'_> for Text<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<T, E> {
        text.parse().map_err(E::custom)
    }
}

/// Declares that JSON has a value as its `Display` writes it and its `FromStr` reads it.
macro_rules! serde_as_text {
    ($($name:ident),+) => {$(
        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                deserializer.deserialize_str($crate::base::value::Text(std::marker::PhantomData))
            }
        }
    )+};
}
pub(crate) use serde_as_text;

text_value!(
    /// An IPv4 network. Windows overlays and kube-proxy's kernel mode take no other.
    Cidr,
    |text| parse_network(text).is_some(),
    "an IPv4 network: expected an address and a prefix length without host bits, such as `10.244.0.0/16`"
);

text_value!(
    /// An IPv4 address.
    Ipv4Address,
    |text| text.parse::<Ipv4Addr>().is_ok(),
    "an IPv4 address: expected one such as `10.96.0.10`"
);

text_value!(
    /// A DNS name (RFC 1123, section 2.1) in lower case.
    DnsName,
    |text| is_subdomain(text, 253),
    "a DNS name: expected lower-case letters, digits, `-` and `.`, such as `cluster.local`"
);

text_value!(
    /// A container image that its digest pins.
    ImageReference,
    image::is_image_reference,
    "an image pinned by its digest: expected `registry/name:tag@sha256:` and 64 hexadecimal digits"
);

text_value!(
    /// A container image by its tag, which a lockfile pins, or by its digest.
    NamedImage,
    image::is_named_image,
    "an image: expected `registry/name:tag`, which `imagegen lock` pins, or `registry/name:tag@sha256:` and 64 hexadecimal digits"
);

text_value!(
    /// The name of a component, or of a group of components: the name of its file and of its store entries.
    ComponentName,
    is_id,
    "the name of a component: expected lower-case letters, digits, `-` and `.`, such as `kube-proxy`"
);

text_value!(
    /// The id of a step: its file name without number and suffix.
    StepId,
    |text| is_id(text) && !text.contains('.'),
    "the id of a step: expected lower-case letters, digits and `-`, such as `monitoring-agent`"
);

text_value!(
    /// A host, or every host below a domain.
    HostPattern,
    is_host_pattern,
    "a host: expected a name or an address without port, such as `dl.k8s.io`, or `*.` and a domain"
);

text_value!(
    /// A registry's host, with a port where it has one.
    Registry,
    is_registry,
    "a registry: expected a host such as `docker.io` or `registry.example:5000`"
);

text_value!(
    /// The folder of a FlexVolume plugin.
    VolumePlugin,
    |text| text.split_once('~').is_some_and(|(vendor, driver)| is_file_name(vendor) && is_file_name(driver)),
    "a volume plugin: expected `VENDOR~DRIVER`, such as `microsoft.com~smb.cmd`"
);

text_value!(
    /// A file's name without folder.
    FileName,
    is_file_name,
    "a file name: expected letters, digits, `.`, `-` and `_`, such as `smb.cmd`, and no device of Windows, such as `con`"
);

/// Room for what file systems add to the name: `STEM.NAME.TARGET.lock.json`, and the end of a temporary name beside it,
/// have 255 bytes together (NAME_MAX of limits.h).
pub const LONGEST_IMAGE_NAME: usize = 80;

text_value!(
    /// Name of an image. Files and folders have it, and the user writes it after a verb.
    ImageName,
    |text| is_file_name(text) && !text.starts_with('-') && text.len() <= LONGEST_IMAGE_NAME,
    "the name of an image: expected up to 80 letters, digits, `.`, `-` and `_`, such as `node-2025`, no `-` before and no \
     `.` at the ends, and no device of Windows, such as `con`",
    |_| None,
    ValueError::of_name
);

text_value!(
    /// A port of the machine itself, which no other machine reaches.
    LoopbackAddress,
    is_loopback_address,
    "an address of the machine itself: expected `127.0.0.1` and a port from 1024 to 65535, such as `127.0.0.1:1338`"
);

text_value!(
    /// The name of an HTTP header that carries no credentials.
    HeaderName,
    |text| is_header_name(text) && !is_credential_header(text),
    "the name of a header: expected letters, digits and `-`, such as `X-Meta-Team`",
    |text| is_credential_header(text).then(|| {
        "carries credentials, which every user of the image could read: let the kubelet bring them, by a credential \
         provider or an image pull secret".to_owned()
    })
);

text_value!(
    /// The value of an HTTP header. It needs no escaping in TOML.
    HeaderValue,
    |text| (1..=1024).contains(&text.len())
        && text.bytes().all(|byte| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\' | b'\'')),
    "the value of a header: expected printable ASCII without quotes and back slashes, such as `windows-nodes`"
);

text_value!(
    /// A time as Go writes it, of a millisecond at least.
    DialTimeout,
    is_dial_timeout,
    "a time: expected milliseconds, seconds, minutes or hours, such as `500ms` or `5s`"
);

text_value!(
    /// Hosts and networks that are reached without proxy.
    NoProxy,
    is_no_proxy,
    "a list of hosts without proxy: expected names and networks, such as `10.0.0.0/8,.cluster.local,localhost`"
);

/// Stands for every registry that is not named itself, as containerd's folder of hosts has it.
pub const DEFAULT_REGISTRY: &str = "_default";

/// Docker's registry, as the names of images have it.
pub const DOCKER_REGISTRY: &str = "docker.io";

/// The host that serves a registry: Docker's has a name of its own.
/// containerd/containerd@v2.3.0 core/remotes/docker/registry.go
pub fn find_registry_host(registry: &str) -> &str {
    if registry == DOCKER_REGISTRY {
        "registry-1.docker.io"
    } else {
        registry
    }
}

/// A token (RFC 9110, section 5.6.2) without its rarer characters.
fn is_header_name(text: &str) -> bool {
    (1..=128).contains(&text.len()) && is_alphanumeric_or(text, "-")
}

/// Credentials by the names of RFC 9110 and RFC 6265, and by words such as `token`.
fn is_credential_header(text: &str) -> bool {
    const KNOWN: &[&str] = &[
        "authorization",
        "cookie",
        "proxyauthorization",
        "xregistryauth",
    ];
    let name = text.replace('-', "").to_ascii_lowercase();
    KNOWN.contains(&name.as_str()) || is_secret_name(&name)
}

impl ImageReference {
    /// The digest of the image's manifest.
    ///
    /// # Panics
    /// Never: the text was parsed when the value was made.
    pub fn digest(&self) -> Sha256 {
        let digest = self
            .0
            .rsplit_once("@sha256:")
            .and_then(|(_, digest)| digest.parse().ok());
        digest.expect("an `ImageReference` ends in a digest")
    }
}

impl NamedImage {
    /// The image, where its digest is part of the name.
    pub fn reference(&self) -> Option<ImageReference> {
        self.0.parse().ok()
    }

    /// The image with this digest.
    ///
    /// # Panics
    /// Never: the text was parsed when the value was made.
    pub fn pin(&self, digest: &Sha256) -> ImageReference {
        let named = self.0.split('@').next().unwrap_or_default();
        let reference = format!("{named}@sha256:{digest}").parse();
        reference.expect("a name and a digest are a reference")
    }

    /// Whether the image has this name, with or without the digest.
    pub fn is_name_of(&self, image: &ImageReference) -> bool {
        image.as_str() == self.as_str() || image.split('@').next() == Some(self.as_str())
    }
}

impl Cidr {
    /// The network as addresses.
    ///
    /// # Panics
    /// Never: the text was parsed when the value was made.
    pub fn network(&self) -> Ipv4Net {
        parse_network(&self.0).expect("a `Cidr` is a network")
    }

    pub fn contains(&self, address: Ipv4Addr) -> bool {
        self.network().contains(&address)
    }

    pub fn overlaps(&self, other: &Self) -> bool {
        let (ours, theirs) = (self.network(), other.network());
        ours.contains(&theirs.network()) || theirs.contains(&ours.network())
    }
}

fn parse_network(text: &str) -> Option<Ipv4Net> {
    let network = Ipv4Net::from_str(text).ok()?;
    (network.prefix_len() > 0 && network.trunc() == network).then_some(network)
}

/// Whether a text is a DNS name in lower case: labels of at most 63 characters, separated by dots.
pub fn is_subdomain(text: &str, longest: usize) -> bool {
    text.len() <= longest && text.split('.').all(is_label)
}

fn is_label(label: &str) -> bool {
    (1..=63).contains(&label.len())
        && is_lowercase_or(label, "-")
        && !label.starts_with('-')
        && !label.ends_with('-')
}

fn is_id(text: &str) -> bool {
    is_lowercase_or(text, "-.")
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && !text.ends_with(['.', '-'])
}

fn is_host_pattern(text: &str) -> bool {
    if let Some(address) = text
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'))
    {
        return address
            .parse::<Ipv6Addr>()
            .is_ok_and(|parsed| parsed.to_string() == address);
    }
    let name = text.strip_prefix("*.").unwrap_or(text).to_ascii_lowercase();
    // `127.1` is read as 127.0.0.1: as a pattern it would fit no URL.
    is_subdomain(&name, 253) && super::url::parse_host(&format!("https://{name}/")) == name
}

fn is_file_name(text: &str) -> bool {
    !text.is_empty()
        && !text.starts_with('.')
        && !text.ends_with('.')
        && is_alphanumeric_or(text, ".-_")
        && !super::member::is_reserved(text)
}

fn is_registry(text: &str) -> bool {
    if text == DEFAULT_REGISTRY {
        return true;
    }
    let (host, port) = text.split_once(':').unwrap_or((text, "1"));
    is_subdomain(host, 253) && port.parse::<u16>().is_ok_and(|port| port > 0) && is_digits(port)
}

fn is_loopback_address(text: &str) -> bool {
    let Some(port) = text.strip_prefix("127.0.0.1:") else {
        return false;
    };
    let is_plain = is_digits(port) && !port.starts_with('0');
    is_plain && port.parse::<u16>().is_ok_and(|port| port >= 1024)
}

fn is_dial_timeout(text: &str) -> bool {
    let longest = Duration::from_secs(1_000_000 * 60);
    read_duration(text).is_some_and(|time| time >= Duration::from_millis(1) && time < longest)
}

fn is_no_proxy(text: &str) -> bool {
    text.split(',').all(|part| {
        let entry = part.trim_matches(' ');
        entry == "<local>" || ProxyException::parse(entry).is_some()
    })
}
