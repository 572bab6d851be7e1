"""Judges worker groups of two and three hosts over a slow and a fast link, each predicted before.

    python -m benchmarks.links.bench [--rounds N] [--budget 60s] [--out PAGE --since TEXT]

Needs root and Ray: hosts are network namespaces. Some five minutes for a round. It fails where a
verdict is wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import yaml

from autotune.checks.diagnosis import PAYLOAD
from autotune.stats.intervals import Interval
from benchmarks.page import page_of, parser_of
from benchmarks.share import Share
from tests.cluster.hosts import Hosts, why_not
from tests.cluster.ray_hosts import RayHosts

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
TRUTHS = Path(__file__).parents[1] / "judged" / "truths.py"
NAMES = ("host0", "host1", "host2")
RATES = ("100mbit", None)
"""Of a host's link; None: as fast as the machine can."""
GANGS = (2, 3)
BATCH = 16
STEP = 0.1
"""Seconds that a replica sleeps in a step."""
NUMBERS = 600_000
GRADIENTS = 4 * NUMBERS
"""Bytes."""
MARGIN = 0.05


@dataclass(frozen=True)
class Case:
    """A link and a number of hosts."""

    rate: str | None
    hosts: int


@dataclass(frozen=True)
class Judged:
    """What was predicted of a case, and what a search said."""

    case: Case
    bandwidth: float
    """Bytes a second that a host sent before the search."""
    verdict: str
    measured: Interval | None
    """Examples a second of the gang, as a multiple of one device; None where it had no run."""

    @property
    def predicted(self) -> float:
        """The same, from the link and the sleep alone."""
        return speedup(self.case.hosts, self.bandwidth)

    @property
    def expected(self) -> str:
        """The verdict that follows."""
        return "distribute" if self.predicted > 1 + MARGIN else "one device"

    @property
    def right(self) -> bool:
        return self.verdict == self.expected

    def __str__(self) -> str:
        gain = str(self.measured) if self.measured else "stopped early"
        return (
            f"| {self.case.rate or 'unshaped'} | {self.bandwidth / 125e3:,.0f} | {self.case.hosts} "
            f"| {self.predicted:.2f} | {self.expected} | {gain} | {self.verdict} |"
        )


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="searches of each case")
    parser.add_argument("--budget", default="60s", help="of each search")
    asked = parser.parse_args()
    if reason := why_not():
        raise SystemExit(f"Nothing was measured: {reason}.")
    page = page_of(asked, HEAD)
    found = [*judge_all(asked.rounds, asked.budget)]
    lines = [*told(found, asked.budget)]
    page.show(lines)
    return 0 if all(each.right for each in found) else 1


TABLE = (
    "| link | Mbit/s measured before | hosts | predicted | so | measured | verdict |",
    "| --- | ---: | ---: | ---: | --- | ---: | --- |",
)


def told(found: Sequence[Judged], budget: str) -> Iterator[str]:
    yield f"Budget of each search: {budget}."
    yield ""
    yield from (*TABLE, *map(str, found))
    yield ""
    yield f"- Right: {Share(count=sum(each.right for each in found), of=len(found))}."
    yield from (f"- {line}" for line in break_even())


def judge_all(rounds: int, budget: str) -> Iterator[Judged]:
    """Yield what is said of every case in each round."""
    with tempfile.TemporaryDirectory() as folder, closing(Hosts(NAMES, Path(folder))) as hosts:
        cluster = RayHosts(hosts)
        for _, rate, count in product(range(rounds), RATES, GANGS):
            yield judge(cluster, Case(rate, count), Path(folder), budget)


def judge(cluster: RayHosts, case: Case, folder: Path, budget: str) -> Judged:
    """Predict a case by the link, then search, in a folder that all hosts see."""
    cluster.hosts.shape(case.rate)
    bandwidth = measured_bandwidth(cluster, folder)
    result = search(cluster, case.hosts, folder, budget)
    gain = result["answer"]["distributed_gain"]
    measured = Interval.model_validate(gain) if gain else None
    return Judged(case, bandwidth, result["verdict"], measured)


def measured_bandwidth(cluster: RayHosts, folder: Path) -> float:
    """Return what the slowest of the links gives, by the check that comes before any trial."""
    links = _answer(cluster.autotune("cluster", "check", "--json", cwd=folder))["links"]
    return min(float(each["bytes_per_second"]) for each in links)


def search(cluster: RayHosts, count: int, folder: Path, budget: str) -> dict[str, Any]:
    """Return the result of a search with gangs of so many hosts as the rivals of one device."""
    axes = {"per_replica_batch": [BATCH], "workers": [count], "shard_policy": ["data"]}
    strategies = ["one_device", "multi_worker_mirrored"]
    space = {"name": "links", "strategies": strategies, "axes": axes}
    (folder / "space.yaml").write_text(yaml.safe_dump(space), encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=folder) as out:
        done = cluster.autotune(
            *("tune", f"{TRUTHS}:model_fn", f"{TRUTHS}:dataset_fn", "--json"),
            *("--model-arg", f"sleep={STEP / BATCH}", "--model-arg", f"numbers={NUMBERS}"),
            *("--space", folder / "space.yaml", "--budget", budget, "--margin", str(MARGIN)),
            *("--objective", "max_throughput", "--out", out),
            cwd=folder,
            timeout=600,
        )
    return _answer(done)


def _answer(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    print(done.stderr, file=sys.stderr)
    done.check_returncode()
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def speedup(hosts: int, bandwidth: float) -> float:
    """Return the examples a second of a gang over a ring of links, against one device."""
    exchange = 2 * (hosts - 1) / hosts * GRADIENTS / (bandwidth * PAYLOAD)
    return hosts * STEP / (STEP + exchange)


def break_even() -> Iterator[str]:
    """Yield the links from which gangs pay, all else as it is."""
    for hosts in GANGS:
        exchange = STEP * (hosts / (1 + MARGIN) - 1)
        bandwidth = 2 * (hosts - 1) / hosts * GRADIENTS / PAYLOAD / exchange
        yield f"{hosts} hosts pay from {bandwidth / 125e3:,.0f} Mbit/s on, by the same reckoning."


if __name__ == "__main__":
    sys.exit(main())
