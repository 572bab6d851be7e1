"""A process of ours that serves this one over a pipe, and ends when the pipe does."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import Pipe

from autotune.engine.events import last_lines

# The tuner's own module path finds the same autotune and the same TensorFlow as the tuner does,
# and `-c` leaves no `__main__` that a process of the user's could try to import again.
_PROGRAM = (
    "import importlib, json, sys; sys.path[:] = json.loads(sys.argv.pop()); "
    "importlib.import_module(sys.argv[1]).main(sys.argv[2:])"
)


class Helper:
    """Starts a module's `main` with the number of its end of the pipe, without waiting for it."""

    def __init__(self, module: str, *arguments: str, environment: Mapping[str, str | None]) -> None:
        # No `with`: it lives as long as the process.
        self._log = tempfile.TemporaryFile()  # noqa: SIM115
        self.channel, theirs = Pipe()
        given = [module, str(theirs.fileno()), *arguments, json.dumps([*map(str, sys.path)])]
        variables = {**os.environ, **environment}
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-c", _PROGRAM, *given],
                env={name: value for name, value in variables.items() if value is not None},
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                start_new_session=True,
            )

    def last_words(self) -> str:
        """Return the last line that it printed."""
        self._log.seek(0)
        return last_lines(self._log.read().decode(errors="replace"), 1)

    def wait(self, seconds: float) -> None:
        """Wait until it has ended, and kill it where that takes too long."""
        try:
            self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._log.close()
