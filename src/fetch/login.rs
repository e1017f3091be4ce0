//! Logins at registries of images: headers of a mirror, or a token for anybody. Registries give tokens for minutes, and
//! an image takes hours: one that is refused is asked for again.

use std::sync::Arc;

use tokio::sync::Mutex;

use crate::base::secret::Secret;
use crate::io::http::{Http, HttpError};
use crate::io::oci::{Reference, authorize_image};

/// Login for the requests of one image, which share a token. No registry is asked before its first request.
#[derive(Debug, Clone)]
pub struct RegistryLogin(Arc<LoginKind>);

#[derive(Debug)]
enum LoginKind {
    Headers(Vec<(String, Secret)>),
    Token {
        image: Reference,
        issued: Mutex<Issued>,
    },
}

/// Tokens that were asked for.
#[derive(Debug, Default)]
struct Issued {
    count: u64,
    /// Headers with the latest token; empty for a registry that wants none.
    held: Option<Vec<(String, Secret)>>,
}

/// Headers of a login, and the number of their token.
#[derive(Debug)]
pub(super) struct LoginHeaders {
    pub headers: Vec<(String, Secret)>,
    pub token: Option<u64>,
}

impl RegistryLogin {
    /// By the headers of a mirror.
    pub fn with_headers(headers: Vec<(String, Secret)>) -> Self {
        Self(Arc::new(LoginKind::Headers(headers)))
    }

    /// By a token that the registry of the image gives.
    pub fn by_token(image: Reference) -> Self {
        let issued = Mutex::default();
        Self(Arc::new(LoginKind::Token { image, issued }))
    }

    /// # Errors
    /// The registry or its token server cannot be asked, or wants more than a token.
    pub(super) async fn read_headers(&self, http: &Http) -> Result<LoginHeaders, HttpError> {
        let (image, issued) = match &*self.0 {
            LoginKind::Headers(headers) => {
                let headers = headers.clone();
                return Ok(LoginHeaders {
                    headers,
                    token: None,
                });
            }
            LoginKind::Token { image, issued } => (image, issued),
        };
        let mut issued = issued.lock().await;
        let headers = match &issued.held {
            Some(held) => held.clone(),
            None => authorize_image(http, image).await?,
        };
        if issued.held.is_none() {
            issued.count += 1;
            issued.held = Some(headers.clone());
        }
        Ok(LoginHeaders {
            headers,
            token: Some(issued.count),
        })
    }

    /// Gives up a token that was refused, unless another request has a newer one already.
    pub(super) async fn forget_token(&self, token: u64) {
        if let LoginKind::Token { issued, .. } = &*self.0 {
            let mut issued = issued.lock().await;
            if issued.count == token {
                issued.held = None;
            }
        }
    }
}
