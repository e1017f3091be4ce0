//! Proxies of requests: the operator's, or those of the environment, and the hosts that are asked without them.
//!
//! The HTTP library reads `NO_PROXY` without ports, brackets and normal form; here a host is what URLs say it is.

use std::env;

use reqwest::{ClientBuilder, Proxy, Url};

use super::HttpError;
use crate::base::code::Code;
use crate::base::no_proxy::ProxyExceptions;

/// The proxies of both schemes.
#[derive(Debug, Clone, Default)]
struct Proxies {
    http: Option<Url>,
    https: Option<Url>,
}

/// Which proxy is asked for which address.
#[derive(Debug, Clone, Default)]
pub(super) struct ProxyChoice {
    proxies: Proxies,
    exceptions: ProxyExceptions,
}

impl ProxyChoice {
    /// The given proxy, or those of the environment.
    pub(super) fn read(given: Option<&str>) -> Result<Self, HttpError> {
        let proxies = match given {
            Some(proxy) => Proxies::from_url(&parse_proxy("", proxy)?),
            None => Proxies::from_environment()?,
        };
        // Also with a proxy of one's own, `NO_PROXY` names what is near.
        let (_, exceptions) = read_first(&["NO_PROXY", "no_proxy"]);
        Ok(Self {
            proxies,
            exceptions: ProxyExceptions::parse_list(&exceptions),
        })
    }

    /// The client with these proxies. Without any, the system's settings count.
    pub(super) fn configure(self, builder: ClientBuilder) -> ClientBuilder {
        if self.proxies.http.is_none() && self.proxies.https.is_none() {
            return builder;
        }
        builder.proxy(Proxy::custom(move |url: &Url| self.find(url).cloned()))
    }

    /// The proxy that is asked for an address, if it is not the system's.
    pub(super) fn find(&self, url: &Url) -> Option<&Url> {
        let host = url.host_str().unwrap_or_default();
        let is_near = self.exceptions.contains(host, url.port_or_known_default());
        self.proxies.find(url.scheme()).filter(|_| !is_near)
    }
}

impl Proxies {
    fn from_url(proxy: &Url) -> Self {
        Self {
            http: Some(proxy.clone()),
            https: Some(proxy.clone()),
        }
    }

    fn from_environment() -> Result<Self, HttpError> {
        let http = read_variable(&["HTTP_PROXY", "http_proxy"])?;
        let https = read_variable(&["HTTPS_PROXY", "https_proxy"])?;
        let every = read_variable(&["ALL_PROXY", "all_proxy"])?;
        let http = http.filter(|_| !is_cgi());
        Ok(Self {
            http: http.or_else(|| every.clone()),
            https: https.or(every),
        })
    }

    fn find(&self, scheme: &str) -> Option<&Url> {
        match scheme {
            "http" => self.http.as_ref(),
            _ => self.https.as_ref(),
        }
    }
}

/// Behind a web server, `HTTP_PROXY` is a header of the request (<https://httpoxy.org>).
fn is_cgi() -> bool {
    env::var_os("REQUEST_METHOD").is_some()
}

fn read_variable(names: &[&str]) -> Result<Option<Url>, HttpError> {
    let (name, value) = read_first(names);
    if value.is_empty() {
        return Ok(None);
    }
    parse_proxy(&format!(" in {name}"), &value).map(Some)
}

/// The first of these variables that is not empty.
fn read_first(names: &[&str]) -> (String, String) {
    for name in names {
        if let Some(value) = env::var(name).ok().filter(|value| !value.is_empty()) {
            return ((*name).to_owned(), value);
        }
    }
    <_>::default()
}

/// A proxy's URL; `proxy.example:3128` is one over HTTP, as curl reads it. `place` says where it stands.
fn parse_proxy(place: &str, text: &str) -> Result<Url, HttpError> {
    let text = if text.contains("://") {
        text.to_owned()
    } else {
        format!("http://{text}")
    };
    if !text.is_ascii() {
        let message =
            format!("the proxy URL{place} cannot be used: it has other letters than ASCII's");
        return Err(HttpError::new(Code::BAD_PROXY, "", message));
    }
    let reason = match Url::parse(&text) {
        Ok(url) if !matches!(url.scheme(), "http" | "https") => {
            format!("it has the scheme `{}`", url.scheme())
        }
        Ok(url) if url.has_host() => return Ok(url),
        Ok(_) => "it has no host".to_owned(),
        Err(error) => error.to_string(),
    };
    let message = format!("the proxy URL{place} cannot be used: {reason}");
    Err(HttpError::new(Code::BAD_PROXY, "", message))
}
