"""What an A/A test says of a machine, for people and for machines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autotune.measure import Interval
from autotune.report.tables import columns
from autotune.report.words import counted, in_short, rate_with_error, roughly, share
from autotune.search.verdict import FALSE_RATE
from autotune.verification.checkup import Checkup, OtherLoad
from autotune.verification.resolution import POWER


def checkup_text(found: Checkup) -> RenderableType:
    """Return the noise, what it may come from, and what can be told apart in spite of it."""
    table = Table.grid(padding=(0, 2))
    for name, value in _rows(found):
        table.add_row(Text(f"  {name}", style="dim"), Text(value))
    head = Text(_head(found), style="bold")
    return Group(head, table, Text(), Text(_QUESTION, style="bold"), _resolutions(found))


def checkup_document(found: Checkup) -> str:
    """Return it as JSON; the trials come without their windows."""
    windows = {"trials": {"__all__": {"windows"}}}
    return found.model_dump_json(indent=2, exclude=windows) + "\n"


def _head(found: Checkup) -> str:
    runs = counted(found.runs, "run")
    return (
        f"Run-to-run variation on this machine: {found.between.value:.1%} ({runs} in "
        f"{roughly(found.seconds)})."
    )


def _rows(found: Checkup) -> Iterator[tuple[str, str]]:
    yield "trained", f"{found.workload}, {in_short(found.configuration)}"
    yield "examples/s", rate_with_error(found.examples_per_second)
    yield "between runs", _percent(found.between)
    yield "within a run", f"{found.within:.1%} between windows"
    yield "A/A ratio", f"{share(found.ratio)}, {_judged(found)}"
    if found.other_load:
        yield "other programs", _load(found.other_load)


def _percent(sd: Interval) -> str:
    return f"{sd.value:.1%} ({sd.low:.1%} to {sd.high:.1%}), standard deviation"


def _judged(found: Checkup) -> str:
    pairs = counted(found.pairs, "pair")
    if found.sound:
        return f"over {pairs}: contains 1, as expected"
    return (
        f"over {pairs}: does not contain 1, which happens by chance in 1 check of 20; if it "
        "recurs, the timings on this machine are biased"
    )


def _load(load: OtherLoad) -> str:
    parts = [f"{load.busy:.1f} of {counted(load.cores, 'core')}"]
    if load.busiest:
        parts.append(f"mostly {load.busiest}")
    if load.stolen >= 0.05:
        parts.append(f"and the hypervisor withheld {load.stolen:.1f}")
    return ", ".join(parts) + ("; enough to affect timings" if load.noticeable else "")


_QUESTION = (
    f"Smallest detectable gain ({POWER:.0%} power, at most {FALSE_RATE:.0%} false positives):"
)


def _resolutions(found: Checkup) -> Table:
    table = columns("  time for paired runs", ">pairs", ">gain")
    for each in found.resolutions:
        gain = "too few pairs" if each.gain is None else f"{each.gain:.1%}"
        table.add_row(f"  {roughly(each.seconds)}", str(each.pairs), gain)
    return table
