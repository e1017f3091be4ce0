//! The guest's scripts in a provider's hands: given out, signed by a throw-away authority, taken back.

mod judge;
mod refused;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read as _};
use std::path::Path;
use std::process::Command;

use imagegen::base::digest::sha256_hex;
use imagegen::verify::authenticode::unsigned_script;
use proptest::prelude::*;
use serde_json::{Value, json};
use zip::ZipArchive;

use crate::support::{Test, files, program, root};

const IMAGE: &str = "build --target azure --k8s 1.36.4 --no-bake --out o";

const OWN: &str = "/O=Own Provider/CN=Own Provider";

/// Authorities and signers in a folder, by openssl:
/// `own` is who the policy names, `stranger` somebody else of the same authority, `twin` has the
/// own name from another authority.
fn certify(folder: &Path) {
    let run = |line: &str, more: &[&str]| {
        let output = Command::new("openssl")
            .args(line.split(' '))
            .args(more)
            .current_dir(folder)
            .output()
            .expect("openssl starts");
        assert!(
            output.status.success(),
            "{line}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    let request = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2000";
    for authority in ["ca", "other"] {
        let line = format!("{request} -keyout {authority}.key -out {authority}.pem");
        let subject = format!("/CN=Throw-away {authority}");
        run(
            &line,
            &[
                "-subj",
                &subject,
                "-addext",
                "keyUsage=critical,keyCertSign,cRLSign",
            ],
        );
    }
    for (name, authority, subject) in [
        ("own", "ca", OWN),
        ("stranger", "ca", "/O=Stranger/CN=Stranger"),
        ("twin", "other", OWN),
    ] {
        let line = format!(
            "{request} -CA {authority}.pem -CAkey {authority}.key -keyout {name}.key -out {name}.pem"
        );
        let usage = [
            "keyUsage=critical,digitalSignature",
            "extendedKeyUsage=codeSigning",
        ];
        let constraints = "basicConstraints=critical,CA:FALSE";
        run(
            &line,
            &[
                "-subj",
                subject,
                "-addext",
                usage[0],
                "-addext",
                usage[1],
                "-addext",
                constraints,
            ],
        );
    }
}

pub fn tools() -> bool {
    program("openssl").is_some() && program("osslsigncode").is_some()
}

/// A folder with certificates, a policy that names the own provider, and exported scripts.
fn bench() -> Option<Test> {
    if !tools() {
        return None;
    }
    Some(provided(Test::new()))
}

/// The same in the folder of a test.
pub fn provided(test: Test) -> Test {
    let rule = json!({"publishers": ["O=Own Provider,CN=Own Provider"], "roots": "ca.pem"});
    let policy = json!({"name": "signed", "signedScripts": rule});
    let test = test.file("policy.json", &policy.to_string());
    certify(&test.folder);
    same(&test).line("scripts export --out scripts").succeeds();
    test
}

/// Another run in the folder of `test`.
struct Run<'a>(&'a Test, Command);

fn same(test: &Test) -> Run<'_> {
    Run(test, Test::new().command())
}

impl Run<'_> {
    fn line(mut self, line: &str) -> Self {
        self.1
            .args(line.split_whitespace())
            .current_dir(&self.0.folder);
        self
    }

    fn ends(mut self) -> (Option<i32>, String, String) {
        let output = self.1.output().expect("the program starts");
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        (
            output.status.code(),
            text(&output.stdout),
            text(&output.stderr),
        )
    }

    #[track_caller]
    fn succeeds(self) -> String {
        let (code, stdout, stderr) = self.ends();
        assert_eq!(code, Some(0), "{stderr}");
        stdout
    }

    #[track_caller]
    fn fails(self, code: i32, said: &[&str]) {
        let (found, stdout, stderr) = self.ends();
        assert_eq!(found, Some(code), "{stdout}\n{stderr}");
        for part in said {
            assert!(stderr.contains(part), "no `{part}` in:\n{stderr}");
        }
    }
}

/// Signs the exported scripts as provisioners/README.md shows it.
#[track_caller]
pub fn sign(test: &Test, signer: &str) {
    let readme = fs::read_to_string(root().join("provisioners/README.md")).expect("README.md");
    let (_, command) = readme.split_once("\nfind scripts ").expect("the command");
    let (command, _) = command.split_once("\nimagegen ").expect("its end");
    let command = format!("find scripts {command}").replace("signer.", &format!("{signer}."));
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(&test.folder)
        .output()
        .expect("sh starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success() && said.is_empty(),
        "{command}\n{said}"
    );
}

pub fn members(bytes: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut zip = ZipArchive::new(Cursor::new(bytes)).expect("zip");
    let mut found = BTreeMap::new();
    for index in 0..zip.len() {
        let mut file = zip.by_index(index).expect("member");
        let mut content = Vec::new();
        file.read_to_end(&mut content).expect("content");
        found.insert(file.name().expect("name").into_owned(), content);
    }
    found
}

#[test]
fn exported_scripts_are_those_that_a_guest_gets() {
    let test = Test::new().line("scripts export --out s");
    test.succeeds();
    let exported = files(&test.folder.join("s"));
    let list: Value = serde_json::from_slice(&exported["scripts.json"]).expect("JSON");
    let digests = list["files"].as_object().expect("files");
    assert_eq!(digests.len() + 1, exported.len());
    for (path, digest) in digests {
        assert_eq!(*digest, sha256_hex(&exported[path]), "{path}");
    }
    let image = Test::new().line(IMAGE);
    image.succeeds();
    let host = Test::new().line("build --target host --k8s 1.36.4 --no-bake --out o");
    host.succeeds();
    let mut payload = members(&image.read("o/payload.zip"));
    payload.retain(|path, _| path.ends_with('1'));
    payload.insert(
        "installer/Install.ps1".to_owned(),
        host.read("o/Install.ps1"),
    );
    payload.insert("scripts.json".to_owned(), exported["scripts.json"].clone());
    assert_eq!(payload, exported);
    // Its own folder is written again, nobody else's is.
    test.succeeds();
    assert_eq!(files(&test.folder.join("s")), exported);
    let test = test.file("s/notes.txt", "mine");
    test.fails(6, &["`notes.txt`, which imagegen did not write"]);
    assert_eq!(test.text("s/notes.txt"), "mine");
}

/// Without a policy, scripts of one's own change what is theirs and nothing else.
#[test]
fn exported_scripts_make_the_same_workspace() {
    let plain = Test::new().line(IMAGE);
    plain.succeeds();
    let test = Test::new();
    same(&test).line("scripts export --out s").succeeds();
    same(&test).line(IMAGE).line("--scripts s").succeeds();
    assert_eq!(
        files(&test.folder.join("o")),
        files(&plain.folder.join("o"))
    );
    let workspace: String = files(&plain.folder.join("o"))
        .iter()
        .filter(|(name, _)| *name != "payload.zip")
        .map(|(_, bytes)| String::from_utf8_lossy(bytes).into_owned())
        .collect();
    assert!(!workspace.contains("AllSigned") && !workspace.contains("\"signers\""));
}

#[test]
fn signed_scripts_satisfy_the_policy() {
    let Some(test) = bench() else { return };
    sign(&test, "own");
    same(&test)
        .line(IMAGE)
        .line("--policy policy.json --scripts scripts")
        .succeeds();
    let plan: Value = serde_json::from_str(&test.text("o/guest-plan.json")).expect("JSON");
    for (path, digest) in plan["scripts"].as_object().expect("scripts") {
        assert_eq!(
            *digest,
            sha256_hex(&test.read(&format!("scripts/{path}"))),
            "{path}"
        );
    }
    let payload = members(&test.read("o/payload.zip"));
    assert_eq!(
        payload["engine/Engine.psm1"],
        test.read("scripts/engine/Engine.psm1")
    );
    let leaf = pem(&test.text("own.pem"));
    assert_eq!(
        plan["signers"],
        json!([{"subject": "CN=Own Provider,O=Own Provider", "sha256": sha256_hex(&leaf)}])
    );
    let stores: Vec<(&str, &str)> = plan["resources"]
        .as_array()
        .expect("resources")
        .iter()
        .filter(|it| it["type"] == "certificate")
        .map(|it| {
            (
                it["phase"].as_str().unwrap(),
                it["properties"]["store"].as_str().unwrap(),
            )
        })
        .collect();
    assert_eq!(
        stores,
        [("bootstrap", "Root"), ("bootstrap", "TrustedPublisher")]
    );
    // Nothing starts the engine under a weaker policy; Packer's wrapper alone is none of ours.
    let build = test.text("o/build.pkr.hcl");
    build.parse::<hcl_edit::structure::Body>().expect("HCL");
    assert!(!build.contains("& 'C:\\imagegen"), "{build}");
    assert_eq!(build.matches("'AllSigned', '-File'").count(), 4);
    let complete = test.text("o/guest-plan.json");
    assert!(complete.contains(
        "-ExecutionPolicy AllSigned -File C:\\\\imagegen\\\\node\\\\Initialize-Clone.ps1"
    ));
    assert!(!complete.contains("-ExecutionPolicy Bypass"));
}

fn pem(text: &str) -> Vec<u8> {
    use base64::Engine as _;
    let body: String = text
        .lines()
        .filter(|line| !line.starts_with("-----"))
        .collect();
    base64::engine::general_purpose::STANDARD
        .decode(body)
        .expect("base64")
}

#[test]
fn an_installer_carries_signed_scripts_and_whom_to_trust() {
    let Some(test) = bench() else { return };
    sign(&test, "own");
    let line = "build --target host --k8s 1.36.0 --out o --policy policy.json --scripts scripts";
    same(&test).line(line).succeeds();
    let members = members(&test.read("o/imagegen-host-2022-k8s-1.36.0.zip"));
    assert_eq!(
        members["Install.ps1"],
        test.read("scripts/installer/Install.ps1")
    );
    assert_eq!(
        members["node/Join-Node.ps1"],
        test.read("scripts/node/Join-Node.ps1")
    );
    let leaf = pem(&test.text("own.pem"));
    assert_eq!(
        members[&format!(
            "certificates/TrustedPublisher-{}.cer",
            &sha256_hex(&leaf)[..16]
        )],
        leaf
    );
    let readme = String::from_utf8_lossy(&members["README.md"]).into_owned();
    assert!(
        readme.contains("-ExecutionPolicy AllSigned -File"),
        "{readme}"
    );
}

fn change(test: &Test, path: &str, change: impl FnOnce(String) -> String) {
    let path = test.folder.join("scripts").join(path);
    let script = fs::read_to_string(&path).expect("script");
    fs::write(&path, change(script)).expect("script");
}

/// A digest that is named lets a changed script pass, and not past the policy.
#[test]
fn a_script_of_ones_own_is_named_by_its_digest_and_signed_too() {
    let Some(test) = bench() else { return };
    change(&test, "engine/Tools.ps1", |text| {
        format!("# reviewed\n{text}")
    });
    let digest = sha256_hex(&test.read("scripts/engine/Tools.ps1"));
    sign(&test, "own");
    let named = format!("--override scripts/engine/Tools.ps1.sha256={digest}");
    let build = || {
        same(&test)
            .line(IMAGE)
            .line("--policy policy.json --scripts scripts --force")
            .line(&named)
    };
    build().succeeds();
    let lock: Value = serde_json::from_str(&test.text("o/imagegen.lock.json")).expect("JSON");
    assert_eq!(
        lock["selection"]["overrides"]["scripts/engine/Tools.ps1"]["sha256"],
        digest.as_str()
    );
    // The whole file's digest is named, so that the text may differ; the signature does not hold any more.
    change(&test, "engine/Tools.ps1", |text| {
        text.replacen("reviewed", "REVIEWED", 1)
    });
    let digest = sha256_hex(&test.read("scripts/engine/Tools.ps1"));
    let named = format!("--override scripts/engine/Tools.ps1.sha256={digest}");
    same(&test)
        .line(IMAGE)
        .line("--policy policy.json --scripts scripts --force")
        .line(&named)
        .fails(
            5,
            &[
                "engine/Tools.ps1: the file differs from the signed file",
                "[file-digest]",
            ],
        );
    same(&test)
        .line(IMAGE)
        .line("--force")
        .line(&named)
        .fails(3, &["there is no `--scripts DIR`"]);
    let url = "--override scripts/engine/Tools.ps1.url=https://x.example/y";
    same(&test)
        .line(IMAGE)
        .line("--scripts scripts --force")
        .line(url)
        .fails(3, &["takes a digest only"]);
}

/// The signer's own output, in every encoding that PowerShell reads.
#[test]
fn the_script_comes_back_from_under_its_signature() {
    let Some(test) = bench() else { return };
    let letters = "# One\nfunction Get-One { 'ä' }\r\n\n";
    let wide = |text: &str| {
        text.encode_utf16()
            .flat_map(u16::to_le_bytes)
            .collect::<Vec<u8>>()
    };
    let bodies = [
        // Four letters are the fewest that can be signed.
        b"123\n".to_vec(),
        b"1234".to_vec(),
        b"# One\r\n2\r\n".to_vec(),
        letters.as_bytes().to_vec(),
        [b"\xef\xbb\xbf", letters.as_bytes()].concat(),
        [b"\xff\xfe".as_slice(), &wide(letters)].concat(),
        [b"\xff\xfe".as_slice(), &wide(letters.trim_end())].concat(),
    ];
    for (number, body) in bodies.iter().enumerate() {
        let (input, output) = (format!("in{number}.ps1"), format!("out{number}.ps1"));
        fs::write(test.folder.join(&input), body).unwrap();
        let signed = Command::new("osslsigncode")
            .args([
                "sign", "-h", "sha256", "-certs", "own.pem", "-key", "own.key", "-in", &input,
                "-out", &output,
            ])
            .current_dir(&test.folder)
            .output()
            .expect("osslsigncode starts");
        assert!(signed.status.success(), "{number}: {signed:?}");
        let signed = test.read(&output);
        assert!(signed.len() > body.len() + 500, "{number}");
        assert_eq!(
            unsigned_script(&signed).expect("a signature"),
            *body,
            "{number}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// What stands before a block comes back byte for byte, whatever it is.
    #[test]
    fn any_text_comes_back_from_under_a_block(
        text in "[ -~\\n\\r\\tà-ÿ😀]{0,80}",
        encoding in 0..3,
        base64 in "([A-Za-z0-9+/]{4}){0,30}",
    ) {
        let block = format!("\r\n# SIG # Begin signature block\r\n# {base64}AAAA\r\n# SIG # End signature block\r\n");
        let encode = |text: &str| -> Vec<u8> {
            let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<u8>>();
            match encoding {
                0 => text.as_bytes().to_vec(),
                1 => [b"\xef\xbb\xbf", text.as_bytes()].concat(),
                _ => [b"\xff\xfe".as_slice(), &wide(text)].concat(),
            }
        };
        let signed = encode(&format!("{text}{block}"));
        prop_assert_eq!(unsigned_script(&signed).expect("a block"), encode(&text));
        prop_assert_eq!(unsigned_script(&encode(&text)).expect("no block"), encode(&text));
    }
}
