//! The program beside a stack: the template deployed to an emulator of AWS, with the simulated GitHub and
//! Messages API, and a test as the person and the browser.

mod app;
mod doctor;
mod recovery;
mod secret;
mod support;
