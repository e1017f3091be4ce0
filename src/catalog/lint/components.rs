//! Components: pins, releases, and defaults by Kubernetes line.

use std::collections::BTreeMap;

use crate::base::code::Code;
use crate::model::component::{
    Component, ComponentDefinition, Confidence, DeclaredSignature, Pin, Release, SignatureKind,
};

use super::Report;
use super::lines::check_ranges;

pub(super) fn lint_component(report: &mut Report<'_>, name: &str, component: &Component) {
    let path = &format!("components/{name}.json");
    let definition = &component.definition;
    lint_overlapping_releases(report, path, &definition.releases);
    for release in &definition.releases {
        for signature in &release.signatures {
            if let Some(missing) = find_missing_part(signature, release) {
                let message = format!(
                    "{}: the signature {} lacks {missing}",
                    release.versions, signature.url
                );
                report.add_error(Code::SIGNATURE_INCOMPLETE, path, message);
            }
            if let Some(field) = signature.find_unverified() {
                let message = format!(
                    "{}: `{field}` of the signature {} is not verified with its kind `{}`",
                    release.versions,
                    signature.url,
                    signature.kind.as_str()
                );
                report.add_error(Code::SIGNATURE_INCOMPLETE, path, message);
            }
        }
    }
    lint_choices(report, path, definition);

    let path = &format!("pins/{name}.json");
    let pins = component.pins.list();
    for (index, pin) in pins.iter().enumerate() {
        lint_pin(report, path, index, pin);
    }
    lint_shared_digests(report, path, &pins);
    lint_invented_digests(report, path, &pins);
    for pin in &pins {
        let published = definition
            .releases
            .iter()
            .any(|release| release.versions.contains(&pin.version));
        if !published && pin.url.is_none() {
            let message = format!("no entry of `releases` contains {}", pin.version);
            report.add_error(Code::DANGLING_REFERENCE, path, message);
        }
    }
}

fn lint_pin(report: &mut Report<'_>, path: &str, index: usize, pin: &Pin) {
    if pin.source.iter().all(|source| source.trim().is_empty()) {
        let message = format!(
            "pins[{index}] ({}): the digest has no source; add `source`",
            pin.version
        );
        report.add_error(Code::PIN_WITHOUT_SOURCE, path, message);
    }
}

/// The commonest mistake in the field: the version was bumped, the digest was not. Records that
/// tell only drift are known to be wrong somewhere and stay.
fn lint_shared_digests(report: &mut Report<'_>, path: &str, pins: &[Pin]) {
    let mut seen: BTreeMap<&str, &Pin> = BTreeMap::new();
    for pin in pins
        .iter()
        .filter(|pin| pin.confidence > Confidence::Mutable)
    {
        match seen.get(pin.digest.as_str()) {
            Some(first) if first.version != pin.version && pin.note.is_none() => {
                let message = format!(
                    "{} and {} have the same digest {}",
                    first.version,
                    pin.version,
                    pin.digest.as_str()
                );
                report.add_error(Code::SHARED_DIGEST, path, message);
            }
            Some(_) => {}
            None => {
                seen.insert(pin.digest.as_str(), pin);
            }
        }
    }
}

fn lint_invented_digests(report: &mut Report<'_>, path: &str, pins: &[Pin]) {
    for pin in pins {
        let digits = pin.digest.as_str();
        if digits
            .bytes()
            .all(|digit| digits.starts_with(char::from(digit)))
        {
            let message = format!(
                "{}: a repeated digit is not the digest of a file",
                pin.version
            );
            report.add_error(Code::INVENTED_DIGEST, path, message);
        }
        for weaker in pins {
            let (long, short) = (pin.digest.as_str(), weaker.digest.as_str());
            if short.len() < long.len() && long.starts_with(short) && pin.is_usable() {
                let message = format!(
                    "{}: the {} digest starts with the {} digest of {}, so it is invented",
                    pin.version,
                    pin.digest.algorithm().as_str(),
                    weaker.digest.algorithm().as_str(),
                    weaker.version
                );
                report.add_error(Code::INVENTED_DIGEST, path, message);
            }
        }
    }
}

/// Missing parts of a declared signature, without which it cannot hold: each download asks for it.
fn find_missing_part(signature: &DeclaredSignature, release: &Release) -> Option<&'static str> {
    use SignatureKind::{
        CosignKey, CosignKeyOverChecksums, CosignKeyless, GithubAttestation, Minisign,
    };
    use SignatureKind::{MinisignOverChecksums, Openpgp, OpenpgpOverChecksums, SigstoreBundle};
    let identity = signature.identity.as_deref().unwrap_or_default();
    let signed = !identity.is_empty() && signature.issuer.is_some();
    if signature.kind.signs_checksums() && release.checksums.is_empty() {
        return Some("the checksum file that it is over (`checksums`)");
    }
    match signature.kind {
        CosignKeyless if signature.certificate_url.is_none() => Some("`certificateUrl`"),
        CosignKeyless | GithubAttestation if !signed => Some("`identity` and `issuer`"),
        SigstoreBundle if !signed && signature.key.is_none() => {
            Some("`identity` and `issuer`, or `key`")
        }
        // The tag is what says the version.
        GithubAttestation if !identity.contains("{version}") => Some("`{version}` in `identity`"),
        Openpgp | OpenpgpOverChecksums if identity.is_empty() => {
            Some("`identity`, the key's fingerprint")
        }
        Openpgp
        | OpenpgpOverChecksums
        | CosignKey
        | CosignKeyOverChecksums
        | Minisign
        | MinisignOverChecksums
            if signature.key.is_none() =>
        {
            Some("`key`")
        }
        _ => None,
    }
}

fn lint_overlapping_releases(report: &mut Report<'_>, path: &str, releases: &[Release]) {
    for (index, release) in releases.iter().enumerate() {
        for later in &releases[index + 1..] {
            if release.versions.overlaps(&later.versions) {
                let message = format!(
                    "releases `{}` and `{}` overlap",
                    release.versions, later.versions
                );
                report.add_error(Code::OVERLAPPING_RANGES, path, message);
            }
        }
    }
}

fn lint_choices(report: &mut Report<'_>, path: &str, component: &ComponentDefinition) {
    let ranges: Vec<_> = component
        .choices
        .iter()
        .map(|choice| (component.name.as_str(), choice.kubernetes))
        .collect();
    check_ranges(report, path, "choices", &ranges);
    for choice in &component.choices {
        if !choice.allowed.contains(&choice.default) {
            let message = format!(
                "the default {} is outside `{}`",
                choice.default, choice.allowed
            );
            report.add_error(Code::UNREACHABLE_DEFAULT, path, message);
        }
        if !component
            .releases
            .iter()
            .any(|release| release.versions.contains(&choice.default))
        {
            let message = format!(
                "no entry of `releases` contains the default {}",
                choice.default
            );
            report.add_error(Code::UNREACHABLE_DEFAULT, path, message);
        }
    }
}
