use axum::http::{HeaderMap, HeaderName, HeaderValue};
use chrono::DateTime;
use serde_json::{Value, json};

use super::*;
use crate::server::{Reply, Request};

mod caching;
mod conversations;
mod refusals;
mod scripts;
mod shapes;

/// A simulated API and a client of it, without a connection between them.
struct Desk {
    messages: Messages,
    clock: SimClock,
    sentinels: Sentinels,
}

impl Desk {
    fn new() -> Self {
        let start = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
        let (clock, sentinels) = (SimClock::pinned(start), Sentinels::default());
        let options = MessagesOptions::default();
        let messages = Messages::new(options, clock.clone(), sentinels.clone());
        Self {
            messages,
            clock,
            sentinels,
        }
    }

    /// Answers everything with an empty object.
    fn easy() -> Self {
        let desk = Self::new();
        desk.messages.otherwise(Otherwise::Fixed(json!({})));
        desk
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Reply {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            map.append(name, HeaderValue::from_str(value).unwrap());
        }
        self.messages.api().answer(&Request {
            method: method.to_owned(),
            path: path.to_owned(),
            query: String::new(),
            headers: map,
            body: body.to_owned().into(),
        })
    }

    fn headers(&self) -> [(&str, &str); 3] {
        [
            ("x-api-key", self.messages.api_key()),
            ("anthropic-version", "2023-06-01"),
            ("content-type", "application/json"),
        ]
    }

    fn post(&self, body: &Value) -> (u16, Value) {
        let reply = self.send("POST", "/v1/messages", &self.headers(), &body.to_string());
        read(&reply)
    }

    /// Posts and returns the text of the answer.
    fn text(&self, body: &Value) -> String {
        let (status, answer) = self.post(body);
        assert_eq!(status, 200, "{answer}");
        let blocks = answer["content"].as_array().unwrap();
        let text = blocks.iter().find(|block| block["type"] == "text").unwrap();
        text["text"].as_str().unwrap().to_owned()
    }

    /// Posts what must be refused and returns how; the problem it makes is taken.
    fn refusal(&self, body: &Value) -> String {
        let (status, answer) = self.post(body);
        assert_eq!(answer["type"], "error", "{answer}");
        self.messages.take_problems();
        let error = &answer["error"];
        let text = |key: &str| error[key].as_str().unwrap();
        format!("{status} {}: {}", text("type"), text("message"))
    }
}

fn read(reply: &Reply) -> (u16, Value) {
    let body = serde_json::from_slice(&reply.body).unwrap_or_default();
    (reply.status, body)
}

fn request() -> Value {
    json!({
        "model": "claude-sonnet-5-5",
        "max_tokens": 1000,
        "system": [{"type": "text", "text": "rubric", "cache_control": {"type": "ephemeral"}}],
        "messages": [{"role": "user", "content": [{"type": "text", "text": "diff"}]}],
        "output_config": {"format": {"type": "json_schema", "schema": {
            "type": "object", "additionalProperties": false,
            "required": ["summary"], "properties": {"summary": {"type": "string"}}
        }}},
    })
}

/// Returns the request with some values set by JSON pointer; the last name may be new.
fn with(changes: &[(&str, Value)]) -> Value {
    let mut body = request();
    for (pointer, value) in changes {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        let parent = body
            .pointer_mut(parent)
            .unwrap_or_else(|| panic!("no {parent}"));
        match parent {
            Value::Array(list) => list.push(value.clone()),
            other => other[name] = value.clone(),
        }
    }
    body
}
