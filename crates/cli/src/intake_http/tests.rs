use std::net::{IpAddr, Ipv4Addr};
use std::sync::Mutex;

use mirilla_contract::{ManualClock, sample};
use mirilla_domain::webhook::{GRACE_GITHUB_COM, Secrets, WebhookSecret, sign_github};
use mirilla_local::{DataDir, LocalLedger, LocalQueue};
use mirilla_stages::intake::FixedSecrets;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::*;

const SECRET: &str = "made-up-secret";
const BODY: &str = r#"{"action":"opened","number":7,"pull_request":{"head":{"sha":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},"base":{"ref":"main"}},"repository":{"id":2,"full_name":"acme/shop"},"installation":{"id":31}}"#;

struct Running {
    address: SocketAddr,
    ledger: LocalLedger,
    stop: Option<oneshot::Sender<()>>,
    server: tokio::task::JoinHandle<()>,
    _temp: tempfile::TempDir,
}

impl Running {
    async fn with(limits: Limits) -> Self {
        let temp = tempfile::tempdir().unwrap();
        let data = DataDir::create(temp.path()).unwrap();
        let clock: Arc<dyn Clock> = Arc::new(ManualClock::at(sample::at(1_000)));
        let secrets = Secrets {
            current: WebhookSecret::parse(SECRET).unwrap(),
            previous: None,
            grace: GRACE_GITHUB_COM,
        };
        let secrets = FixedSecrets(secrets.into());
        let door = Door::new(
            Arc::new(LocalLedger::open(&data.ledger()).unwrap()),
            Arc::new(LocalQueue::open(&data.queue(), Arc::clone(&clock)).unwrap()),
            Arc::clone(&clock),
            SecretCache::open(Arc::new(secrets), clock.now())
                .await
                .unwrap(),
            IntakeSettings::new(["acme"]).unwrap(),
            limits,
        );
        let listener = bind(SocketAddr::from(([127, 0, 0, 1], 0)), false)
            .await
            .unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel::<()>();
        #[expect(clippy::disallowed_methods, reason = "the test ends it by its handle")]
        let server = tokio::spawn(serve(listener, Arc::new(door), async {
            let _told = stopped.await;
        }));
        Self {
            address,
            ledger: LocalLedger::open(&data.ledger()).unwrap(),
            stop: Some(stop),
            server,
            _temp: temp,
        }
    }

    async fn start() -> Self {
        Self::with(Limits::default()).await
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends bytes and returns everything that comes until the server closes.
    async fn exchange(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect().await;
        stream.write_all(bytes).await.unwrap();
        read_all(&mut stream).await
    }

    async fn jobs(&self) -> usize {
        let all = self.ledger.unfinished(sample::at(1_000_000_000), 100);
        all.await.unwrap().len()
    }
}

async fn read_all(stream: &mut TcpStream) -> String {
    let mut text = Vec::new();
    let read = tokio::time::timeout(Duration::from_secs(20), stream.read_to_end(&mut text));
    // A connection that the server resets has ended, too.
    let _end = read.await.expect("the server closes the connection");
    String::from_utf8(text).unwrap()
}

fn request(line: &str, headers: &[(&str, &str)], body: &str) -> Vec<u8> {
    let mut text = format!("{line} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n");
    for (name, value) in headers {
        text.push_str(name);
        text.push_str(": ");
        text.push_str(value);
        text.push_str("\r\n");
    }
    text.push_str("\r\n");
    text.push_str(body);
    text.into_bytes()
}

fn delivery(id: &str, body: &str) -> Vec<u8> {
    let signature = sign_github(&WebhookSecret::parse(SECRET).unwrap(), body.as_bytes());
    let headers = [
        ("x-github-event", "pull_request"),
        ("X-GitHub-Delivery", id),
        ("X-Hub-Signature-256", signature.as_str()),
        ("Content-Type", "application/json"),
        ("Content-Length", &body.len().to_string()),
    ];
    request("POST /webhooks/github", &headers, body)
}

fn check(answer: &str, status: &str, text: &str) {
    assert!(
        answer.starts_with(&format!("HTTP/1.1 {status} ")),
        "{answer}"
    );
    assert!(answer.ends_with(&format!("\r\n\r\n{text}")), "{answer}");
    assert!(answer.contains("content-type: text/plain"), "{answer}");
}

#[tokio::test]
async fn webhook_is_answered_with_status_and_plain_text() {
    let server = Running::start().await;
    check(
        &server.exchange(&delivery("d-1", BODY)).await,
        "202",
        "queued",
    );
    check(
        &server.exchange(&delivery("d-1", BODY)).await,
        "200",
        "duplicate",
    );
    let forged = String::from_utf8(delivery("d-2", BODY)).unwrap();
    let forged = forged.replace("\"number\":7", "\"number\":8");
    check(
        &server.exchange(forged.as_bytes()).await,
        "401",
        "bad signature",
    );
    let refused = server.exchange(&delivery("d-3", "{}")).await;
    check(&refused, "400", "the field `pull_request` is missing");
    assert_eq!(server.jobs().await, 1);
}

#[tokio::test]
async fn other_addresses_and_methods_are_refused() {
    let server = Running::start().await;
    check(
        &server.exchange(&request("GET /healthz", &[], "")).await,
        "200",
        "ok",
    );
    for line in [
        "POST /webhooks/gitlab",
        "GET /",
        "POST /webhooks/github/x",
        "GET /admin",
    ] {
        check(
            &server.exchange(&request(line, &[], "")).await,
            "404",
            "not found",
        );
    }
    let answer = server
        .exchange(&request("GET /webhooks/github", &[], ""))
        .await;
    assert!(answer.starts_with("HTTP/1.1 405 "), "{answer}");
    let answer = server.exchange(b"this is not HTTP\r\n\r\n").await;
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
}

#[tokio::test]
async fn stated_length_above_the_cap_is_refused_without_reading() {
    let server = Running::start().await;
    let length = (MAX_BODY_BYTES + 1).to_string();
    let headers = [("Content-Length", length.as_str())];
    let answer = server
        .exchange(&request("POST /webhooks/github", &headers, ""))
        .await;
    assert!(answer.starts_with("HTTP/1.1 413 "), "{answer}");
}

#[tokio::test]
async fn unstated_length_above_the_cap_is_cut() {
    let server = Running::start().await;
    let headers = [("Transfer-Encoding", "chunked")];
    let mut stream = server.connect().await;
    stream
        .write_all(&request("POST /webhooks/github", &headers, ""))
        .await
        .unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, "x".repeat(1 << 20));
    for _ in 0..40 {
        // The server stops reading at the cap and closes.
        if stream.write_all(chunk.as_bytes()).await.is_err() {
            break;
        }
    }
    let mut answer = [0; 13];
    if stream.read_exact(&mut answer).await.is_ok() {
        assert_eq!(&answer, b"HTTP/1.1 413 ");
    }
    assert_eq!(server.jobs().await, 0);
    check(
        &server.exchange(&delivery("d-1", BODY)).await,
        "202",
        "queued",
    );
}

fn hasty() -> Limits {
    Limits {
        headers: Duration::from_millis(200),
        body: Duration::from_millis(200),
        ..Limits::default()
    }
}

#[tokio::test]
async fn clients_that_send_nothing_or_too_slowly_are_cut() {
    let server = Running::with(hasty()).await;
    let mut silent = server.connect().await;
    let mut slow = server.connect().await;
    slow.write_all(b"POST /webhooks/github HTTP/1.1\r\nX-A: ")
        .await
        .unwrap();
    read_all(&mut silent).await;
    read_all(&mut slow).await;

    let cut = delivery("d-1", BODY);
    let mut stalled = server.connect().await;
    stalled.write_all(&cut[..cut.len() - 10]).await.unwrap();
    let answer = read_all(&mut stalled).await;
    assert!(answer.starts_with("HTTP/1.1 408 "), "{answer}");
    assert_eq!(server.jobs().await, 0);
}

#[tokio::test]
async fn large_bodies_that_are_not_sent_do_not_keep_others_out() {
    let server = Running::start().await;
    let length = MAX_BODY_BYTES.to_string();
    let headers = [("Content-Length", length.as_str())];
    let mut waiting = Vec::new();
    for _ in 0..20 {
        let mut stream = server.connect().await;
        stream
            .write_all(&request("POST /webhooks/github", &headers, "{"))
            .await
            .unwrap();
        waiting.push(stream);
    }
    check(
        &server.exchange(&delivery("d-1", BODY)).await,
        "202",
        "queued",
    );
    drop(waiting);
}

#[tokio::test]
async fn connections_past_the_bound_wait_for_a_slot() {
    let limits = Limits {
        connections: 2,
        ..hasty()
    };
    let server = Running::with(limits).await;
    let _one = server.connect().await;
    let _two = server.connect().await;
    // The idle ones are cut for their time; then the third is served.
    check(
        &server.exchange(&delivery("d-1", BODY)).await,
        "202",
        "queued",
    );
}

#[tokio::test]
async fn stopping_ends_what_was_begun_and_accepts_no_more() {
    let mut server = Running::start().await;
    let bytes = delivery("d-1", BODY);
    let mut stream = server.connect().await;
    stream.write_all(&bytes[..bytes.len() - 10]).await.unwrap();
    // Served after the first, so that the first is known to be accepted.
    check(
        &server.exchange(&request("GET /healthz", &[], "")).await,
        "200",
        "ok",
    );
    server.stop.take().unwrap().send(()).unwrap();
    stream.write_all(&bytes[bytes.len() - 10..]).await.unwrap();
    check(&read_all(&mut stream).await, "202", "queued");
    tokio::time::timeout(Duration::from_secs(5), &mut server.server)
        .await
        .expect("it stops at once when nothing is open")
        .unwrap();
    assert!(TcpStream::connect(server.address).await.is_err());
}

#[tokio::test]
async fn other_machines_are_kept_out_unless_asked_for() {
    let everywhere = SocketAddr::from((IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0));
    let error = bind(everywhere, false).await.unwrap_err();
    assert!(
        error.to_string().contains("0.0.0.0:0 can be reached"),
        "{error}"
    );

    let taken = bind(SocketAddr::from(([127, 0, 0, 1], 0)), false)
        .await
        .unwrap();
    let address = taken.local_addr().unwrap();
    let error = bind(address, false).await.unwrap_err();
    assert!(error.to_string().contains(&address.to_string()), "{error}");
    assert!(std::error::Error::source(&error).is_some());
}

/// Nothing that a sender wrote into header or body stands in a line, whatever the answer.
#[test]
fn log_lines_hold_ids_and_codes_only() {
    use tracing_subscriber::layer::SubscriberExt as _;

    static LINES: Mutex<Vec<String>> = Mutex::new(Vec::new());
    let write = |line: &str| LINES.lock().unwrap().push(line.to_owned());
    let layer = mirilla_telemetry::LogLayer::new("intake", mirilla_telemetry::Format::Json, write);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
        runtime.block_on(async {
            let server = Running::start().await;
            let sentinel = BODY.replace("\"action\"", "\"title\":\"sentinel-title\",\"action\"");
            server.exchange(&delivery("d-1", &sentinel)).await;
            server
                .exchange(&delivery("d-2", &sentinel.replace("acme", "stranger")))
                .await;
            server.exchange(&delivery("d-3", "sentinel-body")).await;
            let headers = [
                ("X-Hub-Signature-256", "sentinel-signature"),
                ("Content-Length", "13"),
            ];
            let body = "sentinel-body";
            server
                .exchange(&request("POST /webhooks/github", &headers, body))
                .await;
            server
                .exchange(&request("POST /webhooks/github?sentinel-query", &[], ""))
                .await;
        });
    });
    let lines = LINES.lock().unwrap().join("\n");
    assert!(lines.contains(r#""delivery_id":"d-1""#) && lines.contains(r#""reason":"queued""#));
    assert!(lines.contains(r#""reason":"account""#) && lines.contains("signature-malformed"));
    assert!(lines.contains(r#""head_sha":"aaaaaaaaaaaa""#), "{lines}");
    assert!(
        !lines.contains("sentinel") && !lines.contains(SECRET),
        "{lines}"
    );
}
