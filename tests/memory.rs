//! Memory stays flat whatever the size of what a verb reads: measured as the peak of the process, for each verb that
//! reads foreign bytes. `ci/measure/memory` prints the table for larger files.

mod network;

use std::fs::File;
use std::io::{Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::process::Command;

use imagegen::io::fs::LARGEST_TEXT;

use crate::authenticode::workshop::{pe, workshop};
use crate::support::{Test, program};

/// Of which the program itself takes some 30 MiB, and a JSON file of the largest size as one value some 100 MiB.
const MOST: u64 = 160 << 20;

/// Bytes of the files that are read.
fn large_size() -> u64 {
    let given = std::env::var("IMAGEGEN_TEST_LARGE").ok();
    given.map_or(MOST + (8 << 20), |text| text.parse().expect("bytes"))
}

/// A file with this beginning that is zeros from there on and takes no room on the disk.
fn write_sparse(path: &Path, head: &[u8], size: u64) {
    let mut file = File::create(path).expect("file");
    file.write_all(head).expect("head");
    file.set_len(size).expect("size");
    file.seek(SeekFrom::End(0)).expect("end");
}

/// The longest text that is parsed: `head`, the same unit again and again, `tail`.
fn write_text(path: &Path, head: &str, unit: &str, tail: &str) {
    let size = usize::try_from(LARGEST_TEXT).expect("size");
    let count = (size - head.len() - tail.len()) / unit.len();
    std::fs::write(path, format!("{head}{}{tail}", unit.repeat(count))).expect("text");
}

/// Exit code and peak of resident memory in bytes.
fn measure(test: &Test, line: &str) -> (i32, u64, String) {
    let script = "import resource, subprocess, sys\n\
                  code = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode\n\
                  print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)";
    let mut command = Command::new("python3");
    command
        .args(["-c", script, env!("CARGO_BIN_EXE_imagegen")])
        .args(line.split_whitespace());
    let inner = test.command();
    let environment = inner.get_envs();
    command
        .current_dir(&test.folder)
        .env_clear()
        .envs(environment.filter_map(|(name, value)| Some((name, value?))));
    let output = command.output().expect("python3");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut numbers = told
        .split_whitespace()
        .map(|number| number.parse::<i64>().expect("a number"));
    let code = i32::try_from(numbers.next().expect("code")).expect("code");
    let peak = u64::try_from(numbers.next().expect("peak")).expect("peak") * 1024;
    (
        code,
        peak,
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

/// Runs the lines one after the other, prints the peak of each, and fails with all that are not as expected.
fn measure_rows<S: AsRef<str>>(test: &Test, rows: &[(S, i32)]) {
    let mut failures = Vec::new();
    for (line, expected) in rows {
        let line = line.as_ref();
        let (code, peak, said) = measure(test, line);
        println!("{:>4} MiB {code} {line}", peak >> 20);
        if code != *expected || peak > MOST {
            failures.push(format!(
                "{line}: exit {code} instead of {expected}, {} MiB\n{said}",
                peak >> 20
            ));
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[cfg(target_os = "linux")]
#[test]
fn memory_does_not_grow_with_what_is_read() {
    if program("python3").is_none() {
        return;
    }
    let test = Test::new();
    let path = |name: &str| test.folder.join(name);
    let size = large_size();
    write_sparse(&path("big.bin"), b"", size);
    write_sparse(&path("big.exe"), &pe(true), size);
    write_sparse(&path("big.ps1"), b"'a'\r\n", size);
    write_sparse(
        &path("big.msi"),
        &[0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1],
        size,
    );
    write_sparse(
        &path("big.cat"),
        &[0x30, 0x84, 0x18, 0xff, 0xff, 0xfa],
        size,
    );
    write_sparse(&path("big.zip"), b"PK\x03\x04", size);
    write_sparse(&path("big.tar.gz"), b"\x1f\x8b\x08\0\0\0\0\0\0\0", size);
    write_sparse(
        &path("big.json"),
        b"{\"schema\": \"imagegen.dev/lock/v1\", \"x\": \"",
        size,
    );
    std::fs::create_dir(path("workspace")).expect("folder");
    std::fs::hard_link(path("big.json"), path("workspace/imagegen.lock.json")).expect("lock");
    std::fs::write(path("small.bin"), b"small").expect("file");
    let zeros = "0".repeat(64);
    let mut rows = vec![
        (format!("verify big.bin --sha256 {zeros}"), 5),
        ("verify big.exe --authenticode".to_owned(), 5),
        ("verify big.exe".to_owned(), 5),
        ("verify big.ps1 --authenticode".to_owned(), 5),
        ("verify big.msi --authenticode".to_owned(), 5),
        ("verify big.cat --authenticode".to_owned(), 5),
        ("verify big.zip --authenticode --member **".to_owned(), 5),
        ("verify big.tar.gz --authenticode --member **".to_owned(), 5),
        ("verify small.bin --checksums big.bin".to_owned(), 3),
        ("verify small.bin --signature big.bin --key small.bin".to_owned(), 3),
        ("verify small.bin --bundle big.json --identity a --issuer b".to_owned(), 3),
        ("verify small.bin --authenticode --root big.bin".to_owned(), 3),
        ("verify big.json".to_owned(), 3),
        ("verify workspace".to_owned(), 3),
        ("plan --config big.json".to_owned(), 3),
        ("plan --target host --k8s 1.36.0 --policy big.json".to_owned(), 3),
        ("plan --target host --k8s 1.36.0 --overrides big.json".to_owned(), 3),
        ("build --target host --k8s 1.36.0 --no-bake --locked --lock big.json".to_owned(), 3),
        ("bundle create --lock big.json --out b.zip".to_owned(), 3),
        ("bundle verify big.zip".to_owned(), 5),
        ("bundle extract big.zip --store s".to_owned(), 5),
        ("join-data --k8s 1.36.0 --discovery-kubeconfig big.json".to_owned(), 3),
        ("join-data --k8s 1.36.0 --from big.json".to_owned(), 3),
        ("join-data --k8s 1.36.0 --endpoint a:6443 --ca-cert big.bin".to_owned(), 3),
        ("join-data --k8s 1.36.0 --endpoint a:6443 --token-file big.bin".to_owned(), 3),
        ("cluster-manifests --config big.json --cni flannel-overlay".to_owned(), 3),
        ("store add big.bin --store s".to_owned(), 0),
        ("store verify --store s".to_owned(), 0),
        ("store gc --store s --lock big.json".to_owned(), 3),
        ("catalog export --out catalog".to_owned(), 0),
        (
            "pin kube-log-runner 1.36.4 --manifests catalog --from big.exe --source https://a.example/x"
                .to_owned(),
            0,
        ),
    ];
    if let Some(workshop) = workshop() {
        let mut image = pe(true);
        image.resize(usize::try_from(size).expect("size"), 0);
        std::fs::write(
            path("signed.exe"),
            workshop.sign("memory.exe", &image, "leaf", &[]),
        )
        .expect("file");
        std::fs::write(path("root.pem"), workshop.read("root.pem")).expect("file");
        rows.push((
            "verify signed.exe --authenticode --root root.pem".to_owned(),
            0,
        ));
    }
    measure_rows(&test, &rows);
}

#[cfg(target_os = "linux")]
#[test]
fn parsed_text_takes_bounded_memory() {
    if program("python3").is_none() {
        return;
    }
    let test = Test::new();
    let write = |name: &str, head: &str, unit: &str, tail: &str| {
        write_text(&test.folder.join(name), head, unit, tail);
    };
    write("list.json", "{\"x\": [", "0,", "0]}");
    write(
        "hosts.json",
        "{\"name\": \"p\", \"allowedHosts\": [\"b\"",
        ",\"a\"",
        "]}",
    );
    write(
        "lock.json",
        "{\"schema\": \"imagegen.dev/lock/v1\", \"warnings\": [",
        "\"\",",
        "\"\"]}",
    );
    let config = format!(
        "{{\"apiVersion\": \"v1\", \"kind\": \"Config\", \"clusters\": [{}{{}}]}}",
        "{},".repeat(80_000)
    );
    std::fs::write(test.folder.join("config.json"), config).expect("text");
    measure_rows(
        &test,
        &[
            ("plan --config list.json", 3),
            ("plan --target host --k8s 1.36.0 --policy hosts.json", 3),
            ("plan --target host --k8s 1.36.0 --overrides list.json", 3),
            (
                "build --target host --k8s 1.36.0 --no-bake --locked --lock lock.json",
                3,
            ),
            ("join-data --k8s 1.36.0 --from list.json", 3),
            (
                "join-data --k8s 1.36.0 --discovery-kubeconfig config.json",
                3,
            ),
        ],
    );
}
