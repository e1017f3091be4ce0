//! Facts of a build from the environment: names of variables that are set, how to sign in, the date.

use std::collections::{BTreeMap, BTreeSet};
use std::env;

use crate::diagnostic::{Error, Result};
use crate::io::clock;
use crate::model::image_version::ImageVersion;
use crate::model::support::Day;
use crate::model::target::Target;
use crate::model::variable::Selector;

/// Names of the target's environment variables that are set, never their values.
pub fn list_environment(target: &Target) -> BTreeSet<String> {
    let variables = target.variables.iter().flat_map(|variable| {
        let locked = (!variable.build_time).then(|| variable.packer_name());
        variable.environment_names().chain(locked)
    });
    let selectors = target.selectors.iter().map(Selector::packer_name);
    variables
        .chain(selectors)
        .filter(|name| read_variable(name).is_some())
        .collect()
}

/// Values of build-time selectors, which are no secrets.
pub fn read_selectors(target: &Target) -> BTreeMap<String, String> {
    let selectors = target
        .selectors
        .iter()
        .filter(|selector| selector.build_time);
    selectors
        .filter_map(|selector| {
            Some((
                selector.name.clone(),
                read_variable(&selector.packer_name())?,
            ))
        })
        .collect()
}

/// The date of a reproducible build (<https://reproducible-builds.org/specs/source-date-epoch/>).
///
/// # Errors
/// `SOURCE_DATE_EPOCH` is no number of seconds.
pub fn read_source_date() -> Result<Option<ImageVersion>> {
    let Some(text) = read_variable("SOURCE_DATE_EPOCH") else {
        return Ok(None);
    };
    let time = text
        .parse()
        .ok()
        .and_then(|seconds| ImageVersion::from_time(seconds).ok());
    if time.is_none() {
        let message = format!("SOURCE_DATE_EPOCH: expected seconds since 1970, found `{text}`");
        let remedy = "set it to the output of `date +%s`, or unset it";
        return Err(Error::value(message, remedy));
    }
    Ok(time)
}

/// Seconds since 1970: of the run, or of a reproducible build.
///
/// # Errors
/// As [`read_source_date`].
pub fn read_time() -> Result<u64> {
    Ok(match read_source_date()? {
        Some(ImageVersion::Time(seconds)) => seconds,
        _ => clock::current_time(),
    })
}

/// The day of [`read_time`].
///
/// # Errors
/// As [`read_source_date`], or the clock of the machine is wrong.
pub fn read_today() -> Result<Day> {
    Day::from_time(read_time()?)
        .ok_or_else(|| Error::value("the clock has no year of four digits", "set the clock"))
}

fn read_variable(name: &str) -> Option<String> {
    let value = env::var_os(name).filter(|value| !value.is_empty())?;
    Some(value.to_string_lossy().into_owned())
}
