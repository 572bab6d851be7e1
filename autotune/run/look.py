"""A process that looks at something and leaves an answer."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from typing import Any

from autotune.run import events, memory, reasons, steps
from autotune.run.folder import TrialFolder
from autotune.run.forking import ForkClient, ForkServerDied
from autotune.run.gang import POLL, Gang, Report
from autotune.run.memory import MemoryGauge
from autotune.sentences.reasons import death, reason_text

_START_SECONDS = 60.0


class NoAnswer(Exception):
    """The process left no answer.

    Args:
        why: The predicate of a sentence on the process.
        detail: The last lines that it printed.
    """

    def __init__(self, why: str, detail: str = "") -> None:
        super().__init__(why)
        self.why = why
        self.detail = detail
        self.step = steps.STARTING
        """What it did at the time, in the words in which it announced it."""


class Blocked(NoAnswer):
    """A step took longer than its limit."""


class Killed(NoAnswer):
    """Somebody killed the process, who may have meant another one."""


class Look:
    """Runs the process.

    Args:
        server: Forks it.
        folder: Its own.
        task: What it does, by its name in `autotune.run.child`.
        seconds: That each of its steps may take.
    """

    def __init__(self, server: ForkClient, folder: TrialFolder, task: str, seconds: float) -> None:
        self._gang = Gang(server, folder, task)
        self._gauge = MemoryGauge(server.pid, memory.ceiling())
        self._folder = folder
        self._seconds = seconds
        self._since = time.monotonic()
        self._step = steps.STARTING

    def answer(self) -> Any:
        """Run the process to its end and return what it found.

        Raises:
            NoAnswer: It found nothing.
        """
        try:
            return self._watched()
        except NoAnswer as exc:
            exc.step = self._step
            raise
        finally:
            self._gang.end()

    def _watched(self) -> Any:
        try:
            self._gang.start()
            while not self._gang.exits():
                self._hear(self._gang.listen(POLL))
                self._check()
        except ForkServerDied as exc:
            raise Killed("was killed together with its parent process") from exc
        self._hear(self._gang.read())
        return self._read()

    def _hear(self, reports: Sequence[Report]) -> None:
        for _, event in reports:
            if event["event"] == events.ERROR:
                raise NoAnswer(
                    f"failed with {reason_text(reasons.explain(event))}", event["detail"]
                )
            if event["event"] == events.DOING:
                self._step, self._since = event["what"], event["at"]

    def _check(self) -> None:
        limit = _START_SECONDS if self._step == steps.STARTING else self._seconds
        if time.monotonic() - self._since > limit:
            raise Blocked(f"took longer than {limit:g} s", self._gang.stack(0))
        if self._gauge.exceeded():
            raise NoAnswer("ran out of memory")

    def _read(self) -> Any:
        status = self._gang.exits()[0]
        if reasons.is_kill(status):
            raise Killed(death(reasons.death(status)), self._gang.last_words(0))
        if status != 0:
            raise NoAnswer(death(reasons.death(status)), self._gang.last_words(0))
        return json.loads(self._folder.answer.read_text(encoding="utf-8"))
