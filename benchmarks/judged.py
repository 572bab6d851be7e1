"""Three programs that autotune has to judge rightly, with figures for its reasons.

    python benchmarks/judged.py [--budget 120s] [--only tiny wide slow] [--out PAGE]

Each is searched with two workers as the only rival of one device, at its own batch. It prints the
verdict, the gain, and every reason; nothing is written unless it is told where.
"""

from __future__ import annotations

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from autotune import Result, SearchOptions, Verdict, autotune

EXAMPLES = Path(__file__).parents[1] / "examples"
STRATEGIES = ("one_device", "multi_worker_mirrored")
MILLISECONDS = re.compile(r"input-bound, at about ([\d.]+) ms")
"""How long an example takes that is waited for."""


@dataclass(frozen=True, kw_only=True)
class Program:
    """A program, and what has to be said of it."""

    question: str
    example: str
    batch: int
    """Of a replica."""
    must: str
    """What `right` asks, in words."""
    right: Callable[[Result], bool]


def _overhead(result: Result) -> bool:
    told = " ".join(result.reasons)
    figures = re.search(r"exchanging gradients [\d.,]+ ms|resource contention [\d.,]+ ms", told)
    return result.verdict is Verdict.ONE_DEVICE and figures is not None


def _compared(result: Result) -> bool:
    told = " ".join(result.reasons)
    return all(re.search(rf"{part} [\d.,]+ ms", told) for part in ("computing", "gradients"))


def _input(result: Result) -> bool:
    found = MILLISECONDS.search(" ".join(result.reasons))
    slow = found is not None and 9 <= float(found[1]) <= 13
    return result.verdict is not Verdict.DISTRIBUTE and slow


PROGRAMS = {
    "tiny": Program(
        question="(a) Dense 64-10 on 1,000 examples of 100 numbers, batch 32, two workers",
        example="tiny_dense",
        batch=32,
        must="one device, because of what a step of two workers costs, in ms",
        right=_overhead,
    ),
    "wide": Program(
        question="(b) Dense 1024-1024-10 on 10,000 examples of 1,024 numbers, batch 64 for each of "
        "two workers",
        example="wide_dense",
        batch=64,
        must="computing and exchanging gradients, each in ms",
        right=_compared,
    ),
    "slow": Program(
        question="(c) The program of (a), fed by a generator that takes 10 ms for each example",
        example="slow_generator",
        batch=32,
        must="the input is named as the limit, at about 10 ms per example",
        right=_input,
    ),
}


def main() -> None:
    """Judge each program, and print what was said."""
    asked = _asked()
    # What an earlier search remembers is no part of this.
    os.environ["AUTOTUNE_CACHE"] = "off"
    parts = []
    for name in asked.only:
        result = _search(PROGRAMS[name], asked)
        text = "\n".join(_told(PROGRAMS[name], result))
        print(f"{text}\n", flush=True)
        parts.append((text, result))
    if asked.out:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        page = "\n".join([*_head(asked, parts[0][1]), *(f"{text}\n" for text, _ in parts)])
        asked.out.write_text(page, encoding="utf-8")


def _search(program: Program, asked: Namespace) -> Result:
    factory = str(EXAMPLES / f"{program.example}.py")
    return autotune(
        f"{factory}:model_fn",
        f"{factory}:dataset_fn",
        space={
            "name": "judged",
            "strategies": list(STRATEGIES),
            "axes": {
                "per_replica_batch": [program.batch],
                "steps_per_execution": [1, 8],
                "workers": [2],
                "shard_policy": ["source", "file", "data"],
            },
        },
        options=SearchOptions(budget=asked.budget, strategies=STRATEGIES, workers=(2,)),
    )


def _told(program: Program, result: Result) -> Iterator[str]:
    gain = result.distributed_speedup
    yield f"## {program.question}"
    yield ""
    yield f"`examples/{program.example}.py`, {result.seconds:.0f} s."
    yield ""
    yield f"**{result.verdict}.** {result.summary}"
    yield ""
    yield f"- Two workers against one device: {gain or 'not compared in the finals'}"
    yield f"- Must be told: {program.must}: {'told' if program.right(result) else 'MISSED'}"
    yield ""
    yield "Reasons:"
    yield ""
    yield from (f"- {reason}" for reason in result.reasons)


def _head(asked: Namespace, result: Result) -> Iterator[str]:
    machine = result.machine
    yield "# Three programs that have to be judged rightly"
    yield ""
    yield "Written by `make bench-judged`; change the benchmark, not this page."
    yield ""
    yield f"- Date: {datetime.now(UTC).date().isoformat()}"
    yield f"- Machine: {machine} ({machine.processor})"
    versions = f"TensorFlow {machine.tensorflow}, Keras {machine.keras}"
    yield f"- Software: Python {machine.python}, {versions}"
    yield f"- Budget of each search: {asked.budget}; one device against two workers, nothing else"
    yield ""


def _asked() -> Namespace:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("--budget", default="120s")
    parser.add_argument("--only", nargs="+", choices=PROGRAMS, default=[*PROGRAMS])
    parser.add_argument("--out", type=Path, help="the page to write; default: none")
    return parser.parse_args()


if __name__ == "__main__":
    main()
