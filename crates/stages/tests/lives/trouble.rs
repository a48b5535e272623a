//! What the forge and the model may do to a call.

use mirilla_sim::{Fault, Sim};

const CREATE: &str = "POST /repos/{o}/{r}/pulls/{n}/reviews";

/// Calls that the stages make to the forge.
const ROUTES: [&str; 14] = [
    "POST /app/installations/{id}/access_tokens",
    "GET /repos/{o}/{r}/pulls/{n}",
    "GET /repos/{o}/{r}/pulls/{n}/reviews",
    "GET /repos/{o}/{r}/pulls/{n}/comments",
    "GET /repos/{o}/{r}/compare/{base}...{head}",
    "GET /repos/{o}/{r}/zipball/{ref}",
    "POST /graphql",
    CREATE,
    "PUT /repos/{o}/{r}/pulls/{n}/reviews/{id}",
    "GET /repos/{o}/{r}/issues/comments/{id}",
    "GET /repos/{o}/{r}/collaborators/{user}/permission",
    "POST /repos/{o}/{r}/issues/comments/{id}/reactions",
    "POST /repos/{o}/{r}/check-runs",
    "PATCH /repos/{o}/{r}/check-runs/{id}",
];

/// Every fault by name, for the count at the end.
pub(crate) const NAMES: [&str; 12] = [
    "limit-429",
    "secondary-limit-403",
    "primary-limit-403",
    "500",
    "502-html",
    "drop-before",
    "drop-after",
    "land-later",
    "html-instead-of-json",
    "cut-body",
    "anchor-refused",
    "model",
];

fn limited(code: u16, headers: &[(&str, String)], message: &str) -> Fault {
    let all = headers.iter();
    let mut headers: Vec<(String, String)> = all
        .map(|(name, value)| ((*name).to_owned(), value.clone()))
        .collect();
    headers.push((
        "content-type".to_owned(),
        "application/json; charset=utf-8".to_owned(),
    ));
    Fault::Status {
        code,
        headers,
        body: format!(
            r#"{{"message":"{message}","documentation_url":"https://docs.github.com/rest","status":"{code}"}}"#
        ),
    }
}

fn fault(name: &str, sim: &Sim) -> Fault {
    let in_a_minute = (sim.clock().now().timestamp() + 60).to_string();
    match name {
        "limit-429" => limited(
            429,
            &[("retry-after", "30".to_owned())],
            "You have exceeded a secondary rate limit.",
        ),
        "secondary-limit-403" => limited(
            403,
            &[("retry-after", "20".to_owned())],
            "You have exceeded a secondary rate limit and have been temporarily blocked from content creation.",
        ),
        "primary-limit-403" => limited(
            403,
            &[
                ("x-ratelimit-remaining", "0".to_owned()),
                ("x-ratelimit-limit", "5000".to_owned()),
                ("x-ratelimit-reset", in_a_minute),
            ],
            "API rate limit exceeded for installation.",
        ),
        "500" => limited(500, &[], "Server Error"),
        "502-html" => Fault::Status {
            code: 502,
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            body: "<html><body>Bad gateway</body></html>".to_owned(),
        },
        "drop-before" => Fault::DropBeforeEffect,
        "drop-after" => Fault::DropAfterEffect,
        "land-later" => Fault::LandLater { calls: 1 },
        "html-instead-of-json" => Fault::HtmlInsteadOfJson,
        "cut-body" => Fault::CutBody { bytes: 60 },
        _ => Fault::status(
            422,
            r#"{"message":"Unprocessable Entity","errors":["Line could not be resolved"],"documentation_url":"https://docs.github.com/rest","status":"422"}"#,
        ),
    }
}

/// Lets a call of the forge fail, and returns the fault's name.
pub(crate) fn at_forge(sim: &Sim, a: u64, b: u64) -> &'static str {
    let name = NAMES[b as usize % 10];
    let route = ROUTES[a as usize % ROUTES.len()];
    sim.github().faults().on_next(route, fault(name, sim));
    name
}

/// Lets the call that posts fail, and returns the fault's name.
pub(crate) fn at_write(sim: &Sim, a: u64, b: u64) -> &'static str {
    let name = NAMES[b as usize % 11];
    let faults = sim.github().faults();
    // Which of the two it is going to be is not known before.
    faults.on_next(CREATE, fault(name, sim));
    if a.is_multiple_of(2) && name != "anchor-refused" {
        faults.on_next(ROUTES[8], fault(name, sim));
    }
    name
}

/// Lets calls of the model fail.
pub(crate) fn at_model(sim: &Sim, a: u64, b: u64) -> &'static str {
    let faults = sim.messages().faults();
    let next = faults.count("POST /v1/messages") + 1 + (a % 2) as u32;
    let times = if b.is_multiple_of(3) { 12 } else { 1 };
    for call in next..next + times {
        let fault = match b % 5 {
            0 => Fault::status(
                529,
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
            ),
            1 => Fault::status(
                429,
                r#"{"type":"error","error":{"type":"rate_limit_error","message":"Slow down"}}"#,
            ),
            2 => Fault::DropAfterEffect,
            3 => Fault::HtmlInsteadOfJson,
            _ => Fault::DropBeforeEffect,
        };
        faults.on("POST /v1/messages", call, fault);
    }
    NAMES[11]
}
