//! The components of the catalog: their definitions, joined with their pins.

use std::sync::Arc;

use crate::base::version::Version;
use crate::model::component::{Component, ComponentDefinition};
use crate::model::pins::{PinFile, PinList};

use super::{Catalog, CatalogError};

impl Catalog {
    /// # Errors
    /// No such component, or its file is not a component.
    pub fn load_component(&self, name: &str) -> Result<Arc<Component>, CatalogError> {
        self.tree.keep(&format!("component {name}"), || {
            let path = self.find_path("component", name, "components")?;
            let definition: Option<ComponentDefinition> = self.tree.read_json(&path)?;
            let definition = definition.ok_or_else(|| self.missing_error(&path))?;
            self.check_name(&path, "name", name, &definition.name)?;

            let pins = self.load_pins(name)?;
            Ok(Component { definition, pins })
        })
    }

    /// The pins of a component; a component without a file of them has none.
    fn load_pins(&self, name: &str) -> Result<PinList, CatalogError> {
        let path = format!("pins/{name}.json");
        if let Some(text) = self.tree.built_in_text(&path) {
            return Ok(PinList::BuiltIn(text));
        }
        let Some(file) = self.tree.read_json::<PinFile>(&path)? else {
            return Ok(PinList::Loaded(Vec::new()));
        };
        self.check_name(&path, "component", name, &file.component)?;
        Ok(PinList::Loaded(file.pins))
    }

    pub fn component_names(&self) -> Vec<String> {
        self.list_names("components")
    }

    /// Components that have a file of pins.
    pub fn pinned_names(&self) -> Vec<String> {
        self.list_names("pins")
    }

    /// Components and programs, the latter with and without `.exe`: what a policy can name. A group of components is
    /// none.
    ///
    /// # Errors
    /// A component cannot be read.
    pub fn list_program_names(&self) -> Result<Vec<String>, CatalogError> {
        let mut names = self.component_names();
        for component in self.component_names() {
            for release in &self.load_component(&component)?.definition.releases {
                for member in &release.members {
                    let file = member.file.to_ascii_lowercase();
                    names.push(file.trim_end_matches(".exe").to_owned());
                    names.push(file);
                }
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }

    /// Components and versions whose files have a digest.
    ///
    /// # Errors
    /// A component cannot be read.
    pub fn find_pins(&self, digest: &str) -> Result<Vec<(String, Version)>, CatalogError> {
        let mut found = Vec::new();
        for name in self.component_names() {
            let component = self.load_component(&name)?;
            let pins = component.pins.find_digest(digest).into_iter();
            found.extend(pins.map(|pin| (name.clone(), pin.version)));
        }
        Ok(found)
    }
}
