//! The gate: a check on GitHub, a commit status on GitLab.

use mirilla_domain::settings::Gate as Threshold;

use crate::play::scenarios;
use crate::support::{Host, Place, Story, TWO_DEFECTS};

scenarios![
    a_clean_change_passes,
    an_open_defect_fails,
    what_could_not_be_read_does_not_pass,
    without_a_gate_there_is_no_mark,
];

/// A change in which nothing is to be found.
const CLEAN: Story = Story {
    base: TWO_DEFECTS.base,
    head: &[("b/orders.py", "def none():\n    return None\n")],
};

fn gated(place: Place, story: Story) -> Host {
    let mut host = Host::at(place, story);
    host.policy.gate = Threshold::High;
    host
}

/// What the one mark on the head says.
fn mark(host: &Host) -> String {
    let marks = host.town.verdicts(&host.town.tip("change"));
    let [(name, state)] = marks.as_slice() else {
        panic!("not one mark: {marks:?}");
    };
    assert_eq!(name, "Mirilla");
    state.clone()
}

async fn a_clean_change_passes(place: Place) {
    let host = gated(place, CLEAN);
    host.settles().await;
    assert_eq!(mark(&host), "success");
}

async fn an_open_defect_fails(place: Place) {
    let host = gated(place, TWO_DEFECTS);
    host.settles().await;
    assert!(["failure", "failed"].contains(&&*mark(&host)));
}

async fn what_could_not_be_read_does_not_pass(place: Place) {
    let host = gated(place, CLEAN);
    host.model_is_down();
    host.settles().await;
    assert!(["failure", "failed"].contains(&&*mark(&host)));
}

async fn without_a_gate_there_is_no_mark(place: Place) {
    let host = Host::at(place, CLEAN);
    host.settles().await;
    let marks = host.town.verdicts(&host.town.tip("change"));
    assert_eq!(marks, []);
}
