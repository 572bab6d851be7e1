"""The finals: the best few measured again, in fresh processes that take turns.

Only these runs can say "distribute". The measurements that selected the finalists are not reused
for that, because the best of many noisy figures is too high. They do count against a challenger,
and between single devices.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from statistics import fmean

from autotune.config import Configuration
from autotune.result import Verdict
from autotune.result.verdict import Decision
from autotune.search.certification import Certification
from autotune.search.finalists import CHALLENGERS, DEFAULT_ROUNDS, Finalists
from autotune.search.history import Observed
from autotune.search.levels import agreeing, has_two_levels, may_be_a_level
from autotune.search.runner import Runner
from autotune.search.stopping import AHEAD, Budget
from autotune.search.surrogate import Expectations
from autotune.search.turns import Turns
from autotune.search.verdict import (
    FEWEST,
    LAST_LOOK,
    LOOKS,
    MAX_ROUNDS,
    decide,
    gain,
)
from autotune.stats import (
    Interval,
    Noise,
    joined,
    mean_rate,
    rate_of_winner,
    root_mean_square,
    significantly_below,
)
from autotune.trial import sustained

SINGLE_ROUNDS = 6
"""Rounds in which they are told apart, once no challenger is left."""
OUT = 0.99
"""Confidence with which a challenger must be slower to drop out."""
DEFENDERS = 2
"""Single devices that may join at a time, because they could be as fast as who is about to win."""
OUTDONE = 0.02
"""How often a single device may be taken for slower than that one though it is not; ..."""
LATE_OUTDONE = 0.005
"""... the same of one that was not tried before, at the batch of a challenger: it may well be as
fast, and is looked at after each of its runs."""
FAILURES = 2
"""A challenger that fails so often in the finals is out."""


class Finals:
    """Runs the finals round by round until they have decided.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        finalists: Who takes part.
        certification: Says who may win.
        expectations: What all runs let expect of the single devices.
        unknown_match: Returns the single device at the global batch of a challenger, if it has not
            been tried.
        margin: A gain below this share is not worth the trouble.
        seed: Of the order within each round.
    """

    def __init__(  # noqa: PLR0913 - each comes from another part
        self,
        runner: Runner,
        budget: Budget,
        finalists: Finalists,
        certification: Certification,
        *,
        expectations: Expectations,
        unknown_match: Callable[[Configuration], Configuration | None],
        margin: float,
        seed: int,
    ) -> None:
        self._expectations = expectations
        self._unknown_match = unknown_match
        self._runner = runner
        self._budget = budget
        self._certification = certification
        self._margin = margin
        self._turns = Turns(runner, budget, seed=seed)
        self._scores = self._turns.scores
        self._trials = self._turns.trials
        self._one_device = finalists.one_device
        self._default = finalists.default
        self._rivals = finalists.challengers
        self._lost: set[Configuration] = set()
        self._beaten: set[Configuration] = set()
        self._passed: Configuration | None = None
        self._outdone: Configuration | None = None
        """The single device over which it passed."""

    def run(self) -> None:
        """Make rounds until they decide, or time or rounds run out."""
        for number in range(MAX_ROUNDS):
            if self._decided(number):
                return
            running = self._running(number)
            if not self._affords(running) and not self._affords_with_held(running):
                break
            # A level shows at once, and nothing else is in question where only one runs.
            ahead = AHEAD if running == [self._passed] else None
            self._turns.take(running, number, ahead=ahead)
            self._settle_baseline(number + 1)
            self._drop()
            self._readmit()
        self._certify_winner(LAST_LOOK)

    def promise(self, configuration: Configuration) -> None:
        """Run who is recommended once, if it did not run here and there is time.

        What made it the best of many is too good for a promise, which is worth more than the
        profile whose time it may take.
        """
        if self._trials[configuration]:
            return
        alone = [configuration]
        if self._affords(alone) or (self._budget.take_held() and self._affords(alone)):
            self._turns.take(alone, 0)

    def decision(self) -> Decision:
        """Return what the rounds so far allow to say."""
        if self.all_refused:
            return Decision(verdict=Verdict.ONE_DEVICE)
        if self._rivals and not self._sound:
            return Decision(verdict=Verdict.UNDECIDED)
        found = self._compared(LAST_LOOK)
        if found.verdict is not Verdict.DISTRIBUTE or found.challenger is None:
            return found
        missing = self._missing(found.challenger)
        return found.model_copy(update={"verdict": Verdict.UNDECIDED, **missing} if missing else {})

    def _missing(self, challenger: Configuration) -> dict[str, object]:
        """Return what keeps a challenger from winning that is significantly faster."""
        if self._may_be_a_level(challenger):
            return {"bimodal": True}
        if rivals := self._doubts(challenger):
            return {"contender": rivals[0]}
        # Interrupted before anybody could look into it, or there was no time.
        return {} if self._certification.passed(challenger) else {"certified": False}

    def _certify_winner(self, share: float) -> bool:
        """Return whether somebody wins who may; who may not is out, and the next one is asked.

        Args:
            share: Of the false rate, what may be spent on seeing who is faster.
        """
        while winner := self._winner(share):
            if self._may_be_a_level(winner) or self._doubts(winner):
                return False
            if self._certification.certify(winner):
                return True
            if not self._certification.refused(winner):
                return False  # There was no time to look.
        return False

    def _winner(self, share: float) -> Configuration | None:
        """Return who is significantly faster than the baseline.

        That was found at one look, and remains found whatever the next runs say of it.
        """
        kept = self._passed
        if kept in self._sound and not has_two_levels(self._logs(kept)):
            return kept
        found = self._decide(share)
        self._passed = found.challenger if found.verdict is Verdict.DISTRIBUTE else None
        self._outdone = self.baseline if self._passed else None
        return self._passed

    def _compared(self, share: float) -> Decision:
        """Return the decision, whatever else a challenger that wins it needs."""
        found = self._decide(share)
        winner = self._winner(share)
        if winner is None or winner == found.challenger:
            verdict = Verdict.DISTRIBUTE if winner else found.verdict
            return found.model_copy(update={"verdict": verdict})
        alone = decide(self.baseline, [winner], self._scores, self.noise, self._margin, share)
        return alone.model_copy(update={"verdict": Verdict.DISTRIBUTE, "most": found.most})

    def _decide(self, share: float) -> Decision:
        # Who lost too early to be compared round by round has lost all the same.
        compared = [c for c in self._sound if c not in self._beaten or self._rounds(c) > 1]
        return decide(self.baseline, compared, self._scores, self.noise, self._margin, share)

    @property
    def _sound(self) -> list[Configuration]:
        """Challengers that were not refused, did not fail, and whose hosts are left."""
        return self._able(c for c in self._rivals if self._failures(c) < FAILURES)

    def _failures(self, configuration: Configuration) -> int:
        return sum(not each.interrupted for each in self._turns.unmeasured[configuration])

    def _able(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Return those that were not refused, and whose hosts are left."""
        right = (c for c in configurations if not self._certification.refused(c))
        return [c for c in right if self._runner.why_impossible(c) is None]

    @property
    def all_out(self) -> bool:
        """Whether there were challengers, and each is wrong or lacks a host."""
        return bool(self._rivals) and all(
            self._certification.refused(c) or self._runner.why_impossible(c) for c in self._rivals
        )

    @property
    def all_refused(self) -> bool:
        """Whether there were challengers, and all of them turned out wrong."""
        return bool(self._rivals) and all(map(self._certification.refused, self._rivals))

    @property
    def baseline(self) -> Configuration:
        """The best single-device finalist; who joined late only if it is clearly better.

        It ran in few rounds with the challengers, and a new baseline throws the others away.
        """
        first = max(self._one_device, key=self._typical)
        late = [c for c, runs in self._scores.items() if len(runs) >= FEWEST and not c.distributed]
        return max([first, *(c for c in late if self._surpasses(c, first))], key=self._typical)

    def _surpasses(self, late: Configuration, first: Configuration) -> bool:
        """Whether a single device is faster than another by more than a standard error."""
        mine, theirs = self._singles[late], self._singles[first]
        return mine.log_score - theirs.log_score > math.hypot(mine.sd, theirs.sd)

    def gain_over(self, configuration: Configuration, other: Configuration) -> Interval | None:
        """Return how many times faster one finalist is than another, if both ran twice."""
        return self._turns.ratio(configuration, other, self.noise)

    def throughput(self, configuration: Configuration) -> Interval | None:
        """Return the examples per second that a finalist will sustain, if it ran at all."""
        rates = [t.examples_per_second for t in self._trials[configuration].values()]
        found = self._rate(configuration, [rate for rate in rates if rate])
        return found and self._unseen(configuration, found)

    def value(self, configuration: Configuration) -> Interval | None:
        """Return the value of the objective that a finalist will sustain, if it ran at all."""
        scorer = self._runner.subject.scorer
        found = [score for t in self._trials[configuration].values() if (score := scorer(t))]
        rate = self._rate(configuration, found)
        if rate and scorer.objective.follows_throughput:
            rate = self._unseen(configuration, rate)
        return rate and scorer.values(rate)

    def _unseen(self, configuration: Configuration, rate: Interval) -> Interval:
        """Return a rate that holds what the runs did not see, as it may be.

        No comparison is widened by it: who reads the same input waits for it alike, and trains on
        examples of the same lengths.
        """
        return sustained(rate, [*self._trials[configuration].values()])

    def _rate(self, configuration: Configuration, rates: list[float]) -> Interval | None:
        noise = self._noise_of(configuration)
        found = gain(configuration, self.baseline, self._scores, self.noise)
        if not configuration.distributed or found is None or len(rates) < FEWEST:
            return mean_rate(rates, noise) if rates else None
        # Whoever is chosen for a gain was lucky on both sides of it.
        rate = joined(list(map(math.log, rates)), noise)
        return rate_of_winner(rate, found, noise.sd**2 / (2 * self.noise.sd**2))

    @property
    def noise(self) -> Noise:
        """Between-run noise of a single device and a challenger, as the root of its mean square."""
        one, many = (self._runner.history.noise_in_finals(distributed=d) for d in (False, True))
        return root_mean_square(one, many)

    def _noise_of(self, configuration: Configuration) -> Noise:
        return self._runner.history.noise_in_finals(distributed=configuration.distributed)

    @property
    def _contenders(self) -> list[Configuration]:
        """Challengers that may still win."""
        return [c for c in self._sound if c not in self._beaten]

    def _running(self, number: int) -> list[Configuration]:
        """Return who takes part in a round: after the deciding look only what is in question."""
        if self._passed:
            rivals = self._doubts(self._passed)[:DEFENDERS]
            return [self._passed, *rivals]
        extra = [self._default] if self._default and number < DEFAULT_ROUNDS else []
        everybody = [*self._one_device, *self._defenders(number), *self._contenders, *extra]
        return list(dict.fromkeys(everybody))

    def _defenders(self, rounds: int) -> list[Configuration]:
        """Return single devices that may be as fast as a challenger that would win now.

        Exploration may have been unlucky with the best of them, and what beats another one need
        not beat that.
        """
        if rounds < FEWEST:
            return []
        leader = decide(self.baseline, self._contenders, self._scores, self.noise, self._margin)
        if leader.verdict is not Verdict.DISTRIBUTE or leader.challenger is None:
            return []
        return self._doubts(leader.challenger)[:DEFENDERS]

    def _typical(self, configuration: Configuration) -> float:
        """Return the log(score) that all runs together let expect of a single device.

        It chooses between single devices, for which any of them is right; no verdict rests on it.
        """
        return self._singles[configuration].log_score

    @property
    def _singles(self) -> Mapping[Configuration, Observed]:
        return self._expectations.measured(distributed=False, finals=True)

    def _affords(self, running: list[Configuration]) -> bool:
        certifying = self._certification.seconds(self._winning())
        return self._turns.affords(running, certifying)

    def _affords_with_held(self, running: list[Configuration]) -> bool:
        """Take what is kept for the profile while somebody leads: a verdict is worth more."""
        return bool(self._winning()) and self._budget.take_held() and self._affords(running)

    def _winning(self) -> list[Configuration]:
        """Who would have to be certified if the finals ended now."""
        if self._passed:
            return [self._passed]
        found = self._decide(LAST_LOOK)
        leads = found.gain is not None and found.gain.value > 1
        return [found.challenger] if found.challenger and leads else []

    def _decided(self, rounds: int) -> bool:
        if rounds > 0 and not self._contenders:
            # Fewer do not show how much runs scatter, by which the challengers were left out.
            enough = DEFAULT_ROUNDS if len(self._one_device) == 1 else SINGLE_ROUNDS
            return rounds >= enough
        if rounds < FEWEST:
            return False
        share = LOOKS.get(rounds, 0.0)
        if (share or self._passed) and self._certify_winner(share):
            return True
        settled = rounds >= max(LOOKS) and not self._passed
        return settled and self._decide(LAST_LOOK).verdict is Verdict.ONE_DEVICE

    def _settle_baseline(self, rounds: int) -> None:
        if rounds == DEFAULT_ROUNDS and self._default:
            single = tuple(dict.fromkeys([*self._one_device, self._default]))
            if max(single, key=self._typical) == self._default:
                # Exploration was lucky with another one: the default is a rival to reckon with.
                self._one_device = single
        if rounds == FEWEST and self._contenders:
            # One baseline from here on: scores of different rounds cannot be compared.
            self._one_device = (self.baseline,)

    def _doubts(self, challenger: Configuration) -> list[Configuration]:
        """Return single devices that a challenger does not surely outdo, the fastest first.

        One run says little by itself; what others like it did, then and in the finals, says more.
        The one at the challenger's global batch is in question though nobody has tried it.
        """
        noise, runs = self._noise_of(challenger), self._logs(challenger)
        # Whoever became the baseline since has not been outdone.
        outdone = self._outdone if challenger == self._passed else self.baseline
        error = noise.sd / math.sqrt(len(runs))
        singles = dict(self._singles)
        if match := self._unknown_match(challenger):
            # No model says what a batch does that is larger than all that were tried.
            singles[match] = Observed(0.0, math.inf)
        highest = {
            single: seen.log_score + seen.sd
            for single, seen in singles.items()
            if single != outdone
            and not significantly_below(
                seen.log_score - fmean(runs),
                math.hypot(seen.sd, error),
                noise,
                wrong=OUTDONE if self._runner.history.scores(single) else LATE_OUTDONE,
            )
        }
        return sorted(highest, key=lambda each: -highest[each])

    def _may_be_a_level(self, challenger: Configuration) -> bool:
        """Return whether all runs of a challenger may have been at the higher of two levels."""
        found = gain(challenger, self.baseline, self._scores, self.noise)
        runs = [self._logs(each) for each in self._rivals]
        alone = self._logs(self.baseline)
        return may_be_a_level(
            found,
            agreeing(runs, self._surprises) + 1,
            mixed=any(map(has_two_levels, runs)),
            singles=0 if has_two_levels(alone) else len(alone),
            challengers=len(self._rivals),
        )

    @cached_property
    def _surprises(self) -> list[float]:
        return self._expectations.surprises(distributed=True)

    def _logs(self, configuration: Configuration) -> list[float]:
        return list(map(math.log, self._scores[configuration].values()))

    def _drop(self) -> None:
        """Let go of challengers that cannot win any more."""
        history, baseline = self._runner.history, self.baseline
        left = (c for c in self._one_device if not history.certainly_beats(baseline, c))
        # Who joined late may beat them all.
        self._one_device = tuple(left) or (baseline,)
        for challenger in self._contenders:
            ratio = self._turns.ratio(challenger, baseline, self.noise, confidence=OUT)
            if self._rounds(challenger) >= FEWEST and ratio and ratio.high < 1:
                self._lost.add(challenger)
        # All runs together: those that made it a challenger speak rather in its favour.
        slower = (
            c for c in self._sound if self._rounds(c) and history.certainly_beats(baseline, c)
        )
        self._beaten = {*self._lost, *slower}

    def _readmit(self) -> None:
        """Take in who was left out as surely slower, where more noise has turned up than that took.

        Nobody is left to be compared, so that the verdict would rest on single runs.
        """
        if self._contenders:
            return
        history, baseline = self._runner.history, self.baseline
        left_out = [c for c in self._expectations.ranked(distributed=True) if c not in self._rivals]
        back = (c for c in left_out if not history.certainly_beats(baseline, c))
        self._rivals = (*self._rivals, *self._able(back))[: len(self._rivals) + CHALLENGERS]

    def _rounds(self, challenger: Configuration) -> int:
        return self._turns.rounds(challenger, self.baseline)
