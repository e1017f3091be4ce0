//! Small PE images that say what they are, as compilers and Go's linker write it.

/// Places of the only section: in the file, and in memory.
const RAW: u32 = 0x200;
const ADDRESS: u32 = 0x1000;

/// An image with a version resource.
pub fn with_resource(name: &str, version: &str) -> Vec<u8> {
    let resource = version_resource(name, version);
    // Three levels of directories, each with one entry, then the entry of the data.
    let mut section = Vec::new();
    for (id, offset) in [(16u32, 0x8000_0018u32), (1, 0x8000_0030), (0x409, 72)] {
        section.extend([0; 12]);
        section.extend(0u16.to_le_bytes());
        section.extend(1u16.to_le_bytes());
        section.extend(id.to_le_bytes());
        section.extend(offset.to_le_bytes());
    }
    let size = u32::try_from(resource.len()).expect("size");
    for word in [ADDRESS + 88, size, 0, 0] {
        section.extend(word.to_le_bytes());
    }
    section.extend(resource);
    build_image(&section, *b".rsrc\0\0\0", 0x4000_0040, Some(ADDRESS))
}

/// An image with Go's build information.
pub fn with_go(path: &str, module: &str, version: &str) -> Vec<u8> {
    let text = format!("path\t{path}\nmod\t{module}\t{version}\th1:x=\n");
    let marked = [&[7u8; 16][..], text.as_bytes(), &[9; 16]].concat();
    let mut section = b"\xff Go buildinf:\x08\x02".to_vec();
    section.resize(32, 0);
    for part in [&b"go1.26.8"[..], &marked] {
        let mut length = part.len();
        while length >= 0x80 {
            section.push(u8::try_from(length & 0x7f).expect("seven bits") | 0x80);
            length >>= 7;
        }
        section.push(u8::try_from(length).expect("seven bits"));
        section.extend(part);
    }
    build_image(&section, *b".data\0\0\0", 0xc000_0040, None)
}

/// An image that says nothing.
pub fn silent(content: &str) -> Vec<u8> {
    build_image(content.as_bytes(), *b".text\0\0\0", 0x6000_0020, None)
}

fn build_image(section: &[u8], name: [u8; 8], flags: u32, resources: Option<u32>) -> Vec<u8> {
    let mut image = vec![0; 0x40];
    image[..2].copy_from_slice(b"MZ");
    image[0x3c] = 0x40;
    image.extend(b"PE\0\0");
    for word in [0x8664u16, 1, 0, 0, 0, 0, 0, 0, 240, 0x22] {
        image.extend(word.to_le_bytes());
    }
    let optional = image.len();
    image.resize(optional + 240, 0);
    image[optional..optional + 2].copy_from_slice(&0x20bu16.to_le_bytes());
    image[optional + 108] = 16;
    if let Some(address) = resources {
        let entry = optional + 112 + 16;
        image[entry..entry + 4].copy_from_slice(&address.to_le_bytes());
    }
    image.extend(name);
    let size = u32::try_from(section.len().next_multiple_of(0x200)).expect("size");
    for word in [size, ADDRESS, size, RAW, 0, 0, 0, flags] {
        image.extend(word.to_le_bytes());
    }
    image.resize(RAW as usize, 0);
    image.extend(section);
    image.resize((RAW + size) as usize, 0);
    image
}

fn version_resource(name: &str, version: &str) -> Vec<u8> {
    let strings = [
        block("OriginalFilename", &text(name), true, &[]),
        block("ProductVersion", &text(version), true, &[]),
    ];
    let table = block("040904b0", &[], true, &strings);
    let info = block("StringFileInfo", &[], true, &[table]);
    let mut fixed = 0xfeef_04bdu32.to_le_bytes().to_vec();
    fixed.resize(52, 0);
    block("VS_VERSION_INFO", &fixed, false, &[info])
}

fn text(text: &str) -> Vec<u8> {
    text.encode_utf16()
        .chain([0])
        .flat_map(u16::to_le_bytes)
        .collect()
}

fn block(key: &str, value: &[u8], is_text: bool, children: &[Vec<u8>]) -> Vec<u8> {
    let count = if is_text {
        value.len() / 2
    } else {
        value.len()
    };
    let mut bytes = vec![0, 0];
    bytes.extend(u16::try_from(count).expect("length").to_le_bytes());
    bytes.extend(u16::from(is_text).to_le_bytes());
    bytes.extend(text(key));
    pad(&mut bytes);
    bytes.extend(value);
    for child in children {
        pad(&mut bytes);
        bytes.extend(child);
    }
    let length = u16::try_from(bytes.len()).expect("length");
    bytes[..2].copy_from_slice(&length.to_le_bytes());
    bytes
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}
