//! The table of pod networks.

use std::collections::BTreeSet;
use std::fs;

use imagegen::catalog::Trees;
use imagegen::model::definition::ImageDefinition;
use imagegen::planning::resolve_plan;
use imagegen::selection::read_trees;

use crate::support::root;

const NETWORKS: &str = "<!-- networks: from plans -->\n";

const END_OF_NETWORKS: &str = "<!-- end of networks -->\n";

/// Line, Windows release and runtime of the table's columns.
const SELECTIONS: [(&str, &str, &str); 4] = [
    ("1.20", "2019", "docker"),
    ("1.20", "2019", "containerd"),
    ("1.30", "2022", "containerd"),
    ("1.36", "2025", "containerd"),
];

/// Codes of warnings, or of the refusal, of one selection.
type Outcome = Result<BTreeSet<String>, String>;

const ACCESSES: [&str; 3] = ["hostprocess", "wins", "services"];

/// Outcomes of the accesses to the host.
fn plan_network(trees: &Trees, cni: &str, at: (&str, &str, &str)) -> [Outcome; 3] {
    let (line, windows, runtime) = at;
    ACCESSES.map(|access| {
        let selection = ImageDefinition {
            target: Some("azure".to_owned()),
            kubernetes: Some(line.to_owned()),
            windows: Some(windows.to_owned()),
            runtime: runtime.parse().ok(),
            cni: Some(cni.to_owned()),
            host_access: access.parse().ok(),
            ..ImageDefinition::default()
        };
        let plan = resolve_plan(&selection, trees).map_err(|error| {
            let text = error.to_string();
            let code = text
                .split_once('[')
                .and_then(|(_, rest)| rest.split_once(']'));
            code.map_or(text.clone(), |(code, _)| code.to_owned())
        })?;
        let warnings = plan.warnings().into_iter();
        Ok(warnings.map(|warning| warning.id).collect())
    })
}

/// Each access of one cell, with what another network does not have: `usual` has that network's outcomes.
fn format_cell(outcomes: &[Outcome; 3], usual: &[Outcome; 3]) -> String {
    let mut words = Vec::new();
    for ((access, outcome), usual) in ACCESSES.iter().zip(outcomes).zip(usual) {
        let word = match (outcome, usual) {
            // The line or the runtime has no such access, whatever the network.
            (Err(_), Err(_)) => continue,
            (Err(code), Ok(_)) => format!("{access}: refused (`{code}`)"),
            (Ok(found), usual) => {
                let none = BTreeSet::new();
                let usual = usual.as_ref().unwrap_or(&none);
                let own: Vec<String> = found
                    .difference(usual)
                    .map(|id| format!("`{id}`"))
                    .collect();
                if own.is_empty() {
                    (*access).to_owned()
                } else {
                    format!("{access} (warns: {})", own.join(", "))
                }
            }
        };
        words.push(word);
    }
    words.join(", ")
}

/// The table of pod networks says what plans say; `UPDATE_GOLDEN=1` writes it.
#[test]
fn the_table_of_networks_is_what_plans_say() {
    let trees = read_trees(None).expect("the catalog");
    let heads = SELECTIONS.map(|(line, windows, runtime)| format!("{line}, {windows}, {runtime}"));
    let mut rows = vec![
        format!("| network | {} |", heads.join(" | ")),
        "|---|---|---|---|---|".to_owned(),
    ];
    let bare = SELECTIONS.map(|at| plan_network(&trees, "none", at));
    let calico = SELECTIONS.map(|at| plan_network(&trees, "calico", at));
    for cni in trees.catalog.network_names() {
        let mut cells = Vec::new();
        for (index, at) in SELECTIONS.into_iter().enumerate() {
            let cell = match cni.as_str() {
                "none" => format_cell(&bare[index], &calico[index]),
                "calico" => format_cell(&calico[index], &bare[index]),
                _ => format_cell(&plan_network(&trees, &cni, at), &bare[index]),
            };
            cells.push(cell);
        }
        rows.push(format!("| `{cni}` | {} |", cells.join(" | ")));
    }
    let table = rows.join("\n") + "\n";
    assert!(table.contains("refused (`"), "{table}");

    let path = root().join("provisioners/README.md");
    let readme = fs::read_to_string(&path).expect("README.md");
    let (before, rest) = readme.split_once(NETWORKS).expect("the start of the table");
    let (there, after) = rest
        .split_once(END_OF_NETWORKS)
        .expect("the end of the table");
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        let text = format!("{before}{NETWORKS}{table}{END_OF_NETWORKS}{after}");
        fs::write(&path, text).expect("README.md");
        return;
    }
    assert_eq!(there, table, "UPDATE_GOLDEN=1 writes the table anew");
}
