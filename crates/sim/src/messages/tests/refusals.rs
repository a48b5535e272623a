//! Each rule of the real API, broken once.

use super::*;

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn user(content: &Value) -> Value {
    json!({"role": "user", "content": content})
}

/// Refusals of the plain request with one thing changed.
#[test]
fn one_broken_rule_is_refused() {
    let desk = Desk::easy();
    let marked = |ttl: &str| {
        json!({"type": "text", "text": "x",
        "cache_control": {"type": "ephemeral", "ttl": ttl}})
    };
    let tool = json!({"name": "read_file", "input_schema": {"type": "object"}});
    let cases: &[(&[(&str, Value)], &str)] = &[
        (
            &[("/temperature", json!(0))],
            "temperature is not supported for this model",
        ),
        (
            &[("/top_p", json!(0.5))],
            "top_p is not supported for this model",
        ),
        (
            &[("/top_k", json!(1))],
            "top_k is not supported for this model",
        ),
        (
            &[("/max_tokens", json!("x"))],
            "max_tokens: Input should be a valid integer, at least 0",
        ),
        (
            &[("/max_tokens", json!(0))],
            "max_tokens: 0 cannot be combined with output_config.format",
        ),
        (
            &[("/max_tokens", json!(128_001))],
            "max_tokens: 128001 > 128000, which is the maximum allowed number of output tokens for \
             claude-sonnet-5-5",
        ),
        (
            &[("/prompt", json!("x"))],
            "prompt: Extra inputs are not permitted",
        ),
        (
            &[("/output_format", json!({}))],
            "output_format: Extra inputs are not permitted",
        ),
        (
            &[("/stream", json!("yes"))],
            "stream: Input should be a valid boolean",
        ),
        (
            &[("/metadata", json!({"user_id": "a@b.test"}))],
            "metadata.user_id: should be an opaque identifier",
        ),
        (
            &[("/service_tier", json!("fast"))],
            "service_tier: Input should be 'auto', 'standard_only'",
        ),
        (
            &[("/thinking", json!({"type": "disabled"}))],
            "\"thinking.type.disabled\" is not supported for this model. Use \"thinking.type.adaptive\" \
             and \"output_config.effort\" to control thinking behavior.",
        ),
        (
            &[(
                "/thinking",
                json!({"type": "enabled", "budget_tokens": 2000}),
            )],
            "\"thinking.type.enabled\" is not supported for this model. Use \"thinking.type.adaptive\" \
             and \"output_config.effort\" to control thinking behavior.",
        ),
        (
            &[("/output_config/effort", json!("extreme"))],
            "output_config.effort: Input should be 'low', 'medium', 'high', 'xhigh', 'max'",
        ),
        (
            &[("/output_config/format/name", json!("x"))],
            "output_config.format.name: Extra inputs are not permitted",
        ),
        (
            &[("/output_config/format/type", json!("json"))],
            "output_config.format.type: Input should be 'json_schema'",
        ),
        (
            &[("/tool_choice", json!({"type": "auto"}))],
            "tool_choice: may only be specified while providing tools",
        ),
        (
            &[
                ("/tools", json!([tool])),
                ("/tool_choice", json!({"type": "any"})),
            ],
            "tool_choice.type \"any\" is not supported for this model",
        ),
        (
            &[
                ("/tools", json!([tool])),
                ("/tool_choice", json!({"type": "tool", "name": "read_file"})),
            ],
            "tool_choice.type \"tool\" is not supported for this model",
        ),
        (
            &[("/tools", json!([{"name": "read file", "input_schema": {}}]))],
            "tools.0.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'",
        ),
        (
            &[("/messages", json!([]))],
            "messages: between 1 and 100000 messages are required",
        ),
        (
            &[("/messages", json!([{"role": "assistant", "content": "{"}]))],
            "messages: first message must use the \"user\" role",
        ),
        (
            &[("/messages/-", json!({"role": "assistant", "content": "{"}))],
            "This model does not support assistant message prefill. The conversation must end with a \
             user message.",
        ),
        (
            &[("/messages/-", user(&json!([])))],
            "messages.1: content must not be empty",
        ),
        (
            &[("/messages/-", user(&json!([text("")])))],
            "messages: text content blocks must be non-empty",
        ),
        (
            &[("/messages/-", user(&json!([text(" \n")])))],
            "messages.1.content.0: text content blocks must contain non-whitespace text",
        ),
        (
            &[("/system/-", text(""))],
            "system: text content blocks must be non-empty",
        ),
        (
            &[("/messages/-", user(&json!([{"type": "video"}])))],
            "messages.1.content.0: Input tag 'video' does not match any of the expected tags",
        ),
        (
            &[
                ("/system/-", marked("5m")),
                ("/system/-", marked("5m")),
                ("/system/-", marked("5m")),
                ("/system/-", marked("5m")),
            ],
            "A maximum of 4 blocks with cache_control may be provided. Found 5.",
        ),
        (
            &[("/system/-", marked("1h"))],
            "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block",
        ),
        (
            &[("/system/-", marked("2h"))],
            "system.1.cache_control.ttl: Input should be '5m', '1h'",
        ),
        (
            &[(
                "/messages/-",
                user(&json!([{"type": "tool_result", "tool_use_id": "t"}])),
            )],
            "messages.1: unexpected `tool_use_id` found in `tool_result` blocks",
        ),
        (
            &[
                (
                    "/messages/-",
                    json!({"role": "assistant", "content": [{"type": "tool_use", "id": "t"}]}),
                ),
                ("/messages/-", user(&json!("go on"))),
            ],
            "messages.2: `tool_use` ids were found without `tool_result` blocks immediately after",
        ),
    ];
    for (changes, said) in cases {
        let refusal = desk.refusal(&with(changes));
        assert_eq!(
            refusal,
            format!("400 invalid_request_error: {said}"),
            "{changes:?}"
        );
    }
    assert_eq!(desk.messages.model_calls(), []);
    assert_eq!(desk.post(&request()).0, 200);
}

#[test]
fn missing_fields_are_refused() {
    let desk = Desk::easy();
    for field in ["model", "max_tokens", "messages"] {
        let mut body = request();
        body.as_object_mut().unwrap().remove(field);
        let wanted = format!("400 invalid_request_error: {field}: Field required");
        assert_eq!(desk.refusal(&body), wanted);
    }
    let reply = desk.send("POST", "/v1/messages", &desk.headers(), "{");
    assert_eq!(reply.status, 400);
}

/// Refusals of the schema.
#[test]
fn schema_outside_the_subset_is_refused() {
    let desk = Desk::easy();
    let object = |property: &Value| {
        json!({"type": "object", "additionalProperties": false,
        "required": ["p"], "properties": {"p": property}})
    };
    let cases: &[(Value, &str)] = &[
        (
            json!({"type": "integer", "minimum": 1}),
            "For 'integer' type, properties minimum are not supported",
        ),
        (
            json!({"type": "string", "maxLength": 9}),
            "For 'string' type, properties maxLength are not supported",
        ),
        (
            json!({"type": "number", "multipleOf": 2}),
            "For 'number' type, properties multipleOf are not supported",
        ),
        (
            json!({"type": "array", "maxItems": 9}),
            "For 'array' type, properties maxItems are not supported",
        ),
        (
            json!({"type": "array", "uniqueItems": true}),
            "For 'array' type, properties uniqueItems are not supported",
        ),
        (
            json!({"type": "array", "minItems": 2}),
            "For 'array' type, 'minItems' values other than 0 or 1 are not supported",
        ),
        (
            json!({"oneOf": []}),
            "For 'object' type, properties oneOf are not supported",
        ),
        (
            json!({"not": {}}),
            "For 'object' type, properties not are not supported",
        ),
        (
            json!({"type": "string", "format": "regex"}),
            "For 'string' type, format \"regex\" is not supported",
        ),
        (
            json!({"type": "string", "pattern": "a(?=b)"}),
            "pattern with a lookaround, backreference or word boundary is not supported",
        ),
        (
            json!({"type": "string", "pattern": "(a)\\1"}),
            "pattern with a lookaround, backreference or word boundary is not supported",
        ),
        (json!({"type": "any"}), "'any' is not a supported type"),
        (
            json!({"enum": [{"a": 1}]}),
            "enum should be a list of plain values",
        ),
        (
            json!({"type": "object"}),
            "For 'object' type, 'additionalProperties' must be explicitly set to false",
        ),
        (
            json!({"type": "object", "additionalProperties": true}),
            "For 'object' type, 'additionalProperties' must be explicitly set to false",
        ),
        (
            json!({"type": "object", "additionalProperties": false, "required": ["q"]}),
            "required names 'q', which is not a property",
        ),
        (
            json!({"$ref": "https://schema.test/x"}),
            "external $ref is not supported",
        ),
        (
            json!({"$ref": "#/$defs/none"}),
            "$ref '#/$defs/none' does not exist",
        ),
        (json!({"$ref": "#"}), "recursive schemas are not supported"),
        (
            json!({"allOf": [{"$ref": "#"}]}),
            "allOf with $ref is not supported",
        ),
        (json!(true), "every schema should be an object"),
    ];
    for (property, said) in cases {
        let body = with(&[("/output_config/format/schema", object(property))]);
        let wanted = format!("400 invalid_request_error: output_config.format.schema: {said}");
        assert_eq!(desk.refusal(&body), wanted, "{property}");
    }
    let body = with(&[(
        "/output_config/format/schema",
        json!({"$schema": "x", "type": "object"}),
    )]);
    assert!(
        desk.refusal(&body)
            .contains("properties $schema are not supported")
    );
}

#[test]
fn schema_within_the_subset_passes() {
    let desk = Desk::easy();
    let schema = json!({"type": "object", "additionalProperties": false, "required": ["a", "b", "c"],
    "$defs": {"place": {"type": "object", "additionalProperties": false, "properties": {}}},
    "properties": {
        "a": {"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/place"}},
        "b": {"anyOf": [{"$ref": "#/$defs/place"}, {"type": "null"}]},
        "c": {"type": ["string", "null"], "enum": ["x", null], "description": "d", "title": "t"},
        "d": {"type": "string", "format": "date", "pattern": "^[0-9\\-]+$"},
    }});
    assert_eq!(
        desk.post(&with(&[("/output_config/format/schema", schema)]))
            .0,
        200
    );
}

#[test]
fn schema_that_is_too_complex_is_refused() {
    let desk = Desk::easy();
    let schema = |kind: &Value, count: usize, required: bool| {
        let names: Vec<String> = (0..count).map(|i| format!("p{i}")).collect();
        let properties: serde_json::Map<_, _> = names
            .iter()
            .map(|name| (name.clone(), kind.clone()))
            .collect();
        let required = if required { names } else { Vec::new() };
        let schema = json!({"type": "object", "additionalProperties": false,
            "required": required, "properties": properties});
        with(&[("/output_config/format/schema", schema)])
    };
    let plain = json!({"type": "string"});
    let union = json!({"type": ["string", "null"]});
    assert_eq!(desk.post(&schema(&plain, 24, false)).0, 200);
    assert!(
        desk.refusal(&schema(&plain, 25, false))
            .contains("too many optional parameters (25)")
    );
    assert_eq!(desk.post(&schema(&union, 16, true)).0, 200);
    assert!(
        desk.refusal(&schema(&union, 17, true))
            .contains("union types (17 parameters")
    );
    let deep = (0..12).fold(plain, |inner, _| json!({"type": "array", "items": inner}));
    let refusal = desk.refusal(&with(&[("/output_config/format/schema", deep)]));
    assert!(
        refusal.contains("The compiled grammar is too large"),
        "{refusal}"
    );
}

#[test]
fn headers_are_checked_first() {
    let desk = Desk::easy();
    let key = ("x-api-key", desk.messages.api_key());
    let bearer = format!("Bearer {}", desk.messages.api_key());
    let bearer = ("authorization", bearer.as_str());
    let version = ("anthropic-version", "2023-06-01");
    let json = ("content-type", "application/json");
    for (headers, status, said) in [
        (vec![version, json], 401, "x-api-key header is required"),
        (
            vec![key, bearer, version, json],
            401,
            "x-api-key and Authorization must not both be set",
        ),
        (
            vec![("x-api-key", "wrong"), version, json],
            401,
            "invalid x-api-key",
        ),
        (
            vec![("authorization", "Bearer wrong"), version, json],
            401,
            "Invalid bearer token",
        ),
        (
            vec![key, json],
            400,
            "anthropic-version: header is required",
        ),
        (
            vec![key, ("anthropic-version", "latest"), json],
            400,
            "anthropic-version: \"latest\" is not a valid version",
        ),
        (
            vec![key, version],
            400,
            "content-type: must be application/json",
        ),
    ] {
        let reply = desk.send("POST", "/v1/messages", &headers, &request().to_string());
        let (got, body) = read(&reply);
        assert_eq!(
            (got, body["error"]["message"].as_str()),
            (status, Some(said))
        );
        let id = reply.headers.iter().find(|(name, _)| name == "request-id");
        assert_eq!(
            body["request_id"].as_str(),
            id.map(|(_, value)| value.as_str())
        );
    }
    let problems = desk.messages.take_problems();
    let wrong = problems
        .iter()
        .filter(|p| matches!(p, Problem::WrongAuth(_)))
        .count();
    assert_eq!((problems.len(), wrong), (7, 4));
    let reply = desk.send(
        "POST",
        "/v1/messages",
        &[bearer, version, json],
        &request().to_string(),
    );
    assert_eq!(reply.status, 200);
    let mut cold = request();
    cold["temperature"] = json!(1.0);
    let newest = [key, ("anthropic-version", "2026-10-21"), json];
    let reply = desk.send("POST", "/v1/messages", &newest, &cold.to_string());
    assert_eq!(reply.status, 400);
}

#[test]
fn older_models_take_what_newer_ones_refuse() {
    let desk = Desk::easy();
    let model = |id: &str, changes: &[(&str, Value)]| {
        let mut body = with(changes);
        body["model"] = json!(id);
        let status = desk.post(&body).0;
        let frowned = desk.messages.take_problems().len();
        (status, frowned)
    };
    // The simulator answers as the real API does, and remembers that no client of ours may ask so.
    assert_eq!(
        model("claude-opus-4-6", &[("/temperature", json!(0))]),
        (200, 1)
    );
    assert_eq!(
        model("claude-opus-4-7", &[("/temperature", json!(0))]),
        (400, 1)
    );
    assert_eq!(
        model(
            "claude-opus-5",
            &[("/thinking", json!({"type": "disabled"}))]
        ),
        (200, 1)
    );
    assert_eq!(
        model(
            "claude-sonnet-5-5",
            &[("/thinking", json!({"type": "between_tools"}))]
        ),
        (200, 1)
    );
    assert_eq!(
        model(
            "claude-haiku-4-5",
            &[("/output_config/effort", json!("low"))]
        ),
        (400, 1)
    );
    let budget = json!({"type": "enabled", "budget_tokens": 1_024});
    assert_eq!(
        model(
            "claude-haiku-4-5",
            &[("/thinking", budget), ("/max_tokens", json!(2_000))]
        ),
        (200, 1)
    );
    let whole = json!({"type": "enabled", "budget_tokens": 2_000});
    assert_eq!(
        model(
            "claude-haiku-4-5",
            &[("/thinking", whole), ("/max_tokens", json!(2_000))]
        ),
        (400, 1)
    );
    let tools = json!([{"name": "t", "input_schema": {"type": "object"}}]);
    let forced = [("/tools", tools), ("/tool_choice", json!({"type": "any"}))];
    assert_eq!(model("claude-opus-5", &forced), (200, 1));
    assert_eq!(model("claude-opus-5-5", &forced), (400, 1));
    assert_eq!(
        model("claude-sonnet-5-5", &[("/max_tokens", json!(21_334))]),
        (200, 1)
    );
}

#[test]
fn unknown_model_and_route_are_not_found() {
    let desk = Desk::easy();
    let refusal = desk.refusal(&with(&[("/model", json!("claude-opus-4-1"))]));
    assert_eq!(refusal, "404 not_found_error: model: claude-opus-4-1");
    let reply = desk.send("GET", "/v1/complete", &desk.headers(), "");
    assert_eq!(reply.status, 404);
    let problems = desk.messages.take_problems();
    assert_eq!(
        problems,
        [Problem::UnknownRoute("GET /v1/complete".to_owned())]
    );
}

#[test]
fn prompt_beyond_the_window_is_refused_without_blame() {
    let desk = Desk::easy();
    desk.messages.set_window("claude-sonnet-5-5", 200);
    let long = "word ".repeat(300);
    let (status, body) = desk.post(&with(&[("/messages/-", user(&json!(long)))]));
    let message = body["error"]["message"].as_str().unwrap();
    assert_eq!(status, 400);
    assert!(
        message.starts_with("prompt is too long: ") && message.ends_with(" tokens > 200 maximum")
    );
    assert_eq!(desk.messages.take_problems(), []);
    assert_eq!(desk.messages.charged(), Charged::default());
    // Older models also want room for the answer.
    desk.messages.set_window("claude-haiku-4-5", 500);
    let (status, body) = desk.post(&with(&[("/model", json!("claude-haiku-4-5"))]));
    let message = body["error"]["message"].as_str().unwrap();
    assert!(
        status == 400 && message.contains("`max_tokens` exceed context limit"),
        "{message}"
    );
}

#[test]
fn body_beyond_the_limit_is_413() {
    let desk = Desk::easy();
    let huge = " ".repeat(check::MAX_BODY_BYTES + 1);
    let reply = desk.send("POST", "/v1/messages", &desk.headers(), &huge);
    let (status, body) = read(&reply);
    assert_eq!(
        (status, body["error"]["type"].as_str()),
        (413, Some("request_too_large"))
    );
}

#[test]
fn tokens_are_counted_without_an_answer() {
    let desk = Desk::new();
    let mut body = request();
    body.as_object_mut().unwrap().remove("max_tokens");
    let count = |body: &Value| {
        let path = "/anthropic/v1/messages/count_tokens";
        read(&desk.send("POST", path, &desk.headers(), &body.to_string()))
    };
    let (status, counted) = count(&body);
    assert_eq!(status, 200);
    assert!(counted["input_tokens"].as_u64().unwrap() > 20, "{counted}");
    assert_eq!(count(&request()).0, 400);
    assert_eq!(desk.messages.charged().calls, 0);
}

#[test]
fn models_are_listed_and_described() {
    let desk = Desk::new();
    let (_, list) = read(&desk.send("GET", "/v1/models", &desk.headers(), ""));
    for model in list["data"].as_array().unwrap() {
        let path = format!("/v1/models/{}", model["id"].as_str().unwrap());
        let (status, one) = read(&desk.send("GET", &path, &desk.headers(), ""));
        assert_eq!((status, &one), (200, model));
        assert_eq!(one["capabilities"]["structured_outputs"]["supported"], true);
    }
    let reply = desk.send("GET", "/v1/models/claude-2", &desk.headers(), "");
    assert_eq!(reply.status, 404);
}
