"""What every face of a search or its result shows, computed once."""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from autotune.answer import Answer, Entry, Verdict
from autotune.library import modules_for
from autotune.objective import objective_named
from autotune.program import epochs_of
from autotune.reason import Outcome
from autotune.reason.sentences import NOT_TAKEN, reason_text
from autotune.result.explanations import FAILURES, explanations
from autotune.result.headline import headline, own_title, verdict_sentences
from autotune.result.stored import ResultData, folder_of_search
from autotune.stats.intervals import rate_with_error, share, times
from autotune.strategies import in_short
from autotune.text import at_least, one_line, plural, rate, roughly, sentence
from autotune.trial import Stage, Trial

MOST_ROWS = 3
"""Rows of a table, where only the best are shown."""
TIMES = "\N{MULTIPLICATION SIGN}"
PHASES: Mapping[Stage, str] = {
    Stage.BASELINE: "Searching for the best settings on one device",
    Stage.EXPLORE: "Searching for a distributed configuration that beats one device",
    Stage.REPEAT: "Measuring again what the answer rests on",
}


class Row(NamedTuple):
    entry: Entry
    chosen: bool
    """Whether it is the recommended one."""
    own: bool
    """Whether it is the user's own settings, with which all are compared."""
    leader: bool
    """Whether it is the best on one device, or the best on several."""
    name: str
    outcome: str
    rate: str
    ratio: str
    note: str
    """What a reader should know of its figures; empty for one plain run."""
    not_taken: str
    """Why it is not recommended, where its ratio is above that of what is."""

    @property
    def compared(self) -> bool:
        """Whether the answer is about it, or others are compared with it."""
        return self.chosen or self.own or self.leader or bool(self.not_taken)


def rows_of(answer: Answer) -> list[Row]:
    """Return all that has shown a speed, the highest ratio first."""
    return [_row(each, answer) for each in answer.entries]


def _row(entry: Entry, answer: Answer) -> Row:
    configuration = entry.configuration
    own, chosen = configuration == answer.own, configuration == answer.recommended
    measured = entry.outcome is Outcome.MEASURED
    ended = "" if measured else str(entry.outcome)
    runs = plural(entry.runs, "run") if entry.runs > 1 else ""
    not_taken = NOT_TAKEN[entry.not_taken] if entry.not_taken else ""
    return Row(
        entry=entry,
        chosen=chosen,
        own=own,
        leader=configuration in (answer.one_device, answer.several),
        name=in_short(configuration),
        outcome="recommended"
        if chosen
        else ended or ("repeated" if entry.runs > 1 else "run once"),
        rate=rate_with_error(entry.examples_per_second),
        ratio=expected(share(entry.ratio), answer),
        note=", ".join(filter(None, (runs, ended, "your own" if own else "", not_taken))),
        not_taken=not_taken,
    )


def expected(ratio: str, answer: Answer) -> str:
    """Return a ratio, marked where the own settings have not run."""
    return ratio if answer.base else f"~{ratio}"


class TrialRow(NamedTuple):
    trial: Trial
    name: str
    rate: str
    ratio: str
    """How many times as good as the first run of the own settings; `~` before what is expected of
    its configuration while these have not run; empty where nothing is known."""
    why: str
    """Why it has no figure to be compared; empty if it was measured."""


def trial_row(trial: Trial, answer: Answer | None) -> TrialRow:
    return TrialRow(
        trial=trial,
        name=in_short(trial.configuration),
        rate=rate(trial.examples_per_second) if trial.examples_per_second else "",
        ratio=_ratio(trial, answer) if answer else "",
        why="" if trial.measured else one_line(reason_text(trial.reason)),
    )


def _ratio(trial: Trial, answer: Answer) -> str:
    compared = answer.ratio_of_run(trial.configuration, trial.examples_per_second)
    if compared is not None:
        return f"{compared:.2f}"
    found = answer.entry(trial.configuration)
    return f"~{found.ratio.value:.2f}" if found and not answer.base else ""


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


class ResultView:
    def __init__(self, result: ResultData) -> None:
        self.result = result

    @property
    def headline(self) -> tuple[str, str]:
        """The time of the training, and the verdict with what else is said of it."""
        return headline(self.result), " ".join(verdict_sentences(self.result))

    def reasons(self, *, checks: bool = True) -> tuple[str, ...]:
        """Return the explanations; a face that shows what was checked elsewhere leaves that out."""
        return tuple(map(sentence, explanations(self.result, checks=checks)))

    @cached_property
    def rows(self) -> list[Row]:
        return rows_of(self.result.answer)

    @cached_property
    def best(self) -> list[Row]:
        """The best of each strategy, the leaders, the own, and what others would take."""
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
        if over := result.gain_over_yours:
            own = f"as {result.adjective} as {own_title(result)}"
            text = expected(share(over), result.answer)
            found.append(figure(text, own, TIMES, in_short(result.answer.own)))
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
        if not result.trials:
            return f"No trial ran in {roughly(result.seconds)}."
        took = f"{plural(len(result.trials), 'trial')} in {roughly(result.seconds)}"
        text = f"{took}: {self.outcomes}; ± and ranges are 95% intervals."
        objective = objective_named(result.objective)
        return text if objective.shown_anyway else f"{text} Ratios are of {objective.title}."

    def next_steps(
        self, files: Mapping[str, Path], folder: Path, *, fetched: bool = False
    ) -> Iterator[tuple[str, str, str]]:
        """Yield what to do with a result, whose files are there by name: a name, command, remark.

        Where they are fetched from a service, its job can only be submitted again.
        """
        result = self.result
        needed = {"train.py", *modules_for(result.script)}
        if not result.unsaved or needed <= files.keys():
            program = files.get("launch.py") or files.get("train.py") or Path("train.py")
            fit, many = result.facts.fit, epochs_of(result.config, result.workload, result.facts)
            like = ", as the script" if fit and many == fit.epochs else ""
            remark = f"  # {plural(many, 'epoch')}{like}; or --epochs N"
            if folder_of_search(result.workload, folder) is None:
                missing = " and ".join(result.workload.files_below(folder))
                remark = f"  # first put {missing} here, as on the service"
            yield "Train:", f"python {shlex.quote(str(program))}", remark
        if "train.patch" in files:
            gain = result.patch_gain
            known = gain and f"{times(gain)} as {result.adjective} as your script"
            remark = f"  # {known or ' '.join(result.patch_notes[:1])}"
            patch = f"patch -p1 < {shlex.quote(str(files['train.patch']))}"
            yield "Or:", patch, remark
        if "report.html" in files:
            yield "Why:", str(files["report.html"]), ""
        again = "submit the job again" if fetched else "run the same command with --resume"
        if result.interrupted:
            yield "Continue:", again, ""
        elif result.answer.verdict is Verdict.UNDECIDED and (more := result.answer.further):
            budget = at_least(more.seconds + result.seconds if fetched else more.seconds)
            join = " with" if fetched else ""
            yield "Go on:", f"{again}{join} --budget {budget}", ""
        if files:
            yield "All files:", str(folder), ""
