//! What goes wrong: the model, the forge, the process, the money.

use std::sync::Arc;

use mirilla_domain::code::EndReason;
use mirilla_domain::job::JobState;
use mirilla_domain::money::PicoUsd;
use mirilla_sim::Fault;

use crate::play::{opened, scenarios};
use crate::support::{Ended, Gate, Host, KillAt, Place, TWO_DEFECTS, When};

scenarios![
    a_model_that_is_down_is_never_called_clean,
    a_cap_is_kept_and_said,
    a_review_whose_answer_is_lost_is_not_posted_twice,
    a_limit_on_writing_is_waited_for,
    a_refused_anchor_loses_nothing,
    a_token_that_may_not_write_ends_the_job,
    a_run_killed_at_any_call_to_the_forge_posts_once,
];

async fn a_model_that_is_down_is_never_called_clean(place: Place) {
    let host = opened(place);
    host.model_is_down();
    host.settles().await;
    host.assert_reviewed_once("model down").await;
    let body = host.review_body();
    assert!(!body.starts_with("**Complete review**"), "{body}");
    assert_eq!(host.spent_on_review().await.get(), 0);
}

async fn a_cap_is_kept_and_said(place: Place) {
    let mut host = opened(place);
    host.policy.max_usd = PicoUsd::parse("0.001").unwrap();
    host.settles().await;
    host.assert_reviewed_once("no money").await;
    let body = host.review_body();
    assert!(!body.starts_with("**Complete review**"), "{body}");
}

async fn a_review_whose_answer_is_lost_is_not_posted_twice(place: Place) {
    for fault in [Fault::DropAfterEffect, Fault::LandLater { calls: 2 }] {
        let (host, name) = (opened(place), format!("{fault:?}"));
        host.town.post_fails(fault);
        host.settles().await;
        host.assert_reviewed_once(&name).await;
        assert_eq!(
            (host.findings(), host.town.bodies(host.pr).len()),
            (2, 1),
            "{name}"
        );
    }
}

async fn a_limit_on_writing_is_waited_for(place: Place) {
    let host = opened(place);
    host.town.post_fails(Fault::status(429, "Retry later\n"));
    host.settles().await;
    host.assert_reviewed_once("limited").await;
    assert_eq!((host.findings(), host.town.bodies(host.pr).len()), (2, 1));
}

async fn a_refused_anchor_loses_nothing(place: Place) {
    let host = opened(place);
    host.town.post_fails(host.town.refused_anchor());
    host.settles().await;
    host.assert_reviewed_once("refused").await;
    let (bodies, said) = (host.town.bodies(host.pr), host.comments());
    assert_eq!(bodies.len(), 1, "{bodies:#?}");
    for file in ["Pay.java", "orders.py"] {
        let on_line = said.iter().filter(|one| one.0.ends_with(file)).count();
        let in_body = usize::from(bodies[0].contains(&format!("{file}:")));
        assert_eq!(on_line + in_body, 1, "{file}: {said:#?}\n{}", bodies[0]);
    }
}

async fn a_token_that_may_not_write_ends_the_job(place: Place) {
    let host = Host::without_write_permission_at(place, TWO_DEFECTS);
    host.settles().await;
    let job = host.job().await.unwrap();
    assert_eq!(job.state, JobState::Failed);
    assert_eq!(job.end_reason, Some(EndReason::WriteForbidden));
}

async fn a_run_killed_at_any_call_to_the_forge_posts_once(place: Place) {
    let calm = opened(place);
    let (sent, gate) = (calm.town.sent().remove(0), Arc::new(Gate::open()));
    calm.hand_in(&gate, &sent).await;
    assert_eq!(calm.run(&gate).await, Ended::Quiet);
    let (names, undisturbed) = (gate.names(), calm.comments());
    let calls = names.iter().zip(0_u64..);
    let to_forge = calls.filter(|(name, _)| name.starts_with("forge."));
    for (name, call) in to_forge {
        for when in [When::Before, When::After] {
            let (host, context) = (opened(place), format!("killed {when:?} {name} ({call})"));
            let (sent, gate) = (
                host.town.sent().remove(0),
                Arc::new(Gate::killing(KillAt { call, when })),
            );
            let ended = host.hand_in_and_run(&gate, &sent).await;
            assert_eq!(ended, Ended::Killed, "{context}: never reached");
            host.restart();
            let gate = Arc::new(Gate::open());
            host.hand_in(&gate, &sent).await;
            assert_eq!(host.run(&gate).await, Ended::Quiet);
            host.assert_reviewed_once(&context).await;
            assert_eq!(host.comments(), undisturbed, "{context}");
            assert_eq!(host.town.bodies(host.pr).len(), 1, "{context}");
        }
    }
}
