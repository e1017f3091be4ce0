//! A forge with a repository of three images, a cloud, and machines on which jobs run.
//!
//! git, jq, bash, curl and imagegen are the real ones. `programs/` stands for what only services have: each program
//! demands what the real one demands, and writes its arguments down.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use imagegen::base::digest::sha256_hex;
use serde_json::{Value, json};

use super::shell::{Ran, Script, run_script};
use crate::publish::Build;
use crate::support::planned::list_artifacts;
use crate::support::server::{Server, Step, status, whole};
use crate::support::{Test, archives, list_waivers, override_build, program, root};

const SELECTION: &str = "--target azure --host-access services";

/// Names that differ in one character that not every service takes, or that begin with a digit.
pub const IMAGES: [(&str, &str, &str); 3] = [
    ("node.1", "2022", "1.36.0"),
    ("node-1", "2025", "1.36.0"),
    ("1-old", "2022", "1.35.0"),
];

/// Names of images in the cloud: of Windows and Kubernetes.
pub const NODE_DOT: &str = "2022-1.36.0";
pub const NODE_DASH: &str = "2025-1.36.0";
pub const OLD: &str = "2022-1.35.0";

pub struct Forge {
    test: Test,
    /// Endpoint for identities of GitHub's runs.
    identities: Server,
    waivers: String,
    machines: std::cell::Cell<usize>,
}

impl Forge {
    /// None without the programs.
    pub fn new() -> Option<Self> {
        for name in ["jq", "git", "bash", "curl"] {
            program(name)?;
        }
        let mut forge = Self {
            test: Test::new(),
            identities: Server::new(|asked| {
                answer_identity(asked.header("authorization"), &asked.path)
            }),
            waivers: String::new(),
            machines: std::cell::Cell::new(0),
        };
        forge.write_programs();
        for folder in ["origin", "fails", "groups", "developer/ci"] {
            fs::create_dir_all(forge.path(folder)).expect("folder");
        }
        for file in ["ran", "baked", "tags", "deleted", "newer"] {
            forge.write(file, "");
        }
        // Each commit and fetch would look for what to pack.
        forge.write("gitconfig", "[gc]\nauto = 0\n[maintenance]\nauto = false\n");
        // Comments of other runs by the same user, and one that was deleted.
        forge.write(
            "comments.json",
            r#"[{"id": 1, "user": {"type": "Bot"}, "body": "other"}]"#,
        );
        forge.write(
            "threads.json",
            r#"{"value": [{"id": 1, "comments": [{"id": 1, "content": "other"}, {"id": 2, "isDeleted": true}]}]}"#,
        );
        let definition = forge.define_images();
        forge.write("developer/imagegen.json", &format!("{definition:#}\n"));
        forge.develop(
            "git init --quiet --bare ../origin --initial-branch main
             git -C ../origin config receive.advertisePushOptions true
             cp ../bin/pre-receive ../origin/hooks
             git init --quiet --initial-branch main
             cp \"$ROOT/ci/publish/pipelines/node-images\" ci
             mkdir --parents .github/actions
             cp -R \"$ROOT/ci/publish/setup-imagegen\" .github/actions
             \"$STORY_IMAGEGEN\" lock --all --offline
             git add . && git commit --quiet --message first
             git remote add origin ../origin && git push --quiet origin main",
        );
        Some(forge)
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.test.folder.join(name)
    }

    pub fn write(&self, name: &str, text: &str) {
        fs::write(self.path(name), text).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    pub fn read(&self, name: &str) -> String {
        self.test.text(name)
    }

    pub fn has(&self, name: &str) -> bool {
        self.test.exists(name)
    }

    pub fn remove(&self, name: &str) {
        fs::remove_file(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
    }

    /// Files of the folder, in their order.
    pub fn list(&self, name: &str) -> Vec<String> {
        let entries = fs::read_dir(self.path(name)).expect("folder");
        let mut names = Vec::new();
        for entry in entries {
            names.push(
                entry
                    .expect("entry")
                    .file_name()
                    .to_string_lossy()
                    .into_owned(),
            );
        }
        names.sort();
        names
    }

    pub fn identities(&self) -> String {
        self.identities.url("/identity?run=1")
    }

    /// SHA-256 of the program that pipelines download.
    pub fn release_digest(&self) -> String {
        sha256_hex(&self.test.read("release/imagegen"))
    }

    fn write_programs(&self) {
        let folder = root().join("tests/pipelines/programs");
        for entry in fs::read_dir(folder).expect("programs") {
            let path = entry.expect("entry").path();
            let name = path.file_name().expect("name").to_string_lossy();
            let place = match &*name {
                "imagegen" => "release",
                "packer" => "packer",
                _ => "bin",
            };
            let target = self.path(place).join(&*name);
            fs::create_dir_all(self.path(place)).expect("folder");
            fs::copy(&path, &target).expect("copy");
            fs::set_permissions(&target, fs::Permissions::from_mode(0o755)).expect("mode");
        }
    }

    /// The definition, whose artifacts are stand-ins that the store has.
    fn define_images(&mut self) -> Value {
        let mut images = json!({});
        let mut waivers = Vec::new();
        for (name, windows, kubernetes) in IMAGES {
            let line = format!("plan --windows {windows} --k8s {kubernetes} {SELECTION}");
            let mut overrides = json!({});
            for artifact in list_artifacts(&line).iter() {
                let bytes = archives::stand_in(artifact);
                let digest = sha256_hex(&bytes);
                let object = self.path(&format!("store/objects/sha256/{}/{digest}", &digest[..2]));
                fs::create_dir_all(object.parent().expect("parent")).expect("folder");
                fs::write(object, &bytes).expect("object");
                let file = artifact["file"].as_str().expect("file");
                let url = format!("https://artifacts.example.com/{file}");
                let component = artifact["component"].as_str().expect("component");
                overrides[component] = override_build(artifact, &url, &bytes);
                waivers.extend(list_waivers(artifact));
            }
            images[name] =
                json!({"windows": windows, "kubernetes": kubernetes, "overrides": overrides});
        }
        self.waivers = waivers.join(",");
        json!({
            "target": "azure", "hostAccess": "services", "images": images,
            "variables": {"location": "westeurope", "managed_image_resource_group_name": "rg"},
        })
    }

    /// Environment of every program of the story.
    pub fn environment(&self, home: &Path) -> BTreeMap<String, String> {
        let text = |path: &Path| path.display().to_string();
        BTreeMap::from(
            [
                ("PATH", format!("{}:/usr/bin:/bin", text(&self.path("bin")))),
                ("HOME", text(home)),
                ("TMPDIR", text(home)),
                ("STORY", text(&self.test.folder)),
                ("STORY_IMAGEGEN", env!("CARGO_BIN_EXE_imagegen").to_owned()),
                ("IMAGEGEN_WAIVE", self.waivers.clone()),
                ("IMAGEGEN_FOR", "none".to_owned()),
                ("GIT_CONFIG_SYSTEM", text(&self.path("gitconfig"))),
                ("GIT_TERMINAL_PROMPT", "0".to_owned()),
                ("NO_PROXY", "127.0.0.1".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value)),
        )
    }

    /// A script of the people who own the repository, in their clone.
    #[track_caller]
    pub fn develop(&self, script: &str) -> String {
        let folder = self.path("developer");
        let mut environment = self.environment(&folder.join(".."));
        for role in ["AUTHOR", "COMMITTER"] {
            environment.insert(format!("GIT_{role}_NAME"), "a".to_owned());
            environment.insert(format!("GIT_{role}_EMAIL"), "a@example.com".to_owned());
        }
        environment.insert("ROOT".to_owned(), root().display().to_string());
        let ran = run_script(&Script {
            arguments: &["-e", "-o", "pipefail"],
            text: script,
            folder: &folder,
            environment: &environment,
        });
        assert_eq!(ran.code, Some(0), "{script}\n{}", ran.log);
        ran.stdout
    }

    /// Gives an image another base image, with its lockfile, on a branch of the forge.
    #[track_caller]
    pub fn change_image(&self, branch: &str, name: &str, version: &str) {
        self.develop(&format!(
            "git switch --quiet --force-create {branch} HEAD
             jq '.images[\"{name}\"].variables.image_version = \"{version}\"' imagegen.json >../changed
             cp ../changed imagegen.json
             \"$STORY_IMAGEGEN\" lock {name} --offline
             git commit --quiet --all --message {version} && git push --quiet origin {branch}"
        ));
    }

    /// A machine for one job: a home and a clone as a service makes it.
    #[track_caller]
    pub fn machine(&self, clone: &Checkout) -> Machine<'_> {
        let number = self.machines.get() + 1;
        self.machines.set(number);
        let home = self.path(&format!("machine-{number}"));
        let work = home.join("work");
        fs::create_dir_all(&work).expect("machine");
        fs::create_dir_all(home.join("temp")).expect("machine");
        let machine = Machine {
            forge: self,
            environment: self.environment(&home),
            home,
            work,
        };
        let Checkout {
            origin,
            kept,
            depth,
            revision,
        } = clone;
        let keep = kept.as_ref().map_or_else(String::new, |password| {
            format!(
                "git config http.forge://forge.test/.extraheader 'AUTHORIZATION: basic {password}'"
            )
        });
        // A shallow clone has no other branch.
        let refs = match (depth, revision.strip_prefix("origin/")) {
            (Some(depth), Some(branch)) => {
                format!("--depth {depth} \"$STORY/origin\" +refs/heads/{branch}:refs/remotes/{revision}")
            }
            _ => "\"$STORY/origin\" '+refs/heads/*:refs/remotes/origin/*' '+refs/pull/*:refs/remotes/pull/*'"
                .to_owned(),
        };
        let script = format!(
            "git init --quiet && git remote add origin {origin}
             git fetch --quiet {refs}
             git checkout --quiet --detach {revision}
             {keep}"
        );
        let ran = machine.run(&["-e"], &script, &BTreeMap::new());
        assert_eq!(ran.code, Some(0), "{}", ran.log);
        machine
    }

    /// Paths of the branch `image-records`.
    pub fn list_records(&self) -> Vec<String> {
        let paths = self.develop(
            "cd ../origin
             if git show-ref --verify --quiet refs/heads/image-records; then
                 git ls-tree -r --name-only image-records
             fi",
        );
        paths.lines().map(str::to_owned).collect()
    }

    /// Pushes records of images of one line, whose times are old, to `built` or `promoted`. The second was built from
    /// this lockfile.
    pub fn add_old_records(&self, state: &str, name: &str, count: usize, lockfile: &str) {
        let digest = sha256_hex(&self.test.read(&format!("developer/{lockfile}")));
        let tree = self.path("developer/records");
        self.develop(
            "if git fetch --quiet origin image-records; then
                 git worktree add --quiet --detach records FETCH_HEAD
             else
                 git worktree add --quiet --detach --no-checkout records
                 git -C records switch --quiet --orphan records
             fi",
        );
        for number in 1..=count {
            let id = format!(
                "/subscriptions/00000000-0000-0000-0000-000000000001/resourceGroups/rg/providers/Microsoft.Compute/images/{name}-{number}"
            );
            let record = Build {
                version: &format!("{name}-{number}"),
                day: &format!("{}-01-01", 2010 + number),
                target: "azure",
                id: &id,
                ..Build::default()
            };
            let folder = tree.join(format!("{state}/{name}-{number}"));
            fs::create_dir_all(&folder).expect("folder");
            let mut record = record.record();
            record["image"] = "node.1".into();
            if number == 2 {
                record["lockfile"] = json!(digest);
            }
            fs::write(folder.join("image.json"), record.to_string()).expect("record");
        }
        self.develop(
            "git -C records add . && git -C records commit --quiet --message aged
             git push --quiet origin \"$(git -C records rev-parse HEAD)\":refs/heads/image-records
             git worktree remove --force records",
        );
    }
}

/// Answers only who shows the run's token, and asks for Azure's audience.
fn answer_identity(header: Option<&str>, path: &str) -> Vec<Step> {
    let is_asked = path == "/identity?run=1&audience=api://AzureADTokenExchange";
    if header != Some("bearer run-token-github") || !is_asked {
        return status("401 Unauthorized", &[]);
    }
    whole(
        br#"{"count": 1, "value": "oidc-github"}"#,
        &["Content-Type: application/json"],
    )
}

/// A clone as a service makes it for a job.
pub struct Checkout {
    pub origin: String,
    /// The password that the service leaves in the clone.
    pub kept: Option<String>,
    pub depth: Option<usize>,
    pub revision: String,
}

pub struct Machine<'a> {
    pub forge: &'a Forge,
    pub environment: BTreeMap<String, String>,
    pub home: PathBuf,
    pub work: PathBuf,
}

impl Machine<'_> {
    /// Runs a file with a script by bash with these arguments.
    pub fn run(&self, arguments: &[&str], text: &str, more: &BTreeMap<String, String>) -> Ran {
        let mut environment = self.environment.clone();
        environment.extend(more.clone());
        let ran = run_script(&Script {
            arguments,
            text,
            folder: &self.work,
            environment: &environment,
        });
        self.check_secrets(&ran);
        ran
    }

    /// No password and no token is in a log or among arguments. GitHub takes the line that masks a token out of its log.
    fn check_secrets(&self, ran: &Ran) {
        let mut places = self.forge.read("ran");
        for line in ran
            .log
            .lines()
            .filter(|line| !line.starts_with("::add-mask::"))
        {
            places.push_str(line);
            places.push('\n');
        }
        for secret in ["oidc-", "run-token-", "reader-", "writer-"] {
            let line = places.lines().find(|line| line.contains(secret));
            assert_eq!(line, None, "{secret}");
        }
    }
}
