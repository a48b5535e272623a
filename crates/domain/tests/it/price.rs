//! Prices: recorded cases of kind 12, the shipped table, and what holds for any usage.

use mirilla_casekit::{Case, cases};
use mirilla_domain::money::{PicoUsd, Usage};
use mirilla_domain::price::{
    BudgetError, PriceError, PriceTable, bill, calls_affordable, estimated_usage, usage,
};
use mirilla_domain::settings::Policy;
use proptest::prelude::*;
use serde_json::{Value, json};

fn case(id: &str) -> Case {
    cases("tests/fixtures/cases", |name| name.starts_with(id)).remove(0)
}

fn prices(case: &Case) -> (PriceTable, String) {
    let table = PriceTable::parse(&case.text("prices.json")).unwrap();
    let model = case.json("prices.json")["model"]
        .as_str()
        .unwrap()
        .to_owned();
    (table, model)
}

/// The expected amount, which a case may write with fewer zeros than we print.
fn dollars(value: &Value) -> PicoUsd {
    PicoUsd::parse(value.as_str().unwrap()).unwrap()
}

#[test]
fn case_179_cached_tokens_have_their_own_prices_in_both_conventions() {
    let case = case("179");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "cost/1");
    let (table, model) = prices(&case);
    let mut amounts = expected.take_object("usd").unwrap();
    let bill = bill(&case.json("usage.json"), &table, &model).unwrap();
    for line in &bill.calls {
        assert_eq!(
            line.usd,
            dollars(&amounts.need(&line.id)).exact(),
            "{}",
            line.id
        );
    }
    assert!(!bill.estimated);
    amounts.finish();
    expected.finish();
}

#[test]
fn case_180_reasoning_is_part_of_the_output() {
    let case = case("180");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "cost/1");
    let (table, model) = prices(&case);
    let bill = bill(&case.json("usage.json"), &table, &model).unwrap();
    assert_eq!(bill.usd, dollars(&expected.need("usd")).exact());
    expected.finish();
}

#[test]
fn case_182_missing_counts_are_estimated_on_the_upper_side() {
    let case = case("182");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "cost/1");
    assert_eq!(expected.need("each"), "> 0 and flagged estimated");
    let note = expected.need("floor_note");
    let floor = dollars(&json!(note.as_str().unwrap().rsplit_once("= ").unwrap().1));
    let (table, model) = prices(&case);
    let bill = bill(&case.json("answers.json"), &table, &model).unwrap();
    for line in &bill.calls {
        assert!(line.usage.estimated, "{}", line.id);
        let cost = dollars(&json!(line.usd));
        assert!(cost > PicoUsd::ZERO, "{}", line.id);
        // The third answer reports 900 output tokens itself, so that the floor holds for its input alone.
        let reported = line.id == "3";
        assert!(
            cost >= floor || reported && cost.plus(dollars(&json!("0.015"))) >= floor,
            "{}",
            line.usd
        );
    }
    assert_eq!(bill.calls[2].usage.output_tokens, 900);
    expected.finish();
}

#[test]
fn case_183_failed_calls_cost_what_they_used() {
    let case = case("183");
    let mut expected = case.expected();
    assert_eq!(expected.need("schema"), "cost/1");
    let (table, model) = prices(&case);
    let bill = bill(&case.json("calls.json"), &table, &model).unwrap();
    assert_eq!(bill.usd, dollars(&expected.need("usd")).exact());
    assert_eq!(bill.micro_usd, 179_940);
    expected.finish();
}

/// The figures of the table that ships, written down a second time.
#[test]
fn shipped_prices_are_those_of_the_providers_page() {
    let table = PriceTable::shipped();
    let per_million = |model: &str, input: u64| -> Vec<String> {
        let rates = table.rates(model, input).unwrap();
        [
            rates.input,
            rates.output,
            rates.cache_write_5m,
            rates.cache_write_1h,
            rates.cache_read,
        ]
        .iter()
        .map(|rate| rate.times(1_000_000).exact())
        .collect()
    };
    for (model, rates) in [
        ("claude-opus-5-5", ["4.00", "20.00", "5.00", "8.00", "0.20"]),
        ("claude-opus-5", ["5.00", "25.00", "6.25", "10.00", "0.50"]),
        (
            "claude-sonnet-5-5",
            ["2.00", "10.00", "2.50", "4.00", "0.10"],
        ),
        ("claude-sonnet-5", ["2.00", "10.00", "2.50", "4.00", "0.20"]),
        (
            "claude-haiku-5-5",
            ["0.10", "0.50", "0.125", "0.20", "0.01"],
        ),
        (
            "claude-fable-5-1",
            ["10.00", "50.00", "12.50", "20.00", "0.25"],
        ),
        (
            "claude-fable-5",
            ["10.00", "50.00", "12.50", "20.00", "1.00"],
        ),
        (
            "claude-sonnet-4-6",
            ["3.00", "15.00", "3.75", "6.00", "0.30"],
        ),
        ("claude-haiku-4-5", ["1.00", "5.00", "1.25", "2.00", "0.10"]),
    ] {
        assert_eq!(per_million(model, 0), rates, "{model}");
    }
    for version in ["8", "7", "6", "5"] {
        let model = format!("claude-opus-4-{version}");
        assert_eq!(
            per_million(&model, 900_000),
            ["5.00", "25.00", "6.25", "10.00", "0.50"]
        );
    }
    assert_eq!(
        per_million("claude-haiku-5-5", 100_000),
        ["0.10", "0.50", "0.125", "0.20", "0.01"]
    );
    assert_eq!(
        per_million("claude-haiku-5-5", 100_001),
        ["0.50", "2.50", "0.625", "1.00", "0.05"]
    );
    assert_eq!(table.models().count(), 13);
    assert_eq!(table.as_of.as_deref(), Some("2026-11-29"));
}

#[test]
fn a_tier_holds_for_the_whole_request_and_counts_cached_input() {
    let table = PriceTable::shipped();
    let used = Usage {
        input_tokens: 1,
        cache_read_tokens: 100_000,
        output_tokens: 1_000,
        ..Usage::default()
    };
    let cost = table.cost("claude-haiku-5-5", &used).unwrap();
    // 1 at 0.50, 100,000 at 0.05 and 1,000 at 2.50 dollars per million.
    assert_eq!(cost.exact(), "0.0075005");
}

#[test]
fn ids_of_bedrock_are_priced_under_their_plain_name() {
    let table = PriceTable::shipped();
    let used = Usage {
        output_tokens: 1_000_000,
        ..Usage::default()
    };
    for (id, cost) in [
        ("global.anthropic.claude-opus-4-5-20251101-v1:0", "25.00"),
        ("us.anthropic.claude-sonnet-5-5", "10.00"),
        ("anthropic.claude-opus-5-5", "20.00"),
        ("claude-haiku-4-5-20251001", "5.00"),
        ("eu.anthropic.claude-haiku-4-5-20251001-v1:0", "5.00"),
    ] {
        assert_eq!(table.cost(id, &used).unwrap().exact(), cost, "{id}");
    }
}

#[test]
fn a_model_without_a_price_is_refused_with_those_that_have_one() {
    let table = PriceTable::shipped();
    let arn = "arn:aws:bedrock:eu-west-1:123456789012:application-inference-profile/abc";
    for model in ["gpt-6", "claude-sonnet-5-55", "claude-", "", arn] {
        let error = table.cost(model, &Usage::default()).unwrap_err();
        assert!(
            error
                .to_string()
                .contains("claude-sonnet-5, claude-sonnet-5-5"),
            "{error}"
        );
    }
    let own = format!(
        "[[model]]\nid = \"{arn}\"\ninput = \"2.2\"\noutput = 11\ncache-write-5m = 2.75\ncache-write-1h = 4.4\ncache-read = 0.11\n"
    );
    let table = table.overridden(PriceTable::parse(&own).unwrap());
    assert_eq!(
        table.rates(arn, 0).unwrap().output.times(1_000_000).exact(),
        "11.00"
    );
    assert!(table.cost("claude-sonnet-5-5", &Usage::default()).is_ok());
}

#[test]
fn price_files_that_mean_something_else_are_refused() {
    let model = |extra: &str| {
        format!(
            "[[model]]\nid = \"m\"\ninput = 1\noutput = 2\ncache-write-5m = 1\ncache-write-1h = 1\ncache-read = 1\n{extra}"
        )
    };
    let tier = |above: u64| {
        format!(
            "[[model.tier]]\nabove-input-tokens = {above}\ninput = 1\noutput = 1\ncache-write-5m = 1\ncache-write-1h = 1\ncache-read = 1\n"
        )
    };
    let error = |text: &str| PriceTable::parse(text).unwrap_err();
    assert!(matches!(error(""), PriceError::Empty));
    assert!(matches!(error("{"), PriceError::Json(_)));
    assert!(matches!(error(&model("inptu = 3\n")), PriceError::Toml(_)));
    assert!(matches!(error(&model(&model(""))), PriceError::Twice(id) if id == "m"));
    assert!(matches!(
        error(&model(&(tier(9) + &tier(9)))),
        PriceError::Tiers(_)
    ));
    for (from, to) in [("input = 1", "input = 0"), ("output = 2", "output = 0.0")] {
        assert!(
            matches!(error(&model("").replace(from, to)), PriceError::Free(_)),
            "{to}"
        );
    }
    for bad in ["-1", "nan", "inf", "0.0000001", "true", "\"two\""] {
        let text = model("").replace("output = 2", &format!("output = {bad}"));
        assert!(matches!(error(&text), PriceError::Toml(_)), "{bad}");
    }
}

#[test]
fn a_cap_below_three_calls_is_a_settings_error_that_names_the_least() {
    let table = PriceTable::shipped();
    assert_eq!(table.check(&Policy::default()), Ok(()));
    let call = table.typical_call(&Policy::default()).unwrap();
    let capped = |max_usd: PicoUsd| Policy {
        max_usd,
        ..Policy::default()
    };
    assert_eq!(table.check(&capped(call.times(3))), Ok(()));
    let low = capped(call.times(3).minus(PicoUsd::new(1)));
    let error = table.check(&low).unwrap_err();
    assert!(matches!(error, BudgetError::Cap(_)), "{error}");
    assert!(
        error
            .to_string()
            .contains(&format!("set it to {}", call.times(3))),
        "{error}"
    );
    let unknown = Policy {
        model: "gpt-6".to_owned(),
        ..Policy::default()
    };
    assert!(matches!(table.check(&unknown), Err(BudgetError::Model(_))));
}

#[test]
fn affordable_calls_are_whole_ones() {
    let dollars = |text: &str| PicoUsd::parse(text).unwrap();
    assert_eq!(calls_affordable(dollars("0.0449"), dollars("0.0510")), 0);
    assert_eq!(calls_affordable(dollars("0.153"), dollars("0.051")), 3);
    assert_eq!(calls_affordable(dollars("1"), PicoUsd::ZERO), u64::MAX);
}

#[test]
fn usage_objects_of_both_conventions_are_read() {
    let anthropic = json!({
        "input_tokens": 10, "output_tokens": 34, "cache_creation_input_tokens": 700,
        "cache_read_input_tokens": 5,
        "cache_creation": {"ephemeral_5m_input_tokens": 500, "ephemeral_1h_input_tokens": 200},
        "output_tokens_details": {"thinking_tokens": 30}
    });
    let read = usage(&anthropic);
    assert_eq!(
        (
            read.input_tokens,
            read.output_tokens,
            read.cache_read_tokens
        ),
        (10, 34, 5)
    );
    assert_eq!(
        (read.cache_write_5m_tokens, read.cache_write_1h_tokens),
        (500, 200)
    );
    let openai = json!({
        "prompt_tokens": 100, "completion_tokens": 9, "prompt_tokens_details": {"cached_tokens": 60}
    });
    let read = usage(&openai);
    assert_eq!(
        (
            read.input_tokens,
            read.cache_read_tokens,
            read.output_tokens
        ),
        (40, 60, 9)
    );
    assert_eq!(usage(&Value::Null), Usage::default());
    assert!(bill(&json!([1]), &PriceTable::shipped(), "claude-opus-5").is_err());
}

fn a_usage() -> impl Strategy<Value = Usage> {
    let count = 0..2_000_000_u64;
    (
        count.clone(),
        0..130_000_u64,
        count.clone(),
        count.clone(),
        count,
    )
        .prop_map(
            |(
                input_tokens,
                output_tokens,
                cache_read_tokens,
                cache_write_5m_tokens,
                cache_write_1h_tokens,
            )| Usage {
                input_tokens,
                output_tokens,
                cache_read_tokens,
                cache_write_5m_tokens,
                cache_write_1h_tokens,
                estimated: false,
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// No usage within its bounds costs more than was set aside for it, for any model that ships.
    #[test]
    fn a_call_never_costs_more_than_its_worst_case(used in a_usage(), slack in 0..1_000_u64) {
        let table = PriceTable::shipped();
        // Nothing is ever written to the cache for an hour.
        let used = Usage { cache_write_1h_tokens: 0, ..used };
        for model in table.models() {
            let cost = table.cost(model, &used).unwrap();
            let max_tokens = used.output_tokens as u32;
            let worst = table.worst_case(model, used.total_input() + slack, max_tokens).unwrap();
            prop_assert!(cost <= worst, "{} {:?}", model, used);
        }
    }

    /// The sum of parts is the whole, within one tier.
    #[test]
    fn costs_add_up_exactly(one in a_usage(), two in a_usage()) {
        let table = PriceTable::shipped();
        let cost = |used: &Usage| table.cost("claude-sonnet-5-5", used).unwrap();
        prop_assert_eq!(cost(&one.plus(&two)), cost(&one).plus(cost(&two)));
    }

    /// What is estimated is never less than what was reported.
    #[test]
    fn estimates_never_lower_a_count(used in a_usage(), prompt in 0..100_000_u64, text in 0..100_000_u64) {
        let estimated = estimated_usage(&used, prompt, text);
        prop_assert!(estimated.total_input() >= used.total_input());
        prop_assert!(estimated.output_tokens >= used.output_tokens);
        prop_assert_eq!(estimated.estimated, estimated != used);
    }
}
