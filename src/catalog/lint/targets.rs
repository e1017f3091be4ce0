//! Variables of targets: which of them the lock records.

use crate::base::code::Code;
use crate::catalog::load_target;
use crate::diagnostic::Finding;
use crate::embedded::Tree;
use crate::model::publication::{Publication, PublishedBy};
use crate::model::target::{ImageTarget, Target};
use crate::model::variable::{DefaultFrom, Selector, SetBy, Variable};

/// Faults of the variables of the targets in a tree.
#[must_use]
pub fn lint_targets(packer: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for name in packer.list_folders("targets") {
        let flaws = match load_target(packer, &name) {
            Ok(target) => list_flaws(&target),
            Err(error) => vec![(Code::UNREADABLE, error.to_string())],
        };
        for (rule, message) in flaws {
            let subject = format!("{}/targets/{name}/target.json", packer.label);
            findings.push(Finding::new(rule, message, "").with_subject(subject));
        }
        if let Some(flaw) = find_publication_flaw(packer, &name) {
            let subject = format!("{}/targets/{name}/publication.json", packer.label);
            findings.push(Finding::new(Code::PUBLICATION, flaw, "").with_subject(subject));
        }
    }
    findings
}

/// A target may have no such file: then `promote` and `retire` say so.
fn find_publication_flaw(packer: &Tree, target: &str) -> Option<String> {
    let path = format!("targets/{target}/publication.json");
    let publication = match packer.read_json::<Publication>(&path) {
        Ok(publication) => publication?,
        Err(error) => return Some(error.to_string()),
    };
    match publication.by {
        PublishedBy::Program(program) => program.check().err(),
        PublishedBy::Hand(_) => None,
    }
}

/// Rule and message of each flaw.
fn list_flaws(target: &Target) -> Vec<(Code, String)> {
    let mut flaws = Vec::new();
    if let Some(flaw) = target.image().and_then(find_account_flaw) {
        flaws.push((Code::ACCOUNTS, flaw.to_owned()));
    }
    for selector in &target.selectors {
        let found = [
            find_selector_flaw(selector),
            find_reason_flaw(&selector.set_by),
        ];
        add_flaws(&selector.name, found, &mut flaws);
    }
    for variable in &target.variables {
        let found = [
            find_variable_flaw(target, variable),
            find_reason_flaw(&variable.set_by),
        ];
        add_flaws(&variable.name, found, &mut flaws);
        if variable.sensitive && !variable.set_by.is_operator() {
            let found = [Some("is a secret, so only the operator gives it")];
            add_flaws(&variable.name, found, &mut flaws);
        }
    }
    flaws
}

fn add_flaws<const N: usize>(
    name: &str,
    found: [Option<&str>; N],
    flaws: &mut Vec<(Code, String)>,
) {
    for flaw in found.into_iter().flatten() {
        flaws.push((Code::BUILD_TIME, format!("`{name}` {flaw}")));
    }
}

fn find_reason_flaw(set_by: &SetBy) -> Option<&'static str> {
    match set_by {
        SetBy::Definition(reason) if reason.trim().len() < 20 => {
            Some("may be given by a definition, so `setBy` needs the reason")
        }
        SetBy::Operator | SetBy::Definition(_) => None,
    }
}

/// A clone to which nobody can sign in: neither the platform nor cloudbase-init makes an account.
fn find_account_flaw(image: &ImageTarget) -> Option<&'static str> {
    let plugins = &image.platform.cloudbase_init.main.plugins;
    let is_made = plugins
        .iter()
        .any(|name| name.ends_with(".CreateUserPlugin"));
    match (is_made, &image.platform.accounts) {
        (false, None) => Some(
            "a clone has no account: add cloudbase-init's CreateUserPlugin, or say in `accounts` what makes one",
        ),
        (true, Some(_)) => Some(
            "two things make the account of a clone: cloudbase-init's CreateUserPlugin and `accounts`",
        ),
        _ => None,
    }
}

fn find_selector_flaw(selector: &Selector) -> Option<&'static str> {
    let chooses_image = selector
        .values
        .iter()
        .any(|value| value.source_image.is_some());
    (selector.build_time && chooses_image)
        .then_some("chooses the base image, so it is not `buildTime`")
}

fn find_variable_flaw(target: &Target, variable: &Variable) -> Option<&'static str> {
    if let Some(floating) = &variable.floating {
        let named = floating
            .list
            .split('{')
            .skip(1)
            .filter_map(|part| Some(part.split_once('}')?.0));
        if variable.build_time || named.into_iter().any(|name| target.is_build_time(name)) {
            return Some(
                "chooses the base image: neither it nor the variables of `list` are `buildTime`",
            );
        }
    }
    if variable.build_time {
        let is_pinned = variable.base_image || variable.lock_only;
        return is_pinned.then_some("is recorded by the lock, so it is not `buildTime`");
    }
    if variable.sensitive || !variable.environment.is_empty() {
        return Some("comes from the environment, so it must be `buildTime`");
    }
    let is_url = variable
        .pattern
        .as_ref()
        .is_some_and(|pattern| pattern.starts_with("^http"));
    if is_url && !variable.lock_only && variable.sha256.is_none() {
        return Some(
            "names what the platform downloads, so `sha256` must name the variable with its digest",
        );
    }
    if variable.default_from.is_some_and(DefaultFrom::names_image) {
        return Some("names the image, so it must be `buildTime`");
    }
    let mut conditions = variable.when.keys().chain(variable.default_unless.keys());
    let depends = conditions.any(|name| {
        let mut selectors = target.selectors.iter();
        selectors.any(|it| it.name == *name && it.build_time)
    });
    depends.then_some("depends on a `buildTime` selector, so it must be `buildTime`")
}
