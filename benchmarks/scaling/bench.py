"""Compares the steps of more hosts with those that were predicted from fewer.

    python -m benchmarks.scaling.bench [--rounds N] [--out PAGE --since TEXT]

Needs root: hosts are network namespaces. Some five minutes for a round on two cores.
"""

import math
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path
from statistics import median

from autotune.checks.scaling import predict
from autotune.stats.intervals import EXPECTED, Interval, Noise, mean_rate, squared_residuals
from autotune.strategies import Role, tf_config
from benchmarks.page import ROOT, page_of, parser_of
from benchmarks.share import Share
from tests.cluster.hosts import Hosts, why_not

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
RATES: Mapping[str, float | None] = {"100mbit": 12.5e6, "1gbit": 125e6, "unshaped": None}
"""Names of links, and the bytes a second that a host can send."""
UNITS = {2_000_000: 500, 8_000_000: 2000}
"""Bytes of gradients, and the layer that has so many."""
GANGS = (1, 2, 3, 4)
SETTLING, STEPS = 4, 12
"""Steps that are left out after a link has changed, and those that are timed."""
TARGETS = 10
"""Of each case."""
PORT = 20_000
QUIET = {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1", "PYTHONPATH": str(ROOT)}


@dataclass(frozen=True)
class Case:
    """A link and a size of gradients."""

    rate: str
    size: int


Steps = Mapping[Case, Mapping[int, Sequence[float]]]
"""Seconds of a step in each round, by the number of hosts."""


@dataclass(frozen=True)
class Row:
    """A prediction and what it was of."""

    case: Case
    known: tuple[int, ...]
    hosts: int
    predicted: Interval
    measured: float

    @property
    def error(self) -> float:
        """By what share the prediction is too high."""
        return self.predicted.value / self.measured - 1

    @property
    def holds(self) -> bool:
        return self.predicted.low <= self.measured <= self.predicted.high

    def __str__(self) -> str:
        found = self.predicted
        low, value, high = (1000 * each for each in (found.low, found.value, found.high))
        return (
            f"| {self.case.rate} | {self.case.size / 1e6:.0f} MB "
            f"| {', '.join(map(str, self.known))} | {self.hosts} | {1000 * self.measured:.1f} "
            f"| {value:.1f} ({low:.1f} to {high:.1f}) | {self.error:+.0%} |"
        )


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    if reason := why_not():
        raise SystemExit(f"Nothing was measured: {reason}.")
    page = page_of(asked, HEAD)
    lines = [*told(measure(asked.rounds), asked.rounds)]
    page.show(lines)
    return 0


def measure(rounds: int) -> Steps:
    """Return the steps of every gang over every link, in turns."""
    found: dict[Case, dict[int, list[float]]] = defaultdict(lambda: defaultdict(list))
    names = [f"host{number}" for number in range(max(GANGS))]
    with tempfile.TemporaryDirectory() as folder, closing(Hosts(names, Path(folder))) as hosts:
        for _, size, count in product(range(rounds), UNITS, GANGS):
            for rate, seconds in gang(hosts, count, size):
                found[Case(rate, size)][count].append(seconds)
    return found


def gang(hosts: Hosts, count: int, size: int) -> Iterator[tuple[str, float]]:
    """Yield what a step of so many hosts takes over each link."""
    hosts.shape(None)
    workers = start(hosts, count, size)
    try:
        for rate in RATES:
            hosts.shape(None if rate == "unshaped" else rate)
            steps = read(workers[0], time.monotonic())
            seconds = [*islice(steps, SETTLING + STEPS)]
            print(f"{count} hosts, {size} bytes, {rate}: {median(seconds):.4f} s", file=sys.stderr)
            yield rate, median(seconds[SETTLING:])
    finally:
        for each in workers:
            os.killpg(each.pid, signal.SIGKILL)
            each.communicate()


def start(hosts: Hosts, count: int, size: int) -> list[subprocess.Popen[str]]:
    """Start a worker on each of the first hosts."""
    command = [sys.executable, "-m", "benchmarks.scaling.worker", str(UNITS[size])]
    roles = [Role(index=index, host=index) for index in range(count)]
    addresses = [f"{hosts[index].address}:{PORT}" for index in range(count)]
    configs = [
        {"TF_CONFIG": tf_config(roles, addresses, each)} if count > 1 else {} for each in roles
    ]
    return [
        host.start(*command, env={**os.environ, **QUIET, **config}, stderr=subprocess.DEVNULL)
        for host, config in zip(hosts, configs, strict=False)
    ]


def read(worker: subprocess.Popen[str], since: float) -> Iterator[float]:
    """Yield the seconds of each step that a worker, which must not end, began after a time."""
    for line in worker.stdout or ():
        begun, seconds = map(float, line.split())
        if begun > since:
            yield seconds
    raise SystemExit("A worker ended: there is no figure.")


def told(steps: Steps, rounds: int) -> Iterator[str]:
    rows = [*compared(steps)]
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    yield f"{os.cpu_count()} cores, {rounds} rounds, load at the end {load}."
    yield ""
    yield "| link | gradients | from hosts | hosts | measured, ms | predicted, ms | error |"
    yield "| --- | ---: | --- | ---: | ---: | --- | ---: |"
    yield from map(str, rows)
    yield ""
    for known in ((1, 2), (1, 2, 3)):
        mine = [row for row in rows if row.known == known]
        held = Share(count=sum(row.holds for row in mine), of=len(mine))
        off = median(abs(row.error) for row in mine)
        name = " and ".join(map(str, known))
        yield f"- From {name} hosts: median error {off:.0%} (goal: under 15 %)."
        yield f"  The interval held {held}."
    named = [*targets(rows, steps)]
    right, few = sum(said == true for said, true in named), sum(said < true for said, true in named)
    beyond = sum(true > max(GANGS) for _, true in named)
    share = Share(count=right, of=len(named))
    yield f"- The fewest hosts for an epoch of some length: {share} right,"
    yield f"  {few} too few. {beyond} of the lengths no number reached, and that has to be said."


def targets(rows: Sequence[Row], steps: Steps) -> Iterator[tuple[int, int]]:
    """Yield how many hosts are said to reach a target, from two of them, and how many do.

    Targets are lengths of an epoch, from that of two hosts to the shortest of several, and beyond.
    One host is left out: it has nothing to exchange, and is faster here than all others.
    """
    for case, runs in steps.items():
        measured = {n: median(seconds) / n for n, seconds in runs.items() if n > 1}
        predicted = {
            row.hosts: row.predicted.value / row.hosts
            for row in rows
            if row.case == case and row.known == GANGS[:2]
        }
        shortest, longest = min(measured.values()) * 0.9, measured[2]
        for k in range(TARGETS):
            target = longest * (shortest / longest) ** ((k + 1) / TARGETS)
            yield _fewest(measured | predicted, target), _fewest(measured, target)


def _fewest(epochs: Mapping[int, float], target: float) -> int:
    enough = (hosts for hosts in sorted(epochs) if epochs[hosts] <= target)
    return next(enough, max(GANGS) + 1)


def compared(steps: Steps) -> Iterator[Row]:
    """Yield every prediction with what was measured."""
    noise = _noise(steps)
    for case, runs in steps.items():
        measured = {count: mean_rate(seconds, noise) for count, seconds in runs.items()}
        for known, hosts in {(1, 2): (3, 4), (1, 2, 3): (4,)}.items():
            few = {count: measured[count] for count in known}
            link = RATES[case.rate]
            for each in predict(few, hosts, gradient_bytes=case.size, bandwidth=link):
                yield Row(case, known, each.hosts, each.seconds, measured[each.hosts].value)


def _noise(steps: Steps) -> Noise:
    """Return the noise between rounds, of all that was measured together."""
    logs = [[math.log(s) for s in runs] for case in steps.values() for runs in case.values()]
    squares, degrees = squared_residuals(logs)
    return Noise(sd=math.sqrt(squares / degrees), degrees=degrees) if degrees else EXPECTED


if __name__ == "__main__":
    sys.exit(main())
