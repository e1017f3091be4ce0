//! No value of a flag or of an argument ends the program by a panic, whatever it is.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use crate::support::Test;
use crate::support::verbs::{list_verbs, remove_options};

/// A path where a name is expected, and what is no number, no name and no template.
const ODD: [&str; 2] = ["x/../y", "\u{e9}={{ x }}\u{202e}99999999999999999999"];

/// What a verb needs before its other arguments are looked at.
const NEEDED: &[(&str, &str)] = &[
    ("build", "--target host --k8s 1.36.0"),
    ("render", "--target host --k8s 1.36.0"),
    ("plan", "--target host --k8s 1.36.0"),
    ("lock", "--target host --k8s 1.36.0"),
    ("fetch", "--target host --k8s 1.36.0"),
    ("outdated", "--target host --k8s 1.36.0"),
    ("doctor", "--target host --k8s 1.36.0"),
    ("conformance", "--k8s 1.36.0"),
    (
        "cluster-manifests",
        "--k8s 1.36.0 --endpoint a.example:6443",
    ),
    ("catalog export", "--out made"),
    ("scripts export", "--out made"),
    ("bundle create", "--out made"),
    ("man", "--out made"),
    (
        "join-data",
        "--k8s 1.36.0 --endpoint a.example:6443 --token-env TOKEN --ca-cert-hash \
         sha256:abababababababababababababababababababababababababababababababab",
    ),
];

/// One command line for each argument of each verb, and each odd value.
fn list_lines() -> Vec<Vec<String>> {
    let mut lines = Vec::new();
    for (words, verb) in &list_verbs() {
        let needed = NEEDED.iter().find(|(name, _)| name == words);
        let needed = needed.map_or("", |(_, line)| line);
        let has_offline = verb
            .get_arguments()
            .any(|it| it.get_long() == Some("offline"));
        for argument in verb
            .get_arguments()
            .filter(|it| it.get_action().takes_values())
        {
            let option = argument.get_long().map(|name| format!("--{name}"));
            for odd in ODD {
                let mut line: Vec<String> = words.split(' ').map(str::to_owned).collect();
                let needed = remove_options(needed, option.as_deref().as_slice());
                line.extend(needed.split_whitespace().map(str::to_owned));
                if has_offline && option.as_deref() != Some("--offline") {
                    line.push("--offline".to_owned());
                }
                line.push(match &option {
                    Some(option) => format!("{option}={odd}"),
                    None => odd.to_owned(),
                });
                lines.push(line);
            }
        }
    }
    lines
}

#[test]
fn no_value_panics() {
    let lines = list_lines();
    assert!(lines.len() > 500, "{}", lines.len());
    let next = AtomicUsize::new(0);
    let work = || {
        while let Some(line) = lines.get(next.fetch_add(1, Ordering::Relaxed)) {
            let test = Test::new().env("TOKEN", "abcdef.0123456789abcdef");
            let ran = test.args(line.iter().map(String::as_str)).run();
            let known = ran.code.is_some_and(|code| (0..=8).contains(&code));
            assert!(known, "{line:?}: {:?}\n{}", ran.code, ran.stderr);
        }
    };
    thread::scope(|scope| {
        let other = scope.spawn(work);
        work();
        other.join().expect("no panic");
    });
}
