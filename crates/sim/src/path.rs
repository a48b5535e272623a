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

/// Returns the decoded variables of a path that fits a template, as in `/repos/{o}/{r}`; `{x+}`
/// takes one segment or more.
pub(crate) fn variables(template: &str, path: &str) -> Option<Vec<String>> {
    let template: Vec<&str> = template.trim_start_matches('/').split('/').collect();
    let path: Vec<&str> = path.trim_start_matches('/').split('/').collect();
    let mut found = Vec::new();
    matches(&template, &path, &mut found)
        .then(|| found.iter().map(|segment| decode(segment)).collect())
}

fn matches(template: &[&str], path: &[&str], vars: &mut Vec<String>) -> bool {
    let Some((first, template)) = template.split_first() else {
        return path.is_empty();
    };
    if first.ends_with("+}") {
        // What follows takes its segments from the end.
        let taken = path.len().saturating_sub(template.len());
        let (Some(own), Some(rest)) = (path.get(..taken), path.get(taken..)) else {
            return false;
        };
        if taken == 0 {
            return false;
        }
        vars.push(own.join("/"));
        return matches(template, rest, vars);
    }
    let Some((segment, path)) = path.split_first() else {
        return false;
    };
    if first.starts_with('{') {
        vars.push((*segment).to_owned());
        !segment.is_empty() && matches(template, path, vars)
    } else {
        first == segment && matches(template, path, vars)
    }
}
