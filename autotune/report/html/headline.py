"""The head of the page: the verdict, its figure, and what else fits one screen."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.measure import Interval
from autotune.recommendation import Recommendation, Verdict
from autotune.report.html.figure import Figure, figure
from autotune.report.result import FAILURES
from autotune.report.words import in_short, one_line, rate_with_error, sentence, share


@dataclass(frozen=True, kw_only=True)
class Headline:
    """What a reader sees first."""

    workload: str
    machine: str
    verdict: Verdict
    summary: str
    main: Figure | None
    """The figure that the verdict rests on."""
    others: tuple[Figure, ...]
    configuration: str
    reasons: tuple[str, ...]
    interrupted: bool


def headline(result: Recommendation) -> Headline:
    """Return the head of a result's page."""
    figures = _figures(result)
    return Headline(
        workload=result.workload.name,
        machine=str(result.machine),
        verdict=result.verdict,
        summary=one_line(result.summary),
        main=figures[0] if figures else None,
        others=tuple(figures[1:]),
        configuration=in_short(result.config),
        reasons=_reasons(result),
        interrupted=result.interrupted,
    )


def _reasons(result: Recommendation) -> tuple[str, ...]:
    """Return the grounds, without those that the table of failures gives."""
    told = [trial.reason for trial in result.trials if trial.outcome in FAILURES]
    rest = [each for each in result.reasons if not any(reason in each for reason in told)]
    return tuple(map(sentence, rest))


def _figures(result: Recommendation) -> list[Figure]:
    """Return the figures that are known, that of the verdict first."""
    found = []
    if result.distributed_speedup and result.best_distributed:
        found.append(_ratio(result.distributed_speedup, _compared(result)))
    if result.over_default:
        found.append(_ratio(result.over_default, "as fast as the Keras defaults"))
    if result.examples_per_second:
        found.append(figure(rate_with_error(result.examples_per_second), "examples per second"))
    return found


def _compared(result: Recommendation) -> str:
    against = "as fast as the best single device"
    if result.best_distributed in (None, result.config):
        return against
    return f"{against}: best distributed configuration, {in_short(result.best_distributed)}"


def _ratio(interval: Interval, what: str) -> Figure:
    return figure(share(interval), what, unit="\N{MULTIPLICATION SIGN}")
