"""What every face of a search or its result shows, computed once."""

from __future__ import annotations

import shlex
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from autotune.events import Event, Notice, Planned, Preparing, TrialEnded, TrialStarted
from autotune.library import modules_for
from autotune.objective import MAX_THROUGHPUT, Scorer, objective_named
from autotune.plan import Plan
from autotune.program import EPOCHS
from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.result.answer import own_title, summary
from autotune.result.data import ResultData
from autotune.result.explanations import FAILURES, explanations
from autotune.result.leaderboard import ITSELF, Entry, Leaderboard
from autotune.result.saved import folder_of_search
from autotune.space.origin import Origin
from autotune.strategies import in_short
from autotune.text import (
    at_least,
    one_line,
    plural,
    rate,
    rate_with_error,
    roughly,
    sentence,
    share,
    times,
)
from autotune.trial import Stage, Trial

MOST_ROWS = 3
"""Rows of a table, where only the best are shown."""
TIMES = "\N{MULTIPLICATION SIGN}"
WHOSE = {
    Origin.SCRIPT: "as the script by itself",
    Origin.AUTO_STRATEGY: "as AutoStrategy would",
}
PHASES: Mapping[Stage, str] = {
    Stage.BASELINE: "Searching for the best settings on one device",
    Stage.EXPLORE: "Searching for a distributed configuration that beats one device",
    Stage.REPEAT: "Measuring again what the answer rests on",
}


class Progress:
    """The state of a search, as far as its events show; a clock goes on between two of them."""

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now = now
        self._since = now()
        self._ahead = 0.0
        self.waited: float | None = None
        """Seconds before the search began, in which it waited for its machine; None until then."""
        self.phase = "Starting"
        self.plan: Plan | None = None
        self.running: TrialStarted | None = None
        self.running_since = 0.0
        self.leaderboard = Leaderboard(())

    @property
    def elapsed(self) -> float:
        """Seconds since the first event, those before the search included; it never goes back."""
        return self._now() - self._since + self._ahead

    @property
    def spent(self) -> float:
        """Seconds since the search began, of its budget."""
        return self.elapsed - (self.waited or 0.0)

    @property
    def running_for(self) -> float:
        return self.elapsed - self.running_since

    def take(self, event: Event) -> None:
        if self.waited is None and not isinstance(event, Notice):
            self.waited = self.elapsed
        if isinstance(event, Preparing):
            self.phase = event.what
        elif isinstance(event, Planned):
            self.plan = plan = event.plan
            objective = objective_named(plan.objective)
            scorer = Scorer(objective=objective, facts=plan.facts, machine=plan.machine)
            self.leaderboard = Leaderboard(event.kept, scorer)
        elif isinstance(event, TrialStarted):
            self._at(event.elapsed)
            self.phase = PHASES[event.stage]
            self.running, self.running_since = event, self.elapsed
        elif isinstance(event, TrialEnded):
            self._at(event.elapsed)
            self.running, before = None, self.leaderboard
            self.leaderboard = Leaderboard((*before.trials, event.trial), before.score)

    def _at(self, spent: float) -> None:
        """Go forward to what an event says, as that of a search which began before this view."""
        self._ahead += max(spent - self.spent, 0.0)


class Row(NamedTuple):
    entry: Entry
    chosen: bool
    """Whether it is the recommended one."""
    challenger: bool
    """Whether it is the distributed one that the answer is about."""
    name: str
    whose: str
    """Whose settings these are without a search; empty for nobody's."""
    outcome: str
    rate: str
    speedup: str
    note: str
    """What a reader should know of its figures; empty for one plain run."""

    @property
    def compared(self) -> bool:
        """Whether the answer is about it, or others are compared with it."""
        answered = self.chosen or self.challenger
        return answered or bool(self.whose) or self.entry.speedup == ITSELF


def row_of(
    entry: Entry, *, chosen: bool = False, own: bool = False, challenger: bool = False
) -> Row:
    origins = (each for each in entry.origins if not own or each is not Origin.SCRIPT)
    whose = ", ".join([*(["your own"] if own else []), *(WHOSE[each] for each in origins)])
    ended = "" if entry.outcome is Outcome.MEASURED else str(entry.outcome)
    runs = plural(entry.runs, "run") if entry.runs > 1 else ""
    baseline = "the baseline" if entry.speedup == ITSELF else ""
    return Row(
        entry=entry,
        chosen=chosen,
        challenger=challenger,
        name=in_short(entry.configuration),
        whose=whose,
        outcome="recommended"
        if chosen
        else ended or ("repeated" if entry.repeated else "run once"),
        rate=rate_with_error(entry.examples_per_second),
        speedup=share(entry.speedup),
        note=", ".join(filter(None, (baseline, runs, ended, whose))),
    )


class TrialRow(NamedTuple):
    trial: Trial
    name: str
    rate: str
    speedup: str
    """Times the best single device of its time; empty while that is not known."""
    why: str
    """Why it has no figure to be compared; empty if it was measured."""


def trial_row(trial: Trial, leaderboard: Leaderboard) -> TrialRow:
    compared = leaderboard.speedup_of(trial)
    return TrialRow(
        trial=trial,
        name=in_short(trial.configuration),
        rate=rate(trial.examples_per_second) if trial.examples_per_second else "",
        speedup="" if compared is None else f"{compared:.2f}",
        why="" if trial.measured else one_line(reason_text(trial.reason)),
    )


class Figure(NamedTuple):
    """A figure that stands large, its interval small beside it."""

    value: str
    interval: str
    meaning: str
    note: str = ""


def figure(value_text: str, meaning: str, unit: str = "", note: str = "") -> Figure:
    """Set a figure apart from its interval in a text such as `1.42 (1.21 to 1.66)`."""
    value, _, interval = value_text.partition(" ")
    return Figure(f"{value}{unit}", interval.strip("()"), meaning, note)


class Ending(NamedTuple):
    """Trials that ended alike, for the same reason."""

    outcome: Outcome
    reason: str
    trials: Sequence[Trial]

    @property
    def bad(self) -> bool:
        """Whether it calls for attention, unlike what belongs to a search that goes well."""
        return self.outcome not in (Outcome.PRUNED, Outcome.SKIPPED)


def endings(trials: Sequence[Trial]) -> list[Ending]:
    """Return what gave no figure to be compared, first what calls for attention."""
    groups: dict[tuple[Outcome, str], list[Trial]] = {}
    for trial in trials:
        if not trial.measured:
            key = trial.outcome, sentence(reason_text(trial.reason))
            groups.setdefault(key, []).append(trial)
    found = [Ending(outcome, reason, mine) for (outcome, reason), mine in groups.items()]
    return sorted(found, key=lambda each: (not each.bad, each.outcome is Outcome.SKIPPED))


class NextStep(NamedTuple):
    what: str
    command: str
    remark: str = ""


class ResultView:
    def __init__(self, result: ResultData) -> None:
        self.result = result

    @property
    def headline(self) -> tuple[str, str]:
        """The answer, and what else is said of it; empty for nothing."""
        first, end, others = summary(self.result).partition(". ")
        return first + end.rstrip(), others

    def reasons(self, *, checks: bool = True) -> tuple[str, ...]:
        """Return the explanations; a face that shows what was checked elsewhere leaves that out."""
        return tuple(map(sentence, explanations(self.result, checks=checks)))

    @cached_property
    def rows(self) -> list[Row]:
        """All that has shown a speed, the best first."""
        found, chosen = self.result.evidence, self.result.configuration
        return [
            row_of(
                each,
                chosen=each.configuration == chosen,
                own=each.configuration == found.default,
                challenger=each.configuration == found.decision.challenger,
            )
            for each in self.result.compared
        ]

    @cached_property
    def best(self) -> list[Row]:
        """The best of each strategy, the baseline, the recommended, and what others would take."""
        firsts = {row.entry.configuration.strategy: row for row in reversed(self.rows)}
        kept = [row for row in self.rows if row.compared or row in firsts.values()]
        rest = [row for row in self.rows if row not in kept]
        kept += rest[: max(MOST_ROWS - len(kept), 0)]
        return [row for row in self.rows if row in kept]

    @cached_property
    def failures(self) -> list[Ending]:
        return [each for each in endings(self.result.trials) if each.outcome in FAILURES]

    @property
    def figures(self) -> tuple[Figure, ...]:
        result, found = self.result, []
        better, best = f"as {result.evidence.adjective} as", result.best_distributed
        if over := result.gain_over_yours:
            own = f"{better} {own_title(result)}"
            found.append(figure(share(over), own, TIMES, in_short(result.evidence.default)))
        if gain := result.evidence.decision.gain:
            against = f"{better} the best single device"
            if best not in (None, result.configuration):
                against += f": best distributed configuration, {in_short(best)}"
            found.append(figure(share(gain), against, TIMES))
        if reached := result.examples_per_second:
            found.append(figure(rate_with_error(reached), "examples per second"))
        return tuple(found)

    @property
    def outcomes(self) -> str:
        found = Counter(trial.outcome for trial in self.result.trials)
        return ", ".join(f"{count} {outcome}" for outcome, count in found.items())

    @property
    def counts(self) -> str:
        """How many trials there were, how they ended, and what the ranges mean."""
        result = self.result
        took = f"{plural(len(result.trials), 'trial')} in {roughly(result.seconds)}"
        text = f"{took}: {self.outcomes}; ± and ranges are 95% intervals."
        of = result.evidence.quantity
        return text if of == MAX_THROUGHPUT.title else f"{text} Ratios are of {of}."

    def next_steps(
        self, files: Mapping[str, Path], folder: Path, *, fetched: bool = False
    ) -> Iterator[NextStep]:
        """Yield what to do with a result, whose files are there by name, in a folder.

        Where they are fetched from a service, its job can only be submitted again.
        """
        result = self.result
        needed = {"train.py", *modules_for(result.script)}
        if not result.unsaved or needed <= files.keys():
            program = files.get("launch.py") or files.get("train.py") or Path("train.py")
            remark = self._epochs()
            if folder_of_search(result.workload, folder) is None:
                missing = " and ".join(result.workload.files_below(folder))
                remark = f"  # first put {missing} here, as on the service"
            yield NextStep("Train:", f"python {shlex.quote(str(program))}", remark)
        if "train.patch" in files:
            gain, adjective = result.patch_gain, result.evidence.adjective
            known = gain and f"{times(gain)} as {adjective} as your script"
            remark = f"  # {known or ' '.join(result.patch_notes[:1])}"
            patch = f"patch -p1 < {shlex.quote(str(files['train.patch']))}"
            yield NextStep("Or:", patch, remark)
        if "report.html" in files:
            yield NextStep("Why:", str(files["report.html"]))
        again = "submit the job again" if fetched else "run the same command with --resume"
        if result.interrupted:
            yield NextStep("Continue:", again)
        elif more := result.evidence.decision.more_seconds:
            budget = at_least(more + result.seconds if fetched else more)
            join = " with" if fetched else ""
            yield NextStep("Decide:", f"{again}{join} --budget {budget}")
        if files:
            yield NextStep("All files:", str(folder))

    def _epochs(self) -> str:
        fit = self.result.facts.fit
        many = fit.epochs if fit and fit.epochs else EPOCHS
        return f"  # {plural(many, 'epoch')}{', as the script' if fit else ''}; or --epochs N"
