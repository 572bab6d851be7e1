"""The finals: the best few measured again, in fresh processes that take turns.

Only these runs can say "distribute". The measurements that selected the finalists are not reused
for that, because the best of many noisy figures is too high. They do count against a challenger,
and between single devices.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping
from statistics import fmean, median

from autotune.config import Configuration
from autotune.measure import Interval, Noise, mean_rate, paired_ratio, shared_rounds, surely_below
from autotune.result import Verdict
from autotune.result.verdict import Decision
from autotune.search.certification import Certification
from autotune.search.finalists import DEFAULT_ROUNDS, Finalists
from autotune.search.history import Observed
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.verdict import (
    FEWEST,
    LAST_LOOK,
    LOOKS,
    decide,
)
from autotune.trial import Stage, Trial

SINGLE_ROUNDS = 6
"""Rounds in which they are told apart, once no challenger is left."""
MAX_ROUNDS = 12
"""Beyond these, more rounds would tell apart only what does not matter."""
OUT = 0.99
"""Confidence with which a challenger must be slower to drop out."""
DEFENDERS = 2
"""Single devices that may join at a time, because they could be as fast as who is about to win."""
OUTDONE = 0.02
"""How often a single device may be taken for slower than that one though it is not."""
FAILURES = 2
"""A challenger that fails so often in the finals is out."""


class Finals:
    """Runs the finals round by round until they have decided.

    Args:
        runner: Makes the runs.
        budget: Bounds them.
        finalists: Who takes part.
        certification: Says who may win.
        expected: What exploration lets expect of the single devices.
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
        expected: Mapping[Configuration, Observed],
        margin: float,
        seed: int,
    ) -> None:
        self._expected = expected
        self._runner = runner
        self._budget = budget
        self._certification = certification
        self._margin = margin
        self._random = random.Random(seed)  # noqa: S311 - an order of runs, no secret
        self._scores: dict[Configuration, dict[int, float]] = defaultdict(dict)
        self._trials: dict[Configuration, list[Trial]] = defaultdict(list)
        self._failures: Counter[Configuration] = Counter()
        self._one_device = finalists.one_device
        self._default = finalists.default
        self._rivals = finalists.challengers
        self._beaten: set[Configuration] = set()
        self._defenders: tuple[Configuration, ...] = ()

    def run(self) -> None:
        """Make rounds until they decide, or time or rounds run out."""
        for number in range(MAX_ROUNDS):
            running = self._running(number)
            if self._decided(number) or not self._affords(running):
                break
            for configuration in self._random.sample(running, len(running)):
                self._note(self._runner.run(configuration, Stage.FINAL, turn=number), number)
            self._settle_baseline(number + 1)
            self._drop()
            self._defend(number + 1)
        self._certify_winner(LAST_LOOK)

    def decision(self) -> Decision:
        """Return what the rounds so far allow to say."""
        decision = self._look(LAST_LOOK)
        if decision.verdict is not Verdict.DISTRIBUTE or self._is_certified(decision.challenger):
            return decision
        # Interrupted before anybody could look into it.
        return decision.model_copy(update={"verdict": Verdict.UNDECIDED, "certified": False})

    def _certify_winner(self, share: float) -> bool:
        """Return whether somebody wins who may; who may not is out, and the next one is asked."""
        while (found := self._look(share)).verdict is Verdict.DISTRIBUTE and found.challenger:
            if self._certification.certify(found.challenger):
                return True
            if not self._certification.refused(found.challenger):
                return False  # There was no time to look.
        return False

    def _is_certified(self, configuration: Configuration | None) -> bool:
        return configuration is not None and self._certification.passed(configuration)

    def _look(self, share: float) -> Decision:
        """Return the decision, whoever is certified.

        Args:
            share: Of the false rate, what this look may spend.
        """
        if self.all_refused:
            return Decision(verdict=Verdict.ONE_DEVICE)
        right = [c for c in self._rivals if not self._certification.refused(c)]
        sound = [c for c in right if self._failures[c] < FAILURES]
        if self._rivals and not sound:
            return Decision(verdict=Verdict.UNDECIDED)
        # Who lost too early to be compared round by round has lost all the same.
        compared = [c for c in sound if c not in self._beaten or self._rounds(c) > 1]
        found = decide(self.baseline, compared, self._scores, self._noise, self._margin, share)
        if found.verdict is Verdict.DISTRIBUTE and (rivals := self._doubts(found.challenger)):
            return found.model_copy(update={"verdict": Verdict.UNDECIDED, "rival": rivals[0]})
        return found

    @property
    def all_refused(self) -> bool:
        """Whether there were challengers, and all of them turned out wrong."""
        return bool(self._rivals) and all(map(self._certification.refused, self._rivals))

    @property
    def baseline(self) -> Configuration:
        """The best single-device finalist; who joined late counts from enough rounds on."""
        late = [c for c in self._defenders if len(self._scores[c]) >= FEWEST]
        return max([*self._one_device, *late], key=self._typical)

    def gain_over(self, configuration: Configuration, other: Configuration) -> Interval | None:
        """Return how many times faster one finalist is than another, if both ran twice."""
        mine, theirs = shared_rounds(configuration, other, self._scores)
        return paired_ratio(mine, theirs, self._noise) if len(mine) > 1 else None

    def throughput(self, configuration: Configuration) -> Interval | None:
        """Return the examples per second that a finalist will sustain, if it ran at all."""
        rates = [t.examples_per_second for t in self._trials[configuration]]
        return mean_rate([rate for rate in rates if rate], self._noise) if rates else None

    def value(self, configuration: Configuration) -> Interval | None:
        """Return the value of the objective that a finalist will sustain, if it ran at all."""
        scorer = self._runner.subject.scorer
        found = [score for t in self._trials[configuration] if (score := scorer(t))]
        return scorer.values(mean_rate(found, self._noise)) if found else None

    @property
    def _noise(self) -> Noise:
        return self._runner.history.noise

    @property
    def _contenders(self) -> list[Configuration]:
        """Challengers that may still win."""
        out = {c for c, count in self._failures.items() if count >= FAILURES}
        out |= {c for c in self._rivals if self._certification.refused(c)}
        return [c for c in self._rivals if c not in self._beaten | out]

    def _running(self, number: int) -> list[Configuration]:
        extra = [self._default] if self._default and number < DEFAULT_ROUNDS else []
        everybody = [*self._one_device, *self._defenders, *self._contenders, *extra]
        return list(dict.fromkeys(everybody))

    def _note(self, trial: Trial, number: int) -> None:
        score = self._runner.subject.scorer(trial)
        if trial.measured and score:
            self._scores[trial.configuration][number] = score
            self._trials[trial.configuration].append(trial)
        else:
            self._failures[trial.configuration] += 1

    def _typical(self, configuration: Configuration) -> float:
        """Return a finalist's median log(score), its exploration counted as one run.

        It chooses between single devices, for which any of them is right; no verdict rests on it.
        """
        explored = map(math.log, self._runner.history.scores(configuration))
        return median([fmean(explored), *map(math.log, self._scores[configuration].values())])

    def _affords(self, running: list[Configuration]) -> bool:
        certifying = self._certification.seconds(self._winning())
        costs = self._runner.history.costs.total(running)
        return self._budget.left >= costs + certifying

    def _winning(self) -> list[Configuration]:
        """Who would have to be certified if the finals ended now."""
        found = self._look(LAST_LOOK)
        leads = found.gain is not None and found.gain.value > 1
        return [found.challenger] if found.challenger and leads else []

    def _decided(self, rounds: int) -> bool:
        if rounds > 0 and not self._contenders:
            compared = rounds >= DEFAULT_ROUNDS or self._default in self._one_device
            return compared and (len(self._one_device) == 1 or rounds >= SINGLE_ROUNDS)
        if rounds < FEWEST:
            return False
        look = LOOKS.get(rounds)
        if look is not None and self._certify_winner(look):
            return True
        return rounds >= max(LOOKS) and self._look(look or LAST_LOOK).verdict is Verdict.ONE_DEVICE

    def _settle_baseline(self, rounds: int) -> None:
        if rounds == DEFAULT_ROUNDS and self._default:
            single = tuple(dict.fromkeys([*self._one_device, self._default]))
            if max(single, key=self._typical) == self._default:
                # Exploration was lucky with another one: the default is a rival to reckon with.
                self._one_device = single
        if rounds == FEWEST and self._contenders:
            # One baseline from here on: scores of different rounds cannot be compared.
            self._one_device = (self.baseline,)

    def _defend(self, rounds: int) -> None:
        """Let single devices join that may be as fast as a challenger that would win.

        Exploration may have been unlucky with the best of them, and what beats another one need
        not beat that.
        """
        if rounds < FEWEST:
            return
        leader = decide(self.baseline, self._contenders, self._scores, self._noise, self._margin)
        if leader.verdict is Verdict.DISTRIBUTE:
            self._defenders = tuple(self._doubts(leader.challenger)[:DEFENDERS])

    def _doubts(self, challenger: Configuration | None) -> list[Configuration]:
        """Return single devices that a challenger does not surely outdo, the fastest first."""
        return [
            each
            for each in self._expected
            if each != self.baseline and challenger and not self._outdoes(challenger, each)
        ]

    def _outdoes(self, challenger: Configuration, single: Configuration) -> bool:
        """Return whether a challenger is surely faster than a single device, by what is known."""
        history = self._runner.history
        if self._scores[single]:
            return history.certainly_beats(challenger, single, wrong=OUTDONE)
        # One exploring run says little by itself; what the others of its like did says more.
        expected, runs = self._expected[single], self._scores[challenger].values()
        gap = expected.log_score - fmean(map(math.log, runs))
        error = math.hypot(expected.sd, history.noise.sd / math.sqrt(len(runs)))
        return surely_below(gap, error, history.noise, wrong=OUTDONE)

    def _drop(self) -> None:
        """Let go of challengers that cannot win any more."""
        history, baseline = self._runner.history, self.baseline
        self._one_device = tuple(
            c for c in self._one_device if not history.certainly_beats(baseline, c)
        )
        for challenger in self._contenders:
            mine, theirs = shared_rounds(challenger, baseline, self._scores)
            beaten = len(mine) >= FEWEST and self._ratio(mine, theirs).high < 1
            # All runs together: those that made it a challenger speak rather in its favour.
            if beaten or (mine and history.certainly_beats(baseline, challenger)):
                self._beaten.add(challenger)

    def _ratio(self, mine: list[float], theirs: list[float]) -> Interval:
        return paired_ratio(mine, theirs, self._noise, confidence=OUT)

    def _rounds(self, challenger: Configuration) -> int:
        return len(shared_rounds(challenger, self.baseline, self._scores)[0])
