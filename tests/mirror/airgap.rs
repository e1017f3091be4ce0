//! Across the air gap: a bundle as the mirror of a provider's, and as media for a machine.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::Path;

use imagegen::base::digest::sha256_hex;
use serde_json::Value;

use super::site::Site;
use crate::fetch::tls::config;
use crate::support::files;
use crate::support::server::{Server, status, whole};

/// A web server that knows nothing but a folder.
fn serving(site: &Site, folder: &str) -> Server {
    let folder = site.home.folder.join(folder);
    Server::tls(
        config(&site.home.folder, "good"),
        move |asked| match fs::read(folder.join(asked.path.trim_start_matches('/'))) {
            Ok(bytes) => whole(&bytes, &[]),
            Err(_) => status("404 Not Found", &[]),
        },
    )
}

/// URL and digest of everything that a guest plan asks for.
fn asked_for(plan: &Path) -> BTreeSet<(String, String)> {
    let plan: Value = serde_json::from_slice(&fs::read(plan).expect("plan")).expect("JSON");
    let resources = plan["resources"].as_array().expect("resources");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    resources
        .iter()
        .filter_map(|one| {
            Some((
                text(&one["properties"]["url"])?,
                text(&one["properties"]["digest"])?,
            ))
        })
        .collect()
}

#[test]
fn a_bundle_is_a_mirror_below_any_web_server() {
    let Some(mut site) = Site::new() else { return };
    for (selection, locked_alone) in [
        ("--target host --k8s 1.36.4", false),
        ("--target host --k8s 1.36.0 --cni flannel-overlay", true),
    ] {
        site.afresh();
        site.overrides.clear();
        site.stock(selection);
        site.succeeds(&format!("lock {selection}"));
        // The site has no signatures.
        let waivers = site.list_waivers();
        site.plain(
            &format!(
                "bundle create --out node.zip --store store --ca-file ca.pem {waivers} --mirror {}",
                site.url("/")
            ),
            0,
        );
        let said = site
            .plain("bundle extract node.zip --as-mirror mirror", 0)
            .stderr;
        assert!(
            said.contains("build with `--delivery mirror --mirror"),
            "{said}"
        );
        if locked_alone {
            // A lock of the publishers' own URLs gives the same folder.
            let offline = "--offline --store store";
            site.plain(
                &format!("lock {selection} --overrides overrides.json {offline} --lock own.json"),
                0,
            );
            site.plain(
                &format!("bundle create --out own.zip --lock own.json {offline}"),
                0,
            );
            site.plain("bundle extract own.zip --as-mirror own", 0);
            assert_eq!(
                files(&site.home.folder.join("own")),
                files(&site.home.folder.join("mirror"))
            );
        }
        // Nobody else is asked from here on.
        let asked = site.requests();
        fs::remove_dir_all(site.home.folder.join("store")).expect("store");
        let server = serving(&site, "mirror");
        let with = format!("{selection} --delivery mirror --mirror {}", server.url("/"));
        let with = format!("{with} --overrides overrides.json --lock mirrored.json");
        let network = "--ca-file ca.pem --store store";
        // And so the mirror has none.
        site.plain(&format!("lock {with} {waivers} {network}"), 0);
        site.plain(&format!("build {with} --locked --no-bake --out o"), 0);
        let fetched = site
            .plain(
                &format!("fetch {with} --locked --format json {waivers} {network}"),
                0,
            )
            .stdout;
        let fetched: Value = serde_json::from_str(&fetched).expect("JSON");
        let fetched: BTreeSet<(String, String)> = fetched["items"]
            .as_array()
            .expect("files")
            .iter()
            .map(|one| {
                let text = |name: &str| one[name].as_str().expect("text").to_owned();
                (text("url"), text("sha256"))
            })
            .collect();
        assert_eq!(
            asked_for(&site.home.folder.join("o/guest-plan.json")),
            fetched,
            "{selection}"
        );
        assert!(
            fetched
                .iter()
                .all(|(url, _)| url.starts_with(&server.url("/"))),
            "{fetched:?}"
        );
        assert_eq!(site.requests(), asked);
        for name in ["mirror", "o"] {
            fs::remove_dir_all(site.home.folder.join(name)).expect(name);
        }
    }
}

#[test]
fn what_does_not_belong_into_a_mirror_is_not_put_there() {
    let Some(mut site) = Site::new() else { return };
    let selection = "--target azure --k8s 1.36.0";
    site.stock(selection);
    site.succeeds(&format!("lock {selection}"));
    let waivers = site.list_waivers();
    site.plain(
        &format!(
            "bundle create --out node.zip --store store --ca-file ca.pem {waivers} --mirror {}",
            site.url("/")
        ),
        0,
    );
    let said = site
        .plain("bundle extract node.zip --as-mirror mirror", 0)
        .stderr;
    assert!(
        said.contains("overrides give them URLs: cloudbase-init"),
        "{said}"
    );
    let laid = files(&site.home.folder.join("mirror"));
    assert!(
        !laid.is_empty() && laid.keys().all(|name| !name.contains("loudbase")),
        "{:?}",
        laid.keys()
    );
    // The bundle is checked before anything is written.
    let mut bundle = site.home.read("node.zip");
    let middle = find_content(&bundle);
    bundle[middle] ^= 1;
    site.write("bad.zip", &bundle);
    site.plain("bundle extract bad.zip --as-mirror bad", 5);
    assert!(!site.home.exists("bad"));
}

/// A place within the largest member of an archive: headers have bits that nobody reads.
fn find_content(archive: &[u8]) -> usize {
    let mut zip = zip::ZipArchive::new(std::io::Cursor::new(archive)).expect("an archive");
    let mut places = Vec::new();
    for index in 0..zip.len() {
        let member = zip.by_index(index).expect("a member");
        let size = member.compressed_size();
        places.push((size, member.data_start().expect("a place") + size / 2));
    }
    let (_, place) = places.into_iter().max().expect("a member");
    usize::try_from(place).expect("a place in memory")
}

/// From the publishers to a machine without network, with nothing but the bundle in between.
#[test]
fn a_bundle_becomes_media_for_a_machine() {
    let Some(mut site) = Site::new() else { return };
    let selection = "--target host --k8s 1.20.0 --delivery media";
    site.stock(selection);
    site.succeeds(&format!("lock {selection}"));
    let waivers = site.list_waivers();
    site.plain(
        &format!(
            "bundle create --out node.zip --store store --ca-file ca.pem {waivers} --mirror {}",
            site.url("/")
        ),
        0,
    );
    let mirror = site.url("/");
    drop(fs::remove_dir_all(site.home.folder.join("store")));
    let asked = site.requests();
    site.plain(
        "bundle extract node.zip --store other --write-lock carried.json",
        0,
    );
    let with =
        format!("{selection} --mirror {mirror} --overrides overrides.json --lock carried.json");
    site.plain(
        &format!("build {with} --locked --offline --store other --out o"),
        0,
    );
    assert_eq!(site.requests(), asked);
    let zip = site.home.read("o/imagegen-host-2019-k8s-1.20.0.zip");
    let mut zip = zip::ZipArchive::new(Cursor::new(zip)).expect("zip");
    let wanted = asked_for(&site.home.folder.join("o/guest-plan.json"));
    assert!(wanted.len() > 3, "{wanted:?}");
    for (url, digest) in wanted {
        let mut bytes = Vec::new();
        zip.by_name(&format!("artifacts/{digest}"))
            .expect(&url)
            .read_to_end(&mut bytes)
            .expect("bytes");
        assert_eq!(sha256_hex(&bytes), digest, "{url}");
    }
}
