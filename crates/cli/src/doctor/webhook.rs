//! A signed ping gets in, and a wrongly signed one does not.

use anyhow::Result;
use mirilla_domain::webhook::{WebhookSecret, sign_github};
use mirilla_http::{Client, ClientSettings, HeaderName, Method, Request, header};
use mirilla_ports::Entropy as _;
use mirilla_system::OsEntropy;
use url::Url;

use super::report::Report;

const CHECK: &str = "webhook";

/// Where a ping goes.
#[derive(Debug, Clone)]
pub(super) struct Door {
    /// The address that GitHub has.
    pub(super) url: Url,
    /// Where that address is answered, if not there: an emulator of AWS answers for all of them.
    pub(super) through: Option<Url>,
}

/// Sends a ping that is signed, if the secret is known, and one that is not; both change nothing.
pub(super) async fn examine(
    door: &Door,
    secret: Option<&WebhookSecret>,
    fix: &str,
    report: &mut Report,
) {
    match pings(door, secret).await {
        Ok(answers) => judge(door, &answers, fix, report),
        Err(error) => report.fail(
            CHECK,
            format!("{} does not answer: {error:#}", door.url),
            fix,
        ),
    }
}

/// What came back.
struct Answers {
    signed: Option<u16>,
    forged: u16,
}

fn judge(door: &Door, answers: &Answers, fix: &str, report: &mut Report) {
    let Answers { signed, forged } = answers;
    match (signed, forged) {
        (Some(200), 401) => report.ok(
            CHECK,
            "a signed ping gets in, a forged one does not",
        ),
        (None, 401) => report.warn(
            CHECK,
            "a forged ping is turned away; a signed one was not tried, because the secret could not be read",
            "use an AWS role that may read the webhook secret",
        ),
        (_, 403) => report.fail(
            CHECK,
            format!("{} is closed to everybody (status 403)", door.url),
            "the function's address needs both public permissions, lambda:InvokeFunctionUrl and lambda:InvokeFunction: deploy the template as it is",
        ),
        (_, forged) if *forged != 401 => report.fail(
            CHECK,
            format!("a forged ping is answered with {forged}, not 401"),
            fix,
        ),
        (Some(401), _) => report.fail(
            CHECK,
            "a ping signed with the stored secret is turned away",
            "the receiver has another secret: start it again, or wait ten minutes after a change",
        ),
        (signed, _) => report.fail(
            CHECK,
            format!("a signed ping is answered with {}, not 200", signed.unwrap_or(0)),
            fix,
        ),
    }
}

async fn pings(door: &Door, secret: Option<&WebhookSecret>) -> Result<Answers> {
    let client = client(door)?;
    let body = br#"{"zen":"mirilla doctor looks in","hook_id":1}"#;
    // One that nobody has: made for this ping and forgotten.
    let foreign = WebhookSecret::parse(&OsEntropy::open()?.hex(32))?;
    let forged = ping(&client, door, &sign_github(&foreign, body), body).await?;
    let signed = match secret {
        Some(secret) => Some(ping(&client, door, &sign_github(secret, body), body).await?),
        None => None,
    };
    Ok(Answers { signed, forged })
}

async fn ping(client: &Client, door: &Door, signature: &str, body: &'static [u8]) -> Result<u16> {
    let mut to = door.url.clone();
    let mut host = None;
    if let Some(through) = &door.through {
        host = door.url.host_str();
        to = through.join(door.url.path())?;
    }
    let mut request = Request::new(Method::POST, to)
        .header(HeaderName::from_static("x-github-event"), "ping")
        .header(
            HeaderName::from_static("x-github-delivery"),
            OsEntropy::open()?.hex(16),
        )
        .header(HeaderName::from_static("x-hub-signature-256"), signature)
        .body("application/json", body);
    if let Some(host) = host {
        request = request.header(header::HOST, host);
    }
    Ok(client.send(request).await?.status().as_u16())
}

fn client(door: &Door) -> Result<Client> {
    let to = door.through.as_ref().unwrap_or(&door.url);
    let host = to.host_str().unwrap_or_default();
    let host = to
        .port()
        .map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"));
    let mut settings = ClientSettings::new([host], concat!("mirilla/", env!("CARGO_PKG_VERSION")));
    settings.allow_plain_loopback = to.scheme() == "http";
    settings.allow_private_addresses = true;
    Ok(Client::new(settings)?)
}
