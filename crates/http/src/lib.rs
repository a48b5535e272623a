//! The one HTTP client: bounded hosts, time, redirects and bytes.
