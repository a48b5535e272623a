//! Which characters are not what they seem.
//!
//! One table for the terminal escaper, the Markdown sanitiser, the prompt and the floor, so that a
//! character one of them shows is not silently passed by another.

/// Inclusive ranges of characters that have no visible form of their own.
///
/// Default-ignorable code points, format controls, fillers and blanks. U+FE0F is left out: it only
/// asks for an emoji's coloured form.
const INVISIBLE: [(u32, u32); 24] = [
    (0x00AD, 0x00AD),      // soft hyphen
    (0x034F, 0x034F),      // combining grapheme joiner
    (0x061C, 0x061C),      // Arabic letter mark
    (0x115F, 0x1160),      // Hangul fillers
    (0x17B4, 0x17B5),      // Khmer inherent vowels
    (0x180B, 0x180F),      // Mongolian selectors and vowel separator
    (0x200B, 0x200F),      // zero-width space, joiners, direction marks
    (0x2028, 0x202E),      // line separators, bidirectional embedding and override
    (0x2060, 0x206F),      // word joiner, invisible operators, isolates
    (0x2800, 0x2800),      // braille blank
    (0x3164, 0x3164),      // Hangul filler
    (0xE000, 0xF8FF),      // private use
    (0xFDD0, 0xFDEF),      // noncharacters
    (0xFE00, 0xFE0E),      // variation selectors but the emoji one
    (0xFEFF, 0xFEFF),      // byte order mark
    (0xFFA0, 0xFFA0),      // half-width Hangul filler
    (0xFFF0, 0xFFFC),      // interlinear annotation, object replacement
    (0xFFFE, 0xFFFF),      // noncharacters
    (0x1_3430, 0x1_343F),  // Egyptian format controls
    (0x1_BCA0, 0x1_BCA3),  // shorthand format controls
    (0x1_D159, 0x1_D159),  // null note head
    (0x1_D173, 0x1_D17A),  // musical format controls
    (0xE_0000, 0xE_FFFF),  // tags, variation selectors supplement
    (0xF_0000, 0x10_FFFF), // private use
];

/// Returns whether `c` is a C0 or C1 control character or DEL (line feed and tab included).
#[must_use]
pub fn is_control(c: char) -> bool {
    c.is_control()
}

/// Returns whether `c` changes the direction in which text is shown (the Trojan Source set).
#[must_use]
pub fn is_bidi(c: char) -> bool {
    matches!(c, '\u{061C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns whether `c` has no visible form, bidirectional controls included.
///
/// Spaces and control characters do not count; see [`is_control`].
#[must_use]
pub fn is_invisible(c: char) -> bool {
    let code = u32::from(c);
    code >= 0xAD
        && INVISIBLE
            .iter()
            .any(|&(low, high)| (low..=high).contains(&code))
}

/// Returns whether `c` is a control or an invisible character.
#[must_use]
pub fn is_unsafe(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_control()
    } else {
        is_control(c) || is_invisible(c)
    }
}
