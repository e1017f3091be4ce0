//! Templates and variables of Packer.

use std::collections::BTreeSet;

use imagegen::embedded::Tree;
use serde_json::Value;

use crate::support::Test;
use crate::support::targets::image_targets;

/// Tera treats an undefined name in a condition as false, so every name is compared with the context.
#[test]
fn conditions_of_the_packer_templates_are_in_their_context() {
    let packer = Tree::embedded_packer();
    let mut checked = 0;
    for target in image_targets() {
        let mut known: BTreeSet<String> = target
            .variables
            .iter()
            .map(|variable| format!("has.{}", variable.name))
            .collect();
        for selector in &target.selectors {
            known.extend(
                selector
                    .values
                    .iter()
                    .map(|it| format!("uses.{}_{}", selector.name, it.value)),
            );
        }
        known.extend(["uses.signed_scripts", "uses.media"].map(str::to_owned));
        known.extend(
            ["unpacks", "removes_scripts", "restarts", "reports"].map(|it| format!("stage.{it}")),
        );
        let folder = format!("targets/{}", target.name);
        let own = packer.list_files(&folder).into_iter().filter(|path| {
            std::path::Path::new(path)
                .extension()
                .is_some_and(|it| it == "hcl")
        });
        for path in own.chain(["build.pkr.hcl".to_owned()]) {
            let text = std::str::from_utf8(packer.get(&path).expect("file")).expect("UTF-8");
            for line in text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("#{% if "))
            {
                for name in line.trim_end_matches("%}").split(" or ").map(str::trim) {
                    assert!(
                        known.contains(name),
                        "packer/{path}: `{name}` is in no context"
                    );
                    checked += 1;
                }
            }
        }
    }
    assert!(checked > 8, "{checked}");
}

#[test]
fn declared_variables_are_the_ones_that_have_values_or_are_missing() {
    for line in [
        "--k8s 1.20.0",
        "--k8s 1.36.4 --var output=gallery --var machine=trusted_launch",
    ] {
        let test = Test::new()
            .line("build --target azure --no-bake --out o --format json")
            .line(line);
        let said: Value = serde_json::from_str(&test.succeeds().stdout).expect("JSON");
        let values: Value =
            serde_json::from_str(&test.text("o/imagegen.auto.pkrvars.json")).expect("JSON");
        let body: hcl_edit::structure::Body =
            test.text("o/variables.pkr.hcl").parse().expect("HCL");
        let declared: BTreeSet<String> = body
            .blocks()
            .map(|block| block.labels.first().expect("label").as_str().to_owned())
            .collect();
        let mut given: BTreeSet<String> = values
            .as_object()
            .expect("object")
            .keys()
            .cloned()
            .collect();
        given.extend(
            said["missing"]
                .as_array()
                .expect("missing")
                .iter()
                .map(|missing| missing["names"][0].as_str().expect("name").to_owned()),
        );
        assert_eq!(declared, given, "{line}");
        let used = ["source", "build"]
            .map(|name| test.text(&format!("o/{name}.pkr.hcl")))
            .concat();
        for name in &declared {
            assert!(
                used.contains(&format!("var.{name}")),
                "{name} is declared and not used"
            );
        }
    }
}
