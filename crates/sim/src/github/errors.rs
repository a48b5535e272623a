//! GitHub's error answers.
//!
//! Bodies are those seen in public issue threads; the tests compare them with the transcripts.

use serde_json::{Value, json};

use super::options::GithubOptions;
use crate::server::Reply;

/// Where GitHub explains the routes, for `documentation_url`.
pub(crate) const DOCS: &str = "https://docs.github.com/rest";
pub(crate) const DOCS_REVIEWS: &str =
    "https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request";
pub(crate) const DOCS_ISSUE_COMMENT: &str =
    "https://docs.github.com/rest/issues/comments#create-an-issue-comment";
pub(crate) const DOCS_FILES: &str =
    "https://docs.github.com/rest/pulls/pulls#list-pull-requests-files";
pub(crate) const DOCS_REVIEW_COMMENT: &str =
    "https://docs.github.com/rest/pulls/comments#create-a-review-comment-for-a-pull-request";
const DOCS_SECONDARY: &str = "https://docs.github.com/free-pro-team@latest/rest/overview/\
                              rate-limits-for-the-rest-api#about-secondary-rate-limits";

/// Longest body of a comment or review, in characters.
pub(crate) const MAX_BODY_CHARS: usize = 65_536;

/// Returns a `basic-error`.
pub(crate) fn basic(status: u16, message: &str) -> Reply {
    Reply::json(
        status,
        &json!({
            "message": message, "documentation_url": DOCS, "status": status.to_string(),
        }),
    )
}

pub(crate) fn not_found() -> Reply {
    basic(404, "Not Found")
}

pub(crate) fn bad_credentials() -> Reply {
    basic(401, "Bad credentials")
}

/// The answer to an App or token that lacks a permission.
pub(crate) fn not_accessible(by: &str) -> Reply {
    basic(403, &format!("Resource not accessible by {by}"))
}

/// Returns a `validation-error-simple`: sentences, and nothing about who is at fault.
pub(crate) fn unprocessable(sentence: &str, docs: &str) -> Reply {
    Reply::json(
        422,
        &json!({
            "message": "Unprocessable Entity",
            "errors": [sentence],
            "documentation_url": docs,
            "status": "422",
        }),
    )
}

/// Returns a `validation-error` with one object.
pub(crate) fn invalid(error: &Value, docs: &str) -> Reply {
    Reply::json(
        422,
        &json!({
            "message": "Validation Failed",
            "errors": [error],
            "documentation_url": docs,
            "status": "422",
        }),
    )
}

/// The answer to a field that is missing or has a value the API does not know.
pub(crate) fn invalid_field(resource: &str, field: &str, code: &str, docs: &str) -> Reply {
    invalid(
        &json!({ "resource": resource, "field": field, "code": code }),
        docs,
    )
}

/// Checks the length of a body; `resource` is GitHub's word for what has it.
pub(crate) fn check_body(resource: &str, body: &str, docs: &str) -> Result<(), Reply> {
    if body.chars().count() <= MAX_BODY_CHARS {
        return Ok(());
    }
    Err(invalid(
        &json!({
            "resource": resource,
            "code": "unprocessable",
            "field": "data",
            "message": format!("Body is too long (maximum is {MAX_BODY_CHARS} characters)"),
        }),
        docs,
    ))
}

/// Checks the length of a review's body or of one of its comments.
///
/// The routes of reviews say everything in sentences.
pub(crate) fn check_review_body(body: &str) -> Result<(), Reply> {
    if body.chars().count() <= MAX_BODY_CHARS {
        return Ok(());
    }
    let sentence = format!("Body is too long (maximum is {MAX_BODY_CHARS} characters)");
    Err(unprocessable(&sentence, DOCS_REVIEWS))
}

/// The answer to a diff that is too large to be shown in one piece.
pub(crate) fn diff_too_large(message: &str) -> Reply {
    Reply::json(
        406,
        &json!({
            "message": message,
            "errors": [{ "resource": "PullRequest", "field": "diff", "code": "too_large" }],
            "documentation_url": DOCS_FILES,
            "status": "406",
        }),
    )
}

/// The answer to a caller that creates too much too fast.
pub(crate) fn secondary_limit(options: &GithubOptions) -> Reply {
    Reply::json(
        options.limits.status,
        &json!({
            "documentation_url": DOCS_SECONDARY,
            "message": "You have exceeded a secondary rate limit and have been temporarily \
                        blocked from content creation. Please retry your request again later.",
        }),
    )
}
