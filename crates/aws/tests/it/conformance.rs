//! What the adapters rely on in the emulator, asked of it directly: when one of these fails, the
//! emulator changed, not the adapters. A pass is no evidence about real AWS.

use std::collections::HashMap;

use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    AttributeValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem, Update,
};
use mirilla_contract::sample;
use mirilla_domain::ids::RepoId;
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse};
use mirilla_ports::QueueSend as _;
use mirilla_ports::message::Message;
use mirilla_ports::queue::QueueName;

use crate::support::{METER, World};

fn add(pk: &str, amount: u64, room: Option<u64>) -> TransactWriteItem {
    let mut update = Update::builder()
        .table_name(METER)
        .key("pk", AttributeValue::S(pk.to_owned()))
        .update_expression("ADD #total :more")
        .expression_attribute_names("#total", "total")
        .expression_attribute_values(":more", AttributeValue::N(amount.to_string()))
        .return_values_on_condition_check_failure(ReturnValuesOnConditionCheckFailure::AllOld);
    if let Some(room) = room {
        update = update
            .condition_expression("attribute_not_exists(#total) OR #total <= :room")
            .expression_attribute_values(":room", AttributeValue::N(room.to_string()));
    }
    TransactWriteItem::builder()
        .update(update.build().unwrap())
        .build()
}

async fn total(world: &World, pk: &str) -> Option<String> {
    let get = world.aws.dynamodb().get_item().table_name(METER);
    let item = get
        .key("pk", AttributeValue::S(pk.to_owned()))
        .send()
        .await
        .unwrap()
        .item?;
    Some(item["total"].as_n().unwrap().clone())
}

#[tokio::test]
async fn transactions_are_whole_exact_and_remembered_by_their_token() {
    let world = World::start().await;
    world.meter().await;
    let client = world.aws.dynamodb();
    let write = async |token: &str, items: Vec<TransactWriteItem>| {
        let write = client.transact_write_items().client_request_token(token);
        write.set_transact_items(Some(items)).send().await
    };
    // Sums of 20 digits stay exact, and a token counts once.
    for _ in 0..2 {
        write("one", vec![add("a", u64::MAX, None), add("b", 1, None)])
            .await
            .unwrap();
    }
    write("two", vec![add("a", u64::MAX, None)]).await.unwrap();
    assert_eq!(total(&world, "a").await.unwrap(), "36893488147419103230");
    assert_eq!(total(&world, "b").await.unwrap(), "1");

    // Reasons come in the order of the rows, with the row that was in the way.
    let items = vec![
        add("c", 1, Some(0)),
        add("b", 1, Some(0)),
        add("d", 1, None),
    ];
    let error = write("three", items).await.unwrap_err();
    let Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) =
        error.as_service_error()
    else {
        panic!("{error:?}");
    };
    let codes: Vec<_> = cancelled
        .cancellation_reasons()
        .iter()
        .map(|it| it.code().unwrap_or("None"))
        .collect();
    assert_eq!(codes, ["None", "ConditionalCheckFailed", "None"]);
    let item: &HashMap<_, _> = cancelled.cancellation_reasons()[1].item.as_ref().unwrap();
    assert_eq!(item["total"].as_n().unwrap(), "1");
    assert_eq!(total(&world, "c").await, None, "nothing was written");
    // A refused token may be used again: it stands for nothing.
    write("three", vec![add("c", 1, Some(0))]).await.unwrap();

    let twice = write("four", vec![add("e", 1, None), add("e", 1, None)]).await;
    assert!(twice.is_err(), "one row twice is refused");
}

#[tokio::test]
async fn reserved_words_need_a_name() {
    let world = World::start().await;
    world.meter().await;
    let update = world.aws.dynamodb().update_item().table_name(METER);
    let update = update
        .key("pk", AttributeValue::S("a".to_owned()))
        .update_expression("ADD total :one")
        .expression_attribute_values(":one", AttributeValue::N("1".to_owned()));
    assert!(update.send().await.is_err());
}

#[tokio::test]
async fn standard_queue_takes_a_message_group() {
    let world = World::start().await;
    let (queues, urls) = world.queues().await;
    let job = sample::job('a', sample::at(0)).id;
    let message = Message::ReviewV1 {
        job,
        attempt: mirilla_domain::ids::AttemptNo::FIRST,
        purses: vec![CappedPurse {
            purse: Purse::RepositoryDay(RepoId::new(42), 1),
            cap: PicoUsd::ZERO,
        }],
        grants: None,
    };
    queues
        .send(QueueName::Review, &message, std::time::Duration::ZERO)
        .await
        .unwrap();
    let name = aws_sdk_sqs::types::MessageSystemAttributeName::MessageGroupId;
    let received = world
        .aws
        .sqs()
        .receive_message()
        .queue_url(urls.review.unwrap())
        .message_system_attribute_names(name.clone())
        .send()
        .await
        .unwrap();
    let received = &received.messages()[0];
    assert_eq!(received.attributes().unwrap()[&name], "42");
    let body: Message = serde_json::from_str(received.body().unwrap()).unwrap();
    assert_eq!(body, message);
}
