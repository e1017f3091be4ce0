//! Images that the platform does not find: they are gone, or this sign-in does not see them.

use super::{Build, GLANCE, make_executable};
use crate::support::Test;

#[test]
fn an_image_that_is_not_found_may_be_elsewhere() {
    for (target, id, program, values, says, doubt) in [
        (
            "aws",
            "eu-west-1:ami-0a",
            "aws",
            "",
            "(InvalidAMIID.NotFound)",
            "another account",
        ),
        (
            "aws",
            "eu-west-1:ami-0a",
            "aws",
            "",
            "(InvalidAMIID.Unavailable)",
            "",
        ),
        (
            "gcp",
            "node-1",
            "gcloud",
            "--var project=images-1",
            "The resource 'projects/images-1/global/images/node-1' was not found",
            "another project",
        ),
        (
            "openstack",
            GLANCE,
            "openstack",
            "",
            "No Image found for 0b4c5a52-6d9e-4a1e-9b0c-0123456789ab",
            "this project, region or cloud",
        ),
    ] {
        let record = Build {
            target,
            id,
            ..Build::default()
        };
        let file = format!("bin/{program}");
        let test = Test::new()
            .file("image.json", &record.record().to_string())
            .file("says", says)
            .file(&file, "#!/bin/sh\ncat \"$HOME/says\" >&2\nexit 1\n")
            .env("PATH", "bin:/usr/bin:/bin");
        make_executable(&test, &file);
        for step in ["retire", "retire --delete"] {
            let line = format!("{step} image.json --run {values}");
            let ran = test.bare().run(&line);
            assert_eq!(ran.code, Some(0), "{line}: {}", ran.stderr);
            let is_doubted = !doubt.is_empty();
            let end = if is_doubted {
                "not found"
            } else {
                "already gone"
            };
            assert_eq!(ran.stdout, format!("{end}: one {id}\n"), "{line}");
            assert_eq!(ran.stderr.contains("warning"), is_doubted, "{}", ran.stderr);
            // Whoever signs in to the right account asks again.
            assert_eq!(test.exists("retirement.json"), !is_doubted, "{line}");
            assert!(ran.stderr.contains(doubt), "{}", ran.stderr);
        }
    }
}
