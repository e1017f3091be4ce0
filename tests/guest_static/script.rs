//! A PowerShell script as a syntax tree, and what commands and functions declare.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use tree_sitter::{Node, Parser, Tree};
use walkdir::WalkDir;

pub(super) struct Script {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) tree: Tree,
}

impl Script {
    pub(super) fn new(name: &str, text: String) -> Self {
        let mut parser = Parser::new();
        parser
            .set_language(&tree_sitter_powershell::LANGUAGE.into())
            .unwrap();
        let tree = parser.parse(&text, None).unwrap();
        Self {
            name: name.to_owned(),
            text,
            tree,
        }
    }

    /// A file of abilities, or the one that loads them.
    pub(super) fn is_platform(&self) -> bool {
        self.name.contains("/engine/windows/") || self.name.ends_with("/engine/Windows.ps1")
    }

    /// A file of the simulation's abilities, or the one that loads them.
    pub(super) fn is_simulation(&self) -> bool {
        self.name.contains("/guest/simulated/") || self.name.ends_with("/guest/Simulated.ps1")
    }

    /// A suite for a real Windows.
    pub(super) fn is_suite(&self) -> bool {
        self.name.starts_with("tests/guest/real")
    }

    /// A file that suites for a real Windows and cases of the simulation load.
    pub(super) fn is_shared(&self) -> bool {
        self.name == "tests/guest/script-paths.ps1"
    }

    /// Cases of the simulation, and what they load. They are executed: a run shows what a rule would guess, and blocks of
    /// Pester share variables as no function does.
    pub(super) fn is_case(&self) -> bool {
        let folders = ["tests/guest/world/", "tests/guest/matrix/"];
        self.name.ends_with(".Tests.ps1") || folders.iter().any(|it| self.name.starts_with(it))
    }

    /// Name of the file without its folder.
    pub(super) fn leaf(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }

    pub(super) fn is_module(&self) -> bool {
        self.name
            .rsplit_once('.')
            .is_some_and(|(_, suffix)| suffix == "psm1")
    }

    pub(super) fn of(&self, node: Node) -> &str {
        &self.text[node.byte_range()]
    }

    pub(super) fn finding(&self, node: Node, what: &str) -> String {
        format!("{}:{}: {what}", self.name, node.start_position().row + 1)
    }

    /// All nodes, parents before children.
    pub(super) fn nodes(&self) -> Vec<Node<'_>> {
        let mut found = vec![self.tree.root_node()];
        let mut next = 0;
        while next < found.len() {
            let node = found[next];
            found.extend(node.children(&mut node.walk()));
            next += 1;
        }
        found
    }

    pub(super) fn kind<'a>(&'a self, kind: &'static str) -> impl Iterator<Item = Node<'a>> {
        self.nodes()
            .into_iter()
            .filter(move |node| node.kind() == kind)
    }
}

pub(super) struct Parameter {
    pub(super) name: String,
    pub(super) text: String,
    pub(super) switch: bool,
    pub(super) mandatory: bool,
}

/// Parameters of functions and commands, by lower-case name.
pub(super) type Signatures = BTreeMap<String, Vec<Parameter>>;

pub(super) struct Known {
    pub(super) functions: Signatures,
    pub(super) commands: Signatures,
    pub(super) modules: BTreeMap<String, String>,
    pub(super) common: Vec<Parameter>,
}

pub(super) fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

pub(super) fn scripts_below(folder: &str) -> Vec<Script> {
    let top = root().join(folder);
    let files = WalkDir::new(&top).follow_links(true).sort_by_file_name();
    let mut scripts = Vec::new();
    for file in files.into_iter().map(Result::unwrap) {
        if file
            .path()
            .extension()
            .is_some_and(|suffix| suffix == "ps1" || suffix == "psm1")
        {
            let inner = file
                .path()
                .strip_prefix(&top)
                .unwrap()
                .to_str()
                .unwrap()
                .replace('\\', "/");
            let text = std::fs::read_to_string(file.path()).unwrap();
            scripts.push(Script::new(&format!("{folder}/{inner}"), text));
        }
    }
    assert!(!scripts.is_empty(), "no scripts in {folder}");
    scripts
}

pub(super) fn child<'a>(node: Node<'a>, kind: &str) -> Option<Node<'a>> {
    node.children(&mut node.walk())
        .find(|child| child.kind() == kind)
}

pub(super) fn parameters(script: &Script, function: Node) -> Vec<Parameter> {
    let list = child(function, "script_block")
        .and_then(|block| child(block, "param_block"))
        .and_then(|block| child(block, "parameter_list"));
    let Some(list) = list else { return Vec::new() };
    let declared = list
        .children(&mut list.walk())
        .filter(|node| node.kind() == "script_parameter")
        .collect::<Vec<_>>();
    let read = |node: &Node| {
        let attributes = child(*node, "attribute_list").map_or("", |found| script.of(found));
        Parameter {
            name: script
                .of(child(*node, "variable").unwrap())
                .trim_start_matches('$')
                .to_owned(),
            text: script.of(*node).to_owned(),
            switch: attributes.contains("[switch]"),
            mandatory: attributes.contains("Mandatory"),
        }
    };
    declared.iter().map(read).collect()
}

pub(super) fn functions(script: &Script) -> Vec<(String, Node<'_>)> {
    let named = |node| {
        (
            script.of(child(node, "function_name").unwrap()).to_owned(),
            node,
        )
    };
    script.kind("function_statement").map(named).collect()
}

pub(super) fn signatures(scripts: &[Script]) -> Signatures {
    let each = scripts.iter().flat_map(|script| {
        functions(script)
            .into_iter()
            .map(|(name, node)| (name.to_lowercase(), parameters(script, node)))
    });
    each.collect()
}

pub(super) fn known(scripts: &[Script]) -> Known {
    let text = std::fs::read_to_string(root().join("tests/fixtures/powershell-5.1-commands.json"))
        .unwrap();
    let data: Value = serde_json::from_str(&text).unwrap();
    let read = |names: &Value| {
        let one = |name: &str| Parameter {
            name: name.trim_end_matches('?').to_owned(),
            text: String::new(),
            switch: name.ends_with('?'),
            mandatory: false,
        };
        names
            .as_str()
            .unwrap()
            .split_whitespace()
            .map(one)
            .collect::<Vec<_>>()
    };
    let (mut commands, mut modules) = (Signatures::new(), BTreeMap::new());
    for (module, entries) in data["modules"].as_object().unwrap() {
        for (name, names) in entries.as_object().unwrap() {
            commands.insert(name.to_lowercase(), read(names));
            modules.insert(name.to_lowercase(), module.clone());
        }
    }
    Known {
        functions: signatures(scripts),
        commands,
        modules,
        common: read(&data["commonParameters"]),
    }
}
