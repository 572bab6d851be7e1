"""The whole page."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from markupsafe import Markup

from autotune.certificate import Check
from autotune.effects import effects
from autotune.report.html.chosen import Setting, settings
from autotune.report.html.endings import Endings, endings
from autotune.report.html.headline import Headline, headline
from autotune.report.html.highlight import marked
from autotune.report.html.importance import Importance, importance
from autotune.report.html.measured import Fact, measured
from autotune.report.html.pays import Pays, pays
from autotune.report.html.rendering import render
from autotune.report.html.repeat import Repeat, repeat
from autotune.report.html.runs import Run, runs
from autotune.report.html.steps import Steps, steps
from autotune.report.html.throughput import Throughput, throughput
from autotune.report.words import distribution
from autotune.result import Result


@dataclass(frozen=True, kw_only=True)
class Page:
    """All that the template tells."""

    head: Headline
    throughput: Throughput
    steps: Steps | None
    pays: Pays | None
    importance: Importance
    checks: tuple[Check, ...]
    endings: Endings
    settings: tuple[Setting, ...]
    programs: tuple[tuple[str, Markup], ...]
    measured: tuple[Fact, ...]
    repeat: Repeat
    runs: tuple[Run, ...]


def page(result: Result, written: datetime | None = None) -> str:
    """Return the page of a result.

    Args:
        result: What was found.
        written: The moment that the page tells; None is now.
    """
    explored = {
        each.configuration: each.examples_per_second.value
        for each in result.compared
        if not each.final
    }
    return render(
        Page(
            head=headline(result),
            throughput=throughput(result),
            steps=steps(result.diagnosis),
            pays=pays(result.diagnosis),
            importance=importance(effects(explored, distribution)),
            checks=result.certificate.checks if result.certificate else (),
            endings=endings(result.trials),
            settings=settings(result.config),
            programs=tuple(
                (name, marked(name, text)) for name, text in result.programs().items() if text
            ),
            measured=measured(result, written or datetime.now(UTC)),
            repeat=repeat(result),
            runs=runs(result.trials, result.board()),
        )
    )
