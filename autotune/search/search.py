"""The search: one loop that makes the run which saves most training, until none pays any more."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np
from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler, RandomSampler

from autotune.answer import Answer, Ended, Further
from autotune.axis import AxisRole
from autotune.config import Configuration, axes_of
from autotune.engine.resolve import uninterrupted
from autotune.errors import Interrupted
from autotune.options import SearchOptions
from autotune.reason import Outcome
from autotune.search.answering import Answering, Evidence
from autotune.search.failures import HOPELESS, chances, nothing_measured
from autotune.search.kernel import Matrix
from autotune.search.learner import Learner
from autotune.search.posterior import WALKERS
from autotune.search.runner import Certification, Runner
from autotune.search.savings import BESIDE, Choice, Prospects, choices
from autotune.search.setup import nearest_first, own_default
from autotune.search.stopping import (
    INTERRUPTIONS,
    Interruption,
    Reference,
    SlowerThanOneDevice,
    interruption,
)
from autotune.space import Candidates
from autotune.stats.intervals import EXPECTED
from autotune.strategies import weighed_batch
from autotune.trial import Stage
from autotune.workload import own_rate

HYPOTHESES = 16
"""Walkers by which runs are weighed; all of them tell the answer, and whether a search ends."""
DRAWS = 4000
MEASURED, WANTED = 8, 30
"""Configurations of each kind that are weighed: the best that ran, and the most hopeful."""
SAME = 0.01
"""Share of the training time within which the smaller change of the own settings is recommended."""


class Step(NamedTuple):
    """What a search does next."""

    what: Literal["run", "certify", "inspect"]
    """The gradients are inspected before the first run with another batch."""
    configuration: Configuration
    saves: float
    """Seconds of training that it is expected to save; device seconds where these are paid for."""
    takes: float
    """Seconds, with all that it makes necessary, in the same unit."""
    precision: float = EXPECTED.sd / 2
    """Standard error within the run that is small beside what is not known."""

    @property
    def rate(self) -> float:
        return self.saves / self.takes


class Search:
    """One search over one space, with its own sampler and pruner where no others are given.

    Where another batch than the own one may only run after an inspection of gradients, that takes
    `inspection` seconds; 0 where none is needed.
    """

    def __init__(
        self,
        runner: Runner,
        candidates: Candidates,
        options: SearchOptions,
        *,
        inspection: float = 0.0,
        sampler: BaseSampler | None = None,
        pruner: BasePruner | None = None,
    ) -> None:
        self.candidates = candidates
        self.runner, self._options, self._inspection = runner, options, inspection
        self._history, self._budget = runner.history, runner.budget
        self._singles = candidates.one_device
        self._default = own_default(self._singles, runner.subject.facts, options)
        scorer, rate = runner.subject.scorer, own_rate(runner.subject.facts)
        pool = candidates.configurations
        machine = runner.subject.machine
        shares = len(machine.hosts) == 1 and not (machine.gpus or machine.tpus)
        self._learner = Learner(
            runner.history, pool, (self._default, rate), scorer.log_offset, shares_cores=shares
        )
        self.certification = Certification(runner)
        margin = math.log1p(options.margin)
        self._answering = Answering(runner=runner, candidates=candidates, margin=margin)
        self._earlier = len(runner.history.trials)
        self._reference: Reference | None = None
        self._own_sampler = sampler is None
        self._ended: Ended | None = None
        self._further: Further | None = None
        self.cut: Interruption | None = None
        """What interrupted the search; None where nothing did."""
        self.until: Callable[[Answer], bool] | None = None
        """Tells whether an answer is clear. Until then all candidates run in turn, whatever they
        save; None where the rule decides."""
        runner.answer = self.answer
        runner.study.use(
            sampler or RandomSampler(),
            pruner or SlowerThanOneDevice(lambda: self._reference),
        )

    # --- the loop

    def run(self) -> bool:
        """Run what pays, until nothing does or a limit is reached.

        Ctrl-C, or a disk that takes no more, ends it early.

        Returns:
            Whether the gradients have to be inspected before it can go on.
        """
        try:
            while (step := self._repeated() if self.until else self.next()) is not None:
                if step.what == "inspect":
                    return True
                self._make(step)
        except INTERRUPTIONS as exc:
            self.cut = interruption(exc)
        return False

    def end(self, cut: Interruption | None = None) -> Answer:
        """Return the last answer; something else may have been interrupted.

        Raises:
            NothingMeasured: All that ran on one device failed.
            Interrupted: Stopped before anything was measured.
            OSError: The disk took no more before anything was measured.
        """
        self.cut = self.cut or cut
        with uninterrupted() as came:
            if self.cut is not None:
                self._ended = Ended.INTERRUPTED
            nothing = self._history.baseline is None
            found = None if nothing and (self.cut or self._failed) else self.answer(self._ended)
        if came and self.cut is None:
            self.cut = KeyboardInterrupt()
            found = found and found.model_copy(update={"ended": Ended.INTERRUPTED})
        if found is not None:
            return found
        if self.cut is None:
            trials = self._history.trials
            raise nothing_measured(trials, self._earlier, self._budget.elapsed)
        if isinstance(self.cut, OSError):
            raise self.cut
        raise Interrupted("Interrupted before anything was measured.")

    def _make(self, step: Step) -> None:
        if step.what == "certify":
            self.certification.certify(step.configuration)
            return
        again = bool(self._history.scores(step.configuration))
        first = Stage.EXPLORE if step.configuration.distributed else Stage.BASELINE
        stage = Stage.REPEAT if again else first
        self.runner.run(step.configuration, stage, prunes=not again, precision=step.precision)

    def next(self) -> Step | None:
        """Return what saves most for its seconds; None where nothing pays, or at a limit."""
        if self._failed >= HOPELESS:
            return None
        if (forced := self._forced()) is not None:
            return self._within(Step("run", forced, math.inf, self._takes(forced)))
        now = self.prospects(HYPOTHESES)
        self._note_reference(now)
        steps = sorted(self._steps(now), key=lambda step: step.rate, reverse=True)
        best = next(iter(steps), None)
        if self._own_sampler and best and best.rate <= 1:
            best = self._by_all_walkers(steps)
        if failure := self.runner.study.failure:
            self.runner.notify(f"The search ends early: {failure}.")
            self._ended, self._further = Ended.FAILED, self._going_on(best)
            return None
        if best and best.rate > 1:
            return self._within(self._own_first(best))
        if (missing := self._unmeasured(now)) is not None:
            return Step("run", missing, 0.0, self._takes(missing))
        self._ended, self._further = Ended.PAID, self._going_on(best)
        return None

    def _repeated(self) -> Step | None:
        """Return a run of the candidate with the fewest runs; None where the answer is clear."""
        history, pool = self._history, self._learner.pool
        runs = Counter(t.configuration for t in history.trials)
        least = min(pool, key=lambda each: (len(history.scores(each)), runs[each]))
        clear = all(map(runs.get, pool)) and self.until and self.until(self.answer())
        if clear or self._failed >= HOPELESS or least in history.ruled_out:
            return None
        return self._within(Step("run", least, 0.0, self._takes(least)))

    def _own_first(self, best: Step) -> Step:
        """Return a run of the own settings where they did not run: every ratio hangs on them."""
        own = self._default
        if own in self._history.tried or not self._may_run(own):
            return best
        return Step("run", own, best.saves, best.takes)

    def _steps(self, now: Prospects) -> list[Step]:
        """Return what may come next; of what did not run, another sampler's proposal alone."""
        found = [self._step(now, each) for each in choices(now)]
        if self._own_sampler:
            return found
        ran = {now.configurations[k] for k in map(int, np.flatnonzero(now.runs))}
        known = [each for each in found if each.configuration in ran]
        offered = self.runner.study.proposal(lambda each: self._step_with(each) is None)
        step = self._step_with(offered) if offered else None
        return [*known, *([step] if step else [])]

    def _by_all_walkers(self, steps: Sequence[Step]) -> Step:
        """Return the best of the first few steps, weighed by all walkers.

        A gain that nothing that ran lets expect is held by few of them. A search that ended by a
        part of them would end where such a gain is all that a long training may still have.
        """
        first = [*dict.fromkeys(each.configuration for each in steps)][:MEASURED]
        now = self.prospects()
        found = [self._step(now, k) for each in first for k in choices(now, only=each)]
        return max(steps[0], *found, key=lambda step: step.rate)

    def _step_with(self, configuration: Configuration) -> Step | None:
        """Return the best step with a configuration that did not run; None where none pays."""
        if configuration not in self._learner.row:
            return None
        now = self.prospects(HYPOTHESES, also=[configuration])
        mine = [self._step(now, each) for each in choices(now, only=configuration)]
        best = max(mine, key=lambda step: step.rate, default=None)
        return best if best and best.rate > 1 else None

    def _step(self, prospects: Prospects, choice: Choice) -> Step:
        configuration = prospects.configurations[choice.position]
        what: Literal["run", "certify", "inspect"] = "certify" if choice.certifies else "run"
        if self._inspection and self._has_other_batch(configuration):
            what = "inspect"
        o, k = prospects.outlook, choice.position
        unknown = math.sqrt(float((o.shown[:, k] + o.noise[:, k]).mean()))
        precision = max(unknown / 2, EXPECTED.sd / 2)
        return Step(what, configuration, choice.saves, choice.takes, precision)

    def _unmeasured(self, now: Prospects) -> Configuration | None:
        """Return what runs once because the answer tells it, where that takes little.

        The recommended settings without what shows no effect, and the own ones.
        """
        chosen = now.configurations[self.recommended(now)]
        smaller = [c for c in _smaller(chosen, self._default) if c in self._learner.row]
        now = self.prospects(HYPOTHESES, also=[chosen, *smaller])
        time = dict(zip(now.configurations, now.times.tolist(), strict=True))
        same = [c for c in smaller if time[c] <= (1 + SAME) * time[chosen]]
        known = self._history.tried | {chosen}
        for each in (*same, self._default):
            most = BESIDE * now.training * time[chosen]
            if each in known or not self._may_run(each) or not self._affords(each):
                continue
            if self._takes(each) <= most:
                return each
        return None

    def _affords(self, configuration: Configuration) -> bool:
        trials = self._options.max_trials
        within = trials is None or self._history.timed < trials
        return within and self._seconds(configuration) <= self._budget.left

    def _within(self, step: Step) -> Step | None:
        """Return a step that is within the limits; note what is missed by them otherwise."""
        if self._affords(step.configuration):
            return step
        self._ended, self._further = Ended.LIMIT, self._going_on(step)
        return None

    def _forced(self) -> Configuration | None:
        """Return what has to run before anything can be weighed.

        The own settings, or what is nearest to them and runs, tell how long the training is where
        that is known in examples alone. Where something failed they show that anything runs.
        """
        history = self._history
        if history.baseline is not None or not (self._failed or self._training is None):
            return None
        rest = (c for c in nearest_first(self._default, self._singles) if c not in history.tried)
        return next((c for c in rest if c == self._default or self._may_run(c)), None)

    @property
    def _failed(self) -> int:
        """How many runs of this session showed no speed before one device was measured."""
        if self._history.baseline is not None:
            return 0
        trials = self._history.trials[self._earlier :]
        ran = (t for t in trials if t.outcome is not Outcome.SKIPPED)
        return sum(t.examples_per_second is None for t in ran)

    # --- what is believed

    @property
    def _training(self) -> float | None:
        """Seconds of training that settings can change, by the own ones; None while unknown."""
        length = self.runner.subject.length
        if length.seconds is not None:
            return length.seconds
        log = self._learner.log_rate(self._default, self._now)
        return None if log is None else (length.examples or 0.0) / math.exp(log)

    def prospects(self, hypotheses: int = WALKERS, also: Sequence[Configuration] = ()) -> Prospects:
        """Return what is believed now, by so many walkers; the own settings come first."""
        learner, history = self._learner, self._history
        learner.learn()
        rows, works = self._rows(also)
        about = tuple(learner.pool[each] for each in rows)
        counts = Counter(learner.pool[run.row] for run in learner.runs)
        own = self._default
        # Others are compared with them, so they run first.
        first = 0.0 if own in history.tried else self._takes(own)
        return Prospects(
            outlook=learner.outlook(rows, self._now, hypotheses),
            configurations=about,
            own=0,
            runs=np.array([counts[c] for c in about]),
            works=works,
            may_run=np.array([self._may_run(c) for c in about]),
            seconds=np.array([self._takes(c) + first * (c != own) for c in about]),
            certifying=np.array(
                [
                    self.certification.seconds(c) * self._paid(c) if c.distributed else 0.0
                    for c in about
                ]
            ),
            certified=np.array([self.certification.passed(c) for c in about]),
            own_works=counts[own] > 0 or own not in history.tried,
            margin=math.log1p(self._options.margin),
            training=(self._training or 0.0) * self._paid(own),
        )

    @property
    def _now(self) -> float:
        return self._budget.zero + self.runner.engine.now()

    def _rows(self, also: Sequence[Configuration]) -> tuple[list[int], Matrix]:
        """Return what is weighed, the own settings first, and how likely each is to be measured."""
        learner, history = self._learner, self._history
        ran = {run.row for run in learner.runs}
        works = chances(history.trials, learner.row, learner.kernel, ran)
        mean, sd = learner.marginals()
        hope = mean + 2 * sd + np.log(np.maximum(works, 1e-6))
        chosen = dict.fromkeys(learner.row[each] for each in (self._default, *also))
        tried = {learner.row[c] for c in history.tried if c in learner.row}
        several = np.array([c.distributed for c in learner.pool])
        for kind in (False, True):
            mine = [int(i) for i in np.flatnonzero(several == kind)]
            chosen.update(dict.fromkeys(_best(mean, (i for i in mine if i in ran), MEASURED)))
            open_ = (i for i in mine if i in ran or i not in tried)
            wanted = (i for i in open_ if self._may_run(learner.pool[i]))
            chosen.update(dict.fromkeys(_best(hope, wanted, WANTED)))
        return [*chosen], works[[*chosen]]

    def _may_run(self, configuration: Configuration) -> bool:
        """Whether its hosts are left and nothing shows that it would fail."""
        failing = configuration in self._history.ruled_out
        return not failing and self.runner.why_impossible(configuration) is None

    def _seconds(self, configuration: Configuration) -> float:
        seconds = self._history.costs.seconds(configuration)
        return seconds + (self._inspection if self._has_other_batch(configuration) else 0.0)

    def _takes(self, configuration: Configuration) -> float:
        return self._seconds(configuration) * self._paid(configuration)

    def _paid(self, configuration: Configuration) -> int:
        """Return for how many devices each second with a configuration counts."""
        return self.runner.subject.scorer.paid(configuration)

    def _has_other_batch(self, configuration: Configuration) -> bool:
        own = self._default.global_batch
        return weighed_batch(configuration, own) != own

    def _going_on(self, step: Step | None) -> Further | None:
        """Return what a step would take and save, as far as that is known."""
        if step is None or not math.isfinite(step.saves):
            return None
        paid = self._paid(step.configuration)
        return Further(seconds=step.takes / paid, saves=step.saves, devices=paid)

    # --- what Optuna is told

    def _note_reference(self, prospects: Prospects) -> None:
        """Note what runs are compared with: the best single device."""
        single, o = prospects.single, prospects.outlook
        if not prospects.runs[single]:
            return
        noise, spread = o.noise.mean(0), float(o.variance[:, single].mean())
        own = min(float(noise[single]) / prospects.runs[single], spread)
        sd = math.sqrt(own + float(noise.max()))
        self._reference = Reference(float(o.mean[:, single].mean()), sd)

    # --- what is said

    def answer(self, ended: Ended | None = None) -> Answer:
        """Return what all runs so far say."""
        now = self.prospects()
        chosen = self.recommended(now)
        ran = [int(k) for k in np.flatnonzero(now.runs)]
        draws = now.outlook.draw(DRAWS, 0, ran)
        shown = dict.fromkeys([*ran, now.own, chosen] if ran else [])
        best = [self._best(now, draws, several=each) for each in (False, True)]
        more = best[1] - best[0] > now.margin
        # Of what ran, those that surely gain come first.
        leader = now.best(now.sure) if now.sure.any() else now.distributed
        if now.several[chosen]:
            more = draws[:, chosen] - draws[:, now.single] > now.margin
        return self._answering.answer(
            Evidence(
                recommended=now.configurations[chosen],
                own=self._default,
                one_device=now.configurations[now.single],
                several=None if leader is None else now.configurations[leader],
                distributes=float(np.mean(more)),
                logs={now.configurations[k]: draws[:, k] for k in shown},
                noise=math.sqrt(float(now.outlook.noise.mean(0)[now.single])),
                certified=leader is not None and bool(now.certified[leader]),
                ended=ended,
                further=self._further,
            )
        )

    def _best(self, now: Prospects, draws: Matrix, *, several: bool) -> Matrix:
        """Return draws of the best of a kind, what did not run included, as it may fail."""
        mine = np.flatnonzero((now.several == several) & (now.may_run | now.available))
        random = np.random.default_rng(2).random(len(draws))
        # One draw holds for all: where a batch does not fit, a larger one does not either.
        able = np.where(random[:, None] < now.works[mine], draws[:, mine], -1e9)
        found: Matrix = able.max(1, initial=-1e9)
        return found

    def recommended(self, now: Prospects) -> int:
        """Return the position of the smallest change of the own settings within 1 % of the best."""
        allowed = (now.sure & now.certified) | (now.available & ~now.several)
        allowed[now.plan] = True
        near = np.flatnonzero(allowed & (now.times <= (1 + SAME) * now.times[now.plan]))
        return min(map(int, near), key=lambda k: (len(_changes(now, k)), now.times[k]))


def _changes(now: Prospects, k: int) -> set[str]:
    """Return the axes on which a configuration differs from the own settings."""
    own = now.configurations[now.own].values()
    return {name for name, v in now.configurations[k].values().items() if own.get(name) != v}


def _smaller(chosen: Configuration, own: Configuration) -> list[Configuration]:
    """Return a configuration with the own values on some axes; the smallest change comes first."""
    usual, placement = own.values(), axes_of(AxisRole.PLACEMENT)
    free = [
        name
        for name, value in chosen.values().items()
        if name in usual and value != usual[name] and name not in placement
    ]
    subsets = (c for n in range(len(free), 0, -1) for c in combinations(free, n))
    found = (chosen.taking({name: usual[name] for name in each}).canonical() for each in subsets)
    return [*dict.fromkeys(found)]


def _best(figures: Matrix, rows: Iterable[int], count: int) -> list[int]:
    return sorted(rows, key=lambda i: -figures[i])[:count]
