//! Registry values, environment variables and PATH.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de};

use super::super::value::{HexBytes, RegistryKey, VariableName, WindowsPath};
use super::{Desired, Ensure, Identity, ResourceType};

/// A registry value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RegistryValue {
    pub key: RegistryKey,
    /// Empty for the key's default value.
    pub value_name: String,
    #[serde(flatten)]
    pub desired: Desired<RegistryContent>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct RegistryContent {
    #[serde(flatten)]
    pub data: RegistryData,
}

/// Data of the type that its kind demands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", content = "data")]
pub enum RegistryData {
    #[serde(deserialize_with = "read_data")]
    String(String),
    #[serde(deserialize_with = "read_data")]
    ExpandString(String),
    #[serde(deserialize_with = "read_data")]
    DWord(u32),
    #[serde(deserialize_with = "read_data")]
    QWord(u64),
    #[serde(deserialize_with = "read_lines")]
    MultiString(Vec<String>),
    #[serde(deserialize_with = "read_data")]
    Binary(HexBytes),
}

/// The kind stands beside the data, so the error of a reader has no path.
fn read_data<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    T::deserialize(deserializer).map_err(|error| de::Error::custom(format!("`data`: {error}")))
}

/// Windows ends a list at its first empty text
/// (<https://learn.microsoft.com/windows/win32/sysinfo/registry-value-types>, `REG_MULTI_SZ`).
fn read_lines<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    let lines: Vec<String> = read_data(deserializer)?;
    if lines.iter().any(String::is_empty) {
        let message = "`data`: an empty text ends the list in Windows; leave it out";
        return Err(de::Error::custom(message));
    }
    Ok(lines)
}

/// A machine-wide environment variable.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct EnvironmentVariable {
    pub variable: VariableName,
    #[serde(flatten)]
    pub desired: Desired<EnvironmentValue>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct EnvironmentValue {
    pub value: String,
}

/// One directory on the machine's PATH.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PathEntry {
    pub entry: WindowsPath,
    pub ensure: Ensure,
}

impl ResourceType for RegistryValue {
    fn identity(&self) -> Identity {
        Identity::new(
            "registry value",
            &["key", "valueName"],
            format!(r"{}\{}", self.key, self.value_name),
        )
    }
}

impl ResourceType for EnvironmentVariable {
    fn identity(&self) -> Identity {
        Identity::new(
            "environment variable",
            &["variable"],
            self.variable.as_str(),
        )
    }
}

impl ResourceType for PathEntry {
    fn identity(&self) -> Identity {
        Identity::new(
            "PATH entry",
            &["entry"],
            super::super::paths::normalize_path(&self.entry),
        )
    }
    fn paths(&self) -> Vec<&str> {
        vec![&self.entry]
    }
}
