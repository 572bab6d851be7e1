"""Compares a trial of an agent with a job that is submitted to Ray, and with a local trial.

    python -m benchmarks.starts.bench [--rounds N] [--out PAGE --since TEXT]

Needs root and `ray[default]`: the cluster is a network namespace. Some two minutes.
"""

import json
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from statistics import median

from benchmarks.page import ROOT, page_of, parser_of
from benchmarks.starts.timed import Round
from tests.cluster.hosts import Hosts, why_not
from tests.cluster.ray_hosts import RayHosts

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
GOAL = 5.0
MOST = 0.5
"""Seconds that a trial may take longer on Ray than locally."""


def main() -> int:
    """Measure, print, and write the page that was asked for; fail where the goal is missed."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    asked = parser.parse_args()
    if reason := why_not():
        raise SystemExit(f"Nothing was measured: {reason}.")
    page = page_of(asked, HEAD)
    found = measured(asked.rounds)
    lines = [*told(found)]
    page.show(lines)
    return 0 if faster(found) >= GOAL and longer(found) <= MOST else 1


def measured(rounds: int) -> list[Round]:
    """Return what each round took, on a cluster of one host."""
    with tempfile.TemporaryDirectory() as folder, closing(Hosts(["host0"], Path(folder))) as hosts:
        cluster = RayHosts(hosts, dashboard=True)
        timed = [sys.executable, "-m", "benchmarks.starts.timed"]
        done = cluster.run(*timed, cluster.address, str(rounds), cwd=ROOT, timeout=120 * rounds)
    if done.returncode:
        raise SystemExit(done.stderr)
    return [Round(*json.loads(line)) for line in done.stdout.splitlines()]


def faster(rounds: Sequence[Round]) -> float:
    """Return how many times as long a job takes, in the middle one of the rounds."""
    return median(each.job / each.agent for each in rounds)


def longer(rounds: Sequence[Round]) -> float:
    """Return the seconds by which Ray's engine takes longer, in the middle one of the rounds."""
    return median(each.on_ray - each.here for each in rounds)


def told(rounds: Sequence[Round]) -> Iterator[str]:
    load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
    yield f"{os.cpu_count()} cores, {len(rounds)} rounds in turns, load at the end {load}."
    yield ""
    yield (
        "| round | by an agent, s | as a job, s | times as fast | around the program, on Ray, s | "
        "locally, s |"
    )
    yield "| ---: | ---: | ---: | ---: | ---: | ---: |"
    for number, each in enumerate(rounds, 1):
        yield (
            f"| {number} | {each.agent:.2f} | {each.job:.2f} | {each.job / each.agent:.1f} | "
            f"{each.on_ray:.2f} | {each.here:.2f} |"
        )
    shares = [each.job / each.agent for each in rounds]
    more = [each.on_ray - each.here for each in rounds]
    yield ""
    yield f"- {faster(rounds):.1f} times as fast in the middle ({min(shares):.1f} to"
    yield f"  {max(shares):.1f}); goal: {GOAL:.0f}."
    yield f"- A trial takes {longer(rounds):.2f} s longer on Ray than locally in the middle"
    yield f"  ({min(more):.2f} to {max(more):.2f}); goal: at most {MOST} s."


if __name__ == "__main__":
    sys.exit(main())
