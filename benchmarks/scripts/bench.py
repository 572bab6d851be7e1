"""Training scripts as people wrote them: whether each comes to a verdict, and what it delivers.

    python -m benchmarks.scripts.bench FOLDER|SCRIPT ... [--budget 120s] [--rate-seconds 30]
        [--seconds 300] [--out PAGE --since TEXT]

Each script is tuned by the installed command in a folder of its own. Then the program that is
handed over trains, and its speed is compared with what was predicted; and once more for a few
steps, after which it goes on to the script's end. Data of `keras.datasets` are stood in for by
random ones of the same shapes. Run it where nothing else runs: some four to six minutes for each.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from autotune.strategies import in_short
from benchmarks.page import page_of, parser_of, this_machine
from benchmarks.scripts.command import Command, finish, rate, tune
from benchmarks.scripts.rows import Row, figures

HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
STAND = Path(__file__).with_name("stand")
SEARCH_SECONDS = 3600.0
"""After which a search that did not end at its budget is taken to hang."""


def main() -> int:
    asked = _asked()
    page = page_of(asked, HEAD)
    machine = this_machine()
    rows = []
    for script in _scripts(asked.scripts):
        rows.append(_row(script, asked))
        print(rows[-1], flush=True)
    found = [*figures(rows, f"{machine}. Budget of each search: {asked.budget}.")]
    page.show(found)
    return 0 if all(row.trains for row in rows) else 1


def _row(script: Path, asked: Namespace) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        shutil.copy(script, folder)
        command = Command(folder=Path(folder), seconds=asked.seconds, environment=_environment())
        search = replace(command, seconds=SEARCH_SECONDS)
        result = tune(search, script.name, ("--space", asked.space, "--budget", asked.budget))
        if isinstance(result, str):
            return Row(script=script.name, reason=result)
        achieved = rate(command, result, asked.rate_seconds)
        finished, reason = finish(command)
        slow = isinstance(achieved, str)
        return Row(
            script=script.name,
            verdict=f"{result.verdict}: {in_short(result.config)}",
            predicted=result.examples_per_second,
            achieved=None if slow else achieved,
            finished=finished,
            reason="; ".join(filter(None, [f"its training {achieved}" if slow else "", reason])),
        )


def _environment() -> dict[str, str]:
    # What an earlier search remembers is no part of this, and there is nobody to look at plots.
    own = {"MPLBACKEND": "Agg", "TF_CPP_MIN_LOG_LEVEL": "2"}
    paths = os.pathsep.join(filter(None, [str(STAND), os.environ.get("PYTHONPATH")]))
    return {**os.environ, **own, "PYTHONPATH": paths}


def _scripts(given: Sequence[Path]) -> Iterator[Path]:
    for each in given:
        yield from sorted([*each.glob("*.py"), *each.glob("*.ipynb")]) if each.is_dir() else [each]


def _asked() -> Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("scripts", nargs="+", type=Path, metavar="FOLDER|SCRIPT")
    parser.add_argument("--space", default="quick")
    parser.add_argument("--budget", default="120s", help="of each search")
    parser.add_argument("--rate-seconds", type=float, default=30.0, help="over which it is timed")
    parser.add_argument("--seconds", type=float, default=300.0, help="to its end, at most")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
