//! `images` of a definition: what differs from image to image.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use crate::base::value::{ImageName, NamedImage};
use crate::model::definition::ImageDefinition;

/// Images by name; or container images, as definitions had them under this key at first.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[serde(untagged)]
pub enum Images {
    Named(BTreeMap<ImageName, ImageDefinition>),
    Containers(Vec<NamedImage>),
}

impl Images {
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Named(images) => images.is_empty(),
            Self::Containers(images) => images.is_empty(),
        }
    }

    pub fn named(&self) -> Option<&BTreeMap<ImageName, ImageDefinition>> {
        match self {
            Self::Named(images) if !images.is_empty() => Some(images),
            Self::Named(_) | Self::Containers(_) => None,
        }
    }

    /// The named images; none of a list of container images.
    pub fn into_named(self) -> BTreeMap<ImageName, ImageDefinition> {
        match self {
            Self::Named(images) => images,
            Self::Containers(_) => BTreeMap::new(),
        }
    }

    pub(super) fn into_containers(self) -> Vec<NamedImage> {
        match self {
            Self::Named(_) => Vec::new(),
            Self::Containers(images) => images,
        }
    }
}

impl Default for Images {
    fn default() -> Self {
        Self::Named(BTreeMap::new())
    }
}

impl<'de> Deserialize<'de> for Images {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ImagesVisitor)
    }
}

/// Unlike an untagged enum, it keeps the place of an error.
struct ImagesVisitor;

impl<'de> Visitor<'de> for ImagesVisitor {
    type Value = Images;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .write_str("an object of images such as `{\"node-2022\": {\"windows\": \"2022\"}}`")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        BTreeMap::deserialize(MapAccessDeserializer::new(map)).map(Images::Named)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<Self::Value, A::Error> {
        Vec::deserialize(SeqAccessDeserializer::new(items)).map(Images::Containers)
    }
}
