//! Recognises raw HTML in text, so that it can be shown as code.

/// Elements that models write or that do something. Only these are taken for HTML: `<T>` and
/// `<placeholder>` are text.
const ELEMENTS: &str = "\
    a abbr article audio b base blink blockquote body br button canvas center code dd del \
    details div dl dt em embed font footer form frame h1 h2 h3 h4 h5 h6 head header hr html i \
    iframe img input ins kbd li link main marquee math meta object ol option p picture plaintext \
    pre samp script section select source span strong style sub summary sup svg table tbody td \
    template textarea th title tr ul video";
/// Longest tag or comment that is looked at, in characters.
const MAX_LEN: usize = 600;

/// Length of the tag or comment at the start of `chars`, which must be on one line.
pub(super) fn tag(chars: &[char]) -> Option<usize> {
    let window = chars.get(..MAX_LEN).unwrap_or(chars);
    let line = window.split(|&c| c == '\n').next().unwrap_or_default();
    if line.starts_with(&['<', '!', '-', '-']) {
        let end = line.windows(3).position(|w| w == ['-', '-', '>'])?;
        return Some(end.saturating_add(3));
    }
    let end = line
        .iter()
        .skip(1)
        .position(|&c| c == '>' || c == '<')?
        .saturating_add(1);
    if line.get(end) != Some(&'>') {
        return None;
    }
    let inner: String = line.get(1..end)?.iter().collect();
    let name: String = inner
        .trim_start_matches('/')
        .chars()
        .take_while(char::is_ascii_alphanumeric)
        .collect();
    let after = inner.trim_start_matches('/').get(name.len()..)?;
    let is_tag = ELEMENTS
        .split_whitespace()
        .any(|known| known.eq_ignore_ascii_case(&name))
        && (after.is_empty() || after.starts_with(|c: char| c.is_whitespace() || c == '/'));
    is_tag.then(|| end.saturating_add(1))
}

/// Says whether a tag only breaks a line.
pub(super) fn is_break(tag: &str) -> bool {
    let name = tag.trim_matches(['<', '>', '/', ' ']);
    name.eq_ignore_ascii_case("br")
}
