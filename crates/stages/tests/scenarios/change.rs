//! What was said, through pushes, renames and rebases.

use std::sync::Arc;

use mirilla_sim::Commit;

use crate::play::{MENDED, PAY, reviewed, scenarios};
use crate::support::{Ended, Gate, Host, Place, TWO_DEFECTS};

scenarios![
    nothing_new_is_no_new_notification,
    moved_lines_are_no_new_finding,
    a_renamed_file_is_no_new_finding,
    a_rebase_is_no_new_finding,
    a_new_finding_is_said_beside_the_old,
    a_finding_that_is_gone_closes_its_thread,
    a_thread_that_a_person_answered_is_theirs,
    a_thread_that_a_person_resolved_is_theirs,
    a_finding_that_comes_back_is_said_anew,
    ten_pushes_in_a_row_are_one_review,
];

async fn nothing_new_is_no_new_notification(place: Place) {
    let host = reviewed(place).await;
    let (notices, body) = (host.town.notices(host.pr), host.review_body());
    host.push("more", &[("c/extra.txt", "more\n")]);
    host.settles().await;
    assert_eq!(host.town.notices(host.pr), notices);
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
    assert_ne!(host.review_body(), body, "it is edited in place");
}

/// Pushes files, lets that be read, and expects that nothing was said again.
async fn says_nothing_new(host: &Host, commit: &Commit) {
    host.town.commit("change", commit);
    host.settles().await;
    let said = host.comments();
    assert_eq!(
        (host.findings(), host.town.bodies(host.pr).len()),
        (2, 1),
        "{said:#?}"
    );
}

async fn moved_lines_are_no_new_finding(place: Place) {
    let host = reviewed(place).await;
    let moved = format!("// One.\n// Two.\n{}", TWO_DEFECTS.head[0].1);
    says_nothing_new(&host, &Commit::by("dana", "move").write(PAY, moved)).await;
}

async fn a_renamed_file_is_no_new_finding(place: Place) {
    let host = reviewed(place).await;
    let commit = Commit::by("dana", "rename").rename(PAY, "a/Payment.java");
    says_nothing_new(&host, &commit).await;
}

async fn a_rebase_is_no_new_finding(place: Place) {
    let host = reviewed(place).await;
    let onto = Commit::by("dana", "meanwhile").write("notes.md", "Meanwhile.\n");
    let main = host.town.commit("main", &onto);
    let files = TWO_DEFECTS.head.iter();
    let again = files.fold(Commit::by("dana", "again"), |commit, (path, text)| {
        commit.write(path, text)
    });
    let sha = host.town.write_commit(&[&main], &again);
    host.town.push("change", &sha, "dana");
    host.settles().await;
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}

async fn a_new_finding_is_said_beside_the_old(place: Place) {
    let host = reviewed(place).await;
    host.push("another", &[("c/Third.java", TWO_DEFECTS.head[0].1)]);
    host.settles().await;
    assert_eq!(host.findings(), 3);
    assert_eq!(
        host.town.bodies(host.pr).len(),
        2,
        "something new is a new review"
    );
}

/// A host whose first review said two things, and whose author then mended one of them.
async fn mended(place: Place) -> Host {
    let host = Host::that_resolves_at(place, TWO_DEFECTS);
    host.settles().await;
    assert_eq!(host.findings(), 2);
    host.push("mend", &[(PAY, MENDED)]);
    host
}

async fn a_finding_that_is_gone_closes_its_thread(place: Place) {
    let host = mended(place).await;
    host.settles().await;
    assert_eq!(host.resolver_of(PAY), Some(host.town.bot()));
    let open = host.town.threads(host.pr).into_iter();
    assert_eq!(open.filter(|one| one.resolved_by.is_none()).count(), 1);
}

async fn a_thread_that_a_person_answered_is_theirs(place: Place) {
    let host = mended(place).await;
    host.answers(PAY, "dana", "Mended.");
    host.settles().await;
    assert_eq!(host.resolver_of(PAY), None);
}

async fn a_thread_that_a_person_resolved_is_theirs(place: Place) {
    let host = reviewed(place).await;
    host.town.resolve(host.pr, host.ours_on(PAY), "dana");
    host.push("more", &[("c/extra.txt", "more\n")]);
    host.settles().await;
    assert_eq!(host.resolver_of(PAY).as_deref(), Some("dana"));
    assert_eq!(host.findings(), 2, "resolving is enough to end it");
}

async fn a_finding_that_comes_back_is_said_anew(place: Place) {
    let host = mended(place).await;
    host.settles().await;
    host.push("break again", &[TWO_DEFECTS.head[0]]);
    host.settles().await;
    let threads = host.town.threads(host.pr).into_iter();
    let of_pay = threads.filter(|one| one.said[0].path == PAY);
    let resolved: Vec<bool> = of_pay.map(|one| one.resolved_by.is_some()).collect();
    assert_eq!(resolved, [true, false]);
}

async fn ten_pushes_in_a_row_are_one_review(place: Place) {
    let host = Host::at(place, TWO_DEFECTS);
    let gate = Arc::new(Gate::open());
    for step in 0..10 {
        if step > 0 {
            let text = format!("{step}\n");
            host.push("step", &[("c/extra.txt", &text)]);
        }
        for sent in host.town.sent() {
            host.hand_in(&gate, &sent).await;
        }
        host.advance(std::time::Duration::from_secs(1));
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
    host.assert_reviewed_once("burst").await;
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}
