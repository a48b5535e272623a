//! Paths as git writes them: quoted or not, prefixed or not, on one line or two.
//!
//! Format: <https://git-scm.com/docs/diff-format#generate_patch_text_with_p>, quoting:
//! <https://git-scm.com/docs/git-config#Documentation/git-config.txt-corequotePath>.

use std::borrow::Cow;

/// A path that borrows from the input unless it had escapes.
pub(crate) type Path<'a> = Cow<'a, [u8]>;

/// What one of the lines `--- …` and `+++ …` names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Name<'a> {
    /// `/dev/null`: the file does not exist on this side.
    Absent,
    /// A path, its prefix included.
    Path(Path<'a>),
}

/// Reads the name after `--- ` or `+++ `. Nothing if it is empty or its quoting is broken.
///
/// git ends a name that has blanks with a TAB, other tools write a time after one; an unquoted name
/// has no TAB itself.
pub(crate) fn read_name(text: &[u8]) -> Option<Name<'_>> {
    if text.first() == Some(&b'"') {
        let (path, _) = unquote(text)?;
        return (!path.is_empty()).then_some(Name::Path(path));
    }
    let name = text.split(|&byte| byte == b'\t').next()?;
    match name {
        b"" => None,
        b"/dev/null" => Some(Name::Absent),
        _ => Some(Name::Path(Cow::Borrowed(name))),
    }
}

/// Reads a path that stands alone on its line (`rename from …`, `diff --cc …`).
pub(crate) fn read_path(text: &[u8]) -> Option<Path<'_>> {
    let path = if text.first() == Some(&b'"') {
        unquote(text)?.0
    } else {
        Cow::Borrowed(text)
    };
    (!path.is_empty()).then_some(path)
}

/// Decodes a C-quoted name at the start of `text`; returns it and what follows the closing quote.
fn unquote(text: &[u8]) -> Option<(Path<'_>, &[u8])> {
    let inner = text.strip_prefix(b"\"")?;
    let special = memchr::memchr2(b'"', b'\\', inner)?;
    let (plain, mut rest) = inner.split_at_checked(special)?;
    if let Some(tail) = rest.strip_prefix(b"\"") {
        return Some((Cow::Borrowed(plain), tail));
    }
    let mut path = plain.to_vec();
    loop {
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        match byte {
            b'"' => return Some((Cow::Owned(path), rest)),
            b'\\' => {
                let (&escape, tail) = rest.split_first()?;
                rest = tail;
                path.push(match escape {
                    b'a' => 0x07,
                    b'b' => 0x08,
                    b't' => b'\t',
                    b'n' => b'\n',
                    b'v' => 0x0b,
                    b'f' => 0x0c,
                    b'r' => b'\r',
                    b'"' | b'\\' => escape,
                    b'0'..=b'3' => {
                        let (&[second, third], tail) = rest.split_first_chunk()?;
                        rest = tail;
                        octal(escape, second, third)?
                    }
                    _ => return None,
                });
            }
            _ => path.push(byte),
        }
    }
}

/// The byte of a three-digit octal escape.
fn octal(first: u8, second: u8, third: u8) -> Option<u8> {
    [first, second, third]
        .iter()
        .try_fold(0_u8, |value, digit| {
            let digit = digit.checked_sub(b'0').filter(|&digit| digit < 8)?;
            value.checked_mul(8)?.checked_add(digit)
        })
}

/// Tells the path of an unrenamed file from the rest of its `diff --git` line.
///
/// With blanks in the path the line can be split in many ways; both halves name the same file, so the
/// one split that leaves equal paths is right.
pub(crate) fn split_git_line(text: &[u8]) -> Option<Path<'_>> {
    let (old, new) = if text.first() == Some(&b'"') {
        let (old, tail) = unquote(text)?;
        (old, read_path(tail.strip_prefix(b" ")?)?)
    } else if text.last() == Some(&b'"') {
        // A quote inside a path forces quoting, so the first one opens the second name.
        let quote = memchr::memchr(b'"', text)?;
        let (old, new) = text.split_at_checked(quote)?;
        (Cow::Borrowed(old.strip_suffix(b" ")?), read_path(new)?)
    } else {
        let (old, tail) = text.split_at_checked(text.len() / 2)?;
        (Cow::Borrowed(old), Cow::Borrowed(tail.strip_prefix(b" ")?))
    };
    let (old, new) = strip_prefixes(old, new);
    (old == new && !new.is_empty()).then_some(new)
}

/// Takes the prefixes off the two names of a file that exists on both sides.
///
/// Equal names have none (`diff.noprefix`). Otherwise the first component is the prefix if what is
/// left is equal: `a/ b/`, and with `diff.mnemonicPrefix` any two of `c/ i/ o/ w/`. Two different
/// files (a plain diff, or a rename without its header) can only have the default ones.
pub(crate) fn strip_prefixes<'a>(old: Path<'a>, new: Path<'a>) -> (Path<'a>, Path<'a>) {
    if old == new {
        return (old, new);
    }
    let rest_is_equal = match (after_slash(&old), after_slash(&new)) {
        (Some(old), Some(new)) => old == new,
        _ => false,
    };
    if rest_is_equal || (old.starts_with(b"a/") && new.starts_with(b"b/")) {
        (drop_component(old), drop_component(new))
    } else {
        (old, new)
    }
}

/// Takes the prefix off the only name of an added or deleted file; `git_line` is the path that the
/// `diff --git` line gave, which knows whether there are prefixes at all.
pub(crate) fn strip_prefix<'a>(name: Path<'a>, git_line: Option<Path<'a>>) -> Path<'a> {
    match git_line {
        Some(path) if *name == *path || after_slash(&name) == Some(&path) => path,
        _ if name.starts_with(b"a/") || name.starts_with(b"b/") => drop_component(name),
        _ => name,
    }
}

fn after_slash(path: &[u8]) -> Option<&[u8]> {
    let slash = memchr::memchr(b'/', path)?;
    path.get(slash.saturating_add(1)..)
        .filter(|rest| !rest.is_empty())
}

fn drop_component(path: Path<'_>) -> Path<'_> {
    match path {
        Cow::Borrowed(path) => Cow::Borrowed(after_slash(path).unwrap_or(path)),
        Cow::Owned(path) => Cow::Owned(after_slash(&path).map(<[u8]>::to_vec).unwrap_or(path)),
    }
}

#[cfg(test)]
mod tests;
