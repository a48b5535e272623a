//! What people say: commands, and findings that they dismiss.

use mirilla_domain::code::EndReason;
use mirilla_domain::job::JobState;
use mirilla_sim::Commit;

use crate::play::{PAY, WRITER, opened, reviewed, scenarios};
use crate::support::{Host, Place};

scenarios![
    a_writer_has_it_read_again_and_is_answered,
    who_may_not_write_is_not_obeyed,
    a_command_that_was_edited_away_is_none,
    paused_is_left_alone_until_it_is_resumed,
    help_is_given_once,
    what_a_writer_dismisses_stays_declined,
    authors_decline_nothing_of_their_own,
];

const REASON: &str = "/mirilla dismiss the caller retries";

async fn a_writer_has_it_read_again_and_is_answered(place: Place) {
    let host = reviewed(place).await;
    let asked = host.sim.messages().model_calls().len();
    let comment = host.hears(WRITER, "please\n\n/mirilla review").await;
    let job = host.job_of(1).await.unwrap();
    assert_eq!((job.state, job.sponsored), (JobState::Posted, true));
    assert!(host.sim.messages().model_calls().len() > asked);
    assert_eq!(host.findings(), 2, "nothing is said twice");
    assert!(host.is_acknowledged(comment));
}

async fn who_may_not_write_is_not_obeyed(place: Place) {
    let host = reviewed(place).await;
    for by in ["dana", "stranger"] {
        let comment = host.hears(by, "/mirilla review").await;
        assert!(!host.is_acknowledged(comment), "{by}");
    }
    assert!(host.job_of(1).await.is_none());
}

async fn a_command_that_was_edited_away_is_none(place: Place) {
    let host = reviewed(place).await;
    let comment = host.town.comment(host.pr, WRITER, "/mirilla pause");
    host.town.edit(host.pr, comment, WRITER, "Never mind.");
    host.settles().await;
    assert!(!host.record().await.paused);
    assert!(!host.is_acknowledged(comment));
}

async fn paused_is_left_alone_until_it_is_resumed(place: Place) {
    let host = reviewed(place).await;
    let pause = host.hears(WRITER, "/mirilla pause").await;
    assert!(host.is_acknowledged(pause) && host.record().await.paused);
    host.push("more", &[("c/more.txt", "one\n")]);
    host.settles().await;
    let job = host.job().await.unwrap();
    assert_eq!(job.end_reason, Some(EndReason::Paused), "{job:#?}");
    let resume = host.hears(WRITER, "/mirilla resume").await;
    assert!(host.is_acknowledged(resume) && !host.record().await.paused);
    assert_eq!(host.job().await.unwrap().state, JobState::Posted);
}

async fn help_is_given_once(place: Place) {
    let host = reviewed(place).await;
    for _ in 0..2 {
        let comment = host.hears(WRITER, "/mirilla help").await;
        assert!(host.is_acknowledged(comment));
    }
    let told = host.town.conversation(host.pr).into_iter();
    let help = told.filter(|(by, body)| *by == host.town.bot() && body.contains("resume"));
    assert_eq!(help.count(), 1);
}

/// Pushes something else, lets it be read, and expects nothing to be said again.
async fn pushed(host: &Host) {
    host.push("more", &[("c/more.txt", "more\n")]);
    host.settles().await;
    assert_eq!(host.job().await.unwrap().state, JobState::Posted);
    assert_eq!(host.findings(), 2);
}

async fn what_a_writer_dismisses_stays_declined(place: Place) {
    let host = reviewed(place).await;
    host.answers(PAY, WRITER, REASON);
    pushed(&host).await;
    assert_eq!(host.declined(), 1);
}

async fn authors_decline_nothing_of_their_own(place: Place) {
    let host = opened(place);
    host.town.let_write("dana");
    host.town.let_write("cory");
    let help = Commit::by("cory", "help").write("c/help.txt", "x\n");
    host.town.commit("change", &help);
    host.settles().await;
    for by in ["dana", "cory", "stranger"] {
        host.answers(PAY, by, REASON);
    }
    pushed(&host).await;
    assert_eq!(host.declined(), 0);
}
