"""The report: one page that needs nothing else, and the parts of it that the service shows too."""

import base64
import hashlib
import re
import shlex
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import cache, lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import BashLexer, DiffLexer, PythonLexer, YamlLexer

from autotune.answer import Answer
from autotune.checks.breakdown import UNEXPLAINED, Breakdown, Part
from autotune.checks.scaling import Diagnosis
from autotune.config import describe
from autotune.library import NAMES
from autotune.result.files import programs
from autotune.result.headline import changes, settings
from autotune.result.stored import ResultData
from autotune.result.view import ResultView, Row, endings, rows_of, trial_row
from autotune.stats.intervals import Interval, rate_with_error
from autotune.strategies import in_short
from autotune.text import plural, roughly, size
from autotune.trial import Trial
from autotune.versions import VERSION
from autotune.workload import Workload

STYLE, SCRIPT = "style.css", "script.js"
"""The style sheet of report and service's page, and the script that copies programs."""
_UNPRINTABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Characters that HTML or UTF-8 cannot hold; what a dying process printed may have them."""
_CODE = re.compile(r"`(?P<code>[^`\n]+)`|(?<![\w-])(?P<option>--[a-z][a-z-]*)")
MOST_BARS = 12
"""The best are drawn, and what the answer compares with them; the others stand in a table."""
BEYOND = 1.6
"""An interval lengthens the longest bar up to such a factor of the bar's own figure."""
EXAMPLES = 1000
"""Steps of different batches are compared by the time of so many examples."""
_LEXERS = {"patch": DiffLexer, "py": PythonLexer, "slurm": BashLexer, "yaml": YamlLexer}


def page(result: ResultData, written: datetime | None = None) -> str:
    """Return the report of a result, which tells the moment at which it was written, or now."""
    made = {
        "facts": [*_facts(result, written or datetime.now(UTC))],
        "style": part(STYLE),
        "script": part(SCRIPT),
        "policy": policy(),
    }
    text = environment().get_template("report.html").render(parts(result), **made)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def cell(result: ResultData) -> str:
    """Return what a notebook shows of a result: answers, plot, programs to copy, the report."""
    view = ResultView(result)
    shown = {
        **parts(result),
        "throughput": _throughput(view.best),
        "evidence": view.reasons(),
        "failed": view.failures,
        "counts": view.counts,
        "report": base64.b64encode(page(result).encode()).decode(),
    }
    text = environment().get_template("cell.html").render(shown)
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", text)


def parts(result: ResultData) -> dict[str, Any]:
    """Return what the fragments need to show a result, by the names that they have there."""
    view = ResultView(result)
    return {
        "result": result,
        "headline": view.headline,
        "settings_line": settings(result),
        "changes": changes(result),
        "figures": view.figures,
        # What was checked has a table.
        "evidence": view.reasons(checks=False),
        "throughput": _throughput(view.rows),
        "steps": _steps(result.diagnosis),
        "programs": {
            name: text
            for name, text in programs(result).items()
            # Its modules are the same in every delivery.
            if text and Path(name).stem not in NAMES
        },
        **_trials(result.trials, result.answer),
    }


def parts_so_far(trials: Sequence[Trial], answer: Answer | None) -> dict[str, Any]:
    """Return what the fragments show of a search that goes on."""
    return {
        "result": None,
        "throughput": _throughput(rows_of(answer) if answer else []),
        **_trials(trials, answer),
    }


def _throughput(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the table of every configuration against the user's own settings."""
    first = {*sorted(range(len(rows)), key=lambda i: not rows[i].compared)[:MOST_BARS]}
    drawn = [each for i, each in enumerate(rows) if i in first]
    ratios = [each.entry.ratio for each in drawn]
    return {
        "sentence": f"{plural(len(rows), 'configuration')} measured. Coloured bars are distributed,"
        " lines are 95% intervals, and the dashed line is your own settings.",
        "rows": drawn,
        "rest": [each for i, each in enumerate(rows) if i not in first],
        # One endless interval does not shorten the bars of the others.
        "longest": max((min(r.high, r.value * BEYOND) for r in ratios), default=1.0),
    }


class Step(NamedTuple):
    """The parts of a step, as the time of `EXAMPLES` examples."""

    title: str
    found: Breakdown

    @property
    def milliseconds(self) -> float:
        return self.found.milliseconds / self.found.configuration.global_batch * EXAMPLES

    @property
    def shares(self) -> dict[str, Interval]:
        """The known shares of the parts, and the share that they leave unexplained."""
        known: dict[str, Interval] = {each.part: each.share for each in self.found.shares}
        if self.found.unexplained is not None:
            known[UNEXPLAINED] = self.found.unexplained
        return known

    def time(self, share: float) -> str:
        time = share * self.milliseconds
        return f"{time:,.0f}" if abs(time) >= 100 else f"{time:.3g}"


def _steps(diagnosis: Diagnosis | None) -> dict[str, Any] | None:
    """Return the table of the parts of a step: one device, and the best distributed."""
    if diagnosis is None:
        return None
    named = {"One device": diagnosis.one_device, "Distributed": diagnosis.distributed}
    found = [Step(title, each) for title, each in named.items() if each and each.shares]
    if not found:
        return None
    alone = " There was time for only one of the two." if len(found) < len(named) else ""
    times = [share.value * step.milliseconds for step in found for share in step.shares.values()]
    return {
        "sentence": "Measured by experiments, not with a profiler: the same step in turns with its "
        "batch kept in memory, with more steps per call, without the exchange of gradients, and on "
        "a single replica. Runs that contradict each other widen the intervals. Times are of "
        f"{EXAMPLES:,} examples, with their 95% intervals.{alone}",
        "steps": found,
        "parts": [p for p in (*Part, UNEXPLAINED) if any(p in step.shares for step in found)],
        "longest": max(times),
    }


def percent_of(value: float, longest: float) -> str:
    """Return the length of a bar from zero, at most that of the longest one."""
    return f"{100 * min(max(value / longest, 0.0), 1.0):.2f}%"


def _trials(trials: Sequence[Trial], answer: Answer | None) -> dict[str, Any]:
    rows = [trial_row(each, answer) for each in trials]
    return {"endings": endings(trials), "trials": rows}


def _facts(result: ResultData, written: datetime) -> Iterator[tuple[str, str]]:
    machine, facts = result.machine, result.facts
    yield "Machine", f"{machine}; {machine.processor}"
    own = f"autotune {VERSION}, Python {machine.python}"
    yield "Software", f"{own}, TensorFlow {machine.tensorflow}, Keras {machine.keras}"
    yield "Workload", _workload(result.workload)
    data = f"{facts.how_many} of {size(facts.example_bytes)}", f"{facts.weights:,} weights"
    yield "Data and model", "; ".join(filter(None, (*data, facts.optimizer, facts.loss)))
    view = ResultView(result)
    took = f"{plural(len(result.trials), 'trial')} in {roughly(result.seconds)} ({view.outcomes})"
    before = f"{roughly(result.prepared_seconds)} of it before the first trial"
    yield "Search", f"{took}, {before}"
    yield "Space", result.space or "given as a value"
    yield "Options", result.options.model_dump_json(exclude_defaults=True)
    yield "Seed", str(result.options.seed)
    yield "Study", f"{result.study}, in study.db or the given storage"
    yield "Written", f"{written:%Y-%m-%d %H:%M} UTC"


def _workload(workload: Workload) -> str:
    """Return what was tuned, with all that it was given."""
    if script := workload.script:
        fit = f", the fit in line {script.fit}" if script.fit else ""
        fit += f", fit number {script.number}" if script.number else ""
        return shlex.join([script.path, *script.arguments]) + fit
    model, dataset, *callbacks = (
        " ".join([each.short_name, *(f"{name}={value}" for name, value in each.arguments)])
        for each in workload.factories.values()
    )
    return ", ".join([f"{model} on {dataset}", *(f"callbacks of {each}" for each in callbacks)])


@cache
def policy() -> str:
    """Return a policy under which the page can load nothing and run only its own script."""
    style, script = (
        base64.b64encode(hashlib.sha256(part(name).encode()).digest()).decode()
        for name in (STYLE, SCRIPT)
    )
    own = f"style-src 'sha256-{style}'; script-src 'sha256-{script}'"
    return f"default-src 'none'; {own}; base-uri 'none'; form-action 'none'"


@cache
def environment(*packages: str) -> Environment:
    """Return what renders the fragments, and the folders `templates` of some packages."""
    made = Environment(
        loader=ChoiceLoader([PackageLoader(each) for each in (*packages, __package__ or "")]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=True,
    )
    made.globals["describe"] = describe
    made.filters |= {
        "coded": coded,
        "highlighted": highlighted,
        "in_short": in_short,
        "percent_of": percent_of,
        "rate_with_error": rate_with_error,
        "unbroken": unbroken,
    }
    return made


@cache
def part(name: str) -> Markup:
    text = (files(__package__) / "templates" / name).read_text("utf-8")
    return Markup(text)  # noqa: S704 - a file of ours


def unbroken(text: str) -> str:
    """Return a text whose lengths of time are not broken across lines."""
    times = re.compile(r"\d+ (?:h|min|s)\b(?: \d+ (?:min|s)\b)?")
    return times.sub(lambda found: found[0].replace(" ", "\N{NO-BREAK SPACE}"), text)


def coded(text: str) -> Markup:
    """Return a sentence as HTML: as code what stands in backticks, and options of the command."""

    def as_code(found: re.Match[str]) -> str:
        kind = ' class="option"' if found["option"] else ""
        return f"<code{kind}>{found['option'] or found['code']}</code>"

    # What is escaped already keeps its backticks, and nothing else is let through.
    return Markup(_CODE.sub(as_code, str(escape(text))))  # noqa: S704 - escaped


# A page that is fetched again at every event shows the same program each time.
@lru_cache(maxsize=16)
def highlighted(program: str, name: str) -> Markup:
    """Return a program as HTML, its text unchanged; the name of its file tells the language."""
    lexer = _LEXERS[name.rpartition(".")[2]](stripnl=False, ensurenl=False)
    text: str = highlight(program, lexer, HtmlFormatter(nowrap=True))
    # The formatter ends every line, also one that was not.
    whole = text if program.endswith("\n") else text.removesuffix("\n")
    return Markup(whole)  # noqa: S704 - the formatter has escaped it
