//! HTTP: allowed hosts, answers, and retries.
//!
//! HTTPS only, except for loopback and hosts that the user allows. This module follows redirects itself, to check
//! each: at most five, never to plain HTTP, never with a user in the URL. URLs are printed and stored without query,
//! which may be a short-lived signature.

mod body;
mod error;
mod patience;
mod proxy;

use std::path::{Path, PathBuf};

use reqwest::header::{
    ACCEPT_ENCODING, ACCEPT_RANGES, CONTENT_ENCODING, CONTENT_TYPE, ETAG, HeaderMap, HeaderName,
    HeaderValue, IF_RANGE, LOCATION, RANGE, WWW_AUTHENTICATE,
};
use reqwest::{
    Certificate, Client, ClientBuilder, RequestBuilder, Response, StatusCode, Url, redirect,
};

use crate::base::code::Code;
use crate::base::secret::Secret;
use crate::base::url::is_loopback;
use crate::io::fs;
use crate::model::policy::AllowedHosts;

pub use body::Body;
pub use error::{HttpError, Retry, parse_retry_after};
pub use patience::Patience;
use proxy::ProxyChoice;

/// How the network is used.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Hosts that may be asked over plain HTTP; loopback always may.
    pub allow_http: Vec<String>,
    /// In the place of what the environment says.
    pub proxy: Option<String>,
    /// Certificates in PEM that servers may be signed by, besides the system's.
    pub ca_files: Vec<PathBuf>,
    /// Hosts that alone may be asked; none where every host may.
    pub hosts: Option<AllowedHosts>,
    /// Never open a socket.
    pub offline: bool,
    pub patience: Patience,
}

/// A client; copies share its connections.
#[derive(Debug, Clone)]
pub struct Http {
    client: Option<Client>,
    /// This machine itself is asked without a proxy of the environment: it would be another machine's loopback. None
    /// where the user names a proxy, which is for every machine.
    direct: Option<Client>,
    proxies: ProxyChoice,
    /// Hosts that may be asked over plain HTTP.
    plain: Vec<String>,
    hosts: Option<AllowedHosts>,
    pub(crate) patience: Patience,
}

/// A part of a file that is there already.
#[derive(Debug, Clone, Copy)]
pub struct Resume<'a> {
    /// Bytes that are there.
    pub from: u64,
    /// Bytes that are wanted, or all that follow.
    pub length: Option<u64>,
    /// Strong entity tag of the file they are of.
    pub etag: &'a str,
}

/// The beginning of an answer.
#[derive(Debug)]
pub struct Answer {
    pub body: Body,
    /// First byte that the body holds: 0, unless a part was asked for and came.
    pub offset: u64,
    /// Size of the whole file, where the server says it.
    pub size: Option<u64>,
    /// Strong entity tag.
    pub etag: Option<String>,
    /// Whether the server says that it can send parts.
    pub ranges: bool,
    /// `text/html`: what login pages are.
    pub media_type: Option<String>,
}

const REDIRECTS: usize = 5;

impl Http {
    /// # Errors
    /// A proxy or certificate file that cannot be understood.
    pub fn new(options: Options) -> Result<Self, HttpError> {
        let (client, proxies) = if options.offline {
            (None, ProxyChoice::default())
        } else {
            let proxies = ProxyChoice::read(options.proxy.as_deref())?;
            let builder = proxies.clone().configure(configure_client(&options)?);
            (Some(build_client(builder)?), proxies)
        };
        let direct = match &options.proxy {
            None if !options.offline => Some(build_client(configure_client(&options)?.no_proxy())?),
            _ => None,
        };
        Ok(Self {
            client,
            direct,
            proxies,
            plain: options.allow_http,
            hosts: options.hosts,
            patience: options.patience,
        })
    }

    pub fn is_offline(&self) -> bool {
        self.client.is_none()
    }

    /// Which hosts may be asked, and how.
    pub fn format_rules(&self) -> String {
        format!("{:?} {:?}", self.plain, self.hosts)
    }

    /// Asks for a file, or for the rest of it.
    ///
    /// # Errors
    /// The URL is not allowed, the server cannot be reached, or its answer is none of use.
    pub async fn get(
        &self,
        url: &str,
        headers: &[(String, Secret)],
        resume: Option<Resume<'_>>,
    ) -> Result<Answer, HttpError> {
        let mut at = self.parse_url(url)?;
        let origin = at.origin();
        for _ in 0..=REDIRECTS {
            // Credentials are for the host that they were given for.
            let own = if at.origin() == origin { headers } else { &[] };
            let head = build_headers(url, own, resume)?;
            let request = self.select_client(&at)?.get(at.clone()).headers(head);
            let response = self.send(at.as_str(), request).await?;
            match self.find_redirect(&at, &response)? {
                Some(next) => at = next,
                None => return read_answer(&at, response, resume, &self.patience),
            }
        }
        Err(HttpError::new(
            Code::TOO_MANY_REDIRECTS,
            url,
            format!("more than {REDIRECTS} redirects"),
        ))
    }

    /// `WWW-Authenticate` of a server before it answers, each header of it; none where it answers.
    ///
    /// # Errors
    /// As [`Http::get`]; a refusal that says not what is wanted.
    pub async fn fetch_challenges(&self, url: &str) -> Result<Option<Vec<String>>, HttpError> {
        let at = self.parse_url(url)?;
        let request = self.select_client(&at)?.head(at);
        let response = self.send(url, request).await?;
        let (status, headers) = (response.status(), response.headers());
        if status != StatusCode::UNAUTHORIZED {
            // Whatever else it is, the request itself will meet it.
            return Ok(None);
        }
        let mut wanted = Vec::new();
        for header in headers.get_all(WWW_AUTHENTICATE) {
            wanted.extend(header.to_str().map(str::to_owned));
        }
        if wanted.is_empty() {
            return Err(HttpError::from_status(url, status, headers));
        }
        Ok(Some(wanted))
    }

    async fn send(&self, url: &str, request: RequestBuilder) -> Result<Response, HttpError> {
        match tokio::time::timeout(self.patience.head, request.send()).await {
            Err(_) => {
                let error = HttpError::new(Code::TIMEOUT, url, "the server does not answer");
                Err(error.with_retry())
            }
            Ok(answered) => answered.map_err(|error| {
                let error = HttpError::from_client(url, error);
                match self.find_proxy(url) {
                    Some(proxy) => error.name_proxy(&proxy),
                    None => error,
                }
            }),
        }
    }

    /// The proxy that is asked for an address.
    fn find_proxy(&self, url: &str) -> Option<Url> {
        let url = Url::parse(url).ok()?;
        if self.find_direct(&url).is_some() {
            return None;
        }
        self.proxies.find(&url).cloned()
    }

    /// The client without proxy, for an address of this machine.
    fn find_direct(&self, url: &Url) -> Option<&Client> {
        let is_own = is_loopback(url.host_str().unwrap_or_default());
        self.direct.as_ref().filter(|_| is_own)
    }

    fn select_client(&self, url: &Url) -> Result<&Client, HttpError> {
        let client = self.find_direct(url).or(self.client.as_ref());
        client.ok_or_else(|| {
            HttpError::new(
                Code::OFFLINE,
                url.as_str(),
                "the download needs the network, and `--offline` disables it",
            )
        })
    }

    fn parse_url(&self, url: &str) -> Result<Url, HttpError> {
        let parsed = Url::parse(url)
            .map_err(|error| HttpError::new(Code::BAD_URL, url, error.to_string()))?;
        if !parsed.username().is_empty() || parsed.password().is_some() {
            return Err(HttpError::new(
                Code::CREDENTIALS_IN_URL,
                url,
                "the URL contains credentials: give them as `headers` of an override",
            ));
        }
        self.check_host(&parsed)?;
        Ok(parsed)
    }

    fn check_host(&self, url: &Url) -> Result<(), HttpError> {
        let host = url.host_str().unwrap_or_default();
        if let Some(hosts) = self.hosts.as_ref().filter(|hosts| !hosts.allows_host(host)) {
            let message = format!(
                "rule `allowedHosts` of policy {} does not allow {host}",
                hosts.policy
            );
            return Err(HttpError::new(
                Code::HOST_NOT_ALLOWED,
                url.as_str(),
                message,
            ));
        }
        let mut plain = self.plain.iter();
        match url.scheme() {
            "https" => Ok(()),
            "http" if is_loopback(host) => Ok(()),
            "http" if plain.any(|allowed| allowed.eq_ignore_ascii_case(host)) => Ok(()),
            "http" => Err(HttpError::new(
                Code::PLAIN_HTTP,
                url.as_str(),
                format!(
                    "plain HTTP is not allowed (`--allow-http {host}` allows it for this host)"
                ),
            )),
            other => Err(HttpError::new(
                Code::BAD_URL,
                url.as_str(),
                format!("`{other}` is not https"),
            )),
        }
    }

    fn find_redirect(&self, at: &Url, response: &Response) -> Result<Option<Url>, HttpError> {
        let status = response.status();
        let moved = matches!(
            status,
            StatusCode::MOVED_PERMANENTLY
                | StatusCode::FOUND
                | StatusCode::SEE_OTHER
                | StatusCode::TEMPORARY_REDIRECT
                | StatusCode::PERMANENT_REDIRECT
        );
        if !moved {
            return Ok(None);
        }
        let target = response
            .headers()
            .get(LOCATION)
            .and_then(|location| location.to_str().ok())
            .and_then(|location| at.join(location).ok())
            .ok_or_else(|| {
                HttpError::new(
                    Code::BAD_REDIRECT,
                    at.as_str(),
                    "a redirect without a usable target",
                )
            })?;
        if at.scheme() == "https" && target.scheme() != "https" {
            return Err(HttpError::new(
                Code::REDIRECT_TO_HTTP,
                at.as_str(),
                "redirects to plain HTTP",
            ));
        }
        if !target.username().is_empty() || target.password().is_some() {
            return Err(HttpError::new(
                Code::REDIRECT_CREDENTIALS,
                at.as_str(),
                "redirects to a URL with credentials",
            ));
        }
        self.check_host(&target).map_err(|error| {
            let message = format!("redirects to {}: {}", error.url, error.message);
            HttpError::new(error.code, at.as_str(), message)
        })?;
        Ok(Some(target))
    }
}

fn build_client(builder: ClientBuilder) -> Result<Client, HttpError> {
    builder
        .build()
        .map_err(|error| HttpError::from_client("", error))
}

/// Everything about a client but its proxy.
fn configure_client(options: &Options) -> Result<ClientBuilder, HttpError> {
    // The first client of the process installs it for all of them.
    let _installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let mut builder = Client::builder()
        .user_agent(concat!("imagegen/", env!("CARGO_PKG_VERSION")))
        .redirect(redirect::Policy::none())
        .connect_timeout(options.patience.connect)
        .pool_max_idle_per_host(8)
        // Many files of one host over one connection share its speed; one each is faster.
        .http1_only();
    let mut certificates = Vec::new();
    for file in &options.ca_files {
        match read_certificates(file) {
            Ok(found) => certificates.extend(found),
            Err(reason) => {
                let message = format!("{}: {reason}", file.display());
                return Err(HttpError::new(Code::BAD_CA_FILE, "", message));
            }
        }
    }
    if !certificates.is_empty() {
        builder = builder.tls_certs_merge(certificates);
    }
    Ok(builder)
}

fn build_headers(
    url: &str,
    headers: &[(String, Secret)],
    resume: Option<Resume<'_>>,
) -> Result<HeaderMap, HttpError> {
    let mut map = HeaderMap::new();
    // Digests are of the bytes as they are published.
    map.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    for (name, secret) in headers {
        let (Ok(key), Ok(mut value)) = (
            HeaderName::from_bytes(name.as_bytes()),
            HeaderValue::from_bytes(secret.reveal()),
        ) else {
            return Err(header_error(url, name));
        };
        value.set_sensitive(true);
        map.insert(key, value);
    }
    if let Some(resume) = resume {
        let last = resume
            .length
            .map(|length| (resume.from + length - 1).to_string());
        let range = format!("bytes={}-{}", resume.from, last.unwrap_or_default());
        let range = HeaderValue::from_str(&range).map_err(|_| header_error(url, "Range"))?;
        map.insert(RANGE, range);
        let etag = HeaderValue::from_str(resume.etag).map_err(|_| header_error(url, "If-Range"))?;
        map.insert(IF_RANGE, etag);
    }
    Ok(map)
}

fn header_error(url: &str, name: &str) -> HttpError {
    let message = format!("the header `{name}` cannot be sent");
    HttpError::new(Code::BAD_HEADER, url, message)
}

fn read_answer(
    url: &Url,
    response: Response,
    resume: Option<Resume<'_>>,
    patience: &Patience,
) -> Result<Answer, HttpError> {
    let status = response.status();
    let headers = response.headers();
    let media_type = read_header(headers, CONTENT_TYPE);
    let encoding = read_header(headers, CONTENT_ENCODING).filter(|encoding| encoding != "identity");
    let etag = read_header(headers, ETAG).filter(|etag| etag.starts_with('"'));
    let ranges = status == StatusCode::PARTIAL_CONTENT
        || read_header(headers, ACCEPT_RANGES).as_deref() == Some("bytes");
    let (offset, size) = match (status, resume) {
        (StatusCode::OK, _) => (0, response.content_length()),
        (StatusCode::PARTIAL_CONTENT, Some(resume)) => {
            let range = read_header(headers, reqwest::header::CONTENT_RANGE);
            match range.as_deref().and_then(parse_content_range) {
                Some((first, last, size))
                    if first == resume.from
                        && resume
                            .length
                            .is_none_or(|length| last + 1 == first + length)
                        && etag.as_deref().is_none_or(|etag| etag == resume.etag) =>
                {
                    (first, size)
                }
                _ => return Err(HttpError::wrong_part(url.as_str())),
            }
        }
        (StatusCode::RANGE_NOT_SATISFIABLE, Some(_)) => {
            return Err(HttpError::new(
                Code::BAD_RANGE,
                url.as_str(),
                "the file is shorter than the part that is there",
            )
            .with_fresh_retry());
        }
        _ => {
            return Err(HttpError::from_status(
                url.as_str(),
                status,
                response.headers(),
            ));
        }
    };
    if let Some(encoding) = encoding {
        return Err(HttpError::new(
            Code::CONTENT_ENCODING,
            url.as_str(),
            format!("the server sent the unrequested encoding `{encoding}`"),
        ));
    }
    Ok(Answer {
        body: Body::new(url.as_str(), response, patience),
        offset,
        size,
        etag,
        ranges,
        media_type,
    })
}

/// `bytes 100-199/200` → first and last byte and size of the whole.
pub fn parse_content_range(text: &str) -> Option<(u64, u64, Option<u64>)> {
    let (range, size) = text.strip_prefix("bytes ")?.split_once('/')?;
    let (first, last) = range.split_once('-')?;
    let (first, last) = (first.parse().ok()?, last.parse().ok()?);
    (first <= last && last < u64::MAX).then_some((first, last, size.parse().ok()))
}

fn read_certificates(file: &Path) -> Result<Vec<Certificate>, String> {
    let bytes = fs::read_file(file).map_err(|error| error.to_string())?;
    let found = Certificate::from_pem_bundle(&bytes).map_err(|error| error.to_string())?;
    if found.is_empty() {
        return Err("contains no certificate in PEM".to_owned());
    }
    Ok(found)
}

fn read_header(headers: &HeaderMap, name: HeaderName) -> Option<String> {
    let text = headers.get(name)?.to_str().ok()?;
    Some(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_read() {
        assert_eq!(
            parse_content_range("bytes 100-199/200"),
            Some((100, 199, Some(200)))
        );
        assert_eq!(
            parse_content_range("bytes 100-199/*"),
            Some((100, 199, None))
        );
        for text in [
            "bytes */200",
            "bytes 2-1/3",
            "bytes 1-/3",
            "items 1-2/3",
            "bytes 1/2",
            "",
        ] {
            assert_eq!(parse_content_range(text), None, "{text}");
        }
    }

    #[test]
    fn only_https_loopback_and_named_hosts_are_asked() {
        let http = Http::new(Options {
            allow_http: vec!["mirror.example".to_owned()],
            ..Options::default()
        })
        .expect("client");
        for (url, code) in [
            ("https://dl.k8s.io/x", None),
            ("http://127.0.0.1:8080/x", None),
            ("http://[::1]:8080/x", None),
            ("http://localhost/x", None),
            ("http://mirror.example/x", None),
            ("http://dl.k8s.io/x", Some(Code::PLAIN_HTTP)),
            ("http://127.0.0.1.example.com/x", Some(Code::PLAIN_HTTP)),
            ("ftp://dl.k8s.io/x", Some(Code::BAD_URL)),
            ("file:///etc/passwd", Some(Code::BAD_URL)),
            ("kubelet.exe", Some(Code::BAD_URL)),
            (
                "https://user:secret@dl.k8s.io/x",
                Some(Code::CREDENTIALS_IN_URL),
            ),
        ] {
            let error = http.parse_url(url).err();
            assert_eq!(error.as_ref().map(|error| error.code), code, "{url}");
            if let Some(error) = error {
                assert!(!error.to_string().contains("secret"), "{error}");
            }
        }
    }
}
