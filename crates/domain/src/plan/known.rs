//! What of ours stands on the pull request already.
//!
//! **Invariant:** a comment or review counts as ours only if our account wrote it and its marker's MAC
//! verifies for this pull request. What others wrote, or pasted, is not looked at.

use std::collections::{BTreeMap, BTreeSet};

use super::{ItemFate, PlanInput};
use crate::ids::{CommentId, Fingerprint, ReviewId};
use crate::marker::{self, Marker, ReviewMarker};
use crate::review::Severity;
use crate::thread::{ExistingReview, ExistingThread};
use crate::webhook::dismissal;

/// Former names of files that are tried; a push that moves more is not matched by name.
const MAX_GONE_PATHS: usize = 50;

/// A comment of ours on a line.
#[derive(Debug, Clone)]
pub(super) struct KnownComment<'a> {
    pub(super) id: CommentId,
    pub(super) fingerprint: Fingerprint,
    pub(super) severity: Severity,
    pub(super) path: &'a str,
    /// Its line now, if it still has one.
    pub(super) line: Option<u32>,
    /// Its thread, where the forge told.
    pub(super) thread: Option<&'a ExistingThread>,
    /// Whether the line it was about is no longer part of the diff.
    pub(super) outdated: bool,
}

/// A submitted review of ours.
#[derive(Debug, Clone)]
pub(super) struct KnownReview<'a> {
    pub(super) id: ReviewId,
    pub(super) marker: ReviewMarker,
    pub(super) body: &'a str,
}

/// Everything of ours.
#[derive(Debug, Clone, Default)]
pub(super) struct Known<'a> {
    pub(super) comments: Vec<KnownComment<'a>>,
    by_fingerprint: BTreeMap<Fingerprint, Vec<usize>>,
    in_body: BTreeSet<Fingerprint>,
    /// Oldest first.
    pub(super) reviews: Vec<KnownReview<'a>>,
    /// Begun and never submitted.
    pub(super) pending: Vec<ReviewId>,
    recorded: Option<&'a BTreeSet<Fingerprint>>,
    /// What people who may do so declined.
    declined: BTreeMap<Fingerprint, Decline<'a>>,
}

/// A finding that somebody who may do so declined.
#[derive(Debug, Clone, Copy)]
pub(super) struct Decline<'a> {
    /// How bad it was when they saw it.
    pub(super) severity: Severity,
    /// Who: the account that wrote the answer, as the forge names it.
    pub(super) by: &'a str,
    /// Why. Untrusted text on one line.
    pub(super) reason: &'a str,
}

impl<'a> Known<'a> {
    pub(super) fn read(input: &PlanInput<'a>) -> Self {
        let place = &input.job.pull_request;
        let threads: BTreeMap<CommentId, &ExistingThread> = input
            .existing
            .threads
            .iter()
            .flat_map(|thread| thread.comments.iter().map(move |id| (*id, thread)))
            .collect();
        let mut known = Self {
            recorded: Some(input.recorded),
            ..Self::default()
        };
        for comment in input.existing.comments.iter().filter(|one| one.ours) {
            let Some(Marker::Finding(said)) = marker::read(input.key, place, &comment.body) else {
                continue;
            };
            let thread = threads.get(&comment.id).copied();
            let at = known.comments.len();
            known
                .by_fingerprint
                .entry(said.fingerprint.clone())
                .or_default()
                .push(at);
            known.comments.push(KnownComment {
                id: comment.id,
                fingerprint: said.fingerprint,
                severity: said.severity,
                path: &comment.path,
                line: comment.line,
                thread,
                outdated: comment.line.is_none() || thread.is_some_and(|thread| thread.outdated),
            });
        }
        for review in input.existing.reviews.iter().filter(|one| one.ours) {
            known.add_review(input, review);
        }
        known.add_declines(input);
        known
    }

    /// Takes the dismissals that count: of somebody who may write and has no part in the change, about the
    /// comment of ours that opened their thread.
    fn add_declines(&mut self, input: &PlanInput<'a>) {
        let answers: BTreeMap<CommentId, (CommentId, &'a str)> = input
            .existing
            .comments
            .iter()
            .filter(|one| !one.ours && !one.edited)
            .filter_map(|one| Some((one.id, (one.in_reply_to?, dismissal(&one.body)?))))
            .collect();
        for said in &input.existing.dismissals {
            let counts = said.may_write && (!said.wrote_change || input.policy.self_dismiss);
            let Some((about, reason)) = answers.get(&said.comment).filter(|_| counts) else {
                continue;
            };
            let Some(seen) = self.comments.iter().find(|one| one.id == *about) else {
                continue;
            };
            let decline = Decline {
                severity: seen.severity,
                by: &said.by,
                reason,
            };
            let known = self
                .declined
                .entry(seen.fingerprint.clone())
                .or_insert(decline);
            if known.severity < decline.severity {
                *known = decline;
            }
        }
    }

    /// Returns who declined the finding when it was as bad as this, or worse.
    pub(super) fn decline(
        &self,
        identities: &[Fingerprint],
        severity: Severity,
    ) -> Option<&Decline<'a>> {
        identities
            .iter()
            .filter_map(|one| self.declined.get(one))
            .find(|decline| decline.severity >= severity)
    }

    /// Returns whether somebody who may do so declined the finding when it was as bad as this, or worse.
    pub(super) fn is_declined(&self, identities: &[Fingerprint], severity: Severity) -> bool {
        self.decline(identities, severity).is_some()
    }

    fn add_review(&mut self, input: &PlanInput<'a>, review: &'a ExistingReview) {
        if review.pending {
            self.pending.push(review.id);
            return;
        }
        let place = &input.job.pull_request;
        if let Some(Marker::Review(said)) = marker::read(input.key, place, &review.body) {
            self.in_body.extend(said.in_body.iter().cloned());
            self.reviews.push(KnownReview {
                id: review.id,
                marker: said,
                body: &review.body,
            });
        }
    }

    /// Returns names under which a finding of today may have been posted although there is no longer such a
    /// file: one that was new when it was commented on and was renamed since, or one that was renamed and
    /// has so much added to it that the diff has it as deleted.
    pub(super) fn gone_paths(&self, is_there: impl Fn(&str) -> bool) -> Vec<&'a str> {
        let paths: BTreeSet<&str> = self.comments.iter().map(|one| one.path).collect();
        paths
            .into_iter()
            .filter(|path| !is_there(path))
            .take(MAX_GONE_PATHS)
            .collect()
    }

    /// Returns that a finding is on a line already, under any of its identities.
    ///
    /// A thread that we resolved because the finding was gone does not count when it is back; one that
    /// a person resolved counts unless the finding is worse than what they saw.
    pub(super) fn comment_on(
        &self,
        identities: &[Fingerprint],
        severity: Severity,
    ) -> Option<ItemFate> {
        let mut remembered = None;
        for identity in identities {
            let Some(at) = self.by_fingerprint.get(identity) else {
                let is_recorded = self.recorded.is_some_and(|set| set.contains(identity));
                if is_recorded && remembered.is_none() {
                    remembered = Some(ItemFate::AlreadyThere {
                        comment: None,
                        resolved: false,
                    });
                }
                continue;
            };
            let mut counting = at
                .iter()
                .filter_map(|at| self.comments.get(*at))
                .filter(|comment| comment.counts_for(severity));
            if let Some(comment) = counting.next() {
                return Some(ItemFate::AlreadyThere {
                    comment: Some(comment.id),
                    resolved: comment.thread.is_some_and(|thread| thread.resolved),
                });
            }
        }
        remembered
    }

    /// Returns comments of ours on lines that are still there, about which this run says nothing. A model
    /// that is silent about code that did not change may just be silent today.
    pub(super) fn standing(
        &self,
        current: &BTreeSet<Fingerprint>,
    ) -> impl Iterator<Item = &KnownComment<'a>> {
        self.unsaid(current).filter(|comment| {
            let said = std::slice::from_ref(&comment.fingerprint);
            !self.is_declined(said, comment.severity)
        })
    }

    /// Returns those among such comments whose finding somebody who may do so declined.
    pub(super) fn standing_declined(
        &self,
        current: &BTreeSet<Fingerprint>,
    ) -> impl Iterator<Item = (&KnownComment<'a>, &Decline<'a>)> {
        self.unsaid(current).filter_map(|comment| {
            let said = std::slice::from_ref(&comment.fingerprint);
            Some((comment, self.decline(said, comment.severity)?))
        })
    }

    fn unsaid(&self, current: &BTreeSet<Fingerprint>) -> impl Iterator<Item = &KnownComment<'a>> {
        self.comments.iter().filter(|comment| {
            let closed_by_us = comment.thread.is_some_and(|thread| thread.resolved_by_us);
            !comment.outdated && !closed_by_us && !current.contains(&comment.fingerprint)
        })
    }

    /// Returns whether an earlier body, or the ledger, names the finding.
    pub(super) fn in_body(&self, identities: &[Fingerprint]) -> bool {
        identities.iter().any(|one| {
            self.in_body.contains(one) || self.recorded.is_some_and(|set| set.contains(one))
        })
    }
}

impl KnownComment<'_> {
    fn counts_for(&self, severity: Severity) -> bool {
        match self.thread {
            Some(thread) if thread.resolved_by_us => false,
            Some(thread) if thread.resolved => self.severity >= severity,
            _ => true,
        }
    }
}
