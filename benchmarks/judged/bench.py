"""Three programs whose truth is known, and what autotune says of them.

    python -m benchmarks.judged.bench [PROGRAM ...] [--budget 180s] [--out PAGE --since TEXT]

Run it where nothing else runs: some three minutes. It fails where a figure excludes the truth, or a
verdict is wrong.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from autotune import Result, SearchOptions, autotune
from autotune.objective import MAX_THROUGHPUT
from benchmarks.judged.claims import BATCH, PROGRAMS, Program
from benchmarks.page import in_words, page_of, parser_of

TRUTHS = Path(__file__).with_name("truths.py")
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")
STRATEGIES = ("one_device", "multi_worker_mirrored")


def main() -> int:
    asked = _asked()
    page = page_of(asked, HEAD)
    lines, right, machine = [], True, ""
    for name in asked.programs or PROGRAMS:
        result = _search(PROGRAMS[name], asked.budget)
        told = [*PROGRAMS[name].told(result)]
        print("\n".join(told), flush=True)
        lines += told
        right, machine = right and PROGRAMS[name].is_right(result), in_words(result.machine)
    page.write([f"{machine}. Budget of each search: {asked.budget}.", "", *lines])
    return 0 if right else 1


def _search(program: Program, budget: str) -> Result:
    return autotune(
        f"{TRUTHS}:model_fn",
        f"{TRUTHS}:{program.dataset}",
        model_args=program.model,
        space={
            "name": "judged",
            "strategies": list(STRATEGIES),
            "axes": {"per_replica_batch": [BATCH], "workers": [2], "shard_policy": ["data"]},
        },
        options=SearchOptions(
            objective=MAX_THROUGHPUT.name, budget=budget, strategies=STRATEGIES, workers=(2,)
        ),
    )


def _asked() -> Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("programs", nargs="*", metavar="PROGRAM", help="default: all three")
    parser.add_argument("--budget", default="180s", help="of each search")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
