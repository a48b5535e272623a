//! An order desk: a conversation with tools on something other than reviewing.
//!
//! A customer asks about an order and about a part. The model calls two tools in one turn, and one of
//! them with arguments that do not fit; it is told so, asks again, and answers by a schema. The gate keeps a
//! purse, as an application would. The simulated Messages API is at the other end, so that nothing leaves the
//! machine and no key is needed:
//!
//! ```text
//! cargo run -p mirilla-model --example order_desk
//! ```

#![allow(
    clippy::print_stdout,
    reason = "an example talks to the person who runs it"
)]

use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use mirilla_domain::chunk::token_bound;
use mirilla_domain::ids::Timestamp;
use mirilla_domain::money::PicoUsd;
use mirilla_domain::price::{PriceTable, REQUEST_OVERHEAD_TOKENS};
use mirilla_model::{AnthropicModel, AnthropicSettings, Toolset};
use mirilla_ports::clock::{Clock, Entropy};
use mirilla_ports::model::{
    Answer, Block, CallGate, Conversation, Go, Limits, LookUp, Model as _, ModelError, NextCall,
    Question, Stopped,
};
use mirilla_ports::tools::{ToolOutput, ToolSpec};
use mirilla_sim::{Messages, Scripted, Sim, SimOptions};
use serde::Deserialize;
use serde_json::{Value, json};

const MODEL: &str = "claude-sonnet-5-5";

type Failed = Box<dyn Error + Send + Sync>;

/// Arguments of `get_order_status`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct OrderStatus {
    order_id: u32,
}

/// Arguments of `check_stock`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Stock {
    sku: String,
}

/// The desk's tools, over a small made-up shop.
fn tools() -> Toolset {
    let get_order_status = ToolSpec {
        name: "get_order_status",
        description: "Returns where an order is. Use it for any question about a known order number.",
        input_schema: json!({
            "type": "object", "additionalProperties": false, "required": ["order_id"],
            "properties": {"order_id": {"type": "integer", "description": "The order's number."}}
        }),
    };
    let check_stock = ToolSpec {
        name: "check_stock",
        description: "Returns how many pieces of an article are in stock.",
        input_schema: json!({
            "type": "object", "additionalProperties": false, "required": ["sku"],
            "properties": {"sku": {"type": "string", "description": "Such as `bolt-m8`."}}
        }),
    };
    Toolset::new()
        .with(get_order_status, async |order: OrderStatus| {
            match order.order_id {
                4711 => ToolOutput::answer("shipped on 27 November, arrives on 1 December"),
                id => ToolOutput::error(format!("There is no order {id}.")),
            }
        })
        .with(check_stock, async |stock: Stock| match stock.sku.as_str() {
            "bolt-m8" => ToolOutput::answer("1,200 pieces"),
            sku => ToolOutput::error(format!("There is no article `{sku}`.")),
        })
}

/// What the desk does around each call: it keeps a purse and tells what happens.
struct Desk {
    prices: PriceTable,
    left: PicoUsd,
    set_aside: PicoUsd,
    said: String,
}

impl Desk {
    fn tell(&mut self, line: &str) {
        self.said.push_str(line);
        self.said.push('\n');
    }
}

#[async_trait]
impl CallGate for Desk {
    async fn before(&mut self, call: &NextCall) -> Result<Go, Stopped> {
        let worst = |bytes| {
            let input = token_bound(bytes).saturating_add(REQUEST_OVERHEAD_TOKENS);
            self.prices.worst_case(MODEL, input, call.max_tokens)
        };
        let (Ok(this), Ok(next)) = (worst(call.bytes), worst(call.next_bytes)) else {
            return Err(Stopped);
        };
        if this > self.left {
            self.tell("the purse is empty");
            return Err(Stopped);
        }
        self.set_aside = this;
        // Without money for a further call, this one has to bring the answer.
        let further = call.last || this.plus(next) <= self.left;
        Ok(if further { Go::On } else { Go::Last })
    }

    async fn after(&mut self, outcome: Result<&Answer, &ModelError>) -> Result<(), Stopped> {
        let cost = match outcome {
            Ok(answer) => self
                .prices
                .cost(MODEL, &answer.usage)
                .unwrap_or(self.set_aside),
            // It may have been charged.
            Err(ModelError::AnswerLost { .. }) => self.set_aside,
            Err(_) => PicoUsd::ZERO,
        };
        self.left = self.left.minus(cost);
        Ok(())
    }

    fn looked_up(&mut self, look: &LookUp<'_>) {
        let tool = look.tool.unwrap_or("(no such tool)");
        let line = format!(
            "turn {}: {tool} {} -> {}",
            look.turn, look.input, look.output.text
        );
        self.tell(&line);
    }
}

/// What the simulated model does: it looks, is corrected, and answers.
fn script(model: &Messages) {
    model.answer(Scripted::tool_calls_after(
        "I look both up.",
        vec![
            ("get_order_status", json!({"order_id": 4711})),
            ("check_stock", json!({"article": "bolt-m8"})),
        ],
    ));
    model.answer_when(
        "the second look",
        |prompt| {
            prompt
                .newest_results()
                .iter()
                .any(|(_, is_error)| *is_error)
        },
        Scripted::tool_calls(vec![("check_stock", json!({"sku": "bolt-m8"}))]),
    );
    model.answer_when(
        "the answer",
        |prompt| prompt.newest_results() == [("1,200 pieces", false)],
        Scripted::json(&json!({
            "reply": "Your order 4711 arrives on 1 December. We have 1,200 M8 bolts in stock.",
            "needs_a_person": false,
        })),
    );
}

fn question() -> Question {
    let block = |text: &str, cache| Block {
        text: text.to_owned(),
        cache,
    };
    Question {
        system: vec![block(
            "You answer customers of a shop for bolts. Look things up; do not guess.",
            true,
        )],
        user: vec![block(
            "Where is my order 4711, and do you have M8 bolts?",
            false,
        )],
        schema: json!({
            "type": "object", "additionalProperties": false, "required": ["reply", "needs_a_person"],
            "properties": {"reply": {"type": "string"}, "needs_a_person": {"type": "boolean"}}
        }),
        max_tokens: 1_000,
    }
}

async fn answer(sim: &Sim) -> Result<String, Failed> {
    script(sim.messages());
    let here = Arc::new(Here(Mutex::new(0)));
    let key = sim.messages().api_key().to_owned();
    let settings = AnthropicSettings::new(sim.messages().url().parse()?, key.into(), MODEL);
    let entropy: Arc<Here> = Arc::clone(&here);
    let model = AnthropicModel::new(settings, Arc::<Here>::clone(&here), entropy)?;
    let mut desk = Desk {
        prices: PriceTable::shipped(),
        left: PicoUsd::from_micro(250_000),
        set_aside: PicoUsd::ZERO,
        said: String::new(),
    };
    let conversation = Conversation {
        question: &question(),
        tools: &tools(),
        limits: Limits {
            turns: 6,
            ..Limits::default()
        },
        deadline: here.now().plus(Duration::from_secs(300)),
        gate: &mut desk,
    };
    let answer = model.converse(conversation).await?;
    let reply: Value = serde_json::from_str(&answer.text)?;
    desk.tell(&format!(
        "answer: {}",
        reply.get("reply").and_then(Value::as_str).unwrap_or("none")
    ));
    desk.tell(&format!("left in the purse: {}", desk.left));
    Ok(desk.said)
}

/// Leads the conversation; returns what happened, line by line.
pub(crate) fn run() -> Result<String, Failed> {
    let sim = Sim::start(SimOptions::default())?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let said = runtime.block_on(answer(&sim))?;
    sim.finish().map_err(|problems| format!("{problems:?}"))?;
    Ok(said)
}

#[cfg_attr(test, expect(dead_code, reason = "the test calls what it calls"))]
fn main() -> Result<(), Failed> {
    print!("{}", run()?);
    Ok(())
}

/// The machine's clock; an application has its own.
struct Here(Mutex<u64>);

#[async_trait]
impl Clock for Here {
    fn now(&self) -> Timestamp {
        #[expect(
            clippy::disallowed_methods,
            reason = "this is where the example's clock is read"
        )]
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Timestamp::new(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

impl Entropy for Here {
    fn hex(&self, bytes: usize) -> String {
        "00".repeat(bytes)
    }

    fn below(&self, bound: u64) -> u64 {
        // Good enough to spread retries; nothing here needs to be unguessable.
        let mut state = self
            .0
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        *state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.checked_rem(bound).unwrap_or(0)
    }
}
