//! Archives that stand for those of publishers.

use std::io::{Cursor, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;

pub fn tar_gz(files: &[(String, &[u8])]) -> Vec<u8> {
    let mut builder = tar::Builder::new(GzEncoder::new(Vec::new(), Compression::none()));
    for (name, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o755);
        builder
            .append_data(&mut header, name, *bytes)
            .expect("member");
    }
    builder.into_inner().expect("tar").finish().expect("gzip")
}

pub fn zip(files: &[(String, &[u8])]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(Cursor::new(Vec::new()));
    for (name, bytes) in files {
        writer
            .start_file(name.as_str(), zip::write::SimpleFileOptions::default())
            .expect("member");
        writer.write_all(bytes).expect("bytes");
    }
    writer.finish().expect("zip").into_inner()
}

/// Bytes for a planned artifact: the text, or an archive whose members hold it.
pub fn pack_artifact(artifact: &Value, text: &str) -> Vec<u8> {
    let members = artifact["members"].as_array().into_iter().flatten();
    let names = members.map(|member| member["member"].as_str().expect("member").to_owned());
    let contents: Vec<(String, String)> = names
        .map(|name| (name.clone(), format!("{text}: {name}")))
        .collect();
    let files: Vec<(String, &[u8])> = contents
        .iter()
        .map(|(name, content)| (name.clone(), content.as_bytes()))
        .collect();
    match artifact["kind"].as_str() {
        Some("tar.gz") => tar_gz(&files),
        Some("zip") => zip(&files),
        _ => text.as_bytes().to_vec(),
    }
}

/// Bytes for a planned artifact that name its component.
pub fn stand_in(artifact: &Value) -> Vec<u8> {
    pack_artifact(
        artifact,
        &format!(
            "stands for {}",
            artifact["component"].as_str().expect("component")
        ),
    )
}
