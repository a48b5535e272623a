//! Threads of ours whose finding is gone: which are resolved, with what token, and which are left.

use std::sync::Arc;

use mirilla_domain::plan::{Plan, WhyOpen};
use mirilla_domain::signal::{Signal, ThreadFate};
use mirilla_domain::snapshot::Keys;
use mirilla_ports::Artifacts as _;
use mirilla_sim::{Fault, Github};

use crate::support::{Ended, Gate, Host, KillAt, REPO, TWO_DEFECTS, When};

/// The file of one of the two findings, and its text without the defect.
const PAY: &str = "a/Pay.java";
const MENDED: &str = "class Pay {\n  void pay() {\n    charge();\n  }\n}\n";
const MUTATION: (&str, bool) = ("POST /graphql", true);
const REVOCATION: (&str, bool) = ("DELETE /installation/token", false);

/// The calls whose token may push, each with whether it asked for a change.
fn pushing(host: &Host) -> Vec<(String, bool)> {
    let calls = host.sim.github().calls();
    let pushing = calls.iter().filter(|call| call.may_push);
    pushing
        .map(|call| (call.route.clone(), call.mutates))
        .collect()
}

fn pairs(calls: &[(&str, bool)]) -> Vec<(String, bool)> {
    let owned = |(route, mutates): &(&str, bool)| ((*route).to_owned(), *mutates);
    calls.iter().map(owned).collect()
}

/// The thread about the payment: its first comment, and who resolved it.
fn pay_thread(host: &Host) -> (u64, Option<String>) {
    let threads = host.sim.github().threads(REPO, host.pr).unwrap();
    let thread = threads.iter().find(|one| one.comments[0].path == PAY);
    let thread = thread.expect("the first review is about the payment");
    (thread.comments[0].id, thread.resolved_by.clone())
}

fn fates(host: &Host) -> Vec<(ThreadFate, u64)> {
    let seen = host.seen().into_iter();
    seen.filter_map(|signal| match signal {
        Signal::ThreadsGone { fate, count } => Some((fate, count)),
        _ => None,
    })
    .collect()
}

/// Delivers what is due and runs until nothing is left to do.
async fn reviewed(host: &Host) {
    let gate = Arc::new(Gate::open());
    for delivery in host.deliveries() {
        host.deliver(&gate, &delivery).await;
    }
    assert_eq!(host.run(&gate).await, Ended::Quiet);
}

/// A host whose first review said two things, and whose author then mended one of them.
async fn mended(host: Host) -> Host {
    reviewed(&host).await;
    assert_eq!(host.comments().len(), 2, "both defects are found");
    host.push("mend", &[(PAY, MENDED)]);
    host
}

/// Runs something once the second review is written, before the threads are read again.
fn after_the_review(host: &Host, then: impl FnOnce(&Github) + Send + 'static) {
    let github = host.sim.github().clone();
    host.sim.github().faults().on_next(
        "PUT /repos/{o}/{r}/pulls/{n}/reviews/{id}",
        Fault::after(move || then(&github)),
    );
}

/// The plan for the present head, as it was kept.
async fn kept_plan(host: &Host) -> Plan {
    let job = host.job().await.unwrap();
    let key = Keys::kept(&job.id, job.attempt, "plan.json");
    let bytes = host.artifacts().get(&key, 1 << 20).await.unwrap();
    serde_json::from_slice(&bytes).unwrap()
}

#[tokio::test]
async fn a_finding_that_is_gone_closes_its_thread_once() {
    let host = mended(Host::that_resolves(TWO_DEFECTS)).await;
    assert_eq!(pushing(&host), [], "nothing was gone yet");
    reviewed(&host).await;
    assert_eq!(pay_thread(&host).1.as_deref(), Some("mirilla[bot]"));
    let threads = host.sim.github().threads(REPO, host.pr).unwrap();
    assert_eq!(threads.iter().filter(|thread| thread.resolved).count(), 1);
    assert_eq!(fates(&host), [(ThreadFate::Resolved, 1)]);
    host.push("more", &[("c/extra.txt", "more\n")]);
    reviewed(&host).await;
    // One token, for one mutation, revoked; no other call had a token that may push.
    assert_eq!(pushing(&host), pairs(&[MUTATION, REVOCATION]));
    let calls = host.sim.github().calls();
    let changes: Vec<_> = calls.iter().filter(|call| call.mutates).collect();
    assert_eq!(changes.len(), 1, "{changes:#?}");
    let revoked = calls.iter().find(|call| call.route == REVOCATION.0);
    assert_eq!(revoked.unwrap().status, 204);
}

#[tokio::test]
async fn without_the_opt_in_the_thread_is_left_and_the_plan_says_so() {
    let host = Host::new(TWO_DEFECTS);
    // Even where the account granted what it takes.
    host.grant("contents", "write");
    let host = mended(host).await;
    reviewed(&host).await;
    assert_eq!((pay_thread(&host).1, pushing(&host)), (None, Vec::new()));
    let plan = kept_plan(&host).await;
    assert_eq!(plan.resolve, []);
    let why: Vec<WhyOpen> = plan.left_open.iter().map(|left| left.why).collect();
    assert_eq!(why, [WhyOpen::NotOptedIn]);
}

#[tokio::test]
async fn a_thread_that_a_person_answered_or_resolved_is_theirs() {
    for resolves in [false, true] {
        let host = mended(Host::that_resolves(TWO_DEFECTS)).await;
        let (comment, _) = pay_thread(&host);
        if resolves {
            let github = host.sim.github();
            github.resolve_thread(REPO, comment, "dana").unwrap();
        } else {
            let github = host.sim.github();
            github.reply(REPO, comment, "dana", "Mended.").unwrap();
        }
        reviewed(&host).await;
        let by = resolves.then(|| "dana".to_owned());
        assert_eq!((pay_thread(&host).1, pushing(&host)), (by, Vec::new()));
    }
}

#[tokio::test]
async fn an_answer_that_comes_between_listing_and_resolving_is_seen() {
    let host = mended(Host::that_resolves(TWO_DEFECTS)).await;
    let (comment, _) = pay_thread(&host);
    after_the_review(&host, move |github| {
        github.reply(REPO, comment, "dana", "Wait.").unwrap();
    });
    reviewed(&host).await;
    assert_eq!(kept_plan(&host).await.resolve.len(), 1, "the control");
    assert_eq!((pay_thread(&host).1, pushing(&host)), (None, Vec::new()));
    assert_eq!(fates(&host), [(ThreadFate::Left, 1)]);
}

#[tokio::test]
async fn a_file_that_this_run_did_not_read_keeps_its_thread() {
    let host = Host::that_resolves(TWO_DEFECTS);
    reviewed(&host).await;
    // As before the change: it is no longer part of the diff, so nobody reads it.
    host.push("undo", &[TWO_DEFECTS.base[0]]);
    reviewed(&host).await;
    assert_eq!((pay_thread(&host).1, pushing(&host)), (None, Vec::new()));
}

#[tokio::test]
async fn a_review_that_failed_resolves_nothing() {
    let host = mended(Host::that_resolves(TWO_DEFECTS)).await;
    let faults = host.sim.messages().faults();
    let overloaded =
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#;
    let made = faults.count("POST /v1/messages");
    for call in 1..=100 {
        let fault = Fault::status(529, overloaded);
        faults.on("POST /v1/messages", made + call, fault);
    }
    reviewed(&host).await;
    assert_eq!((pay_thread(&host).1, pushing(&host)), (None, Vec::new()));
}

#[tokio::test]
async fn a_finding_that_comes_back_is_said_anew() {
    let host = mended(Host::that_resolves(TWO_DEFECTS)).await;
    reviewed(&host).await;
    host.push("break again", &[TWO_DEFECTS.head[0]]);
    reviewed(&host).await;
    let threads = host.sim.github().threads(REPO, host.pr).unwrap();
    let of_pay = threads.iter().filter(|one| one.comments[0].path == PAY);
    let resolved: Vec<bool> = of_pay.map(|thread| thread.resolved).collect();
    assert_eq!(resolved, [true, false]);
}

#[tokio::test]
async fn the_token_is_revoked_also_when_the_mutation_failed() {
    for (fault, is_resolved) in [
        (Fault::status(502, "{}"), false),
        (Fault::DropBeforeEffect, false),
        (Fault::DropAfterEffect, true),
    ] {
        let host = mended(Host::that_resolves(TWO_DEFECTS)).await;
        after_the_review(&host, move |github| {
            let faults = github.faults();
            // The next one reads the threads again.
            let mutation = faults.count("POST /graphql") + 2;
            faults.on("POST /graphql", mutation, fault);
        });
        reviewed(&host).await;
        host.assert_reviewed_once("a failed mutation").await;
        assert_eq!(pushing(&host), pairs(&[MUTATION, REVOCATION]));
        assert_eq!(pay_thread(&host).1.is_some(), is_resolved);
        assert_eq!(fates(&host), [(ThreadFate::Failed, 1)]);
        // The next run does what is left.
        host.push("more", &[("c/extra.txt", "more\n")]);
        reviewed(&host).await;
        assert!(pay_thread(&host).1.is_some());
    }
}

#[tokio::test]
async fn an_account_that_did_not_grant_it_gets_its_review_all_the_same() {
    let mut host = Host::new(TWO_DEFECTS);
    host.resolve_threads = true;
    let host = mended(host).await;
    reviewed(&host).await;
    host.assert_reviewed_once("not granted").await;
    assert_eq!((pay_thread(&host).1, pushing(&host)), (None, Vec::new()));
    assert_eq!(fates(&host), [(ThreadFate::Failed, 1)]);
}

#[tokio::test]
async fn a_run_that_dies_around_the_resolving_ends_with_one_review() {
    let calm = mended(Host::that_resolves(TWO_DEFECTS)).await;
    let gate = Arc::new(Gate::open());
    let delivery = calm.deliveries().remove(0);
    assert_eq!(calm.deliver_and_run(&gate, &delivery).await, Ended::Quiet);
    let names = gate.names();
    let resolving = names.iter().position(|n| *n == "forge.resolve_threads");
    let call = u64::try_from(resolving.expect("it resolves")).unwrap();
    for when in [When::Before, When::After] {
        let host = mended(Host::that_resolves(TWO_DEFECTS)).await;
        let delivery = host.deliveries().remove(0);
        let gate = Arc::new(Gate::killing(KillAt { call, when }));
        let ended = host.deliver_and_run(&gate, &delivery).await;
        assert_eq!(ended, Ended::Killed);
        host.restart();
        reviewed(&host).await;
        host.assert_reviewed_once("killed").await;
        assert_eq!(pay_thread(&host).1.as_deref(), Some("mirilla[bot]"));
        assert_eq!(pushing(&host), pairs(&[MUTATION, REVOCATION]), "{when:?}");
    }
}
