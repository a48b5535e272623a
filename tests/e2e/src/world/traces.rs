//! What a run left behind, searched for what must not be in it.

use serde_json::Value;

use super::gitlab::PROJECT;
use super::{REPO, Served, World, setting};
use crate::Sentinels;

/// What every signed address carries. One in a log would be a right in a log.
const SIGNED: &str = "X-Amz-Signature";
/// What the App's own tokens begin with; they are made anew each time.
const TOKEN: &str = "ghs_";
/// The queues whose messages may be there still, and those that keep the dead.
const QUEUES: [&str; 6] = [
    "CollectQueueUrl",
    "CollectDeadLettersUrl",
    "ReviewQueueUrl",
    "ReviewDeadLettersUrl",
    "PostQueueUrl",
    "PostDeadLettersUrl",
];

impl World {
    /// Searches logs, metrics and messages for the secrets, the source and the title.
    ///
    /// Metrics are lines of the logs. That there is something to search, and that the source came so far
    /// that it could have leaked, is asserted as well.
    pub(super) async fn check_for_leaks(&self) {
        let output = self.emulator.functions_output().unwrap();
        let messages = self.emulator.messages().unwrap();
        let repository = match self.served {
            Served::GithubTokens | Served::GithubApp => REPO,
            Served::Gitlab(_) => PROJECT,
        };
        for (what, searched, known) in [
            ("the functions' output", &output, repository),
            ("the functions' metrics", &output, "CloudWatchMetrics"),
            ("the messages", &messages, "collect"),
        ] {
            assert!(
                searched.contains(known),
                "{what}: not even {known} is there"
            );
            let leaks = self.sentinels.found_in(searched.as_bytes());
            assert!(
                leaks.is_empty(),
                "{what} leak {leaks:?}:\n{}",
                self.guilty(searched)
            );
        }
        for queue in QUEUES {
            while let Some(body) = self.aws.take(self.output(queue)).await {
                let leaks = self.sentinels.found_in(body.as_bytes());
                assert!(leaks.is_empty(), "{queue} leaks {leaks:?}: {body}");
            }
        }
        assert!(!output.contains(SIGNED), "a signed address was logged");
        for searched in [&output, &messages] {
            assert!(!searched.contains(TOKEN), "a token of the App's leaked");
        }
        assert!(
            self.source_travelled().await,
            "the source is in no snapshot and no prompt: what could have leaked?"
        );
    }

    /// Returns whether the model was shown the source, or a snapshot has it still.
    async fn source_travelled(&self) -> bool {
        let prompts = self.sim.messages().model_calls();
        if prompts
            .iter()
            .any(|call| call.prompt.contains(setting::SOURCE))
        {
            return true;
        }
        let mut source = Sentinels::default();
        source.add("source", setting::SOURCE);
        let bucket = self.output("BucketName");
        for key in self.aws.keys(bucket, "snapshots/").await {
            let object = self.aws.object(bucket, &key).await;
            if !source.found_in(&object).is_empty() {
                return true;
            }
        }
        false
    }

    /// Returns the lines of the functions that count something under a metric's name.
    pub(super) fn counted(&self, metric: &str) -> Vec<Value> {
        let output = self.emulator.functions_output().unwrap();
        output
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap())
            .filter_map(|kept| serde_json::from_str::<Value>(kept["line"].as_str()?).ok())
            .filter(|line| line.get("_aws").is_some() && line.get(metric).is_some())
            .collect()
    }

    /// Returns the lines that leak.
    fn guilty(&self, text: &str) -> String {
        text.lines()
            .filter(|line| !self.sentinels.found_in(line.as_bytes()).is_empty())
            .take(5)
            .collect::<Vec<_>>()
            .join("\n")
    }

    /// Prints the end of what functions wrote, for a test that failed.
    pub(super) fn show_output(&self) {
        let output = self.emulator.functions_output().unwrap_or_default();
        let lines: Vec<&str> = output.lines().collect();
        let from = lines.len().saturating_sub(60);
        #[expect(clippy::print_stderr, reason = "the test that failed shows it")]
        {
            eprintln!(
                "---- end of the functions' output\n{}",
                lines[from..].join("\n")
            );
        }
    }
}
