//! Makes signed files with the real tools: certificates by openssl, signatures by osslsigncode,
//! packages by msibuild. Nothing of it is committed.

mod profiles;

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use profiles::{PROFILES, Profile};

use super::der::Node;

/// 2026-11-20: the time of every check, unless a row says otherwise.
pub const NOW: u64 = 1_795_132_800;

/// 2022-06-01: inside the validity of the certificate that has expired.
pub const THEN: u64 = 1_654_041_600;

/// 2024-06-01: after it.
pub const AFTER: u64 = 1_717_200_000;

/// 2019-06-01: before any certificate.
pub const BEFORE: u64 = 1_559_347_200;

pub struct Workshop {
    folder: PathBuf,
}

const AUTHORITY: &str =
    "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n";

/// As Microsoft's older authorities have it: one policy, a pointer and a notice (RFC 5280, 4.2.1.4).
const POLICY_AUTHORITY: &str = "basicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign,cRLSign\n\
    certificatePolicies=critical,@policy\n[policy]\npolicyIdentifier=1.3.6.1.4.1.311.46.3\n\
    CPS.1=http://www.example.com/cps\nuserNotice.1=@notice\n[notice]\nexplicitText=BMP:Legal policy statement\n";

const CONFIG: &str = "[ca]\ndefault_ca=d\n[d]\ndatabase=index\nnew_certs_dir=.\nrand_serial=yes\nunique_subject=no\n\
    default_md=sha256\npolicy=p\n[p]\ncountryName=optional\nlocalityName=optional\n\
    organizationName=optional\ncommonName=optional\n[req]\ndistinguished_name=n\n[n]\n";

/// With the certificates, in a folder of its own; `None` where a tool is absent, which was said.
pub fn workshop() -> Option<Workshop> {
    if !["openssl", "osslsigncode", "msibuild"]
        .iter()
        .all(|tool| runs(tool))
    {
        println!("skipped: needs openssl, osslsigncode and msibuild");
        return None;
    }
    let certificates = make_certificates();
    let workshop = Workshop::new();
    for file in fs::read_dir(certificates).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), workshop.folder.join(file.file_name())).unwrap();
    }
    Some(workshop)
}

/// Keys take a processor for some seconds, so they are kept until this file is another one.
fn make_certificates() -> PathBuf {
    static MAKING: Mutex<()> = Mutex::new(());
    let _making = MAKING.lock().unwrap_or_else(PoisonError::into_inner);
    let digest = imagegen::base::digest::sha256_hex(include_bytes!("workshop.rs"));
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("signing-{}", &digest[..16]));
    if kept.exists() {
        return kept;
    }

    let workshop = Workshop::new();
    workshop.write("ca.cnf", CONFIG.as_bytes());
    workshop.write("index", b"");
    for profile in PROFILES {
        workshop.certify(profile);
    }
    // Another process may have been first.
    if fs::rename(&workshop.folder, &kept).is_err() {
        assert!(kept.exists(), "{}", kept.display());
    }
    kept
}

fn runs(tool: &str) -> bool {
    Command::new(tool).arg("--version").output().is_ok()
}

impl Workshop {
    fn new() -> Self {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("signing-{}-{number}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::create_dir_all(&folder).unwrap();
        Self { folder }
    }

    fn certify(&self, &(name, issuer, subject, key, from, to, extensions): &Profile) {
        let (request, key_file) = (format!("{name}.csr"), format!("{name}.key"));
        let mut make = self.command("openssl");
        make.args([
            "req", "-config", "ca.cnf", "-nodes", "-subj", subject, "-keyout", &key_file, "-out",
            &request,
        ]);
        let make = if key == "ec" {
            make.args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
        } else {
            make.args(["-newkey", key])
        };
        succeeded(&make.output().unwrap());
        self.write("extensions", extensions.as_bytes());
        let digest = if name.ends_with("sha1") {
            "sha1"
        } else {
            "sha256"
        };
        let mut sign = self.command("openssl");
        sign.args([
            "ca",
            "-batch",
            "-config",
            "ca.cnf",
            "-preserveDN",
            "-notext",
            "-md",
            digest,
        ]);
        sign.args([
            "-in",
            &request,
            "-out",
            &format!("{name}.pem"),
            "-extfile",
            "extensions",
        ]);
        sign.args([
            "-startdate",
            &format!("{from}0101000000Z"),
            "-enddate",
            &format!("{to}0101000000Z"),
        ]);
        sign.args(["-keyfile", &format!("{issuer}.key")]);
        if name == issuer {
            sign.arg("-selfsign");
        } else {
            sign.args(["-cert", &format!("{issuer}.pem")]);
        }
        succeeded(&sign.output().unwrap());
        // What a signature carries: the leaf and the authority, never the root.
        if extensions == AUTHORITY || extensions == POLICY_AUTHORITY {
            return;
        }
        let authority = if issuer == "authority-policy" {
            "authority-policy.pem"
        } else {
            "authority.pem"
        };
        let mut chain = self.read(&format!("{name}.pem"));
        chain.extend(self.read(authority));
        self.write(&format!("{name}.chain"), &chain);
    }

    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.current_dir(&self.folder).env_remove("OPENSSL_CONF");
        command
    }

    pub fn read(&self, name: &str) -> Vec<u8> {
        fs::read(self.folder.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    pub fn write(&self, name: &str, bytes: &[u8]) {
        fs::write(self.folder.join(name), bytes).unwrap();
    }

    /// Signs bytes; the name's end says what they are.
    pub fn sign(&self, name: &str, bytes: &[u8], leaf: &str, more: &[&str]) -> Vec<u8> {
        self.write(&format!("in-{name}"), bytes);
        let mut command = self.command("osslsigncode");
        command.args([
            "sign",
            "-certs",
            &format!("{leaf}.chain"),
            "-key",
            &format!("{leaf}.key"),
        ]);
        if !more.contains(&"-h") {
            command.args(["-h", "sha256"]);
        }
        let _ = fs::remove_file(self.folder.join(name));
        command
            .args(more)
            .args(["-in", &format!("in-{name}"), "-out", name]);
        succeeded(&command.output().unwrap());
        self.read(name)
    }

    /// Signs with a timestamp of osslsigncode's own authority.
    pub fn stamped(&self, name: &str, bytes: &[u8], leaf: &str, tsa: &str, at: u64) -> Vec<u8> {
        let (certificates, key, at) =
            (format!("{tsa}.chain"), format!("{tsa}.key"), at.to_string());
        self.sign(
            name,
            bytes,
            leaf,
            &[
                "-TSA-certs",
                &certificates,
                "-TSA-key",
                &key,
                "-TSA-time",
                &at,
            ],
        )
    }

    /// Signs with an old countersignature, from a server that speaks that protocol.
    pub fn countersigned(&self, name: &str, bytes: &[u8], tsa: &str) -> Vec<u8> {
        let server = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/", server.local_addr().unwrap());
        std::thread::scope(|scope| {
            scope.spawn(|| self.serve(&server, tsa));
            self.sign(name, bytes, "leaf", &["-t", &url])
        })
    }

    /// One request: base64 of a sequence with the signature inside, answered with SignedData over it.
    fn serve(&self, server: &TcpListener, tsa: &str) {
        let (mut client, _) = server.accept().unwrap();
        let mut request = Vec::new();
        let mut buffer = [0; 4096];
        let body = loop {
            let count = client.read(&mut buffer).unwrap();
            assert!(count > 0, "the request ends early");
            request.extend_from_slice(&buffer[..count]);
            let text = String::from_utf8_lossy(&request).to_string();
            let Some((head, body)) = text.split_once("\r\n\r\n") else {
                continue;
            };
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(':')?;
                name.eq_ignore_ascii_case("content-length")
                    .then(|| value.trim().parse::<usize>().unwrap())
            });
            if body.len() >= length.unwrap() {
                break body.split_ascii_whitespace().collect::<String>();
            }
        };
        let request = Node::parse(&STANDARD.decode(body).unwrap());
        let signature = &request.at(&[1, 1, 0]).body;
        self.write("imprint", signature);
        let mut command = self.command("openssl");
        command.args([
            "cms",
            "-sign",
            "-binary",
            "-nodetach",
            "-nosmimecap",
            "-outform",
            "DER",
            "-md",
            "sha256",
        ]);
        command.args([
            "-in",
            "imprint",
            "-out",
            "answer",
            "-signer",
            &format!("{tsa}.pem"),
        ]);
        command.args([
            "-inkey",
            &format!("{tsa}.key"),
            "-certfile",
            "authority.pem",
        ]);
        succeeded(&command.output().unwrap());
        let answer = STANDARD.encode(self.read("answer"));
        let length = answer.len();
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\nContent-Length: {length}\r\n"
        );
        client
            .write_all(format!("{head}Connection: close\r\n\r\n{answer}").as_bytes())
            .unwrap();
    }

    /// What osslsigncode says of a file.
    pub fn accepts(&self, name: &str, bytes: &[u8], root: &str, at: u64) -> (bool, String) {
        self.write(name, bytes);
        let (root, at) = (format!("{root}.pem"), at.to_string());
        let mut command = self.command("osslsigncode");
        command.args([
            "verify",
            "-CAfile",
            &root,
            "-TSA-CAfile",
            &root,
            "-time",
            &at,
            "-ignore-crl",
            "-in",
            name,
        ]);
        let output = command.output().unwrap();
        (
            output.status.success(),
            String::from_utf8_lossy(&output.stdout).to_string(),
        )
    }

    /// A package with a table and a stream.
    pub fn msi(&self) -> Vec<u8> {
        let _ = fs::remove_file(self.folder.join("made.msi"));
        self.write("icon.bin", b"an icon");
        let query = "CREATE TABLE `Property` (`Property` CHAR(72) NOT NULL, `Value` CHAR(0) NOT NULL PRIMARY KEY `Property`)";
        let row = "INSERT INTO `Property` (`Property`, `Value`) VALUES ('ProductName', 'Harness')";
        let mut command = self.command("msibuild");
        command.args([
            "made.msi",
            "-s",
            "Harness",
            "Harness",
            ";1033",
            "{12345678-1234-1234-1234-123456789012}",
        ]);
        succeeded(&command.output().unwrap());
        succeeded(
            &self
                .command("msibuild")
                .args(["made.msi", "-q", query, row])
                .output()
                .unwrap(),
        );
        succeeded(
            &self
                .command("msibuild")
                .args(["made.msi", "-a", "Icon.x", "icon.bin"])
                .output()
                .unwrap(),
        );
        self.read("made.msi")
    }
}

impl Drop for Workshop {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[track_caller]
fn succeeded(output: &Output) {
    let said = [output.stdout.as_slice(), &output.stderr].concat();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&said)
    );
}

/// The smallest image that has all headers and a section: PE32+, or PE32.
pub fn pe(wide: bool) -> Vec<u8> {
    let optional: u16 = if wide { 240 } else { 224 };
    let mut image = vec![0; 0x40];
    image[..2].copy_from_slice(b"MZ");
    image[0x3c..0x40].copy_from_slice(&0x40u32.to_le_bytes());
    image.extend(b"PE\0\0");
    image.extend(if wide { 0x8664u16 } else { 0x14c }.to_le_bytes());
    image.extend(1u16.to_le_bytes());
    image.extend([0; 12]);
    image.extend(optional.to_le_bytes());
    image.extend(0x22u16.to_le_bytes());
    let start = image.len();
    image.resize(start + usize::from(optional), 0);
    image[start..start + 2].copy_from_slice(&if wide { 0x20bu16 } else { 0x10b }.to_le_bytes());
    image[start + 32..start + 36].copy_from_slice(&0x1000u32.to_le_bytes());
    image[start + 36..start + 40].copy_from_slice(&0x200u32.to_le_bytes());
    image[start + 60..start + 64].copy_from_slice(&0x200u32.to_le_bytes());
    let count = start + if wide { 108 } else { 92 };
    image[count..count + 4].copy_from_slice(&16u32.to_le_bytes());
    image.extend(b".text\0\0\0");
    for word in [0x200u32, 0x1000, 0x200, 0x200, 0, 0, 0, 0x6000_0020] {
        image.extend(word.to_le_bytes());
    }
    image.resize(0x200, 0);
    image.extend((0..0x200u32).map(|number| number.to_le_bytes()[0]));
    image
}
