//! Applies resources one after the other to a model of Windows. Judges nothing: what is wrong
//! with the outcome is the rules' work.
//!
//! The engine makes missing directories above a `directory` and above its own downloads, and
//! above nothing else; an installer makes those above what it creates.

use std::collections::BTreeMap;

use crate::model::resource::{
    self as model, Ensure, EnsureDirectory, EnsureUser, Resource, ResourceKind, Scope,
};
use crate::model::step::Phase;

use super::expect::Expectations;
use super::state::{self, Artifact, Machine, Origin};
use super::{inbox, paths, settle, upsert};

/// How many restarts lie before a phase.
pub(super) fn boot(phase: Phase) -> u32 {
    match phase {
        Phase::Bootstrap | Phase::Prepare => 0,
        Phase::Install => 1,
        Phase::Test | Phase::Seal => 2,
        Phase::Firstboot => 3,
    }
}

pub(super) fn fold(resources: &[Resource], expectations: &Expectations<'_>) -> Machine {
    let mut fold =
        Fold { machine: at_the_start(expectations), target: expectations.target, creators: BTreeMap::new() };
    for resource in resources {
        fold.apply(resource);
    }
    let making = resources.iter().filter(|resource| resource.phase <= Phase::Seal);
    let restarts = making.map(|resource| boot(resource.phase)).max();
    fold.machine.restarts = restarts.unwrap_or_default();
    settle::settle(&mut fold.machine, expectations);
    fold.machine
}

/// What the target leaves on the machine before the plan begins.
fn at_the_start(expectations: &Expectations<'_>) -> Machine {
    let origin = || Origin {
        resource: format!("target/{}", expectations.target),
        step: String::new(),
        scope: Scope::Build,
    };
    let mut machine = Machine {
        schema: state::SCHEMA.to_owned(),
        target: expectations.target.to_owned(),
        windows: expectations.windows.to_owned(),
        build: expectations.build,
        ..Machine::default()
    };
    if let Some(transport) = expectations.winrm {
        machine.winrm.listeners.push(state::Listener { transport, origin: origin() });
    }
    if let Some(name) = expectations.build_user {
        machine.users.push(state::User { name: name.to_owned(), enabled: true, origin: origin() });
    }
    machine
}

struct Fold<'a> {
    machine: Machine,
    target: &'a str,
    /// Service in lower case → the resource that gave it its program.
    creators: BTreeMap<String, Origin>,
}

pub(super) fn origin(resource: &Resource) -> Origin {
    Origin { resource: resource.name.clone(), step: resource.step.clone(), scope: resource.scope }
}

/// Downloads are kept while the machine is built, whatever becomes of what they held.
fn build_origin(resource: &Resource) -> Origin {
    Origin { scope: Scope::Build, ..origin(resource) }
}

impl Fold<'_> {
    fn apply(&mut self, resource: &Resource) {
        match &resource.kind {
            ResourceKind::Directory(it) => self.directory(it, resource),
            ResourceKind::File(it) => self.file(it, resource),
            ResourceKind::Symlink(it) => self.symlink(it, resource),
            ResourceKind::Artifact(it) => self.artifact(it, resource),
            ResourceKind::Archive(it) => self.archive(it, resource),
            ResourceKind::Msi(it) => self.msi(it, resource),
            ResourceKind::Service(it) => self.service(it, resource),
            ResourceKind::LocalUser(it) => self.user(it, resource),
            ResourceKind::Sysprep(it) => {
                self.machine.sealed = true;
                self.machine.sysprep = Some(state::Sysprep {
                    image_state: it.image_state.clone(),
                    unattend: paths::normal(&it.unattend),
                    finish: it.finish.clone(),
                    origin: origin(resource),
                });
            }
            ResourceKind::RegistryValue(_)
            | ResourceKind::EnvironmentVariable(_)
            | ResourceKind::PathEntry(_)
            | ResourceKind::WindowsFeature(_)
            | ResourceKind::FirewallRule(_)
            | ResourceKind::PortRange(_)
            | ResourceKind::DefenderExclusion(_)
            | ResourceKind::WinrmListener(_)
            | ResourceKind::WinrmSetting(_)
            | ResourceKind::ContainerImage(_)
            | ResourceKind::Assertion(_) => upsert::upsert(&mut self.machine, resource),
            ResourceKind::Hotfix(it) => {
                let package = pinned(&it.url, it.algorithm, &it.digest, None);
                self.imply_above(&paths::normal(&it.cache), &build_origin(resource));
                self.put_artifact(&it.cache, Some(package), build_origin(resource));
                upsert::thing(&mut self.machine, resource);
            }
            ResourceKind::WindowsUpdate(_)
            | ResourceKind::WindowsCapability(_)
            | ResourceKind::ScheduledTask(_)
            | ResourceKind::HnsNetwork(_)
            | ResourceKind::PowerPlan(_)
            | ResourceKind::PageFile(_)
            | ResourceKind::Certificate(_)
            | ResourceKind::Script(_) => upsert::thing(&mut self.machine, resource),
        }
    }

    fn directory(&mut self, it: &model::Directory, resource: &Resource) {
        let path = paths::normal(&it.path);
        match it.ensure {
            EnsureDirectory::Absent => {
                self.remove_below(&path);
                self.remove(&path, "directory", resource);
            }
            EnsureDirectory::Present | EnsureDirectory::Empty => {
                let emptied = it.ensure == EnsureDirectory::Empty;
                if emptied {
                    self.remove_below(&path);
                }
                self.imply_above(&path, &origin(resource));
                self.put_directory(path, it.sddl.clone(), emptied, origin(resource));
            }
        }
    }

    fn put_directory(&mut self, path: String, sddl: Option<String>, emptied: bool, origin: Origin) {
        upsert::not_absent(&mut self.machine, "directory", &path);
        let known = self.machine.directories.iter_mut().find(|known| same(&known.path, &path));
        match known {
            Some(known) => {
                known.sddl = sddl.or(known.sddl.take());
                known.emptied |= emptied;
                if origin.scope != Scope::Build {
                    upsert::adopt(&mut known.origin, origin);
                }
            }
            None => self.machine.directories.push(state::Directory {
                path,
                sddl,
                inherits_from: None,
                emptied,
                origin,
            }),
        }
    }

    /// Directories that come into being because something below them is made.
    fn imply_above(&mut self, path: &str, origin: &Origin) {
        for above in paths::ancestors(path) {
            if inbox::directory(&paths::key(&above), self.target).is_none() {
                self.put_directory(above, None, false, origin.clone());
            }
        }
    }

    fn file(&mut self, it: &model::File, resource: &Resource) {
        let path = paths::normal(&it.path);
        match it.ensure {
            Ensure::Absent => self.remove(&path, "file", resource),
            Ensure::Present => self.put_file(state::File {
                path,
                content: it.content.clone(),
                sha256: it.sha256.clone(),
                artifact: None,
                sddl: it.sddl.clone(),
                origin: origin(resource),
            }),
        }
    }

    fn put_file(&mut self, file: state::File) {
        upsert::not_absent(&mut self.machine, "file", &file.path);
        self.machine.files.retain(|known| !same(&known.path, &file.path));
        self.machine.files.push(file);
    }

    fn put_artifact(&mut self, path: &str, artifact: Option<Artifact>, origin: Origin) {
        self.put_file(state::File {
            path: paths::normal(path),
            content: None,
            sha256: None,
            artifact,
            sddl: None,
            origin,
        });
    }

    fn symlink(&mut self, it: &model::Symlink, resource: &Resource) {
        let path = paths::normal(&it.path);
        if it.ensure == Ensure::Absent {
            return self.remove(&path, "symlink", resource);
        }
        upsert::not_absent(&mut self.machine, "symlink", &path);
        self.machine.links.retain(|known| !same(&known.path, &path));
        let target = paths::normal(it.target.as_deref().unwrap_or_default());
        self.machine.links.push(state::Link { path, target, origin: origin(resource) });
    }

    fn artifact(&mut self, it: &model::Artifact, resource: &Resource) {
        let artifact = pinned(&it.url, it.algorithm, &it.digest, None);
        self.put_artifact(&it.path, Some(artifact), origin(resource));
    }

    fn archive(&mut self, it: &model::Archive, resource: &Resource) {
        let part = |member| pinned(&it.url, it.algorithm, &it.digest, member);
        self.imply_above(&paths::normal(&it.cache), &build_origin(resource));
        self.put_artifact(&it.cache, Some(part(None)), build_origin(resource));
        for member in &it.members {
            let artifact = part(Some(member.member.clone()));
            self.put_artifact(&member.path, Some(artifact), origin(resource));
        }
    }

    fn msi(&mut self, it: &model::Msi, resource: &Resource) {
        let artifact = pinned(&it.url, it.algorithm, &it.digest, None);
        self.imply_above(&paths::normal(&it.cache), &build_origin(resource));
        self.put_artifact(&it.cache, Some(artifact.clone()), build_origin(resource));
        let creates = paths::normal(&it.creates);
        self.imply_above(&creates, &origin(resource));
        self.put_artifact(&creates, None, origin(resource));
        self.machine.packages.retain(|known| !same(&known.creates, &creates));
        self.machine.packages.push(state::Package {
            creates,
            artifact,
            arguments: it.arguments.clone(),
            origin: origin(resource),
        });
    }

    fn service(&mut self, it: &model::Service, resource: &Resource) {
        let is_it = |known: &state::Service| known.name.eq_ignore_ascii_case(&it.service_name);
        if it.ensure == Ensure::Absent {
            self.machine.services.retain(|known| !is_it(known));
            return upsert::absent(&mut self.machine, "service", &it.service_name, resource);
        }
        upsert::not_absent(&mut self.machine, "service", &it.service_name);
        let at = self.machine.services.iter().position(is_it).unwrap_or_else(|| {
            self.machine.services.push(unset(&it.service_name, resource));
            self.machine.services.len() - 1
        });
        let service = &mut self.machine.services[at];
        tune(service, it, resource);
        let key = it.service_name.to_lowercase();
        if it.program.is_some() {
            self.creators.insert(key, origin(resource));
        } else if resource.scope != Scope::Build
            && let Some(creator) = self.creators.get(&key)
        {
            service.origin = creator.clone();
        }
    }

    fn user(&mut self, it: &model::LocalUser, resource: &Resource) {
        self.machine.users.retain(|known| !known.name.eq_ignore_ascii_case(&it.user_name));
        if it.ensure == EnsureUser::Absent {
            return upsert::absent(&mut self.machine, "localUser", &it.user_name, resource);
        }
        upsert::not_absent(&mut self.machine, "localUser", &it.user_name);
        self.machine.users.push(state::User {
            name: it.user_name.clone(),
            enabled: it.ensure == EnsureUser::Present,
            origin: origin(resource),
        });
    }

    fn remove(&mut self, path: &str, kind: &str, resource: &Resource) {
        self.machine.files.retain(|known| !same(&known.path, path));
        self.machine.links.retain(|known| !same(&known.path, path));
        self.machine.directories.retain(|known| !same(&known.path, path));
        upsert::absent(&mut self.machine, kind, path, resource);
    }

    fn remove_below(&mut self, path: &str) {
        let above = paths::key(path);
        let stays = |path: &str| !paths::is_below(&paths::key(path), &above);
        self.machine.files.retain(|known| stays(&known.path));
        self.machine.links.retain(|known| stays(&known.path));
        self.machine.directories.retain(|known| stays(&known.path));
    }
}

/// Whether two normal paths are one.
pub(super) fn same(one: &str, other: &str) -> bool {
    one.eq_ignore_ascii_case(other) || (!one.is_ascii() && paths::key(one) == paths::key(other))
}

fn pinned(url: &str, algorithm: model::PinAlgorithm, digest: &str, member: Option<String>) -> Artifact {
    Artifact { url: url.to_owned(), algorithm, digest: digest.to_owned(), member }
}

fn unset(name: &str, resource: &Resource) -> state::Service {
    state::Service {
        name: name.to_owned(),
        display_name: None,
        program: None,
        arguments: Vec::new(),
        arguments_file: None,
        start_type: None,
        depends_on: Vec::new(),
        failure_reset_seconds: None,
        failure_actions: Vec::new(),
        environment: Vec::new(),
        state: None,
        account: None,
        origin: origin(resource),
    }
}

/// Overwrites what the resource gives and leaves the rest.
fn tune(service: &mut state::Service, it: &model::Service, resource: &Resource) {
    if let Some(program) = &it.program {
        service.program = Some(paths::normal(program));
        service.arguments.clone_from(&it.arguments);
        service.arguments_file.clone_from(&it.arguments_file);
        service.account = Some("LocalSystem".to_owned());
    }
    service.display_name = it.display_name.clone().or(service.display_name.take());
    service.start_type = it.start_type.or(service.start_type);
    service.state = it.state.or(service.state);
    service.failure_reset_seconds = it.failure_reset_seconds.or(service.failure_reset_seconds);
    if let Some(depends_on) = &it.depends_on {
        service.depends_on.clone_from(depends_on);
    }
    if let Some(failure_actions) = &it.failure_actions {
        service.failure_actions.clone_from(failure_actions);
    }
    if let Some(environment) = &it.environment {
        service.environment.clone_from(environment);
    }
    upsert::adopt(&mut service.origin, origin(resource));
}
