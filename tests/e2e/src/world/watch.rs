//! What there is to see, and waiting for it.

use std::time::Duration;

use serde_json::Value;

use super::{MESSAGES, REPO, World};

/// How often a wait looks.
const PAUSE: Duration = Duration::from_millis(200);

impl World {
    /// Returns how many reviews a pull request has, and the places of their comments, sorted.
    pub fn said(&self, pr: u64) -> (usize, Vec<String>) {
        let reviews = self.sim.github().reviews(REPO, pr).unwrap();
        let mut places: Vec<String> = reviews
            .iter()
            .flat_map(|review| &review.comments)
            .map(|comment| format!("{}:{:?}", comment.path, comment.original_line))
            .collect();
        places.sort();
        (reviews.len(), places)
    }

    /// Waits until the model was asked so often.
    pub async fn wait_for_model_calls(&self, calls: u32) {
        self.wait("a call to the model", Duration::from_secs(60), async || {
            let count = self.sim.messages().faults().count(MESSAGES);
            if count >= calls {
                Ok(())
            } else {
                Err(format!("{count} calls"))
            }
        })
        .await;
    }

    /// Waits until functions have counted something under a metric's name, one line of which is `wanted`;
    /// returns all those lines. What a function counts it writes after what it did can be seen outside.
    pub async fn wait_until_counted(
        &self,
        metric: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Vec<Value> {
        self.wait(metric, Duration::from_secs(60), async || {
            let lines = self.counted(metric);
            if lines.iter().any(&wanted) {
                Ok(())
            } else {
                Err(format!("{lines:?}"))
            }
        })
        .await;
        self.counted(metric)
    }

    /// Waits until a queue is empty and stays so for a while.
    pub async fn wait_until_quiet(&self, queue_url: &str) {
        self.wait("an empty queue", Duration::from_secs(60), async || {
            for _ in 0..5 {
                let depth = self.aws.depth(queue_url).await;
                if depth > 0 {
                    return Err(format!("{depth} messages"));
                }
                tokio::time::sleep(PAUSE).await;
            }
            Ok(())
        })
        .await;
    }

    /// Waits until something holds; panics with what was seen and the functions' log if it does not.
    pub async fn wait(
        &self,
        what: &str,
        limit: Duration,
        holds: impl AsyncFn() -> Result<(), String>,
    ) {
        let tries = limit.as_millis() / PAUSE.as_millis();
        let mut seen = String::new();
        for _ in 0..tries {
            match holds().await {
                Ok(()) => return,
                Err(now) => seen = now,
            }
            tokio::time::sleep(PAUSE).await;
        }
        panic!("{what}: not within {limit:?}; seen: {seen}");
    }

    /// Waits until a pull request has been reviewed once with exactly so many comments.
    pub async fn wait_for_review(&self, pr: u64, comments: usize) {
        self.wait("one review", Duration::from_secs(60), async || {
            let (reviews, places) = self.said(pr);
            if reviews == 1 && places.len() == comments {
                Ok(())
            } else {
                Err(format!("{reviews} reviews, comments at {places:?}"))
            }
        })
        .await;
    }
}
