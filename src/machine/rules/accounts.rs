//! Accounts of the stages of a clone's life: no stage runs a program under an account that the program refuses.

use crate::base::code::Code;
use crate::model::stage::{AccountRefusal, IgnoredChecks, RunsAs, Stage, StageAccount};
use crate::windows::resource::ResourceKind;
use crate::windows::value::AccountName;

use super::{Context, ResourceOrigin};

pub(super) fn check_stage_accounts(context: &Context<'_>) {
    let plugins = &context.expectations.platform.cloudbase_init;
    for stage in context.expectations.stages {
        if stage.runs_on(plugins) {
            check_stage(context, stage);
        }
    }
}

fn check_stage(context: &Context<'_>, stage: &Stage) {
    let RunAccount {
        runs_as, origin, ..
    } = find_account(context, stage);
    let checks = list_ignored_checks(context, stage.ignores.as_ref());
    for refusal in context.expectations.refusals {
        let concerns = refusal.runs_as == runs_as && stage.runs.contains(&refusal.program);
        if !concerns || checks.contains(&refusal.check.as_str()) {
            continue;
        }
        let Some(program) = context.machine.find_file(&refusal.program) else {
            continue;
        };
        let message = format_refusal(stage, refusal);
        let remedy = match (&stage.runs_as, &stage.ignores) {
            (StageAccount::Service(_), _) => {
                "let the package give its service another account (`accounts` of the component)"
            }
            (StageAccount::Account(_), Some(_)) => "name the check in the file of the stage",
            (StageAccount::Account(_), None) => {
                "run the program in a stage with another account (provisioners/stages.json)"
            }
        };
        context.add_problem(
            Code::ACCOUNT_REFUSED,
            origin.unwrap_or(program),
            message,
            remedy,
        );
    }
}

fn format_refusal(stage: &Stage, refusal: &AccountRefusal) -> String {
    let AccountRefusal {
        program,
        runs_as,
        check,
        source,
        ..
    } = refusal;
    format!(
        "stage `{}` runs {program} as `{runs_as}`, which it refuses by its check `{check}` ({source})",
        stage.stage
    )
}

/// The account that a stage runs its programs as.
pub(super) struct RunAccount<'a> {
    pub runs_as: RunsAs,
    /// Name of the local account, where it is none of Windows itself.
    pub user: Option<&'a AccountName>,
    /// The resource that decides it.
    pub origin: Option<&'a ResourceOrigin>,
}

pub(super) fn find_account<'a>(context: &Context<'a>, stage: &Stage) -> RunAccount<'a> {
    match &stage.runs_as {
        StageAccount::Account(account) => RunAccount {
            runs_as: *account,
            user: None,
            origin: None,
        },
        StageAccount::Service(service) => find_service_account(context, service),
    }
}

/// The account of the service. A service that no package installs belongs to `LocalSystem`.
fn find_service_account<'a>(context: &Context<'a>, name: &str) -> RunAccount<'a> {
    let Some((installed, package, origin)) = context.find_package(name) else {
        let service = context.machine.find_service(name);
        return RunAccount {
            runs_as: RunsAs::System,
            user: None,
            origin: service.map(|service| service.origin),
        };
    };
    let mut accounts = installed.accounts.iter();
    let account = accounts.find(|account| match &account.argument {
        Some(argument) => package.arguments.contains(argument),
        None => true,
    });
    RunAccount {
        runs_as: account.map_or(RunsAs::System, |account| account.runs_as),
        user: account.and_then(|account| account.user.as_ref()),
        origin: Some(origin),
    }
}

fn list_ignored_checks<'a>(context: &Context<'a>, file: Option<&IgnoredChecks>) -> Vec<&'a str> {
    let Some(IgnoredChecks { path, key }) = file else {
        return Vec::new();
    };
    let Some(ResourceKind::File(file)) = context.machine.find_at_path(path) else {
        return Vec::new();
    };
    let mut checks = Vec::new();
    for line in file.content().unwrap_or_default().lines() {
        if let Some((name, check)) = line.split_once('=')
            && name == key.as_str()
        {
            checks.push(check);
        }
    }
    checks
}
