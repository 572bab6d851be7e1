"""The producer of the one answer: what the rule of a search concludes, made ready to be told."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from statistics import median

import numpy as np

from autotune.answer import Answer, Because, Ended, Entry, Further, NotTaken, Verdict
from autotune.config import Configuration
from autotune.engine.load import together
from autotune.program import share_of_epochs
from autotune.reason import Outcome, Rule, RuleKind
from autotune.search.kernel import Matrix
from autotune.search.runner import Runner
from autotune.search.savings import SURE
from autotune.space import ONE_DEVICE, Candidates, why_alone
from autotune.stats.intervals import SDS, Interval, around
from autotune.trial import SHOWN, Trial, counting, sustained

ITSELF = Interval(low=1.0, value=1.0, high=1.0)
"""The ratio of the own settings to themselves."""


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What the rule of a search concludes from all runs so far."""

    recommended: Configuration
    own: Configuration
    one_device: Configuration
    several: Configuration | None = None
    """The distributed leader, of what has run."""
    distributes: float
    """Probability that something distributed gains more than the margin: `several` where that is
    recommended."""
    logs: Mapping[Configuration, Matrix] = field(default_factory=dict)
    """Draws of log(score) by the posterior: of all that has shown a speed, and of the own settings
    and the recommended ones, though they may not have run."""
    noise: float
    """Standard deviation of log(score) between runs."""
    certified: bool = False
    """Whether `several` was certified."""
    ended: Ended | None = None
    further: Further | None = None


def interval_of(logs: Matrix) -> Interval:
    """Return the median and the middle 95 % of drawn logarithms."""
    low, value, high = np.exp(np.quantile(logs, [0.025, 0.5, 0.975])).tolist()
    return Interval(low=low, value=value, high=high)


@dataclass(frozen=True, kw_only=True)
class Answering:
    """Makes answers of what the rule concludes, and of what the runner has seen."""

    runner: Runner
    candidates: Candidates
    margin: float
    """Minimum gain of practical relevance, in log(score)."""

    def answer(self, found: Evidence) -> Answer:
        history, gap = self.runner.history, self._gap(found)
        trials = [t for t in history.trials if t.shown and history.score(t)]
        own, recommended = self._times(found)
        first = next((history.score(t) for t in trials if t.configuration == found.own), None)
        entries = tuple(self._entries(found, counting(trials)))
        chosen, distributed = found.recommended, found.recommended.distributed
        return Answer(
            verdict=verdict_of(found),
            because=self._because(found, gap),
            ended=found.ended,
            probability=found.distributes if distributed else 1 - found.distributes,
            recommended=chosen,
            own=found.own,
            one_device=found.one_device,
            several=found.several,
            gain=self._ratio(found, chosen) if chosen != found.own and found.logs else None,
            distributed_gain=None if gap is None else interval_of(gap),
            value=self._value(next((e for e in entries if e.configuration == chosen), None)),
            noise=found.noise,
            length=self.runner.subject.length,
            own_seconds=own,
            recommended_seconds=recommended,
            searched=self.runner.budget.elapsed,
            further=found.further,
            base=first,
            entries=entries,
            rule=self._rule(),
            repeats=history.repeats,
            load=together(self.runner.loads),
        )

    # --- entries

    def _entries(self, found: Evidence, trials: list[Trial]) -> Iterator[Entry]:
        """Yield all that has shown a speed, the highest ratio first."""
        subject, history = self.runner.subject, self.runner.history
        shown = {t.configuration for t in trials if t.configuration in found.logs}
        ratios = {c: self._ratio(found, c) for c in shown}
        # The recommended one goes before its equals.
        order = sorted(shown, key=lambda c: (-ratios[c].value, c != found.recommended))
        above = found.recommended in shown
        for c in order:
            above = above and c != found.recommended
            runs = [t for t in trials if t.configuration == c]
            rates = [t.examples_per_second or 1.0 for t in runs]
            spread = SDS * found.noise / math.sqrt(len(rates))
            outcome = Outcome.REJECTED if history.ruled_out.rejected(c) else runs[-1].outcome
            yield Entry(
                configuration=c,
                # The median of its runs, as far as a training sustains it.
                examples_per_second=sustained(around(math.log(median(rates)), spread), runs),
                ratio=ratios[c],
                score_per_example=math.exp(subject.scorer.log_offset(c)),
                outcome=outcome,
                runs=len(runs),
                not_taken=_why_not_taken(c, outcome, found) if above else None,
            )

    def _ratio(self, found: Evidence, configuration: Configuration) -> Interval:
        if configuration == found.own:
            return ITSELF
        return interval_of(found.logs[configuration] - found.logs[found.own])

    def _value(self, entry: Entry | None) -> Interval | None:
        """Return what the objective says of a throughput."""
        if entry is None:
            return None
        scores = {end: rate * entry.score_per_example for end, rate in entry.examples_per_second}
        return self.runner.subject.scorer.values(Interval(**scores))

    # --- time

    def _times(self, found: Evidence) -> tuple[Interval | None, Interval | None]:
        """Return the time of the whole training by the own settings and by the recommended ones."""
        subject, length = self.runner.subject, self.runner.subject.length
        more = share_of_epochs(found.recommended, subject.workload, subject.facts)
        rates = {
            c: found.logs[c] - subject.scorer.log_offset(c)
            for c in (found.own, found.recommended)
            if c in found.logs
        }
        if length.seconds is not None:
            own = np.full(1, math.log(length.seconds))
        elif length.examples and found.own in rates:
            own = math.log(length.examples) - rates[found.own]
        else:
            return None, None
        both = _longer(interval_of(own), length.between)
        if found.recommended == found.own:
            return both, both
        if len(rates) < 2:
            return both, None
        steps = own + rates[found.own] - rates[found.recommended] + math.log(more)
        return both, _longer(interval_of(steps), length.between * more)

    # --- why

    def _gap(self, found: Evidence) -> Matrix | None:
        """Return draws of log(several / one device); None where nothing distributed ran."""
        if found.several is None:
            return None
        one = found.logs.get(found.one_device, found.logs[found.own])
        gap: Matrix = found.logs[found.several] - one
        return gap

    def _because(self, found: Evidence, gap: Matrix | None) -> Because:
        if found.recommended.distributed:
            return Because.FASTER
        if not self.candidates.distributed:
            return self._alone()
        if any(map(self.runner.why_impossible, self.candidates.distributed)):
            return Because.HOSTS_LOST
        if gap is not None and float(np.median(gap)) > self.margin:
            sure = found.distributes >= SURE
            return Because.NOT_CERTIFIED if sure and not found.certified else Because.NOT_SURE
        return self._not_ahead()

    def _not_ahead(self) -> Because:
        """Return why nothing distributed leads."""
        several = [t for t in self.runner.history.trials if t.configuration.distributed]
        ended = {t.outcome for t in several} - {Outcome.SKIPPED, Outcome.UNFINISHED}
        if Outcome.REJECTED in ended:
            return Because.REJECTED
        if ended & SHOWN:
            return Because.NOT_FASTER
        return Because.NOT_MEASURED if ended else Because.NOT_TRIED

    def _alone(self) -> Because:
        """Return why nothing distributed is among the candidates."""
        found = self.candidates
        if why_alone(self.runner.subject.facts):
            return Because.MODEL_ALONE
        if any(each.distributed for each in found.excluded):
            return Because.OTHER_BATCHES
        asked = any(limit.strategy != ONE_DEVICE for limit in found.limits)
        return Because.NOT_DISTRIBUTABLE if asked else Because.ONLY_ONE_DEVICE

    def _rule(self) -> Rule | None:
        """Return what keeps distributed configurations from running, where none can."""
        found = self.candidates
        if found.distributed:
            return None
        limits = [each for each in found.limits if each.strategy != ONE_DEVICE]
        of_batch = [each for each in limits if each.rule.kind is RuleKind.INDIVISIBLE_BATCH]
        most = max(of_batch or limits, key=lambda each: each.configurations, default=None)
        return why_alone(self.runner.subject.facts) or (most.rule if most else None)


def verdict_of(found: Evidence) -> Verdict:
    if found.recommended.distributed:
        return Verdict.DISTRIBUTE
    cut = found.ended in (Ended.LIMIT, Ended.INTERRUPTED, Ended.FAILED)
    pays = found.further is not None and found.further.pays
    return Verdict.UNDECIDED if cut and pays else Verdict.ONE_DEVICE


def _why_not_taken(configuration: Configuration, outcome: Outcome, found: Evidence) -> NotTaken:
    if outcome is Outcome.REJECTED:
        return NotTaken.REJECTED
    if outcome is not Outcome.MEASURED:
        return NotTaken.STOPPED
    if configuration.distributed and not found.recommended.distributed:
        sure = configuration == found.several and found.distributes >= SURE
        return NotTaken.NOT_CERTIFIED if sure else NotTaken.NOT_SURE
    return NotTaken.SMALL


def _longer(seconds: Interval, between: float) -> Interval:
    return Interval(**{end: each + between for end, each in seconds})
