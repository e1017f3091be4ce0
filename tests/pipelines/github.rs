//! GitHub's workflow. What decides here, and where it is said:
//!
//! * `shell: bash` runs `bash --noprofile --norc -e -o pipefail FILE`, no `shell` runs `bash -e FILE`:
//!   actions/runner@main src/Runner.Worker/Handlers/ScriptHandlerHelpers.cs,
//!   <https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax#jobsjob_idstepsshell>
//! * after a step that failed, only steps whose `if` has a status function run:
//!   <https://docs.github.com/actions/reference/workflows-and-actions/expressions#status-check-functions>
//! * `actions/checkout` has depth 1 and keeps the token in the clone unless told otherwise, and checks out the merge of a
//!   pull request: <https://github.com/actions/checkout/blob/v5.0.0/README.md>

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;

use super::forge::{Checkout, Forge, Machine};
use super::story::{Pipeline, read_pipeline};
use crate::support::root;

pub struct Github {
    workflow: Value,
}

/// A job of a run, with the values of its expressions.
struct Job<'a> {
    name: &'a str,
    revision: &'a str,
    /// `merge` for a pull request, `push` or the schedule's cron line.
    values: BTreeMap<String, String>,
}

/// End of a job.
struct Ended {
    succeeded: bool,
    outputs: BTreeMap<String, String>,
}

impl Github {
    pub fn new() -> Self {
        Self {
            workflow: read_pipeline("github.yml").remove(0),
        }
    }

    /// Jobs after those that bake, whatever became of these.
    fn promote(&self, forge: &Forge) -> bool {
        let jobs = &self.workflow["jobs"];
        assert_eq!(
            jobs["waiting"]["if"],
            "${{ !cancelled() && needs.check.result == 'success' }}"
        );
        assert_eq!(
            jobs["promote"]["if"],
            "${{ !cancelled() && needs.waiting.result == 'success' && needs.waiting.outputs.names != '' }}"
        );
        let waiting = self.run_job(forge, &job("waiting", "origin/main"));
        let names = waiting.outputs.get("names").cloned().unwrap_or_default();
        if !waiting.succeeded || names.is_empty() {
            return waiting.succeeded;
        }
        let mut promote = job("promote", "origin/main");
        let name = "needs.waiting.outputs.names".to_owned();
        promote.values.insert(name, names);
        self.run_job(forge, &promote).succeeded
    }

    /// Images of the matrix of a run.
    pub fn list_matrix(&self, forge: &Forge) -> usize {
        let check = self.run_job(forge, &job("check", "origin/main"));
        let matrix: Value = serde_json::from_str(&check.outputs["matrix"]).expect("JSON");
        matrix.as_array().expect("images").len()
    }

    fn run_job(&self, forge: &Forge, job: &Job<'_>) -> Ended {
        let definition = &self.workflow["jobs"][job.name];
        let steps = definition["steps"].as_array().expect("steps");
        let password = name_token(definition, "contents");
        let checkout = steps
            .iter()
            .find(|step| {
                step["uses"]
                    .as_str()
                    .is_some_and(|uses| uses.starts_with("actions/checkout@"))
            })
            .expect("a checkout");
        let depth = checkout["with"]["fetch-depth"].as_u64().unwrap_or(1);
        let machine = forge.machine(&Checkout {
            origin: "forge://forge.test/nodes".to_owned(),
            kept: (checkout["with"]["persist-credentials"] != false).then(|| password.to_owned()),
            depth: usize::try_from(depth).ok().filter(|depth| *depth > 0),
            revision: job.revision.to_owned(),
        });
        let mut run = Run::new(&machine, job, definition);
        for step in steps {
            run.take_step(step, self.workflow["defaults"]["run"]["shell"].as_str());
        }
        Ended {
            succeeded: run.succeeded,
            outputs: run.read_outputs(),
        }
    }
}

/// The run's token, by the permission of its job.
fn name_token(definition: &Value, scope: &str) -> &'static str {
    if definition["permissions"][scope] == "write" {
        "writer-github"
    } else {
        "reader-github"
    }
}

/// A job that runs.
struct Run<'a> {
    machine: &'a Machine<'a>,
    job: &'a Job<'a>,
    /// Value of `github.token`.
    token: &'static str,
    environment: BTreeMap<String, String>,
    succeeded: bool,
    outcomes: BTreeMap<String, &'static str>,
}

impl<'a> Run<'a> {
    fn new(machine: &'a Machine<'a>, job: &'a Job<'a>, definition: &Value) -> Self {
        let file = |name: &str| machine.home.join(name).display().to_string();
        let mut environment = BTreeMap::from(
            [
                ("GITHUB_OUTPUT", file("output")),
                ("GITHUB_PATH", file("path")),
                ("GITHUB_ENV", file("environment")),
                ("GITHUB_STEP_SUMMARY", file("summary")),
                ("RUNNER_TEMP", file("temp")),
                ("RUNNER_OS", "Linux".to_owned()),
                ("GITHUB_REPOSITORY", "platform/nodes".to_owned()),
                ("CI", "true".to_owned()),
                ("GITHUB_ACTIONS", "true".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        );
        for name in ["output", "path", "environment", "summary"] {
            fs::write(machine.home.join(name), "").expect("file");
        }
        if definition["permissions"]["id-token"] == "write" {
            let url = machine.forge.identities();
            environment.insert("ACTIONS_ID_TOKEN_REQUEST_URL".to_owned(), url);
            environment.insert(
                "ACTIONS_ID_TOKEN_REQUEST_TOKEN".to_owned(),
                "run-token-github".to_owned(),
            );
        }
        let mut run = Self {
            machine,
            job,
            token: match name_token(definition, "contents") {
                "reader-github" => name_token(definition, "pull-requests"),
                token => token,
            },
            environment,
            succeeded: true,
            outcomes: BTreeMap::new(),
        };
        let own = run.fill_map(&definition["env"]);
        run.environment.extend(own);
        run
    }

    fn take_step(&mut self, step: &Value, shell: Option<&str>) {
        let runs = self.decide(step["if"].as_str());
        let id = step["id"].as_str().unwrap_or_default().to_owned();
        if !runs {
            self.outcomes.insert(id, "skipped");
            return;
        }

        let good = if let Some(script) = step["run"].as_str() {
            let shell = step["shell"].as_str().or(shell);
            self.run_script(script, shell, &self.fill_map(&step["env"]))
        } else {
            let uses = step["uses"].as_str().expect("run or uses");
            self.use_action(uses, &self.fill_map(&step["with"]))
        };
        self.outcomes
            .insert(id, if good { "success" } else { "failure" });
        self.succeeded &= good;
    }

    /// Conditions of steps, by their text.
    fn decide(&self, condition: Option<&str>) -> bool {
        let failed = |id: &str| self.outcomes.get(id).is_some_and(|end| *end == "failure");
        match condition {
            Some("always()") => true,
            Some(
                "always() && steps.image.outcome != 'skipped' && steps.clone.outcome != 'success'",
            ) => {
                self.outcomes.contains_key("image")
                    && self.outcomes.get("clone") != Some(&"success")
            }
            Some(
                "always() && steps.image.outcome != 'success' && steps.image.outcome != 'skipped'",
            ) => failed("image"),
            Some("steps.still.outputs.unbuilt != ''") => {
                self.succeeded
                    && self
                        .read_outputs()
                        .get("unbuilt")
                        .is_some_and(|it| !it.is_empty())
            }
            None | Some("github.event.pull_request.head.repo.full_name == github.repository") => {
                self.succeeded
            }
            Some(other) => panic!("unknown condition: {other}"),
        }
    }

    fn run_script(
        &self,
        script: &str,
        shell: Option<&str>,
        more: &BTreeMap<String, String>,
    ) -> bool {
        let arguments: &[&str] = match shell {
            Some("bash") => &["--noprofile", "--norc", "-e", "-o", "pipefail"],
            None => &["-e"],
            Some(other) => panic!("unknown shell: {other}"),
        };
        let mut environment = self.environment.clone();
        let added = fs::read_to_string(self.machine.home.join("path")).expect("path");
        let path = added
            .lines()
            .fold(self.machine.environment["PATH"].clone(), |path, folder| {
                format!("{folder}:{path}")
            });
        environment.insert("PATH".to_owned(), path);
        let set = fs::read_to_string(self.machine.home.join("environment")).expect("environment");
        for line in set.lines() {
            let (name, value) = line.split_once('=').expect("NAME=VALUE");
            environment.insert(name.to_owned(), value.to_owned());
        }
        environment.extend(more.clone());
        let script = self.fill(script);
        let ran = self.machine.run(arguments, &script, &environment);
        println!("== {}\n{}", self.job.name, ran.log);
        // Nothing is masked in it.
        let summary = fs::read_to_string(self.machine.home.join("summary")).expect("summary");
        assert!(!summary.contains("oidc-"), "{summary}");
        ran.code == Some(0)
    }

    fn use_action(&mut self, uses: &str, with: &BTreeMap<String, String>) -> bool {
        let action = uses.split('@').next().expect("a name");
        let artifacts = self.machine.forge.path("artifacts");
        match action {
            "actions/checkout" | "actions/cache" => true,
            "./.github/actions/setup-imagegen" => {
                let path = root().join("ci/publish/setup-imagegen/action.yml");
                let text = fs::read_to_string(path).expect("action");
                let action: Value = serde_yaml_ng::from_str(&text).expect("YAML");
                for (name, value) in with {
                    self.environment
                        .insert(format!("input {name}"), value.clone());
                }
                let steps = action["runs"]["steps"].as_array().expect("steps");
                let scripts = steps
                    .iter()
                    .filter_map(|step| Some((step["run"].as_str()?, &step["env"])));
                scripts.into_iter().all(|(script, environment)| {
                    self.run_script(script, Some("bash"), &self.fill_map(environment))
                })
            }
            "actions/upload-artifact" => upload(with, &self.machine.work, &artifacts),
            other => panic!("unknown action: {other}"),
        }
    }

    fn fill_map(&self, map: &Value) -> BTreeMap<String, String> {
        let mut filled = BTreeMap::new();
        for (name, value) in map.as_object().into_iter().flatten() {
            let text = value
                .as_str()
                .map_or_else(|| value.to_string(), str::to_owned);
            filled.insert(name.clone(), self.fill(&text));
        }
        filled
    }

    /// Replaces each `${{ … }}`; an expression that is not known here is an error.
    fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${{") {
            let (expression, after) = after.split_once("}}").expect("an end");
            filled.push_str(before);
            filled.push_str(&self.evaluate(expression.trim()));
            rest = after;
        }
        filled + rest
    }

    fn evaluate(&self, expression: &str) -> String {
        if let Some(input) = expression.strip_prefix("inputs.") {
            return self.environment[&format!("input {input}")].clone();
        }
        match expression {
            "env.IMAGEGEN_URL" => "https://releases.test/imagegen".to_owned(),
            "env.IMAGEGEN_SHA256" => self.machine.forge.release_digest(),
            "vars.AZURE_LOCATION" => "westeurope".to_owned(),
            "vars.AZURE_CLIENT_ID" | "vars.AZURE_TENANT_ID" | "vars.AZURE_SUBSCRIPTION_ID" => {
                "00000000-0000-0000-0000-000000000001".to_owned()
            }
            "github.token" | "secrets.RECORDS_TOKEN || github.token" => self.token.to_owned(),
            "github.event.number" => "1".to_owned(),
            "github.run_id" => "20123456789".to_owned(),
            other => match self.job.values.get(other) {
                Some(value) => value.clone(),
                None => panic!("unknown expression: {other}"),
            },
        }
    }

    fn read_outputs(&self) -> BTreeMap<String, String> {
        let text = fs::read_to_string(self.machine.home.join("output")).expect("output");
        let lines = text
            .lines()
            .map(|line| line.split_once('=').expect("NAME=VALUE"));
        lines
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect()
    }
}

/// One file lies in its artifact under its name alone.
fn upload(with: &BTreeMap<String, String>, work: &Path, artifacts: &Path) -> bool {
    let folder = artifacts.join(&with["name"]);
    let mut found = false;
    for path in with["path"].lines() {
        let file = work.join(path);
        if file.is_file() {
            fs::create_dir_all(&folder).expect("artifact");
            fs::copy(&file, folder.join(file.file_name().expect("name"))).expect("copy");
        }
        found |= file.exists();
    }
    found || with.get("if-no-files-found").map(String::as_str) != Some("error")
}

fn job<'a>(name: &'a str, revision: &'a str) -> Job<'a> {
    Job {
        name,
        revision,
        values: BTreeMap::new(),
    }
}

impl Pipeline for Github {
    fn preview(&self, forge: &Forge) -> bool {
        forge.develop(
            "git fetch --quiet origin && git switch --quiet --detach origin/main
             git merge --quiet --no-ff --message merge origin/change
             git push --quiet --force origin HEAD:refs/pull/1/merge",
        );
        let ended = self.run_job(forge, &job("preview", "refs/remotes/pull/1/merge"));
        let comments: Value = serde_json::from_str(&forge.read("comments.json")).expect("JSON");
        let comments = comments.as_array().expect("comments");
        assert_eq!(comments.len(), 2, "{comments:?}");
        assert_eq!(comments[0]["body"], "other");
        ended.succeeded
    }

    fn main(&self, forge: &Forge) -> bool {
        let _ = fs::remove_dir_all(forge.path("artifacts"));
        let check = self.run_job(forge, &job("check", "origin/main"));
        if !check.succeeded {
            return false;
        }
        let bake = &self.workflow["jobs"]["bake"];
        assert_eq!(bake["if"], "needs.check.outputs.matrix != '[]'");
        assert_eq!(
            bake["strategy"]["matrix"]["image"],
            "${{ fromJSON(needs.check.outputs.matrix) }}"
        );
        assert_eq!(bake["strategy"]["fail-fast"], false);
        let matrix: Value = serde_json::from_str(&check.outputs["matrix"]).expect("JSON");
        let images = matrix.as_array().expect("images");
        let mut baked = true;
        for (index, image) in images.iter().enumerate() {
            let mut job = job("bake", "origin/main");
            for field in ["config", "workspace"] {
                let value = image[field].as_str().expect("text").to_owned();
                job.values.insert(format!("matrix.image.{field}"), value);
            }
            job.values
                .insert("strategy.job-index".to_owned(), (index + 250).to_string());
            baked &= self.run_job(forge, &job).succeeded;
        }
        let promoted = self.promote(forge);
        baked && promoted
    }

    fn nightly(&self, forge: &Forge) -> bool {
        self.run_job(forge, &job("nightly", "origin/main"))
            .succeeded
    }

    fn weekly(&self, forge: &Forge) -> bool {
        self.run_job(forge, &job("weekly", "origin/main")).succeeded
    }

    fn read_preview(&self, forge: &Forge) -> String {
        forge.read("comment")
    }

    fn check_lock(&self) {
        let lock = &self.workflow["jobs"]["bake"]["concurrency"];
        assert_eq!(
            lock,
            "bake-${{ github.workflow }}-${{ matrix.image.config }}"
        );
    }

    fn cancel_signal(&self) -> &'static str {
        "-KILL"
    }
}
