"""Renders the logs of a comparison into a page; a run that was cut short has one too.

python benchmarks/peers/table.py RESULTS [PAGE]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

from contestants import CONTESTANTS
from findings import CLOSE, Finding, Standing, by_name, standing

from autotune.config import Configuration
from autotune.measure import Interval
from autotune.strategies import in_short
from autotune.value import Value

RUN = "run.json"


class Run(Value):
    """What was asked for, and where it ran."""

    date: str
    machine: str
    versions: dict[str, str]
    workloads: tuple[str, ...]
    contestants: tuple[str, ...]
    space: str
    sizes: dict[str, int]
    """Configurations of each workload's list."""
    seconds: float
    turns: int
    seed: int


def page(results: Path) -> str:
    """Return the page as Markdown."""
    run = Run.model_validate_json((results / RUN).read_text(encoding="utf-8"))
    found = {name: standing(results / name, run.contestants) for name in run.workloads}
    lines = [*_head(run)]
    for name, each in found.items():
        lines += _section(name, run, each)
    if "autotune" in run.contestants:
        lines += ["## Where autotune lost", "", *_losses(found), ""]
    return "\n".join(lines)


def _head(run: Run) -> Iterator[str]:
    yield "# autotune and the alternatives"
    yield ""
    yield "Written by `make bench-peers`; change the benchmark, not this page."
    yield ""
    yield f"- Date: {run.date}"
    yield f"- Machine: {run.machine}"
    yield f"- Software: {', '.join(f'{name} {v}' for name, v in run.versions.items())}"
    yield f"- Limit for each search: {run.seconds:g} s of wall time; seed {run.seed}"
    yield ""
    yield (
        f"All search the same list of configurations (of the space `{run.space}`, what can run "
        "here), one after the other on the same machine, each in a process of its own that is "
        "ended at the limit. The list itself was found out beforehand: the others get for nothing "
        "what autotune does within its limit. "
        "autotune may also try one device at the batch of all replicas together."
    )
    yield ""
    for name in run.contestants:
        yield f"- **{CONTESTANTS[name].title}**: {CONTESTANTS[name].how}"
    yield ""
    yield (
        "Each contestant's incumbent is what its own measurements said was best. Afterwards every "
        f"incumbent of anybody was measured again, {run.turns} times, in fresh runs in random "
        "order that took turns; all figures below come from these runs, and the best is the best "
        "of them. As one of several it is a little too fast by luck, which lowers all shares "
        "alike. Intervals are of 95 %."
    )
    yield ""
    yield (
        f"*Time to {CLOSE:.0%}*: from when on the incumbent truly reached {CLOSE:.0%} of the "
        "best, for good. *Distributes*: whether more than one replica is recommended, and what "
        "that is as a multiple of the best single device. WRONG: it is slower than that."
    )
    yield ""


def _section(name: str, run: Run, found: Standing) -> Iterator[str]:
    yield f"## {name}"
    yield ""
    if found.best is None:
        yield "Not measured."
        yield ""
        return
    yield (
        f"{run.sizes.get(name, 0)} configurations, of which {found.arms} were somebody's "
        f"incumbent. Best: {_named(found.best)}. Best single device: "
        f"{_named(found.one_device)}. Best distributed as a multiple of that: "
        f"{_interval(found.gain)}."
    )
    yield ""
    yield f"| | trials | time to {CLOSE:.0%} | share of the best | distributes | recommends |"
    yield "| --- | ---: | ---: | --- | --- | --- |"
    for each in found.findings:
        yield _row(each, found)
    yield ""


def _row(finding: Finding, found: Standing) -> str:
    seconds = finding.seconds_to_close
    cells = (
        CONTESTANTS[finding.name].title,
        str(finding.trials),
        "never" if seconds is None else f"{seconds:.0f} s",
        _interval(finding.share),
        _distributes(finding, found),
        _named(finding.recommended),
    )
    return f"| {' | '.join(cells)} |"


def _distributes(finding: Finding, found: Standing) -> str:
    over = finding.over_one_device
    if finding.recommended is None or over is None:
        return "-"
    if not finding.recommended.distributed:
        missed = found.gain is not None and found.gain.low > 1
        return f"no, but {found.gain.value:.2f} was to be had" if missed and found.gain else "no"
    verdict = "WRONG" if over.value < 1 else "right"
    return f"yes, {verdict}: {_interval(over)}"


def _losses(found: dict[str, Standing]) -> list[str]:
    lost = [line for name, each in found.items() for line in _lost(name, each)]
    return lost or ["Nowhere: nobody was sooner or recommended anything faster."]


def _lost(workload: str, found: Standing) -> Iterator[str]:
    others = dict(by_name(found.findings))
    mine = others.pop("autotune", None)
    if mine is None or found.best is None:
        return
    for name, each in others.items():
        title = CONTESTANTS[name].title
        if each.share and (mine.share is None or each.share.value > mine.share.value):
            yield (
                f"- {workload}: {title} recommended something faster, {_interval(each.share)} "
                f"of the best instead of {_interval(mine.share)}."
            )
        if each.seconds_to_close is not None and each.seconds_to_close < _seconds(mine):
            own = "never" if mine.seconds_to_close is None else f"{mine.seconds_to_close:.0f} s"
            yield (
                f"- {workload}: {title} was at {CLOSE:.0%} of the best sooner, after "
                f"{each.seconds_to_close:.0f} s (autotune: {own})."
            )


def _seconds(finding: Finding) -> float:
    return float("inf") if finding.seconds_to_close is None else finding.seconds_to_close


def _named(configuration: Configuration | None) -> str:
    return in_short(configuration) if configuration else "none"


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return "-"
    if interval.low == interval.high:
        return f"{interval.value:.2f}"
    return f"{interval.value:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def write_page(results: Path, path: Path) -> None:
    """Write the page of a comparison."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(page(results), encoding="utf-8")


if __name__ == "__main__":
    if len(sys.argv) > 2:
        write_page(Path(sys.argv[1]), Path(sys.argv[2]))
    else:
        print(page(Path(sys.argv[1])))
