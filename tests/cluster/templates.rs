//! Templates of manifests: no value changes the structure.

use imagegen::cluster::ManifestRenderer;
use serde_json::json;

#[test]
fn values_cannot_become_structure() {
    let facts = json!({ "value": "a: b\n- \"c\" # d", "text": "a:\n\n  b\n", "odd": " a\n", "list": ["x: y"] });
    let renderer = ManifestRenderer::new(&facts);
    let render = |source: &str| renderer.render_file("f", source).expect(source);
    assert_eq!(
        render("k: {{ value | json }}"),
        "k: \"a: b\\n- \\\"c\\\" # d\""
    );
    assert_eq!(render("k: {{ list | json }}"), "k: [\"x: y\"]");
    assert_eq!(
        render("k: {{ text | lines }}\nl: 1"),
        "k: |\n    a:\n\n      b\nl: 1"
    );
    assert_eq!(render("k: {{ odd | lines }}"), "k: \" a\\n\"");
    for unknown in [
        "{{ nothing | json }}",
        "{{ nothing | lines }}",
        "{{ nothing }}",
        "{{ value.nothing | json }}",
    ] {
        let error = renderer
            .render_file("f", unknown)
            .expect_err(unknown)
            .to_string();
        assert!(
            error.starts_with("f: ") && error.contains("nothing"),
            "{error}"
        );
    }
}
