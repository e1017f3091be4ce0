//! Seeded mutations of real files: bytes and pieces are changed, put in, doubled, moved and cut off.

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
        for _ in 0..=self.below(6) {
            self.change(&mut bytes);
        }
        bytes
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
