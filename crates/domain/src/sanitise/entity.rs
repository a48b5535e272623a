//! Decodes character references, so that checks see the text a reader sees.

/// Named references worth decoding: those that spell a character with a meaning in Markdown, and a
/// few that people write. Any other is shown as written.
const NAMED: [(&str, char); 62] = [
    ("AMP", '&'),
    ("GT", '>'),
    ("LT", '<'),
    ("NewLine", '\n'),
    ("QUOT", '"'),
    ("Tab", '\t'),
    ("amp", '&'),
    ("apos", '\''),
    ("ast", '*'),
    ("bsol", '\\'),
    ("colon", ':'),
    ("comma", ','),
    ("commat", '@'),
    ("copy", '©'),
    ("dollar", '$'),
    ("equals", '='),
    ("excl", '!'),
    ("ge", '≥'),
    ("grave", '`'),
    ("gt", '>'),
    ("hArr", '⇔'),
    ("harr", '↔'),
    ("hellip", '…'),
    ("hyphen", '‐'),
    ("lArr", '⇐'),
    ("laquo", '«'),
    ("larr", '←'),
    ("lbrace", '{'),
    ("lbrack", '['),
    ("lcub", '{'),
    ("ldquo", '“'),
    ("le", '≤'),
    ("lowbar", '_'),
    ("lpar", '('),
    ("lsqb", '['),
    ("lsquo", '‘'),
    ("lt", '<'),
    ("mdash", '—'),
    ("middot", '·'),
    ("nbsp", ' '),
    ("ndash", '–'),
    ("ne", '≠'),
    ("num", '#'),
    ("percnt", '%'),
    ("period", '.'),
    ("plus", '+'),
    ("quest", '?'),
    ("quot", '"'),
    ("rArr", '⇒'),
    ("raquo", '»'),
    ("rarr", '→'),
    ("rbrace", '}'),
    ("rbrack", ']'),
    ("rcub", '}'),
    ("rdquo", '”'),
    ("rpar", ')'),
    ("rsqb", ']'),
    ("rsquo", '’'),
    ("semi", ';'),
    ("sol", '/'),
    ("times", '×'),
    ("verbar", '|'),
];
/// Longest reference that is looked at, in characters.
const MAX_LEN: usize = 12;

/// Decodes the reference at the start of `chars`; returns the character and the reference's length.
pub(super) fn decode(chars: &[char]) -> Option<(char, usize)> {
    let window = chars.get(..MAX_LEN).unwrap_or(chars);
    let end = window.iter().position(|&c| c == ';')?;
    let name: String = window.get(1..end)?.iter().collect();
    let decoded = match name.strip_prefix('#') {
        Some(number) => numeric(number)?,
        None => NAMED.iter().find(|(known, _)| *known == name)?.1,
    };
    Some((decoded, end.saturating_add(1)))
}

/// Decodes `35` or `x23`.
fn numeric(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(hex) if !hex.is_empty() && hex.chars().all(|c| c.is_ascii_hexdigit()) => {
            u32::from_str_radix(hex, 16).ok()?
        }
        None if !number.is_empty() && number.chars().all(|c| c.is_ascii_digit()) => {
            number.parse().ok()?
        }
        _ => return None,
    };
    // As `CommonMark`: what is no character is shown as the replacement character.
    Some(
        char::from_u32(code)
            .filter(|&c| c != '\0')
            .unwrap_or('\u{FFFD}'),
    )
}
