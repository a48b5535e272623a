//! Pages of a list: the `Link` header (RFC 8288), of which only `rel="next"` counts.

use mirilla_http::HeaderMap;

/// Returns the target of `rel="next"`, as it is written.
pub(crate) fn next_link(headers: &HeaderMap) -> Option<String> {
    let value = headers.get("link")?.to_str().ok()?;
    let mut rest = value;
    while let Some((_, after)) = rest.split_once('<') {
        let (target, after) = after.split_once('>')?;
        let (params, next) = split_params(after);
        if is_next(params) {
            return Some(target.to_owned());
        }
        rest = next;
    }
    None
}

/// Splits the parameters of one link from the links after it.
fn split_params(text: &str) -> (&str, &str) {
    split_at_unquoted(text, ',').unwrap_or((text, ""))
}

/// Splits at the first `separator` that stands in no double quotes.
fn split_at_unquoted(text: &str, separator: char) -> Option<(&str, &str)> {
    let mut quoted = false;
    let (at, found) = text.char_indices().find(|(_, c)| {
        if *c == '"' {
            quoted = !quoted;
        }
        *c == separator && !quoted
    })?;
    let (before, from) = text.split_at_checked(at)?;
    Some((before, from.strip_prefix(found)?))
}

fn is_next(params: &str) -> bool {
    let mut rest = Some(params);
    while let Some(text) = rest {
        let (param, after) = match split_at_unquoted(text, ';') {
            Some((param, after)) => (param, Some(after)),
            None => (text, None),
        };
        if is_rel_next(param) {
            return true;
        }
        rest = after;
    }
    false
}

fn is_rel_next(param: &str) -> bool {
    param.split_once('=').is_some_and(|(name, value)| {
        name.trim().eq_ignore_ascii_case("rel")
            && value
                .trim()
                .trim_matches('"')
                .split_ascii_whitespace()
                .any(|rel| rel.eq_ignore_ascii_case("next"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next(value: &str) -> Option<String> {
        let mut headers = HeaderMap::new();
        headers.insert("link", value.parse().unwrap());
        next_link(&headers)
    }

    #[test]
    fn next_is_found_wherever_it_stands() {
        let u = |s: &str| Some(s.to_owned());
        assert_eq!(
            next(r#"<https://a/?page=2>; rel="next", <https://a/?page=9>; rel="last""#),
            u("https://a/?page=2")
        );
        assert_eq!(
            next(r#"<https://a/?page=1>; rel="prev", <https://a/?x=a,b&page=3>; rel="next""#),
            u("https://a/?x=a,b&page=3")
        );
        assert_eq!(next("<https://a/2>;rel=next"), u("https://a/2"));
        assert_eq!(
            next(r#"<https://a/2>; title="a, <b>; rel=next"; rel="last""#),
            None
        );
        assert_eq!(next(r#"<https://a/2>; rel="prev next""#), u("https://a/2"));
        for none in [
            "",
            "<https://a/2",
            r#"<https://a/2>; rel="nextish""#,
            "garbage",
            "<>",
        ] {
            assert_eq!(next(none), None, "{none}");
        }
    }
}
