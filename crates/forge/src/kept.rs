//! How much of a text that a forge lists is kept.

/// How much of a text that is not ours is kept: it is looked at for who answered whom, and thousands of
/// long ones must not fill the memory.
const MAX_FOREIGN_CHARS: usize = 2_000;

/// Returns a text of ours whole, and the beginning of another's.
pub(crate) fn kept(text: String, ours: bool) -> String {
    match text.char_indices().nth(MAX_FOREIGN_CHARS) {
        Some((end, _)) if !ours => text.get(..end).unwrap_or_default().to_owned(),
        _ => text,
    }
}
