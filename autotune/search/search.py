"""The search itself: yardstick, exploration, finals."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config import Configuration
from autotune.errors import Interrupted
from autotune.measure import Interval
from autotune.recommendation import Verdict
from autotune.search.budget import Budget
from autotune.search.design import default_in, transfers
from autotune.search.explore import Explorer
from autotune.search.finals import Finalists, Finals, choose_finalists, finals_seconds
from autotune.search.history import History
from autotune.search.options import Options
from autotune.search.runner import Runner
from autotune.search.verdict import Decision
from autotune.search.yardstick import find_yardstick
from autotune.space import Candidates
from autotune.trial import Stage

YARDSTICK_SHARE = 0.45
"""Of the time before the finals, what the single device gets where there is something else."""
GUESSED_RESERVE = 45.0
"""Seconds set aside for the finals while nobody knows who will be in them."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a search found."""

    recommended: Configuration
    decision: Decision
    yardstick: Configuration
    default: Configuration
    examples_per_second: Interval | None
    """Throughput of the recommended configuration in the finals."""
    over_default: Interval | None
    history: History
    interrupted: bool


class Search:
    """One search over one space.

    Args:
        runner: Makes the trials.
        budget: Bounds them.
        candidates: The configurations that can run.
        options: Margin and seed.
    """

    def __init__(
        self, runner: Runner, budget: Budget, candidates: Candidates, options: Options
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._found = candidates
        self._options = options
        self._alone = candidates.one_device
        self._default = default_in(self._alone)
        self._finals: Finals | None = None

    def run(self) -> Findings:
        """Search until the verdict is clear or the budget is spent.

        Ctrl-C ends it early, with what was found so far.

        Raises:
            NothingMeasured: No single-device configuration could be measured.
            Interrupted: Stopped before anything was measured.
        """
        interrupted = False
        try:
            self._explore()
            self._decide()
        except KeyboardInterrupt:
            interrupted = True
        return self._findings(interrupted=interrupted)

    def _explore(self) -> None:
        alone, distributed = self._alone, self._found.distributed
        share = YARDSTICK_SHARE if distributed else 1.0
        find_yardstick(self._explorer(Stage.YARDSTICK, share), alone)
        yardstick = self._runner.history.yardstick
        if distributed and yardstick:
            rest = self._explorer(Stage.EXPLORE, 1.0)
            rest.try_all(transfers(yardstick, distributed))
            rest.propose_from(distributed)

    def _decide(self) -> None:
        self._finals = Finals(
            self._runner,
            self._budget,
            self._finalists(),
            margin=self._options.margin,
            seed=self._options.seed,
        )
        self._finals.run()

    def _explorer(self, stage: Stage, share: float) -> Explorer:
        return Explorer(
            self._runner,
            self._budget,
            stage,
            share=share,
            reserve=self._reserve,
            seed=self._options.seed,
        )

    def _reserve(self) -> float:
        if self._runner.history.yardstick is None:
            return GUESSED_RESERVE
        return finals_seconds(self._runner.history, self._finalists())

    def _finalists(self) -> Finalists:
        return choose_finalists(self._runner.history, self._default)

    def _findings(self, *, interrupted: bool) -> Findings:
        history = self._runner.history
        best = history.yardstick
        if best is None:
            raise Interrupted("Stopped before anything was measured.")
        finals = self._finals
        yardstick = finals.yardstick if finals else best
        decision = finals.decision() if finals else Decision(verdict=Verdict.UNDECIDED)
        recommended = yardstick
        if decision.verdict is Verdict.DISTRIBUTE and decision.challenger:
            recommended = decision.challenger
        return Findings(
            recommended=recommended,
            decision=decision,
            yardstick=yardstick,
            default=self._default,
            examples_per_second=finals.throughput(recommended) if finals else None,
            over_default=finals.gain_over(recommended, self._default) if finals else None,
            history=history,
            interrupted=interrupted,
        )
