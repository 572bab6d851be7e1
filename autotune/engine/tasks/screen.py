"""Settings that are timed briefly in one process, one after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from autotune.config import Configuration
from autotune.engine.base import RunResult
from autotune.engine.tasks.train import TrialTask


class Setting(NamedTuple):
    """A configuration to be screened, and the text of its program."""

    configuration: Configuration
    script: str


@dataclass(frozen=True, kw_only=True)
class ScreeningRequest(TrialTask[RunResult | None]):
    """Settings to be timed in one process, that of the trial of the first.

    They differ only in what a process can change while it runs: the batch, the steps of a call, and
    the input. So the training step is traced once, for a batch of any size. That is not the program
    that is handed over, and what is timed here decides nothing.

    The windows of the result, and those that the watch sees, are one for each setting in their
    order; one without steps could not be timed. What was timed before a failure counts.
    """

    code = "autotune.engine.child.screen:screen"

    settings: tuple[Setting, ...]
    """In the order in which they are timed; one may come again."""

    def payload(self) -> Mapping[str, Any]:
        settings = [
            {"script": script, "steps": c.steps_per_execution, "cached": c.cache != "off"}
            for c, script in self.settings
        ]
        return {**super().payload(), "settings": settings}

    def answer(self, result: RunResult, answers: Sequence[Any] = ()) -> RunResult | None:
        del answers
        return result

    def not_offered(self) -> None:
        return None
