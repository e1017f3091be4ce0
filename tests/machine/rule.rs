//! Rules of the machine have one name each.

use imagegen::machine::Rule;

#[test]
fn ids_are_the_ones_in_json() {
    for rule in Rule::ALL {
        let json = serde_json::to_value(rule).expect("plain data");
        assert_eq!(json, rule.to_string());
    }
    assert!(Rule::ALL.is_sorted(), "one each, in order");
}
