"""The finals: the best few measured again, in fresh processes that take turns.

Only these runs can say "distribute". The measurements that selected the finalists are not reused
for that, because the best of many noisy figures is too high. They do count against a challenger,
and between single devices.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean, median

from autotune.certify import family
from autotune.certify.certificate import Certificate
from autotune.config import Configuration
from autotune.measure import Interval, Noise, mean_rate, paired_ratio, shared_rounds, surely_below
from autotune.result import Verdict
from autotune.result.verdict import Decision
from autotune.run.engine import Outcome
from autotune.search.history import History, Observed
from autotune.search.runner import Runner
from autotune.search.stopping import Budget
from autotune.search.verdict import (
    FEWEST,
    LAST_LOOK,
    LOOKS,
    decide,
)
from autotune.trial import Stage, Trial

CHALLENGERS = 2
"""Distributed finalists at most."""
SINGLES = 3
"""Single-device finalists at most."""
SINGLE_ROUNDS = 6
"""Rounds in which they are told apart, once no challenger is left."""
DEFAULT_ROUNDS = 2
"""Rounds in which the default takes part, to say what tuning gained; it stays if it leads."""
ENOUGH_ROUNDS = 8
"""Rounds that should fit, or there are too many finalists for the time: a gain of 7 % at 4 % noise
is told apart after so many."""
MAX_ROUNDS = 12
"""Beyond these, more rounds would tell apart only what does not matter."""
OUT = 0.99
"""Confidence with which a challenger must be slower to drop out."""
SURE = 3.5
"""Standard errors by which two rates have to differ before the finals can tell them apart."""
DEFENDERS = 2
"""Single devices that may join at a time, because they could be as fast as who is about to win."""
OUTDONE = 0.02
"""How often a single device may be taken for slower than that one though it is not."""
FAILURES = 2
"""A challenger that fails so often in the finals is out."""
REFERENCE_RUNS = 2.0
"""Trials of one device that its part of a certification is worth, at most."""


@dataclass(frozen=True, kw_only=True)
class Finalists:
    """Who takes part."""

    one_device: tuple[Configuration, ...]
    """The best single-device configuration and others that may be as good."""
    challengers: tuple[Configuration, ...]
    default: Configuration | None
    """What Keras does by itself, to say what tuning gained; None if it could not be measured."""

    @property
    def all(self) -> tuple[Configuration, ...]:
        """Each once."""
        last = [self.default] if self.default else []
        return tuple(dict.fromkeys([*self.one_device, *self.challengers, *last]))


def choose_finalists(
    history: History,
    one_device: Sequence[Configuration],
    distributed: Sequence[Configuration],
    default: Configuration,
) -> Finalists:
    """Return the finalists: who is not certainly slower than the best.

    Args:
        history: What was measured.
        one_device: Single-device configurations, the most promising first; at least one.
        distributed: Distributed ones, likewise.
        default: What Keras does by itself.
    """
    best = history.estimate(one_device[0])
    close = best.value / (1 + history.noise.sd)
    others = [c for c in one_device[1:SINGLES] if history.estimate(c).value > close]
    rivals = history.not_surely_slower(distributed)
    return Finalists(
        one_device=(one_device[0], *others),
        challengers=tuple(rivals[:CHALLENGERS]),
        default=default if history.scores(default) else None,
    )


def fitting(finalists: Finalists, history: History, left: float) -> Finalists:
    """Return as many of the finalists as can run often enough in the time that is left.

    A decision between two is worth more than two looks at five: the second challenger goes first,
    then the other single devices one by one, then the default. Without a challenger there is
    nothing to decide, and the single devices are told apart for as long as the time lasts.
    """
    if not finalists.challengers:
        return finalists
    one = replace(finalists, challengers=finalists.challengers[:1])
    fewer = [replace(one, one_device=one.one_device[:n]) for n in range(len(one.one_device), 0, -1)]
    smaller = [finalists, *fewer, replace(fewer[-1], default=None)]
    for each in smaller:
        if _seconds(history, each, ENOUGH_ROUNDS) <= left:
            return each
    return smaller[-1]


def finals_seconds(history: History, finalists: Finalists) -> float:
    """Return the wall time that a decision is expected to take."""
    needed = [_rounds(history, finalists, c) for c in finalists.challengers]
    rounds = max(needed, default=DEFAULT_ROUNDS)
    return _seconds(history, replace(finalists, one_device=finalists.one_device[:1]), rounds)


def _rounds(history: History, finalists: Finalists, challenger: Configuration) -> int:
    """Return how many rounds it should take to see on which side of the baseline one lies."""
    best = history.estimate(finalists.one_device[0]).value
    if not history.scores(challenger):
        return FEWEST
    gap = math.log(history.estimate(challenger).value / best)
    noise = SURE * math.sqrt(2) * history.noise.sd
    needed = math.ceil((noise / max(abs(gap), 1e-9)) ** 2)
    # The time for more looks at one that seems slower is better spent on finding a faster one.
    return min(max(needed, FEWEST), max(LOOKS)) if gap > 0 else min(needed, FEWEST)


def _seconds(history: History, finalists: Finalists, rounds: int) -> float:
    costs = history.costs
    default = costs.seconds(finalists.default) if finalists.default else 0.0
    # A second single device leaves when the baseline is settled.
    second = costs.total(finalists.one_device[1:])
    arms = [*finalists.one_device[:1], *finalists.challengers]
    return rounds * costs.total(arms) + min(rounds, FEWEST) * second + DEFAULT_ROUNDS * default


class Certification:
    """Certifies what is about to win, and remembers it.

    Args:
        runner: Makes the runs; what its history holds as wrong is not tried again.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self._certificates: dict[Configuration, Certificate | None] = {}

    def certify(self, configuration: Configuration) -> bool:
        """Return whether a configuration may win, and look into it if nobody has."""
        if self.is_open(configuration):
            self._certificates[family(configuration)] = self._runner.certify(configuration)
        return self.passed(configuration)

    def is_open(self, configuration: Configuration) -> bool:
        """Whether nobody has looked into it."""
        return family(configuration) not in self._certificates and not self.refused(configuration)

    def passed(self, configuration: Configuration) -> bool:
        """Whether it was looked into and may win."""
        certificate = self.of(configuration)
        return certificate is not None and not certificate.failures

    def refused(self, configuration: Configuration) -> bool:
        """Whether it may not win, by what was found now or in an earlier session."""
        return family(configuration) in self._wrong

    def of(self, configuration: Configuration) -> Certificate | None:
        """Return what was found."""
        return self._certificates.get(family(configuration))

    def seconds(self, configurations: Iterable[Configuration]) -> float:
        """Return the time that certifying some configurations is expected to take."""
        history = self._runner.history
        found = {family(each): each for each in configurations if self.is_open(each)}
        baseline = history.baseline
        if baseline is None:
            return 0.0
        costs = history.costs
        extra = REFERENCE_RUNS * costs.seconds(baseline)
        return sum(costs.seconds(each) + extra for each in found.values())

    @property
    def _wrong(self) -> set[Configuration]:
        trials = self._runner.history.trials
        return {family(t.configuration) for t in trials if t.outcome is Outcome.REJECTED}


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
