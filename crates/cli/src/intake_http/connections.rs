//! Accepts connections, bounds them, and lets them end.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;

use super::{Door, router};

/// The pause after a connection could not be accepted, mostly because no file descriptor is left.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);
/// The longest headers. Those of a forge are under 2 KiB.
const MAX_HEADER_BYTES: usize = 16 * 1024;

/// Answers requests until `stop` is done; then no connection is accepted any more, and open requests
/// have [`super::Limits::shutdown`] to end.
pub async fn serve(listener: TcpListener, door: Arc<Door>, stop: impl Future<Output = ()>) {
    let limits = door.limits;
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(limits.headers)
        .max_buf_size(MAX_HEADER_BYTES);
    let service = TowerToHyperService::new(router(door));
    let slots = Arc::new(Semaphore::new(limits.connections));
    let graceful = GracefulShutdown::new();
    let mut connections = JoinSet::new();
    let mut stop = std::pin::pin!(stop);
    loop {
        tokio::select! {
            () = &mut stop => break,
            Some(_ended) = connections.join_next() => {}
            accepted = accept(&listener, &slots) => match accepted {
                Ok((stream, slot)) => {
                    let connection =
                        http.serve_connection(TokioIo::new(stream), service.clone());
                    let watched = graceful.watch(connection);
                    connections.spawn(async move {
                        // Cut off, too slow or not HTTP: the other side's business.
                        let _outcome = watched.await;
                        drop(slot);
                    });
                }
                Err(error) => {
                    tracing::warn!(
                        { mirilla_telemetry::field::ERROR } = %error,
                        "a connection could not be accepted"
                    );
                    tokio::time::sleep(ACCEPT_PAUSE).await;
                }
            },
        }
    }
    drop(listener);
    // What has not ended by then is dropped with its connection.
    let _in_time = tokio::time::timeout(limits.shutdown, graceful.shutdown()).await;
    connections.shutdown().await;
}

/// Takes a slot first: who has none waits in the listener's queue and costs nothing here.
async fn accept(
    listener: &TcpListener,
    slots: &Arc<Semaphore>,
) -> io::Result<(TcpStream, OwnedSemaphorePermit)> {
    let slot = Arc::clone(slots)
        .acquire_owned()
        .await
        .map_err(io::Error::other)?;
    let (stream, _peer) = listener.accept().await?;
    stream.set_nodelay(true)?;
    Ok((stream, slot))
}
