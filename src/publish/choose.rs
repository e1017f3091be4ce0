//! Builds that a step is for: named by the user, or older than those that are kept.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use crate::base::choice::KeepPer;
use crate::base::text::format_path;
use crate::diagnostic::{Error, Result};
use crate::io::{clock, fs};
use crate::model::publication::PublishStep;
use crate::records::{
    BuildHistory, BuildState, HistoryEntry, HistoryPlace, ImageRecord, RecordSource,
    find_workspace, list_local_builds, parse_time, read_history,
};
use crate::ui::Printer;
use crate::workspace::{BUILDS, IMAGE_RECORD};

/// Builds that stay: a build goes if it is neither among the newest nor young.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Retires or deletes those that go.
    pub step: PublishStep,
    /// How many of the newest builds of each group stay.
    pub keep: usize,
    /// In days. Younger builds stay.
    pub older_than: u64,
    pub per: KeepPer,
    /// Seconds since 1970.
    pub now: u64,
    /// SHA-256 of lockfiles whose newest build stays, however old it is.
    pub current: BTreeSet<String>,
}

impl Retention {
    /// Why no build goes, by the rules that the user gave.
    pub fn explain_none(&self) -> String {
        let Self {
            keep, older_than, ..
        } = self;
        match (keep, older_than) {
            (0, 0) => "each build is kept, or gone already".to_owned(),
            (_, 0) => format!("no group has a build beyond its newest {keep}"),
            (0, _) => format!("no build is older than {older_than} days"),
            _ => format!(
                "no build is both beyond the newest {keep} of its group and older than {older_than} days"
            ),
        }
    }
}

/// Builds of a group, counted from the newest on.
#[derive(Default)]
struct BuildCount {
    in_use: usize,
    /// Those in use, and those that nobody uses though they may have an image.
    all: usize,
}

impl BuildCount {
    /// Returns the place of the next build. A build that is not in use takes no place of one that is.
    fn count_build(&mut self, is_in_use: bool) -> usize {
        self.all += 1;
        if !is_in_use {
            return self.all;
        }
        self.in_use += 1;
        self.in_use
    }
}

/// Builds with an image that need not stay, the oldest first. A build that failed or was deleted has no image, and counts
/// as none.
pub fn choose_old_builds(
    history: &BuildHistory,
    retention: &Retention,
    printer: &Printer,
) -> Vec<HistoryEntry> {
    let mut groups: BTreeMap<_, BuildCount> = BTreeMap::new();
    let mut images = BTreeSet::new();
    let mut current = BTreeSet::new();
    let mut chosen = BTreeSet::new();
    for (at, entry) in history.builds.iter().enumerate() {
        // A name may have been used again: the image of this build is that of a newer one, or went with it.
        let mut is_in_use = entry.state() == BuildState::Built;
        for image in list_images(&entry.record) {
            is_in_use &= images.insert(image);
        }
        if !entry.has_image() || is_done(entry, retention.step) {
            continue;
        }
        let mut is_current = false;
        for lock in entry.record.list_locks() {
            if retention.current.contains(lock) && is_in_use {
                // Images that share a lockfile have builds of their own.
                is_current |= current.insert((lock, &entry.record.image));
            }
        }
        let group = groups.entry(find_group(entry, retention.per)).or_default();
        let is_surplus = group.count_build(is_in_use) > retention.keep && !is_current;
        if is_surplus && is_old(&entry.record, retention, printer) {
            chosen.insert(at);
        }
    }
    let mut old = spare_current_images(history, &chosen, printer);
    old.reverse();
    old
}

/// Whether nothing is left to do for a build that is to be retired or deleted.
fn is_done(entry: &HistoryEntry, step: PublishStep) -> bool {
    match entry.state() {
        BuildState::Deleted => true,
        BuildState::Retired => step == PublishStep::Retire,
        BuildState::Built | BuildState::Failed => false,
    }
}

/// Builds that are counted together: those of a line, or those of a line and a workspace of one source.
fn find_group(entry: &HistoryEntry, per: KeepPer) -> (Option<(&RecordSource, PathBuf)>, String) {
    let record = &entry.record;
    let parts: Vec<&str> = record.kubernetes.splitn(3, '.').take(2).collect();
    let minor = parts.join(".");
    // A name may be made from the release: the next of the line takes its place.
    let name = record.image.as_deref().unwrap_or_default();
    let image = name.replace(&record.kubernetes, &minor);
    let line = format!("{image} {} {} {minor}", record.target, record.windows);
    match per {
        KeepPer::Line => (None, line),
        KeepPer::Workspace => {
            let folder = Path::new(&entry.place);
            let workspace = find_workspace(folder).unwrap_or(folder);
            (Some((&entry.source, workspace.to_owned())), line)
        }
    }
}

/// A build without a readable time is never old.
fn is_old(record: &ImageRecord, retention: &Retention, printer: &Printer) -> bool {
    let is_dated = parse_time(&record.started).is_some();
    if is_dated && retention.older_than == 0 {
        return true;
    }

    let finished = parse_time(&record.finished).filter(|_| is_dated);
    let Some(finished) = finished else {
        let version = &record.image_version;
        printer.print_warning(&format!(
            "{version} stays: its record does not say when it was built"
        ));
        return false;
    };
    retention.now.saturating_sub(finished) > retention.older_than.saturating_mul(clock::DAY)
}

/// The chosen builds whose image is not that of a newer build that stays: a name may have been used again.
fn spare_current_images(
    history: &BuildHistory,
    chosen: &BTreeSet<usize>,
    printer: &Printer,
) -> Vec<HistoryEntry> {
    let mut staying = CurrentImages::default();
    let mut left = Vec::new();
    for (at, entry) in history.builds.iter().enumerate() {
        if !chosen.contains(&at) {
            staying.add_build(at, entry);
            continue;
        }
        match staying.find_successor(&entry.record) {
            None => left.push(entry.clone()),
            Some(newer) => printer.print_warning(&format!(
                "{} stays: its image is also that of the newer build {}",
                entry.record.image_version, newer.record.image_version
            )),
        }
    }
    left
}

/// The newest build of each image, by target and id.
#[derive(Default)]
struct CurrentImages<'a>(BTreeMap<(String, String), (usize, &'a HistoryEntry)>);

impl<'a> CurrentImages<'a> {
    /// Builds are added from the newest on. An image that was deleted is that of no other build.
    fn add_build(&mut self, at: usize, entry: &'a HistoryEntry) {
        if !entry.has_image() {
            return;
        }
        for image in list_images(&entry.record) {
            self.0.entry(image).or_insert((at, entry));
        }
    }

    /// The newest of these builds that has an image of the record.
    fn find_successor(&self, record: &ImageRecord) -> Option<&'a HistoryEntry> {
        let images = list_images(record);
        let newer = images.filter_map(|image| self.0.get(&image));
        newer.min_by_key(|(at, _)| *at).map(|(_, entry)| *entry)
    }
}

/// Target and id of each image. Some platforms tell no case apart in ids. The id of files is their place in a workspace,
/// so it is none.
fn list_images(record: &ImageRecord) -> impl Iterator<Item = (String, String)> + '_ {
    let artifacts = record.artifacts.iter().filter(|it| it.files.is_empty());
    artifacts.map(|artifact| (record.target.clone(), artifact.id.to_ascii_lowercase()))
}

/// The builds that the user names: by image version, or by the path of a workspace, a record or its folder.
///
/// # Errors
/// There is no such build, it failed, several have the name, or its image is that of a newer build, too.
pub fn list_named_builds(
    names: &[String],
    place: &HistoryPlace,
    printer: &Printer,
) -> Result<Vec<HistoryEntry>> {
    let HistoryPlace { from, network } = place;
    let are_paths = names.iter().all(|name| Path::new(name).exists());
    let history = if are_paths && from.is_empty() {
        None
    } else {
        Some(read_history(from, network, printer)?)
    };

    let mut builds = Vec::new();
    for name in names {
        let entry = match &history {
            Some(history) if !Path::new(name).exists() => history.find_build(name)?.clone(),
            _ => read_record(name, place, printer)?,
        };
        if let Some(history) = &history {
            refuse_replaced(&entry, &history.builds)?;
        }
        refuse_replaced(&entry, &list_neighbours(&entry.place))?;
        if !entry.record.has_image() {
            let message = format!("the build {name} failed: it has no image");
            let remedy = "name a build that `imagegen history` lists as built";
            return Err(Error::value(message, remedy));
        }
        // A version and a path may name the same build.
        if builds
            .iter()
            .all(|it: &HistoryEntry| it.record != entry.record)
        {
            builds.push(entry);
        }
    }
    Ok(builds)
}

/// Refuses builds whose image is gone.
///
/// # Errors
/// An image was deleted.
pub fn refuse_deleted(builds: &[HistoryEntry]) -> Result<()> {
    for entry in builds {
        let Some(retirement) = &entry.retirement else {
            continue;
        };
        if entry.state() == BuildState::Deleted {
            let message = format!(
                "the image of {} was deleted at {}",
                entry.record.image_version, retirement.at
            );
            let remedy = "name a build that `imagegen history` lists as built; \
                          if the image is there, remove `retirement.json` beside its record";
            return Err(Error::value(message, remedy));
        }
    }
    Ok(())
}

/// The builds that were not retired or deleted before.
pub fn leave_out_done(
    builds: Vec<HistoryEntry>,
    step: PublishStep,
    printer: &Printer,
) -> Vec<HistoryEntry> {
    let mut left = Vec::new();
    for entry in builds {
        if is_done(&entry, step) {
            let (version, state) = (&entry.record.image_version, entry.state());
            printer.print_note(&format!("nothing left to do: {version} is {state} already"));
        } else {
            left.push(entry);
        }
    }
    left
}

/// Builds of the workspace that a record lies in, the newest first. `place` is the record or its folder.
fn list_neighbours(place: &str) -> Vec<HistoryEntry> {
    let place = Path::new(place);
    let folder = if place.is_dir() {
        place
    } else {
        place.parent().unwrap_or(place)
    };
    let builds = find_workspace(folder).unwrap_or(folder).join(BUILDS);
    if !builds.is_dir() {
        return Vec::new();
    }
    list_local_builds(&[format_path(&builds)])
}

/// Refuses a build whose image is that of a newer one: a name may have been used again. `builds` come from the newest
/// on.
fn refuse_replaced(entry: &HistoryEntry, builds: &[HistoryEntry]) -> Result<()> {
    let known = builds.iter().position(|it| it.record == entry.record);
    let end = known
        .unwrap_or_else(|| builds.partition_point(|it| it.record.started > entry.record.started));
    let mut newer = CurrentImages::default();
    for (at, build) in builds[..end].iter().enumerate() {
        newer.add_build(at, build);
    }
    let Some(newer) = newer.find_successor(&entry.record) else {
        return Ok(());
    };
    let message = format!(
        "the image of {} is also that of the newer build {}",
        entry.record.image_version, newer.record.image_version
    );
    Err(Error::value(message, "name the newer build"))
}

/// The record of a path; of a workspace that of the image that lies in it.
fn read_record(name: &str, place: &HistoryPlace, printer: &Printer) -> Result<HistoryEntry> {
    let record = Path::new(name).join(IMAGE_RECORD);
    let path = if fs::is_file(&record) {
        record.display().to_string()
    } else {
        name.to_owned()
    };
    let history = read_history(&[path], &place.network, printer)?;
    match history.builds.as_slice() {
        [only] => Ok(only.clone()),
        several => {
            let message = format!("{name} has {} records of builds, not one", several.len());
            let remedy = format!("name a version: `imagegen history --from {name}` lists them");
            Err(Error::value(message, remedy))
        }
    }
}
