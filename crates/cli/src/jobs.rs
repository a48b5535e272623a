//! Reviews without a host: `mirilla collect`, `mirilla review --snapshot` and `mirilla post`, each in a job of
//! its own of a pipeline.
//!
//! Each runs one stage of a host, with a ledger and a queue that end with the process. What goes from one to
//! the next is a folder, laid out as a host's artifacts are, with one job in it.
//!
//! **Invariant:** where is read and written to comes from the pipeline's event or from the command line, never
//! from a folder; what a folder of findings says is a reviewer's word, and believed as little.

mod collect;
mod folders;
mod forge;
mod paper;
mod post;
mod print;
mod pull;
mod review;
mod scratch;
mod snapshot;

use mirilla_ports::ForgeError;
use mirilla_stages::error::StageError;

use crate::arguments::ForgeName;
use crate::failure::Failure;

pub(crate) use collect::run as collect;
pub(crate) use post::run as post;
pub(crate) use review::run as review;

/// What the settings lack.
fn unusable(forge: ForgeName, problems: &[String]) -> Failure {
    let hint = match forge {
        ForgeName::Github => {
            "in a workflow, name the variable under `env` of the step; a secret that is not set, or that this run may not see, is empty. Runs of forks see none under `pull_request`, and those of Dependabot only its own: `pull_request_target` and Dependabot's secrets help"
        }
        ForgeName::Gitlab => {
            "set the variable under Settings > CI/CD > Variables: masked, with the job's environment as its scope, and not protected, because a merge request's pipeline on a branch that is not protected sees no protected variable. A pipeline in a fork sees none at all"
        }
    };
    Failure::usage(format!(
        "the settings cannot be used: {}",
        problems.join("; ")
    ))
    .hint(hint)
}

/// What the forge did not do, and which rights of the token it takes.
fn refused(what: &'static str, error: StageError, rights: &'static str) -> anyhow::Error {
    let hint = match &error {
        StageError::Forge(ForgeError::Unauthorized) => {
            "the token is wrong, or it has expired".to_owned()
        }
        StageError::Forge(ForgeError::NotFound { .. } | ForgeError::Forbidden { .. }) => {
            format!("the job's token needs {rights}")
        }
        _ => "running the job again is safe: nothing is done twice".to_owned(),
    };
    anyhow::Error::new(error).context(Failure::new(what).hint(hint))
}
