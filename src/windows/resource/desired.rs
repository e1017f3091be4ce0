//! Whether a thing is to be on the machine, and how.

use schemars::JsonSchema;
use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::base::json;

/// Whether a thing without further properties is to be on the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Ensure {
    Present,
    Absent,
}

/// A thing with its settings, or its absence. In JSON the settings stand beside `"ensure": "present"`;
/// `"ensure": "absent"` allows none.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "ensure", deny_unknown_fields, rename_all = "camelCase")]
pub enum Desired<T> {
    #[serde(
        deserialize_with = "parse_settings",
        bound(deserialize = "T: DeserializeOwned")
    )]
    Present(T),
    /// A struct variant, because serde ignores unknown fields beside a unit variant.
    Absent {},
}

/// Names the path of a wrong value, which serde does not follow through flattened fields.
fn parse_settings<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    deserializer: D,
) -> Result<T, D::Error> {
    let settings = Value::deserialize(deserializer)?;
    json::convert_value(settings).map_err(D::Error::custom)
}

impl<T> Desired<T> {
    /// The settings of a thing that is to be there.
    pub const fn present(&self) -> Option<&T> {
        match self {
            Self::Present(settings) => Some(settings),
            Self::Absent {} => None,
        }
    }

    pub const fn is_absent(&self) -> bool {
        matches!(self, Self::Absent {})
    }
}

/// A resource type whose things can be absent.
pub trait Ensured {
    type Settings;

    fn desired(&self) -> &Desired<Self::Settings>;
}

macro_rules! ensured {
    ($($name:ident: $settings:ident),+ $(,)?) => {
        $(
            impl Ensured for $name {
                type Settings = $settings;

                fn desired(&self) -> &Desired<$settings> {
                    &self.desired
                }
            }
        )+
    };
}
pub(super) use ensured;
