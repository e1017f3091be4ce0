//! DER as a tree that can be changed and written again with right lengths.

#[derive(Debug, Clone)]
pub struct Node {
    pub tag: u8,
    /// Of what has no parts.
    pub body: Vec<u8>,
    pub parts: Vec<Node>,
}

impl Node {
    pub fn new(tag: u8, body: &[u8]) -> Self {
        Self {
            tag,
            body: body.to_vec(),
            parts: Vec::new(),
        }
    }

    pub fn group(tag: u8, parts: Vec<Self>) -> Self {
        Self {
            tag,
            body: Vec::new(),
            parts,
        }
    }

    pub fn sequence(parts: Vec<Self>) -> Self {
        Self::group(0x30, parts)
    }

    pub fn oid(text: &str) -> Self {
        let numbers: Vec<u32> = text.split('.').map(|part| part.parse().unwrap()).collect();
        let mut body = vec![u8::try_from(numbers[0] * 40 + numbers[1]).unwrap()];
        for number in &numbers[2..] {
            let mut digits = vec![u8::try_from(number & 127).unwrap()];
            let mut rest = number >> 7;
            while rest > 0 {
                digits.insert(0, u8::try_from(rest & 127).unwrap() | 128);
                rest >>= 7;
            }
            body.extend(digits);
        }
        Self::new(6, &body)
    }

    pub fn parse(bytes: &[u8]) -> Self {
        let (node, rest) = Self::first(bytes);
        assert!(rest.is_empty(), "bytes after the DER");
        node
    }

    fn first(bytes: &[u8]) -> (Self, &[u8]) {
        let (tag, short) = (bytes[0], usize::from(bytes[1]));
        let (length, start) = if short < 128 {
            (short, 2)
        } else {
            let count = short - 128;
            (
                bytes[2..2 + count]
                    .iter()
                    .fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
                2 + count,
            )
        };
        let (body, rest) = (&bytes[start..start + length], &bytes[start + length..]);
        if tag & 0x20 == 0 {
            return (Self::new(tag, body), rest);
        }
        let mut parts = Vec::new();
        let mut left = body;
        while !left.is_empty() {
            let (part, after) = Self::first(left);
            parts.push(part);
            left = after;
        }
        (Self::group(tag, parts), rest)
    }

    pub fn bytes(&self) -> Vec<u8> {
        let inner: Vec<u8> = if self.tag & 0x20 == 0 {
            self.body.clone()
        } else {
            self.parts.iter().flat_map(Self::bytes).collect()
        };
        let mut bytes = vec![self.tag];
        if inner.len() < 128 {
            bytes.push(u8::try_from(inner.len()).unwrap());
        } else {
            let length = inner.len().to_be_bytes();
            let length: Vec<u8> = length.into_iter().skip_while(|byte| *byte == 0).collect();
            bytes.push(128 + u8::try_from(length.len()).unwrap());
            bytes.extend(length);
        }
        bytes.extend(inner);
        bytes
    }

    pub fn at(&self, path: &[usize]) -> &Self {
        path.iter().fold(self, |node, place| &node.parts[*place])
    }

    pub fn at_mut(&mut self, path: &[usize]) -> &mut Self {
        path.iter()
            .fold(self, |node, place| &mut node.parts[*place])
    }

    /// The part with this tag.
    pub fn tagged(&mut self, tag: u8) -> &mut Self {
        self.parts.iter_mut().find(|part| part.tag == tag).unwrap()
    }

    /// SignedData of a signature.
    pub fn signed_data(&mut self) -> &mut Self {
        self.at_mut(&[1, 0])
    }

    /// The first signer of a signature.
    pub fn signer(&mut self) -> &mut Self {
        self.signed_data().parts.last_mut().unwrap().at_mut(&[0])
    }

    /// The values of an attribute, signed (0xa0) or not (0xa1).
    pub fn attribute(&mut self, side: u8, kind: &str) -> &mut Self {
        let kind = Self::oid(kind).body;
        let attributes = self.signer().tagged(side);
        attributes
            .parts
            .iter_mut()
            .find(|part| part.parts[0].body == kind)
            .unwrap()
            .at_mut(&[1])
    }
}
