//! `application/x-www-form-urlencoded` bodies: the JSON is the parameter `payload`.

use std::borrow::Cow;

use super::WebhookError;

/// Returns the JSON bytes of a body, decoded if the content type says that it is a form.
pub(super) fn json_bytes<'a>(
    content_type: Option<&str>,
    body: &'a [u8],
) -> Result<Cow<'a, [u8]>, WebhookError> {
    let media_type = content_type.and_then(|value| value.split(';').next());
    let is_form = media_type.is_some_and(|it| {
        it.trim()
            .eq_ignore_ascii_case("application/x-www-form-urlencoded")
    });
    if !is_form {
        return Ok(Cow::Borrowed(body));
    }
    body.split(|byte| *byte == b'&')
        .find_map(|pair| pair.strip_prefix(b"payload="))
        .map(|value| Cow::Owned(decode(value)))
        .ok_or(WebhookError::NoPayload)
}

/// Decodes `+` and `%XX`; a `%` that no two hex digits follow stands for itself.
///
/// <https://url.spec.whatwg.org/#urlencoded-parsing>
fn decode(value: &[u8]) -> Vec<u8> {
    let mut decoded = Vec::with_capacity(value.len());
    let mut rest = value;
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'+' => decoded.push(b' '),
            b'%' => match after.split_first_chunk::<2>().and_then(|(pair, left)| {
                let mut one = [0];
                hex::decode_to_slice(pair, &mut one).ok()?;
                Some((one, left))
            }) {
                Some(([byte], left)) => {
                    decoded.push(byte);
                    rest = left;
                }
                None => decoded.push(b'%'),
            },
            other => decoded.push(other),
        }
    }
    decoded
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORM: Option<&str> = Some("application/x-www-form-urlencoded");

    #[test]
    fn form_bodies_are_decoded() {
        for (body, json) in [
            ("payload=%7B%22a%22%3A1%7D", "{\"a\":1}"),
            ("payload=%7b+%7d", "{ }"),
            ("other=1&payload=x%2By&more=2", "x+y"),
            ("payload=caf%C3%A9", "café"),
            ("payload=50%&x", "50%"),
            ("payload=%g1%4", "%g1%4"),
            ("payload=", ""),
        ] {
            let found = json_bytes(FORM, body.as_bytes()).unwrap();
            assert_eq!(std::str::from_utf8(&found).unwrap(), json);
        }
        for body in ["", "a=b", "xpayload=1"] {
            assert_eq!(
                json_bytes(FORM, body.as_bytes()),
                Err(WebhookError::NoPayload)
            );
        }
    }

    #[test]
    fn other_content_types_are_taken_as_they_are() {
        for content_type in [
            None,
            Some("application/json; charset=utf-8"),
            Some("text/plain"),
        ] {
            let found = json_bytes(content_type, b"payload=%20").unwrap();
            assert_eq!(&*found, b"payload=%20");
        }
        let spelled = Some("Application/X-WWW-Form-Urlencoded; charset=UTF-8");
        assert_eq!(&*json_bytes(spelled, b"payload=a").unwrap(), b"a");
    }
}
