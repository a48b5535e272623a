//! Writes archives byte by byte, so that every field can lie.
//!
//! Layout: <https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT>.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// One entry, honest until a field is changed.
#[derive(Debug, Clone)]
pub(crate) struct Item {
    pub(crate) name: Vec<u8>,
    pub(crate) stored: Vec<u8>,
    pub(crate) method: u16,
    pub(crate) flags: u16,
    pub(crate) size: u32,
    pub(crate) stored_size: u32,
    pub(crate) crc: u32,
    pub(crate) unix_mode: u32,
    /// Extra bytes in the entry's own header alone.
    pub(crate) local_extra: Vec<u8>,
    pub(crate) offset: Option<u32>,
}

impl Item {
    /// A deflated file.
    pub(crate) fn new(name: &str, bytes: &[u8]) -> Self {
        let mut deflate = DeflateEncoder::new(Vec::new(), Compression::best());
        deflate.write_all(bytes).unwrap();
        let stored = deflate.finish().unwrap();
        Self {
            method: 8,
            stored_size: stored.len().try_into().unwrap(),
            stored,
            ..Self::plain(name, bytes)
        }
    }

    /// A file as it is.
    pub(crate) fn plain(name: &str, bytes: &[u8]) -> Self {
        let size = bytes.len().try_into().unwrap();
        Self {
            name: name.as_bytes().to_vec(),
            stored: bytes.to_vec(),
            method: 0,
            flags: 0,
            size,
            stored_size: size,
            crc: rawzip::crc32(bytes),
            unix_mode: 0o100_644,
            local_extra: Vec::new(),
            offset: None,
        }
    }

    pub(crate) fn folder(name: &str) -> Self {
        Self {
            unix_mode: 0o040_755,
            ..Self::plain(name, b"")
        }
    }

    pub(crate) fn link(name: &str, to: &str) -> Self {
        Self {
            unix_mode: 0o120_777,
            ..Self::plain(name, to.as_bytes())
        }
    }
}

/// Writes an archive.
pub(crate) fn zip(items: &[Item]) -> Vec<u8> {
    let (mut out, mut directory) = (Vec::new(), Vec::new());
    for item in items {
        let offset = item.offset.unwrap_or(out.len().try_into().unwrap());
        let common = |out: &mut Vec<u8>, extra: usize| {
            for field in [20_u16, item.flags, item.method, 0, 0] {
                out.extend(field.to_le_bytes());
            }
            for field in [item.crc, item.stored_size, item.size] {
                out.extend(field.to_le_bytes());
            }
            out.extend((item.name.len() as u16).to_le_bytes());
            out.extend((extra as u16).to_le_bytes());
        };
        out.extend(b"PK\x03\x04");
        common(&mut out, item.local_extra.len());
        out.extend(&item.name);
        out.extend(&item.local_extra);
        out.extend(&item.stored);
        directory.extend(b"PK\x01\x02");
        directory.extend(0x0314_u16.to_le_bytes());
        common(&mut directory, 0);
        // Comment, disk, internal attributes.
        directory.extend([0; 6]);
        directory.extend((item.unix_mode << 16).to_le_bytes());
        directory.extend(offset.to_le_bytes());
        directory.extend(&item.name);
    }
    let begin = out.len() as u32;
    out.extend(&directory);
    out.extend(b"PK\x05\x06\0\0\0\0");
    let count = (items.len().min(0xffff)) as u16;
    out.extend(count.to_le_bytes());
    out.extend(count.to_le_bytes());
    out.extend((directory.len() as u32).to_le_bytes());
    out.extend(begin.to_le_bytes());
    out.extend([0, 0]);
    out
}
