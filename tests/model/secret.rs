//! Secrets are recognised by their names, and never shown.

use std::ffi::OsString;

use imagegen::base::secret::{Secret, is_secret_name, mask_environment, mask_text};

#[test]
fn secrets_do_not_show() {
    assert_eq!(format!("{:?}", Secret::from_constant("token")), "***");
}

#[test]
fn names_say_what_is_secret() {
    for (name, expected) in [
        ("ARM_CLIENT_SECRET", true),
        ("AWS_SECRET_ACCESS_KEY", true),
        ("AWS_SESSION_TOKEN", true),
        ("OS_PASSWORD", true),
        ("private_key", true),
        ("client-key-data", true),
        ("GOOGLE_CREDENTIALS", true),
        ("AWS_ACCESS_KEY_ID", false),
        ("GOOGLE_APPLICATION_CREDENTIALS", false),
        ("AWS_WEB_IDENTITY_TOKEN_FILE", false),
        ("TOKEN_URL", false),
        ("PATH", false),
        ("PWD", false),
    ] {
        assert_eq!(is_secret_name(name), expected, "{name}");
    }
}

#[test]
fn environment_is_masked_by_names_and_users_of_urls() {
    let pair = |name: &str, value: &str| (OsString::from(name), OsString::from(value));
    mask_environment(
        [
            pair("SOME_TOKEN", "aQ7-environment"),
            pair("TOKEN_KIND", "kubernetes"),
            pair(
                "HTTPS_PROXY",
                "http://someone:pr%40xyW0rd@proxy.example:3128",
            ),
        ]
        .into_iter(),
    );
    assert_eq!(
        mask_text("a aQ7-environment b kubernetes"),
        "a <sensitive> b kubernetes"
    );
    assert_eq!(
        mask_text("x pr@xyW0rd pr%40xyW0rd"),
        "x <sensitive> <sensitive>"
    );
}
