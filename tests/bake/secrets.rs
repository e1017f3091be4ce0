//! Secrets of a bake.

use super::{MANIFEST, REPORT, with_packer};
use crate::support::files;

#[test]
fn secrets_that_a_plugin_would_change_are_refused() {
    let id = "00000000-0000-0000-0000-000000000001";
    let test = with_packer("echo started; exit 1").env("ARM_CLIENT_SECRET", "a{{pwd}}b");
    let test = test
        .env("ARM_CLIENT_ID", id)
        .env("ARM_SUBSCRIPTION_ID", id)
        .args(["--var", "auth=client_secret"]);
    let ran = test.fails(3, &["PKR_VAR_client_secret contains `{{`"]);
    assert!(
        !ran.stderr.contains("pwd") && !ran.stderr.contains("started"),
        "{}",
        ran.stderr
    );
}

#[test]
fn secrets_that_cannot_be_masked_are_refused() {
    let id = "00000000-0000-0000-0000-000000000001";
    for secret in ["x", "abc", " abc\n"] {
        let test = with_packer("echo started; exit 1")
            .env("ARM_CLIENT_SECRET", secret)
            .env("ARM_CLIENT_ID", id);
        let test = test
            .env("ARM_SUBSCRIPTION_ID", id)
            .args(["--var", "auth=client_secret"]);
        let ran = test.fails(3, &["PKR_VAR_client_secret is shorter than 4 characters"]);
        assert!(
            !ran.stderr.contains("started") && !test.exists("o/packer.log"),
            "{}",
            ran.stderr
        );
    }
}

/// What a guest prints ends up in Packer's output, whatever the length of its lines.
#[test]
fn lines_without_end_are_cut() {
    let test = with_packer("head -c 200000 /dev/zero | tr '\\0' 'x'; exit 1");
    test.fails(7, &["packer init failed with exit code 1"]);
    let log = test.text("o/packer.log");
    assert!(log.lines().count() > 10 && log.lines().all(|line| line.len() <= 16 << 10));
    assert_eq!(log.bytes().filter(|byte| *byte == b'x').count(), 200_000);
}

/// A secret that is cut where a line is cut is masked all the same.
#[test]
fn a_secret_that_is_cut_is_masked() {
    let print =
        "head -c 16370 /dev/zero | tr '\\0' 'x'; printf '%s\\n' \"$PKR_VAR_client_secret\"; exit 1";
    let test = with_packer(print)
        .env("ARM_CLIENT_SECRET", "s3cret-of-the-test-of-the-bake")
        .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
        .env(
            "ARM_SUBSCRIPTION_ID",
            "00000000-0000-0000-0000-000000000002",
        );
    test.fails(7, &["packer init failed with exit code 1"]);
    let log = test.text("o/packer.log");
    assert!(log.contains("xxx") && log.contains("<sensitive>"), "{log}");
    assert!(!log.contains("s3cret") && !log.contains("bake"), "{log}");
}

#[test]
fn secrets_reach_packer_through_its_environment_alone() {
    let test = with_packer(&format!(
        "[ $1 = build ] || exit 0\necho \"secret is $PKR_VAR_client_secret\"\necho \"$@\" > \"$OUT/arguments\"\n{MANIFEST}\n{REPORT}"
    ))
    .env("ARM_CLIENT_SECRET", "s3cret-of-the-test")
    .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
    .env("ARM_SUBSCRIPTION_ID", "00000000-0000-0000-0000-000000000002");
    let ran = test.succeeds();
    assert!(
        test.text("o/packer.log").contains("secret is <sensitive>"),
        "{}",
        test.text("o/packer.log")
    );
    for (name, bytes) in files(&test.folder) {
        assert!(
            !String::from_utf8_lossy(&bytes).contains("s3cret-of-the-test"),
            "{name}"
        );
    }
    assert!(!(ran.stdout + &ran.stderr).contains("s3cret-of-the-test"));
}

/// Packer, clouds and guests repeat values in their own forms, and consoles wrap lines.
#[test]
fn secrets_are_masked_in_every_form() {
    let test = with_packer(&format!(
        r#"[ $1 = build ] || exit 0
secret=$PKR_VAR_client_secret
echo "plain $secret"
echo "base64 $(printf 'user:%s' "$secret" | base64 -w 0)"
printf '%s' "$secret" | base64 -w 8
printf '$p = "%s"' "$secret" | iconv -t UTF-16LE | base64 -w 0; echo
printf '==> imagegen.builder.node: %s
' "${{secret%%test*}}" "${{secret#s3cret-of-the-}}"
echo "stderr ${{secret%%test*}}" >&2; echo "${{secret#s3cret-of-the-}}" >&2
echo "header $ARTIFACTS_TOKEN; proxy $HTTPS_PROXY"
{MANIFEST}
{REPORT}"#
    ))
    .env("ARM_CLIENT_SECRET", "s3cret-of-the-test-of-the-bake")
    .env("ARTIFACTS_TOKEN", "t0ken-of-the-environment")
    .env("HTTPS_PROXY", "http://user:pr0xy-word@127.0.0.1:9")
    .env("ARM_CLIENT_ID", "00000000-0000-0000-0000-000000000001")
    .env(
        "ARM_SUBSCRIPTION_ID",
        "00000000-0000-0000-0000-000000000002",
    );
    let ran = test.succeeds();
    let log = test.text("o/packer.log");
    let shown = ran.stdout + &ran.stderr + &log;
    for part in [
        "s3cret-of-the-test",
        "s3cret-of-the-",
        "test-of-the-bake",
        // `printf user:s3cret-of-the-test-of-the-bake | base64`, and its middle in UTF-16
        "czNjcmV0LW9mLXRoZS10ZXN0",
        "MzY3JldC1v",
        "cwAzAGMAcgBlAHQA",
        "t0ken-of-the-environment",
        "pr0xy-word",
    ] {
        assert!(!shown.contains(part), "{part}: {log}");
    }
    assert!(log.matches("<sensitive>").count() >= 12, "{log}");
}
