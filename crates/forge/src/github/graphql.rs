//! GraphQL: errors come with status 200, and every call is a `POST`.
//! <https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api>

use mirilla_http::Method;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::error::{ApiError, CallError};
use crate::github::api::{Answer, Api, Call};
use crate::github::refuse::classify_graphql;

/// Bound for one answer.
const MAX_ANSWER_BYTES: u64 = 16 * 1024 * 1024;

#[derive(Deserialize)]
struct Envelope<T> {
    #[serde(default = "none")]
    data: Option<T>,
    #[serde(default)]
    errors: Vec<GraphqlError>,
}

fn none<T>() -> Option<T> {
    None
}

#[derive(Deserialize)]
struct GraphqlError {
    #[serde(default, rename = "type")]
    kind: String,
    #[serde(default)]
    message: String,
}

impl Api {
    /// Asks a query, which changes nothing and so may be repeated. Partial answers count as failures.
    pub(crate) async fn query<T: DeserializeOwned>(
        &self,
        route: &'static str,
        query: &str,
        variables: Value,
    ) -> Result<T, CallError> {
        let answer = self.read(&self.graphql(route, query, &variables)).await?;
        self.data(&answer)
    }

    /// Asks for a change: once. Partial answers count as failures.
    pub(crate) async fn mutate<T: DeserializeOwned>(
        &self,
        route: &'static str,
        mutation: &str,
        variables: Value,
    ) -> Result<T, CallError> {
        let call = self.graphql(route, mutation, &variables);
        let answer = self.write(&call).await?;
        self.data(&answer)
    }

    fn graphql(&self, route: &'static str, query: &str, variables: &Value) -> Call {
        let url = self.service().graphql_url().clone();
        Call::new(Method::POST, route, url)
            .json(&json!({ "query": query, "variables": variables }))
            .max_body_bytes(MAX_ANSWER_BYTES)
    }

    fn data<T: DeserializeOwned>(&self, answer: &Answer) -> Result<T, CallError> {
        // Errors first: next to them `data` may have any shape.
        let refused: Envelope<serde::de::IgnoredAny> = answer.json()?;
        if let Some(error) = refused.errors.first() {
            return Err(CallError::Refused(classify_graphql(
                &error.kind,
                &error.message,
                &answer.headers,
                self.now().get(),
            )));
        }
        let envelope: Envelope<T> = answer.json()?;
        envelope
            .data
            .ok_or(CallError::Answer(ApiError::Answer("data")))
    }
}
