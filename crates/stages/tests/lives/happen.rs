//! What each kind of event does to the world.

use mirilla_domain::request::Verb;
use mirilla_sim::{OpenPull, Side, ThreadView};

use crate::commands::{DISMISSAL, PEOPLE};
use crate::event::{Dice, Event, Kind};
use crate::life::{Head, Life};
use crate::scene::{finding_of, pull_request};
use crate::support::REPO;
use crate::tree::{Tree, defect, injection};

/// Threads in which somebody declines at one go.
const DECLINES_AT_ONCE: usize = 6;

impl Life {
    /// Lets an event happen; returns whether it could.
    pub(crate) fn happen(&mut self, event: Event) -> bool {
        let Event { kind, a, b, .. } = event;
        match kind {
            Kind::Close | Kind::Reopen | Kind::Draft | Kind::Ready => self.change_state(kind),
            Kind::Reply
            | Kind::Resolve
            | Kind::Unresolve
            | Kind::Dismiss
            | Kind::CopiedMarker
            | Kind::EditedComment => self.talk(kind, a, b),
            Kind::Command
            | Kind::NoCommand
            | Kind::EditedCommand
            | Kind::DeletedCommand
            | Kind::OldComment
            | Kind::Flood => self.command(event),
            Kind::Replay => !self.old.is_empty(),
            Kind::Wait => {
                let hours = 1 + a % 10;
                self.host
                    .advance(std::time::Duration::from_secs(hours * 3_600));
                true
            }
            // A branch whose pull request is closed is nobody's business.
            _ if !self.open => false,
            Kind::DeclineAll => self.decline_all(a, b),
            Kind::Rerun => self.rerun(),
            Kind::Beside => self.beside(a),
            Kind::ForceBack => self.force_back(a),
            Kind::Amend => self.amend(),
            Kind::Rebase => {
                self.move_base(a);
                self.rebase(a)
            }
            Kind::BaseMoves => {
                self.move_base(a);
                true
            }
            Kind::Retarget => {
                self.base = if self.base == "main" {
                    "release"
                } else {
                    "main"
                };
                let github = self.host.sim.github();
                github
                    .retarget(REPO, self.host.pr, self.base, "dana")
                    .unwrap();
                self.raises += 1;
                true
            }
            Kind::Scramble => {
                for step in 0..2 + a % 2 {
                    self.push_defect(a + step, b + step);
                }
                true
            }
            _ => self.edit(kind, a, b),
        }
    }

    fn change_state(&mut self, kind: Kind) -> bool {
        let github = self.host.sim.github();
        let pr = self.host.pr;
        match kind {
            Kind::Close if self.open => {
                github.close(REPO, pr, "dana").unwrap();
                self.open = false;
                // Who asked a moment ago for something that only an open one can have need not get it.
                for one in &mut self.said {
                    let waits = !self.seen.obeyed.contains(&one.id);
                    if waits && matches!(one.verb, Some(Verb::Review | Verb::Resume)) {
                        one.must = false;
                    }
                }
            }
            Kind::Reopen if !self.open => {
                github.reopen(REPO, pr, "dana").unwrap();
                self.open = true;
                self.raises += 1;
            }
            Kind::Draft if !self.draft && self.open => {
                github.set_draft(REPO, pr, true, "dana").unwrap();
                self.draft = true;
            }
            Kind::Ready if self.draft && self.open => {
                github.set_draft(REPO, pr, false, "dana").unwrap();
                self.draft = false;
                self.raises += 1;
            }
            _ => return false,
        }
        true
    }

    /// Changes files, or how the model speaks about them, and pushes.
    fn edit(&mut self, kind: Kind, a: u64, b: u64) -> bool {
        let mut tree = self.now.tree.clone();
        let done = match kind {
            Kind::Fix => tree.fix(a),
            Kind::Clean => tree.clean(),
            Kind::Injection => {
                self.defects += 1;
                tree.insert(a, b, &[injection(self.defects)]);
                true
            }
            Kind::Shift => {
                let count = 1 + b % 6;
                let lines: Vec<String> = (0..count)
                    .map(|line| format!("    shifted_{a}_{b}_{line}();"))
                    .collect();
                tree.insert(a, b / 7, &lines);
                true
            }
            Kind::Reindent => {
                tree.reindent(a);
                true
            }
            Kind::Move => tree.relocate(a, b),
            Kind::Rename => tree.rename(a, b),
            Kind::Twin => match tree.twin(a, b) {
                Some(line) => {
                    self.twins.extend(numbers(&line));
                    true
                }
                None => false,
            },
            Kind::TwoDefects => {
                let (one, other) = (self.defects + 1, self.defects + 2);
                self.defects = other;
                let line = format!("{} {}", defect(one, a), defect(other, b));
                tree.insert(a, b, &[line]);
                true
            }
            _ => {
                let mut mood = self.mood.lock().unwrap();
                match kind {
                    Kind::Reword => mood.wording += 1,
                    Kind::Silence => {
                        mood.silent = true;
                        self.silent_steps = 2 + a % 3;
                    }
                    Kind::Miscount => mood.miscounts = !mood.miscounts,
                    Kind::Harsher => mood.harsher = !mood.harsher,
                    Kind::TwoOnALine => mood.two_on_a_line = !mood.two_on_a_line,
                    _ => {}
                }
                drop(mood);
                self.push_defect(a, b);
                return true;
            }
        };
        if done && tree != self.now.tree {
            self.push(tree, if a.is_multiple_of(6) { "cory" } else { "dana" });
            return true;
        }
        false
    }

    /// Pushes a line with a new defect.
    fn push_defect(&mut self, a: u64, b: u64) {
        self.defects += 1;
        let mut tree = self.now.tree.clone();
        tree.insert(a, b, &[defect(self.defects, a / 3 + b)]);
        self.push(tree, "dana");
    }

    fn push(&mut self, tree: Tree, by: &str) {
        let commit = tree.commit(&self.now.tree, by, "change");
        let sha = self
            .host
            .sim
            .github()
            .commit(REPO, "change", &commit)
            .unwrap();
        self.have(Head {
            sha,
            tree,
            fork: self.now.fork.clone(),
            by_cory: self.now.by_cory || by == "cory",
        });
    }

    fn have(&mut self, head: Head) {
        self.heads.push(head.clone());
        self.now = head;
    }

    fn force_back(&mut self, a: u64) -> bool {
        let to = self.heads[a as usize % self.heads.len()].clone();
        let is_other = to.sha != self.now.sha;
        self.host
            .sim
            .github()
            .push(REPO, "change", &to.sha, "dana")
            .unwrap();
        self.have(to);
        self.raises += 1;
        is_other
    }

    fn amend(&mut self) -> bool {
        let fork = self.now.fork.clone();
        self.write_anew(fork, self.now.tree.clone())
    }

    /// Makes the branch one commit on top of `fork`.
    fn write_anew(&mut self, fork: (String, Tree), tree: Tree) -> bool {
        let github = self.host.sim.github();
        // Two commits of one second with the same contents would be one.
        self.host.advance(std::time::Duration::from_secs(1));
        let commit = tree.commit(&fork.1, "dana", "everything");
        let sha = github.write_commit(REPO, &[&fork.0], &commit).unwrap();
        github.push(REPO, "change", &sha, "dana").unwrap();
        self.have(Head {
            sha,
            tree,
            fork,
            by_cory: false,
        });
        true
    }

    /// Adds a line to a file of the base.
    fn move_base(&mut self, a: u64) {
        let (path, line) = base_line(a);
        let before = self.main.1.clone();
        self.main.1.top(path, &line);
        let commit = self.main.1.commit(&before, "dana", "elsewhere");
        let github = self.host.sim.github();
        self.main.0 = github.commit(REPO, "main", &commit).unwrap();
    }

    /// Puts the branch on top of the base, whose newest line is of `move_base(a)`.
    fn rebase(&mut self, a: u64) -> bool {
        // A file that has another name on the branch keeps the line out: it was resolved like that.
        let (path, line) = base_line(a);
        let mut tree = self.now.tree.clone();
        tree.top(path, &line);
        self.write_anew(self.main.clone(), tree)
    }

    /// A thread of ours.
    pub(super) fn thread(
        &self,
        dice: u64,
        fits: impl Fn(&ThreadView) -> bool,
    ) -> Option<ThreadView> {
        let bot = self.host.sim.github().bot();
        let all: Vec<&ThreadView> = self.seen.ours(&bot).filter(|t| fits(t)).collect();
        (!all.is_empty()).then(|| all[dice as usize % all.len()].clone())
    }

    fn talk(&mut self, kind: Kind, a: u64, b: u64) -> bool {
        let resolved = match kind {
            Kind::Resolve => Some(false),
            Kind::Unresolve => Some(true),
            _ => None,
        };
        let fits = |thread: &ThreadView| resolved.is_none_or(|want| thread.resolved == want);
        let Some(thread) = self.thread(a, fits) else {
            return false;
        };
        let github = self.host.sim.github();
        let first = &thread.comments[0];
        let by = PEOPLE[b as usize % PEOPLE.len()];
        match kind {
            Kind::Reply => {
                github
                    .reply(REPO, first.id, by, "Is it? I think this is fine.")
                    .unwrap();
            }
            Kind::Resolve => github.resolve_thread(REPO, first.id, by).unwrap(),
            Kind::Unresolve => github.unresolve_thread(REPO, first.id, by).unwrap(),
            Kind::Dismiss => self.dismiss(&thread, by, b.is_multiple_of(2)),
            Kind::CopiedMarker => return self.copy_marker(&thread, b),
            _ => {
                // With the marker left as it was, or without one that counts.
                let body = if b.is_multiple_of(2) {
                    format!("Edited by a person.\n\n{}", first.body)
                } else {
                    first.body.replace(" mac=", " mac=0")
                };
                let about = finding_of(&pull_request(&self.host), &first.body);
                let known = self.edited.entry(first.id).or_default();
                if about.is_some() {
                    *known = about;
                }
                github.edit_comment(REPO, first.id, "rita", &body).unwrap();
            }
        }
        self.touch(&thread.node_id);
        true
    }

    /// A stranger pastes a comment of ours into a thread of their own, into ours, or under the pull request.
    fn copy_marker(&mut self, thread: &ThreadView, b: u64) -> bool {
        let github = self.host.sim.github();
        let first = &thread.comments[0];
        match (b % 3, first.line) {
            (0, Some(line)) if self.open => {
                let at = (first.path.as_str(), Side::Right, line);
                github
                    .comment_on_line(REPO, self.host.pr, "sam", at, &first.body)
                    .is_ok()
            }
            (1, _) => {
                github.reply(REPO, first.id, "sam", &first.body).unwrap();
                self.touch(&thread.node_id);
                true
            }
            _ => {
                github
                    .comment(REPO, self.host.pr, "sam", &first.body)
                    .unwrap();
                true
            }
        }
    }

    /// Declines what a thread of ours is about, and perhaps closes it.
    fn dismiss(&mut self, thread: &ThreadView, by: &'static str, resolves: bool) {
        let first = thread.comments[0].id;
        self.say(by, Some(first), Some(Verb::Dismiss), DISMISSAL);
        if resolves {
            let github = self.host.sim.github();
            github.resolve_thread(REPO, first, by).unwrap();
        }
    }

    /// Declines everything that is said, and pushes something, so that it is looked at.
    fn decline_all(&mut self, a: u64, b: u64) -> bool {
        let by = ["rita", "dana", "cory"][a as usize % 3];
        let bot = self.host.sim.github().bot();
        let ours: Vec<ThreadView> = self.seen.ours(&bot).cloned().collect();
        let open = ours
            .iter()
            .rev()
            .filter(|thread| thread.comments[0].line.is_some());
        for thread in open.take(DECLINES_AT_ONCE) {
            self.dismiss(thread, by, b.is_multiple_of(3));
            self.touch(&thread.node_id);
        }
        let mut tree = self.now.tree.clone();
        tree.insert(a, b, &[format!("    after_declining_{a}_{b}();")]);
        self.push(tree, "dana");
        !ours.is_empty()
    }

    /// Has the newest check of the head run again.
    fn rerun(&mut self) -> bool {
        let mut of_head = self
            .seen
            .checks
            .iter()
            .filter(|one| one.head == self.now.sha);
        let ended = of_head.rfind(|one| one.status == "completed");
        let Some(check) = ended.map(|one| one.id) else {
            return false;
        };
        self.host
            .sim
            .github()
            .rerun_check(REPO, check, "rita")
            .unwrap();
        self.raises += 1;
        true
    }

    /// Opens another pull request with the same head, or closes it.
    fn beside(&mut self, a: u64) -> bool {
        if self.manner.gate.is_none() {
            return false;
        }
        let github = self.host.sim.github();
        if let Some(number) = self.beside.take() {
            github.close(REPO, number, "dana").unwrap();
        } else {
            let by = if a.is_multiple_of(2) { "dana" } else { "sam" };
            let open = OpenPull {
                base: "next".to_owned(),
                ..OpenPull::new(by, "change", "The same elsewhere")
            };
            self.beside = Some(github.open_pull(REPO, open).unwrap());
        }
        true
    }

    /// Remembers how a person left a thread.
    pub(super) fn touch(&mut self, node_id: &str) {
        let threads = self.host.sim.github().threads(REPO, self.host.pr).unwrap();
        let found = threads.into_iter().find(|t| t.node_id == node_id);
        self.touched.insert(node_id.to_owned(), found.unwrap());
    }
}

/// The line that the base gets, and in which file.
fn base_line(a: u64) -> (&'static str, String) {
    let path = ["src/pay.rs", "src/orders.rs", "lib/cart.rs"][a as usize % 3];
    let word = Dice::new(a).roll(1_000_000);
    (path, format!("    of_the_base_{word}();"))
}

fn numbers(line: &str) -> impl Iterator<Item = u64> + '_ {
    line.split("bug_")
        .skip(1)
        .filter_map(|call| call.split('_').next()?.parse().ok())
}
