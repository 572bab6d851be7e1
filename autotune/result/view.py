"""What every face of a result shows, computed once: rows, figures, endings, and what to do next."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from autotune.reason import Outcome
from autotune.reason.sentences import reason_text
from autotune.result.answer import summary
from autotune.result.data import ResultData
from autotune.result.explanations import FAILURES, Explanation, explanations
from autotune.result.leaderboard import ITSELF, Entry, Leaderboard
from autotune.space.origin import Origin
from autotune.stats import Interval
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
)
from autotune.trial import Trial

EXPLORED_ROWS = 3
"""Rows of configurations that were not in the finals, where only the best are shown."""
WHOSE = {
    Origin.SCRIPT: "as the script by itself",
    Origin.AUTO_STRATEGY: "as AutoStrategy would",
}
PRUNED_OR_SKIPPED = {
    Outcome.PRUNED: "stopped early: significantly slower than one device",
    Outcome.SKIPPED: "not started: cannot be faster, or cannot run here",
}
"""What belongs to a search that goes well stands below what went wrong."""


class Row(NamedTuple):
    """A configuration in a table."""

    entry: Entry
    chosen: bool
    """Whether it is the recommended one."""
    name: str
    whose: str
    """Who would have trained so without a search; empty for nobody."""
    outcome: str
    rate: str
    speedup: str
    note: str
    """What a reader should know of its figures; empty for one plain run."""


def row_of(entry: Entry, *, chosen: bool = False) -> Row:
    """Return the row of a configuration."""
    whose = ", ".join(WHOSE[each] for each in entry.origins)
    ended = "" if entry.outcome is Outcome.MEASURED else str(entry.outcome)
    runs = plural(entry.runs, "run") if entry.runs > 1 else ""
    baseline = "the baseline" if entry.speedup == ITSELF else ""
    return Row(
        entry=entry,
        chosen=chosen,
        name=in_short(entry.configuration),
        whose=whose,
        outcome="recommended" if chosen else ended or ("finalist" if entry.final else "explored"),
        rate=rate_with_error(entry.examples_per_second),
        speedup=share(entry.speedup),
        note=", ".join(filter(None, (baseline, runs, ended, whose))),
    )


class TrialRow(NamedTuple):
    """A trial in a table."""

    trial: Trial
    name: str
    rate: str
    speedup: str
    """Times the best single device of its time; empty while that is not known."""
    why: str
    """Why it has no figure to be compared; empty if it was measured."""


def trial_row(trial: Trial, leaderboard: Leaderboard | None = None) -> TrialRow:
    """Return the row of a trial, compared with the others of a board."""
    compared = leaderboard.speedup_of(trial) if leaderboard else None
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
    """Set a figure apart from its interval.

    Args:
        value_text: Both, as `text` writes them: `1.42 (1.21 to 1.66)` or
            `1,425 \N{PLUS-MINUS SIGN}9%`.
        meaning: What it says.
        unit: Put behind the figure.
        note: What it belongs to.
    """
    value, _, interval = value_text.partition(" ")
    return Figure(f"{value}{unit}", interval.strip("()"), meaning, note)


@dataclass(frozen=True)
class Ending:
    """Trials that ended alike, for the same reason."""

    outcome: Outcome
    reason: str
    trials: Sequence[Trial]

    @property
    def bad(self) -> bool:
        """Whether it calls for attention."""
        return self.outcome not in PRUNED_OR_SKIPPED


@dataclass(frozen=True)
class Endings:
    """What gave no figure to be compared: pruned, skipped and failed, and why."""

    sentence: str
    causes: Sequence[Ending]
    """Those first that call for attention."""


def endings(trials: Sequence[Trial]) -> Endings:
    """Return why trials gave no figure, or none to be compared."""
    groups: dict[tuple[Outcome, str], list[Trial]] = {}
    for trial in trials:
        if not trial.measured:
            key = trial.outcome, sentence(reason_text(trial.reason))
            groups.setdefault(key, []).append(trial)
    causes = [Ending(outcome, reason, mine) for (outcome, reason), mine in groups.items()]
    order = tuple(PRUNED_OR_SKIPPED)
    causes.sort(key=lambda each: 0 if each.bad else order.index(each.outcome) + 1)
    return Endings(_ended(Counter(t.outcome for t in trials if not t.measured)), causes)


def _ended(found: Counter[Outcome]) -> str:
    if not found:
        return "None: every trial was measured."
    bad = sum(count for each, count in found.items() if each not in PRUNED_OR_SKIPPED)
    failed = [f"{plural(bad, 'trial')} failed"] if bad else []
    said = [
        f"{plural(found[each], 'trial')} {each} ({meaning})"
        for each, meaning in PRUNED_OR_SKIPPED.items()
        if each in found
    ]
    return f"{'; '.join(failed + said)}."


class NextStep(NamedTuple):
    what: str
    command: str
    remark: str = ""


class ResultView:
    """A result as it is shown.

    Args:
        result: Its values.
    """

    def __init__(self, result: ResultData) -> None:
        self.result = result

    @cached_property
    def summary(self) -> str:
        return summary(self.result)

    @cached_property
    def explanations(self) -> tuple[Explanation, ...]:
        return tuple(explanations(self.result))

    def reasons(self, *elsewhere: str) -> tuple[str, ...]:
        """Return the explanations, without the topics that a face shows elsewhere."""
        return tuple(sentence(e.text) for e in self.explanations if e.topic not in elsewhere)

    @cached_property
    def finalists(self) -> list[Row]:
        return [self._row(each) for each in self.result.finalists]

    @cached_property
    def explored(self) -> list[Row]:
        return [self._row(each) for each in self.result.explored]

    def _row(self, entry: Entry) -> Row:
        return row_of(entry, chosen=entry.configuration == self.result.configuration)

    @cached_property
    def best(self) -> list[Row]:
        """The finalists; and of what was explored the best of each strategy, and the chosen."""
        seen = {row.entry.configuration.strategy for row in self.finalists}
        kept = []
        for row in self.explored:
            of = row.entry.configuration.strategy
            if row.entry.origins or row.chosen or of not in seen:
                kept.append(row)
            seen.add(of)
        rest = [row for row in self.explored if row not in kept]
        kept += rest[: max(EXPLORED_ROWS - len(kept), 0)]
        kept.sort(key=lambda row: -row.entry.examples_per_second.value)
        return [*self.finalists, *kept]

    @cached_property
    def endings(self) -> Endings:
        return endings(self.result.trials)

    @property
    def failures(self) -> list[Ending]:
        """The endings that are failures of a configuration."""
        return [each for each in self.endings.causes if each.outcome in FAILURES]

    @property
    def figures(self) -> tuple[Figure, ...]:
        result, found = self.result, []
        adjective, best = result.evidence.adjective, result.best_distributed
        if result.evidence.decision.gain:
            against = f"as {adjective} as the best single device"
            if best not in (None, result.configuration):
                against += f": best distributed configuration, {in_short(best)}"
            found.append(_times(result.evidence.decision.gain, against))
        if result.over_default:
            found.append(_times(result.over_default, f"as {adjective} as the Keras defaults"))
        if result.examples_per_second:
            found.append(figure(rate_with_error(result.examples_per_second), "examples per second"))
        return tuple(found)

    @property
    def outcomes(self) -> str:
        found = Counter(str(trial.outcome) for trial in self.result.trials)
        return ", ".join(f"{count} {outcome}" for outcome, count in found.items())

    @property
    def counts(self) -> str:
        """How many trials there were and how they ended, and what the figures mean."""
        result = self.result
        took = f"{plural(len(result.trials), 'trial')} in {roughly(result.seconds)}"
        if result.measuring_seconds:
            tracing = result.tracing_seconds / result.seconds
            measuring = result.measuring_seconds / result.seconds
            took += f" ({tracing:.0%} tracing and compiling, {measuring:.0%} timed steps)"
        return (
            f"{took}: {self.outcomes}. The column `vs one device` says how many times as "
            f"{result.evidence.adjective} as the best single device; ± and ranges are 95% "
            "intervals."
        )

    def next_steps(self, files: Mapping[str, Path]) -> Iterator[NextStep]:
        """Yield what to do with a result.

        Args:
            files: Where its files are, by name.
        """
        result = self.result
        if not result.unsaved or "train.py" in files:
            program = files.get("launch.py") or files.get("train.py") or Path("train.py")
            yield NextStep("Train:", f"python {shlex.quote(str(program))}", self._epochs())
        if "study.db" in files:
            yield NextStep("Show the study:", f"optuna-dashboard sqlite:///{files['study.db']}")
        again = "run the same command with --resume"
        if result.interrupted:
            yield NextStep("Continue:", again)
        elif more := result.evidence.more_seconds:
            gain, noise = result.evidence.shown_gain, result.evidence.noise.sd
            shows = f"It likely shows a gain of {gain:.0%} or more, if runs vary by {noise:.0%}."
            yield NextStep("Decide:", f"{again} --budget {at_least(more)}", f"\n{'':<16}{shows}")

    def _epochs(self) -> str:
        fit = self.result.facts.fit
        many = fit.epochs if fit and fit.epochs else 1
        return f"  # {plural(many, 'epoch')}{', as the script' if fit else ''}; or --epochs N"


def _times(interval: Interval, what: str) -> Figure:
    return figure(share(interval), what, unit="\N{MULTIPLICATION SIGN}")
