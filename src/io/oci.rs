//! Registries: names of images, URLs of their manifests and blobs, and the token that a registry requires
//! (<https://github.com/opencontainers/distribution-spec>). Bytes are pulled by digest only, so a registry need not be
//! trusted with them; `imagegen lock` alone asks by a tag, and records the digest.

mod challenge;

use serde::Deserialize;

use super::http::{Http, HttpError};
use crate::base::code::Code;
use crate::base::json::parse_foreign;
use crate::base::secret::Secret;
use crate::base::text::{is_alphanumeric_or, is_lowercase_or};
use crate::base::url::HttpUrl;
use crate::base::value::{DOCKER_REGISTRY, find_registry_host, is_digest};

pub use challenge::Challenge;

/// `registry/name@sha256:…`, or `registry/name:tag`
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    pub registry: String,
    pub name: String,
    /// The address of the manifest: `sha256:…`, or a tag.
    pub version: String,
    /// `https`, or `http` for a registry on this machine or where a mirror's address says so.
    scheme: &'static str,
}

/// Media types of manifests.
pub const MANIFESTS: &str = "application/vnd.oci.image.index.v1+json, application/vnd.oci.image.manifest.v1+json, \
     application/vnd.docker.distribution.manifest.list.v2+json, application/vnd.docker.distribution.manifest.v2+json";

impl Reference {
    /// # Errors
    /// Not of this form: a tag alone says nothing about bytes.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (named, digest) = text.split_once('@').ok_or_else(|| {
            format!("`{text}` has no digest: write it as registry/name@sha256:<64 digits>")
        })?;
        let hex = digest.strip_prefix("sha256:").unwrap_or_default();
        if !is_digest(hex, 64) {
            return Err(format!(
                "`{digest}` is not a digest: expected sha256:<64 digits>"
            ));
        }
        // A tag beside a digest is for people.
        let (image, _) = Self::parse_name(named)?;
        Ok(Self {
            version: digest.to_owned(),
            ..image
        })
    }

    /// An image whose digest its registry is asked for.
    ///
    /// # Errors
    /// Not of the form `registry/name:tag`.
    pub fn parse_tag(text: &str) -> Result<Self, String> {
        match Self::parse_name(text)? {
            (image, true) => Ok(image),
            (_, false) => Err(format!("`{text}` has no tag")),
        }
    }

    /// The image, and whether the name has a tag.
    fn parse_name(named: &str) -> Result<(Self, bool), String> {
        let (registry, path) = named
            .split_once('/')
            .filter(|(registry, _)| registry.contains(['.', ':']) || *registry == "localhost")
            .ok_or_else(|| format!("`{named}` has no registry"))?;
        let (name, tag) = match path.rsplit_once(':') {
            Some((name, tag)) => (name, Some(tag)),
            None => (path, None),
        };
        let parts = name
            .split('/')
            .all(|part| !part.is_empty() && !part.starts_with('.'));
        if !is_lowercase_or(name, "._-/") || !parts || !is_alphanumeric_or(registry, ".-:[]") {
            return Err(format!("`{named}` is not the name of an image"));
        }
        let version = tag.unwrap_or_default();
        if !is_alphanumeric_or(version, "._-") {
            return Err(format!("`{version}` is not a tag"));
        }
        let library = if registry == DOCKER_REGISTRY && !name.contains('/') {
            "library/"
        } else {
            ""
        };
        let host = registry.rsplit_once(':').map_or(registry, |(host, _)| host);
        let loopback = matches!(host, "localhost" | "127.0.0.1" | "[::1]");
        let image = Self {
            registry: registry.to_owned(),
            name: format!("{library}{name}"),
            version: version.to_owned(),
            scheme: if loopback { "http" } else { "https" },
        };
        Ok((image, tag.is_some()))
    }

    /// The same image where a mirror has it: a host, and the name of the image there.
    #[must_use]
    pub fn at(self, place: &HttpUrl) -> Self {
        let text = place.public_url();
        let (scheme, rest) = match text.strip_prefix("http://") {
            Some(rest) => ("http", rest),
            None => ("https", text.trim_start_matches("https://")),
        };
        let (registry, name) = rest.split_once('/').unwrap_or((rest, ""));
        Self {
            registry: registry.to_owned(),
            name: name.to_owned(),
            version: self.version,
            scheme,
        }
    }

    fn base_url(&self) -> String {
        let host = find_registry_host(&self.registry);
        format!("{}://{host}/v2/", self.scheme)
    }

    pub fn manifest_url(&self, version: &str) -> String {
        format!("{}{}/manifests/{version}", self.base_url(), self.name)
    }

    pub fn blob_url(&self, digest: &str) -> String {
        format!("{}{}/blobs/{digest}", self.base_url(), self.name)
    }
}

/// Headers that the registry wants for this image: none, or a token for anybody.
///
/// # Errors
/// The registry cannot be reached, or wants more than a token.
pub async fn authorize_image(
    http: &Http,
    image: &Reference,
) -> Result<Vec<(String, Secret)>, HttpError> {
    let url = image.manifest_url(&image.version);
    let Some(challenges) = http.fetch_challenges(&url).await? else {
        return Ok(Vec::new());
    };
    let Some(asked) = Challenge::parse(&challenges) else {
        return Err(login_error(
            &url,
            "the registry requires another login than a token",
        ));
    };
    let mut token_url = reqwest::Url::parse(&asked.realm)
        .map_err(|_| login_error(&url, "the registry's token server has no URL"))?;
    let scope = format!("repository:{}:pull", image.name);
    token_url
        .query_pairs_mut()
        .append_pair("scope", asked.scope.as_deref().unwrap_or(&scope));
    if let Some(service) = &asked.service {
        token_url.query_pairs_mut().append_pair("service", service);
    }
    let mut answer = http.get(token_url.as_str(), &[], None).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = answer.body.next_piece().await? {
        bytes.extend_from_slice(&piece);
        if bytes.len() > 1 << 20 {
            return Err(login_error(
                &url,
                "the registry's token is larger than a mebibyte",
            ));
        }
    }
    let parsed: RegistryToken = parse_foreign(&bytes)
        .map_err(|_| login_error(&url, "the token server's answer cannot be parsed"))?;
    let Some(token) = parsed.token.or(parsed.access_token) else {
        return Err(login_error(&url, "the token server's answer has no token"));
    };
    Ok(vec![(
        "Authorization".to_owned(),
        Secret::new(format!("Bearer {token}")),
    )])
}

/// Servers name it in either way.
#[derive(Deserialize)]
struct RegistryToken {
    token: Option<String>,
    access_token: Option<String>,
}

fn login_error(url: &str, why: &str) -> HttpError {
    HttpError::new(Code::REGISTRY_LOGIN, url, why)
}

#[cfg(test)]
mod tests {
    use super::Reference;

    #[test]
    fn references_have_registry_name_and_digest() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let good = Reference::parse(&format!(
            "mcr.microsoft.com/oss/kubernetes/pause:3.9@{digest}"
        ))
        .expect("good");
        assert_eq!(
            good.manifest_url("x"),
            "https://mcr.microsoft.com/v2/oss/kubernetes/pause/manifests/x"
        );
        let local = Reference::parse(&format!("127.0.0.1:5000/a@{digest}")).expect("good");
        assert_eq!(local.blob_url("x"), "http://127.0.0.1:5000/v2/a/blobs/x");
        let tagged = Reference::parse_tag("docker.io/flannel/flannel:v1").expect("good");
        assert_eq!(
            tagged.manifest_url(&tagged.version),
            "https://registry-1.docker.io/v2/flannel/flannel/manifests/v1"
        );
        for bad in ["a.example/b", "b:1", "a.example/b:1/2", "a.example/b:1?x"] {
            Reference::parse_tag(bad).expect_err(bad);
        }
        for bad in [
            "a.example/b:1",
            "b@sha256:00",
            "a.example/../b@",
            "a.example/b@md5:00",
        ] {
            Reference::parse(bad).expect_err(bad);
        }
        for name in [
            "pause",
            "a.example/../../x",
            "a.example/A",
            "a.example/b?c",
            "a.example/",
            "us er@a.example/b",
        ] {
            Reference::parse(&format!("{name}@{digest}")).expect_err(name);
        }
    }
}
