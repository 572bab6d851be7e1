"""The recommended configuration and its rival in fresh runs that take turns."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from autotune.config import Configuration
from autotune.engine.base import Engine
from autotune.events import Observer
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.request import Subject
from autotune.search.runner import Runner, TrialList
from autotune.search.stopping import Budget
from autotune.search.verdict import FALSE_RATE, FEWEST, LAST_LOOK, LOOKS
from autotune.stats import Interval, Noise, mean_rate, paired_ratio
from autotune.trial import Stage, Trial, sustained
from autotune.verification.answer import Answer, Comparison
from autotune.verification.question import Question
from autotune.wording import plural, sentence, times


class Turns:
    """Rounds in which every arm runs once, in random order.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        arms: What takes part; an A/A test holds one configuration twice.
        seed: Of the order within each round.
    """

    def __init__(
        self, runner: Runner, budget: Budget, arms: Sequence[Configuration], *, seed: int
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._arms = tuple(arms)
        self._random = random.Random(seed)  # noqa: S311 - an order of runs, no secret
        self._rounds: list[dict[int, Trial]] = []

    def take(self) -> None:
        """Run one round."""
        number = len(self._rounds)
        done: dict[int, Trial] = {}
        self._rounds.append(done)
        for arm in self._random.sample(range(len(self._arms)), len(self._arms)):
            done[arm] = self._runner.run(self._arms[arm], Stage.FINAL, turn=number)

    @property
    def affordable(self) -> bool:
        """Whether another round is expected to end before the time is spent."""
        return self._budget.left >= self._runner.history.costs.total(self._arms)

    @property
    def elapsed(self) -> float:
        """Seconds since the beginning, the preparation included."""
        return self._budget.elapsed

    @property
    def count(self) -> int:
        """Rounds that were run."""
        return len(self._rounds)

    @property
    def trials(self) -> tuple[Trial, ...]:
        """All runs, oldest first."""
        return tuple(sorted(self._all(), key=lambda trial: trial.number))

    @property
    def noise(self) -> Noise:
        """Between-run noise, as far as it is known."""
        return self._runner.history.noise

    def of(self, arm: int) -> tuple[Trial, ...]:
        """Return the runs of one arm, oldest first."""
        return tuple(done[arm] for done in self._rounds if arm in done)

    def rates(self, arm: int) -> list[float]:
        """Return the throughput of each measured run of an arm."""
        return [rate for rate in map(_rate, self.of(arm)) if rate]

    def pairs(self) -> list[tuple[float, float]]:
        """Return how good the first two arms were in the rounds that both finished."""
        both = [(done[0], done[1]) for done in self._rounds if {0, 1} <= done.keys()]
        scores = [(self._score(first), self._score(second)) for first, second in both]
        return [(first, second) for first, second in scores if first and second]

    def _score(self, trial: Trial) -> float | None:
        return self._runner.subject.scorer(trial) if trial.measured else None

    def _all(self) -> Iterator[Trial]:
        for done in self._rounds:
            yield from done.values()


@contextmanager
def turns(
    engine: Engine,
    subject: Subject,
    arms: Sequence[Configuration],
    *,
    budget: Budget,
    seed: int,
    observer: Observer,
) -> Iterator[Turns]:
    """Give rounds of fresh runs, whose folders are removed at the end."""
    with tempfile.TemporaryDirectory(prefix="autotune-") as folder:
        runner = Runner(
            engine, subject, TrialList(), folder=Path(folder), budget=budget, observer=observer
        )
        yield Turns(runner, budget, arms, seed=seed)


def _rate(trial: Trial) -> float | None:
    return trial.examples_per_second if trial.measured else None


LEADS: Mapping[Answer, str] = {
    Answer.HOLDS: "Confirmed",
    Answer.FAILS: "Refuted",
    Answer.UNCLEAR: "Inconclusive",
}
MORE_TIME = "allow more time"


def comparison(answer: Answer, question: Question, ratio: Interval, pairs: int) -> str:
    """Return the ground of an answer that pairs of runs gave.

    Args:
        answer: It.
        question: What was compared.
        ratio: What is recommended as a multiple of its rival, from at least two pairs.
        pairs: How many there were.
    """
    text = f"{question.mine} {times(ratio)} as {question.adjective} as {question.theirs}"
    if answer is Answer.UNCLEAR:
        return f"{text} after {plural(pairs, 'pair')} of runs; {MORE_TIME}"
    return text + question.consequence(answer)


def too_few(pairs: int) -> str:
    """Return the ground of an answer without a ratio."""
    done = "time for only 1 pair of runs" if pairs else "no time for a pair of runs"
    return f"there was {done}; {MORE_TIME}"


def unmeasured(who: str, trial: Trial) -> str:
    """Return why a run says nothing of speed."""
    return f"{who} was not measured ({trial.outcome}): {reason_text(trial.reason)}"


BROKEN = (Outcome.CRASHED, Outcome.FAILED, Outcome.HUNG, Outcome.OUT_OF_MEMORY)
"""Outcomes that speak against a program; that its speed did not settle does not."""
FAILURES = 2
"""One failure may be an accident; so many are none."""
WINNER, RIVAL = 0, 1


class Contest:
    """Compares two configurations.

    The answers err as rarely as the verdict of a search, and by its scheme: few looks, each of
    which may spend a share of the false rate.

    Args:
        turns: Rounds of what is recommended and its rival.
        question: What to ask of them.
    """

    def __init__(self, turns: Turns, question: Question) -> None:
        self._turns = turns
        self._question = question

    def run(self) -> Comparison:
        """Make rounds until they answer, or time is up, or one of the two is out."""
        answer = Answer.UNCLEAR
        while answer is Answer.UNCLEAR and self._turns.affordable and not self._out:
            self._turns.take()
            answer = self._look(LOOKS.get(len(self._turns.pairs()), 0.0))
        if answer is Answer.UNCLEAR:
            answer = self._look(LAST_LOOK)
        return self._comparison(answer)

    @property
    def _out(self) -> bool:
        winner = [t for t in self._turns.of(WINNER) if t.outcome in BROKEN]
        rival = [t for t in self._turns.of(RIVAL) if not t.measured]
        return max(len(winner), len(rival)) >= FAILURES

    def _look(self, share: float) -> Answer:
        """Return what the pairs say, if this look may spend a share of the false rate."""
        if not share or len(self._turns.pairs()) < FEWEST:
            return Answer.UNCLEAR
        ratio = self._ratio(1 - 2 * FALSE_RATE * share)
        if ratio.high < self._question.fails_below:
            return Answer.FAILS
        return Answer.HOLDS if ratio.low > self._question.holds_above else Answer.UNCLEAR

    def _ratio(self, confidence: float = 0.95) -> Interval:
        pairs = self._turns.pairs()
        mine, theirs = [a for a, _ in pairs], [b for _, b in pairs]
        return paired_ratio(mine, theirs, self._turns.noise, confidence=confidence)

    def _comparison(self, answer: Answer) -> Comparison:
        pairs = len(self._turns.pairs())
        ratio = self._ratio() if pairs > 1 else None
        answer, ground = self._ground(answer, ratio, pairs)
        return Comparison(
            answer=answer,
            summary=sentence(f"{LEADS[answer]}: {ground}"),
            rival=self._question.rival,
            ratio=ratio,
            pairs=pairs,
            examples_per_second=throughput(self._turns),
            trials=self._turns.trials,
        )

    def _ground(self, answer: Answer, ratio: Interval | None, pairs: int) -> tuple[Answer, str]:
        broken = failure(self._turns.of(WINNER))
        if broken:
            return Answer.FAILS, unmeasured("the recommended configuration", broken)
        if ratio:
            return answer, comparison(answer, self._question, ratio, pairs)
        rival = next((t for t in self._turns.of(RIVAL) if not t.measured), None)
        return Answer.UNCLEAR, unmeasured("its rival", rival) if rival else too_few(pairs)


def alone(turns: Turns, ground: str, *, enough: bool) -> Comparison:
    """Run what is recommended a few times, where there is nothing to compare it with.

    Args:
        turns: Rounds of it.
        ground: Why there is nothing, in words.
        enough: Whether it holds if it runs.
    """
    while turns.affordable and len(turns.of(WINNER)) < FEWEST:
        turns.take()
    broken = failure(turns.of(WINNER))
    ran = bool(turns.rates(WINNER))
    answer = Answer.HOLDS if enough and ran else Answer.UNCLEAR
    if broken:
        answer, ground = Answer.FAILS, unmeasured("the recommended configuration", broken)
    elif not ran:
        ground = too_few(0)
    return Comparison(
        answer=answer,
        summary=sentence(f"{LEADS[answer]}: {ground}"),
        examples_per_second=throughput(turns),
        trials=turns.trials,
    )


def failure(trials: Sequence[Trial]) -> Trial | None:
    """Return the run that shows that a program does not run any more, or None."""
    broken = [trial for trial in trials if trial.outcome in BROKEN]
    ran = any(trial.measured for trial in trials)
    return broken[0] if len(broken) >= FAILURES or (broken and not ran) else None


def throughput(turns: Turns) -> Interval | None:
    """Return the examples per second that what is recommended sustains, if it was measured."""
    measured = [trial for trial in turns.of(WINNER) if trial.measured]
    rates = [rate for trial in measured if (rate := trial.examples_per_second)]
    if not rates:
        return None
    return sustained(mean_rate(rates, turns.noise), measured)
