//! A token for lists of releases: GitHub's API answers 60 requests of an address in an hour without one, and 5,000 of
//! its owner with one.
//! <https://docs.github.com/en/rest/using-the-rest-api/rate-limits-for-the-rest-api>

use crate::base::secret::Secret;
use crate::base::url::HttpUrl;

/// The API of github.com. A server of one's own has another one.
const API: &str = "https://api.github.com";

/// Variables with a token for github.com, in the order of `gh`: <https://cli.github.com/manual/gh_help_environment>.
const VARIABLES: [&str; 2] = ["GH_TOKEN", "GITHUB_TOKEN"];

/// The header with the token of the environment, for GitHub's own API alone. On a runner of GitHub Enterprise Server
/// the token is that server's, and `GITHUB_API_URL` names it:
/// <https://docs.github.com/en/actions/reference/workflows-and-actions/variables>.
pub(super) fn read_login(
    url: &HttpUrl,
    read_variable: impl Fn(&str) -> Option<String>,
) -> Option<(String, Secret)> {
    let read = |name: &str| {
        let value = read_variable(name).unwrap_or_default().trim().to_owned();
        let is_header = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_graphic());
        is_header.then_some(value)
    };
    let path = url.public_url().strip_prefix(API);
    if !path.is_some_and(|path| path.starts_with('/')) {
        return None;
    }
    if read("GITHUB_API_URL").is_some_and(|api| api.trim_end_matches('/') != API) {
        return None;
    }
    let token = Secret::new(VARIABLES.into_iter().find_map(read)?);
    let value = [b"Bearer ", token.reveal()].concat();
    Some(("Authorization".to_owned(), Secret::from_parts(value)))
}

#[cfg(test)]
mod tests {
    use super::read_login;

    const LIST: &str = "https://api.github.com/repos/a/b/releases?per_page=100";

    fn login(url: &str, variables: &[(&str, &str)]) -> Option<String> {
        let read = |name: &str| {
            let mut variables = variables.iter();
            variables
                .find(|(known, _)| *known == name)
                .map(|(_, value)| (*value).to_owned())
        };
        let (name, value) = read_login(&url.parse().expect("a URL"), read)?;
        assert_eq!(name, "Authorization");
        Some(value.reveal_text().to_owned())
    }

    #[test]
    fn a_token_goes_to_the_api_of_github_alone() {
        let token = [("GITHUB_TOKEN", "token-of-a-runner")];
        let sent = Some("Bearer token-of-a-runner".to_owned());
        assert_eq!(login(LIST, &token), sent);
        for url in [
            "http://api.github.com/repos/a/b/releases",
            "https://api.github.com.example/repos/a/b/releases",
            "https://api.github.com:8443/repos/a/b/releases",
            "https://github.com/a/b/releases",
            "https://dl.k8s.io/release/stable.txt",
        ] {
            assert_eq!(login(url, &token), None, "{url}");
        }
    }

    #[test]
    fn the_token_of_another_server_is_not_sent() {
        for (api, is_sent) in [
            ("https://api.github.com", true),
            ("https://api.github.com/", true),
            ("", true),
            ("https://github.example.com/api/v3", false),
            ("https://api.github.com.example", false),
        ] {
            let variables = [("GH_TOKEN", "token-of-a-user"), ("GITHUB_API_URL", api)];
            assert_eq!(login(LIST, &variables).is_some(), is_sent, "{api}");
        }
    }

    #[test]
    fn the_first_variable_with_a_value_counts() {
        let both = [("GITHUB_TOKEN", "of-a-runner"), ("GH_TOKEN", "of-a-user")];
        assert_eq!(login(LIST, &both).as_deref(), Some("Bearer of-a-user"));
        let empty = [("GITHUB_TOKEN", "of-a-runner"), ("GH_TOKEN", "")];
        assert_eq!(login(LIST, &empty).as_deref(), Some("Bearer of-a-runner"));
        assert_eq!(login(LIST, &[]), None);
    }
}
