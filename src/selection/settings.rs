//! The operator's settings of this machine: where the publishers' bytes come from.
//!
//! Flags stand over the environment (`IMAGEGEN_MIRROR`), which stands over the file. No definition, lock or bundle can
//! name the file.

use std::collections::{BTreeMap, BTreeSet};
use std::env;
use std::fmt;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::code::Code;
use crate::base::json;
use crate::base::url::HttpUrl;
use crate::diagnostic::{self, Classify as _, CodedError, Error};
use crate::io::fs;
use crate::model::mirrors::{Mirror, MirrorParty, MirrorPrefix, Mirrors, complete_mirror};

use super::read_input;

/// Environment variable that names another file; empty for none.
const VARIABLE: &str = "IMAGEGEN_SETTINGS";

/// `imagegen/settings.json` in the user's configuration directory.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(
    expecting = "an object such as `{\"mirrors\": {\"https://\": \"https://mirror.example/\"}}`"
)]
pub struct Settings {
    #[serde(rename = "$schema", skip_serializing_if = "Option::is_none")]
    pub schema: Option<String>,
    /// Beginning of addresses → the mirror that answers for them. The longest one that matches counts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(example = serde_json::json!({"https://": "https://mirror.example/"}))]
    pub mirrors: BTreeMap<MirrorPrefix, MirrorSetting>,
}

/// The address of a mirror, with the headers that it needs.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum MirrorSetting {
    Url(HttpUrl),
    WithHeaders(MirrorWithHeaders),
}

/// By its form, so that an error says what is wrong with the URL or the object.
impl<'de> Deserialize<'de> for MirrorSetting {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(SettingVisitor)
    }
}

struct SettingVisitor;

impl<'de> Visitor<'de> for SettingVisitor {
    type Value = MirrorSetting;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a URL, or an object such as `{\"url\": \"https://…\", \"headers\": {\"Authorization\": \"MIRROR_TOKEN\"}}`",
        )
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<MirrorSetting, E> {
        text.parse().map(MirrorSetting::Url).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MirrorSetting, A::Error> {
        let object = MapAccessDeserializer::new(map);
        MirrorWithHeaders::deserialize(object).map(MirrorSetting::WithHeaders)
    }
}

/// A mirror that needs a login.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MirrorWithHeaders {
    pub url: HttpUrl,
    /// HTTP header → environment variable that holds its value.
    pub headers: BTreeMap<String, String>,
}

/// The mirrors of the flags or the environment, over those of the settings.
///
/// # Errors
/// The settings cannot be read, the address of a mirror has a query, or two mirrors are for one prefix.
pub fn read_mirrors(given: &[(MirrorPrefix, HttpUrl)]) -> diagnostic::Result<Mirrors> {
    let mut places = BTreeMap::new();
    for (prefix, setting) in read_settings()?.mirrors {
        places.insert(prefix, open_setting(setting)?);
    }
    let mut named = BTreeSet::new();
    for (prefix, url) in given {
        if !named.insert(prefix) {
            let message = format!("`--mirror` names two mirrors for `{prefix}`");
            return Err(Error::value(message, "keep one of them"));
        }
        let mirror = Mirror::open_to_all(url.clone(), MirrorParty::Operator);
        places.insert(prefix.clone(), mirror);
    }
    Ok(Mirrors::new(places))
}

fn open_setting(setting: MirrorSetting) -> diagnostic::Result<Mirror> {
    let (url, headers) = match setting {
        MirrorSetting::Url(url) => (url, BTreeMap::new()),
        MirrorSetting::WithHeaders(mirror) => (mirror.url, mirror.headers),
    };
    let url = complete_mirror(&url).map_err(|message| {
        CodedError::new(Code::VALUE, format!("settings: `mirrors`: {message}"))
    })?;
    Ok(Mirror {
        url,
        headers,
        party: MirrorParty::Operator,
    })
}

/// The settings that the environment names, or those of the user if there are any.
fn read_settings() -> diagnostic::Result<Settings> {
    if let Some(named) = env::var_os(VARIABLE) {
        if named.is_empty() {
            return Ok(Settings::default());
        }
        let path = PathBuf::from(named);
        return parse_settings(&path, &read_input(VARIABLE, &path)?);
    }
    let Some(path) = default_path() else {
        return Ok(Settings::default());
    };
    // Settings may name mirrors: without them, this program would ask the publishers.
    let read = fs::read_text_if_exists(&path).map_err(|error| CodedError {
        remedy: Some(format!(
            "make the file readable, or set `{VARIABLE}=` (empty) to use no settings"
        )),
        ..CodedError::in_file(error.code(), path.display().to_string(), error.to_string())
    });
    match read? {
        Some(bytes) => parse_settings(&path, &bytes),
        None => Ok(Settings::default()),
    }
}

fn parse_settings(path: &std::path::Path, bytes: &[u8]) -> diagnostic::Result<Settings> {
    Ok(json::parse_json(&path.display().to_string(), bytes)?)
}

/// In the platform's configuration directory.
fn default_path() -> Option<PathBuf> {
    use etcetera::BaseStrategy as _;
    let strategy = etcetera::choose_base_strategy().ok()?;
    let path = strategy.config_dir().join("imagegen").join("settings.json");
    // A relative HOME would make it a file of the working folder, which others may have written.
    path.is_absolute().then_some(path)
}
