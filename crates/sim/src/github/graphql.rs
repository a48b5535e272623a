//! GraphQL, for the few questions and changes that REST has no words for.
//!
//! A small executor over the parts of GitHub's schema that a reviewer needs
//! (<https://docs.github.com/graphql>). Errors come with HTTP 200, as on GitHub.
//!
//! **Invariant:** a field, argument or type that is not implemented is an error that names it and
//! fails the test; nothing is answered by guess.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::auth::Caller;
use super::http::{Answer, Cx};
use crate::calls::Problem;
use crate::server::Reply;

mod execute;
mod mutations;
mod nodes;
mod parse;
mod resolve;

use execute::Run;
use nodes::Node;
use parse::{Document, Kind};

/// Something GraphQL says instead of data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The request as a whole is invalid: no data at all.
    Request(String),
    /// A field is null, and this is why.
    Field { kind: &'static str, message: String },
}

impl Fault {
    pub(crate) fn not_found(message: String) -> Self {
        Self::Field {
            kind: "NOT_FOUND",
            message,
        }
    }

    pub(crate) fn forbidden() -> Self {
        let message = "Resource not accessible by integration".to_owned();
        Self::Field {
            kind: "FORBIDDEN",
            message,
        }
    }
}

#[derive(Deserialize)]
struct Question {
    query: String,
    #[serde(default)]
    variables: Option<Map<String, Value>>,
    #[serde(default, rename = "operationName")]
    _operation_name: Option<String>,
}

/// Answers a GraphQL request.
pub(crate) fn answer(cx: &mut Cx<'_>) -> Answer {
    let Question {
        query, variables, ..
    } = cx.body()?;
    let outcome = parse::parse(&query)
        .and_then(|document| run(cx, &document, &variables.unwrap_or_default()));
    Ok(Reply::json(
        200,
        &outcome.unwrap_or_else(|fault| {
            let message = match fault {
                Fault::Request(message) | Fault::Field { message, .. } => message,
            };
            let what = format!("GraphQL: {message} in {}", one_line(&query));
            cx.github.0.log.problem(Problem::BadRequest(what));
            json!({ "errors": [{ "message": message, "locations": [{ "line": 1, "column": 1 }] }] })
        }),
    ))
}

fn one_line(query: &str) -> String {
    query.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn run(
    cx: &mut Cx<'_>,
    document: &Document,
    variables: &Map<String, Value>,
) -> Result<Value, Fault> {
    document.check_variables(variables)?;
    if document.kind == Kind::Mutation {
        if let Caller::Installation { .. } | Caller::User { .. } = &cx.caller {
            let actor = cx.actor();
            cx.world.account(&actor);
        }
    }
    let prepared = mutations::perform(cx, document, variables)?;
    let actor = cx.actor();
    let mut run = Run {
        world: cx.world,
        github: cx.github,
        caller: &cx.caller,
        actor: &actor,
        document,
        variables,
        errors: Vec::new(),
    };
    let root = match document.kind {
        Kind::Query => Node::Query,
        Kind::Mutation => Node::Mutation(&prepared),
    };
    let data = run.select(&root, &document.selections, &mut Vec::new())?;
    let errors = run.errors;
    Ok(if errors.is_empty() {
        json!({ "data": data })
    } else {
        json!({ "data": data, "errors": errors })
    })
}
