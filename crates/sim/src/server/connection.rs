//! Connections that a handler can cut before it has answered.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// Cuts the connection it came with; clones act on the same connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Switch(Arc<AtomicBool>);

impl Switch {
    /// Makes every further write to the connection fail, so that the server closes it.
    pub(crate) fn cut(&self) {
        self.0.store(true, Ordering::Release);
    }

    fn is_cut(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// A listener whose connections carry a [`Switch`].
#[derive(Debug)]
pub(crate) struct Accepting(pub(crate) TcpListener);

/// A connection with its switch.
#[derive(Debug)]
pub(crate) struct Cuttable {
    inner: TcpStream,
    switch: Switch,
}

impl Listener for Accepting {
    type Io = Cuttable;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (inner, addr) = Listener::accept(&mut self.0).await;
        // Answers are small and awaited one by one; a failure only costs speed.
        drop(inner.set_nodelay(true));
        (
            Cuttable {
                inner,
                switch: Switch::default(),
            },
            addr,
        )
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl Connected<IncomingStream<'_, Accepting>> for Switch {
    fn connect_info(stream: IncomingStream<'_, Accepting>) -> Self {
        stream.io().switch.clone()
    }
}

impl Cuttable {
    fn check(&self) -> io::Result<()> {
        if self.switch.is_cut() {
            return Err(io::Error::new(
                io::ErrorKind::BrokenPipe,
                "cut by the fault script",
            ));
        }
        Ok(())
    }
}

impl AsyncRead for Cuttable {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_read(cx, buf)
    }
}

impl AsyncWrite for Cuttable {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check()?;
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}
