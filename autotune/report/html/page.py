"""The report: one page that needs nothing else, and the parts of it that the service shows too."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any

from jinja2 import Environment

from autotune.config import describe
from autotune.engine.engine import Outcome
from autotune.reason.sentences import reason_text
from autotune.report.html import charts
from autotune.report.html.curves import curves
from autotune.report.html.rendering import SCRIPT, STYLE, environment, part
from autotune.report.html.repeat import repeat
from autotune.report.html.worth import worth
from autotune.report.verdict import Topic, told
from autotune.result import Result
from autotune.stats import Interval
from autotune.strategies import in_short
from autotune.trial import Stage, Trial
from autotune.version import VERSION
from autotune.wording import plural, rate_with_error, roughly, sentence, share, size
from autotune.workload import Workload

_LAST = (Outcome.PRUNED, Outcome.SKIPPED)
"""What belongs to a search that goes well stands below what went wrong."""
_MEANING = {
    Outcome.PRUNED: "stopped early: significantly slower than one device",
    Outcome.SKIPPED: "not started: cannot be faster, or cannot run here",
}
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that HTML or UTF-8 cannot hold; what a dying process printed may have them."""
FUNCTIONS = {
    "describe": describe,
    "mark_of": charts.mark_of,
    "note_on": charts.note_on,
    "stages": {Stage.BASELINE: "one device", Stage.EXPLORE: "distributed", Stage.FINAL: "finals"},
}
"""What the fragments call."""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """A figure that stands large on a page, its interval small beside it."""

    value: str
    interval: str
    meaning: str
    note: str = ""


def figure(told: str, meaning: str, unit: str = "", note: str = "") -> Figure:
    """Set a figure apart from its interval.

    Args:
        told: Both, as `words` tells them: `1.42 (1.21 to 1.66)` or `1,425 \N{PLUS-MINUS SIGN}9%`.
        meaning: What it says.
        unit: Put behind the figure.
        note: What it belongs to.
    """
    value, _, interval = told.partition(" ")
    return Figure(value=f"{value}{unit}", interval=interval.strip("()"), meaning=meaning, note=note)


@dataclass(frozen=True, kw_only=True)
class Cause:
    """Trials that ended alike, for the same reason."""

    outcome: Outcome
    reason: str
    trials: Sequence[Trial]

    @property
    def bad(self) -> bool:
        """Whether somebody should look at it."""
        return self.outcome not in _LAST


@dataclass(frozen=True, kw_only=True)
class Endings:
    """What gave no figure, or none to be compared: pruned, skipped and failed, and why."""

    sentence: str
    causes: Sequence[Cause]
    """Those first that somebody should look at."""


def page(result: Result, written: datetime | None = None) -> str:
    """Return the report of a result.

    Args:
        result: What was found.
        written: The moment that the page tells; None is now.
    """
    text = (
        fragments()
        .get_template("report.html")
        .render(
            parts(result),
            facts=list(_facts(result, written or datetime.now(UTC))),
            repeat=repeat(result),
            style=part(STYLE),
            script=part(SCRIPT),
            policy=policy(),
        )
    )
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def parts(result: Result) -> dict[str, Any]:
    """Return what the fragments need to show a result, by the names that they have there."""
    return {
        "result": result,
        "figures": key_figures(result),
        "grounds": grounds(result),
        "throughput": charts.throughput(result.finalists, result.explored, result.configuration),
        "worth": worth(result),
        "curves": curves(result),
        "steps": charts.steps(result.diagnosis),
        "pays": charts.pays(result.diagnosis),
        "endings": endings(result.trials),
        "programs": {name: text for name, text in result.programs().items() if text},
        "trials": result.trials,
        "board": result.board(),
    }


def key_figures(result: Result) -> tuple[Figure, ...]:
    """Return the figures of a result that are known, that of the verdict first."""
    found = []
    if result.grounds.decision.gain:
        found.append(_times(result.grounds.decision.gain, _compared(result)))
    if result.over_default:
        found.append(
            _times(result.over_default, f"as {result.grounds.adjective} as the Keras defaults")
        )
    if result.examples_per_second:
        found.append(figure(rate_with_error(result.examples_per_second), "examples per second"))
    return tuple(found)


def _compared(result: Result) -> str:
    against = f"as {result.grounds.adjective} as the best single device"
    if result.best_distributed in (None, result.configuration):
        return against
    return f"{against}: best distributed configuration, {in_short(result.best_distributed)}"


def _times(interval: Interval, what: str) -> Figure:
    return figure(share(interval), what, unit="\N{MULTIPLICATION SIGN}")


def grounds(result: Result) -> tuple[str, ...]:
    """Return the reasons, without those that the tables of failures and checks give."""
    elsewhere = (Topic.FAILURE, Topic.CERTIFICATE)
    return tuple(sentence(each.text) for each in told(result) if each.topic not in elsewhere)


def endings(trials: Sequence[Trial]) -> Endings:
    """Return why trials gave no figure, or none to be compared."""
    groups: dict[tuple[Outcome, str], list[Trial]] = {}
    for trial in trials:
        if not trial.measured:
            key = trial.outcome, sentence(reason_text(trial.reason))
            groups.setdefault(key, []).append(trial)
    causes = [
        Cause(outcome=outcome, reason=reason, trials=mine)
        for (outcome, reason), mine in groups.items()
    ]
    causes.sort(key=lambda each: 0 if each.bad else _LAST.index(each.outcome) + 1)
    return Endings(sentence=_ended([t.outcome for t in trials if not t.measured]), causes=causes)


def _ended(found: Sequence[Outcome]) -> str:
    if not found:
        return "None: every trial was measured."
    said = [
        f"{plural(found.count(each), 'trial')} {each} ({_MEANING[each]})"
        for each in _LAST
        if each in found
    ]
    bad = sum(each not in _LAST for each in found)
    failed = [f"{plural(bad, 'trial')} failed"] if bad else []
    return f"{'; '.join(failed + said)}."


def _subject(workload: Workload) -> str:
    if workload.script:
        return workload.script.path
    return f"{workload.model.short_name} on {workload.dataset.short_name}"


def _facts(result: Result, written: datetime) -> Iterator[tuple[str, str]]:
    machine, facts = result.machine, result.facts
    yield "Machine", f"{machine}; {machine.processor}"
    own = f"autotune {VERSION}, Python {machine.python}"
    yield "Software", f"{own}, TensorFlow {machine.tensorflow}, Keras {machine.keras}"
    yield "Workload", _subject(result.workload)
    count = plural(facts.examples, "example") if facts.examples else "uncounted examples"
    data = f"{count} of {size(facts.example_bytes)}", f"{facts.weights:,} weights"
    yield "Data and model", "; ".join(filter(None, (*data, facts.optimizer, facts.loss)))
    found = Counter(str(trial.outcome) for trial in result.trials)
    outcomes = ", ".join(f"{count} {outcome}" for outcome, count in found.items())
    took = f"{plural(len(result.trials), 'trial')} in {roughly(result.seconds)} ({outcomes})"
    yield "Search", f"{took}, {roughly(result.prepared_seconds)} of it before the first trial"
    if result.screened:
        seen = plural(result.screened, "setting")
        yield "Screening", f"{seen} in {roughly(result.screening_seconds)}, to choose the trials"
    yield "Seed", str(result.options.seed)
    yield "Study", f"{result.study}, in study.db or the given storage"
    yield "Written", f"{written:%Y-%m-%d %H:%M} UTC"


@cache
def policy() -> str:
    """Return a policy under which the page can load nothing and run only its own script."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_digest(STYLE)}'",
            f"script-src '{_digest(SCRIPT)}'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def _digest(name: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(part(name).encode()).digest()).decode()}"


def fragments(*packages: str) -> Environment:
    """Return what renders the fragments, and the templates of some packages with them."""
    made = environment(*packages)
    made.globals |= FUNCTIONS
    return made
