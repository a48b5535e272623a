//! What a caller that books by this adapter's word has booked, against what the provider charges.
//!
//! The rule for the caller: an answer is booked at its usage; a lost answer at the worst case, which was
//! set aside; anything else is given back.

use mirilla_domain::chunk::token_bound;
use mirilla_domain::money::PicoUsd;
use mirilla_domain::price::{PriceTable, REQUEST_OVERHEAD_TOKENS};
use mirilla_ports::model::{Answer, ModelError};
use mirilla_sim::{Fault, Scripted};
use proptest::prelude::*;
use serde_json::json;

use crate::against_sim::{Rig, small};
use crate::support::block;

const MODEL: &str = "claude-sonnet-5-5";

fn worst_case(question: &mirilla_ports::model::Question) -> PicoUsd {
    let bound = token_bound(question.bytes()).saturating_add(REQUEST_OVERHEAD_TOKENS);
    PriceTable::shipped()
        .worst_case(MODEL, bound, question.max_tokens)
        .unwrap()
}

fn booked(result: &Result<Answer, ModelError>, worst: PicoUsd) -> PicoUsd {
    match result {
        Ok(answer) => PriceTable::shipped().cost(MODEL, &answer.usage).unwrap(),
        Err(ModelError::AnswerLost { .. }) => worst,
        Err(_) => PicoUsd::ZERO,
    }
}

/// Case 183 over HTTP: truncated, refused and lost calls cost too, and what was not processed does not.
#[tokio::test]
async fn nothing_charged_is_left_out_and_nothing_exceeds_what_was_set_aside() {
    let ok = json!({"summary": "ok"});
    for (name, answer) in [
        ("good", Scripted::json(&ok)),
        ("truncated", Scripted::truncated(&ok)),
        ("refused", Scripted::refusal(None)),
        ("malformed", Scripted::invalid_json()),
        ("without usage", Scripted::json(&ok).without_usage()),
        ("zero usage", Scripted::json(&ok).zero_usage()),
        ("half a usage", Scripted::json(&ok).usage_without_input()),
        (
            "thinking",
            Scripted::thinking_first(3_000, &ok).without_usage(),
        ),
        ("dropped before", Scripted::dropped_before()),
        ("dropped after", Scripted::dropped_after(&ok)),
        ("cut", Scripted::json(&ok).cut(30)),
        ("page", Scripted::html_200()),
        ("error inside", Scripted::error_inside_200()),
        ("stream", Scripted::broken_stream()),
        ("timed out", Scripted::gateway_timeout()),
        ("spent", Scripted::spend_limited()),
    ] {
        let rig = Rig::new();
        let result = rig.get(answer).await;
        let charged = rig.sim.messages().charged().pico_usd;
        let worst = worst_case(&small());
        let booked = booked(&result, worst);
        assert!(
            charged <= booked.get(),
            "{name}: {charged} charged, {booked:?} booked"
        );
        assert!(
            booked <= worst,
            "{name}: {booked:?} booked, {worst:?} set aside"
        );
        rig.sim.finish().unwrap();
    }
}

#[tokio::test]
async fn retried_calls_are_charged_once() {
    for fault in [
        || {
            Fault::status(
                529,
                r#"{"type":"error","error":{"type":"overloaded_error"}}"#,
            )
        },
        || Fault::status(500, r#"{"type":"error","error":{"type":"api_error"}}"#),
        || Fault::status(429, "{}"),
    ] {
        let rig = Rig::new();
        for nth in [1, 2] {
            rig.sim
                .messages()
                .faults()
                .on("POST /v1/messages", nth, fault());
        }
        let result = rig.get(Scripted::json(&json!({"summary": "ok"}))).await;
        let charged = rig.sim.messages().charged();
        assert_eq!(charged.calls, 1);
        assert_eq!(booked(&result, PicoUsd::ZERO).get(), charged.pico_usd);
        rig.sim.finish().unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// No text costs more than was set aside for it, whatever it holds.
    #[test]
    fn no_prompt_costs_more_than_its_bound(text in "\\PC{1,200}x", rules in "[!-~ \n]{1,200}x") {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let (charged, worst) = runtime.block_on(async {
            let rig = Rig::new();
            let mut question = small();
            question.system.push(block(&rules, true));
            question.user = vec![block(&text, false)];
            rig.sim.messages().set_cache_minimum(MODEL, 1);
            rig.sim.messages().answer(Scripted::text(text.repeat(100)));
            rig.ask(&question).await.unwrap();
            (rig.sim.messages().charged().pico_usd, worst_case(&question))
        });
        prop_assert!(charged <= worst.get());
    }
}
