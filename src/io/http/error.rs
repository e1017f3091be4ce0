//! Errors of the network, and whether asking again may help.

use crate::base::code::Code;
use crate::base::url::strip_secrets;
use crate::diagnostic::Classify;
use std::error::Error as _;
use std::time::{Duration, SystemTime};

use reqwest::header::{HeaderMap, RETRY_AFTER};
use reqwest::{StatusCode, Url};

/// Whether and how to ask again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// The answer will be the same.
    Never,
    /// After a pause; the server may have said how long.
    After(Option<Duration>),
    /// At once with a new login; without one the answer will be the same.
    Login,
    /// At once and for the whole file: the part that is there is of no use.
    Afresh,
}

/// A failure. Its text holds no query and no user of the URL.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{}{message}", if .url.is_empty() { String::new() } else { format!("{url}: ") })]
pub struct HttpError {
    /// Stable: scripts and tests tell errors apart by it.
    pub code: Code,
    pub url: String,
    pub message: String,
    pub retry: Retry,
    /// Whether a proxy stood between.
    pub is_proxied: bool,
}

impl Classify for HttpError {
    fn remedies(&self) -> Vec<String> {
        self.hint().into_iter().map(str::to_owned).collect()
    }

    fn code(&self) -> Code {
        self.code
    }
}

impl HttpError {
    pub(crate) fn new(code: Code, url: &str, message: impl Into<String>) -> Self {
        Self {
            code,
            url: strip_secrets(url),
            message: message.into(),
            retry: Retry::Never,
            is_proxied: false,
        }
    }

    /// A request that a proxy was asked for: it is the proxy that cannot be reached, or that could not reach the server.
    pub(super) fn name_proxy(self, proxy: &Url) -> Self {
        let place = strip_secrets(proxy.as_str());
        let place = place.trim_end_matches('/');
        Self {
            message: format!("by the proxy {place}: {}", self.message),
            is_proxied: true,
            ..self
        }
    }

    /// A body that ended early.
    pub(crate) fn short_body(url: &str, came: u64, size: u64) -> Self {
        Self::new(
            Code::SHORT_BODY,
            url,
            format!("the connection ended after {came} of {size} bytes"),
        )
        .with_retry()
    }

    /// Not the part that was asked for.
    pub(crate) fn wrong_part(url: &str) -> Self {
        Self::new(
            Code::BAD_RANGE,
            url,
            "the server sent a different range than requested",
        )
        .with_fresh_retry()
    }

    pub fn hint(&self) -> Option<&'static str> {
        Some(match self.code {
            Code::TLS => {
                "`--ca-file FILE` trusts a mirror or proxy with a certificate authority of its own"
            }
            Code::DNS | Code::CONNECT | Code::TIMEOUT if self.is_proxied => {
                "check the proxy: it is that of `--proxy`, or of HTTPS_PROXY, HTTP_PROXY or ALL_PROXY; NO_PROXY names hosts \
                 that are asked without it"
            }
            Code::DNS | Code::CONNECT | Code::TIMEOUT => {
                "behind a proxy, set HTTPS_PROXY or `--proxy URL`; `--mirror URL` asks a mirror"
            }
            Code::FORBIDDEN => {
                "an override's `headers` send credentials that are in environment variables; a mirror answers 404 for \
                 what it does not have"
            }
            Code::REGISTRY_LOGIN => {
                "if the image is there, its registry wants a login: in the settings, `\"mirrors\": {\"docker://HOST/\": {\"url\": \
                 \"https://HOST/\", \"headers\": {\"Authorization\": \"VARIABLE\"}}}` sends the value of an environment variable"
            }
            Code::RATE_LIMIT => {
                "try again later; `--mirror URL` asks a mirror. A token has a higher limit: for lists of GitHub's \
                 releases in GH_TOKEN or GITHUB_TOKEN, for files of a component in `headers` of an override with \
                 `--allow-header-env`"
            }
            Code::BAD_PROXY => {
                "name an HTTP or HTTPS proxy: `HTTPS_PROXY=http://HOST:PORT`, or `--proxy URL`"
            }
            Code::HOST_NOT_ALLOWED => {
                "add the host to the policy, or serve the file from your own host: `--mirror URL` or an override"
            }
            Code::NOT_FOUND | Code::GONE => "an override or `--mirror URL` names another place",
            _ => return None,
        })
    }

    pub(crate) fn with_retry(self) -> Self {
        Self {
            retry: Retry::After(None),
            ..self
        }
    }

    pub(crate) fn with_fresh_retry(self) -> Self {
        Self {
            retry: Retry::Afresh,
            ..self
        }
    }

    pub(super) fn from_client(url: &str, error: reqwest::Error) -> Self {
        let error = error.without_url();
        let mut causes = Vec::new();
        let mut cause = error.source();
        while let Some(inner) = cause {
            causes.push(inner.to_string());
            cause = inner.source();
        }
        // The innermost cause says what happened; those around it, that something did.
        let told = causes.last().cloned().unwrap_or_else(|| error.to_string());
        let all = causes.join(": ").to_lowercase();
        // A connection that breaks within TLS is like any other that breaks.
        if all.contains("certificate")
            || all.contains("fatal alert")
            || all.contains("corrupt message")
        {
            return Self::new(
                Code::TLS,
                url,
                format!("the server's certificate is not accepted: {told}"),
            );
        }
        if all.contains("dns") || all.contains("lookup address") {
            return Self::new(
                Code::DNS,
                url,
                format!("the host name cannot be resolved: {told}"),
            );
        }
        // Only the environment names proxies of other schemes: flags and definitions are checked when they are read.
        if let Some(scheme) = told.strip_prefix("unsupported scheme ") {
            let message = format!(
                "the proxy of the environment has the scheme `{scheme}`, which is not supported"
            );
            return Self::new(Code::BAD_PROXY, url, message);
        }
        let code = match () {
            () if error.is_timeout() => Code::TIMEOUT,
            () if error.is_connect() => Code::CONNECT,
            () if error.is_body() || error.is_decode() => Code::SHORT_BODY,
            () => Code::CONNECTION,
        };
        Self::new(code, url, told).with_retry()
    }

    pub(super) fn from_status(url: &str, status: StatusCode, headers: &HeaderMap) -> Self {
        // GitHub's API says so (https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api).
        let left = headers
            .get("x-ratelimit-remaining")
            .and_then(|left| left.to_str().ok());
        if matches!(status.as_u16(), 403 | 429) && left.map(str::trim) == Some("0") {
            let message =
                format!("the server answers {status}: its limit of requests is reached for now");
            return Self::new(Code::RATE_LIMIT, url, message);
        }
        let code = match status.as_u16() {
            401 | 403 => Code::FORBIDDEN,
            404 => Code::NOT_FOUND,
            410 => Code::GONE,
            408 | 429 => Code::BUSY,
            500..=599 => Code::SERVER_ERROR,
            _ => Code::STATUS,
        };
        let error = Self::new(code, url, format!("the server answers {status}"));
        match status.as_u16() {
            401 => Self {
                retry: Retry::Login,
                ..error
            },
            408 | 429 | 500 | 502..=504 => Self {
                retry: Retry::After(retry_after(headers)),
                ..error
            },
            _ => error,
        }
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a date in a header means something only against the clock"
)]
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    parse_retry_after(headers.get(RETRY_AFTER)?.to_str().ok()?, SystemTime::now())
}

/// Seconds, or a date.
pub fn parse_retry_after(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    if let Ok(seconds) = text.parse() {
        return Some(Duration::from_secs(seconds));
    }
    let date = httpdate::parse_http_date(text).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_of_requests_is_no_refusal() {
        let mut headers = HeaderMap::new();
        let from = |status, headers: &HeaderMap| {
            HttpError::from_status("https://api.github.com/repos", status, headers)
        };
        for (left, code) in [("0", Code::RATE_LIMIT), ("59", Code::FORBIDDEN)] {
            headers.insert("x-ratelimit-remaining", left.parse().expect("header"));
            assert_eq!(from(StatusCode::FORBIDDEN, &headers).code, code);
        }
        headers.insert("x-ratelimit-remaining", "0".parse().expect("header"));
        let error = from(StatusCode::TOO_MANY_REQUESTS, &headers);
        assert_eq!((error.code, error.retry), (Code::RATE_LIMIT, Retry::Never));
        assert!(error.hint().expect("hint").contains("--allow-header-env"));
        assert_eq!(from(StatusCode::NOT_FOUND, &headers).code, Code::NOT_FOUND);
    }

    #[test]
    fn servers_say_when_to_come_again() {
        let mut headers = HeaderMap::new();
        for (text, expected) in [
            ("7", Some(7)),
            ("Fri, 21 Nov 2014 00:00:00 GMT", Some(0)),
            ("soon", None),
        ] {
            headers.insert(RETRY_AFTER, text.parse().expect("header"));
            assert_eq!(
                retry_after(&headers),
                expected.map(Duration::from_secs),
                "{text}"
            );
        }
    }
}
