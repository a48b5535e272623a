//! `mirilla eval`: how good reviews are, on changes whose defects are known.
//!
//! Every change goes through the reviewer's and the poster's own code. The answers come from a model that
//! is asked now, from a recording of one, or from the labels themselves (the oracle): the last measures this
//! program alone, because a perfect answer that does not reach the reader was lost by it.
//!
//! **Invariant:** a figure about a model is printed only if a model gave the answers, now or when they
//! were recorded; and a run never costs more than its cap.

mod answers;
mod corpus;
mod models;
mod oracle;
mod print;

use std::collections::{BTreeMap, BTreeSet};
use std::process::ExitCode;

use anyhow::Result;
use mirilla_domain::answer;
use mirilla_domain::code::{FailReason, SkipReason};
use mirilla_domain::eval::{Cost, LabelFate, Read, Score, Verdict, judge};
use mirilla_domain::ids::{Account, CommitSha};
use mirilla_domain::money::{CappedPurse, PicoUsd, Purse};
use mirilla_domain::price::PriceTable;
use mirilla_domain::review::Fate;
use mirilla_domain::settings::OperatorPolicy;
use mirilla_domain::snapshot::TrustedFiles;
use mirilla_ports::Model;

use crate::arguments;
use crate::failure::Failure;
use crate::output;
use crate::rehearsal::{Bench, Reader, Rehearsed, Subject};
use crate::settings::{self, Environment, Provider};
use answers::Recording;
use corpus::{Case, Corpus};
use models::{Recorder, Replay};
use oracle::Oracle;

/// A recording is replayed whatever it cost when it was made.
const NO_CAP: PicoUsd = PicoUsd::from_micro(1_000_000_000_000);

/// Where answers come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answers {
    /// A model is asked.
    Asked,
    /// They were recorded when one was.
    Recorded,
    /// They are made of the labels.
    Oracle,
}

/// What came of one change.
struct Judged {
    id: String,
    verdict: Verdict,
    /// Whether answers were read; else only the deterministic checks ran.
    is_answered: bool,
    model: Option<String>,
}

/// What came of all.
struct Results {
    answers: Answers,
    cases: Vec<Judged>,
    sets: BTreeMap<String, SetScore>,
    all: SetScore,
    /// Changes that cannot be had here, and why.
    unavailable: Vec<(String, String)>,
    /// Changes that the cap left out.
    unasked: Vec<String>,
    /// Recordings that do not fit, and why.
    misfits: Vec<(String, String)>,
}

/// Two sums: they are not over the same changes.
#[derive(Default, Clone)]
struct SetScore {
    /// Over the changes with answers.
    answered: Score,
    /// Over all changes; only what the deterministic checks say is meant.
    floor: Score,
}

impl SetScore {
    fn add(&mut self, judged: &Judged, took: &Cost) {
        self.floor.add(&judged.verdict, &Cost::default());
        if judged.is_answered {
            self.answered.add(&judged.verdict, took);
        }
    }
}

impl Results {
    /// Returns the models that gave the answers.
    fn models(&self) -> BTreeSet<&str> {
        self.cases
            .iter()
            .filter_map(|case| case.model.as_deref())
            .collect()
    }
}

/// Runs the command.
pub(crate) fn run(arguments: &arguments::Eval, environment: &Environment) -> Result<ExitCode> {
    let (provider, policy) = settings::preview(environment).map_err(|problems| {
        Failure::usage(format!(
            "the settings cannot be used: {}",
            problems.join("; ")
        ))
    })?;
    let corpus = Corpus::read(
        &arguments.dir,
        &arguments.set,
        arguments.repositories.as_deref(),
    )?;
    let bench = Bench::set_up()?;
    let provider = provider.filter(|_| arguments.ask);
    if arguments.ask && provider.is_none() {
        return Err(
            Failure::usage("there is no model to ask: ANTHROPIC_API_KEY is not set")
                .hint("leave out `--ask` to replay recorded answers, or use `--oracle`")
                .into(),
        );
    }
    let model = match &provider {
        Some(provider) => Some(asked(&bench, provider, arguments, &policy, &corpus)?),
        None => None,
    };
    let results = Run {
        bench: &bench,
        arguments,
        policy: &policy,
        environment,
        answers: match (arguments.ask, arguments.oracle) {
            (true, _) => Answers::Asked,
            (false, true) => Answers::Oracle,
            (false, false) => Answers::Recorded,
        },
        asked: provider
            .as_ref()
            .zip(model.as_deref())
            .map(|(provider, model)| (model, provider.secret())),
    }
    .all(corpus)?;
    match arguments.format {
        arguments::EvalFormat::Text => print::text(&results),
        arguments::EvalFormat::Json => print::json(&results)?,
    }
    let sums = results.sets.values().chain([&results.all]);
    if sums.into_iter().any(|set| !set.answered.reconciles()) {
        return Err(
            Failure::new("the sums do not come out: this is a defect of mirilla eval").into(),
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Returns the model that is asked, and says what that may cost.
fn asked(
    bench: &Bench,
    provider: &Provider,
    arguments: &arguments::Eval,
    policy: &OperatorPolicy,
    corpus: &Corpus,
) -> Result<Box<dyn Model>> {
    PriceTable::shipped()
        .rates(&policy.model, 0)
        .map_err(|error| Failure::usage(error.to_string()))?;
    output::note(&format!(
        "asking {} about {} changes, for {} at the most",
        policy.model,
        corpus.cases.len(),
        arguments.max_usd
    ));
    bench.model(provider, policy)
}

/// One run over a corpus.
struct Run<'a> {
    bench: &'a Bench,
    arguments: &'a arguments::Eval,
    policy: &'a OperatorPolicy,
    environment: &'a Environment,
    answers: Answers,
    /// The model, and the key that it is asked with, if there is one.
    asked: Option<(&'a dyn Model, Option<&'a str>)>,
}

/// What one change brought.
struct Came {
    rehearsed: Rehearsed,
    recordings: Vec<Recording>,
    millis: u64,
    /// Why a recording does not fit.
    misfit: Option<String>,
}

impl Run<'_> {
    fn all(&self, corpus: Corpus) -> Result<Results> {
        let mut results = Results {
            answers: self.answers,
            cases: Vec::new(),
            sets: BTreeMap::new(),
            all: SetScore::default(),
            unavailable: corpus.unavailable,
            unasked: Vec::new(),
            misfits: Vec::new(),
        };
        let interactive = output::is_interactive(self.environment);
        let count = corpus.cases.len();
        for (number, case) in (1_usize..).zip(corpus.cases) {
            let id = case.id();
            if self.asked.is_some() && !results.unasked.is_empty() {
                // The purse is empty; a smaller change that still fitted would flatter the figures.
                results.unasked.push(id);
                continue;
            }
            let came = self.one(&case)?;
            if is_cut(&came.rehearsed) {
                results.unasked.push(id);
                continue;
            }
            if let Some(why) = came.misfit.clone() {
                results.misfits.push((id.clone(), why));
            }
            // A model that never answered leaves what was recorded before.
            if self.arguments.record && !came.recordings.is_empty() {
                answers::write(&case.dir, &came.recordings)?;
            }
            let (judged, took) = self.judged(&case, &came);
            if interactive {
                output::worker_line(&format!("{number}/{count} {id}: {}", line(&judged)));
            }
            results.all.add(&judged, &took);
            results
                .sets
                .entry(case.set.clone())
                .or_default()
                .add(&judged, &took);
            results.cases.push(judged);
        }
        Ok(results)
    }

    /// Reviews one change.
    fn one(&self, case: &Case) -> Result<Came> {
        let nowhere = CommitSha::parse(&"0".repeat(40))?;
        let at = case.clone_of.as_ref();
        let subject = Subject {
            job: case.job()?,
            name: case.id(),
            diff: case.diff.clone(),
            trusted: TrustedFiles {
                commit: nowhere.clone(),
                files: Vec::new(),
            },
            head: at.map_or_else(|| nowhere.clone(), |at| at.head.clone()),
            base: at.map_or_else(|| nowhere.clone(), |at| at.base.clone()),
            repo: at.map(|at| at.path.clone()),
        };
        match (self.answers, self.asked) {
            (Answers::Asked, Some((model, secret))) => {
                self.read(subject, model, secret, self.purses(case)?)
            }
            (Answers::Oracle, _) => {
                let oracle = Oracle::new(self.policy.model.clone(), case);
                self.read(subject, &oracle, None, unpaid(case)?)
            }
            _ if case.answers.is_empty() => Ok(Came {
                rehearsed: self
                    .bench
                    .rehearse(subject, None, self.policy, &|_| (), None)?,
                recordings: Vec::new(),
                millis: 0,
                misfit: None,
            }),
            _ => {
                let replay = Replay::new(&case.answers)?;
                let mut came = self.read(subject, &replay, None, unpaid(case)?)?;
                came.millis = replay.millis();
                came.misfit = replay.misfit(&case.diff);
                Ok(came)
            }
        }
    }

    fn read(
        &self,
        subject: Subject,
        model: &dyn Model,
        secret: Option<&str>,
        purses: Vec<CappedPurse>,
    ) -> Result<Came> {
        let recorder = Recorder::new(model, self.bench.clock(), &subject.diff);
        let reader = Reader {
            model: &recorder,
            secret,
            purses,
        };
        let rehearsed = self
            .bench
            .rehearse(subject, Some(&reader), self.policy, &|_| (), None)?;
        let recordings = recorder.into_recordings();
        let millis = recordings.iter().map(|one| one.millis).sum();
        Ok(Came {
            rehearsed,
            recordings,
            millis,
            misfit: None,
        })
    }

    /// The review's own purse, and the run's.
    fn purses(&self, case: &Case) -> Result<Vec<CappedPurse>> {
        Ok(vec![
            CappedPurse {
                purse: Purse::Review(case.job()?),
                cap: self.policy.max_usd,
            },
            CappedPurse {
                purse: Purse::AccountMonth(Account::parse("eval")?, 0),
                cap: self.arguments.max_usd,
            },
        ])
    }

    fn judged(&self, case: &Case, came: &Came) -> (Judged, Cost) {
        let parsed = mirilla_diff::parse(&case.diff);
        let texts = came.recordings.iter().filter_map(Recording::answer);
        let seen: Vec<answer::Seen> = texts
            .flat_map(|text| answer::seen(text, &parsed.files))
            .collect();
        let review = &came.rehearsed.review;
        let verdict = judge(
            &case.labels,
            Read {
                items: &came.rehearsed.plan.items,
                seen: &seen,
                coverage: &review.coverage,
            },
        );
        // A refusal is the model's; that nobody was reached says nothing about it.
        let unreached = |fate: &Fate| {
            matches!(
                fate,
                Fate::Failed(
                    FailReason::ModelUnavailable
                        | FailReason::AnswerLost
                        | FailReason::ModelRejected
                )
            )
        };
        let is_answered = !review.model.is_empty()
            && came.misfit.is_none()
            && !review.coverage.iter().any(|line| unreached(&line.fate));
        let judged = Judged {
            id: case.id(),
            verdict,
            is_answered,
            model: Some(review.model.clone())
                .filter(|_| is_answered && self.answers != Answers::Oracle),
        };
        let took = Cost {
            usage: review.usage,
            cost: review.cost,
            calls: review.turns,
            millis: came.millis,
        };
        (judged, took)
    }
}

/// Replies that cost nothing now.
fn unpaid(case: &Case) -> Result<Vec<CappedPurse>> {
    Ok(vec![CappedPurse {
        purse: Purse::Review(case.job()?),
        cap: NO_CAP,
    }])
}

/// Returns whether a purse ended the review before all was read: it says nothing about the model.
fn is_cut(rehearsed: &Rehearsed) -> bool {
    rehearsed
        .review
        .coverage
        .iter()
        .any(|file| file.fate == Fate::Skipped(SkipReason::CostCap))
}

/// Returns one change's result as a few words.
fn line(judged: &Judged) -> String {
    let verdict = &judged.verdict;
    if !judged.is_answered {
        return "no answers; the deterministic checks alone".to_owned();
    }
    let found = verdict
        .labels
        .iter()
        .filter(|fate| matches!(fate, LabelFate::Found | LabelFate::FoundInText))
        .count();
    format!(
        "{found} of {} found, {} reported",
        verdict.labels.len(),
        verdict.reported
    )
}
