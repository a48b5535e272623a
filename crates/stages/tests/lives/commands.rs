//! What people ask for in comments, and what of it may be obeyed and what must be.

use std::time::Duration;

use mirilla_domain::command::{COMMANDS_PER_HOUR, COMMANDS_PER_PERSON, HOUR, REVIEWS_PER_HOUR};
use mirilla_domain::ids::Timestamp;
use mirilla_domain::request::{CommentPlace, Verb};

use crate::event::{Event, Kind};
use crate::life::Life;
use crate::support::REPO;

/// Who says something in a life. `rita` and `cory` may write, `dana` wrote the change, `sam` is a stranger.
pub(crate) const PEOPLE: [&str; 4] = ["rita", "dana", "sam", "cory"];
/// A bot that may write.
pub(crate) const BOT: &str = "helper[bot]";
/// A reason that dismisses what it answers.
pub(crate) const DISMISSAL: &str = "/mirilla dismiss it is meant to be like this";
/// Commands of a [`Kind::Flood`].
const FLOOD: u64 = 13;
/// So long before a bound on commands is reached, nothing is promised any more.
const SLACK: usize = 2;

/// A comment of a person or of a bot.
#[derive(Debug, Clone)]
pub(crate) struct Said {
    pub(crate) id: u64,
    pub(crate) place: CommentPlace,
    pub(crate) by: &'static str,
    /// What it asked for when it was said; nothing if it only looked like it.
    pub(crate) verb: Option<Verb>,
    /// The comment of ours that it answers.
    pub(crate) about: Option<u64>,
    pub(crate) at: Timestamp,
    /// Whether it may be obeyed at all.
    pub(crate) may: bool,
    /// Whether it has to be, once all is done.
    pub(crate) must: bool,
    /// Whether it says something else since.
    pub(crate) edited: bool,
    pub(crate) gone: bool,
    /// Between which two looks it was obeyed, if it was.
    pub(crate) obeyed: Option<(Timestamp, Timestamp)>,
}

impl Said {
    /// Returns whether it turns reviews off or on, if it is obeyed.
    pub(crate) fn turns(&self) -> bool {
        self.may && matches!(self.verb, Some(Verb::Pause | Verb::Resume))
    }
}

impl Life {
    /// Returns whether somebody may write to the repository.
    pub(super) fn may_write(&self, by: &str) -> bool {
        by != "sam" && (by != "dana" || self.manner.author_writes)
    }

    /// Lets somebody comment, and remembers what may follow from it.
    pub(super) fn say(
        &mut self,
        by: &'static str,
        about: Option<u64>,
        verb: Option<Verb>,
        body: &str,
    ) -> usize {
        let github = self.host.sim.github();
        let (id, place) = if let Some(ours) = about {
            let id = github.reply(REPO, ours, by, body).unwrap();
            (id, CommentPlace::Line)
        } else {
            let id = github.comment(REPO, self.host.pr, by, body).unwrap();
            (id, CommentPlace::Conversation)
        };
        let may = verb.is_some() && by != BOT && self.may_write(by);
        let needs_open = matches!(verb, Some(Verb::Review | Verb::Resume));
        // A dismissal is read where it stands, by the next run, and answered by nobody.
        let is_answered = verb != Some(Verb::Dismiss);
        let must = may && is_answered && (self.open || !needs_open) && self.has_room(by, verb);
        if may && needs_open {
            self.raises += 1;
        }
        self.said.push(Said {
            id,
            place,
            by,
            verb,
            about,
            at: self.host.now(),
            may,
            must,
            edited: false,
            gone: false,
            obeyed: None,
        });
        self.said.len() - 1
    }

    /// Returns whether no bound on commands is near.
    fn has_room(&self, by: &str, verb: Option<Verb>) -> bool {
        let now = self.host.now();
        let lately = || {
            let said = self.said.iter();
            said.filter(|one| now.since(one.at) < HOUR + Duration::from_secs(600))
        };
        let theirs = lately().filter(|one| one.by == by).count();
        let reviews = lately().filter(|one| one.may && one.verb == Some(Verb::Review));
        lately().count() + SLACK < COMMANDS_PER_HOUR
            && theirs + SLACK < COMMANDS_PER_PERSON
            && (verb != Some(Verb::Review) || reviews.count() < REVIEWS_PER_HOUR)
    }

    /// Lets comments be made that are commands, or look like it; returns whether there were any.
    pub(super) fn command(&mut self, event: Event) -> bool {
        let Event { kind, a, b, .. } = event;
        match kind {
            Kind::Command => {
                let by = PEOPLE[b as usize % PEOPLE.len()];
                let verb = self.wanted(a);
                let about = self
                    .thread(b, |_| a.is_multiple_of(3))
                    .map(|thread| (thread.comments[0].id, thread.node_id));
                self.say(
                    by,
                    about.as_ref().map(|(id, _)| *id),
                    Some(verb),
                    &words(verb, b),
                );
                if let Some((_, node_id)) = about {
                    self.touch(&node_id);
                }
            }
            Kind::NoCommand => {
                let (by, body) = shown(a);
                self.say(by, None, (by == BOT).then_some(Verb::Pause), body);
            }
            Kind::EditedCommand => {
                let verb = self.wanted(a);
                let at = self.say("rita", None, Some(verb), &words(verb, b));
                let now = match verb {
                    Verb::Help => "/mirilla pause",
                    _ if b.is_multiple_of(2) => "/mirilla help",
                    _ => "Never mind.",
                };
                self.rewrite(at, now);
                self.said[at].may = false;
            }
            Kind::DeletedCommand => {
                let verb = self.wanted(a);
                let at = self.say("rita", None, Some(verb), &words(verb, b));
                let github = self.host.sim.github();
                github
                    .delete_comment(REPO, self.said[at].id, "rita")
                    .unwrap();
                let said = &mut self.said[at];
                (said.may, said.must, said.gone) = (false, false, true);
            }
            Kind::OldComment => return self.reword_old(a, b),
            _ => {
                let by = if a.is_multiple_of(2) { "rita" } else { "sam" };
                for n in 0..FLOOD {
                    let verb = if n.is_multiple_of(2) {
                        Verb::Review
                    } else {
                        Verb::Help
                    };
                    let at = self.say(by, None, Some(verb), &words(verb, n));
                    self.said[at].must = false;
                }
            }
        }
        true
    }

    /// What somebody asks for: a pull request that nobody reviews for long is no life.
    fn wanted(&self, a: u64) -> Verb {
        let paused = self.seen.record.as_ref().is_some_and(|one| one.paused);
        match a % 6 {
            0 | 1 => Verb::Review,
            2 => Verb::Help,
            3 => Verb::Resume,
            _ if paused => Verb::Resume,
            _ => Verb::Pause,
        }
    }

    /// Somebody who can write changes a comment that was made earlier.
    fn reword_old(&mut self, a: u64, b: u64) -> bool {
        let there: Vec<usize> = (0..self.said.len())
            .filter(|at| !self.said[*at].gone)
            .collect();
        if there.is_empty() {
            return false;
        }
        let at = there[a as usize % there.len()];
        // Within a second an edit cannot be told from the comment.
        self.host.advance(Duration::from_secs(2));
        let body = [
            "/mirilla pause",
            "/mirilla review",
            "Never mind.",
            DISMISSAL,
        ];
        self.rewrite(at, body[b as usize % body.len()]);
        if self.is_settled {
            // Whatever was to follow from it has followed.
            let obeyed = self.seen.obeyed.contains(&self.said[at].id);
            self.said[at].may &= obeyed;
        }
        true
    }

    fn rewrite(&mut self, at: usize, body: &str) {
        let said = &mut self.said[at];
        (said.edited, said.must) = (true, false);
        let github = self.host.sim.github();
        github.edit_comment(REPO, said.id, "rita", body).unwrap();
        if let Some(about) = said.about {
            let ours = |thread: &&mirilla_sim::ThreadView| thread.comments[0].id == about;
            let node = self
                .seen
                .threads
                .iter()
                .find(ours)
                .map(|t| t.node_id.clone());
            if let Some(node) = node {
                self.touch(&node);
            }
        }
    }

    /// Learns, once all is done, whether reviews are off: one word alone says so, of several any may be last.
    pub(super) fn learn_whether_paused(&mut self) {
        let turns: Vec<&Said> = self.said[self.looked_at..]
            .iter()
            .filter(|one| one.turns())
            .collect();
        let recorded = self.seen.record.as_ref().is_some_and(|one| one.paused);
        self.paused = match turns.as_slice() {
            [] => self.paused,
            [one] if one.must => one.verb == Some(Verb::Pause),
            _ => recorded,
        };
        self.looked_at = self.said.len();
    }
}

/// The words of a command.
pub(crate) fn words(verb: Verb, dice: u64) -> String {
    let verb = verb.as_str();
    match dice % 3 {
        0 => format!("/mirilla {verb}"),
        1 => format!("Thank you.\n\n/mirilla {verb} please"),
        _ => format!("  /mirilla   {verb}\n> what was said"),
    }
}

/// Comments that hold a command and give none.
fn shown(dice: u64) -> (&'static str, &'static str) {
    match dice % 7 {
        0 => ("rita", "> /mirilla pause\nNo."),
        1 => ("rita", "```\n/mirilla pause\n```"),
        2 => ("rita", "`/mirilla pause`"),
        3 => ("rita", "Would /mirilla pause help?"),
        4 => ("rita", "<!--\n/mirilla pause\n-->"),
        5 => ("cory", "    /mirilla pause"),
        _ => (BOT, "/mirilla pause"),
    }
}
