//! Names what a stage needs from the world: one trait per capability, no implementation.
//!
//! A stage is handed exactly the traits it may use, so what it cannot name it cannot do: the review
//! stage has no forge, the post stage has no model.
//!
//! **Invariant:** traits only. Domain types go in, domain types and these errors come out.

pub mod artifacts;
pub mod checks;
pub mod clock;
pub mod deliveries;
pub mod forge;
pub mod ledger;
pub mod message;
pub mod meter;
pub mod model;
pub mod queue;
pub mod resolve;
pub mod secrets;
pub mod source;
pub mod tokens;
pub mod tools;

pub use artifacts::{ArtifactError, ArtifactWriter, Artifacts, GrantObjects, Grants};
pub use checks::ForgeChecks;
pub use clock::{Clock, Entropy};
pub use deliveries::{AskDeliveries, Bookmarks, Deliveries};
pub use forge::{ForgeError, ForgeRead, ForgeWrite};
pub use ledger::{Heads, HeadsWrite, Ledger, LedgerError};
pub use meter::{Meter, MeterError, MeterSweep, ReviewLeases};
pub use model::{Model, ModelError};
pub use queue::{PutBack, Queue, QueueDepth, QueueError, QueueSend};
pub use resolve::ForgeResolve;
pub use secrets::{SecretsError, WebhookSecrets};
pub use source::{OpenSource, Source, SourceError};
pub use tokens::{MintTokens, NoToken};
pub use tools::{ToolOutput, ToolSpec, Toolbox};
