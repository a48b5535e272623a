//! What happens in a life, as data: made from a seed, printable, and the same for the same seed.

use std::fmt;

/// A small generator. `SplitMix64`, <https://prng.di.unimi.it/splitmix64.c>
#[derive(Debug, Clone)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn number(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn roll(&mut self, sides: u64) -> u64 {
        self.number() % sides
    }
}

macro_rules! kinds {
    ($($(#[$doc:meta])* $name:ident $weight:literal;)*) => {
        /// What may happen.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub(crate) enum Kind {
            $($(#[$doc])* $name,)*
        }

        impl Kind {
            /// Every kind, with how often it comes relative to the others.
            pub(crate) const ALL: &'static [(Self, u64)] = &[$((Self::$name, $weight),)*];
        }
    };
}

kinds!(
    /// A new defect is pushed.
    Push 8;
    /// Two defects on one line are pushed.
    TwoDefects 3;
    /// A line with a defect is written once more, elsewhere in its file.
    Twin 2;
    /// A line with a defect goes away.
    Fix 4;
    /// Lines are put above others.
    Shift 4;
    /// A file is indented otherwise.
    Reindent 3;
    /// A line with a defect moves within its file.
    Move 3;
    /// A file gets another name.
    Rename 3;
    /// The branch is forced back to a head it had.
    ForceBack 3;
    /// The branch is written anew as one commit.
    Amend 2;
    /// The base moves on and the branch is put on top of it.
    Rebase 3;
    /// The base moves on.
    BaseMoves 2;
    /// The pull request goes into another branch.
    Retarget 3;
    /// A person answers in a thread.
    Reply 5;
    /// A person resolves a thread.
    Resolve 5;
    /// A person opens a resolved thread again.
    Unresolve 3;
    /// A person declines a finding in its thread.
    Dismiss 5;
    /// A stranger says what we said, marker and all.
    CopiedMarker 4;
    /// Somebody who can write edits a comment of ours.
    EditedComment 2;
    /// The model words everything otherwise from now on.
    Reword 2;
    /// The model says nothing for a while.
    Silence 2;
    /// The model names wrong lines from now on, but quotes the right ones; or stops that.
    Miscount 2;
    /// The model calls everything worse from now on, or stops that.
    Harsher 1;
    /// The model finds two things on every line from now on, or stops that.
    TwoOnALine 2;
    /// A process dies before one of its calls has an effect.
    CrashBefore 3;
    /// A process dies after one of its calls had its effect.
    CrashAfter 3;
    /// The forge fails at one call.
    ForgeFault 6;
    /// The forge fails at the call that posts.
    WriteFault 5;
    /// The model fails at one call.
    ModelFault 3;
    /// Several pushes whose webhooks come in another order, and twice.
    Scramble 2;
    /// Old webhooks come again.
    Replay 2;
    /// A push whose webhook is lost.
    LostWebhook 2;
    /// It is closed.
    Close 2;
    /// It is opened again; drawn while it is closed.
    Reopen 0;
    /// It becomes a draft.
    Draft 2;
    /// It is ready for review; drawn while it is a draft.
    Ready 0;
    /// Time passes.
    Wait 1;
    /// A line that speaks to the reviewer is pushed.
    Injection 1;
    /// Every line with a defect goes away.
    Clean 4;
    /// A person declines everything that is said, and something is pushed.
    DeclineAll 4;
    /// A person gives a command, in the conversation or in a thread of ours.
    Command 6;
    /// A command is only shown, or a bot gives it.
    NoCommand 2;
    /// A command says something else before anybody looks at it.
    EditedCommand 2;
    /// A command is gone before anybody looks at it.
    DeletedCommand 1;
    /// A comment from earlier says something else now, perhaps a command.
    OldComment 2;
    /// One person gives more commands in a row than anybody needs.
    Flood 1;
    /// A person has the check run again.
    Rerun 3;
    /// Another pull request with the same head is opened, or closed.
    Beside 2;
);

/// One thing that happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Event {
    pub(crate) kind: Kind,
    /// Chooses among what there is to choose from, when it happens.
    pub(crate) a: u64,
    /// Chooses a second thing.
    pub(crate) b: u64,
    /// Whether everything that follows from it is done before the next one.
    pub(crate) settles: bool,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} a={} b={}", self.kind, self.a, self.b)?;
        if !self.settles {
            f.write_str(" (the next comes before all is done)")?;
        }
        Ok(())
    }
}

/// Returns the events of a life. What a seed means must not depend on how many are wanted.
pub(crate) fn of_seed(seed: u64, count: usize) -> Vec<Event> {
    let mut dice = Dice::new(seed);
    let (mut open, mut draft) = (true, false);
    (0..count)
        .map(|_| {
            let mut kind = any(&mut dice);
            // Not much happens to a pull request that nobody reviews, so that does not last.
            if (!open || draft) && dice.roll(3) == 0 {
                kind = if open { Kind::Ready } else { Kind::Reopen };
            }
            match kind {
                Kind::Close | Kind::Reopen => open = kind == Kind::Reopen,
                Kind::Draft | Kind::Ready if open => draft = kind == Kind::Draft,
                _ => {}
            }
            Event {
                kind,
                a: dice.roll(1_000),
                b: dice.roll(1_000),
                settles: dice.roll(3) > 0,
            }
        })
        .collect()
}

/// Draws a kind by its weight.
fn any(dice: &mut Dice) -> Kind {
    let sum: u64 = Kind::ALL.iter().map(|(_, weight)| weight).sum();
    let mut at = dice.roll(sum);
    for (kind, weight) in Kind::ALL {
        if at < *weight {
            return *kind;
        }
        at -= weight;
    }
    Kind::Push
}
