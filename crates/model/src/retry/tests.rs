use std::collections::VecDeque;
use std::sync::Mutex;

use async_trait::async_trait;
use mirilla_domain::money::Usage;
use mirilla_ports::model::{Answer, StopReason};

use super::*;

/// A clock that jumps when somebody waits and remembers the waits.
struct Jumping {
    now: Mutex<Timestamp>,
    waits: Mutex<Vec<u64>>,
}

#[async_trait]
impl Clock for Jumping {
    fn now(&self) -> Timestamp {
        *self.now.lock().unwrap()
    }

    async fn sleep(&self, duration: Duration) {
        let mut now = self.now.lock().unwrap();
        *now = now.plus(duration);
        let millis = u64::try_from(duration.as_millis()).unwrap();
        self.waits.lock().unwrap().push(millis);
    }
}

/// Always the smallest or always the largest number.
struct Extreme(bool);

impl Entropy for Extreme {
    fn hex(&self, bytes: usize) -> String {
        "00".repeat(bytes)
    }

    fn below(&self, bound: u64) -> u64 {
        if self.0 { bound.saturating_sub(1) } else { 0 }
    }
}

fn answer() -> Answer {
    Answer {
        text: "{}".to_owned(),
        stop: StopReason::EndTurn,
        usage: Usage::default(),
        model: "m".to_owned(),
        request_id: "r".to_owned(),
    }
}

fn unprocessed(status: u16, retry_after: Option<u64>) -> Result<Answer, Failure> {
    Err(Failure::Unprocessed {
        status,
        retry_after: retry_after.map(Duration::from_millis),
        give_up: false,
    })
}

struct Played {
    result: Result<Answer, ModelError>,
    waits: Vec<u64>,
    limits: Vec<u64>,
}

/// Plays the outcomes in order; `seconds` is the time until the deadline.
async fn play(
    seconds: u64,
    jitter: bool,
    outcomes: impl IntoIterator<Item = Result<Answer, Failure>>,
) -> Played {
    let clock = Jumping {
        now: Mutex::new(Timestamp::new(1_000)),
        waits: Mutex::default(),
    };
    let entropy = Extreme(jitter);
    let mut outcomes: VecDeque<_> = outcomes.into_iter().collect();
    let mut limits = Vec::new();
    let patience = Patience {
        clock: &clock,
        entropy: &entropy,
        deadline: Timestamp::new(1_000).plus(Duration::from_secs(seconds)),
        max_retries: 2,
        call_limit: Duration::from_secs(300),
    };
    let result = with_patience(patience, |limit| {
        limits.push(limit.as_secs());
        let outcome = outcomes.pop_front().expect("one call too many");
        async move { outcome }
    })
    .await;
    assert!(outcomes.is_empty(), "{} outcomes left", outcomes.len());
    let waits = clock.waits.into_inner().unwrap();
    Played {
        result,
        waits,
        limits,
    }
}

fn unavailable(result: Result<Answer, ModelError>) -> (u16, Option<u64>) {
    match result {
        Err(ModelError::Unavailable {
            status,
            retry_after,
        }) => (status, retry_after.map(|d| d.as_secs())),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn answer_after_two_failures_is_returned() {
    let outcomes = [unprocessed(500, None), unprocessed(0, None), Ok(answer())];
    let played = play(600, false, outcomes).await;
    assert_eq!(played.result.unwrap(), answer());
    assert_eq!(played.waits, [500, 1000]);
}

#[tokio::test]
async fn jitter_shortens_a_wait_by_at_most_a_quarter() {
    let outcomes = [unprocessed(429, None), unprocessed(429, None), Ok(answer())];
    assert_eq!(play(600, true, outcomes).await.waits, [375, 750]);
}

#[tokio::test]
async fn overload_is_waited_for_longer() {
    let outcomes = [unprocessed(529, None), unprocessed(529, None), Ok(answer())];
    assert_eq!(play(600, false, outcomes).await.waits, [2000, 4000]);
}

#[tokio::test]
async fn retries_end_with_the_last_status_and_the_wanted_wait() {
    let outcomes = [
        unprocessed(429, None),
        unprocessed(529, None),
        unprocessed(429, Some(7_000)),
    ];
    let played = play(600, false, outcomes).await;
    assert_eq!(unavailable(played.result), (429, Some(7)));
    assert_eq!(played.waits.len(), 2);
}

#[tokio::test]
async fn wanted_wait_is_kept_unless_ours_is_longer() {
    let outcomes = [
        unprocessed(429, Some(9_500)),
        unprocessed(429, Some(1)),
        Ok(answer()),
    ];
    assert_eq!(play(600, false, outcomes).await.waits, [9_500, 1_000]);
}

#[tokio::test]
async fn wait_that_passes_the_deadline_is_handed_back_instead() {
    let played = play(60, false, [unprocessed(429, Some(58_001))]).await;
    assert_eq!(unavailable(played.result), (429, Some(58)));
    assert_eq!(played.waits, Vec::<u64>::new());
    let played = play(60, false, [unprocessed(429, Some(58_000)), Ok(answer())]).await;
    assert_eq!(played.result.unwrap(), answer());
    assert_eq!(played.limits, [60, 2]);
}

#[tokio::test]
async fn too_little_time_makes_no_call() {
    let played = play(1, false, []).await;
    assert_eq!(unavailable(played.result), (0, None));
}

#[tokio::test]
async fn call_is_bounded_by_deadline_and_setting() {
    assert_eq!(play(45, false, [Ok(answer())]).await.limits, [45]);
    assert_eq!(play(4_500, false, [Ok(answer())]).await.limits, [300]);
}

#[tokio::test]
async fn provider_that_says_no_more_is_not_asked_again() {
    let stop = Err(Failure::Unprocessed {
        status: 429,
        retry_after: None,
        give_up: true,
    });
    assert_eq!(
        unavailable(play(600, false, [stop]).await.result),
        (429, None)
    );
}

#[tokio::test]
async fn what_may_be_charged_is_not_asked_again() {
    let lost = Err(Failure::Lost(Lost::Unclear { status: 504 }.into()));
    let error = play(600, false, [lost]).await.result.unwrap_err();
    let ModelError::AnswerLost { source } = error else {
        panic!("{error:?}");
    };
    assert_eq!(
        source.to_string(),
        "status 504 does not say whether the request was processed"
    );
}

#[tokio::test]
async fn final_refusals_are_not_asked_again() {
    let result = play(600, false, [Err(Failure::TooLong)]).await.result;
    assert!(matches!(result, Err(ModelError::PromptTooLong)));
    let rejected = Failure::Rejected {
        status: 401,
        kind: "authentication_error".to_owned(),
        hint: "check the model key",
    };
    let result = play(600, false, [Err(rejected)]).await.result;
    assert_eq!(
        result.unwrap_err().to_string(),
        "the provider rejected the request (401 authentication_error); check the model key"
    );
}

#[tokio::test(start_paused = true)]
async fn call_that_outlives_the_deadline_is_dropped_and_lost() {
    let clock = Jumping {
        now: Mutex::new(Timestamp::new(0)),
        waits: Mutex::default(),
    };
    let started = tokio::time::Instant::now();
    let patience = Patience {
        clock: &clock,
        entropy: &Extreme(false),
        deadline: Timestamp::new(30_000),
        max_retries: 2,
        call_limit: Duration::from_secs(300),
    };
    let result: Result<Answer, _> = with_patience(patience, |_limit| std::future::pending()).await;
    assert_eq!(started.elapsed(), Duration::from_secs(30));
    let Err(ModelError::AnswerLost { source }) = result else {
        panic!("{result:?}");
    };
    assert_eq!(source.to_string(), "no answer came in time");
}

#[test]
fn backoff_never_exceeds_its_longest() {
    for (status, longest) in [(500, 8_000), (529, 30_000)] {
        for retry in [4, 20, 31, 32, u32::MAX] {
            let wait = backoff(retry, status, &Extreme(false));
            assert_eq!(wait, Duration::from_millis(longest), "{status} {retry}");
        }
    }
}
