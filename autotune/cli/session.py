"""One search from the command line: engine, report, results."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autotune.board import board_for
from autotune.cli.consoles import notices, put, say, show
from autotune.cli.copies import Copies
from autotune.errors import Interrupted
from autotune.options import SearchOptions
from autotune.workload import Workload

if TYPE_CHECKING:
    from autotune.report import LiveReport, PlainReport
    from autotune.result import Result
    from autotune.search.request import TuningRequest


@dataclass(frozen=True, kw_only=True)
class Session:
    """A search as the user asked for it, and where its results go."""

    workload: Workload
    space: str
    options: SearchOptions
    out: Path
    study: str | None
    storage: str | None
    resume: bool
    copies: Copies
    engine: str
    tensorboard: Path | None
    as_json: bool

    def show_card(self) -> None:
        """Print what would be searched, and run nothing."""
        from autotune.run.resolve import new_engine

        with new_engine(self.engine) as engine:
            # Imported while the engine's own process imports TensorFlow; the same below.
            from autotune.report import card
            from autotune.search.tune import dry_run

            with _report() as report:
                plan = dry_run(self._request(), engine, report)
        if self.as_json:
            put(plan.model_dump_json(indent=2) + "\n")
        else:
            show(card(plan))

    def search(self) -> None:
        """Search, write all files, and print the result."""
        from autotune.run.resolve import reserved_engine
        from autotune.search.checks import check

        self.copies.check()
        request = self._request()
        check(request)
        board = board_for(self.tensorboard)
        with (
            _terminated_as_by_ctrl_c(),
            reserved_engine(self.engine, self.workload.name, say) as engine,
        ):
            from autotune.report import all_of
            from autotune.search.tune import tune

            with _report() as report, board as writer:
                result = tune(request, engine, all_of(report, writer))
        self._hand_over(result)

    def _request(self) -> TuningRequest:
        from autotune.search.request import TuningRequest

        return TuningRequest(
            workload=self.workload,
            space=self.space,
            options=self.options,
            out=self.out,
            study=self.study,
            storage=self.storage,
            resume=self.resume,
        )

    def _hand_over(self, result: Result) -> None:
        from autotune.report import result_text
        from autotune.result.files import written

        if self.as_json:
            files = {name: str(path) for name, path in written(self.out).items()}
            put(json.dumps({**result.to_dict(), "files": files}, indent=2) + "\n")
        else:
            show(result_text(result, self.out))
        self.copies.write(result)
        if result.interrupted:
            raise typer.Exit(Interrupted.exit_code)


def _report() -> LiveReport | PlainReport:
    from autotune.report import terminal_report

    return terminal_report(notices())


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, by which schedulers end a job, keep what was found too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
