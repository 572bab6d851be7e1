"""What `autotune verify` and the test of a machine's noise found, for people and as JSON."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from autotune.engine.load import Load
from autotune.result.tables import columns, marked, named
from autotune.search.verdict import FALSE_RATE
from autotune.strategies import in_short
from autotune.verification.aa_test import POWER, AATest
from autotune.verification.answer import Verification
from autotune.wording import plural, rate_with_error, roughly, share

_QUESTION = (
    f"Smallest detectable gain ({POWER:.0%} power, at most {FALSE_RATE:.0%} false positives):"
)


def document(found: Verification | AATest) -> str:
    """Return it as JSON; the trials come without their windows."""
    windows = {"trials": {"__all__": {"windows"}}}
    return found.model_dump_json(indent=2, exclude=windows) + "\n"


def verification_text(found: Verification) -> RenderableType:
    """Return the answer, what it rests on, and what else should be known."""
    notes = [marked(" - ", Text(note)) for note in found.notes]
    count = f"{plural(len(found.trials), 'run')} in {roughly(found.seconds)}."
    head = Text(found.summary, style="bold")
    return Group(head, named(_verified(found), "  "), *notes, Text(count, style="dim"))


def _verified(found: Verification) -> Iterator[tuple[str, str]]:
    yield "recommended", f"{in_short(found.configuration)} ({found.verdict})"
    if found.rival:
        yield "compared with", in_short(found.rival)
    if found.ratio:
        yield "ratio", share(found.ratio)
    if found.examples_per_second:
        yield "examples/s", rate_with_error(found.examples_per_second)
    if found.ratio_to_expected and found.expected:
        expected = rate_with_error(found.expected)
        yield "vs saved", f"{share(found.ratio_to_expected)} of {expected}"


def checkup_text(found: AATest) -> RenderableType:
    """Return the noise, what it may come from, and what can be told apart in spite of it."""
    head = Text(
        f"Run-to-run variation on this machine: {found.between.value:.1%} "
        f"({plural(found.runs, 'run')} in {roughly(found.seconds)}).",
        style="bold",
    )
    table = columns("  time for paired runs", ">pairs", ">gain")
    for each in found.resolutions:
        gain = "too few pairs" if each.gain is None else f"{each.gain:.1%}"
        table.add_row(f"  {roughly(each.seconds)}", str(each.pairs), gain)
    return Group(head, named(_noise(found), "  "), Text(), Text(_QUESTION, style="bold"), table)


def _noise(found: AATest) -> Iterator[tuple[str, str]]:
    yield "trained", f"{found.workload}, {in_short(found.configuration)}"
    yield "examples/s", rate_with_error(found.examples_per_second)
    sd = found.between
    between = f"{sd.value:.1%} ({sd.low:.1%} to {sd.high:.1%})"
    yield "between runs", f"{between}, standard deviation"
    yield "within a run", f"{found.within:.1%} between windows"
    yield "A/A ratio", f"{share(found.ratio)}, {_judged(found)}"
    if found.other_load:
        yield "other programs", _load(found.other_load)


def _judged(found: AATest) -> str:
    pairs = plural(found.pairs, "pair")
    if found.sound:
        return f"over {pairs}: contains 1, as expected"
    return (
        f"over {pairs}: does not contain 1, which happens by chance in 1 check of 20; if it "
        "recurs, the timings on this machine are biased"
    )


def _load(load: Load) -> str:
    parts = [f"{load.busy:.1f} of {plural(load.cores, 'core')}"]
    if load.busiest:
        parts.append(f"mostly {load.busiest}")
    if load.stolen >= 0.05:
        parts.append(f"and the hypervisor withheld {load.stolen:.1f}")
    return ", ".join(parts) + ("; enough to affect timings" if load.noticeable else "")
