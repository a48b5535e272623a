//! GitHub's manifest flow: the browser takes a manifest to GitHub and brings a code back, the code is
//! exchanged for the App, and the App is connected to the stack.
//! <https://docs.github.com/apps/sharing-github-apps/registering-a-github-app-from-a-manifest>
//!
//! **Invariant:** one code is exchanged in one run, and everything that follows happens here and not in a
//! request: a browser that is closed loses nothing.

use std::time::Duration;

use anyhow::Result;
use axum::http::StatusCode;
use mirilla_forge::github::{Access, ConversionError, NewApp};
use mirilla_ports::Entropy as _;
use mirilla_stack::{App, AppKey, Stack};
use mirilla_system::OsEntropy;
use tokio::sync::{mpsc, oneshot};

use super::connect::{Candidate, Connection, Webhook};
use super::door::{Asked, Listening, Order, Shown, Tickets};
use super::manifest::{self, Manifest};
use super::place::Place;
use super::{browser, page};
use crate::failure::Failure;
use crate::output;

/// How long the browser may take, and how long what is left can be tried again.
const LIMIT: Duration = Duration::from_secs(10 * 60);
/// How long the last page may take to reach the browser.
const FAREWELL: Duration = Duration::from_secs(2);

/// Runs the flow; returns the connected App.
pub(super) async fn run(
    stack: &Stack,
    place: &Place,
    manifest: Manifest,
    open: bool,
) -> Result<Connection> {
    let entropy = OsEntropy::open()?;
    let tickets = Tickets {
        token: entropy.hex(16),
        state: entropy.hex(32),
    };
    let listening = Listening::open().await?;
    let address = listening.address(&format!("/{}", tickets.token));
    let start = page::start(
        &place.registration(&tickets.state),
        &manifest.json(&listening.address("/created")),
        stack.name(),
    );
    let (orders, inbox) = mpsc::channel(4);
    let (stop, stopped) = oneshot::channel::<()>();
    let serving = listening.serve(
        tickets.clone(),
        start,
        place.web().to_owned(),
        orders,
        async {
            // Dropped or sent, it means the same.
            drop(stopped.await);
        },
    );
    if !(open && browser::open(&address)) {
        output::notes("open this page in a browser on this machine:");
    }
    output::notes(&format!("  {address}"));
    output::notes("(from elsewhere: forward this port, ssh -L PORT:127.0.0.1:PORT)");

    let mut flow = Flow {
        stack,
        place,
        access: place.access()?,
        state: tickets.state,
        phase: Phase::Waiting,
    };
    let driving = async move {
        let outcome = flow.drive(inbox).await;
        drop(stop);
        outcome
    };
    tokio::pin!(serving, driving);
    tokio::select! {
        served = &mut serving => {
            served?;
            anyhow::bail!("the page's server ended by itself");
        }
        outcome = &mut driving => {
            // The last page may still be on its way.
            let _in_time = tokio::time::timeout(FAREWELL, serving).await;
            outcome
        }
    }
}

/// How far it has come.
enum Phase {
    /// GitHub has not sent the browser back.
    Waiting,
    /// A code waits to be exchanged.
    Code(String),
    /// The App is there.
    App(Box<Connection>),
    /// Nothing is left to do, or can be done.
    Over,
}

struct Flow<'a> {
    stack: &'a Stack,
    place: &'a Place,
    access: Access,
    state: String,
    phase: Phase,
}

/// What an order led to.
enum Outcome {
    Connected(Box<Connection>),
    /// Something is left to try.
    Left(Shown),
    /// Nothing can be done from here.
    Dead(Failure),
}

impl Flow<'_> {
    async fn drive(&mut self, mut inbox: mpsc::Receiver<Asked>) -> Result<Connection> {
        loop {
            let Some(asked) = next(&mut inbox, LIMIT).await else {
                return Err(self.timed_out().into());
            };
            match self.take(asked.order).await? {
                Outcome::Connected(connection) => {
                    connection.note_progress();
                    let app = connection.app();
                    let html = page::done(&app.slug, &self.place.install_link(&app.slug));
                    // Whether the browser still waits does not matter.
                    drop(asked.reply.send(Shown {
                        status: StatusCode::OK,
                        html,
                    }));
                    return Ok(*connection);
                }
                Outcome::Left(shown) => drop(asked.reply.send(shown)),
                Outcome::Dead(failure) => {
                    drop(asked.reply.send(Shown {
                        status: StatusCode::BAD_GATEWAY,
                        html: page::failed(&failure.to_string()),
                    }));
                    return Err(failure.into());
                }
            }
        }
    }

    fn timed_out(&self) -> Failure {
        let minutes = LIMIT.as_secs() / 60;
        match &self.phase {
            Phase::Waiting | Phase::Over => Failure::new(format!(
                "nobody came back from GitHub within {minutes} minutes; nothing was changed"
            ))
            .hint("run the command again, and press the button on GitHub's page"),
            Phase::Code(_) => {
                Failure::new("the App could not be fetched from GitHub").hint(self.lost_hint())
            }
            Phase::App(connection) => Failure::new(format!(
                "the App {} exists and is not connected yet",
                connection.app().slug
            ))
            .hint(super::recovery(self.stack, self.place, connection.app())),
        }
    }

    fn lost_hint(&self) -> String {
        format!(
            "GitHub may have made the App all the same: look at {}. If it is there, \"Generate a private key\" on its page and run: \
             mirilla app key --stack {} --app-id ID --pem FILE (or delete it there and begin again)",
            self.place.apps(),
            self.stack.name()
        )
    }

    async fn take(&mut self, order: Order) -> Result<Outcome> {
        match (order, std::mem::replace(&mut self.phase, Phase::Over)) {
            (Order::Exchange(code), Phase::Waiting) | (Order::Again, Phase::Code(code)) => {
                self.exchange(code).await
            }
            (Order::Again, Phase::App(connection)) => self.connect(*connection).await,
            // The address that GitHub sends to works once; loading it again shows how things stand.
            (Order::Exchange(_), Phase::App(connection)) => Ok(self.left(*connection)),
            (Order::Exchange(_) | Order::Again, phase) => {
                self.phase = phase;
                Ok(Outcome::Left(Shown {
                    status: StatusCode::CONFLICT,
                    html: page::failed("This was done already. See the terminal."),
                }))
            }
        }
    }

    async fn exchange(&mut self, code: String) -> Result<Outcome> {
        let new = match self.access.convert_manifest(&code).await {
            Ok(new) => new,
            Err(ConversionError::Code) => {
                return Ok(Outcome::Dead(
                    Failure::new(ConversionError::Code.to_string()).hint(self.lost_hint()),
                ));
            }
            Err(error) => {
                let line = format!(
                    "FAIL fetch the App from GitHub: {}",
                    mirilla_telemetry::chain(&error)
                );
                output::notes(&line);
                output::notes(&format!("     later: {}", self.lost_hint()));
                let html = page::again(&[line], &self.state, &self.lost_hint());
                self.phase = Phase::Code(code);
                return Ok(Outcome::Left(Shown {
                    status: StatusCode::BAD_GATEWAY,
                    html,
                }));
            }
        };
        match self.candidate(new) {
            Ok(connection) => self.connect(connection).await,
            Err(failure) => Ok(Outcome::Dead(failure)),
        }
    }

    /// Takes an App only if it is the one that was asked for: whoever can press a button elsewhere could
    /// have sent another one here.
    fn candidate(&self, new: NewApp) -> Result<Connection, Failure> {
        let facts = &new.facts;
        let page = self.place.settings_page(&facts.slug);
        let refuse = |why: String| {
            Failure::new(format!("the App that came back is not used: {why}"))
                .hint(format!("nothing was stored; delete the App on {page}"))
        };
        let wider = manifest::wider(&facts.permissions);
        if !wider.is_empty() {
            return Err(refuse(format!(
                "it may do more than the manifest asks for ({})",
                wider.join(", ")
            )));
        }
        if let (Some(wanted), Some(owner)) = (self.place.owner(), facts.owner())
            && !wanted.eq_ignore_ascii_case(owner)
        {
            return Err(refuse(format!("it belongs to {owner}, not to {wanted}")));
        }
        let key = AppKey::parse(new.pem).map_err(|error| refuse(format!("its key: {error}")))?;
        let Some(secret) = new.webhook_secret else {
            return Err(refuse("it came without a webhook secret".to_owned()));
        };
        let app = App {
            client_id: new.facts.issuer(),
            slug: new.facts.slug,
            id: new.facts.id,
        };
        output::notes(&format!("GitHub made the App {} ({})", app.slug, app.id));
        Ok(Connection::new(
            Candidate { app, key },
            Webhook::Told(secret),
        ))
    }

    async fn connect(&mut self, connection: Connection) -> Result<Outcome> {
        let connection = connection.advance(self.stack).await?;
        if connection.is_done() {
            return Ok(Outcome::Connected(Box::new(connection)));
        }
        connection.note_progress();
        output::notes(&format!(
            "the page in the browser can try the rest again for {} minutes; later: {}",
            LIMIT.as_secs() / 60,
            super::recovery(self.stack, self.place, connection.app())
        ));
        Ok(self.left(connection))
    }

    fn left(&mut self, connection: Connection) -> Outcome {
        let otherwise = super::recovery(self.stack, self.place, connection.app());
        let html = page::again(&connection.lines(), &self.state, &otherwise);
        self.phase = Phase::App(Box::new(connection));
        Outcome::Left(Shown {
            status: StatusCode::BAD_GATEWAY,
            html,
        })
    }
}

/// Returns the next order, if one comes in time.
async fn next(inbox: &mut mpsc::Receiver<Asked>, limit: Duration) -> Option<Asked> {
    tokio::time::timeout(limit, inbox.recv())
        .await
        .ok()
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn who_does_not_come_back_in_time_is_not_waited_for() {
        assert_eq!(LIMIT.as_secs(), 10 * 60);
        let (orders, mut inbox) = mpsc::channel(1);
        assert!(next(&mut inbox, Duration::from_millis(5)).await.is_none());
        let (reply, _answer) = oneshot::channel();
        let order = Order::Again;
        orders.send(Asked { order, reply }).await.unwrap();
        assert!(next(&mut inbox, LIMIT).await.is_some());
    }
}
