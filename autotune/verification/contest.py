"""The recommended configuration and its challenger in fresh runs that take turns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.failures import FAILURES
from autotune.search.question import SURE_GAIN
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.turns import Turns
from autotune.text import plural, times
from autotune.trial import Trial, sustained
from autotune.verification.answer import Answer, Comparison, compared

MORE_TIME = "allow more time"
BROKEN = (Outcome.CRASHED, Outcome.FAILED, Outcome.HUNG, Outcome.OUT_OF_MEMORY)
"""Outcomes that speak against a program; that its speed did not settle does not."""
FEWEST = 3
"""Pairs before anything is answered: the noise of fewer is anybody's guess."""
NO_CHALLENGER = {
    True: (
        "the recommended configuration runs, but the file holds no single-device configuration "
        "that can run here"
    ),
    False: "the recommended configuration runs, and the search found no other that can run here",
}
"""By whether it is distributed."""


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
        self,
        runner: Runner,
        budget: Budget,
        winner: Configuration,
        question: Question | None,
        *,
        seed: int,
    ) -> None:
        self._runner = runner
        self._arms = [winner, *([question.challenger] if question else [])]
        self._turns = Turns(runner, budget, self._arms, seed=seed)
        self._winner = winner
        self._question = question

    def run(self) -> Comparison:
        """Make rounds until they answer, or time is up, or one of the two is out."""
        rounds = 0
        while not self._decided(rounds) and self._turns.affords():
            self._turns.take()
            rounds += 1
        question, measured = self._question, self._turns.measured(self._winner)
        answer, ground = self._against(question) if question else self._alone()
        throughput = self._runner.history.throughput(self._winner) if measured else None
        return compared(answer, ground).model_copy(
            update={
                "challenger": question and question.challenger,
                "ratio": question and self._turns.ratio(*self._arms),
                "pairs": self._turns.rounds(*self._arms) if question else 0,
                "examples_per_second": throughput and sustained(throughput, measured),
                "trials": tuple(self._runner.history.trials),
            }
        )

    def _decided(self, rounds: int) -> bool:
        if self._question is None:
            return rounds >= FEWEST
        out = max(len(self._broken), len(self._turns.unmeasured[self._question.challenger]))
        return out >= FAILURES or self._answer(self._question) is not Answer.UNCLEAR

    @property
    def _broken(self) -> list[Trial]:
        return [t for t in self._turns.unmeasured[self._winner] if t.outcome in BROKEN]

    def _failure(self) -> str | None:
        """Return that a program does not run any more, if its runs show it."""
        broken, ran = self._broken, bool(self._turns.measured(self._winner))
        out = len(broken) >= FAILURES or (broken and not ran)
        return unmeasured("the recommended configuration", broken[0]) if out else None

    def _against(self, question: Question) -> tuple[Answer, str]:
        """Return the answer of the pairs, and its ground."""
        if broken := self._failure():
            return Answer.FAILS, broken
        pairs, ratio = self._turns.rounds(*self._arms), self._turns.ratio(*self._arms)
        if ratio is None:
            missing = self._turns.unmeasured[question.challenger]
            why = unmeasured("its challenger", missing[0]) if missing else too_few(pairs)
            return Answer.UNCLEAR, why
        answer, adjective = self._answer(question), self._runner.subject.objective.adjective
        text = f"{question.mine} {times(ratio)} as {adjective} as {question.theirs}"
        if answer is Answer.UNCLEAR:
            return answer, f"{text} after {plural(pairs, 'pair')} of runs; {MORE_TIME}"
        return answer, text + question.consequences.get(answer, "")

    def _alone(self) -> tuple[Answer, str]:
        """Return whether it runs, which is enough unless one device should be its challenger."""
        if broken := self._failure():
            return Answer.FAILS, broken
        if not self._turns.measured(self._winner):
            return Answer.UNCLEAR, too_few(0)
        advised = self._winner.distributed
        return Answer.UNCLEAR if advised else Answer.HOLDS, NO_CHALLENGER[advised]

    def _answer(self, question: Question) -> Answer:
        if self._turns.rounds(*self._arms) < FEWEST:
            return Answer.UNCLEAR
        above, below = (
            self._turns.chance(self._winner, question.challenger, bound)
            for bound in (question.holds_above, question.fails_below)
        )
        if 1 - below > SURE_GAIN:
            return Answer.FAILS
        return Answer.HOLDS if above > SURE_GAIN else Answer.UNCLEAR


def too_few(pairs: int) -> str:
    done = "time for only 1 pair of runs" if pairs else "no time for a pair of runs"
    return f"there was {done}; {MORE_TIME}"


def unmeasured(which: str, trial: Trial) -> str:
    return f"{which} was not measured ({trial.outcome}): {reason_text(trial.reason)}"
