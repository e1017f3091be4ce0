//! What each party may say in each role.

use imagegen::model::policy::Role;

use super::{BUILD, Cell, Claim, DIGEST, Party, define};

const OTHER: &str = "cdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcdcd";

const FETCHED: &str = "fetch::answers::bodies_are_whole_and_right_or_refused";

pub(super) fn describe(party: Party, role: Role) -> Cell {
    let (definition, said) = define(role, "evil.example", OTHER, "latest");
    match party {
        Party::Policy => {
            Cell::Tested("trust::matrix::every_subject_is_admitted_where_the_policy_has_its_proof")
        }
        Party::Definition => Cell::Refused(Claim {
            definition,
            said,
            ..Claim::default()
        }),
        Party::Overrides => match definition.get("overrides") {
            Some(overrides) => Cell::Refused(Claim {
                overrides: Some(overrides.clone()),
                said,
                ..Claim::default()
            }),
            None => Cell::Silent("overrides name components and guest scripts alone"),
        },
        Party::CommandLine => describe_flags(role, said),
        Party::Environment => describe_environment(role),
        Party::Catalog => match role {
            Role::Artifact | Role::ContainerImage | Role::BuildTool => {
                let said = "--manifests: its code is not imagegen's";
                Cell::Refused(Claim {
                    flags: "--manifests CATALOG".to_owned(),
                    said,
                    ..Claim::default()
                })
            }
            Role::Update
            | Role::VolumePlugin
            | Role::Medium
            | Role::OwnFile
            | Role::GuestScript => Cell::Silent("the catalog names none: they are the user's own"),
            Role::BaseImage | Role::Certificate => Cell::Silent("the catalog names none"),
        },
        Party::Lock => match role {
            Role::BaseImage => Cell::Edited {
                from: BUILD,
                to: "20348.1.1",
            },
            // A lockfile with a script's digest is of use with the script alone.
            Role::GuestScript => {
                Cell::Tested("scripts::a_script_of_ones_own_is_named_by_its_digest_and_signed_too")
            }
            Role::OwnFile => Cell::Edited {
                from: "\"steps/905-own.json\": \"",
                to: "\"steps/905-own.json\": \"0",
            },
            Role::Artifact
            | Role::Update
            | Role::VolumePlugin
            | Role::ContainerImage
            | Role::BuildTool
            | Role::Medium
            | Role::Certificate => Cell::Edited {
                from: "good.example",
                to: "evil.example",
            },
        },
        Party::Bundle => match role {
            Role::BaseImage | Role::BuildTool | Role::Medium => {
                Cell::Silent("a bundle holds what the guest gets")
            }
            Role::Artifact
            | Role::Update
            | Role::VolumePlugin
            | Role::GuestScript
            | Role::Certificate
            | Role::OwnFile => Cell::Tested(
                "bundle::forged::bundles_that_are_not_as_index_and_lock_say_are_refused",
            ),
            Role::ContainerImage => {
                Cell::Tested("bundle::images_are_carried_for_the_windows_release")
            }
        },
        Party::Store => match role {
            Role::Artifact | Role::Update | Role::VolumePlugin | Role::BuildTool | Role::Medium => {
                Cell::Tested("fetch::store::the_store_notices_what_was_changed_on_the_disk")
            }
            Role::ContainerImage => {
                Cell::Tested("bundle::images_are_carried_for_the_windows_release")
            }
            Role::BaseImage | Role::GuestScript | Role::OwnFile | Role::Certificate => {
                Cell::Silent("the store holds downloads alone")
            }
        },
        Party::Mirror | Party::Publisher => match role {
            Role::Artifact if party == Party::Publisher => {
                Cell::Tested("mirror::a_publisher_who_contradicts_himself_is_not_believed")
            }
            Role::Artifact | Role::Update | Role::VolumePlugin => Cell::Tested(FETCHED),
            Role::Medium => Cell::Tested("build_time::verified_media_cannot_be_replaced"),
            Role::BuildTool => {
                Cell::Tested("mirror::tools::packer_is_proven_kept_and_run_with_plugins_of_its_own")
            }
            Role::ContainerImage => {
                Cell::Tested("bundle::images_are_carried_for_the_windows_release")
            }
            Role::BaseImage => Cell::Silent("the platform holds it"),
            Role::GuestScript | Role::OwnFile | Role::Certificate => {
                Cell::Silent("nobody serves it")
            }
        },
    }
}

fn describe_flags(role: Role, said: &'static str) -> Cell {
    let both = |name: &str| {
        format!(
            "--override {name}.url=https://evil.example/x.tar.gz --override {name}.sha256={DIGEST}"
        )
    };
    let (flags, said) = match role {
        Role::Artifact => (both("containerd"), said),
        Role::BuildTool => (both("packer-plugin-azure"), said),
        Role::Update => (
            "--updates SecurityUpdates".to_owned(),
            "Windows Update decides which hosts",
        ),
        Role::ContainerImage => (format!("--image evil.example/x:1@sha256:{DIGEST}"), said),
        Role::BaseImage => ("--var image_version=latest".to_owned(), said),
        Role::Medium => (
            format!(
                "--var windows_iso_url=https://evil.example/w.iso --var windows_iso_sha256={DIGEST}"
            ),
            said,
        ),
        Role::GuestScript => (
            format!("--override scripts/engine/Tools.ps1.sha256={OTHER}"),
            said,
        ),
        Role::OwnFile => ("--steps steps".to_owned(), said),
        Role::VolumePlugin => return Cell::Silent("no flag names a volume plugin"),
        Role::Certificate => return Cell::Silent("no flag names a certificate"),
    };
    Cell::Refused(Claim {
        flags,
        said,
        ..Claim::default()
    })
}

fn describe_environment(role: Role) -> Cell {
    let (environment, said) = match role {
        Role::OwnFile => (("IMAGEGEN_STEPS", "steps"), "its code is not imagegen's"),
        Role::Artifact => (
            ("IMAGEGEN_COMPONENT_FILES", "components"),
            "own.json: its code is not imagegen's",
        ),
        Role::BaseImage => (("PKR_VAR_image_version", "latest"), "PKR_VAR_image_version"),
        Role::Medium => (
            ("PKR_VAR_windows_iso_url", "https://evil.example/w.iso"),
            "PKR_VAR_windows_iso_url",
        ),
        Role::Update
        | Role::VolumePlugin
        | Role::ContainerImage
        | Role::BuildTool
        | Role::Certificate
        | Role::GuestScript => {
            return Cell::Silent("no environment variable names it");
        }
    };
    Cell::Refused(Claim {
        environment: Some(environment),
        said,
        ..Claim::default()
    })
}
