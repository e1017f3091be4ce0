//! Package URLs (<https://github.com/package-url/purl-spec>) of what an image contains.

use std::fmt::Write as _;

use crate::base::text::last_segment;
use crate::model::component::ComponentIdentity;
use crate::model::plan::PlannedArtifact;

/// The package URL by which scanners know an artifact. Bytes of another publisher have a generic one.
pub fn format_artifact(
    artifact: &PlannedArtifact,
    identity: Option<&ComponentIdentity>,
    overridden: bool,
) -> String {
    let version = artifact.version.as_str();
    let identity = identity.filter(|_| !overridden);
    if let Some((module, subpath)) = identity.and_then(|it| find_module(it, version)) {
        return format_module(&module, version, subpath);
    }
    if !overridden && !artifact.purl.starts_with("pkg:generic/") {
        return lower_repository(&artifact.purl);
    }
    let mut qualifiers = Vec::new();
    if let Some(pin) = artifact.digest() {
        let digest = format!("{}:{}", pin.digest.algorithm().as_str(), pin.digest);
        qualifiers.push(("checksum", digest));
    }
    qualifiers.push(("download_url", artifact.url.public_url().to_owned()));
    let mut purl = format!(
        "pkg:generic/{}@{}",
        encode(&artifact.component),
        encode(version)
    );
    append_qualifiers(&mut purl, &qualifiers);
    purl
}

/// Names of GitHub are written in lower case (purl-spec, type `github`).
fn lower_repository(purl: &str) -> String {
    match purl.split_once('@') {
        Some((name, rest)) if name.starts_with("pkg:github/") => {
            format!("{}@{rest}", name.to_ascii_lowercase())
        }
        _ => purl.to_owned(),
    }
}

/// The Go module of a component and the folder of its program: `k8s.io/kubernetes` and `cmd/kubelet`. `{goMajor}` stands
/// for the suffix that a module of a major version from 2 on has in its path.
pub fn find_module<'a>(
    identity: &'a ComponentIdentity,
    version: &str,
) -> Option<(String, &'a str)> {
    let module = identity.module.as_deref()?;
    let (module, subpath) = module.split_once('#').unwrap_or((module, ""));
    let major = version.split('.').next().unwrap_or_default();
    let suffix = match major.parse::<u32>() {
        Ok(major) if major >= 2 => format!("/v{major}"),
        _ => String::new(),
    };
    Some((module.replace("{goMajor}", &suffix), subpath))
}

/// Modules are written in lower case (purl-spec, type `golang`), whatever their names are.
fn format_module(module: &str, version: &str, subpath: &str) -> String {
    let module = module.to_ascii_lowercase();
    let mut purl = format!("pkg:golang/{module}@v{}", encode(version));
    if !subpath.is_empty() {
        let _ = write!(purl, "#{subpath}");
    }
    purl
}

/// Parts of the reference of a container image, empty where it has none.
struct ImageParts<'a> {
    repository: &'a str,
    tag: &'a str,
    digest: &'a str,
}

fn split_image(image: &str) -> ImageParts<'_> {
    let (reference, digest) = image.split_once('@').unwrap_or((image, ""));
    let tag = reference
        .rfind(':')
        .filter(|at| !reference[*at..].contains('/'));
    let (repository, tag) = match tag {
        Some(at) => (&reference[..at], &reference[at + 1..]),
        None => (reference, ""),
    };
    ImageParts {
        repository,
        tag,
        digest,
    }
}

/// The version of a container image: its tag, or the digest where it has none.
pub fn find_image_version(image: &str) -> Option<&str> {
    let ImageParts { tag, digest, .. } = split_image(image);
    [tag, digest]
        .into_iter()
        .find(|version| !version.is_empty())
}

/// `registry.k8s.io/pause:3.10@sha256:…` as the package of a container image.
pub fn format_image(image: &str) -> String {
    let ImageParts {
        repository,
        tag,
        digest,
    } = split_image(image);
    let name = last_segment(repository);
    let mut purl = format!("pkg:oci/{}", encode(&name.to_ascii_lowercase()));
    if !digest.is_empty() {
        let _ = write!(purl, "@{}", encode(digest));
    }
    let mut qualifiers = vec![("repository_url", repository.to_owned())];
    if !tag.is_empty() {
        qualifiers.push(("tag", tag.to_owned()));
    }
    append_qualifiers(&mut purl, &qualifiers);
    purl
}

/// A thing that no registry of packages knows.
pub fn format_generic(
    name: &str,
    version: Option<&str>,
    sha256: Option<&str>,
    url: Option<&str>,
) -> String {
    let mut purl = format!("pkg:generic/{}", encode(name));
    if let Some(version) = version {
        // Writing to a String cannot fail.
        let _ = write!(purl, "@{}", encode(version));
    }
    let checksum = sha256.map(|digest| ("checksum", format!("sha256:{digest}")));
    let download = url.map(|url| ("download_url", url.to_owned()));
    let qualifiers: Vec<_> = checksum.into_iter().chain(download).collect();
    append_qualifiers(&mut purl, &qualifiers);
    purl
}

fn append_qualifiers(purl: &mut String, qualifiers: &[(&str, String)]) {
    for (at, (name, value)) in qualifiers.iter().enumerate() {
        let mark = if at == 0 { '?' } else { '&' };
        // Writing to a String cannot fail.
        let _ = write!(purl, "{mark}{name}={}", encode(value));
    }
}

/// Percent-encodes everything but unreserved characters, the colon and the slash (purl-spec, "Character encoding").
fn encode(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b'_' | b'~' | b':' | b'/' => {
                encoded.push(char::from(byte));
            }
            other => {
                let _ = write!(encoded, "%{other:02X}");
            }
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_a_later_major_version_have_it_in_their_path() {
        let format = |module: &str, version: &str| {
            let identity = serde_json::json!({ "module": module, "source": "none" });
            let identity: ComponentIdentity = serde_json::from_value(identity).expect("identity");
            let (module, subpath) = find_module(&identity, version).expect("a module");
            format_module(&module, version, subpath)
        };
        let containerd = "github.com/containerd/containerd{goMajor}";
        assert_eq!(
            format(containerd, "2.3.4"),
            "pkg:golang/github.com/containerd/containerd/v2@v2.3.4"
        );
        assert_eq!(
            format(containerd, "1.7.27"),
            "pkg:golang/github.com/containerd/containerd@v1.7.27"
        );
        assert_eq!(
            format("k8s.io/kubernetes#cmd/kubelet", "1.36.4"),
            "pkg:golang/k8s.io/kubernetes@v1.36.4#cmd/kubelet"
        );
        assert_eq!(
            format("github.com/Microsoft/windows-container-networking", "0.3.1"),
            "pkg:golang/github.com/microsoft/windows-container-networking@v0.3.1"
        );
    }

    #[test]
    fn images_keep_registry_tag_and_digest() {
        assert_eq!(
            format_image("localhost:5000/a/Pause:3.10@sha256:ab"),
            "pkg:oci/pause@sha256:ab?repository_url=localhost:5000/a/Pause&tag=3.10"
        );
        assert_eq!(
            format_image("registry.k8s.io/pause"),
            "pkg:oci/pause?repository_url=registry.k8s.io/pause"
        );
    }
}
