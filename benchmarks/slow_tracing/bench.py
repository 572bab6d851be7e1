"""Whether ten minutes give a verdict on a model whose tracing takes 20 s and more.

    python -m benchmarks.slow_tracing.bench [--seeds 1] [--budget 600] [--out PAGE --since TEXT]

Run it where nothing else runs.
"""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from autotune import Result
from autotune.result import Verdict
from autotune.strategies import in_short
from autotune.text import times
from benchmarks.default_space.search import search_default_space
from benchmarks.page import page_of, parser_of, this_machine

FILE = Path(__file__).with_name("mobile.py")
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")


def main() -> None:
    """Search, and write the page that was asked for.

    Raises:
        SystemExit: A search came to no verdict.
    """
    asked = _asked()
    page = page_of(asked, HEAD)
    machine = this_machine()
    results = [
        search_default_space(FILE, seed=seed, budget=asked.budget) for seed in range(asked.seeds)
    ]
    found = [f"{machine}.", "", *_table(results)]
    page.show(found)
    open_ = [result for result in results if result.verdict is Verdict.UNDECIDED]
    if open_:
        raise SystemExit(f"{len(open_)} of {len(results)} searches came to no verdict.")


def _table(results: Sequence[Result]) -> Iterator[str]:
    yield (
        "| seed | verdict | best of several replicas over one device | first call on one device, s "
        "| runs | tracing | seconds |"
    )
    yield "| ---: | --- | --- | ---: | ---: | ---: | ---: |"
    for result in results:
        ran = [trial for trial in result.trials if trial.wall_seconds]
        alone = (t.first_step_seconds for t in ran if not t.configuration.distributed)
        tracing = sum(t.first_step_seconds or 0.0 for t in ran)
        gain = result.answer.distributed_gain
        cells = (
            str(result.options.seed),
            f"{result.verdict}: {in_short(result.config)}",
            times(gain) if gain else "not compared",
            f"{median(filter(None, alone)):.0f}",
            str(len(ran)),
            f"{tracing / result.seconds:.0%}",
            f"{result.seconds:.0f}",
        )
        yield f"| {' | '.join(cells)} |"


def _asked() -> Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--budget", type=float, default=600.0, help="seconds of each search")
    return parser.parse_args()


if __name__ == "__main__":
    main()
