//! Azure's pipeline. What decides here, and where it is said:
//!
//! * `bash:` runs `bash FILE`, without `-e`: microsoft/azure-pipelines-tasks@master Tasks/BashV3/bash.ts
//! * `AzureCLI@2` signs in, runs `bash FILE` and signs out: Tasks/AzureCLIV2/azureclitask.ts there
//! * `$(name)` is replaced where such a variable exists, else the text stays, and what was put in is not read again:
//!   microsoft/azure-pipelines-agent@master src/Agent.Sdk/Util/VarUtil.cs (`ExpandValues`); variables may name variables
//! * variables are in the environment, in upper case and with `_` for `.`:
//!   <https://learn.microsoft.com/azure/devops/pipelines/process/variables#environment-variables>
//! * a key of a matrix has at most 100 letters of A-Z, digits and `_`, a letter first:
//!   <https://learn.microsoft.com/azure/devops/pipelines/yaml-schema/jobs-job-strategy>
//! * `System.AccessToken` is in no environment unless a step puts it there:
//!   <https://learn.microsoft.com/azure/devops/pipelines/build/variables#systemaccesstoken>
//! * a step without a condition runs after success: <https://learn.microsoft.com/azure/devops/pipelines/process/conditions>
//! * stages wait for an exclusive lock in the order in which they ask, if they say so; else all but the last are cancelled:
//!   <https://learn.microsoft.com/azure/devops/pipelines/process/approvals#exclusive-lock>

use std::collections::BTreeMap;
use std::fs;

use serde_json::Value;

use super::forge::{Checkout, Forge, Machine};
use super::story::{Pipeline, read_pipeline};

pub struct Azure {
    pipeline: Value,
}

/// A run of the pipeline.
#[derive(Clone, Copy)]
struct Reason<'a> {
    revision: &'a str,
    is_request: bool,
}

const MAIN: Reason<'_> = Reason {
    revision: "origin/main",
    is_request: false,
};

struct Ended {
    succeeded: bool,
    /// Values of `task.setvariable`.
    outputs: BTreeMap<String, String>,
    summary: Option<String>,
}

impl Azure {
    pub fn new() -> Self {
        Self {
            pipeline: read_pipeline("azure.yml").remove(0),
        }
    }

    fn find_stage(&self, name: &str) -> &Value {
        let stages = self.pipeline["stages"].as_array().expect("stages");
        let found = stages.iter().find(|stage| stage["stage"] == name);
        found.unwrap_or_else(|| panic!("no stage {name}"))
    }

    /// Runs the only job of a stage, with the values of its place in a matrix or of an earlier stage.
    fn run_stage(
        &self,
        forge: &Forge,
        name: &str,
        reason: Reason<'_>,
        matrix: &BTreeMap<String, String>,
    ) -> Ended {
        let job = &self.find_stage(name)["jobs"][0];
        let deploy = &job["strategy"]["runOnce"]["deploy"]["steps"];
        let steps = job["steps"]
            .as_array()
            .or(deploy.as_array())
            .expect("steps");
        let checkout = &steps[0];
        assert_eq!(checkout["checkout"], "self", "{name}");
        let machine = forge.machine(&Checkout {
            origin: "forge://forge.test/nodes".to_owned(),
            kept: (checkout["persistCredentials"] == "true").then(|| "writer-azure".to_owned()),
            depth: match checkout["fetchDepth"].as_str() {
                Some("0") => None,
                _ => Some(1),
            },
            revision: reason.revision.to_owned(),
        });
        let variables = self.list_variables(&machine, job, reason, matrix);
        let mut run = Run {
            machine: &machine,
            environment: name_environment(&variables),
            variables,
            ended: Ended {
                succeeded: true,
                outputs: BTreeMap::new(),
                summary: None,
            },
        };
        for step in &steps[1..] {
            run.take_step(name, step);
        }
        run.ended
    }

    fn list_variables(
        &self,
        machine: &Machine<'_>,
        job: &Value,
        reason: Reason<'_>,
        matrix: &BTreeMap<String, String>,
    ) -> BTreeMap<String, String> {
        let home = |name: &str| machine.home.join(name).display().to_string();
        let mut variables = BTreeMap::new();
        for (name, value) in [
            ("imagegenUrl", "https://releases.test/imagegen".to_owned()),
            ("imagegenSha256", machine.forge.release_digest()),
            ("location", "westeurope".to_owned()),
            ("Pipeline.Workspace", home("pipeline")),
            ("Agent.TempDirectory", home("temp")),
            ("Build.BuildId", "7".to_owned()),
            ("System.JobPositionInPhase", "1".to_owned()),
            ("System.JobAttempt", "1".to_owned()),
            ("TF_BUILD", "True".to_owned()),
            (
                "System.CollectionUri",
                "https://dev.azure.test/platform/".to_owned(),
            ),
            ("System.TeamProject", "nodes".to_owned()),
            ("System.TeamProjectId", "project-1".to_owned()),
            ("Build.Repository.ID", "repository-1".to_owned()),
            ("Build.Repository.Name", "nodes".to_owned()),
            ("Build.Repository.Provider", "TfsGit".to_owned()),
        ] {
            variables.insert(name.to_owned(), value);
        }
        if reason.is_request {
            let name = "System.PullRequest.TargetBranch".to_owned();
            variables.insert(name, "refs/heads/main".to_owned());
            for (name, value) in [("PullRequestId", "1"), ("IsFork", "False")] {
                variables.insert(format!("System.PullRequest.{name}"), value.to_owned());
            }
        }
        for variable in self.pipeline["variables"].as_array().expect("variables") {
            let Some(name) = variable["name"].as_str() else {
                assert_eq!(variable["group"], "imagegen");
                continue;
            };
            let value = variable["value"].as_str().expect("value");
            variables.insert(name.to_owned(), value.to_owned());
        }
        for (name, value) in job["variables"].as_object().into_iter().flatten() {
            variables.insert(name.clone(), value.as_str().expect("value").to_owned());
        }
        variables.extend(matrix.clone());
        let names: Vec<String> = variables.keys().cloned().collect();
        for name in names {
            let expanded = expand(&variables[&name], &variables);
            variables.insert(name, expanded);
        }
        variables
    }
}

/// A job that runs.
struct Run<'a> {
    machine: &'a Machine<'a>,
    environment: BTreeMap<String, String>,
    variables: BTreeMap<String, String>,
    ended: Ended,
}

impl Run<'_> {
    fn take_step(&mut self, stage: &str, step: &Value) {
        let runs = match step["condition"].as_str() {
            None => self.ended.succeeded,
            Some("always()") => true,
            Some("not(succeeded())") => !self.ended.succeeded,
            Some(other) => panic!("unknown condition: {other}"),
        };
        if !runs {
            return;
        }
        if let Some(script) = step["bash"].as_str() {
            self.run_script(stage, script, &step["env"]);
        } else if step["task"] == "AzureCLI@2" {
            let inputs = &step["inputs"];
            // What promotes has an identity of its own.
            let connection = match stage {
                "bake" => "${{ parameters.serviceConnection }}",
                _ => "${{ parameters.productionConnection }}",
            };
            assert_eq!(inputs["azureSubscription"], connection);
            assert_eq!(
                (&inputs["scriptType"], &inputs["scriptLocation"]),
                (&"bash".into(), &"inlineScript".into())
            );
            let login = self.machine.home.join(".azure/login");
            fs::create_dir_all(login.parent().expect("parent")).expect("folder");
            fs::write(&login, "").expect("login");
            let script = inputs["inlineScript"].as_str().expect("a script");
            self.run_script(stage, script, &step["env"]);
            fs::remove_file(login).expect("logout");
        } else {
            let is_known = step["task"] == "Cache@2"
                || step["publish"].is_string()
                || step["download"] == "none";
            assert!(is_known, "unknown step: {step}");
        }
    }

    /// The run's token is a secret: only a step that names it has it.
    fn run_script(&mut self, stage: &str, script: &str, own: &Value) {
        let script = expand(script, &self.variables);
        let mut environment = self.environment.clone();
        for (name, value) in own.as_object().into_iter().flatten() {
            assert_eq!(value, "$(System.AccessToken)");
            environment.insert(name.clone(), "writer-azure".to_owned());
        }
        let ran = self.machine.run(&[], &script, &environment);
        println!("== {stage}\n{}", ran.log);
        self.ended.succeeded &= ran.code == Some(0);
        for line in ran.stdout.lines() {
            if let Some(rest) = line.strip_prefix("##vso[task.setvariable variable=") {
                let (name, value) = rest.split_once(";isOutput=true]").expect("an output");
                self.ended.outputs.insert(name.to_owned(), value.to_owned());
            }
            if let Some(path) = line.strip_prefix("##vso[task.uploadsummary]") {
                self.ended.summary = Some(fs::read_to_string(path).expect("summary"));
            }
        }
    }
}

fn name_environment(variables: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let named = variables.iter();
    named
        .map(|(name, value)| (name.to_uppercase().replace('.', "_"), value.clone()))
        .collect()
}

/// Replaces `$(name)`. Without such a variable, the search goes on behind the `$(`.
fn expand(text: &str, variables: &BTreeMap<String, String>) -> String {
    let mut expanded = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("$(") {
        expanded.push_str(before);
        let named = after.split_once(')');
        let found = named.and_then(|(name, after)| Some((variables.get(name)?, after)));
        rest = if let Some((value, after)) = found {
            expanded.push_str(&expand_value(value, variables));
            after
        } else {
            expanded.push_str("$(");
            after
        };
    }
    expanded + rest
}

/// A variable's value names variables.
fn expand_value(value: &str, variables: &BTreeMap<String, String>) -> String {
    if value.contains("$(") {
        expand(value, variables)
    } else {
        value.to_owned()
    }
}

fn check_key(key: &str) {
    let is_word = key
        .chars()
        .all(|it| it.is_ascii_alphanumeric() || it == '_');
    let begins = key.starts_with(|it: char| it.is_ascii_alphabetic());
    assert!(is_word && begins && key.len() <= 100, "{key}");
}

impl Pipeline for Azure {
    fn preview(&self, forge: &Forge) -> bool {
        forge.develop(
            "git fetch --quiet origin && git switch --quiet --detach origin/main
             git merge --quiet --no-ff --message merge origin/change
             git push --quiet --force origin HEAD:refs/pull/1/merge",
        );
        let reason = Reason {
            revision: "refs/remotes/pull/1/merge",
            is_request: true,
        };
        let ended = self.run_stage(forge, "preview", reason, &BTreeMap::new());
        let summary = ended.summary.unwrap_or_default();
        // The shell takes line ends of the end away.
        assert_eq!(
            forge.read("comment").trim_end(),
            format!("<!-- imagegen -->\n{summary}").trim_end()
        );
        let threads: Value = serde_json::from_str(&forge.read("threads.json")).expect("JSON");
        let threads = threads["value"].as_array().expect("threads");
        assert_eq!(threads.len(), 2, "{threads:?}");
        assert_eq!(threads[0]["comments"][0]["content"], "other");
        forge.write("summary", &summary);
        ended.succeeded
    }

    fn main(&self, forge: &Forge) -> bool {
        let preview = self.run_stage(forge, "preview", MAIN, &BTreeMap::new());
        assert_eq!(preview.summary, None);
        if !preview.succeeded {
            return false;
        }
        let bake = self.find_stage("bake");
        let condition = bake["condition"].as_str().expect("condition");
        assert!(condition.contains("ne(dependencies.preview.outputs['images.list.matrix'], '{}')"));
        let strategy = &bake["jobs"][0]["strategy"]["matrix"];
        assert_eq!(
            strategy,
            "$[ stageDependencies.preview.images.outputs['list.matrix'] ]"
        );
        let matrix: Value = serde_json::from_str(&preview.outputs["matrix"]).expect("JSON");
        let images = matrix.as_object().expect("a matrix");
        let mut baked = true;
        for (key, values) in images {
            check_key(key);
            let mut variables = BTreeMap::new();
            for (name, value) in values.as_object().expect("values") {
                variables.insert(name.clone(), value.as_str().expect("text").to_owned());
            }
            baked &= self.run_stage(forge, "bake", MAIN, &variables).succeeded;
        }
        // A failed stage before it does not keep this one from running.
        let conditions = ["waiting", "promote"].map(|name| {
            let condition = self.find_stage(name)["condition"].as_str();
            condition.expect("condition").to_owned()
        });
        assert!(
            conditions
                .iter()
                .all(|it| !it.contains("succeeded(") && it.contains("not(canceled())"))
        );
        assert!(conditions[0].contains("eq(dependencies.preview.result, 'Succeeded')"));
        let expected = "ne(dependencies.waiting.outputs['images.list.names'], '')";
        assert!(conditions[1].contains(expected), "{}", conditions[1]);
        let waiting = self.run_stage(forge, "waiting", MAIN, &BTreeMap::new());
        if !waiting.succeeded || waiting.outputs["names"].is_empty() {
            return baked && waiting.succeeded;
        }
        assert_eq!(
            self.find_stage("promote")["jobs"][0]["variables"]["names"],
            "$[ stageDependencies.waiting.images.outputs['list.names'] ]"
        );
        let names = BTreeMap::from([("names".to_owned(), waiting.outputs["names"].clone())]);
        let promoted = self.run_stage(forge, "promote", MAIN, &names).succeeded;
        baked && promoted
    }

    fn nightly(&self, forge: &Forge) -> bool {
        let ended = self.run_stage(forge, "nightly", MAIN, &BTreeMap::new());
        if !forge.read("newer").is_empty() {
            let body = forge.read("requests/31");
            assert!(body.contains("1.99."), "{body}");
        }
        ended.succeeded
    }

    fn weekly(&self, forge: &Forge) -> bool {
        self.run_stage(forge, "weekly", MAIN, &BTreeMap::new())
            .succeeded
    }

    fn read_preview(&self, forge: &Forge) -> String {
        forge.read("summary")
    }

    fn check_lock(&self) {
        assert_eq!(self.find_stage("bake")["lockBehavior"], "sequential");
    }

    fn cancel_signal(&self) -> &'static str {
        "-KILL"
    }
}
