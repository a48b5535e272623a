//! What S3 says when findings were written, as a message of the post queue.
//! <https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html>
//!
//! **Invariant:** of an event only the key counts, and only from the bucket of this deployment; job,
//! repository and pull request come from the ledger.

use mirilla_domain::snapshot::Keys;
use mirilla_ports::message::Message;
use serde::Deserialize;

/// Why an event of a bucket that is not ours asks for nothing.
pub const FOREIGN_BUCKET: &str = "foreign-bucket";

/// What a message of the post queue says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PostBody {
    /// Messages to handle, one after the other.
    Messages(Vec<Message>),
    /// Nothing to do, for a reason of ours.
    Nothing(&'static str),
    /// It cannot be read.
    Unreadable,
}

#[derive(Deserialize)]
struct Event {
    #[serde(rename = "Records")]
    records: Option<Vec<Record>>,
    /// `s3:TestEvent`, sent once when the notification is set up.
    #[serde(rename = "Event")]
    event: Option<String>,
}

#[derive(Deserialize)]
struct Record {
    s3: S3,
}

#[derive(Deserialize)]
struct S3 {
    bucket: Bucket,
    object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
}

#[derive(Deserialize)]
struct Object {
    key: String,
}

/// Reads a message of the post queue: one of ours, or S3's word about `bucket`.
pub fn read(body: &str, bucket: &str) -> PostBody {
    if let Ok(message) = serde_json::from_str::<Message>(body) {
        return PostBody::Messages(vec![message]);
    }
    let Ok(event) = serde_json::from_str::<Event>(body) else {
        return PostBody::Unreadable;
    };
    let Some(records) = event.records else {
        return match event.event.as_deref() {
            Some("s3:TestEvent") => PostBody::Nothing("test-event"),
            _ => PostBody::Unreadable,
        };
    };
    if records.iter().any(|record| record.s3.bucket.name != bucket) {
        return PostBody::Nothing(FOREIGN_BUCKET);
    }
    let messages: Vec<Message> = records
        .iter()
        .filter_map(|record| {
            let key = decoded(&record.s3.object.key)?;
            let (job, attempt) = Keys::parse_findings(&key)?;
            Some(Message::PostV1 {
                job,
                attempt,
                findings: Some(key),
            })
        })
        .collect();
    if messages.is_empty() {
        PostBody::Nothing("not-findings")
    } else {
        PostBody::Messages(messages)
    }
}

/// Keys come URL-encoded, with `+` for a space.
fn decoded(key: &str) -> Option<String> {
    let spaced = key.replace('+', " ");
    let decoded = percent_encoding::percent_decode_str(&spaced).decode_utf8();
    decoded.ok().map(std::borrow::Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use mirilla_domain::ids::AttemptNo;
    use serde_json::json;

    use super::*;

    fn event(bucket: &str, key: &str) -> String {
        json!({"Records": [{
            "eventSource": "aws:s3", "eventName": "ObjectCreated:Put",
            "s3": {"bucket": {"name": bucket}, "object": {"key": key, "size": 12}},
        }]})
        .to_string()
    }

    #[test]
    fn findings_of_our_bucket_become_a_post_message() {
        let job = "a".repeat(32);
        for key in [
            format!("findings/{job}/2.json"),
            format!("findings%2F{job}%2F2.json"),
        ] {
            let PostBody::Messages(messages) = read(&event("ours", &key), "ours") else {
                panic!("{key}");
            };
            let [
                Message::PostV1 {
                    job: found,
                    attempt,
                    findings,
                },
            ] = messages.as_slice()
            else {
                panic!("{messages:?}");
            };
            assert_eq!(
                (found.as_str(), *attempt),
                (job.as_str(), AttemptNo::new(2))
            );
            assert_eq!(
                findings.as_deref(),
                Some(format!("findings/{job}/2.json").as_str())
            );
        }
    }

    #[test]
    fn foreign_buckets_test_events_and_other_keys_do_nothing() {
        let key = format!("findings/{}/1.json", "a".repeat(32));
        for (body, expected) in [
            (event("theirs", &key), PostBody::Nothing("foreign-bucket")),
            (
                event("ours", "snapshots/x/meta.json"),
                PostBody::Nothing("not-findings"),
            ),
            (
                event("ours", "findings/%ff/1.json"),
                PostBody::Nothing("not-findings"),
            ),
            (
                json!({"Event": "s3:TestEvent", "Bucket": "ours"}).to_string(),
                PostBody::Nothing("test-event"),
            ),
            ("{}".to_owned(), PostBody::Unreadable),
            ("not json".to_owned(), PostBody::Unreadable),
            (r#"{"version":"post.v9"}"#.to_owned(), PostBody::Unreadable),
        ] {
            assert_eq!(read(&body, "ours"), expected, "{body}");
        }
    }
}
