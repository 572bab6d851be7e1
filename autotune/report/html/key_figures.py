"""The figures of a result that stand large in the report and on the service's page."""

from __future__ import annotations

from autotune.measure import Interval
from autotune.report.html.figure import Figure, figure
from autotune.report.words import in_short, rate_with_error, share
from autotune.result import Result


def key_figures(result: Result) -> tuple[Figure, ...]:
    """Return the figures of a result that are known, that of the verdict first."""
    found = []
    if result.distributed_speedup and result.best_distributed:
        found.append(_ratio(result.distributed_speedup, _compared(result)))
    if result.over_default:
        found.append(_ratio(result.over_default, "as fast as the Keras defaults"))
    if result.examples_per_second:
        found.append(figure(rate_with_error(result.examples_per_second), "examples per second"))
    return tuple(found)


def _compared(result: Result) -> str:
    against = "as fast as the best single device"
    if result.best_distributed in (None, result.config):
        return against
    return f"{against}: best distributed configuration, {in_short(result.best_distributed)}"


def _ratio(interval: Interval, what: str) -> Figure:
    return figure(share(interval), what, unit="\N{MULTIPLICATION SIGN}")
