//! The only children that hold the App's key: two that make tokens for a stage, one that makes tokens to
//! resolve threads if the operator wants that, and one that asks about webhooks.
//!
//! **Invariant:** which of them answers depends on the line the request came in on, not on what the
//! request says.

use mirilla_ports::NoToken;
use mirilla_ports::deliveries::{DeliveriesAnswer, DeliveriesFailure, DeliveriesRequest};
use mirilla_stages::mint::{Place, Reach};

use super::Host;
use super::desk::Desk;
use super::protocol::{ChildSettings, FromChild, ToChild};
use crate::settings::{AppSettings, MinterSettings, Secret};

/// The name of the process that asks about webhooks.
pub(crate) const DELIVERIES: &str = "minter-deliveries";

/// The queues to them.
#[derive(Debug, Default)]
pub(crate) struct Minters {
    read: Desk<Result<Secret, NoToken>>,
    write: Desk<Result<Secret, NoToken>>,
    resolve: Desk<Result<Secret, NoToken>>,
    deliveries: Desk<DeliveriesAnswer>,
}

impl Minters {
    const fn desk(&self, reach: Reach) -> &Desk<Result<Secret, NoToken>> {
        match reach {
            Reach::Read => &self.read,
            Reach::Write => &self.write,
            Reach::Resolve => &self.resolve,
        }
    }

    /// Returns a token of a stage for one repository.
    pub(crate) async fn mint(
        &self,
        reach: Reach,
        place: Place,
        fresh: bool,
    ) -> Result<Secret, NoToken> {
        let order = ToChild::Mint {
            forge: place.forge,
            repo: place.repo,
            installation: place.installation,
            fresh,
        };
        let answer = self.desk(reach).ask(order).await;
        answer.map_err(NoToken::unavailable)?
    }

    /// Returns what the forge says about its webhooks.
    pub(crate) async fn deliveries(&self, request: DeliveriesRequest) -> DeliveriesAnswer {
        let answer = self.deliveries.ask(ToChild::AskDeliveries(request)).await;
        answer.unwrap_or_else(|reason| {
            DeliveriesAnswer::Failed(DeliveriesFailure::Unavailable { reason })
        })
    }
}

/// Keeps them alive; the one that makes tokens to resolve threads is started only if that is wanted.
pub(crate) async fn serve(host: &Host<'_>, app: &AppSettings) {
    let minter = |reach| {
        ChildSettings::Minter(MinterSettings {
            reach,
            app: app.clone(),
        })
    };
    let token = |said| match said {
        FromChild::Minted { token } => Some(token),
        _ => None,
    };
    let [read, write, resolve] = [Reach::Read, Reach::Write, Reach::Resolve].map(|reach| {
        let desk = host.minters.desk(reach);
        desk.serve(host, process_name(reach), move || minter(reach), token)
    });
    let resolve = async {
        if host.settings.resolve_threads {
            resolve.await;
        }
    };
    let deliveries = host.minters.deliveries.serve(
        host,
        DELIVERIES,
        || ChildSettings::Deliveries(app.clone()),
        |said| match said {
            FromChild::Deliveries(answer) => Some(answer),
            _ => None,
        },
    );
    tokio::join!(read, write, resolve, deliveries);
}

/// Returns the name of a minter's process.
pub(crate) const fn process_name(reach: Reach) -> &'static str {
    match reach {
        Reach::Read => "minter-read",
        Reach::Write => "minter-write",
        Reach::Resolve => "minter-resolve",
    }
}
