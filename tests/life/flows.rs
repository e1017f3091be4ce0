//! Ways to join that others publish (`join/flows.json`): their commands are folded in order over the predicted
//! machine of each line, and the table of what comes out stands in `join/README.md`.

mod fold;
mod kubelet;
mod runtimes;

use std::collections::{BTreeMap, BTreeSet};

use imagegen::catalog::Trees;
use imagegen::model::definition::ImageDefinition;
use imagegen::model::kubernetes::ProgramTable;
use imagegen::model::line::Minor;
use imagegen::planning::{predict_machine, resolve_plan};
use imagegen::selection::read_trees;
use serde::Deserialize;

use crate::support::root;
use fold::{Image, LAUNCHER, Programs, fold_join, fold_reset, fold_upgrade};

const START: &str = "<!-- flows: from the model -->\n";
const END: &str = "<!-- end of flows -->\n";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    #[expect(dead_code, reason = "for readers")]
    note: String,
    reset: Reset,
    upgrade: Upgrade,
    flows: Vec<Flow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reset {
    commands: Vec<String>,
    removes: Vec<String>,
    source: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Upgrade {
    commands: Vec<String>,
    replaces: Vec<String>,
    source: String,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Flow {
    #[serde(rename = "flow")]
    id: String,
    title: String,
    source: String,
    select: ImageDefinition,
    stage: String,
    name: String,
    #[serde(default)]
    services: Vec<String>,
    #[serde(default)]
    arguments: BTreeMap<String, String>,
    #[serde(default)]
    files: Vec<FlowFile>,
    /// Scripts that the template calls and does not write: PowerShell prints an error, and the batch goes on.
    #[serde(default)]
    absent: Vec<String>,
    commands: Vec<String>,
    #[serde(default)]
    ran: Vec<Ran>,
}

#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowFile {
    path: String,
    #[serde(default)]
    reads: Vec<String>,
    /// Programs that such a script finds on the PATH.
    #[serde(default)]
    calls: Vec<String>,
    /// Files that such a script writes.
    #[serde(default)]
    writes: Vec<String>,
}

/// Columns that tests ran with real programs, one test for each line.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Ran {
    kubernetes: Vec<Minor>,
    columns: Vec<String>,
    /// How far the test went, where it did not do the whole column.
    #[serde(default)]
    note: String,
    by: Vec<String>,
}

const COLUMNS: [&str; 6] = [
    "joined",
    "name",
    "arguments",
    "restart",
    "reset and second join",
    "upgrade to the next line",
];

type Cells = [String; 6];

fn read_table() -> Table {
    let path = root().join("tests/join/flows.json");
    let text = std::fs::read_to_string(path).expect("flows.json");
    serde_json::from_str(&text).expect("flows.json has its form")
}

/// The flow's selection on a line.
fn select_line(flow: &Flow, minor: Minor) -> ImageDefinition {
    ImageDefinition {
        kubernetes: Some(minor.to_string()),
        ..flow.select.clone()
    }
}

/// The image on a line, or why there is none: the rule's name and its reason.
fn make_image(flow: &Flow, minor: Minor, trees: &Trees) -> Result<Image, String> {
    let selection = select_line(flow, minor);
    let plan = resolve_plan(&selection, trees).map_err(|error| find_reason(&error.to_string()))?;
    let (guest, prediction) =
        predict_machine(&plan, trees).map_err(|error| format!("{error:#}"))?;
    let table = trees.catalog.load_programs().expect("programs");
    Ok(Image {
        kubernetes: plan.kubernetes,
        minor,
        stages: guest.stages,
        machine: prediction.machine,
        programs: find_programs(&table, minor, trees),
        values: trees
            .catalog
            .load_flags()
            .expect("flags")
            .flag_values
            .clone(),
        scripts: trees.provisioners.list_files("node"),
    })
}

/// The first reason of a refusal, without its code and its remedy.
fn find_reason(refusal: &str) -> String {
    let text = refusal.trim_start_matches("the image cannot be built:");
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or(refusal).trim_start_matches("- ");
    let end = line.find(" [").unwrap_or(line.len());
    line[..end].to_owned()
}

/// Flags and gates of the line, or of the one before that was surveyed.
fn find_programs(table: &ProgramTable, minor: Minor, trees: &Trees) -> Programs {
    let mut minors = trees.catalog.kubernetes_minors();
    minors.retain(|other| *other <= minor);
    minors.sort_unstable_by(|a, b| b.cmp(a));
    let mut surveys = minors.into_iter().map(|minor| table.list_programs(minor));
    surveys
        .find(|programs| !programs.is_empty())
        .expect("a survey")
}

fn format_result(result: Result<String, String>) -> String {
    match result {
        Ok(text) if text.is_empty() => "modelled".to_owned(),
        Ok(text) => format!("modelled: {text}"),
        Err(why) => format!("refused, because {why}"),
    }
}

/// The cells of one flow on one line.
fn fold_cells(table: &Table, flow: &Flow, minor: Minor, trees: &Trees) -> Cells {
    let image = make_image(flow, minor, trees);
    let joined = image.and_then(|image| {
        let node = fold_join(&image, flow)?;
        Ok((image, node))
    });
    let (image, node) = match joined {
        Ok(pair) => pair,
        Err(why) => {
            let mut cells = COLUMNS.map(|_| "refused, because it does not join".to_owned());
            cells[0] = format!("refused, because {why}");
            return cells;
        }
    };
    let minors = trees.catalog.kubernetes_minors();
    let next = minors.into_iter().filter(|other| *other > minor).min();
    let upgraded = match next {
        None => Err("no newer line is known".to_owned()),
        Some(next) => make_image(flow, next, trees)
            .and_then(|newer| fold_upgrade(&image, &newer, flow, table)),
    };
    let mut cells = [
        Ok(String::new()),
        Ok(node.name.clone()),
        Ok(node.arguments.clone()),
        node.restart.clone(),
        fold_reset(&image, flow, table),
        upgraded,
    ]
    .map(format_result);
    for ran in flow
        .ran
        .iter()
        .filter(|ran| ran.kubernetes.contains(&minor))
    {
        for (cell, column) in cells.iter_mut().zip(COLUMNS) {
            if ran.columns.iter().any(|name| name == column) {
                *cell = format!("ran, {}", ran.note);
                cell.truncate(cell.trim_end_matches([',', ' ']).len());
            }
        }
    }
    cells
}

/// One row for lines behind each other with the same cells.
fn format_rows(lines: &[(Minor, Cells)]) -> Vec<String> {
    let mut rows = Vec::new();
    for group in lines.chunk_by(|(_, a), (_, b)| a == b) {
        let (first, last) = (group[0].0, group[group.len() - 1].0);
        let name = if first == last {
            first.to_string()
        } else {
            format!("{first} to {last}")
        };
        rows.push(format!("| {name} | {} |", group[0].1.join(" | ")));
    }
    rows
}

fn format_table(table: &Table, trees: &Trees) -> String {
    let mut text = Vec::new();
    for flow in &table.flows {
        let mut lines = Vec::new();
        for minor in trees.catalog.kubernetes_minors() {
            lines.push((minor, fold_cells(table, flow, minor, trees)));
        }
        lines.sort_by_key(|(minor, _)| *minor);

        text.push(format!(
            "\n### {}\n\nSource: {}.\n",
            flow.title, flow.source
        ));
        text.push(format!("| line | {} |", COLUMNS.join(" | ")));
        text.push("|---|---|---|---|---|---|---|".to_owned());
        text.extend(format_rows(&lines));
    }
    text.join("\n") + "\n\n"
}

/// The table says what the model and the tests with real programs say; `UPDATE_GOLDEN=1` writes it.
#[test]
fn the_table_of_flows_is_what_the_model_says() {
    let (table, trees) = (read_table(), read_trees(None).expect("the catalog"));
    let made = format_table(&table, &trees);
    for word in ["| ran |", "modelled", "refused, because"] {
        assert!(made.contains(word), "{word}: {made}");
    }
    assert!(!made.contains("|  |"), "an empty cell: {made}");

    let path = root().join("tests/join/README.md");
    let readme = std::fs::read_to_string(&path).expect("README.md");
    let (before, rest) = readme.split_once(START).expect("the start of the table");
    let (there, after) = rest.split_once(END).expect("the end of the table");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&path, format!("{before}{START}{made}{END}{after}")).expect("README.md");
        return;
    }
    assert_eq!(there, made, "UPDATE_GOLDEN=1 writes the table anew");
}

/// A cell says `ran` only where its test is there, joins that line, and runs what the flow's publisher has.
#[test]
fn what_ran_has_a_test_that_runs_it() {
    let read = |path: &str| std::fs::read_to_string(root().join(path)).expect(path);
    let tests = read("tests/join.rs");
    let ways = read("tests/join/flows.rs") + &read("tests/join/person.rs");
    for flow in read_table().flows {
        for ran in &flow.ran {
            assert_eq!(ran.kubernetes.len(), ran.by.len(), "{}", flow.id);
            let own = flow.source.starts_with("derived: provisioners/");
            let mut parts = flow.source.split(' ');
            assert!(own || parts.all(|part| ways.contains(part)), "{}", flow.id);
            for (minor, test) in ran.kubernetes.iter().zip(&ran.by) {
                let start = tests.find(&format!("fn {test}() {{")).expect(test);
                let body = &tests[start..];
                let body = &body[..body.find("\n}").expect("an end")];
                assert!(body.contains(&format!("\"{minor}.")), "{test}: {body}");
            }
            let unknown: Vec<_> = ran
                .columns
                .iter()
                .filter(|it| !COLUMNS.contains(&it.as_str()))
                .collect();
            assert!(unknown.is_empty(), "{unknown:?}");
        }
    }
}

#[test]
fn every_flow_has_a_source_and_a_name_of_its_own() {
    let table = read_table();
    let mut names = BTreeSet::new();
    let mut sources = vec![&table.reset.source, &table.upgrade.source];
    for flow in &table.flows {
        assert!(names.insert(&flow.id), "{}", flow.id);
        sources.push(&flow.source);
    }
    for source in sources {
        let opens = ["https://", "derived: "]
            .iter()
            .any(|form| source.starts_with(form));
        assert!(opens || source.contains('@'), "{source}");
    }
}

fn find_flow(table: &Table, name: &str) -> Flow {
    let mut flows = table.flows.iter();
    flows.find(|flow| flow.id == name).expect(name).clone()
}

/// A refusal, and the edit of the template for Azure that leads to it. Its second file is a script that it calls.
type Edit = (&'static str, fn(&mut Flow));

const EDITS: &[Edit] = &[
    ("C:\\missing.ps1 is not on the machine", |flow| {
        flow.commands.push("powershell C:/missing.ps1".to_owned());
    }),
    ("`missing` is not on the PATH", |flow| {
        flow.commands.insert(0, "missing --help".to_owned());
    }),
    ("there is no folder C:\\no\\such", |flow| {
        flow.commands[0] = flow.commands[0].replace("/run/cluster-api/", "C:/no/such/");
    }),
    ("no command of the flow joins the node", |flow| {
        flow.commands.remove(0);
    }),
    (
        "nothing writes C:\\run\\kubeadm\\kubeadm-join-config.yaml",
        |flow| {
            flow.files.retain(|file| !file.path.contains("join-config"));
        },
    ),
    (
        "reads C:\\k\\debug\\hns.psm1, which is not on the machine",
        |flow| {
            flow.files[1].reads = vec![r"C:\k\debug\hns.psm1".to_owned()];
        },
    ),
    ("C:\\defender-exclude-calico.ps1 calls `missing`", |flow| {
        flow.files[1].calls = vec!["missing".to_owned()];
    }),
    (
        "nothing writes C:\\k\\providers.yaml, which `--image-credential-provider-config` names",
        |flow| {
            let name = "image-credential-provider-config".to_owned();
            flow.arguments.insert(name, "/k/providers.yaml".to_owned());
        },
    ),
    ("there is no service `docker`", |flow| {
        flow.services.push("docker".to_owned());
    }),
    ("the kubelet of 1.30 has no flag `--no-such-flag`", |flow| {
        flow.arguments
            .insert("no-such-flag".to_owned(), "1".to_owned());
    }),
    ("the kubelet does not know the gate `NoSuchGate`", |flow| {
        flow.arguments
            .insert("feature-gates".to_owned(), "NoSuchGate=true".to_owned());
    }),
    ("the kubelet has no cloud provider of its own", |flow| {
        flow.arguments
            .insert("cloud-provider".to_owned(), "azure".to_owned());
    }),
    ("the target has no stage `no such`", |flow| {
        "no such".clone_into(&mut flow.stage);
    }),
];

/// What a flow needs and does not find, one thing at a time.
#[test]
fn a_flow_that_the_image_does_not_serve_is_refused() {
    let (table, trees) = (read_table(), read_trees(None).expect("the catalog"));
    let capz = find_flow(&table, "capz");
    let minor: Minor = "1.30".parse().expect("a minor");
    let image = make_image(&capz, minor, &trees).expect("an image");
    assert!(fold_join(&image, &capz).is_ok());
    for (expected, edit) in EDITS {
        let mut flow = capz.clone();
        edit(&mut flow);
        let found = fold_join(&image, &flow).expect_err(expected);
        assert!(found.contains(expected), "{expected}: {found}");
    }

    let mut other = capz.clone();
    other.select.join = "kubeadm".parse().ok();
    let without_tools = make_image(&other, minor, &trees).expect("an image");
    let mut without_path = image;
    without_path.machine.path.retain(|entry| entry != r"C:\k");
    for (name, image) in [("nssm", without_tools), ("kubeadm", without_path)] {
        let found = fold_join(&image, &capz).expect_err(name);
        assert_eq!(found, format!("`{name}` is not on the PATH"));
    }
}

/// What a script of the template writes is there for what follows, and a script that nobody writes ends nothing.
#[test]
fn scripts_of_a_template_write_what_others_read() {
    let (table, trees) = (read_table(), read_trees(None).expect("the catalog"));
    let mut flow = find_flow(&table, "capz");
    let minor: Minor = "1.30".parse().expect("a minor");
    let image = make_image(&flow, minor, &trees).expect("an image");
    let name = "image-credential-provider-config".to_owned();
    flow.arguments.insert(name, "/k/providers.yaml".to_owned());
    flow.files[1].writes = vec![r"C:\k\providers.yaml".to_owned()];
    assert!(fold_join(&image, &flow).is_ok());

    flow.commands.insert(0, "powershell c:/none.ps1".to_owned());
    assert!(fold_join(&image, &flow).is_err());
    flow.absent = vec!["c:/none.ps1".to_owned()];
    assert!(fold_join(&image, &flow).is_ok());
}

/// A batch file in the place of a program ends cloudbase-init's batch, and a service that is manual stays down.
#[test]
fn a_stand_in_or_a_manual_service_is_found() {
    let (table, trees) = (read_table(), read_trees(None).expect("the catalog"));
    let capi = find_flow(&table, "capi");
    let minor: Minor = "1.30".parse().expect("a minor");
    let image = make_image(&capi, minor, &trees).expect("an image");
    let mut batch = capi.clone();
    let line = batch.commands[0].replace("kubeadm join", "start-kubelet join");
    batch.commands.insert(0, line);
    let found = fold_join(&image, &batch).expect_err("a batch file");
    assert!(found.contains("ends the batch"), "{found}");

    let mut manual = image.clone();
    fold::set_start_type(&mut manual.machine, "kubelet", "manual");
    let node = fold_join(&manual, &capi).expect("it joins");
    let why = node.restart.expect_err("it stays down");
    assert!(why.contains("does not start by itself"), "{why}");
    // The template of another provider sets it.
    let capz = find_flow(&table, "capz");
    let mut manual = make_image(&capz, minor, &trees).expect("an image");
    fold::set_start_type(&mut manual.machine, "kubelet", "manual");
    let node = fold_join(&manual, &capz).expect("it joins");
    assert!(node.restart.is_ok());
}

/// A gate that an image of 1.22 and its template give does not end the kubelet of a version that lost it.
#[test]
fn gates_that_the_kubelet_lost_do_not_end_it() {
    let (table, trees) = (read_table(), read_trees(None).expect("the catalog"));
    let flow = find_flow(&table, "capz-in-tree");
    let [image, newer] = ["1.22", "1.28"].map(|minor| {
        let minor = minor.parse().expect("a minor");
        make_image(&flow, minor, &trees).expect("an image")
    });
    let node = fold_join(&newer, &flow).expect("it joins");
    let upgraded = fold_upgrade(&image, &newer, &flow, &table).expect("an upgrade");
    for arguments in [&node.arguments, &upgraded] {
        assert!(arguments.ends_with("`--feature-gates`"), "{arguments}");
    }

    let mut lost = image;
    fold::edit_file(&mut lost.machine, LAUNCHER, |text| {
        text.replace("WindowsHostProcessContainers", "Another")
    });
    let why = fold_upgrade(&lost, &newer, &flow, &table).expect_err("an unknown gate");
    assert!(why.contains("does not know the gate"), "{why}");
}

/// Up to 1.22 the kubelet finds its certificate through a link below the folder that a reset empties.
#[test]
fn a_second_join_needs_what_the_reset_removed() {
    let (table, trees) = (read_table(), read_trees(None).expect("the catalog"));
    let plain = find_flow(&table, "plain");
    let image = make_image(&plain, "1.22".parse().expect("a minor"), &trees).expect("an image");
    assert!(fold_reset(&image, &plain, &table).is_ok());
    let mut lost = image.clone();
    fold::edit_file(&mut lost.machine, LAUNCHER, |_| "if not exist".to_owned());
    let why = fold_reset(&lost, &plain, &table).expect_err("the link is gone");
    assert!(
        why.contains(r"C:\var\lib\kubelet\etc\kubernetes\pki"),
        "{why}"
    );
}
