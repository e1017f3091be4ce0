//! Programs that get the kubelet a registry's credentials, and the kubelet's configuration of them.

use crate::base::code::Code;
use crate::windows::paths;
use crate::windows::resource::ResourceKind;

use super::super::state::ResourceOrigin;
use super::{Context, DECLARE};

/// A provider as the kubelet's configuration names it.
#[derive(Debug, Default)]
struct Provider<'a> {
    name: &'a str,
    arguments: Vec<&'a str>,
}

/// Each provider that the configuration names is a program of the folder, and gets the arguments that it ends without.
pub(super) fn check_providers(context: &Context<'_>) {
    for (service, command) in context.commands() {
        let folder = command.flag_value("image-credential-provider-bin-dir");
        let path = command.flag_value("image-credential-provider-config");
        let (Some(folder), Some(path)) = (folder, path) else {
            continue;
        };
        let Some(ResourceKind::File(file)) = context.machine.find_at_path(path) else {
            continue;
        };
        for provider in list_providers(file.content().unwrap_or_default()) {
            check_program(context, service.origin, folder, &provider);
            check_arguments(context, service.origin, &provider);
        }
    }
}

fn check_program(
    context: &Context<'_>,
    origin: &ResourceOrigin,
    folder: &str,
    provider: &Provider<'_>,
) {
    let path = format!(r"{folder}\{}", provider.name);
    // A kubelet finds NAME.exe by NAME from 1.30 on.
    if context.exists(&path) || context.exists(&format!("{path}.exe")) {
        return;
    }
    let message = format!(
        "the credential provider `{}` is not in {folder}",
        provider.name
    );
    let remedy = "install the program under this name, or correct the name";
    context.add_problem(Code::CREDENTIAL_PROVIDER, origin, message, remedy);
}

fn check_arguments(context: &Context<'_>, origin: &ResourceOrigin, provider: &Provider<'_>) {
    let stem = paths::file_stem(provider.name);
    let needs = context.expectations.arguments;
    let Some(need) = needs.iter().find(|need| need.program == stem) else {
        return;
    };
    if !fits_arguments(&need.arguments, &provider.arguments) {
        let message = format!(
            "the credential provider `{stem}` takes the arguments {:?}, but gets {:?}",
            need.arguments, provider.arguments
        );
        let remedy = "correct `args` in the kubelet's configuration of credential providers";
        context.add_problem(Code::CREDENTIAL_PROVIDER, origin, message, remedy);
    }

    for word in &provider.arguments {
        if !paths::is_absolute(word) || context.exists(word) || context.is_created_later(word) {
            continue;
        }
        let message =
            format!("the credential provider `{stem}` reads {word}, which no resource creates");
        context.add_problem(Code::CREDENTIAL_PROVIDER, origin, message, DECLARE);
    }
}

/// Whether the arguments are those that the program takes, where `FILE` stands for any.
fn fits_arguments(needed: &[String], given: &[&str]) -> bool {
    needed.len() == given.len()
        && needed
            .iter()
            .zip(given)
            .all(|(need, word)| need == "FILE" || need == word)
}

/// The providers of a `CredentialProviderConfig`, whose lists have an item on each line.
fn list_providers(text: &str) -> Vec<Provider<'_>> {
    let mut providers: Vec<Provider<'_>> = Vec::new();
    let mut is_argument = false;
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix("- name:") {
            providers.push(Provider {
                name: trim_value(name),
                arguments: Vec::new(),
            });
        } else if let Some(item) = line.strip_prefix("- ")
            && is_argument
            && let Some(provider) = providers.last_mut()
        {
            provider.arguments.push(trim_value(item));
            continue;
        }
        is_argument = line == "args:";
    }
    providers
}

fn trim_value(text: &str) -> &str {
    text.trim().trim_matches(['"', '\''])
}
