//! A ping with the right secret gets in, and one with another does not.

use anyhow::Result;
use mirilla_domain::ids::Forge;
use mirilla_domain::webhook::WebhookSecret;
use mirilla_http::{Client, ClientSettings, Method, Request, header};
use mirilla_ports::Entropy as _;
use mirilla_system::OsEntropy;
use url::Url;

use super::report::Report;
use crate::webhook::Proof;

const CHECK: &str = "webhook";

/// Where a ping goes.
#[derive(Debug, Clone)]
pub(super) struct Door {
    /// The address that the forge has.
    pub(super) url: Url,
    /// Where that address is answered, if not there: an emulator of AWS answers for all of them.
    pub(super) through: Option<Url>,
}

/// Sends a ping with the right secret, if that is known, and one with another; both change nothing.
pub(super) async fn examine(
    door: &Door,
    forge: Forge,
    proof: Option<&Proof>,
    fix: &str,
    report: &mut Report,
) {
    match pings(door, forge, proof).await {
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

async fn pings(door: &Door, forge: Forge, proof: Option<&Proof>) -> Result<Answers> {
    let client = client(door)?;
    // One that nobody has: made for this ping and forgotten.
    let foreign = OsEntropy::open()?.hex(32);
    let foreign = match forge {
        Forge::Github => Proof::Github(WebhookSecret::parse(&foreign)?),
        Forge::Gitlab => Proof::Gitlab {
            token: Some(foreign),
            signing: None,
        },
    };
    let forged = ping(&client, door, &foreign).await?;
    let signed = match proof {
        Some(proof) => Some(ping(&client, door, proof).await?),
        None => None,
    };
    Ok(Answers { signed, forged })
}

async fn ping(client: &Client, door: &Door, proof: &Proof) -> Result<u16> {
    // GitLab has no ping; whatever is no merge request and no note is ignored.
    let (event, body) = match proof.forge() {
        Forge::Github => (
            "ping",
            br#"{"zen":"mirilla doctor looks in","hook_id":1}"#.as_slice(),
        ),
        Forge::Gitlab => ("Doctor Hook", br#"{"object_kind":"doctor"}"#.as_slice()),
    };
    let mut to = door.url.clone();
    let mut host = None;
    if let Some(through) = &door.through {
        host = door.url.host_str();
        to = through.join(door.url.path())?;
    }
    let delivery = OsEntropy::open()?.hex(16);
    let headers = proof.headers(event, &delivery, body);
    let mut request = headers
        .into_iter()
        .fold(Request::new(Method::POST, to), |request, (name, value)| {
            request.header(name, value)
        })
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
