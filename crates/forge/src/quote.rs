//! Paths as git prints them in a diff.
//! <https://git-scm.com/docs/git-config#Documentation/git-config.txt-corequotePath>

/// Appends `prefix` and `path`, in double quotes with C escapes where git writes it so: when a byte is
/// a control character, a quote, a backslash, or not ASCII.
pub(crate) fn push_path(out: &mut Vec<u8>, prefix: &str, path: &str) {
    let plain = path
        .bytes()
        .all(|b| (0x20..0x7f).contains(&b) && b != b'"' && b != b'\\');
    if plain {
        out.extend_from_slice(prefix.as_bytes());
        out.extend_from_slice(path.as_bytes());
        return;
    }
    out.push(b'"');
    out.extend_from_slice(prefix.as_bytes());
    for byte in path.bytes() {
        match byte {
            0x07 => out.extend_from_slice(b"\\a"),
            0x08 => out.extend_from_slice(b"\\b"),
            b'\t' => out.extend_from_slice(b"\\t"),
            b'\n' => out.extend_from_slice(b"\\n"),
            0x0b => out.extend_from_slice(b"\\v"),
            0x0c => out.extend_from_slice(b"\\f"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'"' | b'\\' => out.extend_from_slice(&[b'\\', byte]),
            0x20..0x7f => out.push(byte),
            _ => out.extend_from_slice(&octal(byte)),
        }
    }
    out.push(b'"');
}

/// Appends the path of a `---` or `+++` line: git ends one that holds blanks with a TAB.
pub(crate) fn push_side(out: &mut Vec<u8>, prefix: &str, path: &str) {
    push_path(out, prefix, path);
    if path.contains(|c: char| c.is_ascii_whitespace()) {
        out.push(b'\t');
    }
}

const fn octal(byte: u8) -> [u8; 4] {
    [
        b'\\',
        b'0' + (byte >> 6),
        b'0' + ((byte >> 3) & 7),
        b'0' + (byte & 7),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoting_is_gits() {
        for (path, want) in [
            ("src/main.rs", "a/src/main.rs"),
            ("my dir/my file", "a/my dir/my file"),
            ("docs/日本.txt", r#""a/docs/\346\227\245\346\234\254.txt""#),
            ("q\"b\\t\tn\n", r#""a/q\"b\\t\tn\n""#),
            ("bell\u{7}del\u{7f}", r#""a/bell\adel\177""#),
        ] {
            let mut out = Vec::new();
            push_path(&mut out, "a/", path);
            assert_eq!(String::from_utf8(out).unwrap(), want);
        }
        let mut out = Vec::new();
        push_side(&mut out, "b/", "a b");
        assert_eq!(out, b"b/a b\t");
    }
}
