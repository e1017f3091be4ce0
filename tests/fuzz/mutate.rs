//! Seeded mutations of real files: bytes and pieces are changed, put in, doubled, moved and cut off.

use serde_json::Value;

use super::structure::change_structure;

pub struct Mutator {
    state: u64,
    seeds: Vec<Vec<u8>>,
}

/// Pieces that parsers of all kinds meet seldom.
const PIECES: &[&[u8]] = &[
    b"",
    b"\0",
    b"\xff\xff\xff\xff",
    b"\x7f\xff\xff\xff",
    b"\x80\0\0\0",
    b"-1",
    b"0",
    b"18446744073709551616",
    b"1e999",
    b"null",
    b"[]",
    b"{}",
    b"\"\"",
    b"[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":",
    b"\\ud800",
    b"\\u0000",
    b"\xed\xa0\x80",
    b"\xe2\x80\xae",
    b"\xef\xbb\xbf",
    b"\r\n",
    b"\n\n",
    b"\"",
    b"'",
    b"\\",
    b"%",
    b"%00",
    b"://",
    b"@",
    b"..",
    b"../",
    b"*",
    b",",
    b"=",
    b";",
    b":",
    b"-----BEGIN CERTIFICATE-----\n",
    b"-----END CERTIFICATE-----\n",
    b"\x30\x84\xff\xff\xff\xff",
    b"\x30\x80",
    b"PK\x05\x06",
    b"PK\x01\x02",
    b"\x1f\x8b\x08",
    b"9999999999999999999",
    b"bytes ",
    b"Bearer ",
];

/// JSON and texts that take the place of a value.
const VALUES: &[&str] = &[
    "null",
    "true",
    "0",
    "-1",
    "18446744073709551615",
    "[]",
    "{}",
    "[[]]",
    "*",
    "..",
    "https://evil.example:443/x?sig=1",
    "http://evil.example./",
    "KB5058411",
    "\u{202e}",
    "a\nb",
    "{{ x }}",
    "%PATH%",
    "CON",
];

/// JSON pointers of every place in a value.
fn list_paths(value: &Value, path: String, paths: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                let name = name.replace('~', "~0").replace('/', "~1");
                list_paths(inner, format!("{path}/{name}"), paths);
            }
        }
        Value::Array(items) => {
            for (at, inner) in items.iter().enumerate() {
                list_paths(inner, format!("{path}/{at}"), paths);
            }
        }
        _ => {}
    }
    paths.push(path);
}

impl Mutator {
    pub fn new(seed: u64, seeds: Vec<Vec<u8>>) -> Self {
        Self {
            state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1,
            seeds,
        }
    }

    /// A number below `limit`, by xorshift.
    fn below(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state >> 33).unwrap_or_default() % limit.max(1)
    }

    pub fn next(&mut self) -> Vec<u8> {
        let which = self.below(self.seeds.len());
        let mut bytes = self.seeds[which].clone();
        // Of JSON, every second one stays JSON: bytes alone are refused at the first key.
        if self.below(2) == 0
            && let Ok(mut value) = serde_json::from_slice::<Value>(&bytes)
        {
            for _ in 0..=self.below(3) {
                self.change_value(&mut value);
            }
            return value.to_string().into_bytes();
        }
        // Of archives and signatures, every second one keeps its form: lengths and checksums fit.
        if self.below(2) == 0
            && let Some(changed) = change_structure(&bytes, &mut |limit| self.below(limit))
        {
            return changed;
        }
        for _ in 0..=self.below(6) {
            self.change(&mut bytes);
        }
        bytes
    }

    /// Changes one place of a value: a member goes, is doubled, moves, or becomes another value.
    fn change_value(&mut self, value: &mut Value) {
        let mut paths = Vec::new();
        list_paths(value, String::new(), &mut paths);
        let path = paths[self.below(paths.len())].clone();
        let other = paths[self.below(paths.len())].clone();
        let moved = value.pointer(&other).cloned().unwrap_or_default();
        let choice = self.below(6);
        let text = VALUES[self.below(VALUES.len())];
        let Some(place) = value.pointer_mut(&path) else {
            return;
        };
        match (choice, place) {
            (0, Value::Object(fields)) => {
                let name = fields.keys().next().cloned();
                name.and_then(|name| fields.remove(&name));
            }
            (0, Value::Array(items)) => drop(items.pop()),
            (1, Value::Object(fields)) => drop(fields.insert("unknown".to_owned(), moved)),
            (1, Value::Array(items)) => items.extend(items.clone()),
            (2, place) => *place = moved,
            (3, Value::String(own)) => own.push_str(text),
            (4, Value::Number(own)) => *own = u64::MAX.into(),
            (_, place) => *place = serde_json::from_str(text).unwrap_or_else(|_| text.into()),
        }
    }

    fn range(&mut self, length: usize) -> std::ops::Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(40)).min(length)
    }

    fn change(&mut self, bytes: &mut Vec<u8>) {
        let at = self.below(bytes.len() + 1);
        match self.below(9) {
            0 | 1 if at < bytes.len() => bytes[at] ^= 1 << self.below(8),
            2 if at < bytes.len() => bytes[at] = u8::try_from(self.below(256)).unwrap_or_default(),
            3 => {
                let piece = PIECES[self.below(PIECES.len())];
                bytes.splice(at..at, piece.iter().copied());
            }
            4 => {
                let range = self.range(bytes.len());
                let piece = PIECES[self.below(PIECES.len())];
                bytes.splice(range, piece.iter().copied());
            }
            5 => {
                let range = self.range(bytes.len());
                bytes.drain(range);
            }
            6 => {
                let range = self.range(bytes.len());
                let copy = bytes[range].to_vec();
                bytes.splice(at..at, copy);
            }
            7 => {
                let other = self.below(self.seeds.len());
                let range = self.range(self.seeds[other].len());
                let piece = self.seeds[other][range].to_vec();
                bytes.splice(at..at, piece);
            }
            _ if self.below(8) == 0 => bytes.truncate(at),
            _ => {}
        }
    }
}
