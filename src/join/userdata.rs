//! The forms in which cloudbase-init takes the configuration: it writes the files, then runs the
//! image's own script. Directories are not made here: only the image's have the right access
//! control, and a file with a token belongs nowhere else.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::base::digest::sha256_hex;
use crate::base::secret::Secret;

use super::config::Document;
use super::{Form, Secrets, yaml};

/// Where the files of the join stand on the node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Places {
    /// The JoinConfiguration.
    pub config: String,
    /// The discovery kubeconfig.
    pub discovery: String,
    /// The image's script that joins.
    pub script: String,
    /// Credentials of kube-proxy as a service.
    pub proxy: String,
    /// The image's scripts are signed, and run under `AllSigned` alone.
    pub signed: bool,
}

impl Places {
    /// From `provisioners/paths.json`.
    pub fn from_paths(paths: &Value, signed: bool) -> Option<Self> {
        let text = |name: &str| paths.get(name).and_then(Value::as_str);
        let conf = text("kubernetesConf")?;
        Some(Self {
            config: text("joinConfig")?.to_owned(),
            discovery: format!("{conf}\\discovery.conf"),
            script: format!("{}\\Join-Node.ps1", text("node")?),
            proxy: format!("{}\\kubeconfig.conf", text("kubeProxy")?),
            signed,
        })
    }
}

/// The smallest limit of a large cloud (EC2's), in bytes.
const SMALLEST_LIMIT: usize = 16384;

pub(super) fn check_size(content: &str) -> Option<String> {
    (content.len() > SMALLEST_LIMIT).then(|| {
        format!(
            "{} bytes: clouds with a limit of {SMALLEST_LIMIT} bytes refuse this user-data",
            content.len()
        )
    })
}

pub(super) fn render_user_data(
    form: Form,
    config: &Document,
    secrets: &Secrets,
    places: &Places,
) -> String {
    let whole = match &secrets.token {
        Some(token) => config.text.clone() + &config.render_secret_line(token.reveal()),
        None => config.text.clone(),
    };
    match form {
        Form::Kubeadm | Form::Capi => whole,
        Form::CloudConfig => {
            let files = render_files(&whole, secrets, places);
            render_cloud_config(&files, Some((config, places)))
        }
        Form::Ps1 => render_script(&whole, config, secrets, places),
        Form::Mime => render_mime(config, secrets, places),
    }
}

fn render_files(config: &str, secrets: &Secrets, places: &Places) -> Vec<Value> {
    let mut files = vec![render_file(&places.config, config)];
    files.extend(
        secrets
            .kubeconfig
            .as_ref()
            .map(|bytes| render_kubeconfig(bytes, places)),
    );
    files
}

/// The mode sets no access control on Windows; without a write bit it would make the file read-only.
fn render_file(path: &str, content: &str) -> Value {
    json!({ "path": path, "permissions": "0600", "content": content })
}

fn render_kubeconfig(file: &Secret, places: &Places) -> Value {
    json!({
        "path": places.discovery, "permissions": "0600", "encoding": "b64", "content": STANDARD.encode(file.reveal()),
    })
}

fn render_cloud_config(files: &[Value], run: Option<(&Document, &Places)>) -> String {
    let mut document = json!({ "write_files": files });
    if let Some((config, places)) = run {
        let policy = if places.signed { "AllSigned" } else { "Bypass" };
        document["runcmd"] = json!([format!(
            "powershell.exe -NoProfile -NonInteractive -ExecutionPolicy {policy} -File \"{}\"{}",
            places.script,
            format_limit(config)
        )]);
    }
    format!("#cloud-config\n{}", yaml::format_document(&document))
}

/// Values are base64 between quotes, which no value can terminate.
fn render_script(whole: &str, config: &Document, secrets: &Secrets, places: &Places) -> String {
    let mut text = "#ps1_sysnative\n$ErrorActionPreference = 'Stop'\n".to_owned();
    let mut write = |path: &str, bytes: &[u8]| {
        let _ = writeln!(
            text,
            "[IO.File]::WriteAllBytes('{path}', [Convert]::FromBase64String('{}'))",
            STANDARD.encode(bytes)
        );
    };
    write(&places.config, whole.as_bytes());
    if let Some(file) = &secrets.kubeconfig {
        write(&places.discovery, file.reveal());
    }
    text.push_str(&render_command(config, places));
    text
}

/// The user-data itself is unsigned, and so the process that it runs in is no place for the script.
fn render_command(config: &Document, places: &Places) -> String {
    let limit = format_limit(config);
    if places.signed {
        return format!(
            "& \"$PSHOME\\powershell.exe\" -NoProfile -NonInteractive -ExecutionPolicy AllSigned -File '{}'{limit}\n\
             exit $LASTEXITCODE\n",
            places.script
        );
    }
    format!("& '{}'{limit}\nexit $LASTEXITCODE\n", places.script)
}

/// The argument of the script, behind a blank.
fn format_limit(config: &Document) -> String {
    config
        .seconds
        .map_or_else(String::new, |seconds| format!(" -TimeoutSeconds {seconds}"))
}

/// Parts in the order in which cloudbase-init takes them; only the second is secret.
fn render_mime(config: &Document, secrets: &Secrets, places: &Places) -> String {
    let mut secret = Vec::new();
    if let Some(token) = &secrets.token {
        let mut line = render_file(&places.config, &config.render_secret_line(token.reveal()));
        line["append"] = json!(true);
        secret.push(line);
    }
    secret.extend(
        secrets
            .kubeconfig
            .as_ref()
            .map(|bytes| render_kubeconfig(bytes, places)),
    );
    let public = render_cloud_config(&[render_file(&places.config, &config.text)], None);
    // Computed from public data: the boundary must not depend on the token.
    let boundary = format!("imagegen-{}", &sha256_hex(public.as_bytes())[..32]);
    let mut text =
        format!("Content-Type: multipart/mixed; boundary=\"{boundary}\"\nMIME-Version: 1.0\n\n");
    for (kind, name, body) in [
        ("text/cloud-config", "join-config.yaml", public),
        (
            "text/cloud-config",
            "join-secret.yaml",
            render_cloud_config(&secret, None),
        ),
        (
            "text/x-shellscript",
            "join.ps1",
            format!(
                "$ErrorActionPreference = 'Stop'\n{}",
                render_command(config, places)
            ),
        ),
    ] {
        let (encoding, body) = encode_body(body);
        let _ = writeln!(
            text,
            "--{boundary}\nContent-Type: {kind}; charset=\"us-ascii\"\nMIME-Version: 1.0\n\
             Content-Transfer-Encoding: {encoding}\nContent-Disposition: attachment; filename=\"{name}\"\n\n{body}"
        );
    }
    let _ = writeln!(text, "--{boundary}--");
    text
}

/// Lines of mail end at 998 characters; a kubeconfig in one line is longer.
fn encode_body(body: String) -> (&'static str, String) {
    if body.lines().all(|line| line.len() <= 900) {
        return ("7bit", body);
    }
    let mut wrapped = String::new();
    for (at, character) in STANDARD.encode(body).chars().enumerate() {
        if at > 0 && at % 76 == 0 {
            wrapped.push('\n');
        }
        wrapped.push(character);
    }
    ("base64", wrapped)
}
