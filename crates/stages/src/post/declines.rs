//! Learns who dismissed findings in their threads, and whether they are people whose word counts.
//!
//! **Invariant:** what is learned is data of the plan's input; the plan alone decides what it means. Nobody is
//! asked about who did not dismiss something in a thread of ours.

use std::collections::BTreeMap;

use mirilla_domain::ids::{Account, CommentId};
use mirilla_domain::snapshot::PullRequest;
use mirilla_domain::thread::{Dismissal, Existing, ExistingComment};
use mirilla_domain::webhook::dismissal;
use mirilla_ports::ForgeError;

use super::PostPorts;
use crate::error::StageError;

/// People that the forge is asked about in one run; the dismissals of others wait for nothing, they do not
/// count.
const MAX_PEOPLE: usize = 10;

/// Adds the dismissals among what was listed.
pub(super) async fn read(
    ports: PostPorts<'_>,
    live: &PullRequest,
    existing: &mut Existing,
) -> Result<(), StageError> {
    let said = candidates(existing);
    if said.is_empty() {
        return Ok(());
    }
    // A token that may not ask is no reason to post nothing: then nobody declines.
    let authors = ports.read.change_authors(&live.repo_name, live.id.pr).await;
    let authors = unless_forbidden(authors)?.unwrap_or_default();
    let is = |who: &Account, login: &str| who.as_str().eq_ignore_ascii_case(login);
    let mut people: BTreeMap<String, bool> = BTreeMap::new();
    for (comment, by) in said {
        let name = by.as_str().to_ascii_lowercase();
        let may_write = match people.get(&name) {
            Some(known) => *known,
            None if people.len() >= MAX_PEOPLE => continue,
            None => {
                let may = ports.read.may_write(&live.repo_name, &by).await;
                let may = unless_forbidden(may)?.unwrap_or(false);
                people.insert(name, may);
                may
            }
        };
        let opened = live
            .author
            .as_ref()
            .is_some_and(|author| is(&by, author.as_str()));
        let committed = authors.logins.iter().any(|login| is(&by, login));
        existing.dismissals.push(Dismissal {
            comment,
            by: by.as_str().to_owned(),
            may_write,
            wrote_change: opened || committed || !authors.complete,
        });
    }
    Ok(())
}

fn unless_forbidden<T>(answer: Result<T, ForgeError>) -> Result<Option<T>, StageError> {
    match answer {
        Ok(told) => Ok(Some(told)),
        Err(ForgeError::Forbidden { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Returns the answers of people in threads of ours that dismiss something, with who wrote them.
fn candidates(existing: &Existing) -> Vec<(CommentId, Account)> {
    let is_ours = |id: CommentId| {
        let ours = |one: &&ExistingComment| one.id == id && one.ours;
        existing.comments.iter().any(|one| ours(&one))
    };
    existing
        .comments
        .iter()
        .filter(|one| !one.ours && !one.edited && dismissal(&one.body).is_some())
        .filter(|one| one.in_reply_to.is_some_and(is_ours))
        .filter_map(|one| {
            let by = Account::parse(one.author.as_deref()?).ok()?;
            (!by.is_bot()).then_some((one.id, by))
        })
        .collect()
}
