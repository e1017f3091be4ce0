//! Rows of scripts and packages.

use std::path::PathBuf;

use imagegen::verify::authenticode::FileKind;

use super::{Compound, Table, write};
use crate::authenticode::workshop::THEN;

fn utf16(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

pub(super) fn scripts(table: &mut Table<'_>) {
    let workshop = table.workshop;
    let text = "param($A)\r\nWrite-Output $A\r\n";
    let umlaut = "'\u{e4}\u{20ac}\u{1f600}'\r\n";
    let forms: &[(&str, Vec<u8>)] = &[
        ("ASCII", text.into()),
        ("UTF-8", umlaut.into()),
        ("UTF-8 with mark", format!("\u{feff}{umlaut}").into()),
        ("UTF-16", utf16(&format!("\u{feff}{umlaut}"))),
        ("LF", text.replace('\r', "").into()),
        ("no newline at the end", text.trim_end().into()),
    ];
    for (name, bytes) in forms {
        let signed = workshop.sign("s.ps1", bytes, "leaf", &[]);
        table.row(
            &format!("script, {name}"),
            FileKind::PowerShell,
            signed,
            "ok",
        );
    }
    let signed =
        String::from_utf8(workshop.stamped("s.ps1", text.as_bytes(), "leaf", "tsa", THEN)).unwrap();
    let mut script = |name: &str, bytes: String, expected: &'static str| -> usize {
        table.row(
            &format!("script, {name}"),
            FileKind::PowerShell,
            bytes.into_bytes(),
            expected,
        );
        table.rows.len() - 1
    };
    script("timestamp", signed.clone(), "ok");
    script("unsigned", text.to_owned(), "unsigned");
    script(
        "blanks after the block",
        format!("{signed} \t\r\n\r\n"),
        "ok",
    );
    script(
        "changed",
        signed.replace("param($A)", "param($B)"),
        "file-digest",
    );
    script("line before", format!("'x'\r\n{signed}"), "file-digest");
    script(
        "line before the block",
        signed.replacen("\r\n# SIG # Begin", "\r\n'x'\r\n# SIG # Begin", 1),
        "file-digest",
    );
    script("mark added", format!("\u{feff}{signed}"), "file-digest");
    script(
        "LF instead of CRLF",
        signed.replace('\r', ""),
        "signature-block",
    );
    script(
        "no end",
        signed.replace("# SIG # End signature block", ""),
        "signature-block",
    );
    script(
        "end alone",
        format!("{text}# SIG # End signature block\r\n"),
        "signature-block",
    );
    script(
        "cut off",
        signed[..signed.len() / 2].to_owned(),
        "signature-block",
    );
    let code_after = script(
        "line after the block",
        format!("{signed}Remove-Item x\r\n"),
        "text-after-signature",
    );
    let same_line = script(
        "text after the end marker",
        format!("{}; 'x'\r\n", signed.trim_end()),
        "text-after-signature",
    );
    let inside = script(
        "line in the block",
        signed.replacen("# SIG # End", "'x'\r\n# SIG # End", 1),
        "signature-block",
    );
    script(
        "text after the first marker",
        signed.replacen("Begin signature block", "Begin signature block 'x'", 1),
        "signature-block",
    );
    let block = signed[signed.find("\r\n# SIG # Begin").unwrap()..].to_owned();
    let twice = script(
        "two blocks",
        format!("{}{block}", signed.trim_end()),
        "several-signatures",
    );
    let comment = script(
        "comment in the block",
        signed.replacen("# SIG # End", "# a b\r\n# SIG # End", 1),
        "signature-block",
    );
    table.rows[comment].stricter = Some("unsigned text inside the block");
    for row in [code_after, inside] {
        table.rows[row].stricter = Some("PowerShell would run a line that no digest covers");
    }
    table.rows[same_line].stricter = Some("unsigned text behind the marker");
    table.rows[twice].stricter = Some("which of the two counts is not said");
    let latin = [b"'\xe4'\r\n", signed.as_bytes()].concat();
    table.row("script, Latin-1", FileKind::PowerShell, latin, "encoding");
    let big: Vec<u8> = format!("\u{feff}{signed}")
        .encode_utf16()
        .flat_map(u16::to_be_bytes)
        .collect();
    table.row(
        "script, UTF-16 big-endian",
        FileKind::PowerShell,
        big,
        "encoding",
    );
    let mut half = workshop.sign("s.ps1", &utf16("\u{feff}'a'\r\n"), "leaf", &[]);
    half.push(32);
    table
        .row(
            "script, half a letter",
            FileKind::PowerShell,
            half,
            "encoding",
        )
        .stricter("what reads it may see something else");
}

pub(super) fn packages(table: &mut Table<'_>) {
    let workshop = table.workshop;
    let plain = workshop.sign("s.msi", &workshop.msi(), "leaf", &[]);
    let full = workshop.sign("s.msi", &workshop.msi(), "leaf", &["-add-msi-dse"]);
    let mut msi = |name: &str, bytes: Vec<u8>, expected: &'static str| -> usize {
        table.row(&format!("package, {name}"), FileKind::Msi, bytes, expected);
        table.rows.len() - 1
    };
    msi("signed", plain.clone(), "ok");
    msi("signed with its metadata", full.clone(), "ok");
    msi(
        "timestamp",
        workshop.stamped("s.msi", &workshop.msi(), "leaf-expired", "tsa", THEN),
        "ok",
    );
    msi("unsigned", workshop.msi(), "unsigned");
    msi(
        "stream added",
        edited(&plain, |file| write(file, "/added", b"more")),
        "file-digest",
    );
    msi(
        "stream changed",
        edited(&plain, |file| write(file, icon(file), b"AN ICON")),
        "file-digest",
    );
    msi(
        "stream removed",
        edited(&plain, |file| file.remove_stream(icon(file)).unwrap()),
        "file-digest",
    );
    msi(
        "storage added",
        edited(&plain, |file| file.create_storage("/more").unwrap()),
        "file-digest",
    );
    let class_changed = |file: &mut Compound| {
        let none = *file.entry(icon(file)).unwrap().clsid();
        file.set_storage_clsid("/", none).unwrap();
    };
    msi(
        "class id changed",
        edited(&plain, class_changed),
        "file-digest",
    );
    let renamed = |file: &mut Compound| {
        file.remove_stream(icon(file)).unwrap();
        write(file, "/renamed", b"an icon");
    };
    msi(
        "stream renamed, its name unsigned",
        edited(&plain, renamed),
        "ok",
    );
    msi("stream renamed", edited(&full, renamed), "msi-metadata");
    let metadata = msi(
        "metadata's digest changed",
        edited(&full, |file| {
            write(file, "/\u{5}MsiDigitalSignatureEx", &[7; 32]);
        }),
        "msi-metadata",
    );
    msi(
        "metadata's digest removed",
        edited(&full, |file| {
            file.remove_stream("/\u{5}MsiDigitalSignatureEx").unwrap();
        }),
        "file-digest",
    );
    msi(
        "metadata's digest added",
        edited(&plain, |file| {
            write(file, "/\u{5}MsiDigitalSignatureEx", &[7; 32]);
        }),
        "msi-metadata",
    );
    let appended = msi(
        "appended bytes",
        [plain.clone(), vec![0x90; 512]].concat(),
        "file-malformed",
    );
    let mut cut = plain.clone();
    cut.truncate(plain.len() / 2);
    msi("cut off", cut, "file-malformed");
    msi("only a header", plain[..512].to_vec(), "file-malformed");
    msi("no package", b"nothing of it".to_vec(), "file-malformed");
    table.rows[appended].stricter = Some("another program may lie behind a package");
    table.rows[metadata].stricter = Some("the file says what it was signed with, wrongly");
}

fn edited<T>(bytes: &[u8], edit: impl FnOnce(&mut Compound) -> T) -> Vec<u8> {
    let mut file = Compound::open(std::io::Cursor::new(bytes.to_vec())).unwrap();
    edit(&mut file);
    file.flush().unwrap();
    file.into_inner().into_inner()
}

/// The stream that was put in; MSI writes names in letters of its own.
fn icon(file: &Compound) -> PathBuf {
    let mut entries = file
        .walk()
        .filter(|entry| entry.is_stream() && entry.len() == 7);
    entries.next().unwrap().path().to_path_buf()
}
