"""Runs the AWS emulator until whoever started it is gone.

The emulator and every function it starts share this process's group. The starter holds the other
end of standard input: when that closes, however the starter ended, the whole group is killed.
"""

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
from ministack.services import lambda_svc  # noqa: E402

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

try:
    main()
finally:
    end()
