//! `imagegen verify`: any file, every proof that is named.

use serde_json::Value;

use crate::support::{Test, files, openssl, program, root};

fn sha256(text: &str) -> String {
    imagegen::base::digest::sha256_hex(text.as_bytes())
}

#[test]
fn digests_and_checksum_files_are_proofs() {
    let digest = sha256("MZ of the test");
    let test = |line: &str| {
        Test::new()
            .file("kubelet.exe", "MZ of the test")
            .file("sums", &format!("{digest}  kubelet.exe\n"))
            .file("other", &format!("{}  kubelet.exe\n", "0".repeat(63) + "1"))
            .file("page", "<html>login</html>")
            .line(line)
    };
    let good = test(&format!(
        "verify kubelet.exe --sha256 {digest} --checksums sums --format json"
    ))
    .succeeds();
    let said: Value = serde_json::from_str(&good.stdout).expect("JSON");
    assert_eq!(said["verified"], true);
    assert_eq!(said["evidence"].as_array().map(Vec::len), Some(2));
    for (line, said) in [
        ("--checksums other", "checksum-mismatch"),
        ("--checksums page", "checksum-web-page"),
        ("--authenticode", "file-malformed"),
    ] {
        let ran = test(&format!("verify kubelet.exe {line}")).fails(5, &["proofs failed"]);
        assert!(ran.stdout.contains(said), "{line}: {}", ran.stdout);
    }
    let ran = test(&format!("verify kubelet.exe --sha256 {}", "1".repeat(64)))
        .fails(5, &["proofs failed"]);
    assert!(ran.stdout.contains("digest-mismatch"), "{}", ran.stdout);
    test("verify kubelet.exe --sha256 00").fails(3, &["`00` is not a SHA-256 of a file"]);
    test("verify kubelet.exe --signature sums").fails(2, &["without a key", "--key"]);
    for flags in [
        "",
        "--identity me",
        "--issuer https://issuer.example",
        "--identity= --issuer https://issuer.example",
        "--identity me --issuer=",
    ] {
        let line = format!("verify kubelet.exe --bundle sums {flags}");
        test(&line).fails(2, &["expected signer", "--identity"]);
    }
    test("verify nowhere.exe").fails(3, &["nowhere.exe"]);
    let nothing =
        test("verify kubelet.exe").fails(5, &["kubelet.exe: nothing was verified", "--checksums"]);
    assert!(
        nothing.stdout.contains("the file was not verified"),
        "{}",
        nothing.stdout
    );
}

/// Proofs that are named are applied to the bytes, whatever these look like.
#[test]
fn no_named_proof_is_dropped() {
    let test = Test::new().line("build --target host --k8s 1.36.0 --no-bake --out o");
    test.succeeds();
    let path = |name: &str| test.folder.join(name).display().to_string();
    let bundle =
        crate::archive::forge::zip(&[crate::archive::forge::Part::new("bundle.json", b"{}")]);
    std::fs::write(test.folder.join("bundle.zip"), bundle).expect("bundle");
    let verify = |file: &str, line: &str| {
        Test::new()
            .line("verify")
            .args([path(file).as_str()])
            .line(line)
    };
    let wrong = format!("--sha256 {}", "0".repeat(64));
    for file in ["o/imagegen.lock.json", "bundle.zip"] {
        verify(file, &wrong).fails(5, &["1 of 1 proofs failed"]);
        verify(file, "--authenticode").fails(5, &["1 of 1 proofs failed"]);
        let right = imagegen::base::digest::sha256_hex(&std::fs::read(path(file)).expect(file));
        verify(file, &format!("--sha256 {right}")).succeeds();
        verify(file, &format!("--sha256 {right} --proofs o")).fails(2, &["`--proofs`"]);
        // Nothing that is named is without meaning.
        let named = [
            "--key k",
            "--certificate c",
            "--identity a@example.com",
            "--issuer https://i.example",
        ];
        for named in named.into_iter().chain(["--at 0"]) {
            let option = named.split(' ').next().expect("option");
            let line = format!("--sha256 {right} {named}");
            verify(file, &line).fails(2, &[&format!("`{option}` has no effect")]);
            verify(file, named).fails(2, &[&format!("`{option}` has no effect")]);
        }
    }
    verify("o", &wrong).fails(2, &["directory"]);
    verify("o", "--at 0").fails(2, &["directory"]);
    verify("o/README.md", "--member x").fails(2, &["--authenticode"]);
    verify("o/README.md", "--proofs o").fails(2, &["`--proofs`"]);
    // A lockfile's evidence is a record.
    verify("o/imagegen.lock.json", "").fails(2, &["no proof was requested"]);
}

/// What a pipe gives is read once.
#[cfg(unix)]
#[test]
fn a_pipe_is_verified_by_what_it_gave() {
    let digest = imagegen::base::digest::sha256_hex(b"content");
    for (digest, code) in [(digest.as_str(), 0), (&"0".repeat(64), 5)] {
        let test = Test::new().line(&format!("verify /dev/stdin --sha256 {digest}"));
        let mut child = test
            .command()
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("start");
        std::io::Write::write_all(&mut child.stdin.take().expect("stdin"), b"content")
            .expect("write");
        assert_eq!(child.wait().expect("end").code(), Some(code), "{digest}");
    }
}

#[test]
fn a_signature_by_a_key_is_a_proof() {
    if program("openssl").is_none() {
        return;
    }
    let test = Test::new().file("file", "signed content");
    openssl(
        &test.folder,
        "ecparam -name prime256v1 -genkey -noout -out key.pem",
    );
    openssl(&test.folder, "ec -in key.pem -pubout -out key.pub");
    openssl(
        &test.folder,
        "dgst -sha256 -sign key.pem -out file.der file",
    );
    openssl(&test.folder, "base64 -in file.der -out file.sig");
    let verify = |key: &str, signature: &str| {
        let path = |name: &str| test.folder.join(name).display().to_string();
        Test::new().line("verify").args([
            path("file").as_str(),
            "--key",
            &path(key),
            "--signature",
            &path(signature),
        ])
    };
    verify("key.pub", "file.sig").succeeds();
    verify("key.pub", "file.der").succeeds();
    // `>` of Windows PowerShell writes UTF-16.
    for name in ["key.pub", "file.sig"] {
        let text = format!("\u{feff}{}", test.text(name));
        let wide: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        std::fs::write(test.folder.join(format!("{name}.16")), wide).expect("file");
        std::fs::write(test.folder.join(format!("{name}.8")), text).expect("file");
    }
    verify("key.pub.16", "file.sig.16").succeeds();
    verify("key.pub.8", "file.sig.8").succeeds();
    openssl(
        &test.folder,
        "ec -in key.pem -pubout -outform DER -out key.der",
    );
    for key in ["file", "key.der"] {
        verify(key, "file.sig").fails(3, &[key, "is no public key", "in PEM", "OpenPGP keyring"]);
    }
    // Apache's `KEYS` begin with text, in the encoding of their time.
    let keys = b"Keys of J\xfcrgen\n\n-----BEGIN PGP PUBLIC KEY BLOCK-----\n\nmQ==\n-----END PGP PUBLIC KEY BLOCK-----\n";
    std::fs::write(test.folder.join("KEYS"), keys).expect("file");
    verify("KEYS", "file.sig").fails(2, &["a keyring holds any number of keys"]);
    let ran = verify("key.pem", "file.sig").fails(5, &["proofs failed"]);
    assert!(ran.stdout.contains("private key"), "{}", ran.stdout);
    std::fs::write(test.folder.join("file"), "other content").expect("file");
    let ran = verify("key.pub", "file.sig").fails(5, &["proofs failed"]);
    assert!(
        ran.stdout.contains("cosign-bad-signature"),
        "{}",
        ran.stdout
    );
}

/// A workspace is rendered again from its lock: whoever changes a file, and all that speaks of it, is found.
#[test]
fn a_workspace_is_verified_as_a_whole() {
    for target in ["azure", "host"] {
        let made = || {
            let test = Test::new()
                .line("build --k8s 1.36.0 --no-bake --out o --target")
                .args([target]);
            test.succeeds();
            test
        };
        let verify = |test: &Test| {
            let folder = test.folder.join("o");
            Test::new()
                .line("verify")
                .args([folder.to_str().expect("path")])
        };
        let test = made();
        let said = verify(&test).succeeds().stdout;
        assert!(
            said.contains("the lockfile renders the same bytes"),
            "{said}"
        );
        let names: Vec<String> = crate::support::files(&test.folder.join("o"))
            .into_keys()
            .collect();
        // Every file that is no script, and some of the scripts.
        let some = names
            .iter()
            .enumerate()
            .filter(|(at, name)| !name.contains('/') || at % 12 == 0);
        for (_, name) in some {
            let path = test.folder.join("o").join(name);
            let good = std::fs::read(&path).expect("file");
            // Build-time values are the user's; the digest of the payload is not.
            let stated = good.windows(14).position(|part| part == b"payload_sha256");
            let mut bytes = good.clone();
            bytes[stated.map_or(good.len() / 2, |at| at + 20)] ^= 1;
            std::fs::write(&path, bytes).expect("file");
            let ran = verify(&test).run();
            assert!(matches!(ran.code, Some(3 | 5)), "{name}: {}", ran.stdout);
            std::fs::remove_file(&path).expect("file");
            let ran = verify(&test).run();
            assert!(
                matches!(ran.code, Some(3 | 5)),
                "{name} removed: {}",
                ran.stdout
            );
            std::fs::write(&path, good).expect("file");
        }
        let test = made();
        std::fs::write(test.folder.join("o/extra.pkr.hcl"), "").expect("file");
        let said = verify(&test).fails(5, &["proofs failed"]).stdout;
        assert!(
            said.contains("the lockfile does not render this file"),
            "{said}"
        );
        let test = made();
        for name in ["builds/1/image.json", "attestations/sbom.intoto.json"] {
            let path = test.folder.join("o").join(name);
            std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
            std::fs::write(path, "{}").expect("file");
        }
        let said = verify(&test).succeeds().stdout;
        assert!(said.contains("not compared: builds/"), "{said}");
        // Packer reads these, or a file of the user's is in their folder.
        for name in ["own.auto.pkrvars.json", "other/image.json"] {
            let path = test.folder.join("o").join(name);
            std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
            std::fs::write(&path, "{}").expect("file");
            verify(&test).fails(5, &["1 of"]);
            std::fs::remove_file(path).expect("file");
        }
        #[cfg(unix)]
        {
            let test = made();
            let folder = test.folder.join("o/builds");
            std::os::unix::fs::symlink("/etc", &folder).expect("link");
            verify(&test).fails(5, &["1 of"]);
            std::fs::remove_file(&folder).expect("link");
            std::os::unix::fs::symlink("/etc/hostname", test.folder.join("o/extra.pkr.hcl"))
                .expect("link");
            verify(&test).fails(5, &["proofs failed"]);
        }
    }
}

/// What the program itself writes into a workspace is known to every verb.
#[test]
fn a_page_in_a_workspace_is_no_foreign_file() {
    let test = Test::new();
    let line = "build --no-bake --target host --k8s 1.36.0 --out o";
    test.prints(line);
    assert_eq!(test.prints("report o"), "o/report.html\n");
    test.prints("verify o");
    test.prints(line);
    assert!(!test.exists("o/report.html"), "it is of the last workspace");
}

/// Nothing failed, so it is no failure of a proof; a damaged lockfile is named as one.
#[test]
fn a_lockfile_without_proofs_says_what_to_add() {
    let test = Test::new().line("lock --target host --k8s 1.36.0");
    test.succeeds();
    for (flags, code, remedy) in [
        ("", 2, "add `--proofs DIR`"),
        ("--proofs .", 3, "imagegen lock --proofs DIR"),
    ] {
        let line = format!("verify imagegen.lock.json --offline {flags}");
        let ran = test.bare().run(&line);
        assert_eq!(ran.code, Some(code), "{line}: {}", ran.stderr);
        for said in ["nothing was verified", remedy, "`--lock FILE`"] {
            assert!(ran.stderr.contains(said), "{line}: {}", ran.stderr);
        }
        assert!(!ran.stderr.contains("--signature"), "{}", ran.stderr);
    }
    let lock = test.text("imagegen.lock.json");
    let comma = lock.replacen(',', ",,", 1);
    let schema = lock.replacen("/lock/v1", "/lock/v2", 1);
    for (name, content, said) in [
        (
            "imagegen.host.lock.json",
            "<<<<<<< ours",
            "or run `imagegen lock` to write it again",
        ),
        ("imagegen.lock.json", "{}", "or remove it and run"),
        ("l.json", comma.as_str(), "l.json:"),
        ("l.json", schema.as_str(), "unsupported lockfile schema"),
    ] {
        let test = Test::new().file(name, content);
        let ran = test.bare().run(&format!("verify {name} --offline"));
        assert_eq!(ran.code, Some(3), "{name}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{name}: {}", ran.stderr);
    }
}

/// A lock whose URL and digest were changed is not what the catalog makes, whatever was rendered from it.
#[test]
fn a_workspace_does_not_vouch_for_its_lock() {
    let test = Test::new().line("build --k8s 1.36.0 --no-bake --out o --target host");
    test.succeeds();
    let lock = test.text("o/imagegen.lock.json");
    let mut edited: Value = serde_json::from_str(&lock).expect("JSON");
    let artifact = &mut edited["artifacts"][0];
    artifact["url"] = "https://evil.example/x".into();
    artifact["digests"][0]["digest"] = "ab".repeat(32).into();
    let folder = test.folder.join("o");
    std::fs::write(folder.join("imagegen.lock.json"), edited.to_string()).expect("lock");
    let ran = Test::new()
        .line("verify")
        .args([folder.to_str().expect("path")])
        .fails(5, &["proofs failed"]);
    assert!(
        ran.stdout.contains("[lock-refused]") || ran.stdout.contains("is stale"),
        "{}",
        ran.stdout
    );
    // The reviewed lock is another one.
    std::fs::write(folder.join("imagegen.lock.json"), &lock).expect("lock");
    let reviewed = test.folder.join("reviewed.json");
    std::fs::write(&reviewed, edited.to_string()).expect("lock");
    let verify = || {
        Test::new()
            .line("verify")
            .args([folder.to_str().expect("path"), "--lock"])
    };
    let ran = verify()
        .args([reviewed.to_str().expect("path")])
        .fails(5, &["proofs failed"]);
    assert!(
        ran.stdout.contains("it is not the reviewed lockfile"),
        "{}",
        ran.stdout
    );
    std::fs::write(&reviewed, &lock).expect("lock");
    verify().args([reviewed.to_str().expect("path")]).succeeds();
}

/// The operator's own instance of Sigstore, or a root that is newer than the program.
#[test]
fn a_catalog_may_bring_another_root_of_sigstore() {
    let fixture = |name: &str| {
        let path = root().join("tests/fixtures/sigstore").join(name);
        std::fs::read(path).expect("fixture")
    };
    let mut test = Test::new()
        .bytes("signed.txt", &fixture("staging-v2.txt"))
        .bytes("signed.json", &fixture("staging-v2.json"));
    for (name, bytes) in files(&root().join("manifests")) {
        test = test.bytes(&format!("c/{name}"), &bytes);
    }
    let line = "verify signed.txt --bundle signed.json --identity jku@goto.fi --issuer https://github.com/login/oauth";
    let own = format!("{line} --manifests c");
    let place = "c/trust/sigstore-root.json";
    for (content, line, code, said) in [
        (None, line, 5, "[sigstore-root]"),
        (None, &own, 5, "[sigstore-root]"),
        (Some("{}"), &own, 5, "[sigstore-root]"),
        (
            Some(sigstore_verify::trust_root::SIGSTORE_STAGING_TRUSTED_ROOT),
            &own,
            0,
            "verified",
        ),
    ] {
        if let Some(content) = content {
            test = test.file(place, content);
        }
        let ran = test.bare().run(line);
        assert_eq!(ran.code, Some(code), "{line}: {}", ran.stdout);
        assert!(ran.stdout.contains(said), "{line}: {}", ran.stdout);
    }
    let other = own.replace("jku@goto.fi", "joe@goto.fi");
    let ran = test.bare().run(&other);
    assert!(ran.stdout.contains("[sigstore-identity]"), "{}", ran.stdout);
}
