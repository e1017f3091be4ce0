//! Workspace → Packer → image.
//!
//! Only a pinned lock can be baked. Secrets reach Packer through its environment alone; its output
//! goes to a file whole and to the terminal condensed, secrets masked in both.

mod condense;
mod media;
mod results;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::acquire::{ProvenPlan, Tools};
use crate::base::choice::OnError;
use crate::base::secret::{self, Masker, Secret};
use crate::diagnostic::{Classify, ErrorClass};
use crate::io::exec::{self, ExecError, Outcome, Run};
use crate::io::fs::{self, FileError};
use crate::model::plan::Plan;
use crate::model::variable::{PACKER_TEMPLATE, Variable};
use crate::ui::Printer;

pub use condense::condense_line;
pub use results::{
    BakedImage, BuiltArtifact, BuiltFile, CheckReport, CheckedResource, PackerManifest,
};

/// Files that a bake leaves beside the workspace's own.
pub const RESULTS: &[&str] = &["image.json"];
/// Files that a failed bake may leave.
pub const TRACES: &[&str] = &[
    "packer.log",
    "packer-manifest.json",
    "packer-manifest.json.lock",
    "check-report.json",
];

/// Ends of names that Packer loads.
const LOADED: &[&str] = &[".pkr.hcl", ".pkr.json", ".pkrvars.hcl", ".pkrvars.json"];

#[derive(Debug, thiserror::Error)]
pub enum BakeError {
    #[error("Packer not found: {}; the workspace was written", .0.display())]
    NoPacker(PathBuf),
    #[error("packer {step} failed with exit code {code}{}", format_lines(.last))]
    Failed {
        step: String,
        code: i32,
        last: Vec<String>,
        log: PathBuf,
    },
    #[error("packer {step} was killed{}", format_lines(.last))]
    Killed { step: String, last: Vec<String> },
    #[error("packer build succeeded, but its manifest has no image: {reason}")]
    NoImage { reason: String },
    #[error("{program} could not convert the disk of the image{}", format_lines(.last))]
    Convert { program: String, last: Vec<String> },
    #[error("no value for required variables: {}", .0.join(", "))]
    MissingVariables(Vec<String>),
    #[error("{} contains `{PACKER_TEMPLATE}`, which Packer's plugins take for a template", .0.join(", "))]
    Template(Vec<String>),
    #[error("{} is shorter than {} characters, and no output could be masked", .0.join(", "), secret::SHORTEST)]
    ShortSecret(Vec<String>),
    #[error("the check report of the baked machine cannot be read: {0}")]
    Report(String),
    #[error("checks of the baked machine failed:{}", .0.iter().map(|line| format!("\n  {line}")).collect::<String>())]
    Checks(Vec<String>),
    #[error("{}: Packer would load what this run did not write: {}", .folder.display(), .names.join(", "))]
    Foreign { folder: PathBuf, names: Vec<String> },
    #[error("interrupted; Packer has cleaned up")]
    Interrupted,
    #[error(transparent)]
    Exec(#[from] ExecError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Classify for BakeError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::Interrupted => ErrorClass::Interrupted,
            Self::Checks(_) => ErrorClass::Checks,
            Self::Foreign { .. } => ErrorClass::Verification,
            Self::File(error) => error.class(),
            Self::Exec(_)
            | Self::NoPacker(_)
            | Self::Failed { .. }
            | Self::Killed { .. }
            | Self::NoImage { .. }
            | Self::Convert { .. }
            | Self::Report(_) => ErrorClass::Packer,
            Self::MissingVariables(_) | Self::Template(_) | Self::ShortSecret(_) => {
                ErrorClass::Selection
            }
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::NoPacker(_) => vec![
                "install Packer (https://developer.hashicorp.com/packer/install), or give its path with `--packer PATH`"
                    .to_owned(),
            ],
            Self::Failed { log, .. } => vec![format!("see {} for the whole output", log.display())],
            Self::MissingVariables(_) => vec!["run `imagegen plan` to see how to set each of them".to_owned()],
            Self::ShortSecret(_) => vec!["choose a longer secret".to_owned()],
            Self::Foreign { .. } => vec!["move the files out of the workspace, or choose another folder with `--out`".to_owned()],
            Self::Template(_) => vec!["choose another value: the plugin would use another one than you set".to_owned()],
            Self::Checks(_) => vec!["see check-report.json in the workspace for every difference".to_owned()],
            _ => Vec::new(),
        }
    }
}

fn format_lines(last: &[String]) -> String {
    last.iter().map(|line| format!("\n  {line}")).collect()
}

/// Environment variables of this process that a bake may use.
pub type Environment = BTreeMap<String, OsString>;

/// A proven plan, and where and how to bake it.
#[derive(Debug, Clone, Copy)]
pub struct Bake<'a> {
    pub proven: &'a ProvenPlan,
    /// The workspace.
    pub folder: &'a Path,
    /// Names of the files that this run wrote into it.
    pub files: &'a BTreeSet<String>,
    pub tools: &'a Tools,
    pub on_error: OnError,
    pub environment: &'a Environment,
    pub printer: &'a Printer,
}

/// Judged before anything is downloaded.
///
/// # Errors
/// A variable has no value.
fn require_variables(plan: &Plan) -> Result<(), BakeError> {
    if plan.missing.is_empty() {
        return Ok(());
    }
    Err(BakeError::MissingVariables(
        plan.missing
            .iter()
            .map(|missing| missing.names.join(" or "))
            .collect(),
    ))
}

/// Variables and programs that can be missing before anything is downloaded.
///
/// # Errors
/// `--packer` names no program, or a variable has no value.
pub fn require_inputs(plan: &Plan, packer: Option<&PathBuf>) -> Result<(), BakeError> {
    match packer {
        Some(path) if !exec::can_find(path) => Err(BakeError::NoPacker(path.clone())),
        _ => require_variables(plan),
    }
}

impl Bake<'_> {
    /// `packer init`, `validate` and `build` in the workspace.
    ///
    /// # Errors
    /// A missing variable or program, a failed step of Packer, an interrupt, failed checks.
    pub fn run(&self) -> Result<BakedImage, BakeError> {
        let plan = self.proven.plan();
        require_variables(plan)?;
        let program = self.tools.packer.clone();
        if !exec::is_program(&program) {
            return Err(BakeError::NoPacker(program));
        }
        let (artifacts, media) = (
            media::gather_artifacts(self.proven)?,
            media::gather_boot_media(self.proven)?,
        );
        refuse_foreign_files(self.folder, self.files)?;
        let log = self.folder.join("packer.log");
        for name in ["packer-manifest.json", "check-report.json", "image.json"] {
            fs::remove_if_exists(&self.folder.join(name))?;
        }
        mask_variables(plan, self.environment);
        let mut environment =
            build_environment(plan, self.environment, self.tools.plugins.as_deref());
        refuse_templates(&environment)?;
        refuse_short_secrets(plan, &environment)?;
        environment.extend(media.list_variables());
        if let Some(artifacts) = &artifacts {
            environment.insert(
                media::VARIABLE.to_owned(),
                artifacts.path().as_os_str().to_owned(),
            );
        }
        let mut session = PackerRun {
            program,
            folder: self.folder.to_owned(),
            environment,
            withheld: list_withheld(plan),
            interactive: self.on_error == OnError::Ask,
            log: fs::Log::create(&log)?,
            log_path: log,
            printer: self.printer,
        };
        session.run_step("init", &["."])?;
        session.run_step("validate", &["."])?;
        let on_error = format!("-on-error={}", self.on_error);
        let built = session.run_step("build", &["-color=false", &on_error, "."]);
        read_results(self.proven, self.folder, built)
    }
}

/// Reads what the build left, also when it failed: the sealing phase ends a build whose checks
/// did, and then the report says why.
fn read_results(
    proven: &ProvenPlan,
    folder: &Path,
    built: Result<(), BakeError>,
) -> Result<BakedImage, BakeError> {
    let built = match built {
        Err(stopped @ (BakeError::Interrupted | BakeError::Killed { .. })) => return Err(stopped),
        built => built,
    };
    let report = results::read_check_report(folder)?;
    if let Some(report) = &report
        && !report.passed
    {
        return Err(BakeError::Checks(report.list_failures()));
    }
    built?;
    let Some(report) = report else {
        return Err(BakeError::Report("the machine sent none".to_owned()));
    };
    let image = results::read_baked_image(proven, folder, &report)?;
    fs::write_file(
        &folder.join("image.json"),
        crate::base::json::format_json(&image).as_bytes(),
    )?;
    Ok(image)
}

/// Packer's environment: nobody's home page is asked, variables come under Packer's own names.
fn build_environment(
    plan: &Plan,
    environment: &Environment,
    plugins: Option<&Path>,
) -> Environment {
    // Packer's debug log holds the password that it generates for the guest.
    let mut result: Environment = [
        ("CHECKPOINT_DISABLE", "1"),
        ("PACKER_NO_COLOR", "1"),
        ("PACKER_LOG", ""),
    ]
    .into_iter()
    .map(|(name, value)| (name.to_owned(), OsString::from(value)))
    .collect();
    if let Some(plugins) = plugins {
        result.insert(
            "PACKER_PLUGIN_PATH".to_owned(),
            plugins.as_os_str().to_owned(),
        );
    }
    for selector in &plan.target.selectors {
        let chosen = plan
            .selectors
            .get(&selector.name)
            .and_then(|value| selector.find_value(value));
        let settings = chosen.into_iter().flat_map(|value| &value.settings);
        result.extend(settings.map(|(name, value)| (name.clone(), OsString::from(value))));
    }
    for variable in &plan.target.variables {
        let declared = plan.declared.contains(&variable.name);
        if !declared || plan.variables.contains_key(&variable.name) {
            continue;
        }
        let set = |name: String| environment.get(&name).filter(|value| !value.is_empty());
        if let Some(value) = variable.environment_names().find_map(set) {
            result.insert(format!("PKR_VAR_{}", variable.name), value.clone());
        }
    }
    result
}

/// Values that the target calls secret are masked in Packer's output.
fn mask_variables(plan: &Plan, environment: &Environment) {
    let sensitive = plan
        .target
        .variables
        .iter()
        .filter(|variable| variable.sensitive);
    let names = sensitive.flat_map(Variable::environment_names);
    names
        .filter_map(|name| environment.get(&name))
        .for_each(|value| drop(Secret::new(value.as_encoded_bytes())));
}

/// Files that Packer takes from its folder by their names: templates, values of variables, and plugins.
/// hashicorp/packer@0478d9dddb54 hcl2template/parser.go has the ends of the names.
fn refuse_foreign_files(folder: &Path, files: &BTreeSet<String>) -> Result<(), BakeError> {
    let mut names = fs::list_names(folder)?;
    names.retain(|name| {
        let lower = name.to_ascii_lowercase();
        let is_loaded = LOADED.iter().any(|end| lower.ends_with(end));
        (is_loaded || lower.starts_with("packer-plugin-")) && !files.contains(name)
    });
    if names.is_empty() {
        return Ok(());
    }
    Err(BakeError::Foreign {
        folder: folder.to_owned(),
        names,
    })
}

/// Variables whose value a plugin would not use as it is.
fn refuse_templates(environment: &Environment) -> Result<(), BakeError> {
    let is_template = |(name, value): &(&String, &OsString)| {
        name.starts_with("PKR_VAR_") && value.to_string_lossy().contains(PACKER_TEMPLATE)
    };
    let names: Vec<String> = environment
        .iter()
        .filter(is_template)
        .map(|(name, _)| name.clone())
        .collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(BakeError::Template(names))
    }
}

/// Secrets that are parts of ordinary words.
fn refuse_short_secrets(plan: &Plan, environment: &Environment) -> Result<(), BakeError> {
    let sensitive = plan
        .target
        .variables
        .iter()
        .filter(|variable| variable.sensitive)
        .map(Variable::packer_name);
    let is_short = |name: &String| {
        environment
            .get(name)
            .is_some_and(|value| value.as_encoded_bytes().trim_ascii().len() < secret::SHORTEST)
    };
    let names: Vec<String> = sensitive.filter(is_short).collect();
    if names.is_empty() {
        Ok(())
    } else {
        Err(BakeError::ShortSecret(names))
    }
}

/// Variables by which a builder would choose for itself, for example how it signs in.
fn list_withheld(plan: &Plan) -> Vec<String> {
    let selectors = plan.target.selectors.iter();
    let withheld = selectors.flat_map(|selector| {
        let chosen = plan
            .selectors
            .get(&selector.name)
            .and_then(|value| selector.find_value(value));
        selector.list_withheld(chosen)
    });
    withheld.cloned().collect()
}

struct PackerRun<'a> {
    program: PathBuf,
    folder: PathBuf,
    environment: Environment,
    withheld: Vec<String>,
    interactive: bool,
    log: fs::Log,
    log_path: PathBuf,
    printer: &'a Printer,
}

impl PackerRun<'_> {
    fn run_step(&mut self, step: &str, arguments: &[&str]) -> Result<(), BakeError> {
        self.printer.print_note(&format!("packer {step}"));
        let run = Run {
            program: self.program.clone(),
            arguments: std::iter::once(step)
                .chain(arguments.iter().copied())
                .map(OsString::from)
                .collect(),
            folder: self.folder.clone(),
            environment: self.environment.clone(),
            withheld: self.withheld.clone(),
            interactive: self.interactive,
            input: None,
        };
        let mut progress = self.printer.start_progress();
        let mut last: Vec<String> = Vec::new();
        let mut maskers: [Masker; 2] = Default::default();
        let mut show = |line: String| {
            self.log.write_line(&line);
            match condense_line(&line) {
                Some(text) => progress.show_milestone(&text),
                None => progress.show_status(line.trim()),
            }
            if !line.trim().is_empty() {
                last.push(line);
                if last.len() > 12 {
                    last.remove(0);
                }
            }
        };
        let outcome = exec::run_program(&run, |stream, line| {
            maskers[stream as usize]
                .push_line(line)
                .into_iter()
                .for_each(&mut show);
        });
        maskers.iter_mut().flat_map(Masker::finish).for_each(show);
        progress.finish();
        self.check_outcome(step, outcome?, last)
    }

    fn check_outcome(
        &self,
        step: &str,
        outcome: Outcome,
        last: Vec<String>,
    ) -> Result<(), BakeError> {
        let step = step.to_owned();
        match outcome {
            Outcome {
                interrupted: true, ..
            } => Err(BakeError::Interrupted),
            Outcome { success: true, .. } => Ok(()),
            Outcome {
                code: Some(code), ..
            } => Err(BakeError::Failed {
                step,
                code,
                last,
                log: self.log_path.clone(),
            }),
            Outcome { code: None, .. } => Err(BakeError::Killed { step, last }),
        }
    }
}
