//! Warnings about many images: each is said once, with the images that it is for.

use serde_json::{Value, json};

use super::{folder, two_bakes};
use crate::support::Test;

/// `count` images, of which every second has a release whose support has ended.
fn ended(count: usize) -> Test {
    (0..count).fold(Test::new(), |test, number| {
        let release = ["1.28.3", "1.36.0"][number % 2];
        let definition = json!({"target": "host", "kubernetes": release, "hostAccess": "services"});
        test.file(
            &format!("images/node-{number:02}.json"),
            &definition.to_string(),
        )
    })
}

const ENDED: &str = "support has ended, and nobody fixes vulnerabilities: kubernetes 1.28";

#[test]
fn a_warning_of_many_images_is_said_once() {
    for (count, said) in [
        (2, "warning: node-00: "),
        (9, "warning: node-00, node-02, node-04, node-06, node-08: "),
        (20, "warning: 10 images, such as node-00: "),
    ] {
        let test = ended(count);
        for verb in ["build --no-bake --out o", "render --out o"] {
            let one = test.run_with(&format!("{verb} --config images --all -q --jobs 1"));
            let several = test.run_with(&format!("{verb} --config images --all -q --jobs 5"));
            assert_eq!(one.code, Some(0), "{}", one.stderr);
            assert_eq!(one.stderr, several.stderr);
            assert_eq!(one.stderr.matches(ENDED).count(), 1, "{}", one.stderr);
            assert!(
                one.stderr.contains(&format!("{said}{ENDED}")),
                "{}",
                one.stderr
            );
        }
    }
}

#[test]
fn a_warning_of_many_images_is_one_event() {
    let test = ended(20);
    for jobs in [1, 5] {
        let line = format!("render --config images --all --out o --format json --jobs {jobs}");
        let ran = test.run_with(&line);
        let lines = ran.stderr.lines();
        let events: Vec<Value> = lines
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        let mut warnings = events.iter().filter(|event| {
            event["message"]
                .as_str()
                .is_some_and(|it| it.starts_with(ENDED))
        });
        let warning = warnings.next().expect("an event");
        let first = ["node-00", "node-02", "node-04", "node-06", "node-08"];
        assert_eq!(warning["images"], json!({"count": 10, "first": first}));
        assert!(
            warnings.next().is_none() && warning.get("image").is_none(),
            "{}",
            ran.stderr
        );
    }
    let ran = ended(2).run_with("render --config images --all --out o --format json");
    assert!(
        ran.stderr.contains(r#""image":"node-00""#),
        "{}",
        ran.stderr
    );
}

/// Each image has a lockfile of its own name, and they are out of date for one reason.
#[test]
fn lockfiles_that_are_stale_alike_are_one_warning() {
    let test = folder(3);
    test.prints("lock --config images --all -q");
    let definition = json!({"target": "host", "kubernetes": "1.36.1", "hostAccess": "services"});
    let test = (0..3).fold(test, |test, number| {
        test.file(
            &format!("images/node-{number:03}.json"),
            &definition.to_string(),
        )
    });
    for jobs in [1, 3] {
        let ran = test.run_with(&format!("plan --config images --all -q --jobs {jobs}"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for (said, count) in [
            (
                "warning: node-000, node-001, node-002: the lockfile is not used: images/node-000.lock.json",
                1,
            ),
            ("is not used", 1),
            ("hint: run `imagegen lock`", 1),
        ] {
            assert_eq!(
                ran.stderr.matches(said).count(),
                count,
                "{said}: {}",
                ran.stderr
            );
        }
    }
    // The remedy of many errors is one, too.
    let ran = test.run_with("plan --config images --all -q --locked");
    assert_eq!(
        ran.stderr.matches("error: node-").count(),
        3,
        "{}",
        ran.stderr
    );
    assert_eq!(ran.stderr.matches("hint: ").count(), 1, "{}", ran.stderr);
}

/// A bake takes an hour: its warning comes before it, for the first image, and at the end for all.
#[test]
fn a_warning_of_bakes_comes_at_once() {
    let warning = "base image: `image_version` is `latest`";
    for (jobs, first) in [(1, "warning: one: "), (2, " | warning: ")] {
        let ran = two_bakes("echo '==> x.y: built'")
            .line(&format!("--jobs {jobs}"))
            .succeeds();
        let (first, all) = (
            format!("{first}{warning}"),
            format!("warning: one, two: {warning}"),
        );
        let places = [&first, "built", &all].map(|said| ran.stderr.find(said));
        assert!(
            places.is_sorted() && places[0].is_some(),
            "{places:?} {}",
            ran.stderr
        );
        assert_eq!(ran.stderr.matches(warning).count(), 2, "{}", ran.stderr);
    }
}
