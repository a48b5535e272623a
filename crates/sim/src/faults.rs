//! Faults by route and call number.
//!
//! A test says beforehand what goes wrong at which call:
//!
//! ```text
//! faults.on("POST /repos/{o}/{r}/pulls/{n}/reviews", 1, Fault::LandLater { calls: 2 });
//! faults.on("GET /repos/{o}/{r}/zipball/{ref}", 1, Fault::before(move || github.push(…)));
//! ```
//!
//! Call numbers count from 1 over the life of the simulator, per route, whatever the names of the
//! parameters are. `"*"` counts the calls of all routes together.
//!
//! **Invariant:** a fault fires once. One that never fired is reported when the test ends.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::server::{Reply, Transport};

/// Code that runs beside a call, for instance to push a new head between two calls.
pub type Hook = Box<dyn FnOnce() + Send>;

/// What goes wrong with one call.
pub enum Fault {
    /// This answer instead of the effect.
    Status {
        /// The HTTP status.
        code: u16,
        /// Headers, replacing those of the same name.
        headers: Vec<(String, String)>,
        /// The body, sent as it is.
        body: String,
    },
    /// The connection drops and nothing happened.
    DropBeforeEffect,
    /// The connection drops after the call took effect.
    DropAfterEffect,
    /// The connection drops; the call takes effect once this many further calls were answered, so
    /// that none of them sees it.
    LandLater {
        /// How many calls are answered before the effect lands; zero is [`Fault::DropAfterEffect`].
        calls: u32,
    },
    /// The call takes effect; the answer's body breaks off after so many bytes.
    CutBody {
        /// Bytes of the body that still arrive.
        bytes: usize,
    },
    /// The call takes effect; the answer's body trickles.
    SlowBody {
        /// Bytes per piece.
        chunk: usize,
        /// Pause before each piece.
        pause: Duration,
    },
    /// The call takes effect; the body is a page in HTML with the same status.
    HtmlInsteadOfJson,
    /// A redirect instead of the effect.
    Redirect {
        /// The `Location`, sent as it is.
        to: String,
    },
    /// The call takes effect; the answer's `Link` header names this as the next page.
    LinkTo {
        /// The URL of the pretended next page.
        url: String,
    },
    /// Runs before the call is handled.
    Before(Hook),
    /// Runs after the call was handled, before the answer is sent.
    After(Hook),
}

impl Fault {
    /// Returns a fault that answers with a status and a JSON body.
    pub fn status(code: u16, body: impl Into<String>) -> Self {
        Self::Status {
            code,
            headers: vec![(
                "content-type".to_owned(),
                "application/json; charset=utf-8".to_owned(),
            )],
            body: body.into(),
        }
    }

    /// Returns a fault that answers with a status and a proxy's page in HTML.
    pub fn proxy_page(code: u16) -> Self {
        Self::Status {
            code,
            headers: vec![("content-type".to_owned(), "text/html".to_owned())],
            body: format!(
                "<html>\r\n<head><title>{code}</title></head>\r\n<body>\r\n<center><h1>{code}</h1>\
                 </center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
            ),
        }
    }

    /// Returns a fault that runs `hook` before the call is handled.
    pub fn before(hook: impl FnOnce() + Send + 'static) -> Self {
        Self::Before(Box::new(hook))
    }

    /// Returns a fault that lets the caller wait this long for its answer.
    pub fn stall(pause: Duration) -> Self {
        Self::before(move || std::thread::sleep(pause))
    }

    /// Returns a fault that runs `hook` after the call was handled.
    pub fn after(hook: impl FnOnce() + Send + 'static) -> Self {
        Self::After(Box::new(hook))
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Status { .. } => "status",
            Self::DropBeforeEffect => "drop-before-effect",
            Self::DropAfterEffect => "drop-after-effect",
            Self::LandLater { .. } => "land-later",
            Self::CutBody { .. } => "cut-body",
            Self::SlowBody { .. } => "slow-body",
            Self::HtmlInsteadOfJson => "html-instead-of-json",
            Self::Redirect { .. } => "redirect",
            Self::LinkTo { .. } => "link-to",
            Self::Before(_) => "before",
            Self::After(_) => "after",
        }
    }
}

impl fmt::Debug for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The fault script of one simulated API; clones are the same script.
#[derive(Debug, Clone, Default)]
pub struct Faults(Arc<Mutex<Script>>);

#[derive(Debug, Default)]
struct Script {
    planned: Vec<Planned>,
    seen: HashMap<String, u32>,
}

#[derive(Debug)]
struct Planned {
    route: String,
    nth: u32,
    fault: Fault,
}

/// The route that stands for all routes.
const ANY_ROUTE: &str = "*";

impl Faults {
    /// Plans `fault` for the `nth` call of `route`, counted from 1 since the simulator started.
    ///
    /// Several faults for one call act in the order in which they were planned.
    pub fn on(&self, route: &str, nth: u32, fault: Fault) {
        self.lock().planned.push(Planned {
            route: shape(route),
            nth,
            fault,
        });
    }

    /// Plans `fault` for the next call of `route`.
    pub fn on_next(&self, route: &str, fault: Fault) {
        let nth = self.count(route).saturating_add(1);
        self.on(route, nth, fault);
    }

    /// Returns how often `route` was called so far; `"*"` for all routes.
    pub fn count(&self, route: &str) -> u32 {
        self.lock().seen.get(&shape(route)).copied().unwrap_or(0)
    }

    /// Returns the faults that have not fired, as text.
    pub fn unfired(&self) -> Vec<String> {
        let script = self.lock();
        script
            .planned
            .iter()
            .map(|p| format!("{} at call {} of {}", p.fault.name(), p.nth, p.route))
            .collect()
    }

    /// Forgets what was planned and has not fired.
    pub fn clear(&self) {
        // Hooks may hold the simulator itself; they are dropped outside the lock.
        let planned = std::mem::take(&mut self.lock().planned);
        drop(planned);
    }

    /// Counts one call of `route` and takes the faults planned for it.
    pub(crate) fn take(&self, route: &str) -> Vec<Fault> {
        let shape = shape(route);
        let mut script = self.lock();
        let nth = bump(&mut script.seen, shape.clone());
        let nth_of_all = bump(&mut script.seen, ANY_ROUTE.to_owned());
        let (now, later) =
            std::mem::take(&mut script.planned)
                .into_iter()
                .partition(|p: &Planned| {
                    (p.route == shape && p.nth == nth)
                        || (p.route == ANY_ROUTE && p.nth == nth_of_all)
                });
        script.planned = later;
        now.into_iter().map(|p| p.fault).collect()
    }

    fn lock(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn bump(seen: &mut HashMap<String, u32>, key: String) -> u32 {
    let count = seen.entry(key).or_insert(0);
    *count = count.saturating_add(1);
    *count
}

/// Returns a route without the names of its parameters: `GET /repos/{}/{}`.
pub(crate) fn shape(route: &str) -> String {
    let mut out = String::with_capacity(route.len());
    let mut inside = false;
    for c in route.chars() {
        match c {
            '{' => {
                inside = true;
                out.push_str("{}");
            }
            '}' => inside = false,
            _ if !inside => out.push(c),
            _ => {}
        }
    }
    // A comparison is one parameter to GitHub, and two to whoever writes it down.
    out.replace("{}...{}", "{}")
}

/// What the fault script makes of one call.
pub(crate) enum Played {
    /// The answer to send.
    Answer(Reply),
    /// The call was not handled: keep it and handle it after so many further calls.
    Deferred(u32),
}

/// Handles one call under its faults; `run` is what the call does without any.
pub(crate) fn play(faults: Vec<Fault>, run: impl FnOnce() -> Reply) -> Played {
    let mut after: Vec<Hook> = Vec::new();
    let mut marring: Vec<Fault> = Vec::new();
    let mut instead: Option<Reply> = None;
    let mut drop_answer = false;
    let mut deferred = None;
    for fault in faults {
        match fault {
            Fault::Before(hook) => hook(),
            Fault::After(hook) => after.push(hook),
            Fault::Status {
                code,
                headers,
                body,
            } => {
                let mut reply = Reply::empty(code);
                reply.body = body.into();
                for (name, value) in headers {
                    reply = reply.with(&name.to_ascii_lowercase(), value);
                }
                instead = Some(reply);
            }
            Fault::Redirect { to } => instead = Some(Reply::empty(302).with("location", to)),
            Fault::DropBeforeEffect => {
                instead = Some(Reply::empty(500));
                drop_answer = true;
            }
            Fault::DropAfterEffect | Fault::LandLater { calls: 0 } => drop_answer = true,
            Fault::LandLater { calls } => deferred = Some(calls),
            other => marring.push(other),
        }
    }
    let played = if let Some(calls) = deferred {
        Played::Deferred(calls)
    } else {
        let mut reply = instead.unwrap_or_else(run);
        for fault in marring {
            reply = mar(reply, fault);
        }
        if drop_answer {
            reply = reply.travelling(Transport::Dropped);
        }
        Played::Answer(reply)
    };
    for hook in after {
        hook();
    }
    played
}

fn mar(reply: Reply, fault: Fault) -> Reply {
    match fault {
        Fault::CutBody { bytes } => reply.travelling(Transport::Cut(bytes)),
        Fault::SlowBody { chunk, pause } => reply.travelling(Transport::Slow { chunk, pause }),
        Fault::LinkTo { url } => reply.with("link", format!("<{url}>; rel=\"next\"")),
        Fault::HtmlInsteadOfJson => {
            let mut reply = reply.with("content-type", "text/html; charset=utf-8");
            reply.body = HTML_PAGE.into();
            reply
        }
        _ => reply,
    }
}

/// What stands in for a proxy's or an overloaded front end's page.
const HTML_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Unicorn!</title></head>\
<body><p>This page is taking too long to load.</p></body></html>\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shape_ignores_parameter_names() {
        assert_eq!(
            shape("GET /repos/{owner}/{repo}"),
            shape("GET /repos/{o}/{r}")
        );
        assert_eq!(
            shape("GET /repos/{o}/{r}/compare/{base}...{head}"),
            "GET /repos/{}/{}/compare/{}"
        );
    }

    #[test]
    fn fault_fires_once_at_its_call() {
        let faults = Faults::default();
        faults.on("GET /a/{x}", 2, Fault::DropBeforeEffect);
        faults.on("*", 4, Fault::HtmlInsteadOfJson);
        assert_eq!(faults.take("GET /a/{y}").len(), 0);
        assert_eq!(faults.take("GET /b").len(), 0);
        assert_eq!(faults.take("GET /a/{y}").len(), 1);
        assert_eq!(
            faults.unfired(),
            vec!["html-instead-of-json at call 4 of *".to_owned()]
        );
        assert_eq!(faults.take("GET /b").len(), 1);
        assert_eq!(faults.unfired(), Vec::<String>::new());
    }
}
