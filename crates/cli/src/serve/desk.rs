//! A child that answers orders, one after the other, asked by the supervisor on a stage's behalf.

use std::time::Duration;

use tokio::sync::{Mutex, mpsc, oneshot};

use super::Host;
use super::process::Child;
use super::protocol::{ChildSettings, FromChild, ToChild};

/// Longest time an answer may take: a few calls to the forge.
const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Debug)]
struct Wanted<R> {
    order: ToChild,
    reply: oneshot::Sender<Result<R, String>>,
}

/// The queue to one such child.
#[derive(Debug)]
pub(crate) struct Desk<R> {
    orders: mpsc::Sender<Wanted<R>>,
    inbox: Mutex<mpsc::Receiver<Wanted<R>>>,
}

impl<R> Default for Desk<R> {
    fn default() -> Self {
        let (orders, inbox) = mpsc::channel(16);
        Self {
            orders,
            inbox: Mutex::new(inbox),
        }
    }
}

impl<R> Desk<R> {
    /// Returns the child's answer to an order, or why there is none.
    pub(crate) async fn ask(&self, order: ToChild) -> Result<R, String> {
        let (reply, answer) = oneshot::channel();
        let gone = || "the process that holds the App's key is not running".to_owned();
        self.orders
            .send(Wanted { order, reply })
            .await
            .map_err(|_gone| gone())?;
        match tokio::time::timeout(PATIENCE, answer).await {
            Ok(answer) => answer.map_err(|_gone| gone())?,
            Err(_elapsed) => {
                Err("the process that holds the App's key did not answer in time".to_owned())
            }
        }
    }

    /// Keeps the child alive and passes orders to it. `read` takes an answer out of what it says.
    pub(crate) async fn serve(
        &self,
        host: &Host<'_>,
        name: &'static str,
        settings: impl Fn() -> ChildSettings,
        read: impl Fn(FromChild) -> Option<R>,
    ) {
        let mut inbox = self.inbox.lock().await;
        loop {
            let error = match Child::start(host.program, settings()).await {
                Ok(mut child) => loop {
                    let Some(wanted) = inbox.recv().await else {
                        return;
                    };
                    match exchange(&mut child, &wanted.order, &read).await {
                        Ok(answer) => drop(wanted.reply.send(Ok(answer))),
                        Err(error) => {
                            drop(wanted.reply.send(Err(format!("{error:#}"))));
                            break error;
                        }
                    }
                },
                Err(error) => error,
            };
            tracing::error!(
                stage = name,
                error = format!("{error:#}"),
                "the {name} process failed; it is started again: {error:#}"
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

async fn exchange<R>(
    child: &mut Child,
    order: &ToChild,
    read: &impl Fn(FromChild) -> Option<R>,
) -> anyhow::Result<R> {
    child.link.send(order).await?;
    loop {
        match child.link.next::<FromChild>().await? {
            Some(FromChild::Ready { .. }) => {}
            Some(said) => {
                return read(said)
                    .ok_or_else(|| anyhow::anyhow!("it said what only another child may say"));
            }
            None => anyhow::bail!("it ended"),
        }
    }
}
