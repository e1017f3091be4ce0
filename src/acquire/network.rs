//! Store and network as the flags say.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::base::url::{HttpUrl, ProxyUrl};
use crate::base::value::FileDigest;
use crate::catalog::Trees;
use crate::diagnostic::{Classify, Error, ErrorClass, InternalError, Location, Result};
use crate::fetch::{
    Addressing, Fetcher, MAX_MEDIUM_SIZE, MAX_SIZE, MirrorHeaders, OpenedMirrors, Request,
};
use crate::io::fs::FileError;
use crate::io::http::{Http, Options, Patience};
use crate::io::store::Store;
use crate::model::definition::ImageDefinition;
use crate::model::mirrors::{Mirror, MirrorParty};
use crate::model::plan::{ArtifactRole, PlannedArtifact};
use crate::model::policy::{HeaderGrant, Policy};

/// The store and the network of a verb.
#[derive(Debug, Clone, Default)]
pub struct NetworkOptions {
    /// Folder of the store; the user's cache where it is not named.
    pub store: Option<PathBuf>,
    /// Downloads at once, where the user names a number.
    pub jobs: Option<usize>,
    pub offline: bool,
    /// The proxy in the place of the environment's.
    pub proxy: Option<ProxyUrl>,
    /// Files of certificates in PEM, beside those of the system.
    pub ca_files: Vec<PathBuf>,
    /// Environment variables that may be sent as headers.
    pub header_grants: Vec<HeaderGrant>,
}

/// Downloads at once, where the user names no number.
const DOWNLOADS: usize = 8;

impl NetworkOptions {
    /// Downloads at once.
    pub fn downloads(&self) -> usize {
        self.jobs.unwrap_or(DOWNLOADS)
    }
}

/// # Errors
/// No directory is named and the platform knows none, or it cannot be made.
pub fn open_store(path: Option<&PathBuf>) -> Result<Store> {
    Ok(Store::open(find_store(path)?).map_err(StoreError)?)
}

/// The directory of the store, which need not be there.
///
/// # Errors
/// No directory is named and the platform knows none.
pub fn find_store(path: Option<&PathBuf>) -> Result<PathBuf> {
    let path = path.cloned().or_else(Store::default_path).ok_or_else(|| {
        Error::value(
            "the store has no place: the environment sets no absolute home directory",
            "choose a directory with `--store DIR`",
        )
    })?;
    absolute_path(&path)
}

/// The store cannot be used where it is.
#[derive(Debug, thiserror::Error)]
#[error("store: {0}")]
pub struct StoreError(FileError);

impl Classify for StoreError {
    fn code(&self) -> Code {
        self.0.code()
    }

    fn class(&self) -> ErrorClass {
        self.0.class()
    }

    fn location(&self) -> Option<Location> {
        self.0.location()
    }

    fn remedies(&self) -> Vec<String> {
        vec!["choose a directory that you alone can write to with `--store DIR`".to_owned()]
    }
}

/// The same place seen from any working folder: programs that run from there run in a workspace.
///
/// # Errors
/// The working folder is gone.
pub fn absolute_path(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).map_err(|error| {
        InternalError(format!("working directory of {}: {error}", path.display())).into()
    })
}

/// # Errors
/// The store cannot be made, a proxy or certificate file not be understood.
pub fn open_fetcher(network: &NetworkOptions, policy: &Policy) -> Result<Fetcher> {
    let http = Http::new(Options {
        allow_http: policy.plain_http.clone(),
        proxy: network.proxy.clone().map(String::from),
        ca_files: network.ca_files.clone(),
        hosts: policy.hosts(),
        offline: network.offline,
        patience: Patience::default(),
    })?;
    let mirrors = OpenedMirrors::new(
        policy.mirrors.clone(),
        read_mirror_headers(network, policy)?,
    );
    Ok(Fetcher::new(
        http,
        open_store(network.store.as_ref())?,
        mirrors,
    )?)
}

/// Values of the headers of mirrors. The operator's own mirrors need no grant.
fn read_mirror_headers(network: &NetworkOptions, policy: &Policy) -> Result<MirrorHeaders> {
    let mut headers = MirrorHeaders::new();
    if network.offline {
        return Ok(headers);
    }
    let grants = HeaderGrants::new(network, policy);
    for (prefix, mirror) in policy.mirrors.iter() {
        let own = HeaderGrants::of_mirror(mirror);
        let grants = match mirror.party {
            MirrorParty::Operator => &own,
            MirrorParty::Definition => &grants,
        };
        let values = grants.read_headers(&mirror.headers, prefix, &mirror.url)?;
        headers.insert(prefix.clone(), values);
    }
    Ok(headers)
}

/// Requests to the network for an artifact.
///
/// # Errors
/// A header's value is in an environment variable that is not set.
pub fn request_artifact(
    artifact: &PlannedArtifact,
    trees: &Trees,
    grants: &HeaderGrants,
) -> Result<Request> {
    let component = trees.catalog.load_component(&artifact.component).ok();
    let superseded = component
        .into_iter()
        .flat_map(|component| component.pins.find_version(&artifact.version))
        .filter(|pin| !pin.is_usable())
        .filter_map(|pin| Some((pin.digest.file_digest()?, pin.source.join("; "))))
        .collect();
    Ok(Request {
        name: artifact.title(),
        url: artifact.url.clone(),
        addressing: Addressing::Published,
        size: artifact.size,
        max_size: if artifact.role == ArtifactRole::BootMedia {
            MAX_MEDIUM_SIZE
        } else {
            MAX_SIZE
        },
        digests: artifact
            .digests
            .iter()
            .map(|pin| pin.digest.clone())
            .collect(),
        superseded,
        headers: grants.read_headers(&artifact.headers, &artifact.component, &artifact.url)?,
        login: None,
    })
}

/// Requests to the network for the files that the image definition names itself.
pub fn request_user_files(selection: &ImageDefinition) -> Vec<Request> {
    selection
        .user_files()
        .map(|file| Request {
            digests: vec![FileDigest::Sha256(file.sha256.clone())],
            ..Request::without_digest(&file.name, file.url, MAX_SIZE)
        })
        .collect()
}

/// Environment variables that may be sent as headers, by the command line and by the policy. A definition, a lock
/// or a bundle can only ask for them.
#[derive(Debug, Clone, Default)]
pub struct HeaderGrants {
    grants: Vec<HeaderGrant>,
    /// Nothing is sent: no variable is read.
    offline: bool,
}

impl HeaderGrants {
    pub fn new(network: &NetworkOptions, policy: &Policy) -> Self {
        let grants = network.header_grants.iter().chain(&policy.header_grants);
        Self {
            grants: grants.cloned().collect(),
            offline: network.offline,
        }
    }

    /// The headers that the operator named for a mirror, for its host.
    fn of_mirror(mirror: &Mirror) -> Self {
        let host = mirror.url.host().parse();
        let mut grants = Vec::new();
        for environment in mirror.headers.values() {
            grants.push(HeaderGrant {
                environment: environment.clone(),
                hosts: host.iter().cloned().collect(),
            });
        }
        Self {
            grants,
            offline: false,
        }
    }

    /// Values of headers for requests to the host of `url`; none without network.
    ///
    /// # Errors
    /// A variable may not be sent to this host, or is not set.
    pub fn read_headers(
        &self,
        names: &BTreeMap<String, String>,
        component: &str,
        url: &HttpUrl,
    ) -> Result<Vec<(String, Secret)>> {
        if self.offline {
            return Ok(Vec::new());
        }
        let host = url.host();
        if let Some(variable) = names
            .values()
            .find(|name| !self.grants.iter().any(|it| it.allows(name, &host)))
        {
            let message = format!(
                "override of {component}: the environment variable {variable} may not be sent to {host}"
            );
            let remedy = format!(
                "allow it with `--allow-header-env {variable}={host}`, or with `headerGrants` in the policy"
            );
            return Err(Error::value(message, remedy));
        }
        if !names.is_empty() && !url.is_protected() {
            let message =
                format!("override of {component}: headers are not sent to {url} over plain HTTP");
            return Err(Error::value(message, "use a URL with `https://`"));
        }
        read_values(names, component)
    }
}

fn read_values(names: &BTreeMap<String, String>, component: &str) -> Result<Vec<(String, Secret)>> {
    let mut missing = BTreeSet::new();
    let mut headers = Vec::new();
    for (header, variable) in names {
        match std::env::var(variable) {
            Ok(value) if !value.is_empty() => headers.push((header.clone(), Secret::new(value))),
            _ => {
                missing.insert(variable.clone());
            }
        }
    }
    if missing.is_empty() {
        return Ok(headers);
    }
    let missing: Vec<String> = missing.into_iter().collect();
    let message = format!(
        "override of {component}: the environment does not set {}",
        missing.join(", ")
    );
    let remedy = "set it; imagegen sends its value as an HTTP header and never stores it";
    Err(Error::value(message, remedy))
}
