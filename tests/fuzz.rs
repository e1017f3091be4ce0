//! Every parser of foreign bytes takes mutated real files: an answer within its time, never a panic. A few hundred
//! mutations for each parser in a run; `ci/measure/fuzz MINUTES [PARSER]` goes on for longer, with other numbers each time.

mod mutate;
mod parsers;
mod structure;

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use walkdir::WalkDir;

use crate::support::root;
use mutate::Mutator;
use parsers::{Parser, list_parsers};

/// No mutation of a seed takes longer, in a debug build on a busy machine.
const LONGEST: Duration = Duration::from_secs(20);

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// No parser recurses over foreign bytes without bound: each one runs on a stack of this size, a quarter of what a
/// thread has, in a build whose frames are larger than those of a release.
const STACK: usize = 512 << 10;

/// Runs a parser on mutations of its seeds until the time is over, but at least so often.
fn fuzz(parser: &Parser, seed: u64, least: usize, time: Duration) -> usize {
    let seeds = (parser.seeds)();
    assert!(!seeds.is_empty(), "{} has no seeds", parser.name);
    for bytes in &seeds {
        (parser.parse)(bytes);
    }
    let mut mutator = Mutator::new(seed, seeds);
    let (began, mut count) = (Instant::now(), 0);
    while count < least || began.elapsed() < time {
        let bytes = mutator.next();
        let started = Instant::now();
        let ended = catch_unwind(AssertUnwindSafe(|| (parser.parse)(&bytes)));
        let path = std::env::temp_dir().join(format!("imagegen-fuzz-{}", parser.name));
        if ended.is_err() || started.elapsed() > LONGEST {
            std::fs::write(&path, &bytes).expect("the input is kept");
            panic!(
                "{}: panic, or longer than {LONGEST:?}; the input is {}",
                parser.name,
                path.display()
            );
        }
        count += 1;
    }
    count
}

#[test]
fn every_parser_takes_mutated_files() {
    let minutes: f64 =
        variable("IMAGEGEN_FUZZ_MINUTES").map_or(0.0, |text| text.parse().expect("minutes"));
    let only = variable("IMAGEGEN_FUZZ_PARSER");
    let chosen: Vec<&Parser> = list_parsers()
        .filter(|parser| only.as_deref().is_none_or(|name| name == parser.name))
        .collect();
    assert!(
        !chosen.is_empty(),
        "no parser `{}`: {:?}",
        only.unwrap_or_default(),
        names()
    );
    let share = Duration::from_secs_f64(
        minutes * 60.0 / f64::from(u32::try_from(chosen.len()).expect("few")),
    );
    let seed = if minutes > 0.0 {
        u64::from(std::process::id())
    } else {
        1
    };
    for parser in chosen {
        let count = std::thread::scope(|scope| {
            let small = std::thread::Builder::new().stack_size(STACK);
            let run = || fuzz(parser, seed, parser.least, share);
            let running = small.spawn_scoped(scope, run).expect("a thread");
            running.join().unwrap_or_else(|panic| resume_unwind(panic))
        });
        println!("{}: {count} mutations, seed {seed}", parser.name);
    }
}

fn names() -> Vec<&'static str> {
    list_parsers().map(|parser| parser.name).collect()
}

/// Source files that parse, and take no foreign bytes of their own.
const OTHERS: &[(&str, &str)] = &[
    ("src/model/support.rs", "a day of the catalog's own files"),
    (
        "src/model/clone_test.rs",
        "the operator's own flag, a name of at most 15 characters",
    ),
    (
        "src/io/http/proxy.rs",
        "the operator's own environment, by the parser of URLs",
    ),
    ("src/acquire/prove.rs", "the catalog's list of keys"),
    (
        "src/acquire/prove/stored.rs",
        "makes JSON for the sigstore parser",
    ),
    (
        "src/inspect/attestation.rs",
        "asks whether a file is JSON, and calls the parser of signed statements",
    ),
    (
        "src/bundle/tags.rs",
        "writes a digest, and calls the parsers of manifests and image names",
    ),
    (
        "src/inspect/whole/environment.rs",
        "reads the records of a workspace by the parser of JSON",
    ),
    (
        "src/bundle/kept.rs",
        "walks JSON of manifests that are in the store, for digests alone",
    ),
    (
        "src/bundle/registry.rs",
        "calls the parser of image manifests",
    ),
    (
        "src/inspect/whole.rs",
        "reads through the lock's, archive's and sums' parsers",
    ),
    ("src/io/fs/place.rs", "a list that imagegen wrote"),
    ("src/io/store.rs", "records that this user wrote"),
    ("src/io/store/part.rs", "records that this user wrote"),
    ("src/io/store/sweep.rs", "records that this user wrote"),
    ("src/base/choice.rs", "words of the command line"),
    ("src/base/digest.rs", "digests that the build script wrote"),
    ("src/base/secret/forms.rs", "values of the environment"),
    (
        "src/updates/pin.rs",
        "the user's catalog, by the component's parser",
    ),
    ("src/windows/sddl.rs", "descriptors of steps"),
    (
        "src/windows/sddl/account.rs",
        "accounts of descriptors of steps",
    ),
];

/// A file that parses belongs to a row of the table, or says why not.
#[test]
fn every_parser_has_a_row() {
    let marks = [
        "serde_json::from_slice",
        "serde_json::from_str",
        "parse_foreign",
        "parse_json(",
        "fn parse_",
        "fn decode",
        "from_pem",
        "from_der",
        "impl FromStr",
        "fn parse(",
        "text_value!(",
    ];
    let mut parsing = Vec::new();
    for folder in [
        "src/io",
        "src/verify",
        "src/verify.rs",
        "src/bundle",
        "src/bake",
        "src/lock.rs",
        "src/lock",
        "src/inspect",
        "src/updates",
        "src/acquire",
        "src/base",
        "src/model",
        "src/windows",
        "src/join",
    ] {
        for entry in WalkDir::new(root().join(folder))
            .into_iter()
            .filter_map(Result::ok)
        {
            let path = entry
                .path()
                .strip_prefix(root())
                .expect("below")
                .to_string_lossy()
                .replace('\\', "/");
            let Some(text) = std::fs::read_to_string(entry.path())
                .ok()
                .filter(|_| entry.path().extension().is_some_and(|end| end == "rs"))
            else {
                continue;
            };
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            if marks.iter().any(|mark| code.contains(mark)) {
                parsing.push(path);
            }
        }
    }
    assert!(parsing.len() > 40, "{parsing:?}");
    let covers = |path: &str| {
        list_parsers().any(|parser| parser.files.iter().any(|file| path.starts_with(file)))
    };
    let other = |path: &str| OTHERS.iter().any(|(file, _)| *file == path);
    let open: Vec<&String> = parsing
        .iter()
        .filter(|path| !covers(path) && !other(path))
        .collect();
    assert!(
        open.is_empty(),
        "no row of tests/fuzz/parsers.rs covers {open:#?}"
    );
    for file in list_parsers()
        .flat_map(|parser| parser.files)
        .chain(OTHERS.iter().map(|(file, _)| file))
    {
        assert!(root().join(file).exists(), "{file} is not there");
    }
}
