//! The contract of the queues.

use std::time::Duration;

use mirilla_domain::ids::AttemptNo;
use mirilla_ports::message::Message;
use mirilla_ports::queue::{QueueDepth, QueueName, Received};
use mirilla_ports::{Clock, Queue, QueueError, QueueSend};

use crate::sample::{at, job};

/// How often a message is handed out before it becomes a dead letter.
pub const MAX_RECEIVES: u32 = 10;

const NOW: Duration = Duration::ZERO;
const HIDDEN: Duration = Duration::from_secs(2);

/// Checks empty queues whose time passes on `clock`, and their receipts.
pub async fn queue(
    queue: &dyn Queue,
    depth: &dyn QueueDepth,
    send: &dyn QueueSend,
    clock: &dyn Clock,
) {
    sending(queue, depth, send, clock).await;
    receipts_end_with_what_they_are_for(queue, send, clock).await;
    what_cannot_succeed_is_buried(queue, depth, send, clock).await;
}

/// Checks empty queues whose messages somebody else may hand out: what is sent arrives, is hidden,
/// put back, counted and given up.
pub async fn sending(
    queue: &dyn Queue,
    depth: &dyn QueueDepth,
    send: &dyn QueueSend,
    clock: &dyn Clock,
) {
    a_message_is_hidden_while_it_is_worked_on(queue, depth, send, clock).await;
    queues_are_apart_and_delays_are_kept(queue, depth, send, clock).await;
    what_nobody_deletes_is_given_up(queue, depth, send).await;
}

fn message(head: char) -> Message {
    Message::CollectV1 {
        job: job(head, at(0)).id,
    }
}

async fn receive(queue: &dyn Queue, name: QueueName) -> Option<Received> {
    queue.receive(name, HIDDEN).await.unwrap()
}

fn assert_expired(outcome: &Result<(), QueueError>) {
    assert!(
        matches!(outcome, Err(QueueError::ReceiptExpired)),
        "{outcome:?}"
    );
}

async fn a_message_is_hidden_while_it_is_worked_on(
    queue: &dyn Queue,
    depth: &dyn QueueDepth,
    send: &dyn QueueSend,
    clock: &dyn Clock,
) {
    let name = QueueName::Collect;
    assert_eq!(receive(queue, name).await, None);
    send.send(name, &message('a'), NOW).await.unwrap();
    let first = receive(queue, name).await.expect("it was sent");
    assert_eq!(first.receive_count, 1);
    let parsed: Message = serde_json::from_str(&first.body).unwrap();
    assert_eq!(parsed, message('a'));
    assert_eq!(receive(queue, name).await, None, "hidden");
    assert_eq!(depth.depth(name).await.unwrap(), 1, "hidden messages count");

    clock.sleep(HIDDEN).await;
    let second = receive(queue, name).await.expect("it came back");
    assert_eq!(second.receive_count, 2);
    assert_eq!(second.body, first.body);

    queue
        .put_back(name, &second.receipt, HIDDEN * 2)
        .await
        .unwrap();
    clock.sleep(HIDDEN).await;
    assert_eq!(receive(queue, name).await, None, "the wanted delay is kept");
    clock.sleep(HIDDEN).await;
    let third = receive(queue, name).await.expect("after the delay");
    queue.delete(name, &third.receipt).await.unwrap();
    assert_expired(&queue.put_back(name, &third.receipt, NOW).await);
    clock.sleep(HIDDEN).await;
    assert_eq!(receive(queue, name).await, None);
    assert_eq!(depth.depth(name).await.unwrap(), 0);
}

async fn receipts_end_with_what_they_are_for(
    queue: &dyn Queue,
    send: &dyn QueueSend,
    clock: &dyn Clock,
) {
    let name = QueueName::Collect;
    send.send(name, &message('a'), NOW).await.unwrap();
    let first = receive(queue, name).await.unwrap();
    clock.sleep(HIDDEN).await;
    let second = receive(queue, name).await.unwrap();
    assert_expired(&queue.delete(name, &first.receipt).await);
    assert_expired(&queue.put_back(name, &first.receipt, NOW).await);
    assert_expired(&queue.bury(name, &first.receipt).await);
    assert_expired(&queue.delete(name, "no receipt").await);
    assert_expired(&queue.delete(QueueName::Post, &second.receipt).await);
    queue.delete(name, &second.receipt).await.unwrap();
    assert_expired(&queue.delete(name, &second.receipt).await);
}

async fn queues_are_apart_and_delays_are_kept(
    queue: &dyn Queue,
    depth: &dyn QueueDepth,
    send: &dyn QueueSend,
    clock: &dyn Clock,
) {
    let post = Message::PostV1 {
        job: job('b', at(0)).id,
        attempt: AttemptNo::FIRST,
        findings: None,
    };
    send.send(QueueName::Post, &post, HIDDEN).await.unwrap();
    send.send(QueueName::Review, &message('c'), NOW)
        .await
        .unwrap();
    assert_eq!(receive(queue, QueueName::Post).await, None, "delayed");
    assert_eq!(
        depth.depth(QueueName::Post).await.unwrap(),
        1,
        "delayed messages count"
    );
    let other = receive(queue, QueueName::Review).await.unwrap();
    queue
        .delete(QueueName::Review, &other.receipt)
        .await
        .unwrap();
    clock.sleep(HIDDEN).await;
    let due = receive(queue, QueueName::Post).await.expect("due");
    assert_eq!(serde_json::from_str::<Message>(&due.body).unwrap(), post);
    queue.delete(QueueName::Post, &due.receipt).await.unwrap();
}

async fn what_cannot_succeed_is_buried(
    queue: &dyn Queue,
    depth: &dyn QueueDepth,
    send: &dyn QueueSend,
    clock: &dyn Clock,
) {
    let name = QueueName::Review;
    send.send(name, &message('d'), NOW).await.unwrap();
    let poison = receive(queue, name).await.unwrap();
    queue.bury(name, &poison.receipt).await.unwrap();
    clock.sleep(HIDDEN).await;
    assert_eq!(receive(queue, name).await, None);
    assert_eq!(
        depth.depth(name).await.unwrap(),
        0,
        "dead letters do not count"
    );
}

async fn what_nobody_deletes_is_given_up(
    queue: &dyn Queue,
    depth: &dyn QueueDepth,
    send: &dyn QueueSend,
) {
    let name = QueueName::Review;
    // One that nobody ever deletes is handed out so often and no more; others pass it by.
    send.send(name, &message('e'), NOW).await.unwrap();
    for count in 1..=MAX_RECEIVES {
        let again = receive(queue, name).await.expect("not yet given up");
        assert_eq!(again.receive_count, count);
        queue.put_back(name, &again.receipt, NOW).await.unwrap();
    }
    send.send(name, &message('f'), NOW).await.unwrap();
    let next = receive(queue, name).await.expect("the other message");
    assert_eq!(
        serde_json::from_str::<Message>(&next.body).unwrap(),
        message('f')
    );
    queue.delete(name, &next.receipt).await.unwrap();
    assert_eq!(receive(queue, name).await, None);
    assert_eq!(depth.depth(name).await.unwrap(), 0);
}
