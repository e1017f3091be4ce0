//! Input of a prediction besides the resources: facts of the target and of the programs, and what
//! other programs do on the machine after it is made.

use std::collections::BTreeMap;
use std::fmt;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::base::url::HttpUrl;
use crate::model::kubernetes::Program;
use crate::model::platform::Platform;
use crate::model::stage::{AccountRefusal, ServiceAccount, Stage};
use crate::model::step::When;
use crate::windows::paths;
use crate::windows::resource::{Direction, Protocol, WinrmTransport};
use crate::windows::value::{AccountName, Ports, ServiceName};

pub struct Expectations<'a> {
    pub build: u32,
    pub windows: &'a str,
    pub target: &'a str,
    pub platform: &'a Platform,
    /// Whether images of the target are generalised by Sysprep.
    pub seals: bool,
    pub later: &'a [LaterFile],
    pub ports: &'a [PortUse],
    pub needs: &'a [FeatureNeed],
    pub arguments: &'a [ArgumentNeed],
    pub writes: &'a [ForeignWrite],
    /// Stages of the life of a clone.
    pub stages: &'a [Stage],
    /// Refusals by programs of this line.
    pub refusals: &'a [AccountRefusal],
    /// Services that packages of the plan install.
    pub packages: &'a [PackageService],
    /// The account that the target leaves on the machine for the build.
    pub build_user: Option<&'a AccountName>,
    /// The listener of `WinRM` that the target leaves on the machine for the build.
    pub winrm: Option<WinrmTransport>,
    /// Flags and gates of the line's programs, gates of earlier lines merged.
    pub programs: &'a BTreeMap<String, Program>,
    /// A step's file name, for messages.
    pub step_file: &'a dyn Fn(&str) -> String,
}

impl fmt::Debug for Expectations<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (target, windows) = (&self.target, &self.windows);
        write!(
            formatter,
            "Expectations of {target} on Windows {windows} (build {})",
            self.build
        )
    }
}

/// A file that another program creates after the image is made.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct LaterFile {
    /// A path; ending in `\*`, the directory and anything below.
    pub path: String,
    /// The program that creates it; a service or program of the machine by its name.
    pub by: String,
    pub source: String,
}

impl LaterFile {
    pub(super) fn covers_path(&self, path: &str) -> bool {
        let key = paths::normalize_key(path);
        match self.path.strip_suffix(r"\*") {
            Some(above) => {
                let above = paths::normalize_key(above);
                key == above || paths::is_below(&key, &above)
            }
            None => paths::normalize_key(&self.path) == key,
        }
    }

    /// Whether the service of that name, or its program, creates it.
    pub(super) fn is_created_by(&self, name: &str) -> bool {
        let by = self.by.to_lowercase();
        let name = name.to_lowercase();
        by.split([' ', ',', '/']).any(|word| word == name)
    }
}

/// A service that a package installs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageService {
    /// The package's own address.
    pub package: HttpUrl,
    pub service: ServiceName,
    pub accounts: Vec<ServiceAccount>,
}

/// A program that works only with a Windows feature.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct FeatureNeed {
    /// File name without suffix.
    pub program: String,
    pub feature: String,
    pub source: String,
}

/// Arguments without which a credential provider of the kubelet ends with an error.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ArgumentNeed {
    /// File name without suffix.
    pub program: String,
    /// All of them, in order; `FILE` stands for the path of any file.
    pub arguments: Vec<String>,
    pub source: String,
}

/// A property that another program writes on a clone or a node: the platform's agent, Windows Setup, a domain's policy.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ForeignWrite {
    /// The program, as a message names it.
    pub by: String,
    #[serde(default)]
    pub when: When,
    /// It also writes after the first start of a clone, when nothing sets the value again.
    #[serde(default)]
    pub later: bool,
    /// Type of the resource.
    #[serde(rename = "type")]
    pub kind: String,
    /// Name of the resource's thing, such as key and name of a registry value; `*` at the end stands for any rest.
    pub thing: String,
    pub property: String,
    pub source: String,
}

/// A port that a program uses.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PortUse {
    /// A service's name or a program's file name.
    pub program: String,
    pub port: Ports,
    pub protocol: Protocol,
    pub direction: Direction,
    pub source: String,
}
