//! Which answer comes, how it is cut, and what is left over.

use super::*;
use crate::faults::Fault;
use crate::server::Transport;

fn about(chunk: &str) -> Value {
    with(&[("/messages/-", json!({"role": "user", "content": chunk}))])
}

#[test]
fn scripted_answers_come_by_marker_and_in_order() {
    let desk = Desk::new();
    let messages = &desk.messages;
    messages.answer_when("pay", |p| p.contains("Pay.java"), Scripted::text("pay 1"));
    messages.answer_when("pay", |p| p.contains("Pay.java"), Scripted::text("pay 2"));
    messages.answer_all_when(
        "cart",
        |p| p.contains("Cart.java"),
        |_| Scripted::text("cart"),
    );
    messages.answer(Scripted::text("any"));
    assert_eq!(desk.text(&about("Cart.java")), "any");
    assert_eq!(desk.text(&about("Pay.java")), "pay 1");
    assert_eq!(desk.text(&about("Cart.java")), "cart");
    assert_eq!(desk.text(&about("Pay.java")), "pay 2");
    assert_eq!(desk.text(&about("Cart.java")), "cart");
    assert_eq!(messages.problems(), []);
}

#[test]
fn unscripted_request_is_refused_and_a_problem() {
    let desk = Desk::new();
    let (status, body) = desk.post(&request());
    assert_eq!(
        (status, body["error"]["type"].as_str()),
        (400, Some("invalid_request_error"))
    );
    let what = "POST /v1/messages: no answer is scripted for this request";
    assert_eq!(
        desk.messages.problems(),
        [Problem::BadRequest(what.to_owned())]
    );
}

#[test]
fn leftovers_are_problems() {
    let desk = Desk::new();
    let messages = &desk.messages;
    messages.answer_when(
        "the pay file",
        |p| p.contains("Pay.java"),
        Scripted::overloaded(),
    );
    messages.answer_all_when(
        "the cart",
        |p| p.contains("Cart.java"),
        |_| Scripted::empty(),
    );
    messages
        .faults()
        .on("POST /v1/messages", 3, Fault::DropAfterEffect);
    let wanted = [
        "never happened: drop-after-effect at call 3 of POST /v1/messages",
        "never happened: the answer for the pay file: status 529 (Right, Whole)",
        "never happened: any answer for the cart",
    ];
    let problems: Vec<String> = messages
        .problems()
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(problems, wanted);
}

#[test]
fn secret_in_a_prompt_is_a_leak() {
    let desk = Desk::easy();
    desk.sentinels.add("ghs_made_up_token_0123456789");
    desk.post(&about("see ghs_made_up_token_0123456789"));
    let leak = Problem::Leak("in the body of POST /v1/messages".to_owned());
    assert_eq!(desk.messages.problems(), [leak]);
}

#[test]
fn answer_is_really_cut_at_max_tokens() {
    let desk = Desk::new();
    desk.messages.answer(Scripted::text("word ".repeat(500)));
    let (_, answer) = desk.post(&with(&[("/max_tokens", json!(100))]));
    assert_eq!(answer["stop_reason"], "max_tokens");
    assert_eq!(answer["usage"]["output_tokens"], 100);
    let text = answer["content"][1]["text"].as_str().unwrap();
    assert_eq!(text.matches("word").count(), 100);
}

#[test]
fn thinking_counts_as_output_and_can_eat_the_answer() {
    let desk = Desk::new();
    desk.messages
        .answer(Scripted::thinking_first(90, &json!({"summary": "ok"})));
    let (_, answer) = desk.post(&with(&[("/max_tokens", json!(92))]));
    assert_eq!(answer["content"][0]["type"], "thinking");
    assert_eq!(answer["content"][1]["text"], "{\"");
    assert_eq!(answer["usage"]["output_tokens"], 92);
    assert_eq!(
        answer["usage"]["output_tokens_details"]["thinking_tokens"],
        90
    );
}

#[test]
fn answer_that_overflows_the_window_stops_there() {
    let desk = Desk::new();
    desk.messages.set_window("claude-sonnet-5-5", 120);
    desk.messages.answer(Scripted::text("word ".repeat(500)));
    let (_, answer) = desk.post(&request());
    assert_eq!(answer["stop_reason"], "model_context_window_exceeded");
    let tokens = |key: &str| answer["usage"][key].as_u64().unwrap();
    assert_eq!(tokens("input_tokens") + tokens("output_tokens"), 120);
}

#[test]
fn bad_answers_are_as_bad_as_they_say() {
    let desk = Desk::new();
    let value = json!({"summary": "ok"});
    let messages = &desk.messages;
    let say = |answer: Scripted| {
        messages.answer(answer);
        let (status, answer) = desk.post(&request());
        let texts = answer["content"].as_array().cloned().unwrap_or_default();
        let text: String = texts.iter().filter_map(|b| b["text"].as_str()).collect();
        let stop = answer["stop_reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned();
        (status, stop, text)
    };
    let finished = |text: &str| (200, "end_turn".to_owned(), text.to_owned());
    assert_eq!(
        say(Scripted::json(&value)),
        finished("{\"summary\":\"ok\"}")
    );
    assert_eq!(
        say(Scripted::fenced(&value)),
        finished("```json\n{\n  \"summary\": \"ok\"\n}\n```")
    );
    assert_eq!(
        say(Scripted::two_objects(&value, &json!({}))),
        finished("{\"summary\":\"ok\"}\n{}")
    );
    assert_eq!(say(Scripted::empty()), finished(""));
    assert_eq!(say(Scripted::blank()), finished("  \n"));
    assert_eq!(
        say(Scripted::unknown_blocks(&value)),
        finished("{\"summary\":\"ok\"}")
    );
    for (answer, stop) in [
        (Scripted::refusal(Some("cyber")), "refusal"),
        (Scripted::truncated(&value), "max_tokens"),
        (Scripted::unknown_stop(&value), "some_future_reason"),
    ] {
        assert_eq!(say(answer).1, stop);
    }
    for answer in [
        Scripted::invalid_json(),
        Scripted::truncated(&value),
        Scripted::apology(),
        Scripted::prose_around(&value),
    ] {
        let (_, _, text) = say(answer);
        assert!(serde_json::from_str::<Value>(&text).is_err(), "{text}");
    }
    for (answer, status) in [
        (Scripted::overloaded(), 529),
        (Scripted::ramp_limited(7), 429),
        (Scripted::spend_limited(), 429),
        (Scripted::server_error(), 500),
        (Scripted::gateway_timeout(), 504),
        (Scripted::page(503), 503),
        (Scripted::error_inside_200(), 200),
        (Scripted::html_200(), 200),
        (Scripted::broken_stream(), 200),
    ] {
        assert_eq!(say(answer), (status, String::new(), String::new()));
    }
    assert_eq!(messages.problems(), []);
}

#[test]
fn usage_can_be_left_out_or_wrong_while_the_books_are_right() {
    let desk = Desk::new();
    let value = json!({"summary": "ok"});
    for (answer, said) in [
        (Scripted::json(&value).without_usage(), Value::Null),
        (
            Scripted::json(&value).zero_usage(),
            json!({"input_tokens": 0, "output_tokens": 0}),
        ),
        (
            Scripted::json(&value).usage_without_input(),
            json!({"output_tokens": 10}),
        ),
    ] {
        desk.messages.answer(answer);
        let (_, answer) = desk.post(&request());
        assert_eq!(answer["usage"], said);
    }
    let charged = desk.messages.charged();
    assert_eq!((charged.calls, charged.usage.output), (3, 30));
}

#[test]
fn charge_depends_on_processing_not_on_arrival() {
    let desk = Desk::new();
    let value = json!({"summary": "ok"});
    let route = "POST /v1/messages";
    let send = |answer: Option<Scripted>, fault: Option<Fault>| {
        let before = desk.messages.charged().calls;
        if let Some(answer) = answer {
            desk.messages.answer(answer);
        }
        if let Some(fault) = fault {
            desk.messages.faults().on_next(route, fault);
        }
        let reply = desk.send(
            "POST",
            "/v1/messages",
            &desk.headers(),
            &request().to_string(),
        );
        let arrived = reply.transport != Transport::Dropped;
        (arrived, desk.messages.charged().calls - before)
    };
    assert_eq!(send(Some(Scripted::json(&value)), None), (true, 1));
    assert_eq!(send(Some(Scripted::dropped_before()), None), (false, 0));
    assert_eq!(
        send(Some(Scripted::dropped_after(&value)), None),
        (false, 1)
    );
    assert_eq!(send(None, Some(Fault::DropBeforeEffect)), (false, 0));
    assert_eq!(send(None, Some(Fault::status(503, "{}"))), (true, 0));
    assert_eq!(
        send(Some(Scripted::json(&value)), Some(Fault::DropAfterEffect)),
        (false, 1)
    );
    assert_eq!(
        send(
            Some(Scripted::json(&value)),
            Some(Fault::LandLater { calls: 2 })
        ),
        (false, 1)
    );
    assert_eq!(
        send(Some(Scripted::json(&value)), Some(Fault::HtmlInsteadOfJson)),
        (true, 1)
    );
    for (answer, charged) in [
        (Scripted::overloaded(), 0),
        (Scripted::ramp_limited(1), 0),
        (Scripted::server_error(), 0),
        (Scripted::gateway_timeout(), 1),
        (Scripted::error_inside_200(), 1),
        (Scripted::refusal(None), 1),
        (Scripted::json(&value).cut(10), 1),
    ] {
        assert_eq!(send(Some(answer), None), (true, charged));
    }
    let calls = desk.messages.calls();
    assert!(
        calls
            .iter()
            .all(|call| call.token_kind == "key" && call.route == route)
    );
    assert_eq!(calls.iter().filter(|call| call.status == 0).count(), 5);
    assert_eq!(desk.messages.problems(), []);
}
