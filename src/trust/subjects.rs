//! The one enumeration of an image's subjects, for a plan and for a lockfile.

use serde_json::Value;

use crate::base::json::format_plain;
use crate::base::url::HttpUrl;
use crate::base::value::{FileDigest, ImageReference, Sha256};
use crate::lock::Lock;
use crate::model::definition::ImageDefinition;
use crate::model::overrides::SCRIPTS;
use crate::model::plan::{Plan, PlannedArtifact, PlannedPacker};
use crate::model::policy::Role;
use crate::model::tagged_image::TaggedImage;
use crate::model::variable::Variable;

use crate::windows::value::KbId;

use super::own_texts::list_own_texts;
use super::subject::{SEARCH, Subject, SubjectSource};

/// Sources of subjects.
struct Parts<'a> {
    artifacts: Vec<&'a PlannedArtifact>,
    selection: &'a ImageDefinition,
    images: &'a [ImageReference],
    tagged_images: &'a [TaggedImage],
    pause: &'a str,
    certificates: Vec<&'a Sha256>,
    /// Variables that name the base image.
    base_image: Vec<(&'a str, &'a Value)>,
    /// Files that the platform downloads by itself.
    media: Vec<Subject<'a>>,
    packer: Option<&'a PlannedPacker>,
}

/// All subjects of a plan, by role and then in the plan's order.
pub fn list_subjects(plan: &Plan) -> Vec<Subject<'_>> {
    let variables = &plan.target.variables;
    let signing = plan.governance.signing.iter();
    let base_image = variables
        .iter()
        .filter(|variable| variable.base_image)
        .filter_map(|variable| {
            let value = plan.variables.get(&variable.name)?;
            Some((variable.name.as_str(), value))
        });
    let media = variables
        .iter()
        .filter_map(|variable| list_downloaded(plan, variable));
    list_parts(Parts {
        artifacts: plan.artifacts().collect(),
        selection: &plan.selection,
        images: &plan.images,
        tagged_images: &plan.tagged_images,
        pause: &plan.pause,
        certificates: signing
            .flat_map(|signing| &signing.certificates)
            .map(|certificate| &certificate.sha256)
            .collect(),
        base_image: base_image.collect(),
        media: media.collect(),
        packer: plan.packer.as_ref(),
    })
}

/// The subjects that a lockfile names. It knows neither certificates of a policy nor media that the platform downloads.
pub fn list_lock_subjects(lock: &Lock) -> Vec<Subject<'_>> {
    let base_image = lock.base_image.iter();
    list_parts(Parts {
        artifacts: lock.artifacts.iter().collect(),
        selection: &lock.selection,
        images: &lock.images,
        tagged_images: &lock.tagged_images,
        pause: &lock.pause,
        certificates: Vec::new(),
        base_image: base_image
            .map(|(name, value)| (name.as_str(), value))
            .collect(),
        media: Vec::new(),
        packer: lock.packer.as_ref(),
    })
}

fn list_parts(parts: Parts<'_>) -> Vec<Subject<'_>> {
    let artifacts = parts.artifacts.iter().copied();
    let mut subjects: Vec<Subject<'_>> = artifacts.map(Subject::from_artifact).collect();
    subjects.extend(list_user_files(parts.selection));
    subjects.extend(list_updates(parts.selection));
    subjects.extend(list_images(&parts));
    subjects.extend(list_scripts(parts.selection));
    subjects.extend(list_own_texts(parts.selection));
    let certificates = parts.certificates.iter();
    subjects.extend(certificates.map(|sha256| Subject {
        digests: vec![FileDigest::Sha256((*sha256).clone())],
        ..Subject::new(Role::Certificate, sha256.as_str(), SubjectSource::Policy)
    }));
    let base_image = parts.base_image.iter();
    subjects.extend(base_image.map(|(name, value)| describe_base_image(name, value)));
    subjects.extend(parts.media);
    subjects.extend(parts.packer.into_iter().flat_map(list_build_tools));
    subjects
}

fn list_user_files(selection: &ImageDefinition) -> impl Iterator<Item = Subject<'_>> {
    selection.user_files().map(|file| {
        // A plugin's file is `VENDOR~DRIVER/FILE`, an update is `KB…`.
        let role = if file.name.contains('~') {
            Role::VolumePlugin
        } else {
            Role::Update
        };
        Subject {
            digests: vec![FileDigest::Sha256(file.sha256.clone())],
            ..Subject::new(role, file.name, SubjectSource::Url(file.url.to_string()))
        }
    })
}

/// Updates that Windows Update is asked for.
fn list_updates(selection: &ImageDefinition) -> Vec<Subject<'_>> {
    let Some(updates) = &selection.updates else {
        return Vec::new();
    };
    let mut names: Vec<&str> = updates.kbs.iter().map(KbId::as_str).collect();
    if !updates.categories.is_empty() {
        names.push(SEARCH);
    }
    let origin = SubjectSource::Platform("Windows Update".to_owned());
    names
        .into_iter()
        .map(|name| Subject::new(Role::Update, name, origin.clone()))
        .collect()
}

fn list_images<'a>(parts: &Parts<'a>) -> Vec<Subject<'a>> {
    let mirrors = &parts.selection.list_registry_urls();
    let mut subjects = Vec::new();
    let tagged = parts.tagged_images.iter().map(|tagged| &tagged.name);
    for image in parts.images {
        let named = parts.selection.container_images.iter();
        subjects.push(Subject {
            outside: !named
                .chain(tagged.clone())
                .any(|name| name.is_name_of(image)),
            ..Subject::from_image(image, mirrors)
        });
    }
    // Its registry is asked before there is a digest.
    let unpinned = parts.tagged_images.iter().filter(|it| it.pin.is_none());
    subjects.extend(unpinned.map(|image| Subject::from_image(&image.name, mirrors)));
    // The node pulls it by its tag, unless the image holds it by a digest.
    let carried = format!("{}@", parts.pause);
    let is_tagged = parts.tagged_images.iter().any(|it| it.name == parts.pause);
    if !is_tagged && !parts.images.iter().any(|image| image.starts_with(&carried)) {
        subjects.push(Subject {
            title: format!("pause image {}", parts.pause),
            outside: true,
            ..Subject::from_image(parts.pause, mirrors)
        });
    }
    subjects
}

fn list_scripts(selection: &ImageDefinition) -> impl Iterator<Item = Subject<'_>> {
    let scripts = selection
        .overrides
        .iter()
        .filter(|(key, _)| key.starts_with(SCRIPTS));
    scripts.filter_map(|(key, over)| {
        let digest = FileDigest::Sha256(over.sha256.clone()?);
        Some(Subject {
            digests: vec![digest],
            ..Subject::new(Role::GuestScript, key, SubjectSource::Given)
        })
    })
}

fn describe_base_image<'a>(name: &str, value: &Value) -> Subject<'a> {
    let text = format_plain(value);
    let is_url = text.starts_with("http://") || text.starts_with("https://");
    let origin = if is_url {
        SubjectSource::Url(text)
    } else {
        SubjectSource::Platform(text)
    };
    Subject::new(Role::BaseImage, name, origin)
}

fn list_build_tools(packer: &PlannedPacker) -> Vec<Subject<'_>> {
    let tools = packer.list_tools().into_iter();
    tools
        .map(|(name, version)| Subject {
            title: format!("{name} {version}"),
            version: Some(version),
            ..Subject::new(Role::BuildTool, name, SubjectSource::Catalog)
        })
        .collect()
}

/// A file that the platform downloads by itself: installation media, a disc with drivers.
fn list_downloaded<'a>(plan: &Plan, variable: &Variable) -> Option<Subject<'a>> {
    let text = |name: &str| plan.variables.get(name).and_then(Value::as_str);
    let sha256 = text(variable.sha256.as_ref()?).and_then(|digest| digest.parse().ok());
    let url: HttpUrl = text(&variable.name)?.parse().ok()?;
    let origin = SubjectSource::Url(url.public_url().to_owned());
    let digests = sha256.map(FileDigest::Sha256).into_iter().collect();
    Some(Subject {
        digests,
        ..Subject::new(Role::Medium, &variable.name, origin)
    })
}
