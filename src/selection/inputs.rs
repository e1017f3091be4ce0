//! Overrides and policy as the user gives them: flags, a file, the image definition.

mod key;

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use crate::base::code::Code;
use crate::base::json;
use crate::base::text::{convert_to_utf8, parent_folder};
use crate::base::toml::{FragmentError, LONGEST_FRAGMENT};
use crate::diagnostic::{CodedError, Error, Result};
use crate::io::fs::{self, FileError, LARGEST_TEXT, PathKind};
use crate::model::containerd::ConfigFragment;
use crate::model::definition::ImageDefinition;
use crate::model::overrides::{Overrides, set_overrides};
use crate::model::policy::Policy;

use super::NamedPolicy;

/// An input file that the user names by a flag.
///
/// # Errors
/// The file cannot be read.
pub fn read_input(flag: &str, path: &Path) -> Result<Vec<u8>> {
    // A device such as /dev/zero has no end.
    let bytes =
        fs::read_head(path, LARGEST_TEXT + 1).map_err(|error| unreadable_input(flag, &error))?;
    if bytes.len() as u64 > LARGEST_TEXT {
        let message = format!(
            "{flag}: {} is larger than {} MiB",
            path.display(),
            LARGEST_TEXT >> 20
        );
        return Err(Error::value(
            message,
            format!("check the path after `{flag}`"),
        ));
    }
    Ok(bytes)
}

/// A directory that the user names by a flag.
///
/// # Errors
/// The directory cannot be read.
pub fn read_input_tree(flag: &str, path: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    fs::read_tree(path).map_err(|error| unreadable_input(flag, &error))
}

/// Every entry of a directory that the user names by a flag, sorted.
///
/// # Errors
/// The directory cannot be read.
pub fn read_input_names(flag: &str, path: &Path) -> Result<Vec<(String, PathKind)>> {
    fs::list_kinds(path).map_err(|error| unreadable_input(flag, &error))
}

fn unreadable_input(flag: &str, error: &FileError) -> Error {
    Error::value(
        format!("{flag}: {error}"),
        format!("check the path after `{flag}`"),
    )
}

/// `--overrides` and `--override` over each other, in this order.
///
/// # Errors
/// A file cannot be read, or a text not be understood.
pub fn read_overrides(file: Option<&Path>, fields: &[String]) -> Result<Overrides> {
    let mut overrides = Overrides::new();
    if let Some(path) = file {
        let mut given: Overrides = json::parse_json(
            &path.display().to_string(),
            &read_input("--overrides", path)?,
        )?;
        load_keys(&mut given, parent_folder(path))?;
        overrides = given;
    }
    set_overrides(&mut overrides, fields)
        .map_err(|message| CodedError::new(Code::VALUE, message))?;
    load_keys(&mut overrides, Path::new(""))?;
    Ok(overrides)
}

/// Replaces names of key and certificate files by their contents, so that lockfile and workspace are complete.
///
/// # Errors
/// A file cannot be read, or holds a private key.
pub fn load_keys(overrides: &mut Overrides, folder: &Path) -> Result<()> {
    for (name, over) in overrides {
        if let Some(signature) = &mut over.signature
            && let Some(key) = &mut signature.key
        {
            inline_key(&format!("override {name}.signature.key"), key, folder)?;
        }
        if let Some(roots) = &mut over.roots {
            inline_key(&format!("override {name}.roots"), roots, folder)?;
        }
    }
    Ok(())
}

/// Replaces names of files in a definition by their contents, so that lockfile and workspace are complete.
///
/// # Errors
/// A file cannot be read, or does not hold what its field expects.
pub fn load_files(definition: &mut ImageDefinition, folder: &Path) -> Result<()> {
    load_keys(&mut definition.overrides, folder)?;
    let options = definition.containerd.iter_mut();
    for fragment in options.flat_map(|options| &mut options.fragments) {
        inline_fragment(fragment, folder)?;
    }
    for (registry, known) in &mut definition.registries {
        for host in known.server.iter_mut().chain(&mut known.hosts) {
            if let Some(ca) = &mut host.ca {
                inline_certificates(&format!("registries.{registry}: ca"), ca, folder)?;
            }
        }
    }
    Ok(())
}

fn inline_certificates(field: &str, value: &mut String, folder: &Path) -> Result<()> {
    inline_key(field, value, folder)?;
    if key::is_certificates(value) {
        return Ok(());
    }
    let remedy = "give certificates in PEM, or the name of a file with them below the folder of the definition";
    Err(Error::value(
        format!("{field} is not a certificate"),
        remedy,
    ))
}

/// A file that is not there is refused with the rest of the selection.
fn inline_fragment(fragment: &mut ConfigFragment, folder: &Path) -> Result<()> {
    let ConfigFragment::File(name) = fragment else {
        return Ok(());
    };
    let field = format!("containerd.fragments: {name}");
    let read = fs::read_below(folder, Path::new(name), LONGEST_FRAGMENT as u64);
    let Some(bytes) = read.map_err(|error| {
        let remedy = "put the fragment beside the definition";
        Error::value(format!("{field}: {error}"), remedy)
    })?
    else {
        return Ok(());
    };
    let text = String::from_utf8(bytes).map_err(|_| {
        let remedy = "save the file as UTF-8";
        Error::value(format!("{field}: it is not UTF-8 text"), remedy)
    })?;
    let parsed = text.parse().map_err(|error: FragmentError| {
        let remedy =
            "write TOML that begins with `version`, as in `version = 3`, and holds no secret";
        Error::value(format!("{field}: {error}"), remedy)
    })?;
    *fragment = ConfigFragment::Text(parsed);
    Ok(())
}

fn inline_key(field: &str, value: &mut String, folder: &Path) -> Result<()> {
    let mut text = value.clone();
    if !key::is_content(value) {
        let read = fs::read_below(folder, Path::new(&*value), key::LARGEST);
        let file = read.map_err(|error| {
            let remedy = "put the key beside the file that names it";
            Error::value(format!("{field}: {error}"), remedy)
        })?;
        // A name without file is one of the catalog's keys; an unknown one is told when it is used.
        let Some(bytes) = file else { return Ok(()) };
        text = String::from_utf8_lossy(&convert_to_utf8(&bytes)).into_owned();
    }
    if text.contains("PRIVATE KEY") || text.contains("secret key") {
        let remedy = "give the public key, and keep the private key where you sign";
        return Err(Error::value(format!("{field} is a private key"), remedy));
    }
    if !key::is_public(&text) {
        let remedy = "give a public key or certificates in PEM, OpenPGP armor or minisign's form";
        return Err(Error::value(
            format!("{field} is neither a public key nor a certificate"),
            remedy,
        ));
    }
    *value = text;
    Ok(())
}

/// A field without value is what a generator writes whose input was missing: it would demand nothing, silently.
fn refuse_empty(path: &Path, bytes: &[u8]) -> Result<()> {
    let policy: Value = json::parse_foreign(bytes).unwrap_or_default();
    let Some((field, what)) = find_empty("", &policy) else {
        return Ok(());
    };
    let message = format!(
        "{}: `{field}` is {what}, which demands nothing",
        path.display()
    );
    Err(Error::value(
        message,
        "give it a value, or remove the field",
    ))
}

/// Path of the first value that is `null` or an empty list. Lists that allow are judged by the gate.
fn find_empty(path: &str, value: &Value) -> Option<(String, &'static str)> {
    const JUDGED: [&str; 7] = [
        "allowedHosts",
        "allowedProxies",
        "allowedPublishers",
        "allowedRoots",
        "anyOf",
        "hosts",
        "publishers",
    ];
    match value {
        Value::Null => return Some((path.to_owned(), "`null`")),
        Value::Array(items) => {
            if items.is_empty() && !JUDGED.iter().any(|name| path.ends_with(name)) {
                return Some((path.to_owned(), "an empty list"));
            }
            for (at, item) in items.iter().enumerate() {
                let found = find_empty(&format!("{path}[{at}]"), item);
                if found.is_some() {
                    return found;
                }
            }
        }
        Value::Object(fields) => {
            for (name, value) in fields {
                let found = if path.is_empty() {
                    find_empty(name, value)
                } else {
                    find_empty(&format!("{path}.{name}"), value)
                };
                if found.is_some() {
                    return found;
                }
            }
        }
        _ => {}
    }
    None
}

/// Fields of earlier policies, and what does their work now.
const REPLACED: [(&str, &str); 2] = [
    (
        "refuseBelowSecurityFloor",
        "write `\"refuseUnsupported\": true`, which refuses what its publisher mends no longer",
    ),
    (
        "maximumSeverity",
        "let a scanner with a current list read the bill of materials (`imagegen sbom`), and write `\"refuseUnsupported\": true`",
    ),
];

fn name_replacement(error: Error) -> Error {
    let text = error.to_string();
    let mut replaced = REPLACED.iter();
    match replaced.find(|(name, _)| text.contains(&format!("`{name}`"))) {
        Some((_, remedy)) => Error::value(text, *remedy),
        None => error,
    }
}

/// The policy itself, before there is a plan to hold against it.
///
/// # Errors
/// The file cannot be read or is no policy.
pub fn read_policy(named: &NamedPolicy) -> Result<Policy> {
    match &named.file {
        None => Ok(Policy {
            waivers: named.waivers.clone(),
            ..Policy::from_hosts(&named.plain_http)
        }),
        Some(_) if !named.waivers.is_empty() => Err(Error::value(
            "`--waive` is not allowed with `--policy`",
            "name the missing proofs in the policy: `\"waivers\": [{\"component\": …, \"proof\": …}]`",
        )),
        Some(path) => {
            let bytes = read_input("--policy", path)?;
            let mut policy: Policy = json::parse_json(&path.display().to_string(), &bytes)
                .map_err(|error| name_replacement(error.into()))?;
            refuse_empty(path, &bytes)?;
            if let Some(roots) = policy
                .signed_scripts
                .as_mut()
                .and_then(|rule| rule.roots.as_mut())
            {
                inline_key("policy signedScripts.roots", roots, parent_folder(path))?;
                if !key::is_content(roots) {
                    return Err(Error::value(
                        format!(
                            "policy signedScripts.roots: there is no file {roots} beside the policy"
                        ),
                        "name a file of certificates in PEM, or give them themselves",
                    ));
                }
            }
            Ok(Policy {
                plain_http: named.plain_http.clone(),
                ..policy
            })
        }
    }
}
