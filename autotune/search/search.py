"""The search itself: baseline, exploration, finals."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from autotune.checks.certificate import Certificate
from autotune.checks.diagnosis import Diagnosis
from autotune.checks.remedies import undivided
from autotune.config import Configuration
from autotune.errors import Interrupted
from autotune.objective import Batches
from autotune.options import SearchOptions
from autotune.reason import Outcome, PerformanceBound
from autotune.result import Verdict
from autotune.result.verdict import Decision
from autotune.search.allreduce import LEAST_BYTES, MANY, families
from autotune.search.batches import OtherBatches
from autotune.search.bounds import Bounds
from autotune.search.certification import Certification
from autotune.search.coverage import may_gain
from autotune.search.design import openers, own_default, plain
from autotune.search.ending import INTERRUPTIONS, Interruption, interruption, uninterrupted
from autotune.search.explore import Explorer, begin, find_baseline, find_challenger, open_strategies
from autotune.search.finalists import Finalists, choose_finalists, finals_seconds, fitting
from autotune.search.finals import Finals
from autotune.search.history import NOTHING_KNOWN, History, WarmStart
from autotune.search.likely import Likely
from autotune.search.runner import Runner
from autotune.search.sampler import SAMPLER, MakeSampler
from autotune.search.stopping import Budget
from autotune.search.surrogate import Expectations
from autotune.search.verdict import FEWEST
from autotune.space import ONE_DEVICE, Candidates
from autotune.space.origin import choices, origins
from autotune.stats import Interval
from autotune.trial import Stage
from autotune.workload import WorkloadFacts

ALLREDUCE_SHARE = 0.15
"""Of the time that is left for exploring, what timing the exchanges may take in all."""
INPUT_SHARE = 0.5
"""Of the time that is left, what timing the step without input may take."""
ONE_DEVICE_SHARES = 0.3, 0.5
"""Of the time before the finals, the least and the most that only the single device gets where
there is something else; afterwards it goes to whatever promises most."""
ONE_DEVICE_FIRST = 8
"""Trials of one device for which that should suffice: a baseline after fewer may be far from the
best, and of more a distributed configuration that gains most profits less."""
CERTIFYING_SHARE = 0.2
"""Of the time that is left for the finals, what certifying somebody before them may take."""
GUESSED_RESERVE = 45.0
"""Seconds set aside for the finals while nobody knows who will be in them."""
EXPLORED_FIRST = 6
"""Trials that exploring should have room for before time is set aside for finals."""


@dataclass(frozen=True, kw_only=True)
class Findings:
    """What a search found."""

    recommended: Configuration
    decision: Decision
    baseline: Configuration
    default: Configuration
    matched: Configuration | None
    """One device at the challenger's global batch, if it could run and was not measured."""
    examples_per_second: Interval | None
    """Throughput of the recommended configuration in the finals, or else while exploring."""
    value: Interval | None
    """What the objective says of it there."""
    over_default: Interval | None
    history: History
    facts: WorkloadFacts
    distributable: int
    """Distributed configurations that can run."""
    tried: int
    """Those of them that ran, or were found not to be worth it."""
    asked: bool
    """Whether any distributed one was to be compared, whether it can run or not."""
    aside: frozenset[Configuration]
    """Those that can run as well, and are not compared."""
    certificate: Certificate | None
    """What was checked of the recommended configuration; None for one device."""
    cut: Interruption | None = None
    """What ended the search early; None where nothing did."""
    diagnosis: Diagnosis | None = None
    """Where the time of a step goes; found out last, if there is time."""

    @property
    def interrupted(self) -> bool:
        """Whether the search was stopped early."""
        return self.cut is not None


class Search:
    """One search over one space.

    Args:
        runner: Makes the trials.
        budget: Bounds them.
        candidates: The configurations that can run.
        options: Margin and seed.
        start: What earlier searches let expect.
        sampler: Makes what proposes the trials.
    """

    def __init__(
        self,
        runner: Runner,
        budget: Budget,
        candidates: Candidates,
        options: SearchOptions,
        *,
        start: WarmStart = NOTHING_KNOWN,
        sampler: MakeSampler = SAMPLER,
    ) -> None:
        self._runner = runner
        self._budget = budget
        self._one_device = candidates.one_device
        self._every_distributed = candidates.distributed
        self._matched = candidates.batch_matched
        self._aside = candidates.excluded
        limited = any(limit.strategy != ONE_DEVICE for limit in candidates.limits)
        self._asked = limited or bool(candidates.distributed)
        self._options = options
        self._default = own_default(self._one_device, runner.subject.facts, options)
        self._divided = runner.subject.objective.batches is not Batches.ALIKE
        self._openers = tuple(
            openers(self._default, self._every_distributed, divided=self._divided)
        )
        every = dict.fromkeys([*candidates.configurations, *candidates.batch_matched.values()])
        # Proofs and past searches speak of examples per second.
        self._follows_throughput = runner.subject.objective.follows_throughput
        worth = runner.subject.scorer.log_offset
        self._bounds = Bounds(runner.history, runner.subject.facts, options.margin, worth)
        self._expectations = (
            Expectations(runner.history, list(every), start.known, worth)
            if self._follows_throughput
            else Expectations(runner.history, list(every))
        )
        self._sampler = sampler(self._expectations, options.seed)
        self._batches = OtherBatches(runner, every)
        self._finals: Finals | None = None
        self.hurried = False
        """Whether an interrupt came while the findings were put together."""
        self._certification = Certification(runner)
        self._likely = Likely(
            runner,
            budget,
            self._certification,
            self._expectations,
            right=self._right,
            unknown_match=self._unknown_match,
            margin=options.margin,
        )

    @property
    def _distributed(self) -> list[Configuration]:
        """Distributed configurations that the hosts can run that are left."""
        return [c for c in self._every_distributed if self._runner.why_impossible(c) is None]

    def run(self) -> Findings:
        """Search until the verdict is clear or the budget is spent.

        Ctrl-C, or a disk that takes no more, ends it early, with what was found so far.

        Raises:
            NothingMeasured: No single-device configuration could be measured.
            Interrupted: Stopped before anything was measured.
            OSError: The disk took no more before anything was measured.
        """
        cut = None
        try:
            self.explore()
            self._decide()
        except INTERRUPTIONS as exc:
            cut = interruption(exc)
        with uninterrupted() as came:
            findings = self._findings(cut)
        self.hurried = bool(came)
        return findings

    def cut_short(self, cut: Interruption) -> Findings:
        """Return what earlier trials have shown, without a decision.

        Raises:
            Interrupted: Nothing was measured.
            OSError: Nothing was measured before the disk took no more.
        """
        return self._findings(cut)

    def begin(self) -> None:
        """Measure the user's own configuration.

        Raises:
            NothingMeasured: Neither it nor another one on one device could be measured.
        """
        begin(self._explorer(self._reserve), self._default, self._one_device)

    def explore(self) -> None:
        """Look for what promises most, and leave the time for a decision.

        Raises:
            NothingMeasured: No single-device configuration could be measured.
        """
        explorer = self._explorer(self._reserve)
        start = plain(self._default, self._one_device)
        if start != self._default:
            explorer.try_all([self._default, start])
        find_baseline(
            explorer,
            start,
            self._one_device,
            self._openers,
            share=self._one_device_share,
        )
        self._batches.settle(explorer.measure)
        baseline = self._runner.history.baseline
        if self._distributed and baseline:
            if self._follows_throughput:
                self._measure_allreduces()
                self._measure_without_input(baseline)
            explorer.try_all(self._made_without_search())
            first = openers(baseline, self._distributed, divided=self._divided)
            open_strategies(explorer, first, self._distributed)
            everything = [*self._one_device, *self._distributed]
            explorer.propose_from(everything)
            if find_challenger(explorer, self._distributed, divided=self._divided):
                explorer.propose_from(everything)
            last = self._explorer(self._finals_reserve)
            self._batches.settle(last.measure)
            last.try_all(self._unknown_matches())

    def _made_without_search(self) -> list[Configuration]:
        """Return what the script, or a fixed rule, would distribute by; one for each of them."""
        subject = self._runner.subject
        chosen = choices(subject.machine, subject.facts)
        found = {origins(each, chosen): each for each in reversed(self._distributed)}
        return [each for whose, each in found.items() if whose]

    def _one_device_share(self) -> float:
        """Return the share of the time before the finals that only the single device gets."""
        if not (self._distributed or self._aside):
            return 1.0
        least, most = ONE_DEVICE_SHARES
        needed = ONE_DEVICE_FIRST * self._runner.history.costs.seconds(self._default)
        exploring = self._budget.exploring(self._reserve())
        return min(max(needed / exploring, least), most) if exploring > 0 else most

    def _explorer(self, reserve: Callable[[], float]) -> Explorer:
        return Explorer(
            self._runner,
            self._budget,
            self._sampler,
            self._expectations,
            self._bounds if self._follows_throughput else None,
            reserve,
            seed=self._options.seed,
        )

    def _measure_allreduces(self) -> None:
        """Time the exchange of every family that is large enough to repay it, while time lasts."""
        if self._runner.subject.facts.dense_gradient_bytes < LEAST_BYTES:
            return
        history, began = self._runner.history, self._budget.elapsed
        for each in families(self._distributed, least=MANY):
            most = self._budget.most(len(history), share=1.0, reserve=self._reserve())
            spent = self._budget.elapsed - began
            if spent + history.costs.seconds(each) > ALLREDUCE_SHARE * (most + spent):
                return
            seconds = self._runner.allreduce_seconds(each)
            if seconds is not None:
                self._bounds.note_allreduce(each, seconds)

    def _measure_without_input(self, baseline: Configuration) -> None:
        """Time the baseline without its input, where that may tell what workers gain."""
        facts, costs = self._runner.subject.facts, self._runner.history.costs
        # Python code is what makes an input slow without doubt; elsewhere the look may be in vain.
        if not facts.python_input or not any(undivided(c, facts) for c in self._distributed):
            return
        # It may spare every trial of a distributed one, so it need not fit beside them.
        if costs.seconds(baseline) <= INPUT_SHARE * self._budget.left:
            found = self._runner.step_time(baseline, held=True)
            if found is not None:
                self._bounds.note_without_input(baseline, found.seconds)

    def _decide(self) -> None:
        self._certify_leader()
        if self._finals_fit() or not self._promised():
            self._run_finals()
        while self._finals and self._finals.all_out and self._affords_others():
            self._certify_leader()
            self._run_finals()
        self._certify_likely()
        if self._finals:
            chosen = self._recommended(self._decision()) or self._finals.baseline
            self._finals.promise(chosen)
            self._compare_batch(chosen)

    def _compare_batch(self, chosen: Configuration) -> None:
        """Run who is recommended at the user's own batch, if it has another and there is time."""
        arm = self._batches.missing_arm(chosen)
        if arm and self._runner.history.costs.seconds(arm) <= self._budget.left:
            self._runner.run(arm, Stage.EXPLORE if arm.distributed else Stage.BASELINE)

    def _promised(self) -> bool:
        """Whether somebody is recommended without a verdict; a run tells what may be promised."""
        self._certify_likely()
        likely = self._recommended(self._decision())
        if likely:
            self._finals = self._new_finals()
            self._finals.promise(likely)
        return likely is not None

    def _affords_others(self) -> bool:
        """Whether there are others to take the place of challengers that are all wrong."""
        finalists = self._finalists()
        needed = finals_seconds(self._runner.history, finalists)
        return bool(finalists.challengers) and needed <= self._budget.left

    def _run_finals(self) -> None:
        self._finals = self._new_finals()
        self._finals.run()

    def _new_finals(self) -> Finals:
        finalists = fitting(self._finalists(), self._runner.history, self._budget.left)
        return Finals(
            self._runner,
            self._budget,
            finalists,
            self._certification,
            expectations=self._expectations,
            unknown_match=self._unknown_match,
            margin=self._options.margin,
            seed=self._options.seed,
        )

    def _certify_leader(self) -> None:
        """Certify who leads already, so that the finals' time is not spent on what is wrong.

        Who is second, or takes the lead only there, is certified when it would win; so is who leads
        where that takes much of the time.
        """
        while leader := next((c for c in self._leader() if self._certification.is_open(c)), None):
            share = CERTIFYING_SHARE if self._still_fit(leader) else 1.0
            if self._certification.seconds([leader]) > share * self._budget.left:
                return
            self._certification.certify(leader)

    def _certify_likely(self) -> None:
        """Certify who may be recommended though the finals did not decide, while time lasts."""
        if self._decision().verdict is Verdict.UNDECIDED:
            self._likely.certify(lambda each: bool(self._finals and self._finals.throughput(each)))

    def _leader(self) -> list[Configuration]:
        """The first challenger, if it was faster than the baseline while exploring."""
        finalists, history = self._finalists(), self._runner.history
        best = history.estimate(finalists.one_device[0]).value
        return [c for c in finalists.challengers[:1] if history.estimate(c).value > best]

    def _finals_reserve(self) -> float:
        """Return the seconds to set aside for finals; none where they could not decide anything.

        Rounds that are too few for a verdict tell less than trying other configurations does.
        """
        history = self._runner.history
        if history.baseline is None:
            return GUESSED_RESERVE
        certifying = self._certification.seconds(self._leader())
        if not self._finals_fit():
            return certifying
        finalists = self._finalists()
        if not history.ranked(distributed=True) and self._may_challenge():
            # Nobody knows who, but somebody will.
            finalists = replace(finalists, challengers=self._openers[:1])
            return finals_seconds(history, finalists)
        return finals_seconds(history, finalists) + certifying

    def _reserve(self) -> float:
        return self._finals_reserve() + self._runner.history.costs.total(self._unknown_matches())

    def _finals_fit(self) -> bool:
        """Whether the shortest finals that can decide leave enough time for exploring."""
        costs, baseline = self._runner.history.costs, self._runner.history.baseline
        if baseline is None or not self._may_challenge():
            return True
        challenger = next(iter(self._finalists().challengers), self._openers[0])
        explored = EXPLORED_FIRST * costs.seconds(baseline)
        return self._deciding_seconds(baseline, challenger) + explored <= self._budget.whole

    def _may_challenge(self) -> bool:
        """Whether a distributed configuration may be in the finals: one that ran, or may yet."""
        if self._right(self._runner.history.ranked(distributed=True)):
            return True
        may_run = self._explorer(self._reserve).open_among(self._distributed)
        return next(may_run, None) is not None

    def _still_fit(self, challenger: Configuration) -> bool:
        """Whether what is left is enough to decide about a challenger and to certify it."""
        baseline = self._runner.history.baseline
        if baseline is None or not self._finals_fit():
            return False
        return self._deciding_seconds(baseline, challenger) <= self._budget.left

    def _deciding_seconds(self, baseline: Configuration, challenger: Configuration) -> float:
        """Return what the shortest finals that can decide take, and certifying who may win."""
        finals = FEWEST * self._runner.history.costs.total([baseline, challenger])
        return finals + self._certification.seconds([challenger])

    def _unknown_match(self, challenger: Configuration) -> Configuration | None:
        """Return one device at the global batch of a challenger, if it has not been tried."""
        match = self._matched.get(challenger)
        return None if match in self._runner.history.tried else match

    def _unknown_matches(self) -> list[Configuration]:
        """One device at the global batches of the challengers, where it has not been tried."""
        if self._runner.history.baseline is None:
            return []
        rivals = self._finalists().challengers if self._finals_fit() else self._leader()
        return [match for each in rivals if (match := self._unknown_match(each))]

    def _finalists(self) -> Finalists:
        found = choose_finalists(
            self._runner.history,
            self._expectations.ranked(distributed=False),
            self._right(self._expectations.ranked(distributed=True)),
            self._default,
        )
        best, *others = found.one_device
        arm = self._batches.measured_arm(best)
        alone = dict.fromkeys([best, *([arm] if arm else []), *others])
        return replace(found, one_device=tuple(alone))

    def _decision(self) -> Decision:
        decision = Decision(verdict=Verdict.UNDECIDED)
        if self._finals:
            decision = self._finals.decision()
        if decision.verdict is Verdict.UNDECIDED and not decision.gain and self._all_slower():
            decision = Decision(verdict=Verdict.ONE_DEVICE)
        if self._finals is None and decision.verdict is Verdict.UNDECIDED:
            return decision
        open_ = decision.verdict is Verdict.ONE_DEVICE or decision.gain is None
        if open_ and may_gain(self._expectations, self._out_of_reach(), self._options.margin):
            lost = {"verdict": Verdict.UNDECIDED, "hosts_lost": True}
            return decision.model_copy(update=lost)
        judged = any(
            trial.configuration.distributed
            and (self._runner.subject.scorer(trial) or isinstance(trial.reason, PerformanceBound))
            for trial in self._runner.history.trials
        )
        if self._distributed and not judged:
            return Decision(verdict=Verdict.UNDECIDED)
        refused = self._finals is not None and self._finals.all_refused
        found_none = decision.verdict is Verdict.ONE_DEVICE and not refused
        if found_none and may_gain(self._expectations, self._untried(), self._options.margin):
            few = {"verdict": Verdict.UNDECIDED, "few_tried": True}
            return decision.model_copy(update=few)
        return decision

    def _all_slower(self) -> bool:
        """Whether each distributed configuration that was measured is slower by the table."""
        baseline = self._finals.baseline if self._finals else self._runner.history.baseline
        left = (Outcome.REJECTED, Outcome.PRUNED)
        rows = self._batches.board(baseline).rows()
        several = [e for e in rows if e.configuration.distributed and e.outcome not in left]
        ratios = [each.speedup for each in several]
        return bool(ratios) and all(each is not None and each.high < 1 for each in ratios)

    def _untried(self) -> list[Configuration]:
        """Return distributed configurations of which nothing is known."""
        return [*self._explorer(self._reserve).open_among(self._right(self._every_distributed))]

    def _out_of_reach(self) -> list[Configuration]:
        """Return distributed configurations that lack a host, and are not known to be no better."""
        lost = [c for c in self._every_distributed if self._runner.why_impossible(c)]
        right = [c for c in lost if not self._certification.refused(c)]
        return [c for c in right if not (self._follows_throughput and self._bounds.why_not(c))]

    def _right(self, configurations: Iterable[Configuration]) -> list[Configuration]:
        """Return those that were not refused, and that the hosts can run that are left."""
        runner, certification = self._runner, self._certification
        right = (c for c in configurations if not certification.refused(c))
        return [c for c in right if runner.why_impossible(c) is None]

    def _recommended(self, decision: Decision) -> Configuration | None:
        """Return the distributed configuration that is recommended, if one is.

        Without a verdict it is who is probably faster.
        """
        if decision.verdict is Verdict.DISTRIBUTE:
            return decision.challenger
        open_ = decision.verdict is Verdict.UNDECIDED and not decision.bimodal
        likely = self._likely.find() if open_ else None
        return likely if likely and self._certification.passed(likely) else None

    def _pays(self, recommended: Configuration, baseline: Configuration) -> bool:
        """Return whether the batch of who is recommended surely pays by what the table shows."""
        rate = self._finals.throughput(recommended) if self._finals else None
        known = {recommended: rate} if rate else {}
        return self._batches.pays(recommended, self._batches.shown(baseline, known))

    @staticmethod
    def _without_comparison(decision: Decision) -> Decision:
        """Return what is left of a decision that compared configurations at another batch."""
        return Decision(verdict=Verdict.UNDECIDED) if decision.gain else decision

    def _findings(self, cut: Interruption | None) -> Findings:
        history, finals = self._runner.history, self._finals
        best = history.baseline
        if best is None:
            if isinstance(cut, OSError):
                raise cut
            raise Interrupted("Interrupted before anything was measured.")
        decision = self._decision()
        baseline = finals.baseline if finals else best
        recommended = self._recommended(decision) or baseline
        if not self._pays(recommended, baseline):
            self._batches.keep_own()
            decision = self._without_comparison(decision)
            recommended = baseline = history.baseline or best
            finals = None
        compared = recommended if recommended.distributed else decision.challenger
        return Findings(
            recommended=recommended,
            decision=decision,
            baseline=baseline,
            default=self._default,
            matched=self._unknown_match(compared) if compared else None,
            examples_per_second=(finals and finals.throughput(recommended))
            or history.throughput(recommended),
            value=(finals and finals.value(recommended))
            or self._runner.subject.scorer.values(history.estimate(recommended)),
            over_default=finals.gain_over(recommended, self._default) if finals else None,
            history=history,
            facts=self._runner.subject.facts,
            distributable=len(self._every_distributed),
            tried=len(self._every_distributed) - len(self._untried()) - len(self._out_of_reach()),
            asked=self._asked,
            aside=frozenset(self._aside),
            certificate=self._certification.of(recommended),
            cut=cut,
        )
