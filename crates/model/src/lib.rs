//! Claude over HTTP: the Messages API, its prices, refusals and retries.
