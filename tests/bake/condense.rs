//! Lines of Packer that a person sees.

use imagegen::bake::condense_line;

#[test]
fn milestones_are_kept_and_chatter_is_not() {
    for (line, kept) in [
        (
            "==> imagegen.builder.node: Getting tokens using client secret",
            Some("Getting tokens using client secret"),
        ),
        (
            "    imagegen.builder.node: imagegen: [3/48] changed x/y (12 ms)",
            Some("imagegen: [3/48] changed x/y (12 ms)"),
        ),
        (
            "    imagegen.builder.node:  -> ResourceGroupName : 'x'",
            None,
        ),
        ("Error: something", Some("Error: something")),
        ("", None),
        (
            "==> Builds finished. The artifacts of successful builds are:",
            Some("Builds finished. The artifacts of successful builds are:"),
        ),
    ] {
        assert_eq!(condense_line(line).as_deref(), kept, "{line}");
    }
}
