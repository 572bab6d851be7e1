"""What the posterior says of every configuration that has shown a speed: the rows of the table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from autotune.config import Configuration
from autotune.objective import Scorer
from autotune.reason import Outcome
from autotune.result.leaderboard import ITSELF, Entry
from autotune.search.belief import Learner
from autotune.search.history import History
from autotune.search.kernel import Matrix
from autotune.search.question import DRAWS, interval_of
from autotune.stats import Interval
from autotune.trial import sustained


@dataclass(frozen=True)
class Drawn:
    """Scores of all that has shown a speed, drawn from their posterior.

    Attributes:
        logs: log(score), a row for each draw and a column for each configuration.
        entries: A row of the table for each, in the same order, compared with nothing.
    """

    logs: Matrix
    entries: tuple[Entry, ...]

    def scores(self, configuration: Configuration) -> Matrix:
        found: Matrix = self.logs[:, self._column(configuration)]
        return found

    def ratio(self, one: Configuration, other: Configuration) -> Interval | None:
        """Return how many times better one is; None where one of them has shown nothing."""
        known = {each.configuration for each in self.entries}
        if not {one, other} <= known:
            return None
        return ITSELF if one == other else interval_of(self.scores(one) - self.scores(other))

    def entries_beside(self, baseline: Configuration) -> tuple[Entry, ...]:
        """Return the rows compared with the best single device, the best first."""
        order = self.logs.mean(0)
        columns = sorted(range(len(self.entries)), key=lambda k: -order[k])
        compared = ((self.entries[k], self.entries[k].configuration) for k in columns)
        return tuple(
            each.model_copy(update={"speedup": self.ratio(c, baseline)}) for each, c in compared
        )

    def _column(self, configuration: Configuration) -> int:
        return next(k for k, e in enumerate(self.entries) if e.configuration == configuration)


def drawn(
    learner: Learner,
    history: History,
    scorer: Scorer | None,
    refused: Callable[[Configuration], bool],
    seed: int = 0,
) -> Drawn:
    """Draw from the posterior of all trials so far.

    Args:
        learner: Learns it.
        history: Holds the trials.
        scorer: Tells examples per second from scores; None where the score does not follow them.
        refused: Whether a configuration failed its certification.
        seed: Of the random numbers.
    """
    posterior = learner.learn()
    rows = [*dict.fromkeys(run.row for run in learner.runs)]
    joint = posterior.joint(rows)
    logs = joint.draw(DRAWS, seed, range(len(rows)))
    entries = []
    for k, row in enumerate(rows):
        c = learner.pool[row]
        runs = [each for each in learner.counting if each.configuration == c]
        rate = (
            history.throughput(c)
            if scorer is None
            else sustained(interval_of(logs[:, k] - scorer.log_offset(c)), runs)
        )
        entries.append(
            Entry(
                configuration=c,
                examples_per_second=rate,
                speedup=None,
                outcome=Outcome.REJECTED if refused(c) else runs[-1].outcome,
                runs=len(runs),
            )
        )
    return Drawn(logs, tuple(entries))
