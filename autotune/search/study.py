"""The Optuna study of a search: asked and told in memory, kept in a database.

While a trial is timed, nothing is written. It is kept whole, after it ended, in one transaction: a
search that dies leaves no half trial behind, and a crash can never be taken for a slow measurement.
Writing takes up to a tenth of a second, so it happens while the next trial's processes start. What
cannot be written stays in memory and is tried again: a full disk or a locked database costs a
search nothing else.
"""

import math
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import optuna
from optuna.exceptions import OptunaError
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler
from optuna.study import StudyDirection
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from autotune.config import Configuration
from autotune.objective import Score, throughput_of
from autotune.search.parameters import RECORD, Parameters, frozen, root_cause, state_of
from autotune.search.stopping import CLIMB, ERROR, Shown, SlowerThanOneDevice
from autotune.trial import Trial

PROPOSALS = 100
"""So many configurations in turn that cannot run end the search: a sampler that draws at random
among a fiftieth that can comes to one in five of six searches."""

Notify = Callable[[str], None]
"""Is given sentences that the user should know."""


class Study:
    """All trials of one search: asked and told in memory, and kept in a database if there is one.

    The pool is every configuration that may be tried; it fixes the domains that the study declares.
    """

    def __init__(
        self,
        kept: optuna.Study | None = None,
        pool: Sequence[Configuration] = (),
        tell: Notify = lambda _: None,
        value: Score = throughput_of,
    ) -> None:
        self._kept = kept
        self.value = value
        """What Optuna is told of a trial; replaced where more is learned before the first one."""
        earlier = kept.trials if kept else []
        self.parameters = Parameters(pool, earlier)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._live = optuna.create_study(direction=kept.direction if kept else "maximize")
        self._live.add_trials([each for each in earlier if each.state.is_finished()])
        self.failure: str | None = None
        """What was wrong with the sampler or the pruner."""
        self._open: tuple[optuna.trial.Trial, Configuration] | None = None
        self._notify = tell
        self._notified = False
        self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="study")
        self._saving: Future[None] | None = None
        self._unsaved: deque[FrozenTrial] = deque()
        self.trials = [
            # An earlier version may have kept more.
            Trial.model_validate(each.user_attrs[RECORD], extra="ignore")
            for each in earlier
            if RECORD in each.user_attrs
        ]
        """All of them, oldest first."""

    def use(self, sampler: BaseSampler, pruner: BasePruner) -> None:
        """Let these propose and prune."""
        self._live.sampler, self._live.pruner = sampler, pruner

    @property
    def name(self) -> str:
        return self._kept.study_name if self._kept else ""

    def kept(self, name: str) -> Any:
        """Return what a session of this search has kept under a name; None where nothing."""
        return self._kept.user_attrs.get(name) if self._kept else None

    def keep(self, name: str, found: Any) -> None:
        # What cannot be saved is found out again by a search that is resumed.
        with suppress(SQLAlchemyError, OptunaError, RuntimeError):
            if self._kept:
                self._kept.set_user_attr(name, found)

    def proposal(
        self, refused: Callable[[Configuration], bool] = lambda _: False
    ) -> Configuration | None:
        """Return what the sampler proposes; the same until it is asked for or refused.

        None where it proposes only what is refused; and where it fails, or proposes only what there
        is not, and `failure` then says so.
        """
        known = False
        for _ in range(PROPOSALS):
            try:
                trial, found = self._open or self._suggestion()
            except Exception as exc:  # noqa: BLE001 - somebody's sampler may raise anything
                self.failure = f"the sampler raised {exc!r}"
                return None
            if found is not None and not refused(found):
                self._open = trial, found
                return found
            known = known or found is not None
            self._open = None
            self._live.tell(trial, state=TrialState.FAIL)
        if not known:
            self.failure = f"the sampler proposed {PROPOSALS} configurations that cannot run"
        return None

    def _suggestion(self) -> tuple[optuna.trial.Trial, Configuration | None]:
        trial = self._live.ask()
        return trial, self.parameters.suggested(trial)

    def ask(self, configuration: Configuration) -> optuna.trial.Trial:
        """Return the trial of Optuna's that runs a configuration, proposed or not."""
        proposed, self._open = self._open, None
        if proposed is not None and proposed[1] == configuration:
            return proposed[0]
        self._open = proposed
        self._live.enqueue_trial(dict(self.parameters.of(configuration)))
        return self._suggestion()[0]

    def tell(self, asked: optuna.trial.Trial, trial: Trial) -> None:
        value = self.value(trial) if trial.measured else None
        self._live.tell(asked, value, state_of(trial, value))
        self.append(trial, self._live.trials[asked.number].intermediate_values)

    def report(
        self, asked: optuna.trial.Trial, shown: Shown, *, prunes: bool = True
    ) -> float | None:
        """Note what a run has shown so far.

        Returns:
            None, or, if the run is to be stopped, an upper bound of its share of one device's
            score. A pruner that gives no bound has 1.
        """
        minimizes = self._live.direction is StudyDirection.MINIMIZE
        asked.set_user_attr(ERROR, shown.error)
        asked.set_user_attr(CLIMB, shown.climb)
        asked.report(1 / shown.score if minimizes else shown.score, shown.step)
        if not prunes or self.failure:
            return None
        try:
            if not asked.should_prune():
                return None
        except Exception as exc:  # noqa: BLE001 - somebody's pruner may raise anything
            self.failure = f"the pruner raised {exc!r}"
            return None
        pruner = self._live.pruner
        return math.exp(pruner.bound) if isinstance(pruner, SlowerThanOneDevice) else 1.0

    def append(self, trial: Trial, shown: Mapping[int, float] | None = None) -> None:
        """Take in a trial that has ended; it is saved in the background, in its turn."""
        self.trials.append(trial)
        if self._kept is None:
            return
        self._unsaved.append(frozen(trial, self.value(trial), self.parameters, shown))
        if self._saving is None or self._saving.done():
            error = self._wait()
            self._saving = self._writer.submit(self._save)
            if error is not None and not self._notified:
                self._notified = True
                self._notify(f"A trial could not be saved ({root_cause(error)}); retrying.")

    def flush(self) -> None:
        """Wait until every trial is saved; tell the user of those that cannot be."""
        under_way = self._saving is not None and not self._saving.done()
        error = self._wait()
        # An attempt that failed only now would fail again.
        if self._unsaved and not (under_way and error):
            self._saving = self._writer.submit(self._save)
            error = self._wait()
        if self._unsaved and error:
            self._notify(
                f"{len(self._unsaved)} of {len(self.trials)} trials could not be saved in the "
                f"study ({root_cause(error)}); a resumed search will lack them."
            )

    def _wait(self) -> BaseException | None:
        """Return the error of the last attempt to save, once that is over."""
        if self._saving is None:
            return None
        error = self._saving.exception()
        # Only now: Ctrl-C while waiting must not let go of it.
        self._saving = None
        return error

    def _save(self) -> None:
        while self._kept and self._unsaved:
            self._kept.add_trial(self._unsaved[0])
            self._unsaved.popleft()
