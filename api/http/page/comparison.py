"""Two jobs side by side."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import JsonValue

from autotune.api.comparison import Comparison, Side
from autotune.api.errors import InvalidOption
from autotune.api.http.page.addresses import job_page
from autotune.api.values import Job
from autotune.strategies import in_short
from autotune.wording import clock, rate_with_error, share


@dataclass(frozen=True, kw_only=True)
class Row:
    """What one thing is of both jobs."""

    name: str
    values: tuple[str, str]

    @property
    def differs(self) -> bool:
        """Whether it is not the same."""
        return self.values[0] != self.values[1]


@dataclass(frozen=True, kw_only=True)
class ComparisonView:
    """The page of two jobs."""

    jobs: tuple[Job, Job]
    addresses: tuple[str, str]
    obstacles: tuple[str, ...]
    """Why their figures cannot be compared."""
    found: tuple[Row, ...]
    settings: tuple[Row, ...]
    """Those that differ."""


def pair_of(chosen: list[str]) -> tuple[str, str]:
    """Return the two jobs that were chosen.

    Raises:
        InvalidOption: They are more or fewer.
    """
    if len(chosen) != 2:
        raise InvalidOption("Two jobs can be compared at a time.", "Tick two in the list.")
    return chosen[0], chosen[1]


def comparison_view(found: Comparison) -> ComparisonView:
    """Return the view of two jobs."""
    first, second = found.tunings
    return ComparisonView(
        jobs=(first.job, second.job),
        addresses=(job_page(first.job.id), job_page(second.job.id)),
        obstacles=tuple(each.sentence for each in found.obstacles),
        found=tuple(
            Row(name=name, values=(mine, yours))
            for (name, mine), (_, yours) in zip(_found(first), _found(second), strict=True)
        ),
        settings=tuple(
            Row(name=each.name, values=(_text(each.values[0]), _text(each.values[1])))
            for each in found.differences
        ),
    )


def _found(side: Side) -> Iterator[tuple[str, str]]:
    """Yield what there is to tell of a job; a dash is for what it does not have."""
    job, told = side.job, side.examples_per_second
    yield "Verdict", job.verdict or "-"
    yield "Summary", job.summary or job.reason or "-"
    yield "Best configuration", in_short(side.configuration) if side.configuration else "-"
    yield "Examples per second", rate_with_error(told) if told else "-"
    yield "Best distributed over one device", share(side.best_distributed_speedup)
    yield "Machine", str(side.machine) if side.machine else "-"
    yield "Code", job.code or "-"
    yield "Trials", f"{job.trials:,}"
    yield "Time spent", clock(side.spent)


def _text(value: JsonValue) -> str:
    match value:
        case None:
            return "-"
        case list():
            return ", ".join(map(_text, value))
        case dict():
            return "; ".join(f"{name}: {_text(each)}" for name, each in value.items())
    return str(value)
