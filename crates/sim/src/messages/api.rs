//! The routes, and what becomes of a call.

use std::borrow::Cow;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::bedrock;
use super::books::{ModelCall, ModelUsage};
use super::cache::Split;
use super::check::{Checked, Limits, Purpose, check_body, check_headers};
use super::models::{self, ModelFacts};
use super::prompt::Prompt;
use super::refusal::Refusal;
use super::script::{Composed, Otherwise, Raw, Report, Says, Scripted, Travel};
use super::{Inner, reviewer, tokens};
use crate::calls::{Call, Problem};
use crate::faults::{Played, play};
use crate::server::{Api, Reply, Request, Transport};

/// A path that a gateway may add before the API's own.
const PREFIX: &str = "/anthropic";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Route {
    Messages,
    CountTokens,
    Models,
    Model,
    Invoke,
}

impl Route {
    fn find(method: &str, path: &str) -> Option<Self> {
        let path = path.strip_prefix(PREFIX).unwrap_or(path);
        match (method, path) {
            ("POST", "/v1/messages") => Some(Self::Messages),
            ("POST", "/v1/messages/count_tokens") => Some(Self::CountTokens),
            ("POST", path) if bedrock::model_id(path).is_some() => Some(Self::Invoke),
            ("GET", "/v1/models") => Some(Self::Models),
            ("GET", path) => {
                let id = path.strip_prefix("/v1/models/")?;
                (!id.is_empty() && !id.contains('/')).then_some(Self::Model)
            }
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Messages => "POST /v1/messages",
            Self::CountTokens => "POST /v1/messages/count_tokens",
            Self::Models => "GET /v1/models",
            Self::Model => "GET /v1/models/{id}",
            Self::Invoke => "POST /model/{id}/invoke",
        }
    }
}

impl Api for Inner {
    fn answer(&self, request: &Request) -> Reply {
        let route = Route::find(&request.method, &request.path);
        let name = route.map_or("unknown", Route::name);
        self.look_for_secrets(request, name);
        let request_id = self.next_request_id();
        let reply = match route {
            None => {
                let what = format!("{} {}", request.method, request.path);
                self.log.problem(Problem::UnknownRoute(what));
                Refusal::new(404, "not_found_error", "Not found").reply(&request_id)
            }
            Some(route) => {
                let run = || self.handle(route, request, &request_id);
                match play(self.faults.take(name), run) {
                    Played::Answer(reply) => reply,
                    // There is nobody who could see when a call to a model lands.
                    Played::Deferred(_) => self
                        .handle(route, request, &request_id)
                        .travelling(Transport::Dropped),
                }
            }
        };
        self.log.record(Call {
            method: request.method.clone(),
            route: name.to_owned(),
            path: request.path.clone(),
            status: if reply.transport == Transport::Dropped {
                0
            } else {
                reply.status
            },
            token_kind: credential(request),
            may_push: false,
            mutates: false,
            bytes: reply.body.len(),
            request_bytes: request.body.len(),
        });
        match route {
            Some(Route::Invoke) => bedrock::restated(reply, request_id),
            _ => reply.with("request-id", request_id),
        }
    }
}

fn credential(request: &Request) -> &'static str {
    match (request.header("x-api-key"), request.header("authorization")) {
        (Some(_), Some(_)) => "both",
        (Some(_), None) => "key",
        (None, Some(_)) => "bearer",
        (None, None) => "none",
    }
}

impl Inner {
    fn look_for_secrets(&self, request: &Request, route: &str) {
        let url = format!("{}?{}", request.path, request.query);
        for (place, bytes) in [("URL", url.as_bytes()), ("body", &request.body[..])] {
            if self.sentinels.found_in(bytes) {
                let what = format!("in the {place} of {route}");
                self.log.problem(Problem::Leak(what));
            }
        }
    }

    fn handle(&self, route: Route, request: &Request, request_id: &str) -> Reply {
        let understood = match route {
            Route::Invoke => bedrock::as_message(request, &self.options.access_key_id),
            _ => check_headers(request, &self.options.api_key)
                .map(|version| (Cow::Borrowed(request), version)),
        };
        let result = understood.and_then(|(request, version)| match route {
            Route::Messages | Route::Invoke => self.message(&request, &version, request_id),
            Route::CountTokens => {
                let checked = self.check(&request, &version, Purpose::Count)?;
                let count = json!({"input_tokens": checked.prompt.tokens});
                Ok(Reply::json(200, &count))
            }
            Route::Models => Ok(Reply::json(200, &models::list())),
            Route::Model => {
                let id = request.path.rsplit('/').next().unwrap_or_default();
                let model = models::find(id);
                let model = model
                    .ok_or_else(|| Refusal::new(404, "not_found_error", format!("model: {id}")))?;
                Ok(Reply::json(200, &model.described()))
            }
        });
        result.unwrap_or_else(|refusal| {
            if refusal.fault {
                let what = format!("{}: {}", route.name(), refusal.message);
                self.log.problem(match refusal.status {
                    401 => Problem::WrongAuth(what),
                    _ => Problem::BadRequest(what),
                });
            }
            refusal.reply(request_id)
        })
    }

    fn check(
        &self,
        request: &Request,
        version: &str,
        purpose: Purpose,
    ) -> Result<Checked, Refusal> {
        let resumes = serde_json::from_slice(&request.body)
            .is_ok_and(|body: Value| self.issued().resumes(&body));
        let limits = |model: &str| Limits {
            window: self.window_of(model),
            resumes,
        };
        let mut checked = check_body(&request.body, version, purpose, limits)?;
        let changed = self.issued().check(&checked.prompt.body)?;
        checked.frowned.extend(changed);
        for what in &checked.frowned {
            let what = format!("the request holds {what}");
            self.log.problem(Problem::BadRequest(what));
        }
        Ok(checked)
    }

    /// Answers a prompt as the script has it.
    fn message(&self, request: &Request, version: &str, id: &str) -> Result<Reply, Refusal> {
        let checked = self.check(request, version, Purpose::Answer)?;
        let prompt = Arc::new(checked.prompt);
        let scripted = self.scripted(&prompt)?;
        let mut call = ModelCall::new(Arc::clone(&prompt));
        if scripted.travel == Travel::DropBefore {
            self.books().push(call);
            return Ok(Reply::empty(500).travelling(Transport::Dropped));
        }
        let now = self.clock.now();
        let reply = match scripted.says {
            Says::Raw(raw) => {
                call.status = raw.status;
                if let Some(output) = raw.charged_output {
                    let split = self.visit_cache(&prompt, checked.model, now);
                    call.charge(checked.model, ModelUsage::new(split, output));
                }
                raw_reply(raw)
            }
            Says::Message(compose) => {
                let split = self.visit_cache(&prompt, checked.model, now);
                let mut written =
                    Written::new(compose(&prompt), checked.model, scripted.thinking_tokens);
                written.cut(prompt.max_tokens, "max_tokens");
                let room = checked.window.saturating_sub(prompt.tokens);
                written.cut(room, "model_context_window_exceeded");
                let usage = ModelUsage::new(split, written.output_tokens());
                call.status = 200;
                call.stop = Some(written.stop.clone());
                call.charge(checked.model, usage);
                let number = id.trim_start_matches("req_sim_");
                let body = written.body(number, checked.model, &usage, scripted.report);
                if let Some(content) = body.get("content").and_then(Value::as_array) {
                    let stop = call.stop.as_deref().unwrap_or_default();
                    self.issued().keep(&prompt.body, content, stop);
                }
                Reply::json(200, &body)
            }
        };
        if scripted.travel == Travel::DropAfter {
            call.status = 0;
        }
        self.books().push(call);
        Ok(travel(reply, scripted.travel))
    }

    fn scripted(&self, prompt: &Arc<Prompt>) -> Result<Scripted, Refusal> {
        let mut script = self.script();
        if let Some(scripted) = script.take(prompt) {
            return Ok(scripted);
        }
        match script.otherwise.clone() {
            Otherwise::Refuse => Err(Refusal::invalid("no answer is scripted for this request")),
            Otherwise::Fixed(value) => Ok(Scripted::json(&value)),
            Otherwise::Reviewer => Ok(Scripted::with(reviewer::answer)),
        }
    }

    fn visit_cache(&self, prompt: &Prompt, model: &ModelFacts, now: DateTime<Utc>) -> Split {
        let minimum = self.cache_minimum_of(model.id).unwrap_or(model.min_cache);
        let (scope, overhead) = (&prompt.scope, prompt.overhead);
        self.cache()
            .visit(scope, overhead, &prompt.blocks, minimum, now)
    }
}

fn raw_reply(raw: Raw) -> Reply {
    let mut reply = Reply::empty(raw.status);
    reply.body = raw.body.into();
    for (name, value) in raw.headers {
        reply = reply.with(name, value);
    }
    reply
}

fn travel(reply: Reply, travel: Travel) -> Reply {
    match travel {
        Travel::Whole => reply,
        Travel::DropBefore | Travel::DropAfter => reply.travelling(Transport::Dropped),
        Travel::Slow { chunk, pause } => reply.travelling(Transport::Slow { chunk, pause }),
        Travel::Cut(bytes) => reply.travelling(Transport::Cut(bytes)),
        Travel::Late(pause) => {
            // Calls are answered on threads that may block.
            std::thread::sleep(pause);
            reply
        }
    }
}

/// Returns the tokens of a tool use's arguments.
fn other_tokens(block: &Value) -> u64 {
    let input = block.get("input").map(Value::to_string);
    input.map_or(0, |input| tokens::count(&input))
}

/// An answer being cut to its bounds.
struct Written {
    thinking_block: bool,
    thinking: u64,
    blocks: Vec<Value>,
    stop: String,
    details: Value,
}

impl Written {
    fn new(composed: Composed, model: &ModelFacts, thinking: u64) -> Self {
        Self {
            thinking_block: thinking > 0 || model.thinks_unasked(),
            thinking,
            blocks: composed.blocks,
            stop: composed.stop,
            details: composed.details,
        }
    }

    /// Cuts thinking and text to so many tokens; the message then says why it stopped.
    fn cut(&mut self, limit: u64, stop: &str) {
        if self.output_tokens() <= limit {
            return;
        }
        self.thinking = self.thinking.min(limit);
        let mut left = limit.saturating_sub(self.thinking);
        let mut kept = Vec::new();
        for mut block in std::mem::take(&mut self.blocks) {
            let text = block
                .get("text")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let first = tokens::first(text, left).to_owned();
            let whole = first.len() == text.len();
            let others = other_tokens(&block);
            if others > left {
                break;
            }
            left = left.saturating_sub(tokens::count(&first).saturating_add(others));
            if let (Some(slot), false) = (block.get_mut("text"), whole) {
                *slot = json!(first);
            }
            kept.push(block);
            if !whole {
                break;
            }
        }
        self.blocks = kept;
        stop.clone_into(&mut self.stop);
        self.details = Value::Null;
    }

    fn output_tokens(&self) -> u64 {
        let of_block = |block: &Value| {
            let text = block.get("text").and_then(Value::as_str);
            text.map_or(0, tokens::count)
                .saturating_add(other_tokens(block))
        };
        self.blocks
            .iter()
            .map(of_block)
            .sum::<u64>()
            .saturating_add(self.thinking)
    }

    fn body(self, number: &str, model: &ModelFacts, usage: &ModelUsage, report: Report) -> Value {
        let mut content = Vec::new();
        if self.thinking_block && !self.blocks.is_empty() {
            // No two are the same, so that each is known again.
            let signature = format!("EqQB{number}");
            content.push(json!({"type": "thinking", "thinking": "", "signature": signature}));
        }
        for (at, mut block) in self.blocks.into_iter().enumerate() {
            if let Some(id) = block.get_mut("id").filter(|id| id.is_null()) {
                *id = json!(format!("toolu_sim_{number}_{at}"));
            }
            content.push(block);
        }
        let mut body = json!({
            "id": format!("msg_sim_{number}"), "type": "message", "role": "assistant",
            "model": model.id, "content": content,
            "stop_reason": self.stop, "stop_sequence": null, "stop_details": self.details,
            "container": null, "diagnostics": null,
        });
        let usage = match report {
            Report::Right => Some(usage.body(self.thinking)),
            Report::Zero => Some(json!({"input_tokens": 0, "output_tokens": 0})),
            Report::WithoutInput => Some(json!({"output_tokens": usage.output})),
            Report::Missing => None,
        };
        if let (Some(usage), Some(body)) = (usage, body.as_object_mut()) {
            body.insert("usage".to_owned(), usage);
        }
        body
    }
}
