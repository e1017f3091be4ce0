//! The token for GitHub's API, as it is on the wire.

use crate::fetch::tls::{certificates, certify, config};
use crate::mirror::outdated::write_lists;
use crate::mirror::site::Site;
use crate::support::server::{Asked, Server, Step, status, whole};
use crate::support::{Ran, Test, program};

const TOKEN: &str = "ghs_invented0token1of2a3runner";
const API: &str = "api.github.com";

/// Publishers behind a proxy, which finds all of them on one server.
struct Publishers {
    home: Test,
    server: Server,
    proxy: Server,
}

impl Publishers {
    /// None where openssl is absent, which is said. GitHub's API answers as it is told; no other host has a file.
    fn start(answer: impl Fn(&Asked) -> Vec<Step> + Send + Sync + 'static) -> Option<Self> {
        program("openssl")?;
        let home = Test::new();
        certificates(&home.folder);
        let hosts = "DNS:api.github.com,DNS:dl.k8s.io,DNS:elsewhere.test";
        certify(&home.folder, "publishers", hosts, 2);
        let server = Server::tls(config(&home.folder, "publishers"), move |asked| match asked
            .header("host")
        {
            Some(API) => answer(asked),
            Some("elsewhere.test") => whole(b"[]", &[]),
            _ => status("404 Not Found", &[]),
        });
        let address = server.address;
        let proxy = Server::new(move |_| {
            let connected = b"HTTP/1.1 200 Connected\r\n\r\n".to_vec();
            vec![Step::Send(connected), Step::Tunnel(address)]
        });
        Some(Self {
            home,
            server,
            proxy,
        })
    }

    fn run(&self, variables: &[(&str, &str)]) -> Ran {
        let proxy = format!("http://{}", self.proxy.address);
        let line = "outdated -v --target host --k8s 1.36 --ca-file ca.pem --store store";
        let test = Test::new().line(line).args(["--proxy", &proxy]);
        let mut command = test.command();
        command.current_dir(&self.home.folder);
        let output = command.envs(variables.iter().copied()).output();
        let output = output.expect("the program starts");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        let ran = Ran {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        };
        assert!(!ran.stdout.contains(TOKEN), "{}", ran.stdout);
        assert!(!ran.stderr.contains(TOKEN), "{}", ran.stderr);
        ran
    }

    /// `Authorization` of each request to a host.
    fn list_logins(&self, is_api: bool) -> Vec<Option<String>> {
        let mut asked = self.server.asked();
        asked.retain(|asked| (asked.header("host") == Some(API)) == is_api);
        let logins = asked.iter().map(|asked| asked.header("authorization"));
        logins.map(|login| login.map(str::to_owned)).collect()
    }
}

/// The list of containerd is elsewhere.
fn answer_lists(asked: &Asked) -> Vec<Step> {
    if asked.path.contains("/containerd/containerd/") {
        return status("302 Found", &["Location: https://elsewhere.test/list"]);
    }
    whole(b"[]", &[])
}

#[test]
fn the_token_goes_to_the_api_and_nowhere_else() {
    let other = "invented0token1of2another3user";
    for (variables, sent) in [
        (&[("GITHUB_TOKEN", TOKEN)][..], Some(TOKEN)),
        (&[("GH_TOKEN", TOKEN), ("GITHUB_TOKEN", other)], Some(TOKEN)),
        (
            &[
                ("GH_TOKEN", TOKEN),
                ("GITHUB_API_URL", "https://api.github.com"),
            ],
            Some(TOKEN),
        ),
        (
            &[
                ("GH_TOKEN", TOKEN),
                ("GITHUB_API_URL", "https://ghes.test/api/v3"),
            ],
            None,
        ),
        (&[], None),
    ] {
        let Some(publishers) = Publishers::start(answer_lists) else {
            return;
        };
        let ran = publishers.run(variables);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let logins = publishers.list_logins(true);
        let expected = sent.map(|token| format!("Bearer {token}"));
        assert!(!logins.is_empty(), "{variables:?}");
        assert!(logins.iter().all(|login| *login == expected), "{logins:?}");
        // Kubernetes' list, and the redirect.
        let others = publishers.list_logins(false);
        assert!(others.len() > 1, "{variables:?}");
        assert!(others.iter().all(Option::is_none), "{others:?}");
    }
}

#[test]
fn a_token_that_is_refused_takes_nothing_away() {
    let variables = [("GITHUB_TOKEN", TOKEN)];
    for refusal in ["401 Unauthorized", "403 Forbidden"] {
        let answer = move |asked: &Asked| match asked.header("authorization") {
            Some(_) => status(refusal, &[]),
            None => whole(b"[]", &[]),
        };
        let Some(publishers) = Publishers::start(answer) else {
            return;
        };
        let ran = publishers.run(&variables);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let logins = publishers.list_logins(true);
        assert!(!logins.is_empty(), "{refusal}");
        for pair in logins.chunks(2) {
            let sent = pair.iter().map(Option::is_some).collect::<Vec<_>>();
            assert_eq!(sent, [true, false], "{refusal}");
        }

        let closed = Publishers::start(move |_| status(refusal, &[]));
        let ran = closed.expect("openssl").run(&variables);
        assert_eq!(ran.code, Some(4), "{}", ran.stderr);
        assert!(ran.stderr.contains(refusal), "{}", ran.stderr);
    }
}

#[test]
fn a_mirror_gets_no_token() {
    let Some(mut site) = Site::new() else { return };
    write_lists(&mut site);
    let mut command = site.command("outdated --target azure --k8s 1.36");
    let output = command.env("GH_TOKEN", TOKEN).output();
    let output = output.expect("the program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(site.requests() > 1, "{said}");
    for asked in site.list_asked() {
        assert_eq!(asked.header("authorization"), None, "{}", asked.path);
    }
}
