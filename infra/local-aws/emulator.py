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

try:
    main()
finally:
    end()
