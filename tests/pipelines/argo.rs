//! Argo's workflows. What decides here, and where it is said:
//!
//! * `{{…}}` is replaced in the whole template, the script too, and a name that is not known is an error:
//!   <https://argo-workflows.readthedocs.io/en/latest/variables/>
//! * `outputs.result` is the standard output without its last line end, and `withParam` makes a task of each element:
//!   argoproj/argo-workflows@main workflow/executor/executor.go (`CaptureScriptResult`)
//! * a task runs when its `depends` holds, a task of an empty list is skipped, and a workflow fails with a task on which
//!   no other depends: <https://argo-workflows.readthedocs.io/en/latest/enhanced-depends-logic/>
//! * a git artifact is a clone with every branch at `revision`: workflow/artifacts/git/git.go there
//! * the script is a file of `command`, and a signal goes to its process group: workflow/executor/os-specific there
//! * a pod with the label gets the token's file and ids:
//!   <https://azure.github.io/azure-workload-identity/docs/topics/service-account-labels-and-annotations.html>

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use serde_json::Value;

use super::forge::{Checkout, Forge};
use super::story::{Pipeline, read_pipeline};
use crate::support::root;

const ID: &str = "00000000-0000-0000-0000-000000000001";

pub struct Argo {
    documents: Vec<Value>,
}

/// A pod that ended.
struct Ended {
    succeeded: bool,
    result: String,
    /// Output parameters that it wrote.
    outputs: BTreeMap<String, String>,
}

/// A task that ended, or that never ran.
#[derive(Default)]
struct EndedTask {
    state: &'static str,
    result: String,
    outputs: BTreeMap<String, String>,
}

impl Argo {
    pub fn new() -> Self {
        Self {
            documents: read_pipeline("argo.yml"),
        }
    }

    /// Names of the clones of a workflow.
    pub fn list_clones(&self, forge: &Forge) -> Vec<String> {
        let check = self.run_pod(forge, "check", "main", &BTreeMap::new());
        let items: Value = serde_json::from_str(&check.result).expect("JSON");
        let items = items.as_array().expect("items").iter();
        let names = items.map(|item| item["clone"].as_str().expect("a name").to_owned());
        names.collect()
    }

    /// Names of the templates that sign in to the cloud and run for hours, and how long the token of their pods lives.
    pub fn list_tokens(&self) -> Vec<(&str, &Value)> {
        let templates = self.documents[0]["spec"]["templates"].as_array();
        let mut tokens = Vec::new();
        for template in templates.expect("templates") {
            let metadata = &template["metadata"];
            if metadata["labels"]["azure.workload.identity/use"] != "true" {
                continue;
            }
            assert_eq!(template["activeDeadlineSeconds"], 14400);
            let name = "azure.workload.identity/service-account-token-expiration";
            let lifetime = &metadata["annotations"][name];
            tokens.push((template["name"].as_str().expect("a name"), lifetime));
        }
        tokens
    }

    /// Time limits: of the workflow, which has that of an approval, too, and of each template that runs a pod.
    pub fn list_deadlines(&self) -> (&Value, Vec<&Value>) {
        let spec = &self.documents[0]["spec"];
        let templates = spec["templates"].as_array().expect("templates");
        let pods = templates.iter().filter(|it| it["script"].is_object());
        let deadlines = pods.map(|it| &it["activeDeadlineSeconds"]).collect();
        (&spec["activeDeadlineSeconds"], deadlines)
    }

    fn find_template(&self, name: &str) -> &Value {
        let templates = self.documents[0]["spec"]["templates"]
            .as_array()
            .expect("templates");
        let found = templates.iter().find(|template| template["name"] == name);
        found.unwrap_or_else(|| panic!("no template {name}"))
    }

    fn run_pod(
        &self,
        forge: &Forge,
        name: &str,
        revision: &str,
        inputs: &BTreeMap<String, String>,
    ) -> Ended {
        let mut values = inputs.clone();
        let parameters = self.documents[0]["spec"]["arguments"]["parameters"].as_array();
        for parameter in parameters.expect("parameters") {
            let name = parameter["name"].as_str().expect("name");
            let value = parameter["value"].as_str().expect("value");
            values.insert(format!("workflow.parameters.{name}"), value.to_owned());
        }
        for (name, value) in [
            ("workflow.parameters.repository", "forge://forge.test/nodes"),
            ("workflow.parameters.revision", revision),
            ("workflow.parameters.comments", "https://api.test/comments"),
            ("workflow.parameters.subscription", ID),
            ("workflow.creationTimestamp.s", "1767225600"),
        ] {
            values.insert(name.to_owned(), value.to_owned());
        }
        let template = fill(self.find_template(name), &values);
        let git = &template["inputs"]["artifacts"][0]["git"];
        let machine = forge.machine(&Checkout {
            origin: git["repo"].as_str().expect("repo").to_owned(),
            kept: None,
            depth: None,
            revision: name_revision(git["revision"].as_str().expect("revision")),
        });
        assert_eq!(
            template["inputs"]["artifacts"][0]["path"],
            template["script"]["workingDir"]
        );

        let image = install_image(forge);
        let path = format!("{image}:{}", machine.environment["PATH"]);
        let store = machine.home.join("store").display().to_string();
        let mut environment = BTreeMap::from([
            ("PATH".to_owned(), path),
            ("IMAGEGEN_STORE".to_owned(), store),
        ]);
        for variable in template["script"]["env"].as_array().into_iter().flatten() {
            let name = variable["name"].as_str().expect("name").to_owned();
            let secret = &variable["valueFrom"]["secretKeyRef"];
            let value = match variable["value"].as_str() {
                Some(value) => value,
                None if secret["name"] == "imagegen-git" && secret["key"] == "token" => {
                    "writer-argo"
                }
                None => panic!("unknown source of {name}"),
            };
            environment.insert(name, value.to_owned());
        }
        if template["metadata"]["labels"]["azure.workload.identity/use"] == "true" {
            let file = machine.home.join("azure-identity-token");
            fs::write(&file, "oidc-argo").expect("token");
            for (name, value) in [
                ("AZURE_CLIENT_ID", ID.to_owned()),
                ("AZURE_TENANT_ID", ID.to_owned()),
                ("AZURE_FEDERATED_TOKEN_FILE", file.display().to_string()),
            ] {
                environment.insert(name.to_owned(), value);
            }
        }
        assert_eq!(template["script"]["command"], serde_json::json!(["bash"]));
        let source = template["script"]["source"].as_str().expect("source");
        let ran = machine.run(&[], source, &environment);
        println!("== {name}\n{}", ran.log);
        let result = ran.stdout.strip_suffix('\n').unwrap_or(&ran.stdout);
        let mut outputs = BTreeMap::new();
        for output in template["outputs"]["parameters"]
            .as_array()
            .into_iter()
            .flatten()
        {
            let path = output["valueFrom"]["path"].as_str().expect("path");
            let file = path
                .strip_prefix("/sources/")
                .expect("a file of the sources");
            if let Ok(value) = fs::read_to_string(machine.work.join(file)) {
                let name = output["name"].as_str().expect("name").to_owned();
                outputs.insert(name, value.trim_end().to_owned());
            }
        }
        Ended {
            succeeded: ran.code == Some(0),
            result: result.to_owned(),
            outputs,
        }
    }

    fn run(&self, forge: &Forge, name: &str, revision: &str) -> bool {
        self.run_pod(forge, name, revision, &BTreeMap::new())
            .succeeded
    }

    /// The state of a task and its result, by those that ended before it.
    fn run_task(
        &self,
        forge: &Forge,
        task: &Value,
        ended: &BTreeMap<&str, EndedTask>,
    ) -> EndedTask {
        let holds = task["depends"].as_str().is_none_or(|depends| {
            depends.split(" || ").any(|condition| {
                let (name, state) = condition.split_once('.').expect("a state");
                ended[name].state == state
            })
        });
        if !holds {
            // A task that waits for one that failed ends like it.
            let depends = task["depends"].as_str().expect("depends");
            let is_broken = depends.split(" || ").any(|condition| {
                let (name, _) = condition.split_once('.').expect("a state");
                ["Failed", "Broken"].contains(&ended[name].state)
            });
            return name_end(if is_broken { "Broken" } else { "Omitted" });
        }
        if let Some(condition) = task["when"].as_str() {
            let counted = condition.strip_suffix(".outputs.result}} > 0");
            let name = counted.and_then(|it| it.strip_prefix("{{tasks."));
            let result = &ended[name.expect("a condition that is known")].result;
            if result.parse::<usize>().expect("a number") == 0 {
                return name_end("Skipped");
            }
        }

        let template = task["template"].as_str().expect("template");
        if self.find_template(template)["suspend"].is_object() {
            return name_end("Succeeded");
        }
        let known = list_outputs(ended);
        let Some(list) = task["withParam"].as_str() else {
            let pod = self.run_pod(forge, template, "main", &fill_inputs(task, &known));
            return EndedTask {
                state: name_state(pod.succeeded),
                result: pod.result,
                outputs: pod.outputs,
            };
        };
        assert_eq!(list, "{{tasks.check.outputs.result}}");
        let items: Value = serde_json::from_str(&ended["check"].result).expect("JSON");
        let items = items.as_array().expect("items");
        if items.is_empty() {
            return name_end("Skipped");
        }
        let mut succeeded = true;
        for item in items {
            let mut values = known.clone();
            for (key, value) in item.as_object().expect("an item") {
                let value = value.as_str().expect("text").to_owned();
                values.insert(format!("item.{key}"), value);
            }
            let inputs = fill_inputs(task, &values);
            succeeded &= self.run_pod(forge, template, "main", &inputs).succeeded;
        }
        name_end(name_state(succeeded))
    }

    /// The template that a schedule starts.
    fn run_scheduled(&self, forge: &Forge, name: &str) -> bool {
        let crons = self.documents[1..].iter();
        let templates: Vec<&Value> = crons
            .map(|cron| &cron["spec"]["workflowSpec"]["entrypoint"])
            .collect();
        assert!(templates.contains(&&Value::from(name)), "{templates:?}");
        self.run(forge, name, "main")
    }
}

fn name_state(succeeded: bool) -> &'static str {
    if succeeded { "Succeeded" } else { "Failed" }
}

fn name_end(state: &'static str) -> EndedTask {
    EndedTask {
        state,
        ..EndedTask::default()
    }
}

/// A branch as a clone knows it, or a commit.
fn name_revision(revision: &str) -> String {
    if revision.len() == 40 && revision.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return revision.to_owned();
    }
    format!("origin/{revision}")
}

/// Output parameters of tasks, by the names that others refer to.
fn list_outputs(ended: &BTreeMap<&str, EndedTask>) -> BTreeMap<String, String> {
    let mut known = BTreeMap::new();
    for (task, end) in ended {
        for (name, value) in &end.outputs {
            known.insert(
                format!("tasks.{task}.outputs.parameters.{name}"),
                value.clone(),
            );
        }
    }
    known
}

/// Parameters of a task.
fn fill_inputs(task: &Value, values: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let mut inputs = BTreeMap::new();
    let arguments = fill(&task["arguments"]["parameters"], values);
    for parameter in arguments.as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().expect("name");
        let value = parameter["value"].as_str().expect("value");
        inputs.insert(format!("inputs.parameters.{name}"), value.to_owned());
    }
    inputs
}

/// Programs of the container image.
fn install_image(forge: &Forge) -> String {
    let folder = forge.path("image");
    fs::create_dir_all(&folder).expect("image");
    for (source, name) in [
        (forge.path("release/imagegen"), "imagegen"),
        (
            root().join("ci/publish/pipelines/node-images"),
            "node-images",
        ),
    ] {
        let target = folder.join(name);
        fs::copy(source, &target).expect("copy");
        fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).expect("mode");
    }
    folder.display().to_string()
}

/// Replaces each `{{…}}` of a template.
fn fill(template: &Value, values: &BTreeMap<String, String>) -> Value {
    match template {
        Value::String(text) => {
            let mut filled = String::new();
            let mut rest = text.as_str();
            while let Some((before, after)) = rest.split_once("{{") {
                let (name, after) = after.split_once("}}").expect("an end");
                let value = values.get(name.trim());
                filled.push_str(before);
                filled.push_str(value.unwrap_or_else(|| panic!("unknown {name}")));
                rest = after;
            }
            Value::String(filled + rest)
        }
        Value::Array(items) => items.iter().map(|item| fill(item, values)).collect(),
        Value::Object(map) => {
            let filled = map
                .iter()
                .map(|(key, value)| (key.clone(), fill(value, values)));
            Value::Object(filled.collect())
        }
        other => other.clone(),
    }
}

impl Pipeline for Argo {
    fn preview(&self, forge: &Forge) -> bool {
        self.run(forge, "preview", "change")
    }

    fn main(&self, forge: &Forge) -> bool {
        let tasks = self.find_template("main")["dag"]["tasks"]
            .as_array()
            .expect("tasks");
        assert_eq!(self.find_template("main")["dag"]["failFast"], false);
        let mut ended: BTreeMap<&str, EndedTask> = BTreeMap::new();
        for task in tasks {
            let name = task["name"].as_str().expect("name");
            let outcome = self.run_task(forge, task, &ended);
            ended.insert(name, outcome);
        }
        let mut leaves = tasks.iter().filter(|task| {
            let name = format!("{}.", task["name"].as_str().expect("name"));
            let depends = tasks.iter().filter_map(|task| task["depends"].as_str());
            !depends.into_iter().any(|text| text.contains(&name))
        });
        leaves.all(|task| {
            let end = &ended[task["name"].as_str().expect("name")];
            !["Failed", "Broken"].contains(&end.state)
        })
    }

    fn nightly(&self, forge: &Forge) -> bool {
        self.run_scheduled(forge, "nightly")
    }

    fn weekly(&self, forge: &Forge) -> bool {
        self.run_scheduled(forge, "weekly")
    }

    fn read_preview(&self, forge: &Forge) -> String {
        forge.read("comment")
    }

    fn check_lock(&self) {
        let mutexes = &self.find_template("bake")["synchronization"]["mutexes"];
        assert_eq!(mutexes[0]["name"], "bake-{{inputs.parameters.definition}}");
    }

    fn cancel_signal(&self) -> &'static str {
        "-TERM"
    }
}
