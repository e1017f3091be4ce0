//! The operator's mirrors with the values of their headers: the one place where a publisher's address becomes the one
//! that is asked.

use std::collections::BTreeMap;

use crate::base::secret::Secret;
use crate::base::url::HttpUrl;
use crate::io::oci::Reference;
use crate::model::mirrors::{Mirror, MirrorPrefix, Mirrors};

use super::{Addressing, Request};

/// Headers of mirrors with their values, by prefix.
pub type MirrorHeaders = BTreeMap<MirrorPrefix, Vec<(String, Secret)>>;

/// Mirrors that can be asked.
#[derive(Debug, Default)]
pub struct OpenedMirrors {
    mirrors: Mirrors,
    headers: MirrorHeaders,
}

impl OpenedMirrors {
    pub fn new(mirrors: Mirrors, headers: MirrorHeaders) -> Self {
        Self { mirrors, headers }
    }

    pub(super) fn find(&self, url: &HttpUrl) -> Option<(&MirrorPrefix, &Mirror)> {
        self.mirrors.find(url)
    }

    pub(super) fn locate(&self, url: &HttpUrl) -> HttpUrl {
        self.mirrors.locate(url)
    }

    /// The request to the mirror, if one answers for it. Headers for the publisher go to the publisher alone.
    pub(super) fn locate_request(&self, request: &Request) -> Request {
        let found = self.find(&request.url);
        let Some((prefix, _)) = found.filter(|_| request.addressing == Addressing::Published)
        else {
            return request.clone();
        };
        Request {
            url: self.locate(&request.url),
            headers: self.read_headers(prefix),
            login: None,
            ..request.clone()
        }
    }

    /// The image where it is asked for, and the headers of the mirror that answers for it.
    pub(super) fn locate_image(&self, image: Reference) -> (Reference, Vec<(String, Secret)>) {
        let Some((prefix, url)) = self.mirrors.locate_image(&image.registry, &image.name) else {
            return (image, Vec::new());
        };
        (image.at(&url), self.read_headers(prefix))
    }

    fn read_headers(&self, prefix: &MirrorPrefix) -> Vec<(String, Secret)> {
        self.headers.get(prefix).cloned().unwrap_or_default()
    }
}
