//! Where comments may be placed, and where they are shown after further pushes.
//!
//! GitHub accepts a line only if it stands in a hunk of the pull request's diff, and says why not
//! in a sentence without the name of the comment at fault:
//! <https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request>

use super::options::Wording;
use super::world::{Anchor, Place, Pull, Repo, ReviewComment};
use crate::diff::{Diff, FileDiff, Side, Spot};
use crate::git::{GitError, carry};

/// Where a caller wants a comment to be.
#[derive(Debug, Clone, Default)]
pub(crate) struct Wanted {
    pub(crate) path: Vec<u8>,
    pub(crate) line: Option<u64>,
    pub(crate) side: Option<Side>,
    pub(crate) start_line: Option<u64>,
    pub(crate) start_side: Option<Side>,
    pub(crate) position: Option<u64>,
}

/// Why a place was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    Path,
    Line,
    Position,
    StartNotBeforeEnd,
    /// The line is fine; the start is in another hunk or in none.
    Start,
    /// Neither is in the diff.
    LineAndStart,
}

impl Refusal {
    /// Returns GitHub's words.
    pub(crate) fn words(self, wording: Wording) -> &'static str {
        const LINE: &str = "Pull request review thread line must be part of the diff and Pull \
                            request review thread diff hunk can't be blank";
        match (self, wording) {
            (Self::StartNotBeforeEnd, _) => {
                "Pull request review thread start line must precede the end line."
            }
            (Self::Position, _) => {
                "Pull request review thread position is invalid and Pull request review thread \
                 diff hunk can't be blank"
            }
            (Self::Path, Wording::Current) => "Path could not be resolved",
            (Self::Line | Self::Start | Self::LineAndStart, Wording::Current) => {
                "Line could not be resolved"
            }
            (Self::Path | Self::Line, Wording::Older) => LINE,
            (Self::Start, Wording::Older) => {
                "Pull request review thread start line must be part of the same hunk as the line."
            }
            (Self::LineAndStart, Wording::Older) => {
                "Pull request review thread line must be part of the diff, Pull request review \
                 thread start line must be part of the same hunk as the line., and Pull request \
                 review thread diff hunk can't be blank"
            }
        }
    }
}

/// Places a comment in a diff, or says why it cannot stand there.
pub(crate) fn place(diff: &Diff, wanted: &Wanted) -> Result<Anchor, Refusal> {
    let file = diff.file(&wanted.path).ok_or(Refusal::Path)?;
    let Some(line) = wanted.line else {
        let (spot, side, line) = wanted
            .position
            .and_then(|position| file.at_position(position))
            .ok_or(Refusal::Position)?;
        return Ok(anchor(diff, file, spot, Place { side, line }, None));
    };
    let side = wanted.side.unwrap_or(Side::Right);
    let end = file.locate(side, line);
    let Some(start_line) = wanted.start_line else {
        let spot = end.ok_or(Refusal::Line)?;
        return Ok(anchor(diff, file, spot, Place { side, line }, None));
    };
    let start_side = wanted.start_side.unwrap_or(side);
    if start_side == side && start_line >= line {
        return Err(Refusal::StartNotBeforeEnd);
    }
    let start = file.locate(start_side, start_line);
    match (start, end) {
        (Some(start), Some(end)) if start.hunk == end.hunk => {
            if start.position >= end.position {
                return Err(Refusal::StartNotBeforeEnd);
            }
            let start = Place {
                side: start_side,
                line: start_line,
            };
            Ok(anchor(diff, file, end, Place { side, line }, Some(start)))
        }
        (_, Some(_)) => Err(Refusal::Start),
        (_, None) => Err(Refusal::LineAndStart),
    }
}

/// Places a comment on a file as a whole.
pub(crate) fn place_on_file(diff: &Diff, path: &[u8]) -> Result<Anchor, Refusal> {
    let file = diff.file(path).ok_or(Refusal::Path)?;
    Ok(Anchor {
        path: file.path.clone(),
        line: None,
        start: None,
        position: 1,
        hunk: String::new(),
    })
}

fn anchor(diff: &Diff, file: &FileDiff, spot: Spot, line: Place, start: Option<Place>) -> Anchor {
    Anchor {
        path: file.path.clone(),
        line: Some(line),
        start,
        position: spot.position,
        hunk: diff.hunk_up_to(file, spot),
    }
}

/// Where a comment stands now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Current {
    /// The commit it is shown on.
    pub(crate) commit: String,
    /// `None` once it is outdated, or for a comment on a file.
    pub(crate) line: Option<Place>,
    pub(crate) start: Option<Place>,
    pub(crate) position: Option<u64>,
    pub(crate) outdated: bool,
}

/// Follows a comment from the commit it was written on to the current head.
pub(crate) fn current(
    repo: &Repo,
    pull: &Pull,
    comment: &ReviewComment,
) -> Result<Current, GitError> {
    let base = repo.base_sha(pull);
    let anchor = &comment.anchor;
    let outdated = Current {
        commit: comment.commit.clone(),
        line: None,
        start: None,
        position: None,
        outdated: true,
    };
    let diff = repo.git.diff(&base, &pull.head)?;
    let Some(file) = diff.file(&anchor.path) else {
        return Ok(outdated);
    };
    let follow = |place: Place| -> Result<Option<(Place, Spot)>, GitError> {
        let line = match place.side {
            Side::Right => carry(
                &repo.git,
                &comment.commit,
                &pull.head,
                &anchor.path,
                place.line,
            )?,
            Side::Left if comment.commit == pull.head && comment.base == base => Some(place.line),
            Side::Left => {
                let from = repo.git.merge_base(&comment.base, &comment.commit)?;
                let to = repo.git.merge_base(&base, &pull.head)?;
                let path = file.old_path.as_ref().unwrap_or(&anchor.path);
                match (from, to) {
                    (Some(from), Some(to)) => carry(&repo.git, &from, &to, path, place.line)?,
                    _ => None,
                }
            }
        };
        Ok(line.and_then(|line| {
            let spot = file.locate(place.side, line)?;
            Some((
                Place {
                    side: place.side,
                    line,
                },
                spot,
            ))
        }))
    };
    let Some(line) = anchor.line else {
        return Ok(Current {
            commit: pull.head.clone(),
            outdated: false,
            ..outdated
        });
    };
    let Some((line, spot)) = follow(line)? else {
        return Ok(outdated);
    };
    let start = match anchor.start {
        None => None,
        Some(start) => match follow(start)? {
            Some((start, _)) => Some(start),
            None => return Ok(outdated),
        },
    };
    Ok(Current {
        commit: pull.head.clone(),
        line: Some(line),
        start,
        position: Some(spot.position),
        outdated: false,
    })
}
