//! GitLab's error answers, in the words of each version.
//!
//! Grape, which checks parameters, answers under the key `error`; GitLab itself under `message`.

use serde_json::json;

use super::versions::{GitlabFeature, GitlabVersion};
use crate::server::Reply;

/// Longest body of a note, in characters.
pub(crate) const MAX_NOTE_CHARS: usize = 1_000_000;

/// The refusal of a note without a place in the diff.
pub(crate) const LINE_CODE: (&str, &[&str]) = (
    "line_code",
    &["can't be blank", "must be a valid line code"],
);
/// The refusal of a position without a line.
pub(crate) const INCOMPLETE: (&str, &[&str]) = ("position", &["is incomplete"]);

/// Returns an answer of GitLab itself.
pub(crate) fn message(status: u16, text: &str) -> Reply {
    Reply::json(status, &json!({ "message": text }))
}

/// Returns an answer of the part that checks parameters and routes.
pub(crate) fn grape(status: u16, text: &str) -> Reply {
    Reply::json(status, &json!({ "error": text }))
}

/// The answer to a path that this version does not have.
pub(crate) fn no_route() -> Reply {
    grape(404, "404 Not Found")
}

/// The answer to something that is not there, as in `Project`.
pub(crate) fn not_found(what: &str) -> Reply {
    message(404, &format!("404 {what} Not Found"))
}

/// The answer to a number or name for which the database has no row.
pub(crate) fn no_record() -> Reply {
    message(404, "404 Not found")
}

pub(crate) fn unauthorized() -> Reply {
    message(401, "401 Unauthorized")
}

pub(crate) fn forbidden() -> Reply {
    message(403, "403 Forbidden")
}

/// The answer to a token that is not valid any more.
pub(crate) fn invalid_token(why: &str) -> Reply {
    Reply::json(
        401,
        &json!({ "error": "invalid_token", "error_description": why }),
    )
}

/// The answer to a token without the scope that a write takes.
pub(crate) fn insufficient_scope() -> Reply {
    Reply::json(
        403,
        &json!({
            "error": "insufficient_scope",
            "error_description": "The request requires higher privileges than provided by the \
                                  access token.",
            "scope": "api",
        }),
    )
}

/// The answer to a request that cannot be done as it stands.
pub(crate) fn bad_request(version: GitlabVersion, what: &str) -> Reply {
    if version.has(GitlabFeature::ModernBadRequest) {
        message(400, &format!("400 Bad request - {what}"))
    } else {
        message(400, &format!("400 (Bad request) \"{what}\" not given"))
    }
}

/// The answer to a note that is not valid, with Ruby's print of what is wrong with it.
pub(crate) fn invalid_note(version: GitlabVersion, wrong: &[(&str, &[&str])]) -> Reply {
    let modern = version.has(GitlabFeature::ModernInspect);
    let fields: Vec<String> = wrong
        .iter()
        .map(|(field, texts)| {
            let texts: Vec<String> = texts.iter().map(|text| format!("\"{text}\"")).collect();
            let texts = texts.join(", ");
            if modern {
                format!("{field}: [{texts}]")
            } else {
                format!(":{field}=>[{texts}]")
            }
        })
        .collect();
    bad_request(version, &format!("Note {{{}}}", fields.join(", ")))
}

/// Checks the text of a note.
pub(crate) fn check_body(version: GitlabVersion, body: &str) -> Result<(), Reply> {
    if body.trim().is_empty() {
        return Err(invalid_note(version, &[("note", &["can't be blank"])]));
    }
    if body.chars().count() > MAX_NOTE_CHARS {
        let text = format!("is too long (maximum is {MAX_NOTE_CHARS} characters)");
        return Err(invalid_note(version, &[("note", &[text.as_str()])]));
    }
    Ok(())
}

/// The page that somebody gets who asks outside the API.
pub(crate) fn page_not_found() -> Reply {
    Reply::new(
        404,
        "text/html; charset=utf-8",
        "<!DOCTYPE html>\n<html><head><title>The page you're looking for could not be found (404)\
         </title></head><body><h1>404</h1></body></html>\n",
    )
}
