//! The simulated GitLab, of every version that is played.

mod access;
mod changes;
mod drafts;
mod files;
mod places;
mod statuses;
mod table;
mod talk;
mod webhooks;
mod world;
