//! What `ci/measure/bench-fetch` measures: downloads and hashes without a catalog around them.
//!
//! `fetch STORE JOBS (URL SHA256)…` and `hash FILE…`.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use imagegen::base::value::FileDigest;
use imagegen::fetch::{Addressing, Fetcher, MAX_SIZE, OpenedMirrors, Request};
use imagegen::io::fs::{DigestSet, digest_file_with};
use imagegen::io::http::{Http, Options};
use imagegen::io::store::Store;
use imagegen::ui::Downloads;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["fetch", store, jobs, files @ ..] => fetch(store, jobs.parse()?, files),
        ["hash", files @ ..] => {
            for file in files {
                println!(
                    "{}",
                    digest_file_with(Path::new(file), DigestSet::Both)?.sha256
                );
            }
            Ok(())
        }
        _ => bail!("fetch STORE JOBS (URL SHA256)… or hash FILE…"),
    }
}

fn fetch(store: &str, jobs: usize, files: &[&str]) -> Result<()> {
    let requests: Vec<Request> = files
        .chunks_exact(2)
        .map(|pair| Request {
            name: pair[0].rsplit('/').next().unwrap_or(pair[0]).to_owned(),
            url: pair[0].parse().expect("a URL"),
            addressing: Addressing::Exact,
            size: None,
            max_size: MAX_SIZE,
            digests: vec![FileDigest::Sha256(pair[1].parse().expect("a SHA-256"))],
            superseded: Vec::new(),
            headers: Vec::new(),
            login: None,
        })
        .collect();
    let fetcher = Fetcher::new(
        Http::new(Options::default())?,
        Store::open(PathBuf::from(store))?,
        OpenedMirrors::default(),
    )?;
    for outcome in fetcher.fetch_all(&requests, jobs, &Downloads::new_silent()) {
        println!("{}", outcome?.sha256());
    }
    Ok(())
}
