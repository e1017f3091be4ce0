//! Build information that the Go toolchain writes into each program (`debug/buildinfo`, since Go 1.18 in place).

use super::image::ProgramImage;
use super::{keep_versions, read_at};
use crate::base::text::is_digits;
use crate::verify::authenticode::ReadSeek;

const MAGIC: &[u8] = b"\xff Go buildinf:";
/// `debug/buildinfo`: the flag of strings that stand behind the header.
const INLINE: u8 = 2;
const HEADER: usize = 32;
/// Bytes at the start of the data that are searched: real programs have it in the first few.
const SEARCHED: u64 = 1 << 20;

/// The program's name by the path of its main package, and its version by its module.
pub(super) fn read_build_information(
    source: &mut dyn ReadSeek,
    image: &ProgramImage,
) -> std::io::Result<(Vec<String>, Vec<String>)> {
    let Some((start, size)) = image.find_data() else {
        return Ok(Default::default());
    };
    let data = read_at(source, start, size.min(SEARCHED))?;
    Ok(find_module(&data)
        .map(|text| read_module(&text))
        .unwrap_or_default())
}

fn find_module(data: &[u8]) -> Option<String> {
    // The linker aligns it at 16 bytes.
    let mut places = (0..data.len()).step_by(16);
    let place = places.find(|at| data[*at..].starts_with(MAGIC))?;
    let header = data.get(place..place + HEADER)?;
    if header[15] & INLINE == 0 {
        return None;
    }
    let (_, rest) = split_text(&data[place + HEADER..])?;
    let (module, _) = split_text(rest)?;
    // Sixteen bytes before and behind the text mark it.
    let inner = module.get(16..module.len().checked_sub(16)?)?;
    String::from_utf8(inner.to_vec()).ok()
}

/// A text behind its length, which is a variable-length number.
fn split_text(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let mut length: usize = 0;
    for (at, byte) in bytes.iter().enumerate().take(4) {
        length |= usize::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            return bytes.get(at + 1..)?.split_at_checked(length);
        }
    }
    None
}

/// Lines `path`, `mod` and more, with tabs between their words.
fn read_module(text: &str) -> (Vec<String>, Vec<String>) {
    let (mut names, mut versions) = (Vec::new(), Vec::new());
    for line in text.lines() {
        let words: Vec<&str> = line.split('\t').collect();
        match words.as_slice() {
            ["path", path] => names.extend(name_program(path)),
            // A commit between releases has a version with its time: it is no release.
            ["mod", _, version, ..] if version.matches('-').count() < 2 => {
                versions.push((*version).to_owned());
            }
            _ => {}
        }
    }
    (names, keep_versions(versions))
}

/// The last part of a package's path that is no major version.
fn name_program(path: &str) -> Option<String> {
    let name = path.rsplit('/').find(|part| !is_major_version(part))?;
    (name != "command-line-arguments" && !name.is_empty()).then(|| name.to_owned())
}

fn is_major_version(part: &str) -> bool {
    let digits = part.strip_prefix('v').unwrap_or_default();
    !digits.is_empty() && is_digits(digits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_named_by_its_package_and_its_module() {
        let text = "path\tk8s.io/kubernetes/cmd/kubelet\nmod\tk8s.io/kubernetes\tv1.36.0\th1:x=\n\
                    dep\tgithub.com/x/y\tv9.9.9\th1:y=\n";
        assert_eq!(
            read_module(text),
            (vec!["kubelet".to_owned()], vec!["v1.36.0".to_owned()])
        );
        for (path, name) in [
            (
                "github.com/containerd/nerdctl/v2/cmd/nerdctl",
                Some("nerdctl"),
            ),
            ("example.com/agent/v2", Some("agent")),
            ("command-line-arguments", None),
        ] {
            assert_eq!(name_program(path).as_deref(), name, "{path}");
        }
        let unreleased =
            "mod\tk8s.io/kubernetes\t(devel)\nmod\tx\tv0.0.0-20260101000000-abcdefabcdef\n";
        assert_eq!(read_module(unreleased).1, Vec::<String>::new());
    }
}
