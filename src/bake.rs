//! Workspace → Packer → image.
//!
//! Only a pinned lock can be baked. A bake reads and runs what this run put into a private folder, and nothing that
//! lies in the workspace, the home folder or the working folder; its results leave the folder at the end. Secrets reach
//! Packer through its environment alone; its output goes to a file whole and to the terminal condensed, secrets masked in
//! both.

mod condense;
mod environment;
mod media;
mod packer;
mod results;
mod timeline;
mod used;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::acquire::{InstalledTools, ProvenPlan, Tools};
use crate::base::choice::OnError;
use crate::base::code::Code;
use crate::base::secret;
use crate::base::text::indent_lines;
use crate::diagnostic::{Classify, ErrorClass, Location, Result};
use crate::embedded::Tree;
use crate::io::exec::{self, ExecError};
use crate::io::fs::{self, FileError, PrivateFolder, Scratch};
use crate::model::plan::Plan;
use crate::model::variable::PACKER_TEMPLATE;
use crate::preflight::{ProgramCheck, find_absent_programs, find_wrong_environment, program_hint};
use crate::render::Workspace;
use crate::ui::Printer;

use environment::{
    PackerEnvironment, find_home, list_home_paths, mask_variables, refuse_short_secrets,
    refuse_templates,
};
use packer::PackerRun;

pub use condense::condense_line;
pub use results::{
    BakeOutput, BuiltArtifact, BuiltFile, CheckReport, CheckedResource, PackerManifest,
};
pub use timeline::{PhaseKind, PhaseRecord, Timeline, TimelineEvent, TimelineKind};
pub use used::ToolUsed;
use used::describe_tools;

/// The report of the machine about its own checks.
pub const CHECK_REPORT: &str = "check-report.json";
/// Files that a bake leaves beside the workspace's own.
pub const RESULTS: &[&str] = &["image.json"];
/// The page that `imagegen report` writes beside a record or into a workspace.
pub const REPORT_PAGE: &str = "report.html";
/// Files that a failed bake may leave, or that any run makes again from the others.
pub const TRACES: &[&str] = &[
    REPORT_PAGE,
    "packer.log",
    "packer-manifest.json",
    "packer-manifest.json.lock",
    CHECK_REPORT,
];

/// Ends of names that Packer loads.
const LOADED: &[&str] = &[".pkr.hcl", ".pkr.json", ".pkrvars.hcl", ".pkrvars.json"];

/// Things on the platform after an interrupt of Packer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leftovers {
    None,
    /// Packer or a plugin tells of something that it could not remove, or the plugin is gone.
    Told,
    /// A second interrupt ended it.
    Killed,
    /// `--on-error abort`
    Kept,
}

impl Leftovers {
    fn describe(self) -> &'static str {
        match self {
            Self::None => "Packer has cleaned up",
            Self::Told => "Packer may not have removed all that it made",
            Self::Killed => "Packer was killed, and what it made may still be there",
            Self::Kept => "what Packer made stays, as `--on-error abort` says",
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum BakeError {
    #[error("Packer not found: {}; the workspace was written", .0.display())]
    NoPacker(PathBuf),
    #[error("program not found: {name}, which {purpose}")]
    NoProgram { name: String, purpose: String },
    #[error("packer {step} failed with exit code {code}{}", indent_lines(.last))]
    Failed {
        step: String,
        code: i32,
        last: Vec<String>,
        log: PathBuf,
    },
    #[error("packer {step} was killed{}", indent_lines(.last))]
    Killed { step: String, last: Vec<String> },
    #[error("packer build succeeded, but its manifest has no image: {reason}")]
    NoImage { reason: String },
    #[error("{program} could not convert the disk of the image{}", indent_lines(.last))]
    Convert { program: String, last: Vec<String> },
    #[error("interrupted while {program} converted the disk of the image")]
    ConversionInterrupted { program: String },
    #[error("no value for required variables: {}", .0.join(", "))]
    MissingVariables(Vec<String>),
    #[error("{fault}")]
    WrongValue { fault: String, meaning: String },
    #[error("{} contains `{PACKER_TEMPLATE}`, which Packer's plugins take for a template", .0.join(", "))]
    Template(Vec<String>),
    #[error("{} is shorter than {} characters, and no output could be masked", .0.join(", "), secret::SHORTEST)]
    ShortSecret(Vec<String>),
    #[error("the check report of the baked machine cannot be read: {0}")]
    Report(String),
    #[error("checks of the baked machine failed:{}", indent_lines(.0))]
    Checks(Vec<String>),
    #[error("{}: Packer would load what this run did not write: {}", .folder.display(), .names.join(", "))]
    Foreign { folder: PathBuf, names: Vec<String> },
    #[error("interrupted; {}", .left.describe())]
    Interrupted { left: Leftovers, log: PathBuf },
    #[error(transparent)]
    Exec(#[from] ExecError),
    #[error(transparent)]
    File(#[from] FileError),
}

impl Classify for BakeError {
    fn class(&self) -> ErrorClass {
        match self {
            Self::File(error) => error.class(),
            // The program that is not started is Packer.
            Self::Exec(_) => ErrorClass::Packer,
            _ => self.code().class(),
        }
    }

    fn remedies(&self) -> Vec<String> {
        match self {
            Self::NoPacker(_) => vec![
                "install Packer (https://developer.hashicorp.com/packer/install), or give its path with `--packer PATH`"
                    .to_owned(),
            ],
            Self::WrongValue { meaning, .. } => vec![meaning.clone()],
            Self::NoProgram { name, .. } => vec![program_hint(name)],
            Self::Failed { log, .. } => vec![format!("see {} for the whole output", log.display())],
            Self::Interrupted { left: Leftovers::Told | Leftovers::Killed | Leftovers::Kept, log } => vec![format!(
                "delete what {} names: machines, keys and groups that Packer made for the build",
                log.display()
            )],
            Self::MissingVariables(_) => vec!["run `imagegen plan` to see how to set each of them".to_owned()],
            Self::ShortSecret(_) => vec!["choose a longer secret".to_owned()],
            Self::Foreign { .. } => vec!["move the files out of the workspace, or choose another folder with `--out`".to_owned()],
            Self::Template(_) => vec!["choose another value: the plugin would use another one than you set".to_owned()],
            Self::Checks(_) => vec!["see check-report.json in the workspace for every difference".to_owned()],
            _ => Vec::new(),
        }
    }

    fn code(&self) -> Code {
        match self {
            Self::NoPacker(_) => Code::PACKER_MISSING,
            Self::NoProgram { .. } => Code::PLATFORM_PROGRAM_MISSING,
            Self::Failed { .. } => Code::PACKER_FAILED,
            Self::Killed { .. } => Code::PACKER_KILLED,
            Self::NoImage { .. } => Code::NO_IMAGE,
            Self::Convert { .. } => Code::CONVERT_FAILED,
            Self::MissingVariables(_) => Code::MISSING_VARIABLE,
            Self::WrongValue { .. } => Code::VARIABLE_VALUE,
            Self::Template(_) => Code::VARIABLE_TEMPLATE,
            Self::ShortSecret(_) => Code::SHORT_SECRET,
            Self::Report(_) => Code::CHECK_REPORT,
            Self::Checks(_) => Code::CHECKS_FAILED,
            Self::Foreign { .. } => Code::FOREIGN_PACKER_FILE,
            Self::Interrupted { .. } | Self::ConversionInterrupted { .. } => Code::INTERRUPTED,
            Self::Exec(error) => error.code(),
            Self::File(error) => error.code(),
        }
    }

    fn location(&self) -> Option<Location> {
        match self {
            Self::Failed { log, .. } => Some(Location::from_file(log.display().to_string())),
            Self::Foreign { folder, .. } => Some(Location::from_file(folder.display().to_string())),
            Self::File(error) => error.location(),
            _ => None,
        }
    }
}

/// Environment variables of this process that a bake may use.
pub type Environment = BTreeMap<String, OsString>;

/// A proven plan, and where and how to bake it.
#[derive(Debug, Clone, Copy)]
pub struct Bake<'a> {
    pub proven: &'a ProvenPlan,
    /// The folder that gets the results.
    pub folder: &'a Path,
    /// The files that this run rendered.
    pub workspace: &'a Workspace,
    pub tools: &'a Tools,
    /// The folder in which this bake has its own.
    pub work: &'a Path,
    pub on_error: OnError,
    pub environment: &'a Environment,
    /// Names of environment variables that the user passes on.
    pub passed: &'a [String],
    /// Start of the run, in milliseconds since 1970.
    pub started: u64,
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

/// Refuses variables and programs that can be missing before anything is downloaded, and gives the programs that are not
/// there.
///
/// # Errors
/// `--packer` names no program, a variable has no or a wrong value, or a program is not there that the builder starts when
/// the machine runs already. What an own Packer starts is its owner's business.
pub fn require_inputs(
    plan: &Plan,
    own_packer: Option<&PathBuf>,
    packer: &Tree,
) -> Result<Vec<ProgramCheck>> {
    if let Some(path) = own_packer.filter(|path| !exec::can_find(path)) {
        return Err(BakeError::NoPacker(path.clone()).into());
    }
    require_variables(plan)?;
    if let Some((variable, fault)) = find_wrong_environment(plan) {
        let meaning = variable.describe();
        return Err(BakeError::WrongValue { fault, meaning }.into());
    }
    let absent = find_absent_programs(plan, packer)?;
    match absent.iter().find(|check| check.late) {
        Some(check) if own_packer.is_none() => Err(absent_program_error(check).into()),
        _ => Ok(absent),
    }
}

/// Warns of programs without which Packer stops, which is after the downloads.
pub fn warn_of_programs(absent: &[ProgramCheck], printer: &Printer) {
    for check in absent {
        let hint = program_hint(&check.name);
        printer.print_warning(&format!("{}; {hint}", absent_program_error(check)));
    }
}

fn absent_program_error(check: &ProgramCheck) -> BakeError {
    BakeError::NoProgram {
        name: check.name.clone(),
        purpose: check.purpose.clone(),
    }
}

/// Course of a bake so far, also if it fails.
#[derive(Debug, Default)]
pub struct BakeTrace {
    pub timeline: Timeline,
    pub tools: Vec<ToolUsed>,
}

/// Where Packer runs, below the private folder.
const WORKSPACE: &str = "workspace";
const LOG: &str = "packer.log";

/// A socket of a plugin has a name below the folder of temporary files, and its path at most 104 bytes.
/// hashicorp/packer-plugin-sdk@v0.6.10 plugin/server.go (`serverListener_unix`: `packer-plugin` and a number, in the
/// folder of temporary files); unix(4) of macOS
const LONGEST_TEMPORARY: usize = 70;

/// A bake in its private folder.
struct PrivateBake<'a> {
    bake: &'a Bake<'a>,
    work: PrivateFolder,
    tools: InstalledTools,
    environment: Environment,
    /// Holds the temporary files where the private folder's path is too long for them.
    _temporary: Option<Scratch>,
}

impl Bake<'_> {
    /// `packer init`, `validate` and `build` in a private folder; the results go to the workspace.
    ///
    /// # Errors
    /// A missing variable or program, a failed step of Packer, an interrupt, failed checks.
    pub fn run(&self, trace: &mut BakeTrace) -> Result<BakeOutput> {
        let plan = self.proven.plan();
        require_variables(plan)?;
        let names = self.workspace.files.keys().cloned().collect();
        refuse_foreign_files(self.folder, &names)?;
        let private = self.prepare()?;
        for name in ["packer-manifest.json", CHECK_REPORT, "image.json"] {
            fs::remove_if_exists(&self.folder.join(name))?;
        }
        trace.tools = describe_tools(&private.tools, plan, self.environment)?;
        Ok(private.run(&mut trace.timeline)?)
    }

    /// Puts everything that the bake reads and runs into its private folder.
    fn prepare(&self) -> Result<PrivateBake<'_>> {
        let plan = self.proven.plan();
        let work = PrivateFolder::create(self.work)?;
        for name in ["home", "config", "cache"] {
            work.add_folder(name)?;
        }
        let home = find_home(self.environment);
        for name in list_home_paths(plan) {
            let path = home
                .iter()
                .map(|home| home.join(name))
                .find(|it| it.exists());
            if let Some(path) = path {
                work.add_link(&format!("home/{name}"), &path)?;
            }
        }
        work.add_files(WORKSPACE, &self.workspace.files)?;
        let tools = self.tools.install(&work.add_folder("tools")?)?;
        if !exec::is_program(&tools.packer) {
            return Err(BakeError::NoPacker(tools.packer).into());
        }

        let (temporary, long) = if work.path().as_os_str().len() > LONGEST_TEMPORARY {
            let scratch = Scratch::new("bake")?;
            (scratch.path().to_owned(), Some(scratch))
        } else {
            (work.add_folder("tmp")?, None)
        };
        mask_variables(plan, self.environment);
        let mut environment = PackerEnvironment {
            plan,
            given: self.environment,
            passed: self.passed,
            folder: work.path(),
            temporary: &temporary,
            plugins: tools.plugins.as_deref(),
        }
        .build();
        refuse_templates(&environment)?;
        refuse_short_secrets(plan, &environment)?;
        environment.extend(media::gather_boot_media(self.proven, &work)?);
        environment.extend(media::gather_artifacts(self.proven, &work)?);
        Ok(PrivateBake {
            bake: self,
            work,
            tools,
            environment,
            _temporary: long,
        })
    }
}

impl PrivateBake<'_> {
    fn run(mut self, timeline: &mut Timeline) -> Result<BakeOutput, BakeError> {
        let outcome = self.build(timeline);
        let outcome = self.export_results(outcome);
        if outcome.is_err() && self.bake.on_error == OnError::Abort {
            let kept = self.work.keep().display();
            let printer = self.bake.printer;
            printer.print_note(&format!("the folder of the bake is kept: {kept}"));
        }
        outcome
    }

    /// Runs Packer. A build that failed may have left results all the same.
    fn build(&self, timeline: &mut Timeline) -> Result<(), BakeError> {
        let bake = self.bake;
        let mut session = PackerRun {
            program: self.tools.packer.clone(),
            folder: self.folder(),
            environment: self.environment.clone(),
            on_error: bake.on_error,
            log: fs::Log::create(&self.folder().join(LOG))?,
            log_path: bake.folder.join(LOG),
            started: bake.started,
            timeline,
            printer: bake.printer,
        };
        session.run_step("init", &["."])?;
        session.run_step("validate", &["."])?;
        let on_error = format!("-on-error={}", bake.on_error);
        session.run_step(packer::BUILD, &["-color=false", &on_error, "."])
    }

    fn folder(&self) -> PathBuf {
        self.work.path().join(WORKSPACE)
    }

    /// Reads what the build left, and moves it to the workspace.
    fn export_results(&self, built: Result<(), BakeError>) -> Result<BakeOutput, BakeError> {
        let bake = self.bake;
        let read = self.read_results(built);
        for name in TRACES {
            self.export_file(name)?;
        }
        let output = read?;
        for file in output.artifacts.iter().flat_map(|artifact| &artifact.files) {
            self.export_file(&file.path)?;
        }
        let plan = bake.proven.plan();
        if let Some(folder) = plan.target.output_folder(&plan.selectors) {
            for name in self.work.list_files(&format!("{WORKSPACE}/{folder}"))? {
                self.export_file(&format!("{folder}/{name}"))?;
            }
        }
        Ok(output)
    }

    fn export_file(&self, name: &str) -> Result<bool, FileError> {
        let from = format!("{WORKSPACE}/{name}");
        self.work.export_file(&from, self.bake.folder, name)
    }

    /// The sealing phase ends a build whose checks failed, and then the report says why.
    fn read_results(&self, built: Result<(), BakeError>) -> Result<BakeOutput, BakeError> {
        let built = match built {
            Err(stopped @ (BakeError::Interrupted { .. } | BakeError::Killed { .. })) => {
                return Err(stopped);
            }
            built => built,
        };
        let report = results::read_check_report(&self.folder())?;
        if let Some(report) = &report
            && !report.passed
        {
            return Err(BakeError::Checks(report.list_failures()));
        }
        built?;
        let Some(report) = report else {
            return Err(BakeError::Report("the machine sent none".to_owned()));
        };
        let left = results::BuildFolder {
            path: &self.folder(),
            environment: &self.environment,
        };
        results::read_bake_output(self.bake.proven.plan(), left, &report)
    }
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
