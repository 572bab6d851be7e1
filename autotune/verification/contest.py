"""What is recommended and its rival in fresh runs, until the answer is clear or time is up."""

from __future__ import annotations

from collections.abc import Sequence

from autotune.measure import Interval, mean_rate, paired_ratio
from autotune.run.engine import Outcome
from autotune.search.verdict import FALSE_RATE, FEWEST, LAST_LOOK, LOOKS
from autotune.trial import Trial
from autotune.verification.answer import Answer
from autotune.verification.question import Question
from autotune.verification.sentences import comparison, sentence, too_few, unmeasured
from autotune.verification.turns import Turns
from autotune.verification.verification import Comparison

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
            summary=sentence(answer, ground),
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
            if answer is Answer.HOLDS and not self._question.confirmable:
                answer = Answer.UNCLEAR
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
        summary=sentence(answer, ground),
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
    rates = [trial.sustained for trial in turns.of(WINNER) if trial.measured and trial.sustained]
    return mean_rate(rates, turns.noise) if rates else None
