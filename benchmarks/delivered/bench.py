"""Predicted throughput, against what the written program achieves in a longer run.

    python -m benchmarks.delivered.bench [WORKLOAD ...] [--budget 60] [--seconds 60] [--repeats 1]
        [--minutes M] [--out PAGE --since TEXT]

Each workload is searched, then its program trains in fresh processes without autotune, with its
validation and checkpoints, and with some more of the search's trials of it before and behind each
run; a row is kept when it is done. What has its
row at this commit is not run again, so that it can be done in parts.
Run it where nothing else runs: some three minutes for each of the ten, and 17 with --seconds 900.
"""

import tempfile
from argparse import Namespace
from pathlib import Path
from statistics import fmean

from autotune import Result, SearchOptions, autotune
from autotune.errors import NothingMeasured
from autotune.objective import MAX_THROUGHPUT
from autotune.strategies import in_short
from benchmarks.again import in_turns
from benchmarks.delivered.program import rate_of
from benchmarks.delivered.rows import WORKLOADS, Row, figures
from benchmarks.page import page_of, parser_of, this_machine
from benchmarks.parts import run_missing
from benchmarks.share import scaled

INPUTS = Path(__file__).with_name("inputs.py")
EXAMPLES = Path(__file__).parents[2] / "examples"
ROWS = Path("autotune-out/delivered/rows.jsonl")
BESIDE = 3
"""Trials before each run, and as many behind it."""
HEAD = Path(__file__).with_suffix(".md").read_text(encoding="utf-8")


def main() -> None:
    asked = _asked()
    page = page_of(asked, HEAD)
    machine = this_machine()
    rows = run_missing(
        ROWS,
        Row,
        page.commit,
        asked.workloads or WORKLOADS,
        lambda name: _row(name, asked, page.commit),
        minutes=asked.minutes,
    )
    found = [*figures(rows, machine)]
    page.show(found)


def _row(name: str, asked: Namespace, commit: str) -> Row:
    row = Row(
        commit=commit, workload=name, seed=asked.seed, budget=asked.budget, seconds=asked.seconds
    )
    with tempfile.TemporaryDirectory() as folder:
        try:
            result = _search(name, asked, folder)
        except NothingMeasured:
            return row
        rate, share = result.examples_per_second, _training_share(result)
        endless = ("--epochs", "1000000", "--resume", str(Path(folder, "checkpoints")))
        achieved, beside = [], []
        for _ in range(asked.repeats if rate else 0):
            before = _trials(result)
            achieved.append(rate_of(result, Path(folder), asked.seconds, endless))
            beside.append(share * fmean([*before, *_trials(result)]))
        found = {
            "predicted": rate and scaled(rate, share),
            "between": result.between,
            "achieved": tuple(achieved),
            "beside": tuple(beside),
            "said": f"{result.verdict}: {in_short(result.config)}",
        }
        return row.model_copy(update=found)


def _training_share(result: Result) -> float:
    """Return the share of the time that trains; the rest validates and saves."""
    rate, examples = result.examples_per_second, result.facts.examples
    if not (rate and examples and result.between):
        return 1.0
    epoch = examples / rate.value
    return epoch / (epoch + result.between)


def _trials(result: Result) -> list[float]:
    """Return the examples per second of some trials of what is recommended."""
    trials = [*in_turns(result, [result.config], rounds=BESIDE)[result.config].values()]
    return [rate for trial in trials if (rate := trial.examples_per_second)]


def _search(name: str, asked: Namespace, folder: str) -> Result:
    """Search a small space for a function of `inputs.py`, or for an example."""
    is_example = (EXAMPLES / f"{name}.py").is_file()
    axes = {
        "per_replica_batch": [64, 256],
        "steps_per_execution": [1, 8],
        "workers": [2],
        "shard_policy": ["source", "data"],
    }
    return autotune(
        f"{EXAMPLES / f'{name}.py' if is_example else INPUTS}:model_fn",
        f"{INPUTS}:{'example' if is_example else name}",
        dataset_args={"name": name} if is_example else None,
        space={
            "name": name,
            "strategies": ["one_device", "multi_worker_mirrored"],
            "axes": {**axes, "cache": ["off", "memory"]} if name == "costly" else axes,
        },
        options=SearchOptions(objective=MAX_THROUGHPUT.name, budget=asked.budget, seed=asked.seed),
        out=folder,
    )


def _asked() -> Namespace:
    parser = parser_of(__doc__)
    parser.add_argument("workloads", nargs="*", metavar="WORKLOAD", help="default: all ten")
    parser.add_argument("--budget", type=float, default=60.0, help="seconds of each search")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each run")
    parser.add_argument("--repeats", type=int, default=1, help="runs of each program")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="begin none after")
    return parser.parse_args()


if __name__ == "__main__":
    main()
