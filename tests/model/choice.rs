//! Words of a closed set.

use imagegen::base::choice::Runtime;

#[test]
fn unknown_words_get_the_nearest_known_one() {
    assert_eq!(
        "contanerd"
            .parse::<Runtime>()
            .expect_err("a typing error")
            .to_string(),
        "unknown runtime `contanerd`: did you mean `containerd`?"
    );
    assert_eq!(
        "x".parse::<Runtime>().expect_err("x").to_string(),
        "unknown runtime `x`: expected one of containerd, docker"
    );
}
