//! The review stage on this host, and what its model looks up.

use std::sync::Arc;
use std::time::Duration;

use mirilla_archive::Archives;
use mirilla_domain::ids::{AttemptNo, JobId};
use mirilla_domain::money::CappedPurse;
use mirilla_domain::price::PriceTable;
use mirilla_domain::redact::Redactor;
use mirilla_sim::Scripted;
use mirilla_stages::error::StageError;
use mirilla_stages::report::Report;
use mirilla_stages::review::{self, ReviewOrder, ReviewPorts, ReviewSettings};
use serde_json::json;
use tokio::sync::OnceCell;

use super::{Host, gated};
use crate::support::Gate;

impl Host {
    /// Lets the model look things up in so many turns before it answers, two things in each.
    pub(crate) fn looking(self, turns: usize) -> Self {
        self.sim.messages().answer_all_when(
            "a look",
            move |prompt| prompt.may_call_tools() && prompt.turns() < turns,
            |prompt| {
                let path = if prompt.turns() == 0 {
                    "a/Pay.java"
                } else {
                    "a/Gone.java"
                };
                Scripted::tool_calls(vec![
                    ("read_file", json!({"path": path})),
                    ("read_file", json!({"file": path})),
                ])
            },
        );
        self
    }

    /// Reads one snapshot, as a worker does whose process ends at the gate.
    pub(crate) async fn review_as(
        &self,
        gate: &Arc<Gate>,
        (job, attempt): (&JobId, AttemptNo),
        purses: &[CappedPurse],
        receive_count: u32,
    ) -> Result<Report, StageError> {
        let (artifacts, meter) = (self.artifacts(), self.meter());
        let (artifacts, meter) = (gated(artifacts, gate), gated(meter, gate));
        let heads = gated(&self.stores.heads, gate);
        let fresh = OnceCell::new();
        let model = if self.warm { &self.model } else { &fresh };
        let model = gated(model.get_or_init(async || self.model()).await, gate);
        let archives = Archives::new(&artifacts);
        let ports = ReviewPorts {
            artifacts: &artifacts,
            meter: &meter,
            heads: &heads,
            model: Some(&model),
            files: Some(&archives),
            clock: self.clock.as_ref(),
            entropy: self.entropy.as_ref(),
            note: &|_line: &str| (),
            looked: &|look| self.looks.lock().unwrap().push(look.log_line()),
            count: &|about, signal| self.saw(about, &[signal]),
        };
        let settings = ReviewSettings {
            policy: self.policy.clone(),
            prices: PriceTable::shipped(),
            redactor: Redactor::default(),
            limit: Duration::from_secs(600),
        };
        let order = ReviewOrder {
            job: job.clone(),
            attempt,
            purses: purses.to_vec(),
            receive_count,
            last_try: receive_count >= 10,
        };
        review::review(ports, &settings, &order).await
    }

    /// The lines about what the model looked up.
    pub(crate) fn looks(&self) -> Vec<String> {
        self.looks.lock().unwrap().clone()
    }
}
