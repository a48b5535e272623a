//! The parameters of a request: query and body together, as GitLab reads them.

use serde_json::{Map, Value};

use super::errors::grape;
use crate::server::{Reply, Request};

/// Parameters, or a group of them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Params {
    values: Map<String, Value>,
    /// The group's name in messages; empty at the top.
    group: String,
}

impl Params {
    /// Reads query and body. The error says what no client of ours may send.
    pub(crate) fn read(request: &Request) -> Result<Self, String> {
        let mut values = Map::new();
        for (name, value) in url::form_urlencoded::parse(request.query.as_bytes()) {
            put(&mut values, &name, value.into_owned());
        }
        let media = request.header("content-type").unwrap_or_default();
        let media = media.split(';').next().unwrap_or_default().trim();
        if request.body.is_empty() {
            return Ok(Self::top(values));
        }
        match media {
            "application/json" => match serde_json::from_slice(&request.body) {
                Ok(Value::Object(body)) => values.extend(body),
                _ => return Err("the body is not a JSON object".to_owned()),
            },
            "application/x-www-form-urlencoded" => {
                for (name, value) in url::form_urlencoded::parse(&request.body) {
                    put(&mut values, &name, value.into_owned());
                }
            }
            other => {
                return Err(format!(
                    "The provided content-type '{other}' is not supported."
                ));
            }
        }
        Ok(Self::top(values))
    }

    fn top(values: Map<String, Value>) -> Self {
        Self {
            values,
            group: String::new(),
        }
    }

    /// Returns the names that are not among the known ones.
    pub(crate) fn unknown(&self, known: &[&str]) -> Vec<String> {
        self.values
            .keys()
            .filter(|name| !known.contains(&name.as_str()))
            .map(|name| self.full(name))
            .collect()
    }

    /// Refuses a request that lacks one of these.
    pub(crate) fn require(&self, names: &[&str]) -> Result<(), Reply> {
        let missing: Vec<String> = names
            .iter()
            .filter(|name| self.values.get(**name).is_none_or(Value::is_null))
            .map(|name| format!("{} is missing", self.full(name)))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(grape(400, &missing.join(", ")))
    }

    /// Returns whether a parameter was given.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.values.get(name).is_some_and(|value| !value.is_null())
    }

    /// Returns a text.
    pub(crate) fn text(&self, name: &str) -> Result<Option<String>, Reply> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(Value::Number(number)) => Ok(Some(number.to_string())),
            Some(_) => Err(self.invalid(name)),
        }
    }

    /// Returns a text, which is empty if it was not given.
    pub(crate) fn text_or_empty(&self, name: &str) -> Result<String, Reply> {
        Ok(self.text(name)?.unwrap_or_default())
    }

    /// Returns a number.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, Reply> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Number(number)) => {
                number.as_u64().map(Some).ok_or_else(|| self.invalid(name))
            }
            Some(Value::String(text)) => text
                .parse()
                .map(Some)
                .map_err(|_not_a_number| self.invalid(name)),
            Some(_) => Err(self.invalid(name)),
        }
    }

    /// Returns a truth value.
    pub(crate) fn truth(&self, name: &str) -> Result<Option<bool>, Reply> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(truth)) => Ok(Some(*truth)),
            Some(Value::String(text)) if text == "true" || text == "1" => Ok(Some(true)),
            Some(Value::String(text)) if text == "false" || text == "0" => Ok(Some(false)),
            Some(_) => Err(self.invalid(name)),
        }
    }

    /// Returns a group of parameters.
    pub(crate) fn group(&self, name: &str) -> Result<Option<Self>, Reply> {
        match self.values.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(values)) => Ok(Some(Self {
                values: values.clone(),
                group: self.full(name),
            })),
            Some(_) => Err(self.invalid(name)),
        }
    }

    /// Returns a text that must be one of these.
    pub(crate) fn choice(&self, name: &str, choices: &[&str]) -> Result<Option<String>, Reply> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        if choices.contains(&text.as_str()) {
            return Ok(Some(text));
        }
        let full = self.full(name);
        Err(grape(400, &format!("{full} does not have a valid value")))
    }

    /// Returns a parameter's name as messages write it.
    pub(crate) fn full(&self, name: &str) -> String {
        if self.group.is_empty() {
            name.to_owned()
        } else {
            format!("{}[{name}]", self.group)
        }
    }

    fn invalid(&self, name: &str) -> Reply {
        grape(400, &format!("{} is invalid", self.full(name)))
    }
}

/// Puts `a[b][c]=value` where it belongs.
fn put(values: &mut Map<String, Value>, name: &str, value: String) {
    let Some((first, rest)) = name.split_once('[') else {
        values.insert(name.to_owned(), Value::String(value));
        return;
    };
    let rest = rest.replacen(']', "", 1);
    let inner = values
        .entry(first.to_owned())
        .or_insert_with(|| Value::Object(Map::new()));
    if let Some(inner) = inner.as_object_mut() {
        put(inner, &rest, value);
    }
}
