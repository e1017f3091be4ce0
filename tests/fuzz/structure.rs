//! Mutations by structure: elements of DER, packets of OpenPGP and headers of archives are changed, left out, doubled and
//! moved, and lengths and checksums around them are made to fit. Bytes alone are refused at the first length.

use std::io::{Read as _, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Numbers below a limit.
pub type Pick<'a> = dyn FnMut(usize) -> usize + 'a;

/// None where the bytes have no structure that is known here.
pub fn change_structure(bytes: &[u8], pick: &mut Pick<'_>) -> Option<Vec<u8>> {
    if bytes.starts_with(b"PK\x03\x04") {
        return change_zip(bytes.to_vec(), pick);
    }
    if bytes.starts_with(&[0x1f, 0x8b]) {
        return change_tar_gz(bytes, pick);
    }
    if bytes.first() == Some(&0x30) {
        return change_der(bytes, pick);
    }
    if bytes.starts_with(b"-----BEGIN CERTIFICATE-----") {
        return change_pem(bytes, pick);
    }
    change_packets(bytes, pick)
}

#[derive(Debug, Clone)]
struct Element {
    tag: u8,
    content: Content,
}

#[derive(Debug, Clone)]
enum Content {
    Leaf(Vec<u8>),
    Group(Vec<Element>),
}

/// Elements with a definite length, as far as all bytes are such.
fn parse_elements(mut bytes: &[u8], depth: usize) -> Option<Vec<Element>> {
    let mut elements = Vec::new();
    while let [tag, rest @ ..] = bytes {
        let (length, rest) = parse_length(rest)?;
        let (body, rest) = rest.split_at_checked(length)?;
        let is_group = tag & 0x20 != 0 && depth > 0;
        let content = match is_group.then(|| parse_elements(body, depth - 1)).flatten() {
            Some(inner) => Content::Group(inner),
            None => Content::Leaf(body.to_vec()),
        };
        elements.push(Element { tag: *tag, content });
        bytes = rest;
    }
    Some(elements)
}

fn parse_length(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (first, rest) = bytes.split_first()?;
    if *first < 0x80 {
        return Some((usize::from(*first), rest));
    }
    let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
    if digits.is_empty() || digits.len() > 4 {
        return None;
    }
    let length = digits.iter().fold(0, |sum, it| sum << 8 | usize::from(*it));
    Some((length, rest))
}

fn write_element(element: &Element, out: &mut Vec<u8>) {
    let mut body = Vec::new();
    match &element.content {
        Content::Leaf(bytes) => body.clone_from(bytes),
        Content::Group(inner) => inner.iter().for_each(|it| write_element(it, &mut body)),
    }
    out.push(element.tag);
    let length = body.len();
    if length < 0x80 {
        out.push(u8::try_from(length).expect("seven bits"));
    } else {
        let digits = u32::try_from(length).expect("short").to_be_bytes();
        let digits = &digits[digits.iter().position(|it| *it != 0).expect("not zero")..];
        out.push(0x80 | u8::try_from(digits.len()).expect("four"));
        out.extend(digits);
    }
    out.extend(body);
}

fn count_elements(elements: &[Element]) -> usize {
    let inner = elements.iter().map(|it| match &it.content {
        Content::Leaf(_) => 0,
        Content::Group(inner) => count_elements(inner),
    });
    elements.len() + inner.sum::<usize>()
}

/// Changes the element with this number, counted from the front.
fn change_element(
    elements: &mut Vec<Element>,
    number: &mut usize,
    other: &Element,
    pick: &mut Pick<'_>,
) -> bool {
    for at in 0..elements.len() {
        if *number == 0 {
            match pick(6) {
                0 => drop(elements.remove(at)),
                1 => {
                    let copies = vec![elements[at].clone(); 1 + pick(12)];
                    elements.splice(at..at, copies);
                }
                2 => elements[at] = other.clone(),
                3 => elements[at].tag ^= 1 << pick(8),
                4 => {
                    let with = pick(elements.len());
                    elements.swap(at, with);
                }
                _ => change_leaf(&mut elements[at], pick),
            }
            return true;
        }
        *number -= 1;
        if let Content::Group(inner) = &mut elements[at].content
            && change_element(inner, number, other, pick)
        {
            return true;
        }
    }
    false
}

fn change_leaf(element: &mut Element, pick: &mut Pick<'_>) {
    match &mut element.content {
        Content::Leaf(bytes) if !bytes.is_empty() => {
            let at = pick(bytes.len());
            bytes[at] ^= 1 << pick(8);
        }
        content => *content = Content::Leaf(vec![0; pick(4)]),
    }
}

fn find_element(elements: &[Element], number: &mut usize) -> Option<Element> {
    for element in elements {
        if *number == 0 {
            return Some(element.clone());
        }
        *number -= 1;
        if let Content::Group(inner) = &element.content
            && let Some(found) = find_element(inner, number)
        {
            return Some(found);
        }
    }
    None
}

fn change_der(bytes: &[u8], pick: &mut Pick<'_>) -> Option<Vec<u8>> {
    let mut elements = parse_elements(bytes, 24)?;
    let count = count_elements(&elements);
    for _ in 0..=pick(3) {
        let Some(other) = find_element(&elements, &mut pick(count)) else {
            break;
        };
        change_element(&mut elements, &mut pick(count), &other, pick);
    }
    let mut changed = Vec::new();
    for element in &elements {
        write_element(element, &mut changed);
    }
    Some(changed)
}

fn change_pem(bytes: &[u8], pick: &mut Pick<'_>) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(bytes).ok()?;
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let changed = change_der(&STANDARD.decode(body).ok()?, pick)?;
    let body = STANDARD.encode(changed);
    let text = format!("-----BEGIN CERTIFICATE-----\n{body}\n-----END CERTIFICATE-----\n");
    Some(text.into_bytes())
}

/// Places of the headers of an archive: local files, the directory, its ends.
fn change_zip(mut bytes: Vec<u8>, pick: &mut Pick<'_>) -> Option<Vec<u8>> {
    let is_header = |window: &[u8]| {
        window.starts_with(b"PK") && matches!(window[2..], [1, 2] | [3, 4] | [5 | 6, 6] | [6, 7])
    };
    let places: Vec<usize> = (0..bytes.len().saturating_sub(46))
        .filter(|at| is_header(&bytes[*at..*at + 4]))
        .collect();
    let place = *places.get(pick(places.len()))?;
    let at = place + 4 + pick(42);
    let other = places[pick(places.len())];
    match pick(5) {
        0 => bytes[at] = 0xff,
        1 => bytes[at] = 0,
        2 => bytes[at] ^= 1 << pick(8),
        // A header of another member, and one that stands twice.
        3 => {
            let copy = bytes[other..other + 46].to_vec();
            bytes[place..place + 46].copy_from_slice(&copy);
        }
        _ => {
            let copy = bytes[other..other + 46].to_vec();
            bytes.splice(place..place, copy);
        }
    }
    Some(bytes)
}

/// One field of one header gets another value, with a checksum that fits.
fn change_tar_gz(bytes: &[u8], pick: &mut Pick<'_>) -> Option<Vec<u8>> {
    const BLOCK: usize = 512;
    /// Start and length: name, mode, size, time, type, link, magic, version, device, prefix.
    const FIELDS: [(usize, usize); 10] = [
        (0, 100),
        (100, 8),
        (124, 12),
        (136, 12),
        (156, 1),
        (157, 100),
        (257, 6),
        (263, 2),
        (329, 8),
        (345, 155),
    ];
    let mut tar = Vec::new();
    GzDecoder::new(bytes)
        .take(8 << 20)
        .read_to_end(&mut tar)
        .ok()?;
    let headers: Vec<usize> = (0..tar.len() / BLOCK)
        .map(|number| number * BLOCK)
        .filter(|at| tar[at + 257..at + 262] == *b"ustar")
        .collect();
    let place = *headers.get(pick(headers.len()))?;
    let (start, length) = FIELDS[pick(FIELDS.len())];
    let at = place + start + pick(length);
    tar[at] = *[
        0, 0xff, b'0', b'7', b'9', b' ', b'/', b'.', b'L', b'x', b'1', 0x80,
    ]
    .get(pick(12))
    .expect("twelve");
    tar[place + 148..place + 156].fill(b' ');
    let sum: u32 = tar[place..place + BLOCK]
        .iter()
        .copied()
        .map(u32::from)
        .sum();
    let text = format!("{sum:06o}\0 ");
    tar[place + 148..place + 156].copy_from_slice(text.as_bytes());
    let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
    packed.write_all(&tar).ok()?;
    packed.finish().ok()
}

/// Packets of OpenPGP (RFC 9580, 4.2): one goes, is doubled, moves, or a byte of it changes.
fn change_packets(bytes: &[u8], pick: &mut Pick<'_>) -> Option<Vec<u8>> {
    let mut packets = Vec::new();
    let mut rest = bytes;
    while let [head, after @ ..] = rest {
        let (length, width) = match (head, after) {
            (0x80..=0xbf, [length, ..]) if head % 4 == 0 => (usize::from(*length), 1),
            (0x80..=0xbf, [high, low, ..]) if head % 4 == 1 => {
                (usize::from(*high) << 8 | usize::from(*low), 2)
            }
            (0xc0..=0xff, [length @ ..192, ..]) => (usize::from(*length), 1),
            _ => return None,
        };
        let (packet, others) = rest.split_at_checked(1 + width + length)?;
        packets.push((packet.to_vec(), 1 + width));
        rest = others;
    }
    if packets.is_empty() {
        return None;
    }
    let at = pick(packets.len());
    let with = pick(packets.len());
    match pick(4) {
        0 => drop(packets.remove(at)),
        1 => {
            let copy = packets.get(at)?.clone();
            packets.insert(with, copy);
        }
        2 => packets.swap(at, with),
        _ => {
            let (packet, start) = packets.get_mut(at)?;
            let place = *start + pick(packet.len() - *start);
            *packet.get_mut(place)? ^= 1 << pick(8);
        }
    }
    Some(packets.into_iter().flat_map(|(packet, _)| packet).collect())
}

#[test]
fn a_structure_stays_one() {
    let root = imagegen::embedded::Tree::embedded_manifests();
    let pem = root
        .get("trust/roots/microsoft-root-2010.pem")
        .expect("a root");
    let mut state = 7_usize;
    let mut pick = |limit: usize| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % limit.max(1)
    };
    let text = std::str::from_utf8(pem).expect("text");
    let body: String = text.lines().filter(|line| !line.starts_with('-')).collect();
    let der = STANDARD.decode(body).expect("base64");
    let mut different = 0;
    for _ in 0..50 {
        let changed = change_der(&der, &mut pick).expect("DER");
        assert!(parse_elements(&changed, 24).is_some(), "lengths fit");
        different += usize::from(changed != der);
    }
    assert!(different > 40, "{different} of 50");
}
