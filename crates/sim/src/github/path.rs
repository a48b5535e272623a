//! Paths inside URLs.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, percent_encode};

/// What stays readable in a path segment.
const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'~');

/// Encodes a path for a URL, segment by segment.
pub(crate) fn encode_path(path: &[u8]) -> String {
    path.split(|&b| b == b'/')
        .map(|segment| percent_encode(segment, SEGMENT).to_string())
        .collect::<Vec<_>>()
        .join("/")
}

/// Decodes one segment or path of a URL; bytes that are not UTF-8 are replaced.
pub(crate) fn decode(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}
