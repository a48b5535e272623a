//! The part of JSON Schema that an answer's schema may use.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::refusal::Refusal;

/// Most properties that are not required, over the whole schema.
const MAX_OPTIONAL: usize = 24;

/// Most properties whose type is a union, over the whole schema.
const MAX_UNIONS: usize = 16;

/// Deepest nesting. The provider gives no number; its compiled grammar grows too large long before.
const MAX_DEPTH: usize = 10;

const TYPES: [&str; 7] = [
    "object", "array", "string", "integer", "number", "boolean", "null",
];

const FORMATS: [&str; 10] = [
    "date-time",
    "time",
    "date",
    "duration",
    "email",
    "hostname",
    "uri",
    "ipv4",
    "ipv6",
    "uuid",
];

const KEYWORDS: [&str; 18] = [
    "type",
    "enum",
    "const",
    "anyOf",
    "allOf",
    "$ref",
    "$defs",
    "definitions",
    "required",
    "properties",
    "additionalProperties",
    "items",
    "default",
    "format",
    "minItems",
    "pattern",
    "title",
    "description",
];

const GRAMMAR_TOO_LARGE: &str = "The compiled grammar is too large, which would cause performance \
    issues. Simplify your tool schemas or reduce the number of strict tools.";

/// Checks a schema.
pub(super) fn check(schema: &Value) -> Result<(), Refusal> {
    let mut walk = Walk {
        root: schema,
        optional: 0,
        unions: 0,
        open: BTreeSet::new(),
    };
    walk.schema(schema, 0)?;
    if walk.optional > MAX_OPTIONAL {
        return Err(Refusal::invalid(format!(
            "Schemas contains too many optional parameters ({}), which would make grammar \
             compilation inefficient. Reduce the number of optional parameters in your tool schemas \
             (limit: {MAX_OPTIONAL}).",
            walk.optional
        )));
    }
    if walk.unions > MAX_UNIONS {
        return Err(Refusal::invalid(format!(
            "Schemas contains too many parameters with union types ({} parameters with type arrays \
             or anyOf). Reduce the number of parameters with union types (limit: {MAX_UNIONS}).",
            walk.unions
        )));
    }
    Ok(())
}

struct Walk<'s> {
    root: &'s Value,
    optional: usize,
    unions: usize,
    /// References being followed, so that a circle is seen.
    open: BTreeSet<String>,
}

fn bad(what: impl std::fmt::Display) -> Refusal {
    Refusal::invalid(format!("output_config.format.schema: {what}"))
}

impl<'s> Walk<'s> {
    fn schema(&mut self, schema: &'s Value, depth: usize) -> Result<(), Refusal> {
        if depth > MAX_DEPTH {
            return Err(Refusal::invalid(GRAMMAR_TOO_LARGE));
        }
        let deeper = depth.saturating_add(1);
        let schema = schema
            .as_object()
            .ok_or_else(|| bad("every schema should be an object"))?;
        let kinds = kinds(schema)?;
        check_keywords(schema, &kinds)?;
        check_values(schema)?;
        if let Some(reference) = schema.get("$ref") {
            self.reference(reference, deeper)?;
        }
        for key in ["anyOf", "allOf"] {
            let Some(list) = schema.get(key) else {
                continue;
            };
            let list = list.as_array().filter(|list| !list.is_empty());
            for option in list.ok_or_else(|| bad(format!("{key} should be a list")))? {
                if key == "allOf" && option.get("$ref").is_some() {
                    return Err(bad("allOf with $ref is not supported"));
                }
                self.schema(option, deeper)?;
            }
        }
        if kinds.contains(&"object") || schema.contains_key("properties") {
            self.properties(schema, deeper)?;
        }
        if let Some(items) = schema.get("items") {
            self.schema(items, deeper)?;
        }
        Ok(())
    }

    fn properties(&mut self, schema: &'s Map<String, Value>, depth: usize) -> Result<(), Refusal> {
        if schema.get("additionalProperties") != Some(&Value::Bool(false)) {
            return Err(bad(
                "For 'object' type, 'additionalProperties' must be explicitly set to false",
            ));
        }
        let properties = schema
            .get("properties")
            .map(|map| {
                map.as_object()
                    .ok_or_else(|| bad("properties should be an object"))
            })
            .transpose()?;
        let required: BTreeSet<&str> = match schema.get("required") {
            None => BTreeSet::new(),
            Some(list) => {
                let names = list
                    .as_array()
                    .map(|l| l.iter().map(Value::as_str).collect());
                names
                    .flatten()
                    .ok_or_else(|| bad("required should be a list of names"))?
            }
        };
        let known = |name: &str| properties.is_some_and(|map| map.contains_key(name));
        if let Some(name) = required.iter().find(|name| !known(name)) {
            return Err(bad(format!(
                "required names '{name}', which is not a property"
            )));
        }
        for (name, property) in properties.into_iter().flatten() {
            let is_optional = !required.contains(name.as_str());
            let is_union = property.get("anyOf").is_some()
                || property.get("type").is_some_and(Value::is_array);
            self.optional = self.optional.saturating_add(usize::from(is_optional));
            self.unions = self.unions.saturating_add(usize::from(is_union));
            self.schema(property, depth)?;
        }
        Ok(())
    }

    fn reference(&mut self, reference: &Value, depth: usize) -> Result<(), Refusal> {
        let pointer = reference.as_str().and_then(|r| r.strip_prefix('#'));
        let pointer = pointer.ok_or_else(|| bad("external $ref is not supported"))?;
        let target = self.root.pointer(pointer);
        let target = target.ok_or_else(|| bad(format!("$ref '#{pointer}' does not exist")))?;
        if !self.open.insert(pointer.to_owned()) {
            return Err(bad("recursive schemas are not supported"));
        }
        self.schema(target, depth)?;
        self.open.remove(pointer);
        Ok(())
    }
}

fn kinds(schema: &Map<String, Value>) -> Result<Vec<&str>, Refusal> {
    let kinds: Vec<&str> = match schema.get("type") {
        None => Vec::new(),
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(kinds)) => kinds.iter().filter_map(Value::as_str).collect(),
        Some(_) => return Err(bad("type should be a name or a list of names")),
    };
    match kinds.iter().find(|kind| !TYPES.contains(kind)) {
        Some(kind) => Err(bad(format!("'{kind}' is not a supported type"))),
        None => Ok(kinds),
    }
}

fn check_keywords(schema: &Map<String, Value>, kinds: &[&str]) -> Result<(), Refusal> {
    let unknown: Vec<&str> = schema
        .keys()
        .map(String::as_str)
        .filter(|key| !KEYWORDS.contains(key))
        .collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let kind = kinds.first().unwrap_or(&"object");
    Err(bad(format!(
        "For '{kind}' type, properties {} are not supported",
        unknown.join(", ")
    )))
}

fn check_values(schema: &Map<String, Value>) -> Result<(), Refusal> {
    let simple = |value: &Value| !value.is_object() && !value.is_array();
    if let Some(values) = schema.get("enum") {
        let values = values.as_array().filter(|list| !list.is_empty());
        if !values.is_some_and(|list| list.iter().all(simple)) {
            return Err(bad("enum should be a list of plain values"));
        }
    }
    if let Some(least) = schema.get("minItems") {
        if !matches!(least.as_u64(), Some(0 | 1)) {
            return Err(bad(
                "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
            ));
        }
    }
    if let Some(format) = schema.get("format") {
        if !format.as_str().is_some_and(|f| FORMATS.contains(&f)) {
            return Err(bad(format!(
                "For 'string' type, format {format} is not supported"
            )));
        }
    }
    if let Some(pattern) = schema.get("pattern") {
        let pattern = pattern
            .as_str()
            .ok_or_else(|| bad("pattern should be a string"))?;
        let escape = pattern.split('\\').skip(1).any(|rest| {
            rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, 'b' | 'B' | 'k'))
        });
        let look = ["(?=", "(?!", "(?<"]
            .iter()
            .any(|group| pattern.contains(group));
        if escape || look {
            return Err(bad(
                "pattern with a lookaround, backreference or word boundary is not supported",
            ));
        }
    }
    Ok(())
}
