//! Where the guest of a plan downloads from.

use std::collections::BTreeMap;

use super::Plan;
use crate::base::choice::Delivery;
use crate::base::url::HttpUrl;
use crate::model::mirrors::MirrorPrefix;

impl Plan {
    /// Where the guest downloads a file from: its publisher's address, or that of a mirror. Media bring it along.
    pub fn locate_download(&self, url: &HttpUrl) -> HttpUrl {
        if self.delivery == Delivery::Media {
            url.clone()
        } else {
            self.selection.download_mirrors.locate(url)
        }
    }

    /// The mirrors that the guest downloads from, by the addresses that they answer for.
    pub fn list_guest_mirrors(&self) -> BTreeMap<MirrorPrefix, HttpUrl> {
        let mut used = BTreeMap::new();
        if self.delivery == Delivery::Media {
            return used;
        }
        let artifacts = self.artifacts().map(|artifact| &artifact.url);
        let files = self.selection.user_files().map(|file| file.url);
        for url in artifacts.chain(files) {
            if let Some((prefix, mirror)) = self.selection.download_mirrors.find(url) {
                used.insert(prefix.clone(), mirror.url.clone());
            }
        }
        used
    }
}
