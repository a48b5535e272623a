//! One deployment with one repository, and what a test asks of it.
//!
//! **Invariant:** a world ends with [`World::finish`], which looks for leaks; one that is dropped without
//! it fails its test.

mod acts;
mod gitlab;
mod harm;
mod http;
mod processes;
mod setting;
mod traces;
mod watch;

use mirilla_localaws::{Emulator, Stack};
use mirilla_sim::Sim;
use serde_json::json;

use crate::{Sentinels, Services};

pub use http::Answer;
pub use setting::{Served, Setting};

/// The repository on GitHub.
pub const REPO: &str = "acme/shop";
/// The model's only route.
const MESSAGES: &str = "POST /v1/messages";

/// A deployment. Dropped, everything it started ends.
#[derive(Debug)]
pub struct World {
    /// The forges and the model's provider.
    pub sim: Sim,
    /// AWS, as an operator sees it.
    pub aws: Services,
    /// The deployed template.
    pub stack: Stack,
    emulator: Emulator,
    sentinels: Sentinels,
    served: Served,
    finished: bool,
}

impl World {
    /// Deploys the template with the functions as they were built, and fills its secrets.
    pub async fn deploy() -> Self {
        Self::deploy_as(Setting::default()).await
    }

    /// Does the same where each function may do only what its role allows.
    pub async fn deploy_with_roles() -> Self {
        let roles = true;
        Self::deploy_as(Setting {
            roles,
            ..Setting::default()
        })
        .await
    }

    /// Returns the address of every emulated service.
    pub fn endpoint(&self) -> String {
        self.emulator.endpoint()
    }

    /// Returns the stack's output of a name.
    pub fn output(&self, name: &str) -> &str {
        self.stack.output(name).unwrap()
    }

    /// Runs the sweeper once, as its schedule does.
    pub async fn sweep(&self) {
        let sweeper = self.output("SweeperFunction");
        self.aws.invoke(sweeper, &json!({})).await;
    }

    /// Ends the test: nothing secret may be where it does not belong.
    pub async fn finish(mut self) {
        self.finished = true;
        self.check_for_leaks().await;
        assert_eq!(self.sim.github().take_problems(), []);
        assert_eq!(self.sim.gitlab().take_problems(), []);
        assert_eq!(self.sim.messages().take_problems(), []);
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.show_output();
        } else {
            assert!(self.finished, "a scenario ends with World::finish");
        }
    }
}
