//! What kind of thing a file's bytes are.

use std::borrow::Cow;

/// How far git looks for a NUL byte to tell text from binary.
const SNIFFED_BYTES: usize = 8_000;
/// Longest Git LFS pointer (<https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>).
const MAX_POINTER_BYTES: usize = 1_024;
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";

/// A file's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content<'a> {
    /// Text; it may hold bytes that are no UTF-8.
    Text(Cow<'a, [u8]>),
    /// UTF-16 with a byte order mark, here as UTF-8.
    Utf16(String),
    /// The stand-in for a file that Git LFS keeps elsewhere, and the size of that file if it says so.
    LfsPointer(Option<u64>),
    /// No text.
    Binary,
}

/// Says what a file's bytes are, by git's own rule: a NUL byte near the beginning is no text.
pub fn content(bytes: &[u8]) -> Content<'_> {
    if bytes.len() <= MAX_POINTER_BYTES && bytes.starts_with(POINTER) {
        let size = bytes
            .split(|byte| *byte == b'\n')
            .find_map(|line| std::str::from_utf8(line.strip_prefix(b"size ")?).ok());
        return Content::LfsPointer(size.and_then(|size| size.trim().parse().ok()));
    }
    if let Some(text) = utf16(bytes) {
        return Content::Utf16(text);
    }
    if bytes.iter().take(SNIFFED_BYTES).any(|byte| *byte == 0) {
        return Content::Binary;
    }
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    Content::Text(Cow::Borrowed(text))
}

fn utf16(bytes: &[u8]) -> Option<String> {
    let (unit, rest): (fn([u8; 2]) -> u16, _) = match bytes {
        [0xff, 0xfe, rest @ ..] => (u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => (u16::from_be_bytes, rest),
        _ => return None,
    };
    let (pairs, odd) = rest.as_chunks::<2>();
    let units = pairs.iter().map(|pair| unit(*pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok()
        .filter(|text| odd.is_empty() && !text.contains('\0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_told_apart() {
        let text = |text: &'static [u8]| Content::Text(Cow::Borrowed(text));
        assert_eq!(content(b""), text(b""));
        assert_eq!(content(b"caf\xe9"), text(b"caf\xe9"), "latin-1 is text");
        assert_eq!(content(b"\xef\xbb\xbfx"), text(b"x"));
        assert_eq!(content(b"\x89PNG\r\n\x1a\n\0\0"), Content::Binary);
        assert_eq!(content(b"\xff\xfeh\0i\0"), Content::Utf16("hi".to_owned()));
        assert_eq!(content(b"\xfe\xff\0h\0i"), Content::Utf16("hi".to_owned()));
        // Half a character, half a pair, and a NUL in it are none.
        for broken in [&b"\xff\xfe\0\xd8"[..], b"\xff\xfeh\0i", b"\xff\xfe\0\0"] {
            assert_eq!(content(broken), Content::Binary, "{broken:?}");
        }
        let pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12345\n";
        assert_eq!(content(pointer), Content::LfsPointer(Some(12_345)));
        let unsized_pointer = b"version https://git-lfs.github.com/spec/v1\nsize x\n";
        assert_eq!(content(unsized_pointer), Content::LfsPointer(None));
    }
}
