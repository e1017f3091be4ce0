//! `imagegen init`.

use imagegen::embedded::Tree;
use serde_json::Value;

use crate::support::Test;

#[test]
fn init_writes_a_definition_that_plans() {
    let test = Test::new();
    let said = test.prints("init --target azure --k8s 1.36");
    assert_eq!(said, "imagegen.json\n");
    let definition: Value = serde_json::from_str(&test.text("imagegen.json")).expect("JSON");
    for (field, value) in [
        ("target", "azure"),
        ("kubernetes", "1.36"),
        ("windows", "2022"),
        ("hostAccess", "hostprocess"),
    ] {
        assert_eq!(definition[field], value, "{definition}");
        assert!(
            definition["note"][field]
                .as_str()
                .is_some_and(|note| !note.is_empty()),
            "{field}"
        );
    }
    assert!(
        definition["note"]["variables"]
            .as_str()
            .expect("a note")
            .contains("location")
    );
    assert!(
        test.prints("plan")
            .contains("Microsoft Azure, Windows Server 2022")
    );
    let again = test.line("init --target host");
    again.fails(3, &["imagegen.json already exists", "--out FILE"]);
    let other = Test::new();
    other.prints(
        "init --target host --out node.json --windows 2019 --k8s 1.20.0 --host-access services",
    );
    assert!(
        other
            .prints("plan --config node.json")
            .contains("Kubernetes 1.20.0")
    );
}

/// Names of the variables that a plan of the file lacks and a definition may give, with the example of each.
fn list_missing(test: &Test, file: &str) -> Vec<(String, String)> {
    let plan = test.prints(&format!("plan --config {file} --format json"));
    let plan: Value = serde_json::from_str(&plan).expect("JSON");
    let mut missing = Vec::new();
    for variable in plan["missing"].as_array().expect("missing") {
        let from = variable["from"].as_array().expect("ways").clone();
        let mut ways = from.iter().filter_map(Value::as_str);
        if !ways.any(|way| way.contains("image definition")) {
            continue;
        }
        let name = variable["names"][0].as_str().expect("name");
        let flag = from[0].as_str().expect("a flag");
        let example = flag
            .strip_prefix(&format!("--var {name}="))
            .expect("example");
        let value = match example {
            "…" if name.ends_with("sha256") => "ab".repeat(32),
            "…" => "example".to_owned(),
            example => example.to_owned(),
        };
        missing.push((name.to_owned(), value));
    }
    missing
}

/// With `--var` for what it names, `init` writes a definition that lacks nothing that a definition may give.
#[test]
fn init_writes_what_a_build_of_each_target_needs() {
    let mut given_at_all = 0;
    for target in Tree::embedded_packer().list_folders("targets") {
        let test = Test::new();
        let mut given = Vec::new();
        for round in 0..5 {
            let mut command = test.command();
            command.args(["init", "--target", &target, "--k8s", "1.36"]);
            command.args(["--out", &format!("{round}.json")]);
            for (name, value) in &given {
                command.args(["--var", &format!("{name}={value}")]);
            }
            let output = command.output().expect("the program starts");
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{target}: {said}");
            let missing = list_missing(&test, &format!("{round}.json"));
            for (name, _) in &missing {
                assert!(
                    said.contains(&format!("a bake needs {name}: ")),
                    "{target}: {said}"
                );
            }
            if missing.is_empty() {
                test.prints(&format!("build --no-bake --config {round}.json --out o"));
                break;
            }
            assert!(round < 4, "{target} still lacks {missing:?}");
            given_at_all += missing.len();
            given.extend(missing);
        }
    }
    assert!(given_at_all > 8, "{given_at_all}");
}

#[test]
fn init_refuses_what_only_the_operator_gives() {
    for (line, parts) in [
        (
            "init --target gcp --var project_id=images-1",
            &[
                "`project_id` does not belong in an image definition",
                "PKR_VAR_project_id",
            ][..],
        ),
        (
            "init --target azure --var client_secret=abcdefghijkl",
            &[
                "`client_secret` is a secret",
                "hint: set it in the environment as PKR_VAR_client_secret",
            ],
        ),
        (
            "init --target azure --var loction=a",
            &["did you mean `location`?"],
        ),
        ("init --target azure --var location", &["NAME=VALUE"]),
    ] {
        let test = Test::new().line(line);
        test.fails(3, parts);
        assert!(!test.exists("imagegen.json"), "{line}");
    }
}

#[test]
fn init_without_a_terminal_needs_a_target() {
    Test::new().line("init").fails(
        3,
        &["there is no terminal to ask", "--target NAME", "azure"],
    );
    Test::new()
        .line("init --target azur")
        .fails(3, &["did you mean `azure`?"]);
    Test::new()
        .line("init --target host --k8s 1.36 --windows 2016")
        .fails(3, &["2016"]);
    let plain = Test::new();
    plain.prints("init --target host");
    // `stable` is written as the line that it stands for.
    assert!(
        plain.text("imagegen.json").contains(r#""kubernetes": "1."#),
        "{}",
        plain.text("imagegen.json")
    );
}
