//! Tags of an image: those of the user beside ours.

use imagegen::render::TAG_COUNT;

use crate::support::targets::all_targets;

/// Tags that the platform takes, and those that others add: `promote` the channel, and the template of `oci` leaves out
/// the commit, the date and the catalog of the program.
const LIMITS: [(&str, &str, usize, usize); 4] = [
    ("aws", "aws_tags", 50, TAG_COUNT + 1),
    ("azure", "azure_tags", 50, TAG_COUNT + 1),
    ("gcp", "gcp_labels", 64, TAG_COUNT + 1),
    ("oci", "oci_tags", 10, TAG_COUNT - 3),
];

#[test]
fn tags_of_the_user_and_ours_are_no_more_than_the_platform_takes() {
    let mut checked = Vec::new();
    for target in all_targets() {
        for variable in &target.variables {
            let tags = variable.name.ends_with("_tags") || variable.name.ends_with("_labels");
            let Some(users) = variable.max_items.filter(|_| tags) else {
                continue;
            };
            let limit = LIMITS.iter().find(|(_, name, ..)| *name == variable.name);
            let (_, _, most, ours) = limit.expect("the limit of the platform");
            assert_eq!(users + ours, *most, "{}", variable.name);
            checked.push(target.name.clone());
        }
    }
    assert_eq!(checked, LIMITS.map(|(target, ..)| target));
}
