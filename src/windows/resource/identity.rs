//! Which thing on a machine a resource is about.

use std::cmp::Ordering;
use std::fmt;

use super::super::paths;
use crate::base::text::into_lowercase;

/// Two resources with equal identities are about the same thing. Windows compares names without case.
#[derive(Debug, Clone)]
pub struct Identity {
    /// The kind of thing, for people: `firewall rule`. Empty for a path of the file system.
    class: &'static str,
    /// The properties that name it in JSON.
    properties: &'static [&'static str],
    /// As the resource writes it.
    name: String,
    key: String,
}

impl Identity {
    pub fn new(
        class: &'static str,
        properties: &'static [&'static str],
        name: impl Into<String>,
    ) -> Self {
        let name = name.into();
        Self {
            class,
            properties,
            key: into_lowercase(name.clone()),
            name,
        }
    }

    /// A file, directory or link: a path holds one thing, of whatever type.
    pub fn from_path(properties: &'static [&'static str], path: &str) -> Self {
        Self::new("", properties, paths::normalize_path(path))
    }

    pub fn is_path(&self) -> bool {
        self.class.is_empty()
    }

    pub fn properties(&self) -> &'static [&'static str] {
        self.properties
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name in lower case.
    pub fn key(&self) -> &str {
        &self.key
    }

    /// Whether it is a path below that one.
    pub fn is_below(&self, above: &Self) -> bool {
        self.is_path() && above.is_path() && paths::is_below(&self.key, &above.key)
    }
}

impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Identity {}

impl PartialOrd for Identity {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Identity {
    fn cmp(&self, other: &Self) -> Ordering {
        self.class
            .cmp(other.class)
            .then_with(|| self.key.cmp(&other.key))
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_path() {
            return formatter.write_str(&self.name);
        }
        write!(formatter, "{} `{}`", self.class, self.name)
    }
}
