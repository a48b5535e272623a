//! The GitLab halves against the simulated GitLab of every played version.

mod checks;
mod existing;
mod lab;
mod post;
mod reads;
mod resolve;
mod said;
mod trouble;
