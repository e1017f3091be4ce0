//! Pages: whole, without a request, readable without scripts at any width, with names for everything.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::bake::{MANIFEST, REPORT, with_packer};
use crate::publish::Build;
use crate::support::{Test, program, root};

/// A check report with a difference, and lines of a guest.
fn baked() -> Test {
    let lines = r#"echo '    imagegen.a.node: imagegen: [1/2] changed kubernetes/kubelet (61500 ms)'
echo '    imagegen.a.node: {"schema":"imagegen.dev/phase-result/v1","phase":"install","mode":"apply","unchanged":1,"changed":1,"failed":0,"restart":false,"error":null}'
echo '    imagegen.a.node: imagegen: free on C: 10737418240 bytes before, 12884901888 bytes after'
echo '==> imagegen.a.node: Restarting Machine'"#;
    let test = with_packer(&format!(
        "[ \"$1\" = build ] || exit 0\n{lines}\n{MANIFEST}\n{REPORT}"
    ));
    test.succeeds();
    test
}

/// The page in a browser: requests, console, accessible names, widths.
fn look(test: &Test, page: &str) -> Option<Value> {
    let browser = program("chromium-headless-shell")?;
    let mut command = Command::new("python3");
    command
        .arg(root().join("tests/evidence/browser.py"))
        .arg(browser)
        .arg(page)
        .current_dir(&test.folder);
    if let Some(folder) = std::env::var_os("IMAGEGEN_SCREENSHOTS") {
        command.arg(folder);
    }
    let output = command.output().expect("python3");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    Some(serde_json::from_slice(&output.stdout).expect("JSON"))
}

fn check_page(seen: &Value) {
    let requests = seen["requests"].as_array().expect("requests");
    assert!(
        requests.len() == 1
            && requests[0]
                .as_str()
                .is_some_and(|url| url.starts_with("file:")),
        "{requests:?}"
    );
    assert_eq!(seen["console"].as_array().map(Vec::len), Some(0), "{seen}");
    for (width, content) in seen["widths"].as_object().expect("widths") {
        let (width, content) = (width.parse::<f64>().expect("width"), content.as_f64());
        assert!(
            content.is_some_and(|content| content <= width),
            "the page is {content:?} wide at {width}"
        );
    }
    assert!(seen["pdf"].as_u64().is_some_and(|size| size > 10_000));
}

#[track_caller]
fn has(seen: &Value, role: &str, name: &str) {
    let tree = seen["tree"].as_array().expect("tree");
    let found = tree.iter().any(|node| {
        node["role"] == role
            && node["name"]
                .as_str()
                .is_some_and(|text| text.contains(name))
    });
    assert!(found, "no {role} `{name}`");
}

#[test]
fn the_page_of_an_image_has_everything() {
    let test = baked();
    test.succeeds();
    let page = test.bare().prints("report o");
    let text = test.text(page.trim());
    assert!(
        page.contains("o/builds/") && text.starts_with("<!DOCTYPE html>"),
        "{page}"
    );
    for part in [
        "/subscriptions/s/images/i",
        "kubernetes/kubelet",
        "1 min 01 s",
        "Windows restarted 1 time<",
        "10.00 GiB before compacting, 12.00 GiB after",
        "sbom.cdx.json",
        "digest alone",
    ] {
        assert!(text.contains(part), "{part}");
    }
    // No script, and nothing that a browser would fetch.
    for part in ["<script", "src=\"http", "@import", "url("] {
        assert!(!text.contains(part), "{part}");
    }
    // The second page of one record replaces the first, and no file of others.
    test.bare().prints("report o");
    let test = test.file("mine.txt", "mine");
    let ran = test.bare().run("report o --out mine.txt");
    assert_eq!(
        (ran.code, test.text("mine.txt").as_str()),
        (Some(3), "mine")
    );

    let Some(seen) = look(&test, page.trim()) else {
        return;
    };
    check_page(&seen);
    has(
        &seen,
        "heading",
        "Node image azure, Windows 2019, Kubernetes 1.20.0",
    );
    for section in [
        "Image",
        "How each subject was proven",
        "Prediction and checks",
        "Timeline of the bake",
        "Documents",
    ] {
        has(&seen, "region", section);
    }
    has(&seen, "columnheader", "Strength");
    has(&seen, "rowheader", "packer build");
    has(&seen, "link", "sbom.cdx.json");
    has(&seen, "navigation", "Sections");
    has(
        &seen,
        "StaticText",
        "0 components and 0 resources of the machine differ",
    );
}

#[test]
fn values_are_text_and_never_markup() {
    let test = with_packer(
        "[ $1 = build ] || exit 0\necho 'Error: <script>alert(1)</script> & \"more\"'; exit 1",
    );
    test.fails(7, &["<script>"]);
    let builds = fs::read_dir(test.folder.join("o/builds"))
        .expect("builds")
        .next();
    let name = builds.expect("a build").expect("entry").file_name();
    let line = format!("report o/builds/{}", name.to_string_lossy());
    let page = test.bare().prints(&line).trim().to_owned();
    let text = test.text(&page);
    assert!(!text.contains("<script>") && text.contains("&lt;script&gt;"));
    assert!(text.contains("Why the build failed") && text.contains("packer-failed"));
    if let Some(seen) = look(&test, &page) {
        check_page(&seen);
        has(&seen, "heading", "Why the build failed");
    }
}

/// A guest in which a resource fails, as Packer prints it.
const FAILED: &str = r#"[ "$1" = build ] || exit 0
echo '    imagegen.a.node: imagegen: [1/2] changed kubernetes/kubelet (61500 ms)'
echo '    imagegen.a.node: imagegen: [2/2] failed containerd/service (3200 ms)'
echo '    imagegen.a.node: {"schema":"imagegen.dev/phase-result/v1","phase":"install","mode":"apply","unchanged":0,"changed":1,"failed":1,"restart":false,"error":"containerd/service: it cannot be started"}'
exit 1"#;

/// The folder of the only record below a workspace.
fn find_record(test: &Test, workspace: &str) -> String {
    let folder = test.folder.join(workspace).join("builds");
    let entry = fs::read_dir(folder).expect("builds").next();
    let name = entry.expect("a build").expect("entry").file_name();
    format!("{workspace}/builds/{}", name.to_string_lossy())
}

#[test]
fn the_page_of_a_failed_build_says_what_failed_and_where_to_look() {
    let test = with_packer(FAILED);
    test.fails(7, &[]);
    let page = test
        .bare()
        .prints(&format!("report {}", find_record(&test, "o")));
    let text = test.text(page.trim());
    // Lines of a program stay lines, and the log is the record's own.
    for part in [
        "packer build failed with exit code 1</p>",
        "<li>containerd/service (3.2 s)</li>",
        "<pre>",
        "Where: <a href=\"packer.log\">",
        "href=\"#error\"",
        "pin verified",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("not verified"), "the bake has its proofs");

    let Some(seen) = look(&test, page.trim()) else {
        return;
    };
    check_page(&seen);
    has(&seen, "heading", "Why the build failed");
    has(&seen, "heading", "Resources that failed");
    has(&seen, "link", "packer.log");
    has(&seen, "columnheader", "Failed");
}

#[test]
fn nothing_is_called_proven_that_a_failed_build_did_not_verify() {
    let test = with_packer("exit 1");
    fs::remove_dir_all(test.folder.join("store/objects")).expect("the store is emptied");
    test.fails(4, &["[offline]"]);
    let page = test
        .bare()
        .prints(&format!("report {}", find_record(&test, "o")));
    let text = test.text(page.trim());
    assert!(text.contains("not verified: the build ended before"));
    // The guest scripts are part of the program, and the guest pulls the pause image by its digest.
    assert_eq!(text.matches("digest alone").count(), 2);

    // In the list of images, a workspace whose builds all failed has none.
    test.bare().prints("report --all --from o --out fleet.html");
    let text = test.text("fleet.html");
    for part in [
        "0 images, 1 with a failed last build",
        "Without an image: 1.",
        "failed: offline",
    ] {
        assert!(text.contains(part), "{part}");
    }
    assert!(!text.contains("0 days"), "a failed build has no age");
    if let Some(seen) = look(&test, "fleet.html") {
        check_page(&seen);
        has(&seen, "rowheader", "o");
    }
}

#[test]
fn the_page_of_many_names_age_holes_and_newer_releases() {
    let test = baked();
    // Another workspace, whose last build failed.
    let folder = test.folder.join("fleet/second/builds/20200101-000000");
    fs::create_dir_all(&folder).expect("folder");
    let mut record: Value = serde_json::from_str(&test.text("o/image.json")).expect("JSON");
    record["started"] = "2020-01-01T00:00:00Z".into();
    record["finished"] = "2020-01-02T00:00:00Z".into();
    record["kubernetes"] = "1.36.0".into();
    record["imageVersion"] = "20200101-000000".into();
    fs::write(folder.join("image.json"), record.to_string()).expect("record");
    let test = test.env("SOURCE_DATE_EPOCH", "1767225600");
    test.bare().prints("report --all --from o --from fleet");
    let text = test.text("report.html");
    for part in [
        "2 images, 0 with a failed last build",
        "Kubernetes 1.20, Windows 2019",
        "end of life since 2022-02-28",
        "2191 days",
        "As of <span class=\"whole\">2026-01-01T00:00:00Z</span>",
    ] {
        assert!(text.contains(part), "{part}");
    }
    if let Some(seen) = look(&test, "report.html") {
        check_page(&seen);
        has(&seen, "heading", "Node images");
        has(&seen, "region", "Images of Kubernetes 1.20, Windows 2019");
        has(&seen, "rowheader", "second");
        has(&seen, "StaticText", "supported until 2027-06-28");
    }
}

/// Workspaces of two folders or histories may have one name: the page has both, and the failure of one is not that of the
/// other.
#[test]
fn images_of_one_name_are_two_rows() {
    let mut test = Test::new();
    for (place, number) in [("eu", 1), ("us", 2)] {
        let build = Build {
            version: place,
            day: &format!("2021-01-0{number}"),
            id: &format!("0b4c5a52-6d9e-4a1e-9b0c-{number:012}"),
            ..Build::default()
        };
        let record = build.record();
        let folder = "imagegen-out/node/builds/1";
        let history = json!({
            "schema": "imagegen.dev/history/v1", "builds": [{"place": folder, "record": &record}],
        });
        test = test
            .file(&format!("{place}/{folder}/image.json"), &record.to_string())
            .file(&format!("{place}.json"), &history.to_string());
    }
    for (from, names) in [
        (
            "--from eu --from us",
            ["eu/imagegen-out/node", "us/imagegen-out/node"],
        ),
        (
            "--from eu.json --from us.json",
            ["imagegen-out/node (eu.json)", "imagegen-out/node (us.json)"],
        ),
    ] {
        test.bare().prints(&format!("report --all {from}"));
        let text = test.text("report.html");
        assert!(
            text.contains("2 images, 0 with a failed last build"),
            "{text}"
        );
        for name in names {
            assert!(text.contains(name), "{name}");
        }
    }

    let test = test.file(
        "us/imagegen-out/node/builds/1/retirement.json",
        r#"{"schema": "imagegen.dev/retirement/v1", "imageVersion": "us", "started": "2021-01-02T00:00:00Z", "state": "deleted", "at": "2021-02-01T00:00:00Z"}"#,
    );
    test.bare().prints("report --all --from eu --from us");
    let text = test.text("report.html");
    for part in ["1 image, ", "Without an image: 1.", "deleted"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

#[test]
fn a_lockfile_has_a_page_before_its_image() {
    let test = Test::new();
    test.prints("render --target host --k8s 1.31.4 --out w");
    test.prints("report w/imagegen.lock.json --out p.html --scan-command cat");
    let text = test.text("p.html");
    for part in ["planned", "kubernetes-node", "1.31.4"] {
        assert!(text.contains(part), "{part}");
    }
    let ran = test.run_with("report w --out p.html --scan-command false");
    assert_eq!(ran.code, Some(5), "{}", ran.stderr);
    let ran = test.run_with("report");
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
}
