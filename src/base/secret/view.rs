//! How a text reads: without blanks and the names that Packer puts before lines, with its escapes undone. Each
//! byte of a view knows where it stands in the text.

use super::forms::is_blank;
use crate::base::text::is_alphanumeric_or;

/// A byte, with the line and the bytes of it that it stands for.
#[derive(Debug, Clone, Copy)]
pub(super) struct BytePlace {
    pub line: usize,
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Default, Clone)]
pub(super) struct View {
    pub bytes: Vec<u8>,
    pub places: Vec<BytePlace>,
}

/// Characters that begin an escape: of URLs, of JSON and C, of HTML and XML, of PowerShell and shells, and all of them. In forms, `+`
/// is a blank. A value may hold what reads as an escape of another kind, so each is undone by itself, too.
const ESCAPES: &[&[u8]] = &[b"%", b"%+", b"\\", b"&", b"`", b"_'\"", b"%\\&`_'\""];

/// Every way to read the lines as one text.
pub(super) fn list_views(lines: &[&str]) -> Vec<View> {
    let whole = join_lines(lines, false);
    let joined = join_lines(lines, true);
    let is_wrapped = joined.bytes.len() < whole.bytes.len();
    let mut views = Vec::new();
    add_views(whole, &mut views);
    if is_wrapped {
        add_views(joined, &mut views);
    }
    views
}

fn add_views(plain: View, views: &mut Vec<View>) {
    // `41-42-43` and `41:42:43`
    if plain.bytes.iter().any(|byte| b"-:,".contains(byte)) {
        views.push(plain.filter(|byte| !b"-:,".contains(&byte)));
    }
    for escapes in ESCAPES {
        if plain.bytes.iter().any(|byte| escapes.contains(byte)) {
            let once = plain.decode(escapes);
            // JSON inside of JSON, a URL inside of a URL.
            views.push(once.decode(escapes));
            views.push(once);
        }
    }
    views.push(plain);
}

fn join_lines(lines: &[&str], without_names: bool) -> View {
    let mut view = View::default();
    for (line, text) in lines.iter().enumerate() {
        let skipped = if without_names { name_length(text) } else { 0 };
        for (start, byte) in text
            .bytes()
            .enumerate()
            .skip(skipped)
            .filter(|(_, byte)| !is_blank(*byte))
        {
            view.bytes.push(byte);
            view.places.push(BytePlace {
                line,
                start,
                end: start + 1,
            });
        }
    }
    view
}

/// Bytes of a line that are no blanks and no name.
pub(super) fn count_bytes(line: &str) -> usize {
    line.bytes()
        .skip(name_length(line))
        .filter(|byte| !is_blank(*byte))
        .count()
}

/// `==> imagegen.builder.node: ` and `    imagegen.builder.node: `
fn name_length(line: &str) -> usize {
    let rest = line.trim_start_matches(['=', '-', '>', ' ']);
    let name = rest.split(':').next().unwrap_or_default();
    let is_name = name.contains('.') && is_alphanumeric_or(name, "._-");
    if is_name && name.len() < rest.len() {
        line.len() - rest.len() + name.len() + 1
    } else {
        0
    }
}

impl View {
    fn filter(&self, keep: impl Fn(u8) -> bool) -> Self {
        let kept = self
            .bytes
            .iter()
            .zip(&self.places)
            .filter(|(byte, _)| keep(**byte));
        let (bytes, places) = kept.map(|(byte, place)| (*byte, *place)).unzip();
        Self { bytes, places }
    }

    /// Escapes of URLs, JSON, HTML and XML, PowerShell's serialized errors and quotes that are doubled.
    fn decode(&self, escapes: &[u8]) -> Self {
        let mut view = Self::default();
        let mut at = 0;
        while at < self.bytes.len() {
            let rest = &self.bytes[at..];
            if escapes.contains(&b'\\') && is_cut_octal(rest) {
                break;
            }
            let decoded = if escapes.contains(&rest[0]) {
                decode_escape(rest)
            } else {
                None
            };
            let (length, decoded) = decoded.unwrap_or_else(|| (1, vec![rest[0]]));
            let (first, last) = (self.places[at], self.places[at + length - 1]);
            let end = if first.line == last.line {
                last.end
            } else {
                first.end
            };
            for byte in decoded.into_iter().filter(|byte| !is_blank(*byte)) {
                view.bytes.push(byte);
                view.places.push(BytePlace { end, ..first });
            }
            at += length;
        }
        view
    }
}

/// The length of an escape at the beginning, and what it stands for.
fn decode_escape(rest: &[u8]) -> Option<(usize, Vec<u8>)> {
    match rest {
        [b'+', ..] => Some((1, Vec::new())),
        [b'%', high, low, ..] => Some((3, vec![u8::try_from(parse_hex(&[*high, *low])?).ok()?])),
        [b'\'', b'\\', b'\'', b'\'', ..] => Some((4, vec![b'\''])),
        [b'\'', b'\'', ..] | [b'"', b'"', ..] => Some((2, vec![rest[0]])),
        [b'\\', digits @ ..] if parse_octal(digits).is_some() => {
            Some((4, vec![parse_octal(digits)?]))
        }
        [b'_', b'x', digits @ ..] if digits.get(4) == Some(&b'_') => {
            Some((7, encode_char(parse_hex(&digits[..4])?)?))
        }
        [b'\\', b'u', digits @ ..] => decode_unicode(digits),
        [b'\\', b'x', high, low, ..] => Some((4, encode_char(parse_hex(&[*high, *low])?)?)),
        [b'\\' | b'`', b'n' | b'r' | b't' | b'b' | b'f', ..] => Some((2, Vec::new())),
        [b'\\' | b'`', escaped, ..] => Some((2, vec![*escaped])),
        [b'&', ..] => decode_entity(rest),
        _ => None,
    }
}

/// `\u0041`, also as a pair of surrogates.
fn decode_unicode(digits: &[u8]) -> Option<(usize, Vec<u8>)> {
    let first = parse_hex(digits.get(..4)?)?;
    if let (0xd800..0xdc00, Some(b"\\u"), Some(second)) =
        (first, digits.get(4..6), digits.get(6..10))
    {
        let second = parse_hex(second)?.checked_sub(0xdc00)?;
        return Some((
            12,
            encode_char(0x10000 + ((first - 0xd800) << 10) + second)?,
        ));
    }
    Some((6, encode_char(first)?))
}

fn decode_entity(rest: &[u8]) -> Option<(usize, Vec<u8>)> {
    let length = rest.iter().take(12).position(|byte| *byte == b';')?;
    let name = std::str::from_utf8(&rest[1..length]).ok()?;
    let decoded = match name {
        "amp" => vec![b'&'],
        "lt" => vec![b'<'],
        "gt" => vec![b'>'],
        "quot" => vec![b'"'],
        "apos" => vec![b'\''],
        _ => {
            let number = name.strip_prefix('#')?;
            let hex = number.strip_prefix(['x', 'X']);
            let code = hex.map_or_else(|| number.parse().ok(), |hex| parse_hex(hex.as_bytes()))?;
            encode_char(code)?
        }
    };
    Some((length + 1, decoded))
}

fn encode_char(code: u32) -> Option<Vec<u8>> {
    Some(char::from_u32(code)?.to_string().into_bytes())
}

/// Three digits, as `printf` and C write a byte.
fn parse_octal(digits: &[u8]) -> Option<u8> {
    let [
        high @ b'0'..=b'3',
        middle @ b'0'..=b'7',
        low @ b'0'..=b'7',
        ..,
    ] = digits
    else {
        return None;
    };
    Some(64 * (high - b'0') + 8 * (middle - b'0') + (low - b'0'))
}

/// An escape whose end is in the next line.
fn is_cut_octal(rest: &[u8]) -> bool {
    rest.len() < 4
        && rest[0] == b'\\'
        && rest[1..].iter().all(|digit| (b'0'..=b'7').contains(digit))
}

fn parse_hex(digits: &[u8]) -> Option<u32> {
    let is_hex = digits.iter().all(u8::is_ascii_hexdigit);
    is_hex
        .then(|| u32::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok())
        .flatten()
}
