"""Runs the AWS emulator until whoever started it is gone.

The emulator and every function it starts share this process's group. The starter holds the other
end of standard input: when that closes, however the starter ended, the whole group is killed.

Beside its log it keeps two files, one JSON value a line, for tests that look for what must not be in
them: functions.jsonl with every line that a function wrote, and messages.jsonl with every message as
it was sent and whenever it was received.
"""

import json
import os
import signal
import sys
import threading


def end() -> None:
    sys.stdout.flush()
    os.killpg(os.getpgrp(), signal.SIGKILL)


def watch() -> None:
    while os.read(0, 1024):
        pass
    end()


if os.getpgrp() != os.getpid():
    sys.exit("emulator.py must be started as the leader of its own process group")
threading.Thread(target=watch, daemon=True).start()

from ministack.app import main  # noqa: E402
from ministack.core import lambda_runtime  # noqa: E402
from ministack.services import lambda_svc, sqs  # noqa: E402

# A function of a real account sees its own variables and Lambda's, and the reviewer starts beside no
# other. The emulator would hand its own on, too.
OURS = set(os.environ) - {"PATH", "HOME", "TMPDIR", "AWS_ENDPOINT_URL"}
environment_of = lambda_svc._provided_worker_env


def without_ours(config: dict, code_dir: str, port: int) -> dict:
    given = set(config.get("Environment", {}).get("Variables", {}))
    return {
        name: value
        for name, value in environment_of(config, code_dir, port).items()
        if name not in OURS or name in given or name.startswith("AWS_")
    }


lambda_svc._provided_worker_env = without_ours


def keeper(name: str):
    """Returns what appends a value to a file."""
    file = open(name, "a", encoding="utf-8", buffering=1)
    lock = threading.Lock()

    def keep(value: dict) -> None:
        with lock:
            file.write(json.dumps(value) + "\n")

    return keep


keep_line = keeper("functions.jsonl")
keep_message = keeper("messages.jsonl")


class Overheard:
    """A function's output, kept while the emulator reads it."""

    def __init__(self, function: str, stream):
        self.function = function
        self.stream = stream

    def readline(self):
        raw = self.stream.readline()
        if raw:
            text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
            keep_line({"function": self.function, "line": text.rstrip("\r\n")})
        return raw

    def close(self) -> None:
        self.stream.close()


pump = lambda_runtime.ProvidedWorker._pump_output
send, collect = sqs._act_send_message, sqs._collect_msgs


def overhear(worker, stream, lines) -> None:
    pump(worker, Overheard(worker.func_name, stream), lines)


def sent(data: dict, queue_url: str) -> dict:
    keep_message({"queue": queue_url or data.get("QueueUrl"), "sent": data})
    return send(data, queue_url)


def received(queue: dict, *limits) -> list:
    messages = collect(queue, *limits)
    for message in messages:
        keep_message({"queue": queue.get("name"), "received": message.get("body")})
    return messages


lambda_runtime.ProvidedWorker._pump_output = overhear
sqs._act_send_message, sqs._collect_msgs = sent, received
sqs._HANDLERS["SendMessage"] = sent

try:
    main()
finally:
    end()
