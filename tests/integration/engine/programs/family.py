"""Starts processes of its own: one in its group, one in a session of its own. Then it waits."""

import os
import subprocess
from pathlib import Path
from typing import Any


def main(argv: object, callbacks: Any) -> None:
    """Note all process ids beside the program, and train nothing."""
    del argv
    near = subprocess.Popen(["sleep", "1000"])  # noqa: S607 - the shell's
    far = subprocess.Popen(["sleep", "1000"], start_new_session=True)  # noqa: S607 - the shell's
    draft = Path(__file__).with_name("draft.txt")
    draft.write_text(f"{os.getpid()} {near.pid} {far.pid}")
    draft.replace(draft.with_name("pids.txt"))
    for callback in callbacks:
        callback.on_train_begin()
    near.wait()
