//! Mirrors: where the operator takes the bytes of publishers from. They say nothing of what the bytes are, so they are
//! no part of a lock.

use std::collections::BTreeMap;

use super::overrides::{Overrides, is_prefix};
use crate::base::url::HttpUrl;

crate::text_value!(
    /// Beginning of the addresses that a mirror answers for: `https://`, `https://github.com/`, or of the names of
    /// container images: `docker://`, `docker://docker.io/library/`.
    MirrorPrefix,
    is_mirror_prefix,
    "the beginning of an address that ends with `/`, such as `https://github.com/` or `docker://docker.io/`"
);

fn is_mirror_prefix(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else {
        return false;
    };
    if !matches!(scheme, "https" | "http" | "docker") {
        return false;
    }
    let Some(path) = rest.strip_suffix('/') else {
        return rest.is_empty();
    };
    path.bytes().all(|byte| byte.is_ascii_graphic())
        && !path.contains(['?', '#', '@', '\\'])
        && path.split('/').all(|part| !part.is_empty())
}

/// Party that names a mirror.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MirrorParty {
    /// By flag, environment or settings: the headers that it names may be sent to the mirror.
    Operator,
    /// By a prefix in the overrides: its headers need a grant.
    Definition,
}

/// A server that has the bytes of publishers.
#[derive(Debug, Clone, PartialEq)]
pub struct Mirror {
    /// Takes the place of the prefix; ends with `/`.
    pub url: HttpUrl,
    /// HTTP header → environment variable that holds its value.
    pub headers: BTreeMap<String, String>,
    pub party: MirrorParty,
}

impl Mirror {
    /// A mirror without a login.
    pub fn open_to_all(url: HttpUrl, party: MirrorParty) -> Self {
        Self {
            url,
            headers: BTreeMap::new(),
            party,
        }
    }
}

/// The address of a mirror, with `/` at its end.
///
/// # Errors
/// It has a query, and is no beginning of an address, or no server can have it.
pub fn complete_mirror(url: &HttpUrl) -> Result<HttpUrl, String> {
    let authority = url.authority();
    if authority.contains('=') {
        return Err(format!(
            "{url}: a host has no `=`; in `PREFIX=URL`, the prefix ends with `/` and the URL begins with `https://`"
        ));
    }
    if authority.ends_with(":0") {
        return Err(format!("{url}: no server has the port 0"));
    }
    if url.public_url().contains('?') || url.has_secret() {
        return Err(format!(
            "{url}: expected the beginning of a URL, without query; give tokens as `headers` of the mirror in the \
             settings"
        ));
    }
    Ok(url.fill_placeholders(|text| {
        if text.ends_with('/') {
            text.to_owned()
        } else {
            format!("{text}/")
        }
    }))
}

/// Mirrors by the addresses that they answer for. The longest prefix that matches counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mirrors {
    places: BTreeMap<MirrorPrefix, Mirror>,
    /// Addresses that somebody gave for one very component or medium: these are asked as they are.
    own: Vec<AddressPattern>,
}

/// An address, or several that differ in the places of `{version}` and `{version_}`.
#[derive(Debug, Clone, PartialEq, Eq)]
struct AddressPattern(Vec<String>);

impl AddressPattern {
    fn new(url: &HttpUrl) -> Self {
        let text = url.public_url().replace("{version_}", "{version}");
        Self(text.split("{version}").map(str::to_owned).collect())
    }

    fn matches(&self, url: &str) -> bool {
        let [first, middle @ .., last] = self.0.as_slice() else {
            return self.0.first().is_some_and(|only| only == url);
        };
        let rest = url.strip_prefix(first.as_str());
        let Some(mut rest) = rest.and_then(|rest| rest.strip_suffix(last.as_str())) else {
            return false;
        };
        for part in middle {
            let Some(at) = rest.find(part.as_str()) else {
                return false;
            };
            rest = &rest[at + part.len()..];
        }
        true
    }
}

impl Mirrors {
    /// Mirrors of one party, by prefix.
    pub fn new(places: BTreeMap<MirrorPrefix, Mirror>) -> Self {
        let mut normal = BTreeMap::new();
        for (prefix, mirror) in places {
            normal.insert(normalize_prefix(prefix), mirror);
        }
        Self {
            places: normal,
            own: Vec::new(),
        }
    }

    /// `self` where it names a prefix, else `base`.
    #[must_use]
    pub fn merge_over(self, mut base: Self) -> Self {
        base.places.extend(self.places);
        base.own.extend(self.own);
        base
    }

    /// With the prefixes of overrides below these mirrors, and without the addresses that overrides give to components.
    #[must_use]
    pub fn complete(self, overrides: &Overrides) -> Self {
        let mut own = Vec::new();
        let mut places = BTreeMap::new();
        for (key, over) in overrides {
            let Some(url) = &over.url else { continue };
            if let (true, Ok(prefix)) = (is_prefix(key), key.parse()) {
                let mirror = Mirror {
                    url: url.clone(),
                    headers: over.headers.clone(),
                    party: MirrorParty::Definition,
                };
                places.insert(normalize_prefix(prefix), mirror);
                continue;
            }
            own.push(AddressPattern::new(url));
            own.extend(over.checksums.as_ref().map(AddressPattern::new));
            if let Some(signature) = &over.signature {
                own.push(AddressPattern::new(&signature.url));
                own.extend(signature.certificate_url.as_ref().map(AddressPattern::new));
            }
        }
        self.merge_over(Self { places, own })
    }

    /// With addresses that are asked as they are.
    #[must_use]
    pub fn except<'a>(mut self, urls: impl Iterator<Item = &'a HttpUrl>) -> Self {
        self.own.extend(urls.map(AddressPattern::new));
        self
    }

    /// The mirrors by prefix.
    pub fn iter(&self) -> impl Iterator<Item = (&MirrorPrefix, &Mirror)> {
        self.places.iter()
    }

    /// Prefix and mirror of an address, if one answers for it.
    pub fn find(&self, url: &HttpUrl) -> Option<(&MirrorPrefix, &Mirror)> {
        let text = url.public_url();
        if self.own.iter().any(|own| own.matches(text)) {
            return None;
        }
        self.find_text(text)
    }

    fn find_text(&self, text: &str) -> Option<(&MirrorPrefix, &Mirror)> {
        let matching = self
            .places
            .iter()
            .filter(|(prefix, _)| text.starts_with(prefix.as_str()));
        matching.max_by_key(|(prefix, _)| prefix.as_str().len())
    }

    /// The address that is asked for a publisher's: the mirror's, or itself. A query that may be a secret is for the
    /// publisher: no mirror gets it.
    pub fn locate(&self, url: &HttpUrl) -> HttpUrl {
        let Some((prefix, mirror)) = self.find(url) else {
            return url.clone();
        };
        mirror.url.join_path(&path_below(prefix, url.public_url()))
    }

    /// Prefix, and the address that is asked for `registry/name`: the host of a mirror and the name there.
    pub fn locate_image(&self, registry: &str, name: &str) -> Option<(&MirrorPrefix, HttpUrl)> {
        let text = format!("docker://{registry}/{name}");
        let (prefix, mirror) = self.find_text(&text)?;
        Some((prefix, mirror.url.join_path(&path_below(prefix, &text))))
    }
}

/// Path below a mirror of an address that begins with the mirror's prefix.
fn path_below(prefix: &MirrorPrefix, address: &str) -> String {
    let rest = address.strip_prefix(prefix.as_str()).unwrap_or_default();
    if !prefix.as_str().ends_with("://") {
        return rest.to_owned();
    }
    let (authority, path) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    format!("{}{path}", name_folder(authority))
}

/// Folder of a host below a mirror that answers for every host: `host`, or `host_8443`. Neither files of Windows nor
/// names of images may have a colon.
fn name_folder(authority: &str) -> String {
    authority.replace(['[', ']'], "").replace(':', "_")
}

/// Path below `--mirror` that is asked for a publisher's address. None for plain HTTP, for which it does not answer.
pub fn find_mirror_path(url: &HttpUrl) -> Option<String> {
    let prefix: MirrorPrefix = "https://".parse().ok()?;
    let address = url.public_url();
    address
        .starts_with(prefix.as_str())
        .then(|| path_below(&prefix, address))
}

/// A prefix with its host in normal form; a scheme alone has none.
fn normalize_prefix(prefix: MirrorPrefix) -> MirrorPrefix {
    let url = prefix.as_str().parse::<HttpUrl>();
    let normal = url.ok().and_then(|url| url.public_url().parse().ok());
    normal.unwrap_or(prefix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mirrors(places: &[(&str, &str)]) -> Mirrors {
        let place = |(prefix, url): &(&str, &str)| {
            let url = url.parse().expect("a URL");
            let mirror = Mirror::open_to_all(url, MirrorParty::Operator);
            (prefix.parse().expect("a prefix"), mirror)
        };
        Mirrors::new(places.iter().map(place).collect())
    }

    #[test]
    fn the_longest_prefix_counts_for_addresses_and_images() {
        let mirrors = mirrors(&[
            ("https://", "https://m.example/all/"),
            ("https://github.com/", "https://m.example/github/"),
            ("docker://", "https://r.example/"),
            ("docker://docker.io/library/", "https://r.example:5000/hub/"),
        ]);
        for (url, place) in [
            (
                "https://dl.k8s.io/a.exe",
                "https://m.example/all/dl.k8s.io/a.exe",
            ),
            (
                "https://github.com/a/b?version=1",
                "https://m.example/github/a/b?version=1",
            ),
            (
                "https://github.com.example/a",
                "https://m.example/all/github.com.example/a",
            ),
            ("http://127.0.0.1/a", "http://127.0.0.1/a"),
        ] {
            let located = mirrors.locate(&url.parse().expect(url));
            assert_eq!(located.request_url(), place);
        }
        for (url, place) in [
            (
                "https://a.example:8443/b/c.zip?version=1",
                "https://m.example/all/a.example_8443/b/c.zip?version=1",
            ),
            (
                "https://[2001:db8::1]:8443/b",
                "https://m.example/all/2001_db8__1_8443/b",
            ),
            ("https://github.com/a:b", "https://m.example/github/a:b"),
        ] {
            let url = url.parse().expect(url);
            let located = mirrors.locate(&url);
            assert_eq!(located.request_url(), place);
            located.request_url().parse::<HttpUrl>().expect(place);
            // A mirror that a bundle is laid out as has it where it is asked for.
            if let Some(rest) = place.strip_prefix("https://m.example/all/") {
                assert_eq!(find_mirror_path(&url).as_deref(), Some(rest));
            }
        }
        for (registry, name, place) in [
            (
                "registry.example:5000",
                "team/app",
                "https://r.example/registry.example_5000/team/app",
            ),
            (
                "docker.io",
                "library/busybox",
                "https://r.example:5000/hub/busybox",
            ),
            (
                "docker.io",
                "rancher/pause",
                "https://r.example/docker.io/rancher/pause",
            ),
        ] {
            let (_, url) = mirrors.locate_image(registry, name).expect("a mirror");
            assert_eq!(url.request_url(), place);
        }
    }

    /// A signature of a publisher's URL is for the publisher, and a mirror is another party.
    #[test]
    fn no_secret_of_a_publisher_goes_to_a_mirror() {
        let mirrors = mirrors(&[
            ("https://", "https://m.example/"),
            ("https://files.example/", "https://other.example/files/"),
        ]);
        for url in [
            "https://files.example/a.zip?sig=s3cret&se=2030",
            "https://host.example:8443/a.zip?X-Amz-Signature=s3cret",
            "https://host.example?token=s3cret",
        ] {
            let url: HttpUrl = url.parse().expect(url);
            assert!(url.has_secret() && url.request_url().contains("s3cret"));
            let located = mirrors.locate(&url);
            assert!(!located.request_url().contains('?'), "{located}");
            assert_ne!(located.host(), url.host());
        }
        let base: HttpUrl = "https://m.example/x/?sig=s3cret".parse().expect("a URL");
        let joined = base.join_path("a.example/b");
        assert_eq!(joined.request_url(), "https://m.example/x/a.example/b");
    }

    #[test]
    fn an_address_that_was_given_for_a_component_is_asked_as_it_is() {
        let overrides: Overrides = serde_json::from_value(serde_json::json!({
            "kubelet": {"url": "https://own.example/{version}/kubelet-{version_}.exe",
                        "checksums": "https://own.example/sums"},
            "wins": {"sha256": "ab".repeat(32)},
            "https://github.com/": {"url": "https://own.example/github/"},
        }))
        .expect("overrides");
        let operator = mirrors(&[("https://", "https://m.example/")]);
        let mirrors = operator.complete(&overrides);
        for (url, place) in [
            (
                "https://own.example/1.36.4/kubelet-1_36_4.exe",
                "https://own.example/1.36.4/kubelet-1_36_4.exe",
            ),
            ("https://own.example/sums", "https://own.example/sums"),
            (
                "https://own.example/1/other.exe",
                "https://m.example/own.example/1/other.exe",
            ),
            ("https://github.com/a", "https://own.example/github/a"),
        ] {
            assert_eq!(mirrors.locate(&url.parse().expect(url)).public_url(), place);
        }
    }

    #[test]
    fn prefixes_end_where_a_part_ends() {
        for good in [
            "https://",
            "docker://",
            "https://a.example:8443/x/",
            "docker://mcr.microsoft.com/windows/",
        ] {
            assert!(good.parse::<MirrorPrefix>().is_ok(), "{good}");
        }
        for bad in [
            "",
            "docker.io/",
            "https://a.example",
            "ftp://a/",
            "https://a//",
            "https://u@a/",
            "https://a?x/",
            "https:///",
        ] {
            assert!(bad.parse::<MirrorPrefix>().is_err(), "{bad}");
        }
    }
}
