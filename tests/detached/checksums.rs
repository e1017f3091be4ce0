//! Checksum files, by the real tools where there is one on this machine, and by hand after those
//! of Windows.

mod layouts;

use imagegen::base::value::PinAlgorithm;
use imagegen::verify::checksums::{MAX_SIZE, find_checksum, find_url_line};

use super::agree;
use super::tools::bench;

const NAME: &str = "kubelet.exe";
const PATH: &str = "bin/windows/amd64/kubelet.exe";

fn sha256(bytes: &[u8]) -> String {
    imagegen::base::digest::sha256_hex(bytes)
}

/// "ok", "another file's", or the code.
fn found(text: &[u8], name: &str, algorithm: PinAlgorithm) -> &'static str {
    let ours = [sha256(b"ours"), HEX512.repeat(16)];
    match find_checksum(text, name, algorithm) {
        Ok(digest) if ours.contains(&digest) => "ok",
        Ok(_) => "another file's",
        Err(error) => {
            println!("{}: {error}", error.code);
            assert!(error.message.bytes().all(|byte| byte >= 0x20), "{error:?}");
            error.code.as_str()
        }
    }
}

const HEX512: &str = "01234567";

#[test]
fn files_of_the_tools_are_read() {
    let Some(bench) = bench(&["sha256sum", "openssl"]) else {
        return;
    };
    std::fs::create_dir_all(bench.path("bin/windows/amd64")).unwrap();
    bench.write(PATH, b"ours");
    bench.write("odd\nname.exe", b"ours");
    bench.write("with blanks.exe", b"ours");
    bench.write("another.exe", b"another");
    let read = |text: Vec<u8>, name: &str| found(&text, name, PinAlgorithm::Sha256);
    let sums = |arguments: &[&str]| bench.run("sha256sum", arguments.iter().copied());
    agree([
        (
            "text",
            read(sums(&["--text", PATH, "another.exe"]), PATH),
            "ok",
        ),
        (
            "binary",
            read(sums(&["--binary", "another.exe", PATH]), PATH),
            "ok",
        ),
        (
            "by its name alone",
            read(sums(&["another.exe", PATH]), NAME),
            "ok",
        ),
        (
            "tagged",
            read(sums(&["--tag", PATH, "another.exe"]), PATH),
            "ok",
        ),
        (
            "beside a name with a line end, tagged",
            read(sums(&["--tag", "odd\nname.exe", PATH]), PATH),
            "ok",
        ),
        (
            "name with blanks",
            read(sums(&["another.exe", "with blanks.exe"]), "with blanks.exe"),
            "ok",
        ),
        (
            "openssl",
            read(bench.run("openssl", ["dgst", "-sha256", PATH]), PATH),
            "ok",
        ),
        (
            "openssl, as coreutils",
            read(bench.run("openssl", ["dgst", "-sha256", "-r", PATH]), PATH),
            "ok",
        ),
        (
            "openssl, SHA-512",
            read(bench.run("openssl", ["dgst", "-sha512", PATH]), PATH),
            "checksum-algorithm",
        ),
        (
            "openssl, SHA-3",
            read(bench.run("openssl", ["dgst", "-sha3-256", PATH]), PATH),
            "checksum-algorithm",
        ),
        (
            "BLAKE2",
            read(bench.run("b2sum", ["--length", "256", PATH]), PATH),
            "another file's",
        ),
        (
            "BLAKE2, tagged",
            read(bench.run("b2sum", ["--length", "256", "--tag", PATH]), PATH),
            "checksum-algorithm",
        ),
        (
            "MD5",
            read(bench.run("md5sum", [PATH]), PATH),
            "checksum-algorithm",
        ),
        (
            "of another file",
            read(sums(&["another.exe"]), NAME),
            "checksum-absent",
        ),
    ]);
}

/// A name without directory is the last part of a path; a path is matched whole.
#[test]
fn names_are_matched_exactly() {
    let (ours, other) = (sha256(b"ours"), sha256(b"other"));
    let read = |text: String, name| found(text.as_bytes(), name, PinAlgorithm::Sha256);
    let both = format!("{other}  bin/linux/amd64/kubelet.exe\n{ours}  {PATH}\n");
    agree([
        ("whole path", read(both.clone(), PATH), "ok"),
        (
            "path with ./ asked for",
            read(both.clone(), "./bin/windows/amd64/kubelet.exe"),
            "ok",
        ),
        (
            "path with backslashes",
            read(format!("{ours}  bin\\windows\\amd64\\kubelet.exe\n"), PATH),
            "ok",
        ),
        (
            "name of two paths",
            read(both.clone(), NAME),
            "checksum-ambiguous",
        ),
        (
            "name of two paths, one digest",
            read(both.replace(&other, &ours), NAME),
            "ok",
        ),
        (
            "another path",
            read(both.clone(), "bin/windows/arm64/kubelet.exe"),
            "checksum-absent",
        ),
        (
            "part of a path",
            read(both, "windows/amd64/kubelet.exe"),
            "checksum-absent",
        ),
        (
            "name at the top before one below",
            read(format!("{other}  a/{NAME}\n{ours}  {NAME}\n"), NAME),
            "ok",
        ),
        (
            "name for a path",
            read(format!("{ours}  {NAME}\n"), PATH),
            "checksum-absent",
        ),
        (
            "directory part of script-built releases",
            read(format!("{ours}  release-v1.5.0/{NAME}\n"), NAME),
            "ok",
        ),
        (
            "other case",
            read(format!("{ours}  Kubelet.exe\n"), NAME),
            "checksum-absent",
        ),
        (
            "longer name",
            read(format!("{ours}  {NAME}.sig\n"), NAME),
            "checksum-absent",
        ),
        (
            "end of a name",
            read(format!("{ours}  my-{NAME}\n"), NAME),
            "checksum-absent",
        ),
        (
            "blank behind the name",
            read(format!("{ours}  {NAME} \n"), NAME),
            "checksum-absent",
        ),
        (
            "three blanks",
            read(format!("{ours}   {NAME}\n"), NAME),
            "checksum-absent",
        ),
        (
            "escaped backslash",
            read(format!("\\{ours}  a\\\\b.exe\n"), "a\\b.exe"),
            "ok",
        ),
        (
            "escape that is none",
            read(format!("\\{ours}  a\\x.exe\n"), NAME),
            "checksum-absent",
        ),
        (
            "file that lists itself too",
            read(format!("{other}  SHA256SUMS\n{ours}  {NAME}\n"), NAME),
            "ok",
        ),
    ]);
}

#[test]
fn layouts_of_windows_are_read() {
    let ours = sha256(b"ours").to_uppercase();
    let pairs: Vec<&str> = ours
        .as_bytes()
        .chunks(2)
        .map(|pair| std::str::from_utf8(pair).unwrap())
        .collect();
    let spaced = pairs.join(" ").to_lowercase();
    let wide = HEX512.repeat(16);
    let (first, second) = wide.split_at(106);
    let utf16 = |text: &str| -> Vec<u8> {
        std::iter::once(0xfeff)
            .chain(text.encode_utf16())
            .flat_map(u16::to_le_bytes)
            .collect()
    };
    let table = format!(
        "\r\nAlgorithm       Hash                                 Path\r\n---------       ----                                 ----\r\nSHA256          {ours}       C:\\a b\\{NAME}\r\n\r\n\r\n"
    );
    let chosen =
        format!("\r\nHash      Path\r\n----      ----\r\n{ours} C:\\a b\\{NAME}     \r\n\r\n");
    let list = format!(
        "\r\n\r\nAlgorithm : SHA256\r\nHash      : {ours}\r\nPath      : C:\\out\\{NAME}\r\n\r\n"
    );
    let wrapped = format!(
        "Algorithm : SHA512\r\nHash      : {first}\r\n            {second}\r\nPath      : C:\\out\\{NAME}\r\n"
    );
    let certutil = |digest: &str| {
        format!(
            "SHA256 hash of {NAME}:\r\n{digest}\r\nCertUtil: -hashfile command completed successfully.\r\n"
        )
    };
    let read = |text: &[u8]| found(text, NAME, PinAlgorithm::Sha256);
    agree([
        ("table", read(table.as_bytes()), "checksum-malformed"),
        (
            "table of Select-Object",
            read(chosen.as_bytes()),
            "checksum-malformed",
        ),
        (
            "table of SHA-1",
            read(table.replace("SHA256", "SHA1").as_bytes()),
            "checksum-malformed",
        ),
        ("list", read(list.as_bytes()), "ok"),
        ("list in UTF-16", read(&utf16(&list)), "ok"),
        (
            "list of MD5",
            read(list.replace("SHA256", "MD5").as_bytes()),
            "checksum-algorithm",
        ),
        (
            "wide digest",
            found(wrapped.as_bytes(), NAME, PinAlgorithm::Sha512),
            "ok",
        ),
        (
            "wide digest for SHA-256",
            read(wrapped.as_bytes()),
            "checksum-algorithm",
        ),
        ("certutil", read(certutil(&ours).as_bytes()), "ok"),
        (
            "certutil with blanks",
            read(certutil(&spaced).as_bytes()),
            "ok",
        ),
        (
            "certutil, old",
            read(certutil(&spaced).replace("of ", "of file ").as_bytes()),
            "ok",
        ),
        (
            "certutil of SHA-1",
            read(certutil(&ours).replace("SHA256", "SHA1").as_bytes()),
            "checksum-algorithm",
        ),
        ("bare in UTF-16", read(&utf16(&format!("{ours}\r\n"))), "ok"),
        (
            "UTF-16 cut in a character",
            read(&utf16(&list)[..41]),
            "checksum-malformed",
        ),
        (
            "UTF-8 with BOM",
            read(format!("\u{feff}{ours}  {NAME}\r\n").as_bytes()),
            "ok",
        ),
    ]);
}

#[test]
fn files_that_prove_nothing_are_refused() {
    let (ours, other) = (sha256(b"ours"), sha256(b"other"));
    let read = |text: &str| found(text.as_bytes(), NAME, PinAlgorithm::Sha256);
    let large = format!("{ours}  {NAME}\n{}", "#".repeat(MAX_SIZE));
    let both = format!(
        "SHA512 ({NAME}) = {}\nSHA256 ({NAME}) = {ours}\n",
        HEX512.repeat(16)
    );
    agree([
        ("bare", read(&ours), "ok"),
        (
            "bare, upper case, CRLF",
            read(&format!("{}\r\n", ours.to_uppercase())),
            "ok",
        ),
        ("entry for each algorithm", read(&both), "ok"),
        (
            "CR alone",
            read(&format!("{other}  other.exe\r{ours}  {NAME}\r")),
            "ok",
        ),
        (
            "comments and blank lines",
            read(&format!("# kubelet\n\n; more\n{ours}  {NAME}\n\n")),
            "ok",
        ),
        ("tab", read(&format!("{ours}\t{NAME}\n")), "ok"),
        (
            "twice the same",
            read(&format!("{ours}  {NAME}\n{ours} *{NAME}\n")),
            "ok",
        ),
        (
            "twice, different",
            read(&format!("{ours}  {NAME}\n{other} *{NAME}\n")),
            "checksum-ambiguous",
        ),
        (
            "two bare digests",
            read(&format!("{ours}\n{other}\n")),
            "checksum-malformed",
        ),
        (
            "bare digest among entries",
            read(&format!("{ours}\n{other}  {NAME}\n")),
            "checksum-malformed",
        ),
        (
            "SHA-512 bare",
            read(&HEX512.repeat(16)),
            "checksum-algorithm",
        ),
        ("SHA-1 bare", read(&"a".repeat(40)), "checksum-algorithm"),
        (
            "another algorithm by its tag",
            read(&format!("SHA3-256 ({NAME}) = {ours}")),
            "checksum-algorithm",
        ),
        ("one digit short", read(&ours[1..]), "checksum-malformed"),
        (
            "no hexadecimal",
            read(&ours.replace(&ours[..1], "g")),
            "checksum-malformed",
        ),
        ("prefix", read(&format!("sha256:{ours}")), "ok"),
        (
            "prefix of another algorithm",
            read(&format!("sha512:{ours}")),
            "checksum-algorithm",
        ),
        (
            "prefix of MD5",
            read(&format!("md5:{ours}")),
            "checksum-algorithm",
        ),
        (
            "comment that reads as certutil's head",
            read(&format!("# SHA256 hash of {NAME}:\n{ours}\n")),
            "ok",
        ),
        (
            "base64",
            read("vmwB+QgBVzMIyuqMLIZ7Vw7rAUnkoP+xQvmpTOvl0P4="),
            "checksum-malformed",
        ),
        ("empty", read(""), "checksum-malformed"),
        ("blank", read("\r\n \r\n"), "checksum-malformed"),
        ("only a comment", read("# nothing\n"), "checksum-malformed"),
        (
            "text behind the digest",
            read(&format!("{ours}{ours}x")),
            "checksum-malformed",
        ),
        ("prose", read("Not Found"), "checksum-malformed"),
        (
            "JSON",
            read(r#"{"message":"Not Found"}"#),
            "checksum-malformed",
        ),
        (
            "web page",
            read(&format!("\n<!DOCTYPE html>\n<pre>{ours}  {NAME}</pre>")),
            "checksum-web-page",
        ),
        (
            "XML",
            read("<?xml version=\"1.0\"?><Error><Code>AccessDenied</Code></Error>"),
            "checksum-web-page",
        ),
        (
            "of an empty file",
            read(&sha256(b"")),
            "checksum-empty-file",
        ),
        (
            "entry of an empty file",
            read(&format!("{}  {NAME}\n", sha256(b""))),
            "checksum-empty-file",
        ),
        ("too large", read(&large), "checksum-too-large"),
        (
            "no text",
            found(b"MZ\x90\0\x03\xff", NAME, PinAlgorithm::Sha256),
            "checksum-malformed",
        ),
        (
            "names that would move the cursor",
            read(&format!("{ours}  \u{1b}[2Jx.exe\n")),
            "checksum-absent",
        ),
    ]);
}

/// A server reads `%2B` as `+`, and so a checksum file names the file.
#[test]
fn names_of_urls_are_read_as_servers_read_them() {
    let (ours, other) = (sha256(b"ours"), sha256(b"other"));
    let url = "https://m.example/a/kubelet-1.36.4%2Bacme.1.exe?v=1";
    let url = url.parse().expect("a URL");
    let read = |text: &str| match find_url_line(text.as_bytes(), &url, PinAlgorithm::Sha256) {
        Ok(line) if line.digest == ours => "ok",
        Ok(_) => "another file's",
        Err(error) => error.code.as_str(),
    };
    let plain = format!("{ours}  kubelet-1.36.4+acme.1.exe\n");
    let encoded = format!("{ours}  kubelet-1.36.4%2Bacme.1.exe\n");
    let neighbor = format!("{other}  kubelet-1.36.4.exe\n");
    agree([
        ("plain", read(&format!("{neighbor}{plain}")), "ok"),
        ("encoded", read(&format!("{neighbor}{encoded}")), "ok"),
        ("both", read(&format!("{plain}{encoded}")), "ok"),
        ("a digest alone", read(&ours), "ok"),
        (
            "both, other bytes",
            read(&format!("{plain}{encoded}").replacen(&ours, &other, 1)),
            "checksum-ambiguous",
        ),
        ("neither", read(&neighbor), "checksum-absent"),
        (
            "encoded, of another algorithm",
            read(&format!(
                "{plain}{}",
                encoded.replace(&ours, &HEX512.repeat(16))
            )),
            "ok",
        ),
    ]);
}
