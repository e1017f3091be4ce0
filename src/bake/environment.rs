//! Packer's environment, made from nothing: what imagegen sets, what every program needs, and what the target names.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::base::secret::{self, Secret};
use crate::model::plan::Plan;
use crate::model::variable::{PACKER_TEMPLATE, Selector, SelectorValue};

use super::{BakeError, Environment};

/// Variables of this process that every bake gets: programs, languages, certificates and proxies. Windows' own are
/// those without which its programs do not start.
const INHERITED: &[&str] = &[
    "ALL_PROXY",
    "COMSPEC",
    "HTTPS_PROXY",
    "HTTP_PROXY",
    "LANG",
    "LC_ALL",
    "NO_PROXY",
    "PATHEXT",
    "PROCESSOR_ARCHITECTURE",
    "PROGRAMDATA",
    "PROGRAMFILES",
    "PSMODULEPATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMDRIVE",
    "SYSTEMROOT",
    "TERM",
    "TZ",
    "WINDIR",
];

/// Packer's environment. Its home, its temporary files and its settings lie in the folder of this bake.
pub(super) struct PackerEnvironment<'a> {
    pub plan: &'a Plan,
    /// Of this process.
    pub given: &'a Environment,
    /// Names that the user passes on.
    pub passed: &'a [String],
    pub folder: &'a Path,
    /// For temporary files.
    pub temporary: &'a Path,
    pub plugins: Option<&'a Path>,
}

impl PackerEnvironment<'_> {
    pub(super) fn build(&self) -> Environment {
        let mut result = self.inherit();
        let mut set = |name: &str, value: OsString| result.insert(name.to_owned(), value);
        // Packer's debug log holds the password that it generates for the guest.
        for (name, value) in [
            ("CHECKPOINT_DISABLE", "1"),
            ("PACKER_NO_COLOR", "1"),
            ("PACKER_LOG", ""),
        ] {
            set(name, value.into());
        }
        for (name, folder) in [
            ("HOME", "home"),
            ("USERPROFILE", "home"),
            ("APPDATA", "home"),
            ("LOCALAPPDATA", "home"),
            ("PACKER_CONFIG_DIR", "config"),
            ("PACKER_CACHE_DIR", "cache"),
        ] {
            set(name, self.folder.join(folder).into_os_string());
        }
        for name in ["TMPDIR", "TMP", "TEMP"] {
            set(name, self.temporary.as_os_str().to_owned());
        }
        let plugins = self.plugins.map(Path::to_owned);
        if let Some(plugins) = plugins.or_else(|| find_own_plugins(self.given)) {
            set("PACKER_PLUGIN_PATH", plugins.into_os_string());
        }

        for value in list_chosen_values(self.plan).filter_map(|(_, value)| value) {
            let settings = value.settings.iter();
            result.extend(settings.map(|(name, value)| (name.clone(), OsString::from(value))));
        }
        result.extend(self.list_values());
        result
    }

    /// Variables of this process whose names somebody gave.
    fn inherit(&self) -> Environment {
        let plan = self.plan;
        let mut names: Vec<&str> = Vec::new();
        if let Some(image) = plan.target.image() {
            names.extend(image.environment.iter().map(String::as_str));
        }
        for value in list_chosen_values(plan).filter_map(|(_, value)| value) {
            names.extend(value.environment.iter().map(String::as_str));
        }
        names.extend(self.passed.iter().map(String::as_str));

        let mut result = Environment::new();
        for (name, value) in self.given {
            let is_common = INHERITED.contains(&name.to_ascii_uppercase().as_str());
            if is_common || names.contains(&name.as_str()) {
                result.insert(name.clone(), value.clone());
            }
        }
        let path = self.given.get("PATH").or_else(|| self.given.get("Path"));
        if let Some(path) = path.and_then(keep_absolute_folders) {
            result.insert("PATH".to_owned(), path);
        }
        result
    }

    /// Variables of the target that the environment sets, under Packer's own names.
    fn list_values(&self) -> Environment {
        let plan = self.plan;
        let mut result = Environment::new();
        for variable in &plan.target.variables {
            let is_declared = plan.declared.contains(&variable.name);
            if !is_declared || plan.variables.contains_key(&variable.name) {
                continue;
            }
            let found = variable
                .environment_names()
                .find_map(|name| self.given.get(&name).filter(|value| !value.is_empty()));
            if let Some(value) = found {
                result.insert(variable.packer_name(), value.clone());
            }
        }
        result
    }
}

/// The selectors of the target, each with the value that is chosen.
fn list_chosen_values(plan: &Plan) -> impl Iterator<Item = (&Selector, Option<&SelectorValue>)> {
    plan.target.selectors.iter().map(|selector| {
        let chosen = plan.selectors.get(&selector.name);
        (
            selector,
            chosen.and_then(|value| selector.find_value(value)),
        )
    })
}

/// Files and folders of the user's home that the chosen way to sign in reads.
pub(super) fn list_home_paths(plan: &Plan) -> impl Iterator<Item = &String> {
    let values = list_chosen_values(plan).filter_map(|(_, value)| value);
    values.flat_map(|value| &value.home)
}

/// The user's home.
pub(super) fn find_home(given: &Environment) -> Option<PathBuf> {
    let found = given.get("HOME").or_else(|| given.get("USERPROFILE"));
    found.filter(|home| !home.is_empty()).map(PathBuf::from)
}

/// An entry that is no absolute path is a folder of wherever a program runs.
fn keep_absolute_folders(path: &OsString) -> Option<OsString> {
    let folders = env::split_paths(path).filter(|folder| folder.is_absolute());
    env::join_paths(folders).ok()
}

/// The plugins that the user's own Packer finds, if their folder is there.
/// hashicorp/packer@c38c79c2b360 packer/plugin_folders.go
pub(super) fn find_own_plugins(given: &Environment) -> Option<PathBuf> {
    if let Some(folder) = read_path(given, "PACKER_PLUGIN_PATH") {
        return Some(folder);
    }
    let plugins = find_packer_folder(given)?.join("plugins");
    plugins.is_dir().then_some(plugins)
}

/// Packer's own folder.
/// hashicorp/packer-plugin-sdk@5e4aae7b4e2d pathing/config_file_unix.go; for Windows
/// <https://developer.hashicorp.com/packer/docs/configure>
fn find_packer_folder(given: &Environment) -> Option<PathBuf> {
    let name = if cfg!(windows) {
        "packer.d"
    } else {
        ".packer.d"
    };
    if let Some(folder) = read_path(given, "PACKER_CONFIG_DIR") {
        return Some(folder.join(name));
    }
    let home = read_path(given, "HOME");
    if cfg!(windows) {
        let home = read_path(given, "APPDATA").or(home)?;
        return Some(home.join(name));
    }
    let home = home?;
    let old = home.join(name);
    if old.exists() {
        return Some(old);
    }
    let settings = read_path(given, "XDG_CONFIG_HOME");
    let settings = settings.unwrap_or_else(|| home.join(".config"));
    Some(settings.join("packer"))
}

fn read_path(given: &Environment, variable: &str) -> Option<PathBuf> {
    let value = given.get(variable).filter(|value| !value.is_empty());
    value.map(PathBuf::from)
}

/// Masks what the target calls secret in Packer's output.
pub(super) fn mask_variables(plan: &Plan, environment: &Environment) {
    for variable in &plan.target.variables {
        if !variable.sensitive {
            continue;
        }
        for name in variable.environment_names() {
            if let Some(value) = environment.get(&name) {
                drop(Secret::new(value.as_encoded_bytes()));
            }
        }
    }
}

/// Variables whose value a plugin would not use as it is.
pub(super) fn refuse_templates(environment: &Environment) -> Result<(), BakeError> {
    let mut names = Vec::new();
    for (name, value) in environment {
        if name.starts_with("PKR_VAR_") && value.to_string_lossy().contains(PACKER_TEMPLATE) {
            names.push(name.clone());
        }
    }
    if names.is_empty() {
        Ok(())
    } else {
        Err(BakeError::Template(names))
    }
}

/// Secrets that are parts of ordinary words.
pub(super) fn refuse_short_secrets(
    plan: &Plan,
    environment: &Environment,
) -> Result<(), BakeError> {
    let mut names = Vec::new();
    for variable in &plan.target.variables {
        let name = variable.packer_name();
        if variable.sensitive
            && let Some(value) = environment.get(&name)
            && value.as_encoded_bytes().trim_ascii().len() < secret::SHORTEST
        {
            names.push(name);
        }
    }
    if names.is_empty() {
        Ok(())
    } else {
        Err(BakeError::ShortSecret(names))
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;

    use super::*;
    use crate::io::fs::Scratch;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "folders of this test")]
    fn plugins_are_those_that_packer_finds() {
        let scratch = Scratch::new("plugins").expect("folder");
        let place = scratch.path();
        let mut given = Environment::new();
        for (variable, value, expected) in [
            ("HOME", "home", "home/.config/packer/plugins"),
            ("XDG_CONFIG_HOME", "settings", "settings/packer/plugins"),
            ("HOME", "home", "home/.packer.d/plugins"),
            ("PACKER_CONFIG_DIR", "own", "own/.packer.d/plugins"),
            ("PACKER_PLUGIN_PATH", "given", "given"),
        ] {
            given.insert(variable.to_owned(), place.join(value).into());
            fs::create_dir_all(place.join(expected)).expect("folder");
            assert_eq!(find_own_plugins(&given), Some(place.join(expected)));
        }
    }
}
