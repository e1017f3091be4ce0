//! A bill of materials of an image, as CycloneDX 1.6 or SPDX 2.3. The same lockfile gives the same bytes.

mod cyclonedx;
mod spdx;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::base::digest::sha256_hex;
use crate::base::program::ProgramVersion;
use crate::lock::Lock;

use super::inventory::Item;

pub use cyclonedx::format_cyclonedx;
pub use spdx::format_spdx;

/// Inputs of a bill of materials.
#[derive(Debug)]
pub struct BillOfMaterials<'a> {
    pub lock: &'a Lock,
    /// SHA-256 of the lockfile.
    pub lock_digest: String,
    pub items: Vec<Item>,
    /// Files of the image with size and digest, and its identifiers; of an image that was baked.
    pub baked: Option<&'a Value>,
    /// RFC 3339; the end of the bake or `SOURCE_DATE_EPOCH`. None for a lockfile alone.
    pub time: Option<String>,
    pub program: ProgramVersion,
}

/// A Go module that programs of an image are built from. Scanners look for vulnerabilities by the `name` of a package and
/// not by its package URL (`setPackageName` of syft, `pkgName` of Trivy), and a program is called otherwise.
struct GoModule<'a> {
    id: String,
    name: String,
    version: String,
    purl: &'a str,
    license: Option<&'a str>,
    supplier: Option<&'a str>,
    /// Ids of the programs.
    programs: Vec<&'a str>,
}

impl BillOfMaterials<'_> {
    fn list_modules(&self) -> Vec<GoModule<'_>> {
        let mut modules: BTreeMap<&str, GoModule<'_>> = BTreeMap::new();
        for item in self.items.iter().filter(|item| !item.outside) {
            let (Some(name), Some(purl), Some(version)) = (&item.module, &item.purl, &item.version)
            else {
                continue;
            };
            let purl = purl.split('#').next().unwrap_or(purl);
            let module = modules.entry(purl).or_insert_with(|| GoModule {
                id: format!("module/{name}@v{version}"),
                name: name.clone(),
                version: format!("v{version}"),
                purl,
                license: item.license.as_deref(),
                supplier: item.supplier.as_deref(),
                programs: Vec::new(),
            });
            module.programs.push(&item.id);
        }
        modules.into_values().collect()
    }

    /// `node image TARGET, Windows 2022, Kubernetes 1.36.4`
    fn title(&self) -> String {
        let selection = &self.lock.selection;
        format!(
            "node image {}, Windows {}, Kubernetes {}",
            selection.target.as_deref().unwrap_or_default(),
            selection.windows.as_deref().unwrap_or_default(),
            self.lock.kubernetes
        )
    }

    /// The image's own version, or the digest of its lockfile.
    fn version(&self) -> String {
        let baked = self.baked.and_then(|baked| baked["imageVersion"].as_str());
        baked.map_or_else(|| self.lock_digest[..16].to_owned(), str::to_owned)
    }

    /// A UUID of version 8 (RFC 9562, section 5.8) made from everything that the document says.
    fn uuid(&self, format: &str) -> String {
        let time = self.time.as_deref().unwrap_or_default();
        let baked = self.baked.map(Value::to_string).unwrap_or_default();
        let seed = format!(
            "{format}\n{}\n{time}\n{baked}\n{:?}",
            self.lock_digest, self.program
        );
        let mut digits = sha256_hex(seed.as_bytes()).into_bytes();
        digits[12] = b'8';
        digits[16] = b'8';
        let text = String::from_utf8_lossy(&digits[..32]).into_owned();
        let parts = [
            &text[..8],
            &text[8..12],
            &text[12..16],
            &text[16..20],
            &text[20..],
        ];
        parts.join("-")
    }
}

/// A JSON object without the fields that are null or an empty list.
fn keep_filled(mut object: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.retain(|_, value| {
            !value.is_null() && value.as_array().is_none_or(|it| !it.is_empty())
        });
    }
    object
}
