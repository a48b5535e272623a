//! Decides which link targets may be clicked.

use super::TextPolicy;

/// Path segments after which a number or hash is a reference that the forge would record.
const REFERENCES: [&str; 14] = [
    "commit",
    "commits",
    "compare",
    "discussions",
    "epics",
    "incidents",
    "issues",
    "merge_requests",
    "milestones",
    "pull",
    "pulls",
    "snippets",
    "tree",
    "work_items",
];

/// Returns the target in a form that is safe inside `(…)` and `<…>`, if it may be linked.
///
/// It must be `http` or `https` to a host of the policy, without user name, with nothing that needs
/// decoding to be understood, and must not name an issue, change or commit, which would leave a
/// cross reference there.
pub(super) fn allowed(target: &str, policy: &TextPolicy) -> Option<String> {
    let (scheme, rest) = target.split_once("://")?;
    let scheme = scheme.to_ascii_lowercase();
    if scheme != "https" && scheme != "http" {
        return None;
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (host, tail) = rest.split_at_checked(end)?;
    let host = host.to_ascii_lowercase();
    if !policy
        .link_hosts
        .iter()
        .any(|known| known.eq_ignore_ascii_case(&host))
    {
        return None;
    }
    if names_reference(tail) {
        return None;
    }
    let mut out = format!("{scheme}://{host}");
    for c in tail.chars() {
        match c {
            'a'..='z' | 'A'..='Z' | '0'..='9' => out.push(c),
            '-' | '.' | '_' | '/' | ':' | '?' | '#' | '!' | '&' | '+' | ',' | '=' | '%' => {
                out.push(c);
            }
            '~' => out.push_str("%7E"),
            '@' => out.push_str("%40"),
            '$' => out.push_str("%24"),
            '*' => out.push_str("%2A"),
            ';' => out.push_str("%3B"),
            '(' => out.push_str("%28"),
            ')' => out.push_str("%29"),
            '[' => out.push_str("%5B"),
            ']' => out.push_str("%5D"),
            '\'' => out.push_str("%27"),
            // Anything else is not part of a URL as a person writes it.
            _ => return None,
        }
    }
    // Trailing punctuation would be left out of a link by some renderers.
    (!out.ends_with(['.', ',', ':', '!', '?'])).then_some(out)
}

/// Says whether a path names something the forge keeps references to.
pub(super) fn names_reference(path: &str) -> bool {
    let lower = path.to_ascii_lowercase();
    let mut segments = lower.split(['/', '?', '#', '&', '%']);
    while let Some(segment) = segments.next() {
        if REFERENCES.contains(&segment) {
            let next = segments.clone().next().unwrap_or_default();
            if next.starts_with(|c: char| c.is_ascii_digit())
                || next.len() >= 7 && next.chars().all(|c| c.is_ascii_hexdigit() || c == '.')
                || segment == "compare"
            {
                return true;
            }
        }
    }
    false
}

/// Says whether a link's text could be read as an address of its own, so that it would hide where the
/// link leads.
pub(super) fn claims_address(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    lower.contains("://") || lower.contains("www.") || looks_like_host(&lower)
}

/// A word with a dot between letters and a plausible top-level domain.
fn looks_like_host(text: &str) -> bool {
    const DOMAINS: [&str; 16] = [
        "com", "org", "net", "io", "dev", "app", "ai", "co", "edu", "gov", "test", "example", "uk",
        "de", "xyz", "info",
    ];
    text.split(|c: char| c.is_whitespace() || matches!(c, '/' | '(' | ')' | ',' | ':'))
        .any(|word| {
            word.rsplit_once('.')
                .is_some_and(|(name, end)| !name.is_empty() && DOMAINS.contains(&end))
        })
}
