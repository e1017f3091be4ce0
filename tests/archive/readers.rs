//! An archive that is accepted is the same for every reader: Python, Go, libarchive (which also reads from the front, as
//! of a pipe) and 7-Zip read what is accepted of a generated corpus. `IMAGEGEN_READERS=COUNT` reads that many archives
//! instead of a few.

mod corpus;
mod splits;

use std::collections::BTreeMap;
use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use imagegen::base::digest::sha256_hex;
use imagegen::verify::ProofError;
use imagegen::verify::archive::{Limits, WantedMembers, read_members};
use imagegen::windows::resource::ArchiveFormat::{self, TarGz, Zip};
use walkdir::WalkDir;

use corpus::{Draft, Numbers};

/// Files by name, with their digests; or why there are none.
type Files = Result<BTreeMap<String, String>, String>;

fn read_ours(bytes: &[u8], format: ArchiveFormat) -> Result<BTreeMap<String, String>, ProofError> {
    let found = read_members(
        std::io::Cursor::new(bytes),
        format,
        &WantedMembers::all_files(),
        &Limits::default(),
        &mut |_, _| Ok(()),
    )?;
    Ok(found
        .into_iter()
        .map(|member| (member.name, member.sha256))
        .collect())
}

/// Answers of a program that reads paths line by line.
fn ask_program(command: &mut Command, paths: &[PathBuf]) -> Vec<Files> {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the reader starts");
    let shown: Vec<String> = paths
        .iter()
        .map(|path| path.display().to_string())
        .collect();
    let lines = shown.join("\n") + "\n";
    let mut input = child.stdin.take().expect("piped");
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("the reader ends");
    writer.join().expect("no panic").expect("written");

    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<Files> = text.lines().map(parse_answer).collect();
    assert_eq!(answers.len(), paths.len(), "{command:?}");
    answers
}

fn parse_answer(line: &str) -> Files {
    let answer: serde_json::Value = serde_json::from_str(line).expect("JSON");
    if let Some(error) = answer["error"].as_str() {
        return Err(error.to_owned());
    }
    Ok(serde_json::from_value(answer["files"].clone()).expect("files"))
}

/// Runs a program that unpacks into a folder.
fn unpack_with(command: &mut Command, folder: &Path) -> Files {
    let ran = command.output().expect("the reader starts");
    if !ran.status.success() {
        let said = [ran.stdout, ran.stderr].concat();
        return Err(String::from_utf8_lossy(&said).replace('\n', " "));
    }
    Ok(hash_files(folder))
}

fn hash_files(folder: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in WalkDir::new(folder).min_depth(1) {
        let entry = entry.expect("readable");
        if entry.file_type().is_dir() {
            continue;
        }
        let name = entry.path().strip_prefix(folder).expect("below");
        let content = std::fs::read(entry.path()).unwrap_or_default();
        files.insert(name.to_string_lossy().into_owned(), sha256_hex(&content));
    }
    files
}

fn unpack_by_bsdtar(path: &Path) -> Files {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = start_bsdtar();
    command.arg("-xf").arg(path).arg("-C").arg(folder.path());
    unpack_with(&mut command, folder.path())
}

fn start_bsdtar() -> Command {
    let mut command = Command::new("bsdtar");
    // It refuses names that the locale has not.
    command.env("LC_ALL", "C.UTF-8");
    command
}

/// Of a zip it has the local headers then, and no directory.
fn unpack_from_front(path: &Path) -> Files {
    let folder = tempfile::tempdir().expect("a folder");
    let content = std::fs::read(path).expect("written");
    let mut command = start_bsdtar();
    command.arg("-xf").arg("-").arg("-C").arg(folder.path());
    let (reader, mut writer) = std::io::pipe().expect("a pipe");
    // It closes the pipe at the end that it sees.
    let feeder = std::thread::spawn(move || drop(writer.write_all(&content)));
    command.stdin(reader);
    let files = unpack_with(&mut command, folder.path());
    drop(command);
    feeder.join().expect("no panic");
    files
}

fn unpack_by_seven_zip(path: &Path) -> Files {
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("7z");
    command.args(["x", "-y", "-bd"]).arg(path);
    command.arg(format!("-o{}", folder.path().display()));
    unpack_with(&mut command, folder.path())
}

/// 7-Zip unpacks all archives of a folder at once; where it refuses one, each of them alone.
fn ask_seven_zip(folder: &Path, paths: &[PathBuf]) -> Vec<Files> {
    let output = tempfile::tempdir().expect("a folder");
    let mut command = Command::new("7z");
    command.args(["x", "-y", "-bd"]);
    command.arg(format!("-o{}/*", output.path().display()));
    let all = unpack_with(command.arg(folder.join("*.*")), output.path());
    let names = paths
        .iter()
        .filter_map(|path| Some(path.file_stem()?.to_str()?.to_owned()));
    match all {
        Ok(_) => names
            .map(|name| Ok(hash_files(&output.path().join(name))))
            .collect(),
        Err(_) => paths.iter().map(|path| unpack_by_seven_zip(path)).collect(),
    }
}

/// Each reader's answers to all archives.
fn ask_readers(folder: &Path, paths: &[PathBuf]) -> Vec<(&'static str, Vec<Files>)> {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archive/readers");
    let program = folder.join("read-go");
    let built = Command::new("go")
        .args(["build", "-o"])
        .args([&program, &sources.join("read.go")])
        .status();
    assert!(built.expect("go starts").success());

    let python = ask_program(Command::new("python3").arg(sources.join("read.py")), paths);
    let go = ask_program(&mut Command::new(&program), paths);
    let bsdtar = paths.iter().map(|path| unpack_by_bsdtar(path));
    let front = paths.iter().map(|path| unpack_from_front(path));
    // It takes a packed tar for one file, so it gets the tar.
    let plain = folder.join("plain");
    std::fs::create_dir(&plain).expect("a folder");
    let seven_paths: Vec<PathBuf> = paths.iter().map(|path| copy_plain(path, &plain)).collect();
    vec![
        ("Python", python),
        ("Go", go),
        ("libarchive", bsdtar.collect()),
        ("libarchive from the front", front.collect()),
        ("7-Zip", ask_seven_zip(&plain, &seven_paths)),
    ]
}

fn copy_plain(path: &Path, folder: &Path) -> PathBuf {
    let bytes = std::fs::read(path).expect("written");
    let stem = path.file_stem().expect("a name").to_string_lossy();
    let target = match stem.strip_suffix(".tar") {
        Some(number) => folder.join(format!("{number}.tar")),
        None => folder.join(format!("{stem}.zip")),
    };
    let mut plain = Vec::new();
    match flate2::read::GzDecoder::new(bytes.as_slice()).read_to_end(&mut plain) {
        Ok(_) => std::fs::write(&target, plain).expect("written"),
        Err(_) => std::fs::write(&target, bytes).expect("written"),
    }
    target
}

fn write_archives(folder: &Path, drafts: &[(Draft, ArchiveFormat)]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for (at, (draft, format)) in drafts.iter().enumerate() {
        let end = if *format == Zip { "zip" } else { "tar.gz" };
        let path = folder.join(format!("{at}.{end}"));
        std::fs::write(&path, &draft.bytes).expect("written");
        paths.push(path);
    }
    paths
}

/// Drafts that our reader accepts, each other bytes.
fn collect_accepted(count: usize) -> Vec<(Draft, ArchiveFormat)> {
    let mut numbers = Numbers::new(count as u64);
    let mut accepted = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for format in [Zip, TarGz] {
        let mut found = 0;
        let single = corpus::list_changes(format);
        // Every change alone, then several at once.
        for round in 0.. {
            if found * 2 >= count {
                break;
            }
            let changes = match single.get(round) {
                Some(change) => vec![*change],
                None => numbers.choose_some(&single),
            };
            let draft = corpus::build_draft(format, &changes);
            let is_new = seen.insert(draft.bytes.clone());
            if is_new && read_ours(&draft.bytes, format).is_ok() {
                found += 1;
                accepted.push((draft, format));
            }
            assert!(round < 1000 * count, "nothing is accepted");
        }
    }
    accepted
}

#[test]
fn what_is_accepted_is_the_same_for_every_reader() {
    let count = std::env::var("IMAGEGEN_READERS")
        .map_or(120, |text| text.parse().expect("a number of archives"));
    let accepted = collect_accepted(count);
    let folder = tempfile::tempdir().expect("a folder");
    let paths = write_archives(folder.path(), &accepted);

    let mut faults = Vec::new();
    for (reader, answers) in ask_readers(folder.path(), &paths) {
        for ((draft, format), answer) in accepted.iter().zip(answers) {
            let ours = read_ours(&draft.bytes, *format).expect("accepted");
            if answer.as_ref() != Ok(&ours) {
                faults.push(format!(
                    "{reader}, {format:?}, {}: {answer:?}, ours {ours:?}",
                    draft.title
                ));
            }
        }
    }
    assert!(faults.is_empty(), "{}: {}", faults.len(), faults.join("\n"));
}

/// The control: archives that two of the readers read differently, which shows that the comparison sees it.
#[test]
fn what_splits_the_readers_is_refused() {
    let splits = splits::list_splits();
    let folder = tempfile::tempdir().expect("a folder");
    let paths = write_archives(folder.path(), &splits);
    let answers = ask_readers(folder.path(), &paths);
    for (at, (draft, format)) in splits.iter().enumerate() {
        let error = read_ours(&draft.bytes, *format).expect_err(&draft.title);
        assert!(error.code.as_str().starts_with("archive-"), "{error:?}");
        let views: std::collections::BTreeSet<String> = answers
            .iter()
            .map(|(_, answers)| match &answers[at] {
                Ok(files) => format!("{files:?}"),
                Err(_) => "refused".to_owned(),
            })
            .collect();
        assert!(views.len() > 1, "{}: all read {views:?}", draft.title);
    }
}

/// What programs write into a pipe has sizes behind its bytes, of folders and of files.
#[test]
fn zips_that_programs_stream_are_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = folder.path().join("source");
    std::fs::create_dir_all(source.join("bin/empty")).expect("folders");
    std::fs::write(source.join("bin/a.exe"), "x".repeat(70_000)).expect("written");
    std::fs::write(source.join("README"), "read me").expect("written");
    std::fs::write(source.join("bin/none"), "").expect("written");
    let expected = hash_files(&source);
    let writers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/archive/readers");
    let mut python = Command::new("python3");
    python.arg(writers.join("write.py"));
    let mut bsdtar = start_bsdtar();
    // Behind what goes to standard output it fills a block with zeros.
    bsdtar.args(["--format", "zip", "-cf", "../made.zip", "bin", "README"]);
    let mut seven = Command::new("7z");
    seven.args(["a", "-tzip", "-so", "-an", "."]);
    for mut command in [python, bsdtar, seven] {
        let path = folder.path().join("made.zip");
        let made = std::fs::File::create(&path).expect("a file");
        let ran = command.current_dir(&source).stdout(made).status();
        assert!(ran.expect("it starts").success(), "{command:?}");
        let found = read_ours(&std::fs::read(&path).expect("written"), Zip);
        assert_eq!(found.as_ref(), Ok(&expected), "{command:?}");
    }
}
