//! The pull request as text: what a person sees, without the hidden markers.

use mirilla_sim::PullRequestPage;

use super::{Saying, ids};

/// Shows reviews and comments; with `before`, only what was not there then.
pub(super) fn pull_request(say: &Saying, page: &PullRequestPage, before: Option<&PullRequestPage>) {
    let known = before.map(ids).unwrap_or_default();
    let known_reviews: Vec<u64> = before
        .map(|page| page.reviews.iter().map(|review| review.id).collect())
        .unwrap_or_default();
    let mut repeated = 0;
    for review in &page.reviews {
        let is_new = !known_reviews.contains(&review.id);
        let changed = before.is_some_and(|page| {
            page.reviews
                .iter()
                .any(|old| old.id == review.id && old.body != review.body)
        });
        if is_new || changed {
            let what = if is_new {
                "posted a review"
            } else {
                "edited its review (nobody is notified)"
            };
            say.line(&format!("{} {what}", review.author));
            quote(say, &review.body);
        }
        for comment in &review.comments {
            if known.contains(&comment.id) {
                repeated += 1;
                continue;
            }
            let line = comment
                .line
                .or(comment.original_line)
                .map(|line| format!(":{line}"))
                .unwrap_or_default();
            say.line(&format!("{} on {}{line}", comment.author, comment.path));
            quote(say, &comment.body);
        }
    }
    if before.is_some() {
        let (verb, thing) = if repeated == 1 {
            ("stays", "comment")
        } else {
            ("stay", "comments")
        };
        say.line(&format!(
            "{repeated} earlier {thing} {verb} as they were; none is posted again."
        ));
    }
}

fn quote(say: &Saying, body: &str) {
    for line in without_markers(body).lines() {
        say.line(&format!("  | {line}"));
    }
    say.line("");
}

/// Leaves out HTML comments, which no reader sees.
pub(super) fn without_markers(body: &str) -> String {
    let mut shown = String::new();
    let mut rest = body;
    while let Some((before, after)) = rest.split_once("<!--") {
        shown.push_str(before);
        rest = after.split_once("-->").map_or("", |(_marker, after)| after);
    }
    shown.push_str(rest);
    shown.trim_end().to_owned()
}
