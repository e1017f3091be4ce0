//! Each option of `build` and of the cluster's verbs changes what the machine or the cluster gets, or is refused.
//!
//! An option that is taken and then used nowhere looks like one that works. Each is therefore given over the pairs of
//! runtime, Kubernetes line and pod network, and what comes out is compared with what comes out without it: the guest
//! plan's resources, Packer's files and the manifests, without names, digests of the selection, echoed inputs and
//! comments.

mod effects;
mod samples;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use clap::{Command, CommandFactory as _};
use imagegen::catalog::Catalog;
use imagegen::cli::Cli;
use imagegen::embedded::Tree;

use effects::{Verb, collect_effects};
use samples::{HOST_OPTIONS, SAMPLES, Sample};

/// A situation in which options are given.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    kubernetes: String,
    runtime: &'static str,
    network: String,
}

impl Row {
    fn line(&self, verb: Verb) -> String {
        let Self {
            kubernetes,
            runtime,
            network,
        } = self;
        let line = format!("--k8s {kubernetes} --runtime {runtime}");
        match verb {
            Verb::JoinData => line,
            Verb::Build | Verb::ClusterManifests => format!("{line} --cni {network}"),
        }
    }
}

/// Rows in which each pair of line, runtime and network occurs that a plan can have.
fn list_rows(catalog: &Catalog) -> Vec<Row> {
    let minors = catalog.kubernetes_minors();
    let newest = minors.last().expect("a line").to_string();
    let lines = ["1.17", "1.22", "1.23", newest.as_str()];
    let mut rows = Vec::new();
    for (turn, network) in catalog.network_names().iter().enumerate() {
        for (at, kubernetes) in lines.iter().enumerate() {
            let has_docker = *kubernetes != newest;
            let runtime = if has_docker && (turn + at) % 2 == 0 {
                "docker"
            } else {
                "containerd"
            };
            rows.push(Row {
                kubernetes: (*kubernetes).to_owned(),
                runtime,
                network: network.clone(),
            });
        }
    }
    rows
}

/// Long options of a verb, without those that each verb has.
fn list_options(verb: Verb) -> BTreeSet<String> {
    let mut command = Cli::command();
    command.build();
    let global: BTreeSet<&str> = command
        .get_arguments()
        .filter(|argument| argument.is_global_set())
        .filter_map(clap::Arg::get_long)
        .collect();
    let verb = command
        .find_subcommand(verb.name())
        .map(Command::get_arguments)
        .expect("the verb");
    verb.filter_map(clap::Arg::get_long)
        .filter(|name| !global.contains(name) && *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_option_is_tried_or_acts_on_the_host_alone() {
    for verb in Verb::ALL {
        let options = list_options(verb);
        let tried = SAMPLES.iter().filter(|sample| sample.verb == verb);
        let tried: BTreeSet<String> = tried.map(|sample| sample.option().to_owned()).collect();
        let host = HOST_OPTIONS.iter().filter(|option| option.verb == verb);
        let reasons = host.map(|option| (option.name.to_owned(), option.reason));
        let host: BTreeSet<String> = reasons
            .inspect(|(name, reason)| assert!(!reason.is_empty(), "{name}"))
            .map(|(name, _)| name)
            .collect();
        assert_eq!(
            tried.intersection(&host).collect::<Vec<_>>(),
            [""; 0],
            "{verb:?}: tried, and of the host"
        );
        let listed: BTreeSet<String> = tried.union(&host).cloned().collect();
        assert_eq!(listed, options, "{verb:?}: an option without a sample");
    }
}

#[test]
fn each_option_has_an_effect_or_is_refused() {
    let catalog = Catalog::new(Tree::embedded_manifests());
    let rows = list_rows(&catalog);
    let baselines: Mutex<BTreeMap<(Verb, String), Option<String>>> = Mutex::default();
    let found: Mutex<BTreeMap<&str, BTreeSet<String>>> = Mutex::default();
    let (next, tried) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let runs: Vec<(&Sample, &Row)> = SAMPLES
        .iter()
        .enumerate()
        .flat_map(|(at, sample)| choose_rows(at, &rows).map(move |row| (sample, row)))
        .collect();
    let work = || {
        while let Some((sample, row)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
            let line = row.line(sample.verb);
            let without = find_baseline(&baselines, sample.verb, &line);
            // A situation that is refused by itself says nothing of the option.
            let Some(without) = without else { continue };
            tried.fetch_add(1, Ordering::Relaxed);
            let mut values = sample.words.iter();
            if values
                .all(|words| collect_effects(sample.verb, &line, words).as_ref() == Some(&without))
            {
                let mut found = found.lock().expect("no panic");
                found.entry(sample.words[0]).or_default().insert(line);
            }
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        other.join().expect("no panic");
    });
    let found = found.into_inner().expect("no panic");
    assert!(found.is_empty(), "taken, and used nowhere: {found:#?}");
    assert!(tried.into_inner() > SAMPLES.len() * 4);
}

/// What comes out of a situation without an option; none where it is refused.
fn find_baseline(
    baselines: &Mutex<BTreeMap<(Verb, String), Option<String>>>,
    verb: Verb,
    line: &str,
) -> Option<String> {
    let key = (verb, line.to_owned());
    if let Some(known) = baselines.lock().expect("no panic").get(&key) {
        return known.clone();
    }
    let effects = collect_effects(verb, line, "");
    baselines
        .lock()
        .expect("no panic")
        .insert(key, effects.clone());
    effects
}

/// Rows for a sample: each network, and over the samples each line and runtime with it.
fn choose_rows(sample: usize, rows: &[Row]) -> impl Iterator<Item = &Row> {
    let networks: Vec<&[Row]> = rows
        .chunk_by(|one, other| one.network == other.network)
        .collect();
    networks
        .into_iter()
        .enumerate()
        .map(move |(at, rows)| &rows[(sample + at) % rows.len()])
}
