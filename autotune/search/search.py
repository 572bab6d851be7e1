"""The search: one loop that makes the run that is worth most, until the question is answered."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

from optuna.pruners import BasePruner
from optuna.samplers import BaseSampler

from autotune.config import Configuration
from autotune.engine.interrupts import uninterrupted
from autotune.errors import Interrupted
from autotune.options import SearchOptions
from autotune.reason import Outcome, PerformanceBound
from autotune.result import Verdict
from autotune.result.batches import own_arm
from autotune.result.verdict import Decision
from autotune.search.acquisition import assurance, improvement, variance_reduction
from autotune.search.belief import Belief, Believer, Learner
from autotune.search.bounds import Bounds, time_exchanges, time_without_input
from autotune.search.costs import FEW_ROUNDS, with_profile
from autotune.search.design import groups, nearest_first, own_default, plain
from autotune.search.failures import HOPELESS
from autotune.search.findings import Drawn, Findings, nothing_measured
from autotune.search.pruner import Reference, SlowerThanOneDevice
from autotune.search.question import FEWEST, interval_of
from autotune.search.runner import Certification, Runner
from autotune.search.sampler import PosteriorSampler
from autotune.search.stopping import INTERRUPTIONS, Interruption, interruption
from autotune.space import Candidates
from autotune.space.origin import choices, origins
from autotune.trial import SHOWN, Stage
from autotune.value import Scalar

LEAST_IMPROVEMENT = 0.0003
"""Expected gain in log(score) below which a run is not made to find something better."""
ENOUGH = 0.005
"""The same once there is an answer: half a per cent. Own settings are not changed for less."""
SURE_EARLY = 0.999
"""Probability of a gain from which a search distributes before its budget ends. Whoever looks after
each run is sure by chance at some time; the last analysis may be less strict (O'Brien and Fleming
1979)."""
LIKELY = 0.8
"""Probability of a gain from which who leads is certified, and of an answer that the further budget
gives that is told."""


class Search:
    """One search over one space, with its own sampler and pruner where no others are given."""

    def __init__(
        self,
        runner: Runner,
        candidates: Candidates,
        options: SearchOptions,
        *,
        sampler: BaseSampler | None = None,
        pruner: BasePruner | None = None,
    ) -> None:
        self._runner, self._budget, self._options = runner, runner.budget, options
        self._history = runner.history
        self._singles = candidates.one_device
        self._several = candidates.distributed
        self._candidates = candidates
        subject, matched = runner.subject, candidates.batch_matched
        self._default = own_default(self._singles, subject.facts, options)
        pool = [*dict.fromkeys([*candidates.configurations, *matched.values()])]
        offset = subject.scorer.log_offset
        self._bounds = Bounds(runner.history, subject.facts, options.margin, offset)
        self._certification = Certification(runner)
        self._learner = Learner(runner.history, pool)
        self._believer = Believer(
            learner=self._learner,
            runner=runner,
            bounds=self._bounds,
            batch_matched=matched,
            margin=math.log1p(options.margin),
            default=self._default,
        )
        self._now: Belief | None = None
        self._believed_of = 0
        self._proposed: Configuration | None = None
        """What the search's own sampler proposes."""
        self._reported: set[Configuration] = set()
        """What ran once more, to its end, because its figure is told beside the answer."""
        self._own_sampler = sampler is None
        runner.study.use(
            sampler or PosteriorSampler(self._parameters_proposed),
            pruner or SlowerThanOneDevice(self._reference),
        )

    # --- what is run

    def run(self) -> Findings:
        """Search until the question is answered or the budget is spent.

        Ctrl-C, or a disk that takes no more, ends it early, with what was found so far.

        Raises:
            NothingMeasured: No single-device configuration could be measured.
            Interrupted: Stopped before anything was measured.
            OSError: The disk took no more before anything was measured.
        """
        cut = None
        try:
            self.begin()
            self._run_initial_design()
            while (chosen := self._next()) is not None:
                self._try(chosen)
            self._close()
        except INTERRUPTIONS as exc:
            cut = interruption(exc)
        with uninterrupted() as came:
            findings = self.findings(cut)
        return replace(findings, cut=cut or KeyboardInterrupt()) if came else findings

    def begin(self) -> None:
        """Measure the user's own configuration, or the next one on one device that works.

        Raises:
            NothingMeasured: The first few all failed, or the budget ended before.
        """
        history, earlier = self._history, len(self._history.trials)
        for each in nearest_first(self._default, self._singles):
            if history.baseline is not None:
                return
            failed = [t for t in history.trials[earlier:] if t.outcome is not Outcome.SKIPPED]
            if len(failed) >= HOPELESS:
                break
            known = each in history.tried or each in history.ruled_out
            if not known and (not history.trials or self._affords(each)):
                self._try(each)
        if history.baseline is None:
            raise nothing_measured(history.trials, earlier, self._budget.elapsed)

    def _run_initial_design(self) -> None:
        """Make the runs that no model is needed for, and time what bounds rest on."""
        for each in self._first():
            known = each in self._history.tried or self._bounds.excludes(each)
            if not known and self._affords(each):
                self._try(each)
        if self._several and self._history.baseline:
            for timed in (time_exchanges, time_without_input):
                timed(self._runner, self._several, self._bounds)

    def _first(self) -> Iterator[Configuration]:
        """Yield what is run first: compiled, with the largest step, and as a script would."""
        yield plain(self._default, self._singles)
        costs = self._history.costs
        most = 2.0 * costs.seconds(self._default)
        quick = [c for c in self._singles if costs.seconds(c) <= most] or [self._default]
        yield from groups(plain(self._default, self._singles), quick)
        subject = self._runner.subject
        chosen = choices(subject.machine, subject.facts)
        yield from {
            origins(c, chosen): c for c in self._several[::-1] if origins(c, chosen)
        }.values()

    def _try(self, configuration: Configuration) -> None:
        if self._history.baseline is not None:
            self._belief()  # so that the pruner has what to compare with
        again = bool(self._history.scores(configuration))
        first = Stage.EXPLORE if configuration.distributed else Stage.BASELINE
        stage = Stage.REPEAT if again else first
        whole = again or configuration in self._reported
        self._runner.run(configuration, stage, prunes=not whole)

    def _reference(self) -> Reference | None:
        now = self._now
        if now is None:
            return None
        joint, one = now.joint, now.gain.one
        worst = float(joint.noise[[one, *now.several]].max())
        own = min(float(joint.noise[one]) / now.runs[one], float(joint.covariance[one, one]))
        variance = own + worst
        return Reference(float(joint.mean[one]), math.sqrt(variance))

    def _parameters_proposed(self) -> Mapping[str, Scalar]:
        proposed = self._proposed
        return self._runner.study.parameters.of(proposed) if proposed else {}

    # --- what is chosen

    def _next(self) -> Configuration | None:
        """Return what to run; None where the question is answered, or there is no time."""
        if self._trials_left <= 0 or self._runner.study.failure:
            return None
        now = self._belief()
        if now.gain.faster >= LIKELY:
            # It is needed for an answer as for a recommendation, and its time may be gone later.
            self._certify(now)
        if now.gain.lacks is not None and self._affords(now.configurations[now.gain.lacks]):
            return now.configurations[now.gain.lacks]
        decided = self._decided(now)
        # Without anything distributed the first question has no answer.
        compared = not now.several or any(each.distributed for each in self._history.tried)
        if compared and (arm := self._at_own_batch(now)) is not None:
            return arm
        own = self._own_sampler
        value, explored = self._promising(now) if own else self._offered(decided=decided)
        if explored is not None:
            lost = self._lost(now, explored, decided=decided)
            # What a run takes of the probability of an answer counts as log(score). That is no
            # utility: the knowledge gradient promises too much to be weighed against one.
            if value >= max(ENOUGH if decided else LEAST_IMPROVEMENT, lost):
                self._proposed = explored
                self._runner.study.proposal()
                return explored
        doubtful = self._batch_in_question(now, decided=decided) if compared else None
        if doubtful is not None:
            return doubtful
        return self._reported_besides(now) if decided else self._asked_again(now)

    def _belief(self) -> Belief:
        count = len(self._history.trials)
        if self._now is None or self._believed_of != count:
            self._now, self._believed_of = self._believer.belief(), count
        return self._now

    def _at_own_batch(self, now: Belief) -> Configuration | None:
        """Return the own batch with the settings of another one that seems better, once.

        Otherwise what only its settings gain speaks for the batch, or a short search ends before
        the own one has shown enough.
        """
        if now.batches is None or now.batches.known:
            return None
        arm = self._own_arm(now.configurations[now.batches.other])
        if arm is None or arm in self._history.tried or not self._affords(arm):
            return None
        return self._once(arm)

    def _batch_in_question(self, now: Belief, *, decided: bool) -> Configuration | None:
        """Return what tells whether another batch pays, if that is worth a run."""
        if now.batches is None:
            return None
        other, own, _ = now.batches
        if now.joint.mean[other] <= now.joint.mean[now.gain.one]:
            return None  # whichever it is, it is not recommended
        c, costs = now.configurations, self._history.costs
        value = float(now.joint.mean[other] - now.joint.mean[own])
        reduction = partial(variance_reduction, now.joint, other, own)
        best = max((other, own), key=lambda k: reduction(k) / costs.seconds(c[k]))
        affords = self._affords(c[best], beside=self._certifying(now))
        lost = self._lost(now, c[best], decided=decided)
        return c[best] if affords and value >= max(ENOUGH, lost) else None

    def _offered(self, *, decided: bool) -> tuple[float, Configuration | None]:
        """Return what another sampler proposes, and what that is taken to be worth."""
        pool = self._learner.row
        offered = self._runner.study.proposal(lambda c: c not in pool or self._bounds.excludes(c))
        if offered is None:
            return 0.0, None
        now = self._believer.belief(also=[offered])
        if not self._affords(offered, beside=self._certifying(now)):
            return 0.0, None
        value = improvement(now.joint, now.ran, now.configurations.index(offered))
        # What another sampler proposes is taken to be worth a per cent at least.
        return value if decided else max(value, 0.01), offered

    @property
    def _trials_left(self) -> float:
        most = self._options.max_trials
        return math.inf if most is None else most - self._history.ran

    def _promising(self, now: Belief) -> tuple[float, Configuration | None]:
        """Return what raises the best most for its time, and by how much."""
        left, best = self._left(now), (0.0, 0.0)
        chosen: Configuration | None = None
        for k, c in enumerate(now.configurations):
            seconds = self._history.costs.seconds(c)
            if seconds > left or not self._may_run(c):
                continue
            value = now.works[k] * improvement(now.joint, now.ran, k)
            if value >= LEAST_IMPROVEMENT and value / seconds > best[1]:
                best, chosen = (value, value / seconds), c
        return best[0], chosen

    def _lost(self, now: Belief, configuration: Configuration, *, decided: bool) -> float:
        """Return what a run takes of the probability of an answer; nothing where there is one."""
        if decided or not now.several:
            return 0.0
        left, trials, each = self._left(now), self._trials_left, self._round_seconds(now)
        after = left - self._history.costs.seconds(configuration)
        before = self._assured(now, min(left / each, trials / 2))
        return before - self._assured(now, min(after / each, (trials - 1) / 2))

    def _assured(self, now: Belief, rounds: float) -> float:
        return assurance(now.joint, *now.in_question, now.margin, rounds)

    def _round_seconds(self, now: Belief) -> float:
        both = [now.configurations[k] for k in now.in_question]
        return self._history.costs.total(both)

    def _asked_again(self, now: Belief) -> Configuration | None:
        """Return the run that tells most about the gain, for its time."""
        costs, c = self._history.costs, now.configurations
        if all(self._runner.why_impossible(c[k]) for k in now.several):
            return None
        per_second = {
            k: now.works[k] * now.gain.information[k] / costs.seconds(c[k])
            for k in (*now.singles, *now.several)
        }
        wanted = [c[k] for k in sorted(per_second, key=lambda k: -per_second[k])]
        own = len(self._history.scores(self._default))
        if own < FEWEST <= min(now.runs[now.gain.one], max(now.runs[k] for k in now.several)):
            wanted.insert(0, self._default)
        for each in wanted:
            if self._affords(each, beside=self._certifying(now)):
                return each
        if now.gain.likely and self._budget.take_held():
            return self._asked_again(now)
        return None

    def _decided(self, now: Belief) -> bool:
        if now.gain.verdict is Verdict.DISTRIBUTE and now.many is not None:
            return now.gain.faster >= SURE_EARLY and self._certification.certify(now.many)
        return now.gain.verdict is Verdict.ONE_DEVICE

    # --- what is affordable, and what need not be run

    def _left(self, now: Belief) -> float:
        """Return the seconds left beside what certifying the leader takes."""
        return self._budget.left - self._certifying(now)

    def _certifying(self, now: Belief) -> float:
        many = now.many
        return self._certification.seconds(many) if many and now.gain.leads else 0.0

    def _affords(self, configuration: Configuration, beside: float = 0.0) -> bool:
        if self._trials_left <= 0 or not self._may_run(configuration):
            return False
        return self._history.costs.seconds(configuration) + beside <= self._budget.left

    def _may_run(self, configuration: Configuration) -> bool:
        """Whether its hosts are left and nothing shows that it would fail, whoever asks for it."""
        failing = configuration in self._history.ruled_out
        return not failing and self._runner.why_impossible(configuration) is None

    # --- what is said at the end

    def _close(self) -> None:
        """Certify who is likelier to gain, and keep what was proved."""
        if failure := self._runner.study.failure:
            self._runner.notify(f"The search ends early: {failure}.")
        now = self._belief()
        if self._certifying(now) > self._budget.left:
            self._budget.take_held()
        self._certify(now)
        self._keep_bounds()

    def _keep_bounds(self) -> None:
        """Keep of each strategy and kind of bound the one that leaves most, as the result names."""
        found: dict[tuple[str, str], tuple[Configuration, PerformanceBound]] = {}
        for each in self._several:
            bound = None if each in self._history.tried else self._bounds.why_not(each)
            if bound is None:
                continue
            kind = each.strategy, type(bound).__name__
            if kind not in found or bound.share > found[kind][1].share:
                found[kind] = each, bound
        for each, bound in found.values():
            self._runner.skip(each, bound)

    def _certify(self, now: Belief) -> None:
        """Certify who leads, if nobody has and there is time."""
        seconds = self._certifying(now)
        if now.many is not None and 0 < seconds <= self._budget.left:
            self._certification.certify(now.many)

    def _reported_besides(self, now: Belief) -> Configuration | None:
        """Return what is told beside the answer and has to run: own settings, own batch."""
        arm = self._own_arm(now.many if now.many and now.gain.leads else now.one)
        for each, runs in ((self._default, FEWEST), (arm, 1)):
            if each is None or each in self._reported or not self._affords(each):
                continue
            if len(self._history.scores(each)) < runs:
                return self._once(each)
        return None

    def _once(self, reported: Configuration) -> Configuration | None:
        """Return what runs once more, and to its end; None where it is excluded."""
        self._reported.add(reported)
        return None if self._bounds.excludes(reported) else reported

    def _own_arm(self, chosen: Configuration) -> Configuration | None:
        """Return the same settings at the own batch, if they can run, so that the ratio is told."""
        learning = self._runner.subject.facts.learning
        if learning is None or self._runner.subject.has_own_batch(chosen):
            return None
        arm = own_arm(chosen, learning.batch)
        return arm if arm in self._learner.row else None

    def findings(self, cut: Interruption | None) -> Findings:
        """Return what the trials so far have shown.

        Raises:
            Interrupted: Nothing was measured.
            OSError: Nothing was measured before the disk took no more.
        """
        if self._history.baseline is None:
            if isinstance(cut, OSError):
                raise cut
            raise Interrupted("Interrupted before anything was measured.")
        now = self._belief()
        if now.many and not self._certification.passed(now.many):
            # Another one may have been certified before this one led.
            certified = self._believer.belief(certified=self._certification.passed)
            now = certified if certified.many and certified.gain.leads else now
        gain, many, verdict = now.gain, now.many, now.gain.verdict
        passed = many is not None and self._certification.passed(many)
        if (verdict is Verdict.DISTRIBUTE and not passed) or self._all_broke:
            verdict = Verdict.UNDECIDED
        likely = verdict is not Verdict.ONE_DEVICE and gain.leads and passed
        recommended = many if likely and many is not None else self._alone(now)
        scorer = self._runner.subject.scorer
        ratio = None if many is None else interval_of(gain.draws)
        shown = Drawn(self._learner, {(many, now.one): ratio} if many and ratio else {})
        return Findings(
            recommended=recommended,
            decision=Decision(
                verdict=verdict,
                challenger=many,
                gain=ratio,
                faster=gain.faster,
                none=gain.none,
                staying=gain.staying,
                distributing=min(gain.distributing, 1.0),
                hosts_lost=any(map(self._runner.why_impossible, self._several)),
                more_seconds=self._needed(now) if verdict is Verdict.UNDECIDED else None,
            ),
            baseline=now.one,
            default=self._default,
            entries=tuple(shown.entries(scorer, now.one)),
            value=scorer.values(interval_of(shown.logs[recommended])),
            gain_over_yours=shown.ratio(recommended, self._default),
            history=self._history,
            facts=self._runner.subject.facts,
            candidates=self._candidates,
            certificate=self._certification.of(recommended),
            cut=cut,
        )

    def _alone(self, now: Belief) -> Configuration:
        """Return what is best on one device; the own settings where it gains next to nothing."""
        means = {now.configurations[k]: now.joint.mean[k] for k in now.ran}
        own, best = self._default, now.one
        kept = own in means and not self._bounds.excludes(own) and means[best] - means[own] < ENOUGH
        return own if kept else best

    @property
    def _all_broke(self) -> bool:
        """Whether everything distributed that ran broke down: nothing was compared then."""
        several = (t for t in self._history.trials if t.configuration.distributed)
        ends = {t.outcome for t in several} - {Outcome.SKIPPED, Outcome.UNFINISHED}
        return bool(ends) and not ends & {Outcome.REJECTED, *SHOWN}

    def _needed(self, now: Belief) -> float | None:
        """Return the further seconds that are likely to give an answer; None beyond a day."""
        if not now.several:
            return None
        made = min(now.runs[k] for k in now.in_question)
        rounds = max(FEW_ROUNDS - made, 1.0)
        while self._assured(now, rounds) < LIKELY:
            rounds *= 1.5
            if rounds > 2000:
                return None
        return with_profile(rounds * self._round_seconds(now), self._options)
