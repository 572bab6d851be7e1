"""Trains the digits example as tuned and by the user's own settings: accuracy over seconds.

    python -m benchmarks.curves.bench [--program FOLDER] [--seeds 5] [--epochs 12]
        [--out PAGE --since TEXT]

Some four minutes on two cores where nothing else runs.
"""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from autotune.engine.local import LocalEngine
from autotune.result import load_configuration
from autotune.strategies import in_short
from benchmarks.page import ROOT, in_words, page_of, parser_of
from benchmarks.share import log_interval

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
EXAMPLE = ("examples/digits.py:model_fn", "examples/digits.py:dataset_fn")
SEARCH = ("--space", "quick", "--budget", "85s")
OWN, TUNED = "your own", "tuned"
TARGET = 0.95
ROWS = 12
"""Of the table over seconds."""

Curve = Sequence[tuple[float, float]]
"""Seconds and accuracy after each epoch."""


def main() -> int:
    parser = parser_of(__doc__)
    parser.add_argument("--program", type=Path, help="what a search has saved; default: search now")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=12)
    asked = parser.parse_args()
    page = page_of(asked, HEAD)
    with LocalEngine() as engine, tempfile.TemporaryDirectory() as folder:
        machine = in_words(engine.machine())
        found = asked.program or searched(Path(folder))
        configuration = load_configuration(found / "config.yaml").configuration
        if (found / "launch.py").exists():
            parser.exit(1, f"{in_short(configuration)} has several processes: compare one.\n")
        runs = trained(found / "train.py", asked.seeds, asked.epochs)
    head = f"{machine}. Tuned: {in_short(configuration)}. {asked.seeds} seeds."
    lines = [head, "", *told(runs)]
    page.show(lines)
    return 0


def searched(folder: Path) -> Path:
    """Return where a search has saved what it found."""
    command = [sys.executable, "-m", "autotune", "tune", *EXAMPLE, *SEARCH, "--out", str(folder)]
    subprocess.run(command, cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
    return folder


def trained(program: Path, seeds: int, epochs: int) -> Mapping[str, list[Curve]]:
    """Return the curves of both from each seed, which take turns in random order."""
    runs: dict[str, list[Curve]] = {OWN: [], TUNED: []}
    drawn = random.Random(0)  # noqa: S311 - an order of runs, no secret
    for seed in range(seeds):
        for whose in drawn.sample(list(runs), len(runs)):
            given = [str(program.resolve())] if whose == TUNED else []
            runs[whose].append(_curve([*given, "--seed", str(seed), "--epochs", str(epochs)]))
    return runs


def _curve(given: Sequence[str]) -> Curve:
    command = [sys.executable, "-m", "benchmarks.curves.train", *given]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True)
    return [(seconds, accuracy) for seconds, accuracy in json.loads(done.stdout)]


def told(runs: Mapping[str, Sequence[Curve]]) -> Iterator[str]:
    titles = [f"accuracy, {whose} (lowest to highest)" for whose in runs]
    yield f"| seconds | {' | '.join(titles)} |"
    yield "| ---: | ---: | ---: |"
    last = max(curve[-1][0] for curves in runs.values() for curve in curves)
    for row in range(1, ROWS + 1):
        seconds = last * row / ROWS
        cells = (_accuracies(curves, seconds) for curves in runs.values())
        yield f"| {seconds:.2f} | {' | '.join(cells)} |"
    yield ""
    yield from _to_target(runs)


def _accuracies(curves: Sequence[Curve], seconds: float) -> str:
    """Return the accuracy over seeds at a time, as the last look has it."""
    found = [max(((s, a) for s, a in curve if s <= seconds), default=None) for curve in curves]
    if None in found:
        return "-"
    accuracies = [each[1] for each in found if each]
    return f"{fmean(accuracies):.3f} ({min(accuracies):.3f} to {max(accuracies):.3f})"


def _to_target(runs: Mapping[str, Sequence[Curve]]) -> Iterator[str]:
    reached = {whose: [seconds_to(each, TARGET) for each in runs[whose]] for whose in runs}
    for whose, seconds in reached.items():
        known = [math.log(each) for each in seconds if each]
        text = f"- Seconds to an accuracy of {TARGET}, {whose}: "
        if len(known) < len(seconds):
            yield f"{text}not reached from {len(seconds) - len(known)} of {len(seconds)} seeds."
        elif len(known) > 1:
            yield f"{text}{log_interval(known)}, n = {len(known)}."
    pairs = zip(reached[OWN], reached[TUNED], strict=True)
    ratios = [math.log(own / other) for own, other in pairs if own and other]
    if len(ratios) == len(reached[OWN]) > 1:
        yield f"- The tuned program is there {log_interval(ratios)} times as soon."


def seconds_to(curve: Curve, target: float) -> float | None:
    """Return when an accuracy was reached, between two looks; None if it was not."""
    if curve[0][1] >= target:
        return curve[0][0]
    for (before, low), (after, high) in pairwise(curve):
        if high >= target:
            return before + (after - before) * (target - low) / (high - low)
    return None


if __name__ == "__main__":
    sys.exit(main())
