use super::plan::Plan;
use crate::support::golden;

const WIDTH: usize = 100;

#[test]
fn lists_the_machine_for_people() {
    let text = Plan::good().predict().machine.format_listing();
    golden("machine/example.txt", &text);
}

#[test]
fn is_plain_and_narrow() {
    let text = Plan::good().predict().machine.format_listing();
    assert!(text.is_ascii());
    for line in text.lines() {
        assert!(line.len() <= WIDTH && line == line.trim_end(), "{line}");
    }
}
