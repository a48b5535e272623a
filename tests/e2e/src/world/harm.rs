//! What goes wrong.

use std::time::Duration;

use mirilla_sim::{Fault, Scripted};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{MESSAGES, World};

impl World {
    /// Makes the model take so long for its next answer.
    pub fn slow_model(&self, pause: Duration) {
        let faults = self.sim.messages().faults();
        faults.on_next(MESSAGES, Fault::stall(pause));
    }

    /// Makes the model refuse the next calls: it is overloaded.
    pub fn overload_model(&self, calls: u32) {
        let body = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        for nth in 1..=calls {
            let fault = Fault::status(529, body.to_string());
            self.sim.messages().faults().on(MESSAGES, nth, fault);
        }
    }

    /// Makes the model refuse every call from now on: it is overloaded.
    pub fn break_model(&self) {
        let messages = self.sim.messages();
        messages.answer_all_when("down", |_| true, |_| Scripted::overloaded());
    }

    /// Kills a function's processes, as a crash or the end of its time would.
    pub fn kill(&self, function: &str) {
        let processes = self.processes(function);
        assert!(!processes.is_empty(), "no process of {function} runs");
        for process in processes {
            let pid = Pid::from_raw(process.pid.try_into().unwrap()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
        }
    }
}
