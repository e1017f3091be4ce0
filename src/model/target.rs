//! Targets: what a build makes, and where. Each is described by the files of `packer/targets/<name>/`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::needed_program::NeededProgram;
use super::platform::{Platform, SerialConsole};
use super::target_record::TargetRecord;
use super::variable::{Conversion, Selector, SelectorValue, Variable};
use crate::base::choice::Delivery;
use crate::base::nonempty::NonEmpty;
use crate::base::value::ComponentName;
use crate::base::version::Version;
use crate::windows::resource::{SealAgent, WinrmTransport};
use crate::windows::value::AccountName;

/// `packer/packer.json`: what the workspace of every target needs from Packer.
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct PackerBase {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub version: Version,
    pub source: String,
    /// Variables whose values imagegen computes.
    pub variables: Vec<Variable>,
    /// Programs of the building machine that builders of several targets start.
    #[serde(default)]
    pub programs: Vec<NeededProgram>,
}

/// `packer/targets/<name>/target.json`
#[derive(Debug, Clone, PartialEq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Target {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub name: String,
    pub title: String,
    pub kind: TargetKind,
    pub selectors: Vec<Selector>,
    pub variables: Vec<Variable>,
    /// Notes for users of the target: licenses, and what the platform does to a clone.
    #[serde(default)]
    pub notes: Vec<TargetNote>,
    /// `windows.json`: Windows release → what a build of it starts from.
    #[serde(skip)]
    pub releases: BTreeMap<String, Vec<ReleaseSource>>,
    /// `record.json` of the folder: what was proved of the target.
    #[serde(skip)]
    pub record: TargetRecord,
    /// SHA-256 over the digests of `target.json` and `windows.json`.
    #[serde(skip)]
    pub digest: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetNote {
    pub text: String,
    pub source: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum TargetKind {
    /// An existing machine; a build makes an installer for it.
    Machine(MachineTarget),
    /// Packer makes an image.
    Image(Box<ImageTarget>),
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct MachineTarget {
    /// How payloads reach the machine, default first.
    pub delivery: NonEmpty<Delivery>,
    /// Files of the target's folder that go into the installer as they are.
    #[serde(default)]
    pub files: Vec<String>,
    /// The installer has the plan's policies as files for the registry of a Windows that does not run yet.
    #[serde(default)]
    pub offline_policies: bool,
    /// Folder out of which the machine is made, which goes when it is a node.
    #[serde(default)]
    pub source_folder: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ImageTarget {
    /// Packer's source type.
    pub builder: String,
    pub plugins: NonEmpty<Plugin>,
    pub start: Start,
    pub session: Session,
    pub seal: Seal,
    /// How payloads reach the guest, default first.
    pub delivery: NonEmpty<Delivery>,
    /// Environment variables that the builder reads, whatever the way to sign in. It gets no other of the user's.
    #[serde(default)]
    pub environment: Vec<String>,
    /// Programs of the building machine that the builder starts.
    #[serde(default)]
    pub programs: Vec<NeededProgram>,
    pub output: Output,
    /// Where its machines run a hypervisor of their own; absent where nothing is known against it.
    #[serde(default)]
    pub nested_virtualization: Option<NestedVirtualization>,
    /// The line by which the builder tells which base image it took; absent where it tells nothing.
    #[serde(default)]
    pub base_image_line: Option<super::output_line::OutputLine>,
    pub platform: Platform,
}

/// Machines of a target that can run a hypervisor of their own, as Hyper-V isolation wants it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct NestedVirtualization {
    /// The variable that decides, with the regular expression of its good values; absent where no machine can.
    #[serde(default)]
    pub with: Option<DecidingVariable>,
    /// Why other machines cannot.
    pub reason: String,
    /// The nearest good choice, as an imperative.
    pub instead: String,
    pub source: String,
}

/// A variable of a target, and the values that mean yes.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct DecidingVariable {
    pub variable: String,
    /// A regular expression without look-around; a switch reads as `true` or `false`.
    pub pattern: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Plugin {
    pub name: String,
    pub address: String,
    pub version: Version,
    pub source: String,
}

/// Start of a build.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(
    rename_all = "camelCase",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum Start {
    /// An image with Windows installed, named by variables.
    SourceImage {
        /// The variable whose value holds the update revision of Windows.
        version: Option<SourceImageVersion>,
        /// Files of the target's folder or of `packer/shared` for the workspace, such as the script that opens `WinRM`.
        #[serde(default)]
        files: Vec<String>,
    },
    /// Installation media.
    BootMedia {
        /// Files that the builder attaches, each pinned by the user.
        media: NonEmpty<BootMedium>,
        /// Files of the target's folder or of `packer/shared` for the workspace, such as the answer file.
        files: Vec<String>,
    },
}

/// A variable with versions such as `20348.2700.240907`: build, update revision, date.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct SourceImageVersion {
    pub variable: String,
    /// The value that stands for the newest version.
    pub newest: String,
    pub source: String,
}

/// An ISO image that the builder attaches to the machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct BootMedium {
    /// Name of the artifact in plan and lock.
    pub name: ComponentName,
    /// Variable with the URL. A file that is in the store already is not downloaded.
    pub url: String,
    /// Variable with the SHA-256.
    pub sha256: String,
    /// Variable that gets the path of the verified file when the image is built.
    pub path: String,
    pub license: String,
}

/// How Packer speaks to the machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Session {
    Winrm {
        transport: WinrmTransport,
        /// The built-in administrator under the name that the platform or the answer file gives it.
        user: AccountName,
    },
}

/// Program that generalizes the machine.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Seal {
    Sysprep {
        /// `quit`: the builder ends the machine; `shutdown`: Sysprep does.
        finish: String,
    },
    /// A program of the platform runs Sysprep with its own answer file, and prepares itself for a clone's first start.
    Agent {
        finish: String,
        /// The first one that the machine has seals it.
        agents: NonEmpty<SealAgent>,
        source: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Output {
    /// The platform keeps the image; `kinds` are its names for it.
    CloudImage { kinds: Vec<String> },
    /// Files in a folder of the workspace.
    Files {
        folder: String,
        formats: Vec<String>,
    },
}

/// `packer/targets/<name>/windows.json`
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct TargetReleases {
    #[serde(rename = "$schema")]
    pub schema: Option<String>,
    pub releases: BTreeMap<String, Vec<ReleaseSource>>,
}

/// Values of variables for one Windows release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct ReleaseSource {
    /// Chosen by a selector's value (`sourceImage`); otherwise for every selection.
    pub variant: Option<String>,
    pub variables: BTreeMap<String, String>,
    /// Day of this knowledge, as `2026-11-22`.
    pub day: Option<String>,
    pub source: String,
}

impl Target {
    pub fn image(&self) -> Option<&ImageTarget> {
        match &self.kind {
            TargetKind::Machine(_) => None,
            TargetKind::Image(image) => Some(image),
        }
    }

    pub fn delivery(&self) -> &NonEmpty<Delivery> {
        match &self.kind {
            TargetKind::Machine(machine) => &machine.delivery,
            TargetKind::Image(image) => &image.delivery,
        }
    }

    /// The machine's source folder, as a list that `each` can use.
    fn source_folders(&self) -> Vec<&str> {
        match &self.kind {
            TargetKind::Machine(machine) => machine.source_folder.as_deref().into_iter().collect(),
            TargetKind::Image(_) => Vec::new(),
        }
    }

    /// Facts for expressions of the guest's steps, as `target`. Every name is always defined.
    pub fn facts(&self) -> Value {
        let platform = self
            .image()
            .map(|image| image.platform.clone())
            .unwrap_or_default();
        let session = self.image().map(ImageTarget::session);
        json!({
            "name": self.name,
            "image": self.image().is_some(),
            "services": platform.services,
            "excludedPorts": platform.excluded_ports,
            "files": platform.files,
            "blocked": platform.blocked,
            "extensionFolders": platform.extension_folders,
            "directSetup": if platform.setup_command.is_none() { vec!["SetupComplete.cmd"] } else { Vec::new() },
            "setupCommands": platform.setup_command.iter().collect::<Vec<_>>(),
            "cloudbaseInit": platform.cloudbase_init,
            "serialConsoles": platform.serial_console.iter().map(SerialConsole::facts).collect::<Vec<_>>(),
            "sharesSerialPort": platform.shares_serial_port(),
            "buildUser": session.map_or("", |(_, user)| user.as_str()),
            "buildUserEnd": if platform.owns_administrator { "closed" } else { "disabled" },
            "winrmTransport": session.map(|(transport, _)| transport),
            "winrmPort": session.map_or(0, |(transport, _)| listener_port(transport)),
            "finish": self.image().map_or("", ImageTarget::finish),
            "sourceFolders": self.source_folders(),
            "sealAgents": self.image().map(ImageTarget::seal_agents).unwrap_or_default(),
        })
    }

    /// Whether the name is that of a variable or selector that the lock does not record.
    pub fn is_build_time(&self, name: &str) -> bool {
        self.find_variable(name)
            .is_some_and(|variable| variable.build_time)
            || self
                .selectors
                .iter()
                .any(|selector| selector.name == name && selector.build_time)
    }

    /// The chosen values of the selectors.
    fn chosen_values<'a>(
        &'a self,
        selectors: &'a BTreeMap<String, String>,
    ) -> impl Iterator<Item = &'a SelectorValue> {
        self.selectors.iter().filter_map(|selector| {
            let value = selectors.get(&selector.name)?;
            selector.values.iter().find(|known| known.value == *value)
        })
    }

    /// Packer's source type under the chosen selectors; empty where no image is built.
    pub fn builder<'a>(&'a self, selectors: &'a BTreeMap<String, String>) -> &'a str {
        let mut chosen = self.chosen_values(selectors);
        match chosen.find_map(|value| value.builder.as_deref()) {
            Some(own) => own,
            None => self.image().map_or("", |image| &image.builder),
        }
    }

    /// The folder of the workspace that holds the image under the chosen selectors, where the image is files.
    pub fn output_folder<'a>(&'a self, selectors: &'a BTreeMap<String, String>) -> Option<&'a str> {
        let own = self
            .chosen_values(selectors)
            .find_map(|value| value.output_folder.as_deref());
        own.or_else(|| match &self.image()?.output {
            Output::CloudImage { .. } => None,
            Output::Files { folder, .. } => Some(folder),
        })
    }

    /// The further file that the chosen selectors ask for.
    pub fn conversion<'a>(
        &'a self,
        selectors: &'a BTreeMap<String, String>,
    ) -> Option<&'a Conversion> {
        self.chosen_values(selectors)
            .find_map(|value| value.convert.as_ref())
    }

    /// Every source type of Packer that a selection can choose.
    pub fn builders(&self) -> impl Iterator<Item = &str> {
        let values = self.selectors.iter().flat_map(|selector| &selector.values);
        let chosen = values.filter_map(|value| value.builder.as_deref());
        let own = self.image().into_iter();
        own.map(|image| image.builder.as_str()).chain(chosen)
    }

    pub fn find_variable(&self, name: &str) -> Option<&Variable> {
        self.variables.iter().find(|variable| variable.name == name)
    }

    /// The file that describes it, as messages name it.
    pub fn source(&self) -> String {
        format!("packer/targets/{}/target.json", self.name)
    }
}

impl ImageTarget {
    pub fn session(&self) -> (WinrmTransport, &AccountName) {
        match &self.session {
            Session::Winrm { transport, user } => (*transport, user),
        }
    }

    pub fn media(&self) -> &[BootMedium] {
        match &self.start {
            Start::SourceImage { .. } => &[],
            Start::BootMedia { media, .. } => media.as_slice(),
        }
    }

    /// Files that the source block reads.
    pub fn files(&self) -> &[String] {
        match &self.start {
            Start::SourceImage { files, .. } | Start::BootMedia { files, .. } => files,
        }
    }

    /// Action of Sysprep when it ends.
    pub fn finish(&self) -> &str {
        match &self.seal {
            Seal::Sysprep { finish } | Seal::Agent { finish, .. } => finish,
        }
    }

    /// Programs of the platform that seal the machine; none where Sysprep itself does.
    pub fn seal_agents(&self) -> &[SealAgent] {
        match &self.seal {
            Seal::Sysprep { .. } => &[],
            Seal::Agent { agents, .. } => agents.as_slice(),
        }
    }
}

/// Default port of a `WinRM` listener.
/// https://learn.microsoft.com/windows/win32/winrm/installation-and-configuration-for-windows-remote-management
fn listener_port(transport: WinrmTransport) -> u16 {
    match transport {
        WinrmTransport::Http => 5985,
        WinrmTransport::Https => 5986,
    }
}
