"""Trains the batches that may pay to the same loss, so that nothing has to be predicted of them.

Configurations of one global batch learn alike from the same examples. So batches are trained and
not configurations, on one device, each time in a process of its own. The loss is set by a training
at the user's own batch. How long a training takes does not count: the time to the loss is that of
the examples it needs, at the speed that trials have shown.
"""

from __future__ import annotations

import math
import random
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

from autotune.config import Configuration
from autotune.engine.base import Engine, Limits
from autotune.engine.tasks.train import trial_request
from autotune.engine.tasks.train_to_loss import TrainingRequest
from autotune.events import Notice, Observer, Preparing
from autotune.learning import (
    Curve,
    Examples,
    Learning,
    Race,
    Raced,
    Trained,
    Unraced,
    examples_to,
    lowest,
    predicted_examples,
    smoothed,
    thinned,
)
from autotune.options import SearchOptions
from autotune.search.costs import STARTING, expected_first_call
from autotune.search.history import SHOWN, History
from autotune.search.request import Subject
from autotune.stats import Noise, pooled_noise
from autotune.stats.intervals import around, t_quantile
from autotune.strategies import update_batch
from autotune.workload import WorkloadFacts

SHARE = 0.35
"""Of the budget, what the trainings may take."""
LEAST = 2.0
"""Seconds of a training at the user's own batch: with less, no loss is reached that matters."""
RIVALS = 3
"""Batches at most that are trained beside the user's own."""
FEWEST, WANTED, MOST = 2, 3, 6
"""Seeds: for an interval at all, for which the time is divided, and at most."""
EARLY = 0.99
"""Confidence with which a batch pays, or does not, that is trained no more: each seed is a look."""
GIVEN_UP = 1.5
"""Times the examples with which a batch would break even, after which a training has lost."""
AGAIN = 2.0
"""Times the examples of the first training at the user's own batch, for those from other seeds."""
EPOCHS = 4
"""Of the first training, where no budget bounds it."""
MOST_EPOCHS = 20
"""Of it in any case: nobody asks how soon an easy loss becomes absurdly small."""
SCATTER = Noise(sd=0.15, degrees=2.0)
"""Expected of log(examples) between seeds, and how many of them that is worth; 0.04 to 0.11 were
seen of small models, and two seeds alone would say next to nothing."""
LOOKS = 40
"""At the loss, in the first training; of any, those that are kept to be drawn."""
SLOWER = 1.5
"""Times as long as its steps in trials a training may take: it sorts out examples and looks."""
NEVER = math.exp(300)
"""As good as infinitely many examples."""


def reserved_seconds(
    options: SearchOptions, facts: WorkloadFacts, left: float | None = None
) -> float:
    """Return the seconds that are kept for the trainings; 0 where they do not do.

    Args:
        options: Hold the budget.
        facts: What is trained.
        left: Of the budget, once the search was prepared; None takes all of it.
    """
    if not options.prove or options.budget is None:
        return 0.0
    seconds = options.budget if left is None else left
    return SHARE * seconds if seconds >= least_budget(facts) else 0.0


def least_budget(facts: WorkloadFacts) -> float:
    """Return the budget with which two batches can be trained from several seeds."""
    one = starting_seconds(facts) + SLOWER * LEAST
    return WANTED * (one + starting_seconds(facts) + SLOWER * GIVEN_UP * LEAST) / SHARE


def starting_seconds(facts: WorkloadFacts) -> float:
    """Return what a training takes beside its steps: it compiles these, and the look at a loss."""
    return STARTING + facts.calling_seconds + 2 * expected_first_call(facts)


@dataclass(frozen=True, kw_only=True)
class Rival:
    """A batch that may pay, or the user's own."""

    configuration: Configuration
    """One device with it."""
    rate: float
    """The most examples per second that were measured with it."""
    faster: float = 1.0
    """As a multiple of that of the user's own batch."""


@dataclass
class _Lane:
    """What the trainings of a rival have shown."""

    rival: Rival
    ratios: list[float] = field(default_factory=list)
    unreached: int = 0
    failed: bool = False

    @property
    def open(self) -> bool:
        """Whether another seed may tell more."""
        if self.failed or len(self.ratios) < FEWEST:
            return not self.failed
        needed = self._needed(EARLY)
        return needed.low <= self.rival.faster <= needed.high

    def note(self, curve: Curve, loss: float, base: float, most: float) -> None:
        """Take in a training.

        Args:
            curve: How its loss fell.
            loss: That was to be reached.
            base: Examples to it at the user's own batch, from the same seed.
            most: Examples after which it was given up.
        """
        if curve.refused is Unraced.NO_TIME:
            return
        self.failed |= curve.refused is not None
        reached = examples_to(curve.looks, loss)
        self.ratios.append((reached or most) / base)
        self.unreached += reached is None

    def raced(self) -> Raced | None:
        """Return what they say; None if there were too few."""
        if self.failed or len(self.ratios) < FEWEST:
            return None
        return Raced(
            batch=self.rival.configuration.global_batch,
            needed=self._needed(0.95),
            ratios=tuple(self.ratios),
            unreached=self.unreached,
        )

    def _needed(self, confidence: float) -> Examples:
        logs = [math.log(each) for each in self.ratios]
        noise = pooled_noise([logs], SCATTER)
        reach = t_quantile(noise.degrees, (1 + confidence) / 2)
        found = around(fmean(logs), reach * noise.sd / math.sqrt(len(logs)))
        high = NEVER if self.unreached else found.high
        return Examples(found.low, found.value, high)


class Prover:
    """Trains the batches that may pay.

    Args:
        engine: Makes the trainings.
        subject: What is trained where, and what is known of it.
        observer: Is told of each.
        folder: Holds a folder for each.
        left: Tells the seconds that they may still take; infinite without a budget.
        options: Hold the seed of the order.
    """

    def __init__(
        self,
        engine: Engine,
        subject: Subject,
        observer: Observer,
        *,
        folder: Path,
        left: Callable[[], float],
        options: SearchOptions,
    ) -> None:
        self._engine = engine
        self._subject = subject
        self._observer = observer
        self._folder = folder
        self._left = left
        self._budgeted = options.budget is not None
        self._random = random.Random(options.seed)  # noqa: S311 - an order of runs, no secret
        self._seconds: list[float] = []
        self._trained: list[Trained] = []

    def run(self, learning: Learning, default: Configuration, history: History) -> Race:
        """Return what the trainings have shown, or why there were none.

        Args:
            learning: What is known of other batches.
            default: One device with the user's own batch.
            history: What was measured.
        """
        began = self._engine.now()
        refused = why_not(self._subject.facts)
        own, rivals = contestants(learning, default, history)
        if refused is None and not rivals:
            refused = Unraced.NO_RIVAL
        race = Race(refused=refused) if refused else self._race(own, rivals)
        return race.model_copy(update={"seconds": self._engine.now() - began})

    def _race(self, own: Rival, rivals: list[Rival]) -> Race:
        starting = starting_seconds(self._subject.facts)
        rivals = self._affordable(rivals, starting)
        share = self._left() / WANTED - (1 + len(rivals)) * starting
        seconds = share / (SLOWER * (1 + GIVEN_UP * len(rivals)))
        if not rivals or seconds < LEAST:
            return Race(refused=Unraced.NO_TIME)
        self._folder.mkdir(parents=True, exist_ok=True)
        first = self._first(own, seconds)
        loss = lowest(first.looks)
        if first.refused or loss is None:
            return Race(refused=first.refused or Unraced.FAILED)
        lanes = [_Lane(each) for each in rivals]
        self._run_seeds(own, lanes, first, loss)
        raced = [each for lane in lanes if (each := lane.raced())]
        if not raced:
            return Race(refused=Unraced.NO_TIME)
        raced.sort(key=lambda each: each.batch)
        return Race(
            loss=loss,
            held_out=first.held_out,
            validates=self._subject.facts.validates,
            raced=tuple(raced),
            trainings=tuple(self._trained),
        )

    def _affordable(self, rivals: list[Rival], starting: float) -> list[Rival]:
        """Return as many as can be trained from several seeds for long enough."""
        most = self._left() / WANTED - starting - SLOWER * LEAST
        count = most / (starting + SLOWER * GIVEN_UP * LEAST)
        return rivals[: int(max(min(count, RIVALS), 0))]

    def _first(self, own: Rival, seconds: float) -> Curve:
        """Train at the user's own batch, as long as its share of the time allows."""
        examples, one = self._subject.facts.examples or 0, own.configuration
        if not self._budgeted:
            most = EPOCHS * examples
            return self._train(one, 0, look=most / LOOKS, most=most)
        most = max(MOST_EPOCHS * examples, one.global_batch * LOOKS)
        expected = min(max(own.rate * seconds, one.global_batch * LOOKS), most)
        return self._train(one, 0, look=expected / LOOKS, most=most, seconds=seconds)

    def _run_seeds(self, own: Rival, lanes: list[_Lane], first: Curve, loss: float) -> None:
        """Train from one seed after the other until all is decided, or time is up."""
        whole = examples_to(first.looks, loss) or first.looks[-1].examples
        look = first.looks[0].examples
        for seed in range(MOST if self._budgeted else WANTED):
            running = [lane for lane in lanes if lane.open]
            if not running or not self._affords(running):
                return
            curves = {own: first} if seed == 0 else {}
            entered = [own, *(lane.rival for lane in running)]
            for each in self._random.sample(entered, len(entered)):
                if each not in curves:
                    most = self._most(each, own, whole)
                    curves[each] = self._train(
                        each.configuration, seed, look=look, most=most, loss=loss
                    )
            self._trained += [_trained(each, seed, curves[each], loss) for each in entered]
            base = examples_to(curves[own].looks, loss)
            for lane in running if base else ():
                lane.note(curves[lane.rival], loss, base or 1.0, self._most(lane.rival, own, whole))

    def _most(self, each: Rival, own: Rival, whole: float) -> float:
        """Return the examples after which a training is given up."""
        return max(AGAIN if each == own else GIVEN_UP * each.faster, 1.0) * whole

    def _affords(self, running: list[_Lane]) -> bool:
        """Return whether there is time for another seed, by what the latest took."""
        if len(self._seconds) == 1:
            return True  # The first one was made for a share of the time.
        return self._left() >= max(self._seconds[-len(running) - 1 :]) * (len(running) + 1)

    def _train(
        self,
        configuration: Configuration,
        seed: int,
        *,
        look: float,
        most: float,
        loss: float | None = None,
        seconds: float | None = None,
    ) -> Curve:
        batch, subject = configuration.global_batch, self._subject
        what = f"Training to a held-out loss at a batch of {batch}, seed {seed}"
        self._observer(Preparing(what=what))
        trial = trial_request(
            configuration,
            subject.workload,
            subject.facts,
            subject.machine,
            Path(tempfile.mkdtemp(prefix="proof-", dir=self._folder), "run"),
            seed=seed,
            limits=Limits(whole=max(self._left(), LEAST)),
        )
        request = TrainingRequest(
            trial=trial,
            examples=subject.facts.examples or 0,
            validates=subject.facts.validates,
            look=max(round(look), 1),
            most=round(most),
            loss=loss,
            seconds=seconds,
        )
        began = self._engine.now()
        curve = self._engine.execute(request)
        self._seconds.append(self._engine.now() - began)
        if curve.detail:
            self._observer(Notice(text=f"{what}: {curve.detail}"))
        return curve


def _trained(rival: Rival, seed: int, curve: Curve, loss: float) -> Trained:
    """Return what is kept of a training."""
    return Trained(
        batch=rival.configuration.global_batch,
        seed=seed,
        reached=examples_to(curve.looks, loss),
        looks=thinned(smoothed(curve.looks), LOOKS),
    )


def why_not(facts: WorkloadFacts) -> Unraced | None:
    """Return why there are no examples to look at that no training sees; None where there are."""
    if not facts.examples:
        return Unraced.UNCOUNTED
    if facts.validates:
        return None
    if facts.first_pass and facts.first_pass.lengths:
        return Unraced.PADDED
    return None if facts.same_examples else Unraced.CHANGING


def contestants(
    learning: Learning, default: Configuration, history: History
) -> tuple[Rival, list[Rival]]:
    """Return the user's own batch and those that may pay, which promise most first.

    Args:
        learning: What is known of other batches.
        default: One device with the user's own.
        history: What was measured.
    """
    fastest = _fastest(history)
    base = fastest.pop(learning.batch, None)
    own = Rival(configuration=_on_one_device(default, history), rate=base or 0.0)
    found: dict[Rival, float] = {}
    for batch, rate in fastest.items() if base else ():
        predicted = predicted_examples(learning, batch)
        # Where nothing is predicted of it, it may need as many examples as the user's own.
        needed = predicted.examples if predicted else Examples(1.0, 1.0, NEVER)
        faster = rate / (base or rate)
        if faster > needed.low:
            one = _on_one_device(default.with_global_batch(batch), history)
            found[Rival(configuration=one, rate=rate, faster=faster)] = faster / needed.value
    return own, sorted(found, key=lambda each: -found[each])


def _fastest(history: History) -> dict[int, float]:
    """Return the most examples per second that were seen at each global batch."""
    rates: dict[int, float] = {}
    for trial in history.trials:
        batch, rate = update_batch(trial.configuration), trial.examples_per_second
        if trial.outcome in SHOWN and rate:
            rates[batch] = max(rates.get(batch, 0.0), rate)
    return rates


def _on_one_device(plain: Configuration, history: History) -> Configuration:
    """Return the fastest single device with a batch that was measured, or else a plain one."""
    ranked = history.ranked(distributed=False)
    return next((c for c in ranked if c.global_batch == plain.global_batch), plain)


def optimistic(learning: Learning) -> Learning:
    """Return what is known, for a search that goes before the trainings."""
    return learning.model_copy(update={"proving": True})
