//! Statements about an image in the form of in-toto (<https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md>):
//! its provenance (SLSA v1), its bill of materials, the report of its checks.

use serde_json::{Map, Value, json};

use crate::base::program::ProgramVersion;
use crate::lock::Lock;
use crate::model::evidence::StatementKind;

use super::inventory::Item;

/// `_type` of a statement.
pub const STATEMENT_TYPE: &str = "https://in-toto.io/Statement/v1";

/// The type of our builds. Its external parameter is `selection` of the lockfile, as `imagegen schema lock` describes it.
const BUILD_TYPE: &str = "https://imagegen.dev/build/v1";

/// A thing that a statement is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedSubject {
    pub name: String,
    pub sha256: String,
}

/// A file beside a record, which a statement names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestedFile {
    pub name: String,
    pub sha256: String,
}

/// Parts of the provenance of an image.
#[derive(Debug)]
pub struct Provenance<'a> {
    pub lock: &'a Lock,
    /// `image.json`
    pub record: &'a Value,
    pub items: &'a [Item],
    /// URI of what builds.
    pub builder: String,
    pub byproducts: Vec<DigestedFile>,
    pub program: ProgramVersion,
}

/// A statement as one JSON value.
pub fn format_statement(
    kind: StatementKind,
    subjects: &[NamedSubject],
    predicate: &Value,
) -> Value {
    let subjects: Vec<Value> = subjects
        .iter()
        .map(|subject| json!({ "name": subject.name, "digest": { "sha256": subject.sha256 } }))
        .collect();
    json!({
        "_type": STATEMENT_TYPE,
        "subject": subjects,
        "predicateType": kind.predicate_type(),
        "predicate": predicate,
    })
}

/// The predicate of SLSA provenance v1 (<https://slsa.dev/spec/v1.0/provenance>).
pub fn describe_provenance(provenance: &Provenance<'_>) -> Value {
    let Provenance { lock, record, .. } = provenance;
    let mut metadata = Map::new();
    for (name, value) in [
        ("invocationId", &record["runUrl"]),
        ("startedOn", &record["started"]),
        ("finishedOn", &record["finished"]),
    ] {
        if value.as_str().is_some_and(|text| !text.is_empty()) {
            metadata.insert(name.to_owned(), value.clone());
        }
    }
    let byproducts: Vec<Value> = provenance.byproducts.iter().map(describe_file).collect();
    json!({
        "buildDefinition": {
            "buildType": BUILD_TYPE,
            "externalParameters": { "selection": lock.selection },
            "internalParameters": {
                "lock": record["lock"],
                "catalog": lock.inputs.catalog,
                "policy": record["policy"],
                "waived": record["waived"],
            },
            "resolvedDependencies": list_dependencies(provenance),
        },
        "runDetails": {
            "builder": {
                "id": provenance.builder,
                "version": { "imagegen": provenance.program.version },
            },
            "metadata": metadata,
            "byproducts": byproducts,
        },
    })
}

fn describe_file(file: &DigestedFile) -> Value {
    json!({ "name": file.name, "digest": { "sha256": file.sha256 } })
}

/// The definition's commit, the base image, every subject with a digest, and the programs that build.
fn list_dependencies(provenance: &Provenance<'_>) -> Vec<Value> {
    let record = provenance.record;
    let mut dependencies = Vec::new();
    if let Some(commit) = record["git"]["commit"].as_str() {
        let mut source = json!({ "name": "definition", "digest": { "gitCommit": commit } });
        if let Some(repository) = record["git"]["repository"].as_str() {
            source["uri"] = json!(format!("git+{repository}"));
        }
        source["annotations"] = json!({ "dirty": record["git"]["dirty"] });
        dependencies.push(source);
    }
    let mut base = json!({ "name": "base image", "annotations": record["baseImage"]["variables"] });
    if let Some(id) = record["baseImage"]["id"].as_str() {
        base["annotations"]["id"] = json!(id);
    }
    let digests = record["baseImage"]["digests"].as_array();
    let digest = digests.and_then(|digests| digests.first()?.as_str()?.split_once(':'));
    if let Some((algorithm, digest)) = digest {
        base["digest"] = json!({ algorithm: digest });
    }
    dependencies.push(base);
    for item in provenance.items {
        for part in std::iter::once(item).chain(&item.members) {
            dependencies.extend(describe_item(part));
        }
    }
    for tool in record["tools"].as_array().into_iter().flatten() {
        let digest = json!({ "sha256": tool["sha256"] });
        dependencies.push(json!({ "name": tool["name"], "digest": digest }));
    }
    dependencies
}

/// A dependency with its digests; none if it has none.
fn describe_item(item: &Item) -> Option<Value> {
    if item.hashes.is_empty() {
        return None;
    }
    let hashes = item.hashes.iter();
    let digests: Map<String, Value> = hashes
        .map(|(algorithm, digest)| (algorithm.clone(), json!(digest)))
        .collect();
    let mut dependency = json!({ "name": item.id, "digest": digests });
    if let Some(purl) = &item.purl {
        dependency["uri"] = json!(purl);
    }
    if let Some(url) = &item.url {
        dependency["downloadLocation"] = json!(url);
    }
    Some(dependency)
}

/// The predicate of a test result
/// (<https://github.com/in-toto/attestation/blob/main/spec/predicates/test-result.md>).
pub fn describe_checks(report: &Value, configuration: &[DigestedFile], url: Option<&str>) -> Value {
    let is_passed = report["passed"] == true;
    let (mut passed, mut failed) = (Vec::new(), Vec::new());
    for resource in report["resources"].as_array().into_iter().flatten() {
        if resource["result"] == "unchanged" {
            passed.push(resource["name"].clone());
        } else {
            failed.push(resource["name"].clone());
        }
    }
    let configuration: Vec<Value> = configuration.iter().map(describe_file).collect();
    let mut predicate = json!({
        "result": if is_passed { "PASSED" } else { "FAILED" },
        "configuration": configuration,
        "passedTests": passed,
        "warnedTests": [],
        "failedTests": failed,
    });
    if let Some(url) = url {
        predicate["url"] = json!(url);
    }
    predicate
}
