//! An account with a stack in it, and what a person does there.

mod account;
mod browser;
mod program;
mod proxy;

pub(crate) use account::{Account, StackUnderTest, environment};
pub(crate) use browser::{Answer, form_of, get, post, send};
pub(crate) use program::{Creating, Ran, app_key, run};
pub(crate) use proxy::Proxy;

use mirilla_sim::{AccountKind, Sim, SimOptions};

/// A GitHub on which nobody has registered the App.
pub(crate) fn github() -> Sim {
    let sim = Sim::start(SimOptions::default()).unwrap();
    sim.github().add_account("acme", AccountKind::Organization);
    sim
}
