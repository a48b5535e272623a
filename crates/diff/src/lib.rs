//! Parses unified diffs as git, GitHub and GitLab emit them.
