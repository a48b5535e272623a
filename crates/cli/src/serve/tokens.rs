//! Minters: the only children that hold the App's key, asked by the supervisor on a stage's behalf.
//!
//! **Invariant:** which minter answers depends on the line the request came in on, not on what the
//! request says.

use std::time::Duration;

use mirilla_ports::NoToken;
use mirilla_stages::mint::{Place, Reach};
use tokio::sync::{Mutex, mpsc, oneshot};

use super::Host;
use super::process::Child;
use super::protocol::{ChildSettings, FromChild, ToChild};
use crate::settings::Secret;

/// Longest time a token may take: two calls to the forge.
const MINT_TIMEOUT: Duration = Duration::from_secs(30);

type Reply = oneshot::Sender<Result<Secret, NoToken>>;

#[derive(Debug)]
struct Wanted {
    order: ToChild,
    reply: Reply,
}

/// The queues to both minters.
#[derive(Debug, Default)]
pub(crate) struct Minters {
    read: Desk,
    write: Desk,
}

#[derive(Debug)]
struct Desk {
    orders: mpsc::Sender<Wanted>,
    inbox: Mutex<mpsc::Receiver<Wanted>>,
}

impl Default for Desk {
    fn default() -> Self {
        let (orders, inbox) = mpsc::channel(16);
        Self {
            orders,
            inbox: Mutex::new(inbox),
        }
    }
}

impl Minters {
    const fn desk(&self, reach: Reach) -> &Desk {
        match reach {
            Reach::Read => &self.read,
            Reach::Write => &self.write,
        }
    }

    /// Returns a token of a stage for one repository.
    pub(crate) async fn mint(
        &self,
        reach: Reach,
        place: Place,
        fresh: bool,
    ) -> Result<Secret, NoToken> {
        let (reply, answer) = oneshot::channel();
        let order = ToChild::Mint {
            forge: place.forge,
            repo: place.repo,
            installation: place.installation,
            fresh,
        };
        let gone = || NoToken::unavailable("the minter is not running");
        self.desk(reach)
            .orders
            .send(Wanted { order, reply })
            .await
            .map_err(|_gone| gone())?;
        match tokio::time::timeout(MINT_TIMEOUT, answer).await {
            Ok(answer) => answer.map_err(|_gone| gone())?,
            Err(_elapsed) => Err(NoToken::unavailable("the minter did not answer in time")),
        }
    }
}

/// Keeps one minter alive and passes orders to it, one after the other.
pub(crate) async fn serve(host: &Host<'_>, reach: Reach, settings: impl Fn() -> ChildSettings) {
    let mut inbox = host.minters.desk(reach).inbox.lock().await;
    loop {
        let error = match Child::start(host.program, settings()).await {
            Ok(mut child) => loop {
                let Some(wanted) = inbox.recv().await else {
                    return;
                };
                match exchange(&mut child, &wanted.order).await {
                    Ok(token) => drop(wanted.reply.send(token)),
                    Err(error) => {
                        drop(
                            wanted
                                .reply
                                .send(Err(NoToken::unavailable(format!("{error:#}")))),
                        );
                        break error;
                    }
                }
            },
            Err(error) => error,
        };
        tracing::error!(
            stage = process_name(reach),
            error = format!("{error:#}"),
            "the {} process failed; it is started again: {error:#}",
            process_name(reach)
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

async fn exchange(child: &mut Child, order: &ToChild) -> anyhow::Result<Result<Secret, NoToken>> {
    child.link.send(order).await?;
    loop {
        match child.link.next::<FromChild>().await? {
            Some(FromChild::Minted { token }) => return Ok(token),
            Some(FromChild::Ready { .. }) => {}
            Some(_) => anyhow::bail!("a minter said what only a stage may say"),
            None => anyhow::bail!("the minter ended"),
        }
    }
}

/// Returns the name of a minter's process.
pub(crate) const fn process_name(reach: Reach) -> &'static str {
    match reach {
        Reach::Read => "minter-read",
        Reach::Write => "minter-write",
    }
}
