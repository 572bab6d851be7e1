"""A few configurations in fresh runs that take turns, compared by the posterior of all of them."""

from __future__ import annotations

import math
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from autotune.config import Configuration
from autotune.errors import NotVerified
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.belief import Learner
from autotune.search.failures import ATTEMPTS
from autotune.search.kernel import Matrix
from autotune.search.question import DRAWS, SURE_GAIN, interval_of
from autotune.search.runner import Runner
from autotune.stats.intervals import Interval
from autotune.text import plural, sentence, times
from autotune.trial import Stage, Trial, sustained
from autotune.verification.answer import Answer, Comparison, compared

MORE_TIME = "allow more time"
BROKEN = (Outcome.CRASHED, Outcome.FAILED, Outcome.HUNG, Outcome.OUT_OF_MEMORY)
"""Outcomes that speak against a program; that its speed did not settle does not."""
FEWEST = 3
"""Pairs before anything is answered: the noise of fewer is anybody's guess."""


class Turns:
    """Runs each configuration once in every round, in random order."""

    def __init__(self, runner: Runner, arms: Sequence[Configuration], *, seed: int) -> None:
        self._runner = runner
        self._arms = list(arms)
        self._random = random.Random(seed)  # noqa: S311 - an order of runs, no secret
        self.taken = 0
        """Rounds so far."""
        self.unmeasured: dict[Configuration, list[Trial]] = defaultdict(list)
        """Runs that were not measured, oldest first."""

    def affords(self) -> bool:
        return self._runner.history.costs.total(self._arms) <= self._runner.budget.left

    def take(self) -> None:
        for each in self._random.sample(self._arms, len(self._arms)):
            trial = self._runner.run(each, Stage.REPEAT, turn=self.taken)
            if not (trial.measured and self._runner.subject.scorer(trial)):
                self.unmeasured[each].append(trial)
        self.taken += 1

    def measured(self, configuration: Configuration) -> list[Trial]:
        trials = self._runner.history.trials
        return [t for t in trials if t.configuration == configuration and t.measured]

    @property
    def rounds(self) -> int:
        """How often all of them were measured."""
        return min(len(self.measured(each)) for each in self._arms)


@dataclass(frozen=True, kw_only=True)
class Question:
    """A challenger, and the bounds between which the ratio to it decides nothing.

    The ratio is the score of what is recommended as a multiple of its challenger's.
    """

    challenger: Configuration
    holds_above: float
    fails_below: float
    """Looked at first, because a gain below the margin is no reason to distribute."""
    mine: str
    """What is recommended, in words, with the verb of the sentence."""
    theirs: str
    """The challenger, in words."""
    consequences: Mapping[Answer, str] = field(default_factory=dict)
    """What follows from an answer, as the end of the sentence."""


class Contest:
    """Compares what is recommended with its challenger, or runs it alone where there is none.

    The answers follow from the posterior of the runs, as the verdict of a search does; the seed is
    of the order within each round.
    """

    def __init__(
        self, runner: Runner, winner: Configuration, question: Question | None, *, seed: int
    ) -> None:
        self._runner = runner
        arms = [winner, *([question.challenger] if question else [])]
        self._turns = Turns(runner, arms, seed=seed)
        self._learner = Learner(runner.history, arms)
        self._winner = winner
        self._question = question

    def run(self) -> Comparison:
        """Make rounds until they answer, or time is up, or one of the two is out.

        Raises:
            NotVerified: No run was measured, and what is recommended broke.
        """
        while not self._decided() and self._turns.affords():
            self._turns.take()
        question, measured = self._question, self._turns.measured(self._winner)
        answer, ground = self._answered()
        throughput = self._runner.history.throughput(self._winner) if measured else None
        return compared(answer, ground).model_copy(
            update={
                "challenger": question and question.challenger,
                "ratio": question and self._ratio,
                "pairs": self._turns.rounds if question else 0,
                "examples_per_second": throughput and sustained(throughput, measured),
                "trials": tuple(self._runner.history.trials),
            }
        )

    def _decided(self) -> bool:
        if self._question is None:
            return self._turns.taken >= FEWEST
        out = max(len(self._broken), len(self._turns.unmeasured[self._question.challenger]))
        return out >= ATTEMPTS or self._answer(self._question) is not Answer.UNCLEAR

    @property
    def _ratio(self) -> Interval | None:
        """How many times better than its challenger it is; None before both were measured twice."""
        return interval_of(self._gaps) if self._turns.rounds > 1 else None

    @property
    def _gaps(self) -> Matrix:
        """Draws of log(recommended / challenger)."""
        drawn = self._learner.learn().joint([0, 1]).draw(DRAWS, 0, [0, 1])
        gaps: Matrix = drawn[:, 0] - drawn[:, 1]
        return gaps

    @property
    def _broken(self) -> list[Trial]:
        return [t for t in self._turns.unmeasured[self._winner] if t.outcome in BROKEN]

    def _answered(self) -> tuple[Answer, str]:
        broken, ran = self._broken, bool(self._turns.measured(self._winner))
        if len(broken) >= ATTEMPTS or (broken and not ran):
            why = _unmeasured("the recommended configuration", broken[0])
            if not any(each.measured for each in self._runner.history.trials):
                raise NotVerified(
                    sentence(f"Not verified: no run was measured: {why}"),
                    "Run its train.py to see why, or search again.",
                )
            return Answer.FAILS, why
        if self._question:
            return self._against(self._question)
        # That it runs is enough, unless one device should be its challenger.
        if not ran:
            return Answer.UNCLEAR, _too_few(0)
        if self._winner.distributed:
            return Answer.UNCLEAR, (
                "the recommended configuration runs, but the file holds no single-device "
                "configuration that can run here"
            )
        return Answer.HOLDS, (
            "the recommended configuration runs, and the search found no other that can run here"
        )

    def _against(self, question: Question) -> tuple[Answer, str]:
        pairs, ratio = self._turns.rounds, self._ratio
        if ratio is None:
            missing = self._turns.unmeasured[question.challenger]
            why = _unmeasured("its challenger", missing[0]) if missing else _too_few(pairs)
            return Answer.UNCLEAR, why
        answer, adjective = self._answer(question), self._runner.subject.objective.adjective
        text = f"{question.mine} {times(ratio)} as {adjective} as {question.theirs}"
        if answer is Answer.UNCLEAR:
            return answer, f"{text} after {plural(pairs, 'pair')} of runs; {MORE_TIME}"
        return answer, text + question.consequences.get(answer, "")

    def _answer(self, question: Question) -> Answer:
        if self._turns.rounds < FEWEST:
            return Answer.UNCLEAR
        gaps, bounds = self._gaps, (question.holds_above, question.fails_below)
        above, below = (float(np.mean(gaps > math.log(bound))) for bound in bounds)
        if 1 - below > SURE_GAIN:
            return Answer.FAILS
        return Answer.HOLDS if above > SURE_GAIN else Answer.UNCLEAR


def _too_few(pairs: int) -> str:
    done = "time for only 1 pair of runs" if pairs else "no time for a pair of runs"
    return f"there was {done}; {MORE_TIME}"


def _unmeasured(which: str, trial: Trial) -> str:
    return f"{which} was not measured ({trial.outcome}): {reason_text(trial.reason)}"
