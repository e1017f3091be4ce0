//! A registry and file server on loopback.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use imagegen::base::digest::sha256_hex;
use serde_json::json;

#[derive(Default)]
struct State {
    files: Mutex<BTreeMap<String, Vec<u8>>>,
    token: Mutex<Option<String>>,
    lifetime: Mutex<Lifetime>,
    /// Paths of the files that were asked for.
    asked: Mutex<Vec<String>>,
    stopped: AtomicBool,
}

/// How many requests a token is good for, how many came, and how many tokens there were.
#[derive(Default)]
struct Lifetime {
    most: Option<usize>,
    used: usize,
    issued: usize,
}

impl Lifetime {
    /// Counts a request; whether its token was still good.
    fn count(&mut self) -> bool {
        let Some(most) = self.most else { return true };
        self.used += 1;
        if self.used > most {
            (self.used, self.issued) = (0, self.issued + 1);
            return false;
        }
        true
    }
}

pub(crate) struct Registry {
    address: SocketAddr,
    state: Arc<State>,
    thread: Option<JoinHandle<()>>,
}

impl Registry {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("address");
        let state = Arc::new(State::default());
        let shared = Arc::clone(&state);
        let thread = std::thread::spawn(move || {
            for stream in listener.incoming() {
                if shared.stopped.load(Ordering::SeqCst) {
                    break;
                }
                let shared = Arc::clone(&shared);
                std::thread::spawn(move || {
                    // A client that is killed closes its end.
                    let _ = answer(&stream.expect("connection"), &shared, address);
                });
            }
        });
        Self {
            address,
            state,
            thread: Some(thread),
        }
    }

    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn serve(&self, path: &str, bytes: &[u8]) {
        self.state
            .files
            .lock()
            .expect("files")
            .insert(path.to_owned(), bytes.to_vec());
    }

    /// How often a file was asked for.
    pub(crate) fn count_asked(&self, path: &str) -> usize {
        let asked = self.state.asked.lock().expect("paths");
        asked.iter().filter(|asked| *asked == path).count()
    }

    /// From now on `/v2/` wants this token.
    pub(crate) fn demand(&self, token: Option<&str>) {
        *self.state.token.lock().expect("token") = token.map(str::to_owned);
    }

    /// From now on a token is good for so many requests.
    pub(crate) fn expire_tokens_after(&self, requests: usize) {
        self.state.lifetime.lock().expect("lifetime").most = Some(requests);
    }
}

impl Drop for Registry {
    fn drop(&mut self) {
        self.state.stopped.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn answer(stream: &TcpStream, state: &State, address: SocketAddr) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line)?;
    let mut authorization = None;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header)?;
        if header.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = header.split_once(':')
            && name.eq_ignore_ascii_case("authorization")
        {
            authorization = Some(value.trim().to_owned());
        }
    }
    let mut words = line.split_whitespace();
    let (method, target) = (
        words.next().unwrap_or_default(),
        words.next().unwrap_or_default(),
    );
    let path = target.split('?').next().unwrap_or_default();
    if method == "GET" {
        let mut asked = state.asked.lock().expect("paths");
        asked.push(path.to_owned());
    }
    let token = state.token.lock().expect("token").clone();
    let mut lifetime = state.lifetime.lock().expect("lifetime");
    let token = token.map(|token| format!("{token}{}", lifetime.issued));
    let is_current = |token: &String| authorization == Some(format!("Bearer {token}"));
    let allowed = token.as_ref().is_none_or(is_current)
        && (token.is_none() || !path.starts_with("/v2/") || lifetime.count());
    drop(lifetime);
    let found = state.files.lock().expect("files").get(path).cloned();
    let (status, extra, body) = match found {
        _ if path.starts_with("/v2/") && !allowed => {
            let realm = format!(
                "WWW-Authenticate: Bearer realm=\"http://{address}/token\",service=\"test\"\r\n"
            );
            ("401 Unauthorized", realm, Vec::new())
        }
        _ if path == "/token" && target.contains("scope=repository%3A") => (
            "200 OK",
            String::new(),
            json!({"token": token}).to_string().into_bytes(),
        ),
        Some(body) => ("200 OK", String::new(), body),
        None => ("404 Not Found", String::new(), Vec::new()),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\n{extra}Content-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method == "GET" {
        stream.write_all(&body)?;
    }
    stream.flush()
}

/// An image of several Windows builds, and of Linux. Digests of the list, of the first manifest and
/// of the last but one.
pub(crate) fn image(
    registry: &Registry,
    name: &str,
    versions: &[&str],
) -> (String, String, String) {
    let mut manifests = Vec::new();
    let platforms = versions
        .iter()
        .map(|version| json!({"architecture": "amd64", "os": "windows", "os.version": version}));
    for platform in platforms.chain([json!({"architecture": "amd64", "os": "linux"})]) {
        let blob = |media_type: &str, bytes: &[u8]| {
            registry.serve(
                &format!("/v2/{name}/blobs/sha256:{}", sha256_hex(bytes)),
                bytes,
            );
            json!({"mediaType": media_type, "digest": format!("sha256:{}", sha256_hex(bytes)), "size": bytes.len()})
        };
        let config = blob(
            "application/vnd.oci.image.config.v1+json",
            platform.to_string().as_bytes(),
        );
        let layer = blob(
            "application/vnd.oci.image.layer.v1.tar+gzip",
            format!("layer of {platform}").as_bytes(),
        );
        let media_type = "application/vnd.oci.image.manifest.v1+json";
        let manifest = json!({"schemaVersion": 2, "mediaType": media_type, "config": config, "layers": [layer]});
        let bytes = manifest.to_string().into_bytes();
        let found = format!("sha256:{}", sha256_hex(&bytes));
        registry.serve(&format!("/v2/{name}/manifests/{found}"), &bytes);
        manifests.push(
            json!({"mediaType": media_type, "digest": found, "size": bytes.len(), "platform": platform}),
        );
    }
    let hex = |at: usize| {
        manifests[at]["digest"]
            .as_str()
            .expect("digest")
            .trim_start_matches("sha256:")
            .to_owned()
    };
    let (old, new) = (hex(0), hex(versions.len().saturating_sub(2)));
    let list = json!({
        "schemaVersion": 2,
        "mediaType": "application/vnd.oci.image.index.v1+json",
        "manifests": manifests,
    });
    let bytes = list.to_string().into_bytes();
    registry.serve(
        &format!("/v2/{name}/manifests/sha256:{}", sha256_hex(&bytes)),
        &bytes,
    );
    (sha256_hex(&bytes), old, new)
}

/// Gives the list of an image another name: a tag.
pub(crate) fn tag(registry: &Registry, name: &str, tag: &str, list: &str) {
    let path = format!("/v2/{name}/manifests/");
    let files = registry.state.files.lock().expect("files");
    let bytes = files[&format!("{path}sha256:{list}")].clone();
    drop(files);
    registry.serve(&format!("{path}{tag}"), &bytes);
}
