//! The road of README.md, from an empty folder to a node.

use super::root;

const SECTION: &str = "## From an empty folder to a node\n";

/// A fenced block.
#[derive(Debug)]
pub struct Block {
    /// `sh`, `powershell`, or `text` for what is printed.
    pub language: String,
    pub text: String,
}

#[must_use]
pub fn read_readme() -> String {
    std::fs::read_to_string(root().join("README.md")).expect("README.md")
}

/// The blocks of the section, in their order.
#[must_use]
pub fn read_road() -> Vec<Block> {
    let text = read_readme();
    let (_, after) = text.split_once(SECTION).expect("the section");
    let section = after.split("\n## ").next().unwrap_or_default();
    let fenced = section.split("```").skip(1).step_by(2);
    let blocks = fenced.filter_map(|block| {
        let (language, text) = block.split_once('\n')?;
        Some(Block {
            language: language.to_owned(),
            text: text.to_owned(),
        })
    });
    blocks.collect()
}
