//! How many tokens a text has here.
//!
//! The real tokenizer is not public, so this is a rule of its own that behaves like one: three to
//! four bytes a token for words, fewer for code, about one and a half for other scripts, and never
//! more tokens than bytes. It is
//!
//! * one token per four letters, digits and `_` in a row, rounded up;
//! * none for a single space, one for a run of spaces and tabs;
//! * one for any other ASCII character, line breaks included;
//! * one per two bytes of any other character, rounded up.
//!
//! A request adds [`REQUEST_TOKENS`], a block [`BLOCK_TOKENS`], a tool its JSON, and an answer schema
//! its JSON.

/// What every request has beside its content.
pub(crate) const REQUEST_TOKENS: u64 = 8;

/// What every block has beside its text.
pub(crate) const BLOCK_TOKENS: u64 = 3;

/// Counts a text's tokens.
pub(crate) fn count(text: &str) -> u64 {
    pieces(text).map(|piece| piece.tokens).sum()
}

/// Returns the longest beginning of `text` that has at most `limit` tokens.
pub(crate) fn first(text: &str, limit: u64) -> &str {
    let mut tokens = 0_u64;
    let mut end = 0_usize;
    for piece in pieces(text) {
        tokens = tokens.saturating_add(piece.tokens);
        if tokens > limit {
            break;
        }
        end = end.saturating_add(piece.bytes);
    }
    text.get(..end).unwrap_or(text)
}

struct Piece {
    bytes: usize,
    tokens: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Class {
    Word,
    Blank,
    Other,
}

fn class(c: char) -> Class {
    match c {
        'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => Class::Word,
        ' ' | '\t' => Class::Blank,
        _ => Class::Other,
    }
}

fn pieces(text: &str) -> impl Iterator<Item = Piece> {
    let mut chars = text.chars().peekable();
    std::iter::from_fn(move || {
        let c = chars.next()?;
        let kind = class(c);
        if kind == Class::Other {
            let bytes = c.len_utf8();
            let wide = u64::try_from(bytes.div_ceil(2)).unwrap_or(1);
            let tokens = if c.is_ascii() { 1 } else { wide };
            return Some(Piece { bytes, tokens });
        }
        // A word is cut into pieces of four, so that a text can be cut between any two tokens.
        let most = if kind == Class::Word { 4 } else { usize::MAX };
        let mut bytes = 1_usize;
        while bytes < most && chars.next_if(|next| class(*next) == kind).is_some() {
            bytes = bytes.saturating_add(1);
        }
        let tokens = u64::from(kind == Class::Word || bytes > 1);
        Some(Piece { bytes, tokens })
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn counts_follow_the_rule() {
        for (text, tokens) in [
            ("", 0),
            ("word", 1),
            ("words", 2),
            ("two words", 3),
            ("    return x;\n", 6),
            ("a\t b", 3),
            ("漢字", 4),
            ("é", 1),
            ("🦀", 2),
        ] {
            assert_eq!(count(text), tokens, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_has_more_tokens_than_bytes(text in "\\PC{0,80}") {
            prop_assert!(count(&text) <= u64::try_from(text.len()).unwrap());
        }

        #[test]
        fn beginning_has_at_most_the_limit(text in "\\PC{0,80}", limit in 0_u64..60) {
            let kept = first(&text, limit);
            prop_assert!(text.starts_with(kept));
            prop_assert!(count(kept) <= limit);
            prop_assert!(kept == text || count(&text) > limit);
        }
    }
}
