//! Commands that people gave on one pull request: each counts once, and a flood of them costs nothing.
//!
//! **Invariant:** a command that was obeyed is remembered for as long as one of its age may be obeyed, so
//! that no repetition obeys it twice; what is remembered is bounded.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::ids::{AccountId, CommentId, JobId, PullRequestRef, Timestamp, hash_fields};
use crate::request::{CommentPlace, Verb};

/// A comment older than this gives no command any more.
pub const MAX_AGE: Duration = Duration::from_secs(3 * 24 * 60 * 60);
/// Reviews by hand on one pull request within an [`HOUR`].
pub const REVIEWS_PER_HOUR: usize = 5;
/// Commands of one person on one pull request within an [`HOUR`]; more are not looked at.
pub const COMMANDS_PER_PERSON: usize = 10;
/// Commands of all people on one pull request within an [`HOUR`]; more are not looked at.
pub const COMMANDS_PER_HOUR: usize = 60;
/// Obeyed commands of the last [`MAX_AGE`]; when so many are remembered, no further one is obeyed.
pub const MAX_OBEYED: usize = 100;
/// What the bounds count within.
pub const HOUR: Duration = Duration::from_secs(60 * 60);
/// A message about a command that was not answered for this long was lost.
const LOST_AFTER: Duration = Duration::from_secs(10 * 60);

/// What became of a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "fate")]
pub enum Fate {
    /// Nobody looked at the comment yet.
    Waiting,
    /// It did not count; nobody is told.
    Refused,
    /// It was done.
    Obeyed {
        /// The job that it started, if it started one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        job: Option<JobId>,
        /// Whether its author was told, or cannot be.
        acknowledged: bool,
    },
}

/// One comment that held a command when its webhook was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandNote {
    /// Which list of comments it is in.
    pub place: CommentPlace,
    /// The comment.
    pub comment: CommentId,
    /// What it said.
    pub verb: Verb,
    /// Who wrote it, as the webhook says.
    pub author: Option<AccountId>,
    /// When its webhook came.
    pub at: Timestamp,
    /// What became of it.
    #[serde(flatten)]
    pub fate: Fate,
}

/// What a new command meets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Admission {
    /// It was noted and is to be looked at.
    Admitted,
    /// It is known, and nobody looked at it yet.
    Waiting,
    /// It is known and done with.
    Done,
    /// There were too many.
    TooMany,
}

/// The commands on one pull request that are remembered, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Commands(Vec<CommandNote>);

impl Commands {
    /// Returns none.
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Returns what is known of a comment.
    pub fn find(&self, place: CommentPlace, comment: CommentId) -> Option<&CommandNote> {
        self.0
            .iter()
            .find(|note| note.place == place && note.comment == comment)
    }

    /// Notes a command that waits, unless it is known or there were too many. Forgets what needs no
    /// remembering.
    pub fn admit(
        &mut self,
        place: CommentPlace,
        comment: CommentId,
        verb: Verb,
        author: Option<AccountId>,
        now: Timestamp,
    ) -> Admission {
        if let Some(known) = self.find(place, comment) {
            return match known.fate {
                Fate::Waiting => Admission::Waiting,
                Fate::Refused | Fate::Obeyed { .. } => Admission::Done,
            };
        }
        self.0.retain(|note| {
            let kept = match note.fate {
                Fate::Obeyed { .. } => MAX_AGE,
                Fate::Waiting | Fate::Refused => HOUR,
            };
            now.since(note.at) < kept
        });
        let lately = || self.0.iter().filter(|note| now.since(note.at) < HOUR);
        let theirs = lately().filter(|note| note.author == author).count();
        if lately().count() >= COMMANDS_PER_HOUR || theirs >= COMMANDS_PER_PERSON {
            return Admission::TooMany;
        }
        self.0.push(CommandNote {
            place,
            comment,
            verb,
            author,
            at: now,
            fate: Fate::Waiting,
        });
        Admission::Admitted
    }

    /// Notes what became of a command.
    pub fn settle(&mut self, place: CommentPlace, comment: CommentId, fate: Fate) {
        let note = self
            .0
            .iter_mut()
            .find(|note| note.place == place && note.comment == comment);
        if let Some(note) = note {
            note.fate = fate;
        }
    }

    /// Returns whether one more command of this kind may be obeyed at `now`.
    pub fn has_room_for(&self, verb: Verb, now: Timestamp) -> bool {
        let obeyed = || {
            let done = |note: &&CommandNote| matches!(note.fate, Fate::Obeyed { .. });
            self.0.iter().filter(done)
        };
        let reviews =
            obeyed().filter(|note| note.verb == Verb::Review && now.since(note.at) < HOUR);
        obeyed().count() < MAX_OBEYED
            && (verb != Verb::Review || reviews.count() < REVIEWS_PER_HOUR)
    }

    /// Returns whether somebody is still to be told that a command was obeyed: only for that may
    /// anything be written to the pull request when no job is at work.
    pub fn owes_an_answer(&self) -> bool {
        self.0.iter().any(CommandNote::owes_an_answer)
    }

    /// Returns the commands whose message was lost, in all likelihood.
    pub fn overdue(&self, now: Timestamp) -> impl Iterator<Item = &CommandNote> {
        self.0.iter().filter(move |note| {
            let age = now.since(note.at);
            (note.fate == Fate::Waiting || note.owes_an_answer()) && age >= LOST_AFTER && age < HOUR
        })
    }
}

impl CommandNote {
    /// Returns whether its author is still to be told that it was obeyed.
    pub const fn owes_an_answer(&self) -> bool {
        matches!(
            self.fate,
            Fate::Obeyed {
                acknowledged: false,
                ..
            }
        )
    }
}

/// Returns the id under which the work for a command is logged and counted. No job has it.
pub fn run_id(pull_request: &PullRequestRef, place: CommentPlace, comment: CommentId) -> JobId {
    JobId::from_hash(&hash_fields(&[
        b"mirilla.command.v1",
        pull_request.to_string().as_bytes(),
        place.as_str().as_bytes(),
        &comment.get().to_be_bytes(),
    ]))
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALK: CommentPlace = CommentPlace::Conversation;

    fn at(seconds: u64) -> Timestamp {
        Timestamp::new(0).plus(Duration::from_secs(seconds))
    }

    fn admit(commands: &mut Commands, id: u64, author: u64, now: Timestamp) -> Admission {
        let author = Some(AccountId::new(author));
        commands.admit(TALK, CommentId::new(id), Verb::Review, author, now)
    }

    fn obeyed() -> Fate {
        Fate::Obeyed {
            job: None,
            acknowledged: false,
        }
    }

    #[test]
    fn each_comment_is_admitted_once() {
        let mut commands = Commands::new();
        assert_eq!(admit(&mut commands, 1, 7, at(0)), Admission::Admitted);
        assert_eq!(admit(&mut commands, 1, 7, at(1)), Admission::Waiting);
        commands.settle(TALK, CommentId::new(1), obeyed());
        assert_eq!(admit(&mut commands, 1, 7, at(2)), Admission::Done);
        // A number of the other list is another comment.
        let other = commands.admit(
            CommentPlace::Line,
            CommentId::new(1),
            Verb::Help,
            None,
            at(3),
        );
        assert_eq!(other, Admission::Admitted);
        // As long as its comment could be obeyed it is remembered.
        let last = MAX_AGE.as_secs() - 1;
        admit(&mut commands, 2, 7, at(last));
        assert_eq!(admit(&mut commands, 1, 7, at(last)), Admission::Done);
    }

    #[test]
    fn storms_are_cut_per_person_and_in_all_and_pass() {
        let mut commands = Commands::new();
        let mut admitted = 0;
        for id in 0..1_000 {
            if admit(&mut commands, id, 7, at(id)) == Admission::Admitted {
                admitted += 1;
                commands.settle(TALK, CommentId::new(id), Fate::Refused);
            }
        }
        assert_eq!(admitted, COMMANDS_PER_PERSON);
        // Somebody else is not held up by that, but a crowd is cut.
        assert_eq!(
            admit(&mut commands, 2_000, 8, at(1_000)),
            Admission::Admitted
        );
        for id in 3_000..4_000 {
            admit(&mut commands, id, id, at(1_001));
        }
        assert_eq!(commands.0.len(), COMMANDS_PER_HOUR);
        assert_eq!(
            admit(&mut commands, 5_000, 7, at(4_601)),
            Admission::Admitted
        );
        assert_eq!(
            commands.0.len(),
            1,
            "what does not matter any more is forgotten"
        );
    }

    #[test]
    fn reviews_by_hand_are_rationed_and_nothing_else_is() {
        let mut commands = Commands::new();
        for id in 0..5 {
            assert!(commands.has_room_for(Verb::Review, at(id)));
            admit(&mut commands, id, id, at(id));
            commands.settle(TALK, CommentId::new(id), obeyed());
        }
        assert!(!commands.has_room_for(Verb::Review, at(5)));
        assert!(commands.has_room_for(Verb::Pause, at(5)));
        assert!(commands.has_room_for(Verb::Review, at(3_600)));
    }

    #[test]
    fn answers_are_owed_until_they_are_given() {
        let mut commands = Commands::new();
        admit(&mut commands, 1, 7, at(0));
        assert!(!commands.owes_an_answer());
        assert_eq!(commands.overdue(at(599)).count(), 0);
        assert_eq!(commands.overdue(at(600)).count(), 1, "nobody looked at it");
        commands.settle(TALK, CommentId::new(1), obeyed());
        assert!(commands.owes_an_answer());
        assert_eq!(commands.overdue(at(600)).count(), 1, "nobody was told");
        let told = Fate::Obeyed {
            job: None,
            acknowledged: true,
        };
        commands.settle(TALK, CommentId::new(1), told);
        assert!(!commands.owes_an_answer());
        assert_eq!(commands.overdue(at(600)).count(), 0);
        assert_eq!(commands.overdue(at(3_600)).count(), 0);
    }

    #[test]
    fn notes_are_kept_as_json() {
        let mut commands = Commands::new();
        admit(&mut commands, 1, 7, at(0));
        commands.settle(TALK, CommentId::new(1), obeyed());
        let text = serde_json::to_string(&commands).unwrap();
        assert_eq!(
            text,
            r#"[{"place":"conversation","comment":1,"verb":"review","author":7,"at":0,"fate":"obeyed","acknowledged":false}]"#
        );
        assert_eq!(serde_json::from_str::<Commands>(&text).unwrap(), commands);
    }
}
