//! One flow on one machine: each command changes the machine as Windows and the programs would, or is a reason why
//! the flow does not work.

use std::collections::BTreeMap;

use imagegen::base::version::Version;
use imagegen::machine::Machine;
use imagegen::model::kubernetes::{FlagValues, Program};
use imagegen::model::line::Minor;
use imagegen::model::stage::Stage;
use imagegen::windows::inbox::{find_inbox_directory, is_inbox_file};
use imagegen::windows::paths;
use imagegen::windows::resource::{Identity, ResourceKind, StartType, Symlink};
use serde_json::Value;

use super::kubelet::{check_flow, check_image, list_left_out};
use super::{Flow, FlowFile, Table};

pub(super) const LAUNCHER: &str = r"C:\k\start-kubelet.cmd";
const KUBELET: &str = r"C:\k\kubelet.exe";
/// Windows' own entries of the PATH.
const PATH: [&str; 4] = [
    r"C:\Windows\System32",
    r"C:\Windows",
    r"C:\Windows\System32\Wbem",
    r"C:\Windows\System32\WindowsPowerShell\v1.0",
];
/// Names of runtimes to kubeadm: kubernetes/kubernetes@v1.20.0 cmd/kubeadm/app/constants/constants_windows.go.
const DOCKER: &str = "npipe:////./pipe/docker_engine";
const CONTAINERD: &str = "npipe:////./pipe/containerd-containerd";
/// The part of PATHEXT that steps and templates use, in its order.
const SUFFIXES: [&str; 3] = [".exe", ".bat", ".cmd"];
/// Commands of cmd itself.
const OWN: [&str; 3] = ["echo", "rem", "set"];
/// Files that kubeadm refuses to join over.
const PREFLIGHT: [&str; 3] = [
    r"C:\etc\kubernetes\bootstrap-kubelet.conf",
    r"C:\etc\kubernetes\kubelet.conf",
    r"C:\etc\kubernetes\pki\ca.crt",
];

/// Flags and gates by program.
pub(super) type Programs = BTreeMap<String, Program>;

/// A machine made of the image of a line.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub kubernetes: Version,
    pub minor: Minor,
    pub stages: Vec<Stage>,
    pub machine: Machine,
    pub programs: Programs,
    /// Flags of the kubelet that take some values only.
    pub values: Vec<FlagValues>,
    /// Scripts of the payload, below `provisioners`.
    pub scripts: Vec<String>,
}

/// A node that joined.
#[derive(Debug)]
pub(super) struct Joined {
    pub name: String,
    pub arguments: String,
    pub restart: Result<String, String>,
}

/// The machine while the commands of a flow run.
struct Run<'a> {
    image: &'a Image,
    flow: &'a Flow,
    /// Files that the flow wrote.
    written: Vec<String>,
    start: Option<StartType>,
    joined: bool,
}

pub(super) fn fold_join(image: &Image, flow: &Flow) -> Result<Joined, String> {
    check_stage(image, flow)?;
    for service in &flow.services {
        if image.machine.find_service(service).is_none() {
            return Err(format!("there is no service `{service}`"));
        }
    }
    let mut run = Run::new(image, flow);
    run.run_commands(&flow.commands)?;
    if !run.joined {
        return Err("no command of the flow joins the node".to_owned());
    }

    run.check_named_files()?;
    let left_out = list_left_out(read_launcher(&image.machine), image.minor);
    let dropped = check_flow(flow, image, &left_out)?;
    Ok(Joined {
        name: describe_name(image, flow),
        arguments: describe_arguments(flow, &dropped),
        restart: run.restart_machine(),
    })
}

/// The stage runs on this target; the rule `account-refused` has seen to its account.
fn check_stage(image: &Image, flow: &Flow) -> Result<(), String> {
    let plugins = &image.machine.platform.cloudbase_init;
    let mut stages = image.stages.iter();
    let runs = stages.any(|stage| stage.stage == flow.stage && stage.runs_on(plugins));
    if runs {
        return Ok(());
    }
    Err(format!("the target has no stage `{}`", flow.stage))
}

/// The rule `name-after-user-data` has seen to the order: no name changes after the join.
fn describe_name(image: &Image, flow: &Flow) -> String {
    if flow.name != "metadata" {
        return format!("of the {}", flow.name);
    }
    let plugins = &image.machine.platform.cloudbase_init.main.plugins;
    let sets = plugins.iter().any(|it| it.ends_with(".SetHostNamePlugin"));
    let by = if sets {
        "cloudbase-init, before the join"
    } else {
        "the platform"
    };
    format!("of the metadata, set by {by}")
}

fn describe_arguments(flow: &Flow, dropped: &[String]) -> String {
    let all = flow.arguments.len();
    match (all, dropped) {
        (0, _) => "those of kubeadm".to_owned(),
        (_, []) => format!("all {all}"),
        (_, dropped) => format!(
            "{} of {all}, without {}",
            all - dropped.len(),
            dropped.join(", ")
        ),
    }
}

impl<'a> Run<'a> {
    fn new(image: &'a Image, flow: &'a Flow) -> Self {
        let kubelet = image.machine.find_service("kubelet");
        Self {
            image,
            flow,
            written: flow
                .files
                .iter()
                .map(|file| windows_path(&file.path))
                .collect(),
            start: kubelet.and_then(|service| service.settings.start_type),
            joined: false,
        }
    }

    fn run_commands(&mut self, commands: &[String]) -> Result<(), String> {
        let last = commands.len().saturating_sub(1);
        for (index, line) in commands.iter().enumerate() {
            for command in line.split("&&") {
                let program = self.run_command(command.trim())?;
                let is_batch = [".bat", ".cmd"].iter().any(|it| program.ends_with(it));
                if is_batch && index < last {
                    return Err(format!(
                        "{program} is a batch file, which ends the batch that calls it"
                    ));
                }
            }
        }
        Ok(())
    }

    /// Runs one command; the program that it calls.
    fn run_command(&mut self, command: &str) -> Result<String, String> {
        let (command, output) = command.split_once('>').unwrap_or((command, ""));
        if !output.trim().is_empty() {
            self.write_file(output.trim())?;
        }
        let words: Vec<&str> = command.split_whitespace().collect();
        let program = self.resolve_program(words[0])?;
        let name = paths::file_stem(words[0]);
        match (name.to_lowercase().as_str(), &words[1..]) {
            ("powershell", arguments) => self.run_script(arguments)?,
            ("kubeadm", ["join", arguments @ ..]) => self.join(arguments)?,
            ("kubeadm", ["reset" | "upgrade", ..]) => {}
            ("nssm", arguments) => self.set_service(arguments)?,
            ("kubeadm", other) => {
                return Err(format!("the model does not know `kubeadm {other:?}`"));
            }
            _ => {}
        }
        Ok(program)
    }

    fn write_file(&mut self, path: &str) -> Result<(), String> {
        let path = windows_path(path);
        let folder = paths::parent_path(&path).expect("a folder");
        if !self.has_folder(&folder) {
            return Err(format!("there is no folder {folder} for {path}"));
        }
        self.written.push(path);
        Ok(())
    }

    /// By its path, or by its name on the PATH of the machine.
    fn resolve_program(&self, word: &str) -> Result<String, String> {
        if OWN.contains(&word.to_lowercase().as_str()) {
            return Ok(word.to_owned());
        }
        if word.contains(['/', '\\', ':']) {
            let path = windows_path(word);
            return if self.has_file(&path) {
                Ok(path)
            } else {
                Err(format!("{path} is not on the machine"))
            };
        }
        let entries = PATH.iter().map(|entry| (*entry).to_owned());
        for entry in entries.chain(self.image.machine.path.iter().cloned()) {
            let own = std::iter::once("").filter(|_| paths::has_extension(word));
            for suffix in own.chain(SUFFIXES) {
                let path = format!(r"{entry}\{word}{suffix}");
                if self.has_file(&path) {
                    return Ok(path);
                }
            }
        }
        Err(format!("`{word}` is not on the PATH"))
    }

    /// A script of the flow or of the machine, with what it reads; a command of PowerShell itself needs nothing.
    fn run_script(&mut self, arguments: &[&str]) -> Result<(), String> {
        let Some(script) = arguments
            .iter()
            .find(|word| word.to_lowercase().ends_with(".ps1"))
        else {
            return Ok(());
        };
        let path = windows_path(script);
        let mut absent = self.flow.absent.iter();
        if absent.any(|file| is_same(&windows_path(file), &path)) {
            return Ok(());
        }
        if !self.has_file(&path) {
            return Err(format!("{path} is not on the machine"));
        }
        let mut files = self.flow.files.iter();
        if let Some(own) = files.find(|file| is_same(&windows_path(&file.path), &path)) {
            self.run_own_script(&path, own)?;
        }
        if paths::file_name(&path).eq_ignore_ascii_case("Join-Node.ps1") {
            let at = arguments.iter().position(|word| *word == "-Configuration");
            let file = at
                .and_then(|at| arguments.get(at + 1))
                .expect("a configuration");
            self.resolve_program("kubeadm")?;
            self.join(&["--config", file])?;
        }
        Ok(())
    }

    /// A script that the flow wrote: what it reads and calls, and what it leaves.
    fn run_own_script(&mut self, path: &str, script: &FlowFile) -> Result<(), String> {
        for read in &script.reads {
            if !self.has_file(read) {
                return Err(format!("{path} reads {read}, which is not on the machine"));
            }
        }
        for name in &script.calls {
            let found = self.resolve_program(name);
            found.map_err(|_| format!("{path} calls `{name}`, which is not on the PATH"))?;
        }
        self.written.extend(script.writes.iter().cloned());
        Ok(())
    }

    /// `kubeadm join`: its preflight, what it reads, and the kubelet that it starts.
    fn join(&mut self, arguments: &[&str]) -> Result<(), String> {
        let at = arguments.iter().position(|word| *word == "--config");
        if let Some(file) = at.and_then(|at| arguments.get(at + 1)) {
            let path = windows_path(file);
            if !self.has_file(&path) {
                return Err(format!("nothing writes {path}"));
            }
        }
        self.check_socket(arguments)?;
        for path in PREFLIGHT {
            if self.image.machine.find_at_path(path).is_some() {
                return Err(format!("kubeadm refuses to join over {path}"));
            }
        }
        self.resolve_program("kubelet")?;
        let machine = &self.image.machine;
        if machine.find_service("kubelet").is_none() || self.start == Some(StartType::Disabled) {
            return Err("kubeadm cannot start the service `kubelet`".to_owned());
        }
        if !read_launcher(machine).contains("KUBELET_KUBEADM_ARGS") {
            return Err("the kubelet does not read the arguments of kubeadm".to_owned());
        }
        self.joined = true;
        Ok(())
    }

    /// kubeadm knows Docker by one name, and takes every other one for a remote runtime's, whose pipe the kubelet dials.
    fn check_socket(&self, arguments: &[&str]) -> Result<(), String> {
        let at = arguments.iter().position(|word| *word == "--cri-socket");
        let Some(given) = at.and_then(|at| arguments.get(at + 1)) else {
            return Ok(());
        };
        let has_docker = self.image.machine.find_service("docker").is_some();
        let served = if has_docker { DOCKER } else { CONTAINERD };
        if *given == served {
            return Ok(());
        }
        Err(format!(
            "the kubelet dials {given}, and the runtime is {served} to kubeadm"
        ))
    }

    /// `nssm set SERVICE start TYPE`, of any service.
    fn set_service(&mut self, arguments: &[&str]) -> Result<(), String> {
        let ["set", service, setting, value] = arguments else {
            return Err(format!("the model does not know `nssm {arguments:?}`"));
        };
        if self.image.machine.find_service(service).is_none() {
            return Err(format!("there is no service `{service}`"));
        }
        let is_start = setting.eq_ignore_ascii_case("start") && *value == "SERVICE_AUTO_START";
        if service.eq_ignore_ascii_case("kubelet") && is_start {
            self.start = Some(StartType::Auto);
        }
        Ok(())
    }

    /// A file that an argument of the flow names is there: without it the kubelet ends.
    fn check_named_files(&self) -> Result<(), String> {
        for (name, value) in &self.flow.arguments {
            let path = windows_path(value);
            let is_path = name.ends_with("-config") && value.contains('/');
            if is_path && !self.has_file(&path) {
                return Err(format!("nothing writes {path}, which `--{name}` names"));
            }
        }
        Ok(())
    }

    fn restart_machine(&self) -> Result<String, String> {
        if self.start != Some(StartType::Auto) {
            return Err("the kubelet does not start by itself".to_owned());
        }
        Ok("the same arguments".to_owned())
    }

    fn has_file(&self, path: &str) -> bool {
        let key = paths::normalize_key(path);
        let script = key.strip_prefix(r"c:\imagegen\");
        let mut files = self.image.machine.present_files();
        self.written.iter().any(|it| is_same(it, path))
            || files.any(|file| is_same(file.path, path))
            || is_inbox_file(&key)
            || script.is_some_and(|name| {
                let mut scripts = self.image.scripts.iter();
                scripts.any(|it| it.to_lowercase() == name.replace('\\', "/"))
            })
    }

    /// Of the machine, of Windows, or made for a file that the flow writes.
    fn has_folder(&self, path: &str) -> bool {
        let key = paths::normalize_key(path);
        let mut written = self.written.iter();
        written.any(|it| paths::is_below(&paths::normalize_key(it), &key))
            || self.image.machine.find_at_path(path).is_some()
            || find_inbox_directory(&key).is_some()
    }
}

/// A reset removes what the second join needs of the image, unless the launcher makes it anew.
pub(super) fn fold_reset(image: &Image, flow: &Flow, table: &Table) -> Result<String, String> {
    Run::new(image, flow).run_commands(&table.reset.commands)?;
    let removes = |path: &str| {
        let key = paths::normalize_key(path);
        let mut folders = table.reset.removes.iter();
        folders.any(|above| paths::is_below(&key, &paths::normalize_key(above)))
    };
    let machine = &image.machine;
    let files = machine.present_files().map(|file| file.path);
    let links = machine
        .resources_of::<Symlink>()
        .map(|(link, _)| &*link.path);
    let launcher = read_launcher(machine);
    for path in files.chain(links).filter(|path| removes(path)) {
        if !launcher.contains(&format!("\"{path}\"")) {
            return Err(format!(
                "nothing brings back {path}, which the reset removes"
            ));
        }
    }
    for path in PREFLIGHT {
        let is_gone = removes(path) || table.reset.removes.iter().any(|it| is_same(it, path));
        if !is_gone {
            return Err(format!("{path} stays, over which kubeadm refuses to join"));
        }
    }
    Ok(String::new())
}

/// The documented steps: the programs are files that can be replaced, and the newer kubelet takes the arguments.
pub(super) fn fold_upgrade(
    image: &Image,
    newer: &Image,
    flow: &Flow,
    table: &Table,
) -> Result<String, String> {
    let run = Run::new(image, flow);
    for path in &table.upgrade.replaces {
        if !run.has_file(path) {
            return Err(format!("{path} is not there to be replaced"));
        }
    }
    Run::new(image, flow).run_commands(&table.upgrade.commands)?;

    let left_out = list_left_out(read_launcher(&image.machine), newer.minor);
    let service = image.machine.find_service("kubelet").expect("a kubelet");
    let arguments = &service.settings.arguments;
    let at = arguments
        .iter()
        .position(|it| is_same(it, KUBELET))
        .expect("the kubelet");
    check_image(&arguments[at + 1..], newer, &left_out)?;
    let dropped = check_flow(flow, newer, &left_out)?;
    Ok(describe_arguments(flow, &dropped))
}

/// Content of the batch file that starts the kubelet.
fn read_launcher(machine: &Machine) -> &str {
    match machine.find_at_path(LAUNCHER) {
        Some(ResourceKind::File(file)) => file.content().unwrap_or_default(),
        _ => "",
    }
}

fn windows_path(path: &str) -> String {
    let path = path.replace('/', "\\");
    if path.starts_with('\\') {
        format!("C:{path}")
    } else {
        paths::normalize_path(&path)
    }
}

fn is_same(path: &str, other: &str) -> bool {
    paths::normalize_key(path) == paths::normalize_key(other)
}

/// Changes a resource of the machine, as JSON.
fn edit_resource(
    machine: &mut Machine,
    find: impl Fn(&Identity, &ResourceKind) -> bool,
    edit: impl Fn(&mut Value),
) {
    let mut placed = machine.resources.iter_mut();
    let (_, placed) = placed
        .find(|(id, placed)| find(id, &placed.kind))
        .expect("a resource");
    let mut value = serde_json::to_value(&placed.kind).expect("JSON");
    edit(&mut value["properties"]);
    placed.kind = serde_json::from_value(value).expect("a resource");
}

pub(super) fn set_start_type(machine: &mut Machine, service: &str, start: &str) {
    let is_it = |_: &Identity, kind: &ResourceKind| matches!(kind, ResourceKind::Service(it) if it.service_name.eq_ignore_ascii_case(service));
    edit_resource(machine, is_it, |properties| {
        properties["startType"] = start.into();
    });
}

pub(super) fn edit_file(machine: &mut Machine, path: &str, edit: impl Fn(&str) -> String) {
    let is_it = |_: &Identity, kind: &ResourceKind| matches!(kind, ResourceKind::File(it) if is_same(&it.path, path));
    edit_resource(machine, is_it, |properties| {
        let content = properties["content"].as_str().expect("a text");
        properties["content"] = edit(content).into();
    });
}
