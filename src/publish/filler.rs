//! Values in the place of placeholders.

use std::collections::BTreeMap;

use regex_lite::{Captures, Regex};

use crate::base::names::format_suggestion;
use crate::diagnostic::{Error, Result};
use crate::model::publication::{
    ArgumentPart, ExpectedOutput, PublishValue, SettledError, compile_pattern, split_argument,
};

/// Values of placeholders for one image.
pub(super) struct Filler<'a> {
    /// Values that the user may give.
    pub declared: Vec<&'a PublishValue>,
    /// Those that the user gave.
    pub values: &'a BTreeMap<String, String>,
    pub common: BTreeMap<&'static str, String>,
    pub groups: &'a Captures<'a>,
}

impl Filler<'_> {
    /// Whether arguments have an optional value that the user does not give.
    pub(super) fn is_left_out(&self, arguments: &[String]) -> bool {
        let parts = arguments
            .iter()
            .flat_map(|argument| split_argument(argument));
        for part in parts {
            let ArgumentPart::Placeholder(name) = part else {
                continue;
            };
            let value = self.find_declared(name);
            if value.is_some_and(|it| it.optional && !self.values.contains_key(&it.name)) {
                return true;
            }
        }
        false
    }

    pub(super) fn fill_settled(
        &self,
        settled: &[SettledError],
    ) -> Result<Vec<(String, Option<String>)>> {
        let mut filled = Vec::new();
        for error in settled {
            filled.push((self.fill_text(&error.text)?, error.doubt.clone()));
        }
        Ok(filled)
    }

    pub(super) fn fill_expected(
        &self,
        expected: Option<&ExpectedOutput>,
    ) -> Result<Option<ExpectedOutput>> {
        let Some(expected) = expected else {
            return Ok(None);
        };
        Ok(Some(ExpectedOutput {
            text: self.fill_text(&expected.text)?,
            ..expected.clone()
        }))
    }

    /// One argument; for a list one for each entry.
    pub(super) fn fill_argument(&self, argument: &str) -> Result<Vec<String>> {
        if let Some(entries) = self.find_list(argument)? {
            return Ok(entries);
        }
        let filled = self.fill_text(argument)?;
        check_argument(argument, &filled)?;
        Ok(vec![filled])
    }

    /// The entries of the list that an argument is.
    pub(super) fn find_list(&self, argument: &str) -> Result<Option<Vec<String>>> {
        if let [ArgumentPart::Placeholder(name)] = split_argument(argument)[..]
            && let Some(value) = self.find_declared(name)
            && value.list
        {
            let entries = list_entries(value, self.find_value(name)?);
            for entry in &entries {
                check_argument(argument, entry)?;
            }
            return Ok(Some(entries.into_iter().map(str::to_owned).collect()));
        }
        Ok(None)
    }

    /// A value is never read again: braces in it stay.
    fn fill_text(&self, text: &str) -> Result<String> {
        let mut filled = String::new();
        for part in split_argument(text) {
            filled.push_str(match part {
                ArgumentPart::Text(text) => text,
                ArgumentPart::Placeholder(name) => self.find_value(name)?,
            });
        }
        Ok(filled)
    }

    fn find_declared(&self, name: &str) -> Option<&PublishValue> {
        self.declared.iter().find(|it| it.name == name).copied()
    }

    pub(super) fn find_value(&self, name: &str) -> Result<&str> {
        if let Some(value) = self.find_declared(name) {
            let given = self.values.get(name).or(value.default.as_ref());
            return given.map(String::as_str).ok_or_else(|| {
                let message = format!("the commands need `{name}`: {}", value.description);
                Error::value(message, format!("add `--var {name}=…`"))
            });
        }
        let common = self.common.get(name).map(String::as_str);
        let found = common.or_else(|| self.groups.name(name).map(|it| it.as_str()));
        found.ok_or_else(|| {
            let message = format!("publication.json: `{{{name}}}` is no placeholder");
            Error::value(message, "correct the file")
        })
    }
}

/// Beginnings by which programs read an argument as an option or as the name of a file: some take the content of a
/// file for `@FILE`, and some for `file://FILE`.
const READ_OTHERWISE: [&str; 4] = ["-", "@", "file:", "fileb:"];

/// Refuses an argument that begins with a value which the program would not read as a value.
pub(super) fn check_argument(argument: &str, filled: &str) -> Result<()> {
    match split_argument(argument).first() {
        Some(ArgumentPart::Placeholder(name)) => check_value(name, filled),
        Some(ArgumentPart::Text(_)) | None => Ok(()),
    }
}

/// Refuses parts of an id, which comes from a record of another machine, that a program would not read as values.
pub(super) fn check_groups(pattern: &Regex, groups: &Captures<'_>) -> Result<()> {
    for name in pattern.capture_names().flatten() {
        let value = groups.name(name).map_or("", |group| group.as_str());
        check_value(name, value)?;
    }
    check_value("id", &groups[0])
}

fn check_value(name: &str, value: &str) -> Result<()> {
    let mut starts = READ_OTHERWISE.iter();
    let Some(start) = starts.find(|start| value.starts_with(**start)) else {
        return Ok(());
    };
    let message = format!(
        "`{name}` is `{value}`: the program would read what begins with `{start}` as an option or a file"
    );
    let remedy =
        "use the record that the build wrote, unchanged, and values of the platform's own form";
    Err(Error::value(message, remedy))
}

/// Refuses values of the user that no command has, or that have the wrong form.
pub(super) fn check_values(
    declared: &[&PublishValue],
    values: &BTreeMap<String, String>,
) -> Result<()> {
    refuse_unknown_values(declared, values)?;
    for value in declared {
        let Some(given) = values.get(&value.name) else {
            continue;
        };
        let pattern = compile_pattern(&value.pattern)
            .map_err(|message| Error::value(message, "correct publication.json"))?;
        for entry in list_entries(value, given) {
            if !pattern.is_match(entry) {
                let message = format!("--var {}: `{entry}` is not valid", value.name);
                let remedy = format!("{}; the form is `{}`", value.description, value.pattern);
                return Err(Error::value(message, remedy));
            }
        }
    }
    Ok(())
}

fn list_entries<'a>(value: &PublishValue, given: &'a str) -> Vec<&'a str> {
    if value.list {
        given.split(',').collect()
    } else {
        vec![given]
    }
}

fn refuse_unknown_values(
    declared: &[&PublishValue],
    values: &BTreeMap<String, String>,
) -> Result<()> {
    let known: Vec<&str> = declared.iter().map(|value| value.name.as_str()).collect();
    let Some(name) = values.keys().find(|name| !known.contains(&name.as_str())) else {
        return Ok(());
    };
    let message = format!("--var {name}: no command has such a value");
    let remedy = if known.is_empty() {
        "leave it out".to_owned()
    } else {
        format_suggestion(name, known)
    };
    Err(Error::value(message, remedy))
}
