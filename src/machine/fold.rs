//! Applies resources in order to a model of Windows. The rules check the result.
//!
//! The engine creates missing parent directories only of a `directory` and of its downloads; an installer creates
//! the parents of its files.

use crate::windows::paths;
use crate::windows::resource::{
    Directory, DirectoryState, Effect, Ensure, EnsureUser, Identity, LocalUser, Phase, Resource,
    ResourceKind, Scope, WinrmListener,
};

use super::expect::Expectations;
use super::inbox;
use super::ports;
use super::state::{self, Machine, PlacedResource, ResourceOrigin};

/// How many restarts lie before a phase.
pub(super) fn restarts_before(phase: Phase) -> u32 {
    match phase {
        Phase::Bootstrap | Phase::Prepare => 0,
        Phase::Install => 1,
        Phase::Test | Phase::Seal => 2,
        Phase::Firstboot => 3,
    }
}

/// The machine as the target leaves it before the plan begins.
pub fn start_machine(expectations: &Expectations<'_>) -> Machine {
    let mut machine = Machine {
        schema: state::SCHEMA.to_owned(),
        target: expectations.target.to_owned(),
        windows: expectations.windows.to_owned(),
        build: expectations.build,
        platform: expectations.platform.clone(),
        ..Machine::default()
    };
    let listener = expectations.winrm.map(|transport| {
        ResourceKind::WinrmListener(WinrmListener {
            transport,
            ensure: Ensure::Present,
        })
    });
    let user = expectations.build_user.map(|name| {
        ResourceKind::LocalUser(LocalUser {
            user_name: name.clone(),
            ensure: EnsureUser::Present,
        })
    });
    let origin = ResourceOrigin {
        resource: format!("target/{}", expectations.target),
        step: String::new(),
        scope: Scope::Build,
    };
    for kind in listener.into_iter().chain(user) {
        machine.put_resource(kind.properties().identity(), &kind, &origin);
    }
    machine
}

/// The machine after the resources, applied in their order to the one before.
pub fn fold_resources(
    mut machine: Machine,
    resources: &[Resource],
    expectations: &Expectations<'_>,
) -> Machine {
    for resource in resources {
        for effect in resource.kind.effects() {
            let mut origin = ResourceOrigin::from(resource);
            if effect.is_download {
                origin.scope = Scope::Build;
            }
            machine.apply_effect(&effect, &origin);
        }
    }
    let making = resources
        .iter()
        .filter(|resource| resource.phase <= Phase::Seal);
    let restarts = making.map(|resource| restarts_before(resource.phase)).max();
    machine.restarts = machine.restarts.max(restarts.unwrap_or_default());
    machine.ports = ports::list_used_ports(&machine, expectations);
    machine
}

impl Machine {
    fn apply_effect(&mut self, effect: &Effect<'_>, origin: &ResourceOrigin) {
        let identity = effect.kind.properties().identity();
        if let ResourceKind::Directory(it) = &*effect.kind
            && it.clears_content()
        {
            self.resources
                .retain(|known, placed| !known.is_below(&identity) || placed.kind.is_absent());
        }
        if effect.creates_parents {
            for above in paths::list_ancestors(identity.name()) {
                if inbox::find_directory(&paths::normalize_key(&above), &self.platform).is_none() {
                    self.put_directory(&above, origin);
                }
            }
        }
        self.put_resource(identity, &effect.kind, origin);
    }

    fn put_directory(&mut self, path: &str, origin: &ResourceOrigin) {
        let identity = Identity::from_path(&["path"], path);
        // Nearly all are there: putting them again would change nothing.
        if self
            .resources
            .get(&identity)
            .is_some_and(|known| is_standing_directory(known, origin))
        {
            return;
        }
        let path = path.parse().expect("what lies above a path is a path");
        let directory = Directory {
            path,
            state: DirectoryState::Present { sddl: None },
        };
        self.put_resource(identity, &ResourceKind::Directory(directory), origin);
    }

    fn put_resource(&mut self, identity: Identity, kind: &ResourceKind, origin: &ResourceOrigin) {
        self.order_path(kind, &identity);
        let known = self.resources.remove(&identity);
        let placed = match known.filter(|known| !known.kind.is_absent()) {
            Some(known) if is_adjusted(kind) => adjust_resource(known, kind, origin),
            _ => {
                let mut origin = origin.clone();
                if kind.is_absent() {
                    // The image never has it, whatever the resource's own scope.
                    origin.scope = Scope::Image;
                }
                PlacedResource {
                    kind: kind.clone(),
                    origin,
                    owner: None,
                }
            }
        };
        self.resources.insert(identity, placed);
    }

    fn order_path(&mut self, kind: &ResourceKind, identity: &Identity) {
        let ResourceKind::PathEntry(it) = kind else {
            return;
        };
        let known = self
            .path
            .iter()
            .position(|entry| paths::normalize_key(entry) == identity.key());
        match (known, it.ensure) {
            (None, Ensure::Present) => self.path.push(identity.name().to_owned()),
            (Some(at), Ensure::Absent) => drop(self.path.remove(at)),
            (None, Ensure::Absent) | (Some(_), Ensure::Present) => {}
        }
    }
}

/// Whether a directory that is there stays as it is when this origin asks for it: the image adopts what the build made.
fn is_standing_directory(known: &PlacedResource, origin: &ResourceOrigin) -> bool {
    let is_adopted = known.origin.scope == Scope::Build && origin.scope != Scope::Build;
    let is_present = matches!(
        &known.kind,
        ResourceKind::Directory(Directory {
            state: DirectoryState::Present { .. },
            ..
        })
    );
    is_present && !is_adopted
}

/// Whether a resource changes a thing that is there instead of replacing it.
fn is_adjusted(kind: &ResourceKind) -> bool {
    let adjusts = matches!(
        kind,
        ResourceKind::Directory(_) | ResourceKind::Service(_) | ResourceKind::PathEntry(_)
    );
    adjusts && !kind.is_absent()
}

/// A change of the image stays in the image; one of the build stays part of the build until a
/// resource of the image adopts it.
fn adjust_resource(
    known: PlacedResource,
    kind: &ResourceKind,
    origin: &ResourceOrigin,
) -> PlacedResource {
    let adjusted = kind.merge_over(&known.kind);
    let is_build = origin.scope == Scope::Build;
    let keeps_origin = (known.origin.scope == Scope::Build) == is_build
        || if is_build {
            matches!(kind, ResourceKind::Directory(_))
        } else {
            known.owner.is_none() && has_program(&known.kind) && !has_program(kind)
        };
    let (origin, owner) = if keeps_origin {
        (known.origin, known.owner)
    } else if is_build {
        (origin.clone(), Some(known.origin))
    } else {
        (known.owner.unwrap_or_else(|| origin.clone()), None)
    };
    PlacedResource {
        kind: adjusted,
        origin,
        owner,
    }
}

fn has_program(kind: &ResourceKind) -> bool {
    matches!(kind, ResourceKind::Service(it) if it.has_program())
}
