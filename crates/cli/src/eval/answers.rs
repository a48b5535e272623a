//! Recorded answers: `answers/NN.json` beside a change, one file for each conversation, in order.
//!
//! **Invariant:** a recording holds what the model said and what it used, and nothing of the prompt.

use std::path::Path;

use anyhow::{Context as _, Result};
use mirilla_domain::escape;
use mirilla_domain::ids::Sha256Hex;
use mirilla_domain::money::Usage;
use mirilla_ports::model::{Answer, StopReason};
use serde::{Deserialize, Serialize};

use crate::failure::Failure;

/// The name of the present form.
const SCHEMA: &str = "mirilla.eval.answer.v1";
/// The folder beside a change.
const FOLDER: &str = "answers";

/// One conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Recording {
    /// [`SCHEMA`].
    schema: String,
    /// The model's id, as priced.
    pub(super) model: String,
    /// The prompt it answered.
    pub(super) prompt_version: String,
    /// SHA-256 of the diff it is about.
    pub(super) diff_sha256: Sha256Hex,
    /// How long it took, in milliseconds.
    pub(super) millis: u64,
    /// Every call of it that was answered; the last one is the answer, the others looked something up.
    pub(super) calls: Vec<RecordedCall>,
}

/// One call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RecordedCall {
    /// The model's text. Untrusted.
    pub(super) text: String,
    /// Why it stopped.
    pub(super) stop: StopReason,
    /// What it used.
    pub(super) usage: Usage,
}

impl Recording {
    /// Makes a recording.
    pub(super) fn new(
        model: &str,
        diff_sha256: Sha256Hex,
        millis: u64,
        calls: Vec<RecordedCall>,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            model: model.to_owned(),
            prompt_version: mirilla_domain::prompt::PROMPT_VERSION.to_owned(),
            diff_sha256,
            millis,
            calls,
        }
    }

    /// Returns the text that ended the conversation.
    pub(super) fn answer(&self) -> Option<&str> {
        self.calls.last().map(|call| call.text.as_str())
    }
}

impl From<&Answer> for RecordedCall {
    fn from(answer: &Answer) -> Self {
        Self {
            text: answer.text.clone(),
            stop: answer.stop.clone(),
            usage: answer.usage,
        }
    }
}

/// Reads the recordings beside a change; none if there is no folder of them.
pub(super) fn read(case: &Path) -> Result<Vec<Recording>> {
    let folder = case.join(FOLDER);
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    let mut files = Vec::new();
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    files.sort();
    let mut recordings = Vec::new();
    for path in files {
        let text = std::fs::read_to_string(&path)?;
        let recording: Recording = serde_json::from_str(&text)
            .with_context(|| format!("{} is no recorded answer", path.display()))?;
        if recording.schema != SCHEMA {
            return Err(Failure::new(format!(
                "{} has the form `{}`; this program reads `{SCHEMA}`",
                path.display(),
                recording.schema
            ))
            .into());
        }
        recordings.push(recording);
    }
    Ok(recordings)
}

/// Writes the recordings of a change in place of those that were there.
pub(super) fn write(case: &Path, recordings: &[Recording]) -> Result<()> {
    let folder = case.join(FOLDER);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("{} cannot be made", folder.display()))?;
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            std::fs::remove_file(&path)?;
        }
    }
    for (number, recording) in (1_usize..).zip(recordings) {
        let path = folder.join(format!("{number:03}.json"));
        let text = serde_json::to_string_pretty(recording)?;
        std::fs::write(&path, format!("{}\n", escape::json(&text)))
            .with_context(|| format!("{} cannot be written", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn recording(text: &str) -> Recording {
        let call = RecordedCall {
            text: text.to_owned(),
            stop: StopReason::EndTurn,
            usage: Usage {
                input_tokens: 10,
                output_tokens: 2,
                ..Usage::default()
            },
        };
        let diff = mirilla_domain::ids::sha256(b"a diff");
        Recording::new("claude-sonnet-5-5", diff, 1_200, vec![call])
    }

    #[test]
    fn what_is_written_is_read_again_and_the_old_is_gone() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(read(dir.path()).unwrap(), []);
        let three = ["a", "b\u{202e}", "c"].map(recording);
        write(dir.path(), &three).unwrap();
        assert_eq!(read(dir.path()).unwrap(), three);
        write(dir.path(), &three[..1]).unwrap();
        assert_eq!(read(dir.path()).unwrap(), three[..1]);
    }

    #[test]
    fn another_form_is_told_and_not_guessed_at() {
        let dir = tempfile::tempdir().unwrap();
        let mut newer = recording("a");
        newer.schema = "mirilla.eval.answer.v2".to_owned();
        write(dir.path(), &[newer]).unwrap();
        let error = read(dir.path()).unwrap_err().to_string();
        assert!(
            error.contains("this program reads `mirilla.eval.answer.v1`"),
            "{error}"
        );
    }
}
