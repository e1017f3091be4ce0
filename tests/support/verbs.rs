//! The verbs of the program, and the lines that call them.

use std::collections::BTreeMap;

use clap::{Command, CommandFactory as _};
use imagegen::cli::Cli;

/// Each verb without verbs below it, by its words.
pub fn list_verbs() -> BTreeMap<String, Command> {
    let mut command = Cli::command();
    command.build();
    let mut found = BTreeMap::new();
    add_verbs(&command, "", &mut found);
    found
}

fn add_verbs(command: &Command, words: &str, found: &mut BTreeMap<String, Command>) {
    let is_inner = |verb: &&Command| verb.get_name() != "help";
    let mut inner = command.get_subcommands().filter(is_inner).peekable();
    if inner.peek().is_none() {
        found.insert(words.to_owned(), command.clone());
    }
    for verb in inner {
        add_verbs(verb, format!("{words} {}", verb.get_name()).trim(), found);
    }
}

/// The line without these options, which have one value each.
pub fn remove_options(line: &str, options: &[&str]) -> String {
    let mut kept = Vec::new();
    let mut words = line.split_whitespace();
    while let Some(word) = words.next() {
        if options.contains(&word) {
            words.next();
        } else {
            kept.push(word);
        }
    }
    kept.join(" ")
}
