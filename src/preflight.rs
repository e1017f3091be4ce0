//! Survey of this machine: what a build would find or miss. Opens no socket, writes nothing.

mod programs;
mod report;

use std::collections::BTreeMap;
use std::env;
use std::path::Path;

use crate::base::download::{DownloadSize, format_megabytes};
use crate::diagnostic::{Classify as _, ErrorClass, Result};
use crate::io::store::Store;
use crate::io::{clock, exec, fs};
use crate::lock::Lock;
use crate::model::mirrors::Mirrors;
use crate::model::plan::{Plan, PlannedArtifact};
use crate::model::variable::{Variable, VariableType};

use crate::acquire::{NetworkOptions, carried_name, plan_tools};
use crate::catalog::Trees;
use crate::planning::{self, LockUse, govern_plan, resolve_plan};
use crate::resolve::BuildHost;
use crate::selection::{
    DefinedImage, Flags, find_lock, lock_path, read_definition, require_target,
};

use programs::check_programs;
pub use programs::{ProgramCheck, find_absent_programs};
use report::Checks;
pub use report::{CheckState, DoctorCheck, DoctorOutput, NotReady, program_hint};

/// 2026-01-01: the catalog's records are younger, so a clock before it is wrong.
const RECORDS_BEGIN: u64 = 1_767_225_600;

/// Brings artifacts, Packer and its plugins into the store; a build would bake an image for it.
const FETCH_HINT: &str = "run `imagegen fetch` without `--offline`, or import a bundle";

/// The build that the survey is for.
#[derive(Debug, Clone, Copy)]
pub struct SurveyRequest<'a> {
    pub flags: &'a Flags,
    pub lock: &'a LockUse,
    /// The user's own Packer.
    pub packer: Option<&'a Path>,
    pub network: &'a NetworkOptions,
}

/// # Errors
/// The selection cannot be resolved, or the policy refuses it.
pub fn check_machine(
    request: &SurveyRequest<'_>,
    image: &DefinedImage,
    trees: &Trees,
) -> Result<DoctorOutput> {
    let definition = read_definition(request.flags, image, trees)?;
    let root = request.network.store.clone().or_else(Store::default_path);
    let store = root.map(Store::open_read_only);
    let mut checks = Checks::default();
    require_target(request.flags, &definition)?;
    if definition.target.is_none() {
        check_without_image(request, trees, store.as_ref(), &mut checks);
    } else {
        let plan = resolve_plan(&definition, trees)?;
        let (plan, _) = govern_plan(&request.flags.policy, plan, trees)?;
        let plan = check_lock(request, &find_lock(image, &definition), plan, &mut checks);
        check_variables(&plan, &mut checks);
        check_artifacts(request, &plan, store.as_ref(), &mut checks);
        check_packer(request, &plan, trees, store.as_ref(), &mut checks);
        for program in check_programs(&plan, &trees.packer)? {
            checks.add_program(program);
        }
    }
    check_host(request, &mut checks);
    let ready = checks
        .0
        .iter()
        .all(|check| check.state != CheckState::Missing);
    Ok(DoctorOutput {
        schema: "imagegen.dev/doctor/v1",
        ready,
        checks: checks.0,
    })
}

/// Checks that do not depend on an image.
fn check_without_image(
    request: &SurveyRequest<'_>,
    trees: &Trees,
    store: Option<&Store>,
    checks: &mut Checks,
) {
    let targets = trees.packer.list_folders("targets").join(", ");
    checks.warning(
        "image",
        format!("no target is selected; add `--target NAME` to check an image: {targets}"),
    );
    if let Some(store) = check_store(store, StoreUse::Written, checks) {
        check_disk(store, &[], checks);
    }
    if let Some(program) = request.packer {
        check_own_packer(program, checks);
    }
}

/// The plan with the pins of the lockfile, if there is one that fits.
fn check_lock(
    request: &SurveyRequest<'_>,
    default: &Path,
    plan: Plan,
    checks: &mut Checks,
) -> Plan {
    let path = lock_path(request.lock.file.as_ref(), default);
    let file = path.display().to_string();
    let again = "run `imagegen lock` with the same flags, or use `--ignore-lock`";
    if request.lock.ignored {
        checks.ok("lockfile", "not read, because of `--ignore-lock`");
        return plan;
    }
    match fs::read_if_exists(&path) {
        Err(error) => checks.missing(ErrorClass::Selection, "lockfile", error.to_string(), again),
        Ok(None) if request.lock.required || request.lock.file.is_some() => {
            checks.missing(
                ErrorClass::Selection,
                "lockfile",
                format!("{file} is not there"),
                "run `imagegen lock` first",
            );
        }
        Ok(None) => checks.warning("lockfile", "no lockfile: every build resolves again"),
        Ok(Some(bytes)) => match decode_fresh(&file, &bytes, &plan) {
            Ok(lock) => {
                checks.ok("lockfile", file);
                return plan.with_pins(lock.pins());
            }
            Err(error) => {
                checks.missing(ErrorClass::Selection, "lockfile", error.to_string(), again);
            }
        },
    }
    plan
}

fn decode_fresh(
    file: &str,
    bytes: &[u8],
    plan: &Plan,
) -> std::result::Result<Lock, crate::lock::LockError> {
    let lock = Lock::decode(file, bytes)?;
    planning::check_lock(file, &lock, plan)?;
    Ok(lock)
}

/// An artifact that nobody pinned is known by its URL.
fn in_store(store: &Store, artifact: &PlannedArtifact, mirrors: &Mirrors) -> bool {
    if !artifact.is_pinned() {
        let asked = mirrors.locate(&artifact.url);
        let own = artifact.url.public_url();
        let names = [asked.public_url(), own, &carried_name(own)];
        return names.iter().any(|name| store.find_url(name).is_some());
    }
    let mut pins = artifact.digests.iter();
    pins.any(|pin| store.find_object(&pin.digest).is_some())
}

fn check_packer(
    request: &SurveyRequest<'_>,
    plan: &Plan,
    trees: &Trees,
    store: Option<&Store>,
    checks: &mut Checks,
) {
    if plan.packer.is_none() {
        return checks.ok("packer", "not needed for this target");
    }
    if let Some(program) = request.packer {
        return check_own_packer(program, checks);
    }
    for (name, version, tool) in plan_tools(plan, BuildHost::host(), trees) {
        match (tool, store) {
            (Err(_), _) => checks.missing(
                ErrorClass::Packer,
                &name,
                format!("{version} is not published for this machine"),
                "give the path of your own Packer with `--packer PATH`",
            ),
            (Ok(tool), Some(store)) if in_store(store, &tool, &plan.selection.download_mirrors) => {
                checks.ok(&name, format!("{version} is in the store"));
            }
            _ if request.network.offline => checks.missing(
                ErrorClass::Fetch,
                &name,
                format!("{version} is not in the store"),
                FETCH_HINT,
            ),
            _ => checks.ok(&name, format!("{version} will be downloaded")),
        }
    }
}

fn check_own_packer(program: &Path, checks: &mut Checks) {
    let run = exec::Run {
        // Packer would ask its home page for a newer one.
        environment: BTreeMap::from([("CHECKPOINT_DISABLE".to_owned(), "1".into())]),
        ..exec::Run::new(program, ["version"])
    };
    match exec::collect_lines(&run, |_| ()) {
        Ok(printed) if printed.outcome.success => {
            let lines = printed.into_lines();
            let first = lines.first().map(|line| line.trim().to_owned());
            checks.ok("packer", first.unwrap_or_default());
        }
        Ok(_) => {
            checks.missing(
                ErrorClass::Packer,
                "packer",
                format!("{} version failed", program.display()),
                "check `--packer`",
            );
        }
        Err(error) => checks.missing(
            ErrorClass::Packer,
            "packer",
            error.to_string(),
            "check `--packer`",
        ),
    }
}

/// By name alone: no value is ever read into an output.
fn check_variables(plan: &Plan, checks: &mut Checks) {
    for missing in &plan.missing {
        checks.missing(
            ErrorClass::Selection,
            &missing.names.join(" or "),
            missing.description.clone(),
            missing.from.join("; "),
        );
    }
    for variable in &plan.target.variables {
        if let Some(name) = find_given(plan, variable) {
            match find_wrong_value(variable, &name) {
                None => checks.ok(&variable.name, format!("{name} is set")),
                Some(fault) => {
                    let hint = variable.describe();
                    checks.missing(ErrorClass::Selection, &variable.name, fault, hint);
                }
            }
        }
    }
    for artifact in plan.artifacts() {
        for name in artifact.headers.values().filter(|name| !is_set(name)) {
            checks.missing(
                ErrorClass::Selection,
                name,
                format!("sent as a header for {}", artifact.component),
                format!("set {name} in the environment"),
            );
        }
    }
}

/// The environment variable that gives a variable its value.
fn find_given(plan: &Plan, variable: &Variable) -> Option<String> {
    let is_open =
        plan.declared.contains(&variable.name) && !plan.variables.contains_key(&variable.name);
    let mut names = variable.environment_names().filter(|_| is_open);
    names.find(|name| is_set(name))
}

/// Whether a text of the environment, which no earlier stage sees, is none of the variable's values. Names that a platform
/// has for them are the platform's to fill. The value may be a secret in the wrong place, so it is not shown.
fn find_wrong_value(variable: &Variable, name: &str) -> Option<String> {
    if variable.kind != VariableType::String || name != variable.packer_name() {
        return None;
    }
    variable.find_fault(&env::var(name).ok()?)?;
    Some(format!(
        "{name} has a value that `{}` does not take",
        variable.name
    ))
}

/// The first variable whose value in the environment is wrong, with the reason.
pub fn find_wrong_environment(plan: &Plan) -> Option<(&Variable, String)> {
    plan.target.variables.iter().find_map(|variable| {
        let name = find_given(plan, variable)?;
        Some((variable, find_wrong_value(variable, &name)?))
    })
}

fn is_set(name: &str) -> bool {
    env::var_os(name).is_some_and(|value| !value.is_empty())
}

fn check_artifacts(
    request: &SurveyRequest<'_>,
    plan: &Plan,
    store: Option<&Store>,
    checks: &mut Checks,
) {
    let unpinned: Vec<&str> = plan
        .unpinned_artifacts()
        .map(|artifact| artifact.component.as_str())
        .collect();
    if unpinned.is_empty() {
        checks.ok("digests", "every artifact is pinned");
    } else {
        checks.warning("digests", format!("unpinned: {}", unpinned.join(", ")));
    }
    let mirrors = &plan.selection.download_mirrors;
    let absent: Vec<&PlannedArtifact> = plan
        .artifacts()
        .filter(|artifact| !store.is_some_and(|store| in_store(store, artifact, mirrors)))
        .collect();
    // A bake works in a folder of the store.
    let store_use = if request.network.offline && absent.is_empty() && plan.packer.is_none() {
        StoreUse::Read
    } else {
        StoreUse::Written
    };
    let Some(store) = check_store(store, store_use, checks) else {
        return;
    };
    let all = plan.artifacts().count();
    let found = format!("{} of {all} are in the store", all - absent.len());
    if request.network.offline && !absent.is_empty() {
        checks.missing(ErrorClass::Fetch, "artifacts", found, FETCH_HINT);
    } else {
        checks.ok("artifacts", found);
    }
    check_disk(store, &absent, checks);
}

/// Use that a build makes of the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum StoreUse {
    /// It has all files, and no file is asked for.
    Read,
    Written,
}

fn check_store<'a>(
    store: Option<&'a Store>,
    store_use: StoreUse,
    checks: &mut Checks,
) -> Option<&'a Store> {
    let Some(store) = store else {
        checks.missing(
            ErrorClass::Selection,
            "store",
            "there is no home directory",
            "choose a directory with `--store DIR`",
        );
        return None;
    };
    let place = store.root().display();
    let other = "choose another directory with `--store DIR`";
    if let Err(error) = store.check_owners() {
        checks.missing(error.class(), "store", error.to_string(), other);
    } else if fs::can_write(store.root()) {
        checks.ok("store", place.to_string());
    } else if store_use == StoreUse::Read && store.is_laid_out() {
        checks.warning(
            "store",
            format!("{place} cannot be written: it is only read"),
        );
    } else {
        let class = if fs::is_below_file(store.root()) {
            ErrorClass::Selection
        } else {
            ErrorClass::Internal
        };
        checks.missing(class, "store", format!("{place} cannot be written"), other);
    }
    Some(store)
}

/// Room for the files that are still to be downloaded.
fn check_disk(store: &Store, absent: &[&PlannedArtifact], checks: &mut Checks) {
    let needed = DownloadSize::sum(absent.iter().map(|artifact| artifact.size));
    let Some(free) = fs::free(store.root()) else {
        return checks.warning("disk", "the free space is unknown");
    };
    if free < needed.bytes {
        let detail = format!("{} free, needed for {needed}", format_megabytes(free));
        return checks.missing(
            ErrorClass::Internal,
            "disk",
            detail,
            "free space, or choose another directory with `--store DIR`",
        );
    }
    let need = if absent.is_empty() {
        String::new()
    } else {
        format!(", to download: {needed}")
    };
    checks.ok("disk", format!("{} free{need}", format_megabytes(free)));
}

fn check_host(request: &SurveyRequest<'_>, checks: &mut Checks) {
    for name in [
        "HTTP_PROXY",
        "http_proxy",
        "HTTPS_PROXY",
        "https_proxy",
        "ALL_PROXY",
        "all_proxy",
    ] {
        if let Some(value) = env::var_os(name).filter(|value| !value.is_empty()) {
            checks.ok(name, proxy_host(&value.to_string_lossy()));
        }
    }
    for name in ["NO_PROXY", "no_proxy"]
        .into_iter()
        .filter(|name| is_set(name))
    {
        checks.ok(name, "is set");
    }
    if let Some(proxy) = &request.network.proxy {
        checks.ok("--proxy", proxy_host(proxy));
    }
    for file in &request.network.ca_files {
        let name = file.display().to_string();
        match fs::read_file(file) {
            Ok(bytes)
                if String::from_utf8_lossy(&bytes).contains("-----BEGIN CERTIFICATE-----") =>
            {
                checks.ok("--ca-file", name);
            }
            Ok(_) => checks.missing(
                ErrorClass::Selection,
                "--ca-file",
                format!("{name} contains no certificate"),
                "give it in PEM",
            ),
            Err(error) => {
                checks.missing(
                    ErrorClass::Selection,
                    "--ca-file",
                    error.to_string(),
                    "check `--ca-file`",
                );
            }
        }
    }
    if clock::current_time() < RECORDS_BEGIN {
        checks.missing(
            ErrorClass::Internal,
            "clock",
            "is before 2026: signatures would not verify",
            "set the machine's clock",
        );
    } else {
        checks.ok("clock", "not before the catalog's records");
    }
}

/// A proxy's host and port. Whatever stands before the last `@` may be a password.
fn proxy_host(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.rsplit('@').next().unwrap_or(rest);
    rest.split(['/', '?', '#'])
        .next()
        .unwrap_or(rest)
        .to_owned()
}
