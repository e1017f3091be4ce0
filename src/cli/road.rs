//! The road from an image to a node: the verb that follows a run, with the flags of that run.

use std::ffi::OsStr;
use std::path::Path;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command};

use super::parse::create_verb;
use super::{SelectionArgs, SourceArgs};
use crate::base::shell::quote_argument;
use crate::lock::LOCK_FILE;

/// A verb of the road, with flags that the reader completes if no earlier verb had them.
struct RoadStop {
    verb: &'static str,
    asked: &'static [(&'static str, &'static str)],
}

const ENDPOINT: (&str, &str) = ("endpoint", "api.example.com:6443");

/// In the order in which they are run.
const ROAD: [RoadStop; 5] = [
    RoadStop {
        verb: "plan",
        asked: &[],
    },
    RoadStop {
        verb: "lock",
        asked: &[],
    },
    RoadStop {
        verb: "build",
        asked: &[],
    },
    RoadStop {
        verb: "cluster-manifests",
        asked: &[ENDPOINT, ("out", "cluster")],
    },
    RoadStop {
        verb: "join-data",
        asked: &[
            ENDPOINT,
            ("ca-cert", "ca.crt"),
            ("token-file", "token"),
            ("out", "join-config.yaml"),
        ],
    },
];

/// The end of the road, on the node; it reads the output of `join-data`.
const JOIN: &str = r"C:\imagegen\node\Join-Node.ps1";

/// The arguments of a verb, as the user gave them.
#[derive(Debug, Clone)]
pub struct GivenArguments {
    verb: String,
    matches: ArgMatches,
}

impl GivenArguments {
    pub(super) fn new((verb, matches): (String, ArgMatches)) -> Self {
        Self { verb, matches }
    }

    /// The command that follows, for a POSIX shell, and after `join-data` for PowerShell on the node. None for a verb
    /// beside the road, and for several images, which are used one by one.
    pub fn find_next(&self) -> Option<String> {
        let Some(stop) = ROAD.get(self.find_place()?) else {
            return Some(JOIN.to_owned());
        };
        let own = SourceArgs::augment_args(create_verb(&self.verb)?);
        let next = SourceArgs::augment_args(create_verb(stop.verb)?);
        let mut words = vec!["imagegen".to_owned(), stop.verb.to_owned()];

        let takes_names = find_argument(&next, "names").is_some();
        let names = self.list_values("names");
        let image = match names.as_slice() {
            _ if takes_names => None,
            [] if !self.is_set("all") => None,
            [name] => Some(self.name_image(name)),
            _ => return None,
        };
        let lockfile = self.find_lockfile(stop);
        let chosen = SelectionArgs::augment_args(Command::default());
        for argument in next.get_arguments() {
            match image.as_deref().or(lockfile) {
                Some(image) if argument.get_id() == "config" => {
                    push_flag("config", image, &mut words);
                }
                // The lockfile tells what was chosen.
                _ if lockfile.is_some()
                    && find_argument(&chosen, argument.get_id().as_str()).is_some() => {}
                _ => self.add_argument(argument, &own, stop, &mut words),
            }
        }
        let words: Vec<String> = words.iter().map(|word| quote_argument(word)).collect();
        Some(words.join(" "))
    }

    /// The place of the next verb. What only shows an image is followed by `lock`, unless the user has a lockfile.
    fn find_place(&self) -> Option<usize> {
        let find = |verb: &str| ROAD.iter().position(|stop| stop.verb == verb);
        let shows = self.verb == "plan" || self.is_set("no_bake");
        match self.is_set("locked") || self.is_given("lock") {
            true if shows => find("build"),
            false if shows => find("lock"),
            _ => Some(find(&self.verb)? + 1),
        }
    }

    /// The lockfile in the working folder that the image of a build was compared with, for manifests that fit it.
    fn find_lockfile(&self, stop: &RoadStop) -> Option<&'static str> {
        let is_named = self.is_given("config") || self.is_given("lock") || self.is_given("names");
        let is_next = self.verb == "build" && stop.verb != self.verb && !self.is_set("all");
        (is_next && !is_named && Path::new(LOCK_FILE).exists()).then_some(LOCK_FILE)
    }

    /// `FILE#NAME`, for verbs that take one image.
    fn name_image(&self, name: &str) -> String {
        let files = self.list_values("config");
        let file = files.first().map_or("imagegen.json", String::as_str);
        format!("{file}#{name}")
    }

    /// Adds an argument of the next verb that the user gave to this one, or that the reader completes.
    fn add_argument(
        &self,
        argument: &Arg,
        own: &Command,
        stop: &RoadStop,
        words: &mut Vec<String>,
    ) {
        let id = argument.get_id().as_str();
        let Some(long) = argument.get_long() else {
            return words.extend(self.list_values(id));
        };
        let mut asked = stop.asked.iter();
        if !self.is_shared(argument, own, stop) {
            if let Some((_, value)) = asked.find(|(name, _)| *name == long) {
                push_flag(long, value, words);
            }
        } else if argument.get_action().takes_values() {
            for value in self.list_values(id) {
                push_flag(long, &value, words);
            }
        } else {
            words.push(format!("--{long}"));
        }
    }

    /// Whether the user gave the argument to this verb, and the next one means the same by it: the output of a verb is
    /// its own, and images have another form in manifests. A bake follows its preview.
    fn is_shared(&self, argument: &Arg, own: &Command, stop: &RoadStop) -> bool {
        let id = argument.get_id().as_str();
        let alone = if stop.verb == self.verb {
            "no_bake"
        } else {
            "out"
        };
        let is_same = find_argument(own, id)
            .is_some_and(|own| own.get_value_names() == argument.get_value_names());
        is_same && id != alone && self.is_given(id)
    }

    fn is_given(&self, id: &str) -> bool {
        let is_known = self.matches.try_contains_id(id).unwrap_or_default();
        is_known && self.matches.value_source(id) == Some(ValueSource::CommandLine)
    }

    /// Whether a flag without value is on.
    fn is_set(&self, id: &str) -> bool {
        let flag = self.matches.try_get_one::<bool>(id);
        flag.ok().flatten().is_some_and(|is_on| *is_on)
    }

    fn list_values(&self, id: &str) -> Vec<String> {
        let values = self.matches.try_get_raw(id).ok().flatten();
        let given = values.filter(|_| self.is_given(id)).into_iter().flatten();
        given
            .map(|value: &OsStr| value.to_string_lossy().into_owned())
            .collect()
    }
}

fn find_argument<'a>(verb: &'a Command, id: &str) -> Option<&'a Arg> {
    verb.get_arguments()
        .find(|argument| argument.get_id() == id)
}

/// A value that begins with a dash is no flag of its own.
fn push_flag(long: &str, value: &str, words: &mut Vec<String>) {
    if value.starts_with('-') {
        return words.push(format!("--{long}={value}"));
    }
    words.extend([format!("--{long}"), value.to_owned()]);
}
