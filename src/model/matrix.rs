//! `matrix` of a definition: images for every combination of some values.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::base::json::JsonError;
use crate::diagnostic::classify;

use super::definition::ImageDefinition;

/// More images than this are a mistake of the definition.
const MOST_IMAGES: usize = 10_000;

/// Values that are combined, each list for one field of the definition. The name of an image is made of its values, in
/// the order of these fields: `host-2022-1.36`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"windows\": [\"2022\", \"2025\"]}`")]
pub struct Matrix {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cni: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_access: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<Vec<String>>,
    /// Combinations to leave out: every one that has all values of an entry.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<MatrixValues>,
    /// Further combinations.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub include: Vec<MatrixValues>,
}

/// A value for each of some fields.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
#[serde(expecting = "an object such as `{\"kubernetes\": \"1.36\", \"windows\": \"2025\"}`")]
pub struct MatrixValues {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub windows: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kubernetes: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub runtime: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cni: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host_access: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delivery: Option<String>,
}

/// A matrix that gives no images, or other ones than its writer meant.
#[derive(Debug, thiserror::Error)]
pub enum MatrixError {
    #[error("`matrix.{0}` is an empty list")]
    EmptyList(&'static str),
    #[error("`matrix.{0}[{1}]` is an empty text")]
    EmptyValue(&'static str, usize),
    #[error("`matrix.{0}` has `{1}` twice")]
    Twice(&'static str, String),
    #[error("`matrix` combines nothing")]
    Empty,
    #[error("`matrix` combines nothing: `exclude` leaves every image out")]
    NoneLeft,
    #[error("`matrix.exclude[{0}]` leaves no image out")]
    IdleExclude(usize),
    #[error("`matrix.include[{0}]` is `{1}`, which is there already")]
    KnownInclude(usize, String),
    #[error("`matrix.include[{0}]` has no value")]
    EmptyInclude(usize),
    #[error("`matrix` gives the name `{name}` to {one} and to {other}")]
    SameName {
        name: String,
        one: String,
        other: String,
    },
    #[error("`matrix` gives more than {MOST_IMAGES} images")]
    TooMany,
    #[error("`matrix`: {0}")]
    Value(JsonError),
}

classify!(MatrixError => MATRIX);

impl MatrixError {
    /// The edit that mends it; none where the message names it.
    pub fn remedy(&self) -> Option<&'static str> {
        Some(match self {
            Self::EmptyList(_) | Self::Empty => {
                "give each field that differs a list, such as `\"windows\": [\"2022\", \"2025\"]`"
            }
            Self::NoneLeft => "remove an entry of `exclude`, or add images by `include`",
            Self::EmptyValue(..) => "write a value, or remove it",
            Self::Twice(..) => "remove one of them",
            Self::IdleExclude(_) => {
                "remove the entry, or write values of the lists as they are there"
            }
            Self::KnownInclude(..) => "remove the entry",
            Self::EmptyInclude(_) => {
                "give it values, such as `{\"windows\": \"2025\"}`, or remove it"
            }
            Self::SameName { .. } => "define one of them below `images`, with a name of its own",
            Self::TooMany => "divide the definition, or leave combinations out by `exclude`",
            Self::Value(_) => return None,
        })
    }
}

/// The fields of a combination, in the order of names.
type Point = Vec<(&'static str, String)>;

impl Matrix {
    fn list_axes(&self) -> [(&'static str, Option<&Vec<String>>); 7] {
        [
            ("target", self.target.as_ref()),
            ("windows", self.windows.as_ref()),
            ("kubernetes", self.kubernetes.as_ref()),
            ("runtime", self.runtime.as_ref()),
            ("cni", self.cni.as_ref()),
            ("hostAccess", self.host_access.as_ref()),
            ("delivery", self.delivery.as_ref()),
        ]
    }

    /// The images by name; each definition has the fields of its combination alone.
    ///
    /// # Errors
    /// A list is empty, an entry has no effect, or a value is none of its field.
    pub fn list_images(&self) -> Result<BTreeMap<String, ImageDefinition>, MatrixError> {
        let mut points = self.combine()?;
        // Entries may overlap, so each is judged by the whole matrix.
        for (at, values) in self.exclude.iter().enumerate() {
            if !points.iter().any(|point| values.fits(point)) {
                return Err(MatrixError::IdleExclude(at));
            }
        }
        points.retain(|point| !self.exclude.iter().any(|values| values.fits(point)));
        let mut known: BTreeSet<Point> = points.iter().map(plain_point).collect();
        for (at, values) in self.include.iter().enumerate() {
            let point = values.to_point();
            if point.is_empty() {
                return Err(MatrixError::EmptyInclude(at));
            }
            if !known.insert(plain_point(&point)) {
                return Err(MatrixError::KnownInclude(at, name_point(&point)));
            }
            points.push(point);
        }
        if points.is_empty() {
            return Err(match self.exclude.as_slice() {
                [] => MatrixError::Empty,
                _ => MatrixError::NoneLeft,
            });
        }

        let mut named: BTreeMap<String, Point> = BTreeMap::new();
        for point in points {
            let name = name_point(&point);
            if let Some(other) = named.get(&name) {
                let (one, other) = (format_point(other), format_point(&point));
                return Err(MatrixError::SameName { name, one, other });
            }
            named.insert(name, point);
        }
        let images = named.into_iter();
        images
            .map(|(name, point)| Ok((name, define_point(point)?)))
            .collect()
    }

    fn combine(&self) -> Result<Vec<Point>, MatrixError> {
        let mut points = Vec::new();
        for (field, values) in self.list_axes() {
            let Some(values) = values else { continue };
            check_values(field, values)?;
            if points.is_empty() {
                points.push(Point::new());
            }
            if points.len() * values.len() > MOST_IMAGES {
                return Err(MatrixError::TooMany);
            }
            let mut longer = Vec::new();
            for point in &points {
                for value in values {
                    let mut point = point.clone();
                    point.push((field, value.clone()));
                    longer.push(point);
                }
            }
            points = longer;
        }
        Ok(points)
    }
}

fn check_values(field: &'static str, values: &[String]) -> Result<(), MatrixError> {
    if values.is_empty() {
        return Err(MatrixError::EmptyList(field));
    }
    if let Some(at) = values.iter().position(String::is_empty) {
        return Err(MatrixError::EmptyValue(field, at));
    }
    let mut seen = BTreeSet::new();
    let mut known = values.iter();
    match known.find(|value| !seen.insert(plain_value(field, value))) {
        Some(twice) => Err(MatrixError::Twice(field, twice.clone())),
        None => Ok(()),
    }
}

impl MatrixValues {
    fn to_point(&self) -> Point {
        let fields = [
            ("target", &self.target),
            ("windows", &self.windows),
            ("kubernetes", &self.kubernetes),
            ("runtime", &self.runtime),
            ("cni", &self.cni),
            ("hostAccess", &self.host_access),
            ("delivery", &self.delivery),
        ];
        let given = fields
            .into_iter()
            .filter_map(|(field, value)| Some((field, value.clone()?)));
        given.collect()
    }

    /// Whether a combination has all of these values; those of no field are in none.
    fn fits(&self, point: &Point) -> bool {
        let (values, point) = (plain_point(&self.to_point()), plain_point(point));
        !values.is_empty() && values.iter().all(|value| point.contains(value))
    }
}

/// A value as it is compared: `v1.36` is the line `1.36`.
fn plain_value<'a>(field: &str, value: &'a str) -> &'a str {
    let line = value.strip_prefix('v').filter(|_| field == "kubernetes");
    line.unwrap_or(value)
}

fn plain_point(point: &Point) -> Point {
    let values = point.iter();
    values
        .map(|(field, value)| (*field, plain_value(field, value).to_owned()))
        .collect()
}

fn name_point(point: &Point) -> String {
    let values: Vec<&str> = point.iter().map(|(_, value)| value.as_str()).collect();
    values.join("-")
}

/// `target a, cni b`
fn format_point(point: &Point) -> String {
    let values = point
        .iter()
        .map(|(field, value)| format!("{field} {value}"));
    values.collect::<Vec<_>>().join(", ")
}

fn define_point(point: Point) -> Result<ImageDefinition, MatrixError> {
    let fields: Map<String, Value> = point
        .into_iter()
        .map(|(field, value)| (field.to_owned(), Value::String(value)))
        .collect();
    let text = Value::Object(fields).to_string();
    crate::base::json::parse_json("matrix", text.as_bytes()).map_err(MatrixError::Value)
}
