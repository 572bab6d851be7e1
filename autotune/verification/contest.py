"""The recommended configuration and its challenger in fresh runs that take turns."""

from __future__ import annotations

import itertools
from collections.abc import Mapping

from autotune.config import Configuration
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.turns import Turns
from autotune.search.verdict import FALSE_RATE, FEWEST, LAST_LOOK, LOOKS
from autotune.stats import Interval, mean_rate
from autotune.text import plural, sentence, times
from autotune.trial import Trial, sustained
from autotune.verification.answer import Answer, Comparison
from autotune.verification.question import Question

LEADS: Mapping[Answer, str] = {
    Answer.HOLDS: "Confirmed",
    Answer.FAILS: "Refuted",
    Answer.UNCLEAR: "Inconclusive",
}
MORE_TIME = "allow more time"
BROKEN = (Outcome.CRASHED, Outcome.FAILED, Outcome.HUNG, Outcome.OUT_OF_MEMORY)
"""Outcomes that speak against a program; that its speed did not settle does not."""
FAILURES = 2
"""One failure may be an accident; so many are none."""
NO_CHALLENGER = {
    True: (
        "the recommended configuration runs, but the file holds no single-device configuration "
        "that can run here"
    ),
    False: "the recommended configuration runs, and the search found no other that can run here",
}
"""By whether it is distributed."""


class Contest:
    """Compares what is recommended with its challenger, or runs it alone where there is none.

    The answers err as rarely as the verdict of a search, and by its scheme: few interim analyses,
    each of which may spend a share of the false rate.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        winner: What is recommended.
        question: What to ask of it and its challenger.
        seed: Of the order within each round.
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
        self._turns = Turns(runner, budget, seed=seed)
        self._winner = winner
        self._question = question

    def run(self) -> Comparison:
        """Make rounds until they answer, or time is up, or one of the two is out."""
        question, arms = self._question, [self._winner]
        if question:
            arms.append(question.challenger)
        for number in itertools.count():
            if self._decided(number) or not self._turns.affords(arms):
                break
            self._turns.take(arms, number)
        answer, ground = self._compared(question) if question else self._alone()
        return Comparison(
            answer=answer,
            summary=sentence(f"{LEADS[answer]}: {ground}"),
            challenger=question and question.challenger,
            ratio=question and self._ratio(question),
            pairs=self._pairs(question) if question else 0,
            examples_per_second=self._throughput(),
            trials=tuple(self._runner.history.trials),
        )

    def _decided(self, rounds: int) -> bool:
        if self._question is None:
            return rounds >= FEWEST
        challenger = self._turns.unmeasured[self._question.challenger]
        if max(len(self._broken), len(challenger)) >= FAILURES:
            return True
        share = LOOKS.get(self._pairs(self._question), 0.0)
        return self._answer(self._question, share) is not Answer.UNCLEAR

    @property
    def _broken(self) -> list[Trial]:
        return [t for t in self._turns.unmeasured[self._winner] if t.outcome in BROKEN]

    def _failure(self) -> str | None:
        """Return that a program does not run any more, if its runs show it."""
        ran = bool(self._turns.trials[self._winner])
        if len(self._broken) >= FAILURES or (self._broken and not ran):
            return unmeasured("the recommended configuration", self._broken[0])
        return None

    def _compared(self, question: Question) -> tuple[Answer, str]:
        """Return the answer of the pairs, and its ground."""
        if broken := self._failure():
            return Answer.FAILS, broken
        pairs, ratio = self._pairs(question), self._ratio(question)
        if ratio is None:
            challenger = self._turns.unmeasured[question.challenger]
            few = too_few(pairs)
            return Answer.UNCLEAR, unmeasured(
                "its challenger", challenger[0]
            ) if challenger else few
        # What was clear at an earlier share is clear at this one, which is larger.
        answer = self._answer(question, LAST_LOOK)
        text = f"{question.mine} {times(ratio)} as {question.adjective} as {question.theirs}"
        if answer is Answer.UNCLEAR:
            return answer, f"{text} after {plural(pairs, 'pair')} of runs; {MORE_TIME}"
        return answer, text + question.consequence(answer)

    def _alone(self) -> tuple[Answer, str]:
        """Return whether it runs, which is enough unless one device should be its challenger."""
        if broken := self._failure():
            return Answer.FAILS, broken
        if not self._turns.trials[self._winner]:
            return Answer.UNCLEAR, too_few(0)
        advised = self._winner.distributed
        return Answer.UNCLEAR if advised else Answer.HOLDS, NO_CHALLENGER[advised]

    def _answer(self, question: Question, share: float) -> Answer:
        """Return what the pairs say, if this analysis may spend a share of the false rate."""
        if not share or self._pairs(question) < FEWEST:
            return Answer.UNCLEAR
        ratio = self._ratio(question, 1 - 2 * FALSE_RATE * share)
        if ratio and ratio.high < question.fails_below:
            return Answer.FAILS
        return Answer.HOLDS if ratio and ratio.low > question.holds_above else Answer.UNCLEAR

    def _pairs(self, question: Question) -> int:
        return self._turns.rounds(self._winner, question.challenger)

    def _ratio(self, question: Question, confidence: float = 0.95) -> Interval | None:
        noise = self._runner.history.noise
        return self._turns.ratio(self._winner, question.challenger, noise, confidence=confidence)

    def _throughput(self) -> Interval | None:
        """Return the examples per second that what is recommended sustains, if it was measured."""
        trials = [*self._turns.trials[self._winner].values()]
        rates = [rate for each in trials if (rate := each.examples_per_second)]
        return sustained(mean_rate(rates, self._runner.history.noise), trials) if rates else None


def too_few(pairs: int) -> str:
    done = "time for only 1 pair of runs" if pairs else "no time for a pair of runs"
    return f"there was {done}; {MORE_TIME}"


def unmeasured(which: str, trial: Trial) -> str:
    return f"{which} was not measured ({trial.outcome}): {reason_text(trial.reason)}"
