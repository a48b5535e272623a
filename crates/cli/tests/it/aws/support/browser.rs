//! A browser as far as the manifest flow needs one: plain requests, forms, and no scripts.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use url::Url;

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (have, value) = line.split_once(": ")?;
            have.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    /// The text that a person reads.
    pub(crate) fn text(&self) -> String {
        unescaped(&self.body)
    }
}

/// The form of a page.
#[derive(Debug, Clone)]
pub(crate) struct Form {
    pub(crate) action: String,
    pub(crate) fields: Vec<(String, String)>,
}

impl Form {
    pub(crate) fn field(&self, name: &str) -> &str {
        let found = self.fields.iter().find(|(key, _)| key == name);
        &found.unwrap_or_else(|| panic!("no field {name}")).1
    }

    /// Sends it from a page at this address.
    pub(crate) fn submit(&self, page: &str) -> Answer {
        let to = Url::parse(page).unwrap().join(&self.action).unwrap();
        let fields: Vec<(&str, &str)> = self
            .fields
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()))
            .collect();
        post(to.as_str(), &fields)
    }
}

pub(crate) fn get(url: &str) -> Answer {
    send("GET", url, &[], b"")
}

pub(crate) fn post(url: &str, fields: &[(&str, &str)]) -> Answer {
    let mut form = url::form_urlencoded::Serializer::new(String::new());
    form.extend_pairs(fields);
    send("POST", url, &[], form.finish().as_bytes())
}

/// Sends one request; a `host` among the headers takes the place of the address's own.
pub(crate) fn send(method: &str, url: &str, headers: &[(&str, &str)], body: &[u8]) -> Answer {
    let url = Url::parse(url).unwrap();
    let host = format!(
        "{}:{}",
        url.host_str().unwrap(),
        url.port_or_known_default().unwrap()
    );
    let path = &url[url::Position::BeforePath..url::Position::AfterQuery];
    let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
    let mut lines: Vec<(&str, &str)> = headers.to_vec();
    if !headers.iter().any(|(name, _)| *name == "host") {
        lines.push(("host", &host));
    }
    let length = body.len().to_string();
    lines.push(("content-length", &length));
    for (name, value) in lines {
        head.extend([name, ": ", value, "\r\n"]);
    }
    head.push_str("\r\n");
    let mut stream = TcpStream::connect(&host).unwrap();
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(body).unwrap();
    let mut raw = Vec::new();
    stream.read_to_end(&mut raw).unwrap();
    let raw = String::from_utf8_lossy(&raw).into_owned();
    let (head, body) = raw.split_once("\r\n\r\n").unwrap_or((&raw, ""));
    let status = head.split(' ').nth(1).and_then(|s| s.parse().ok());
    let chunked = head
        .to_ascii_lowercase()
        .contains("transfer-encoding: chunked");
    Answer {
        status: status.unwrap_or_else(|| panic!("no answer: {raw:?}")),
        head: head.to_owned(),
        body: if chunked {
            unchunked(body)
        } else {
            body.to_owned()
        },
    }
}

fn unchunked(mut rest: &str) -> String {
    let mut out = String::new();
    while let Some((size, more)) = rest.split_once("\r\n") {
        let size = usize::from_str_radix(size, 16).unwrap();
        let (piece, more) = more.split_at(size);
        out.push_str(piece);
        rest = more.trim_start_matches("\r\n");
        if size == 0 {
            break;
        }
    }
    out
}

/// Returns the first form of a page.
pub(crate) fn form_of(page: &str) -> Form {
    let attribute = |tag: &str, name: &str| {
        let (_, rest) = tag.split_once(&format!("{name}=\""))?;
        Some(unescaped(rest.split('"').next()?))
    };
    let (_, form) = page.split_once("<form").expect("a form");
    let (form, _) = form.split_once("</form>").unwrap();
    let (tag, inside) = form.split_once('>').unwrap();
    let fields = inside
        .split("<input")
        .skip(1)
        .map(|input| {
            let tag = input.split('>').next().unwrap();
            (
                attribute(tag, "name").unwrap(),
                attribute(tag, "value").unwrap_or_default(),
            )
        })
        .collect();
    Form {
        action: attribute(tag, "action").unwrap(),
        fields,
    }
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<")
        .replace("&gt;", ">")
        .replace("&quot;", "\"")
        .replace("&#39;", "'")
        .replace("&amp;", "&")
}
