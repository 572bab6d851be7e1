"""A diagnosis in words: `profile.txt` holds what is said of each step, to the letter."""

from pathlib import Path
from typing import Any

import pytest

from autotune.checks.breakdown import Breakdown, Part, Share
from autotune.checks.remedies import Trials, advise
from autotune.checks.scaling import BreakEven, Predicted, Straggler
from autotune.config import Configuration
from autotune.result.profile import limits, on_more_hosts, waiting, where_it_goes, where_it_pays
from autotune.space import Candidates
from autotune.stats.intervals import Interval
from autotune.workload import WorkloadFacts

from .conftest import near, step

ALONE = Configuration(per_replica_batch=32)
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=32, shard_policy="data"
)
SERVED = GANG.but(strategy="parameter_server", servers=1)
AT_SOURCE, IN_FILES = GANG.but(shard_policy="source"), GANG.but(shard_policy="file")
CACHED = ALONE.but(cache="memory")
RATES = {ALONE: (2, 100.0), CACHED: (7, 3400.0)}
"""What trials with and without a cache reached."""
DENSE = WorkloadFacts(dense_gradient_bytes=8_400_000)
SPARSE = WorkloadFacts(dense_gradient_bytes=100_000, gradient_bytes=8_400_000)
PYTHON = WorkloadFacts(python_input=True)
TAKES_SHARE = WorkloadFacts(python_input=True, dataset_takes=("input_context",))
WIDE = Share(part=Part.INPUT, share=Interval(low=-0.4, value=0.3, high=1.0))
GAIN = Interval(low=1.0, value=1.2, high=1.4)
CALLBACKS = (("Watch", 0.0062), ("History", 1e-6))
"""Seconds of a step; the second is too little to be told."""
SLOW = Straggler(worker=1, host="10.0.0.2", factor=2.0, seconds=(0.1, 0.2, 0.1), without=GAIN)


def but(found: Breakdown, **more: Any) -> Breakdown:
    return found.model_copy(update=more)


EXCHANGING = step(GANG, 50.0, exchange=0.8, compute=0.2)
WAITING = step(ALONE, 320.0, input=0.99)
GANG_WAITING = step(GANG, 640.0, input=0.9)
COMPUTING = step(ALONE, 50.0, compute=0.7)
STEPS = {
    "exchange": (EXCHANGING, DENSE),
    "exchange that pays": (step(GANG, 50.0, exchange=0.4, compute=0.6), DENSE),
    "exchange beside nothing known": (step(GANG, 50.0, exchange=0.8), DENSE),
    "exchange of sparse gradients": (EXCHANGING, SPARSE),
    "part that may be anything": (but(COMPUTING, shares=(*COMPUTING.shares, WIDE)), DENSE),
    "nothing known": (but(COMPUTING, shares=(WIDE,)), DENSE),
    "not explained": (but(COMPUTING, unexplained=near(0.3)), DENSE),
    "servers": (but(step(SERVED, 50.0, compute=0.2), unexplained=near(0.8)), DENSE),
    "servers that take little": (step(SERVED, 50.0, compute=0.9), DENSE),
    "contention": (step(GANG, 50.0, compute=0.5, sharing=0.5), DENSE),
    "slow generator": (WAITING, PYTHON),
    "thrown away": (GANG_WAITING, WorkloadFacts()),
    "thrown away beside files": (GANG_WAITING, WorkloadFacts(file_shards=2)),
    "thrown away beside a declared share": (GANG_WAITING, TAKES_SHARE),
    "own share at the source": (step(AT_SOURCE, 640.0, input=0.9), TAKES_SHARE),
    "own share of the files": (step(IN_FILES, 640.0, input=0.9), WorkloadFacts(file_shards=2)),
    "remedies": (WAITING, DENSE),
    "sequence": (but(step(ALONE, 20.0, compute=0.9, call=0.1), fixed=near(0.8)), DENSE),
    "fixed cost": (but(step(ALONE, 20.0, compute=1.0), fixed=near(0.8)), DENSE),
    "fixed cost behind input": (
        but(step(ALONE, 320.0, input=0.99, call=0.0), fixed=near(0.8)),
        DENSE,
    ),
    "call": (but(step(ALONE, 1.0, call=0.6, compute=0.4), fixed=near(0.9)), DENSE),
    "callbacks": (but(step(ALONE, 7.6, callbacks=0.8), callbacks=CALLBACKS), DENSE),
}


def lines(found: Breakdown, facts: WorkloadFacts, rates: Trials | None = None) -> list[str]:
    here = Candidates(configurations=(found.configuration,), limits=())
    remedied, advice = advise(found.configuration, facts, here, rates or {})
    found = but(found, remedied=remedied, advice=advice)
    return [where_it_goes(found) or "", *limits(found, facts)]


def test_a_step_is_told_to_the_letter() -> None:
    """Its parts with milliseconds and intervals, what limits it, and what helps; no more."""
    steps = ("\n".join((f"# {name}", *lines(*each))) for name, each in STEPS.items())
    assert "\n\n".join(steps) + "\n" == Path(__file__).with_name("profile.txt").read_text()


def test_what_was_measured_of_a_remedy_is_told() -> None:
    """Both where a step has not taken it, and where that is why it no longer waits."""
    words = "ached in memory: 34 times the examples per second (trial 7 against 2)"
    assert f"Most promising: c{words}." in lines(WAITING, DENSE, RATES)[-1]
    assert lines(step(CACHED, 9.4, compute=1.0), DENSE, RATES)[1:] == [f"C{words}."]


@pytest.mark.parametrize("batch", [None, near(0.5)], ids=["nowhere", "somewhere"])
def test_a_break_even_without_input_says_so(batch: Interval | None) -> None:
    """It is known of steps that wait for no input, which means nothing where real ones do."""
    found = BreakEven(configuration=GANG, batch=batch, farthest=256)
    assert "2 workers with faster input" in " ".join(where_it_pays(found, waits=True))
    assert "faster input" not in " ".join(where_it_pays(found))


def test_more_hosts_are_only_predicted() -> None:
    """The word stands before the figures, which have their intervals."""
    factor = Interval(low=1.5, value=2.5, high=3.5)
    told = on_more_hosts([Predicted(hosts=4, seconds=near(0.1), speedup=factor)])
    assert told.startswith("Predicted, not measured")
    assert "2.5 times (1.5 to 3.5) on 4 hosts" in told


def test_a_straggler_is_named() -> None:
    assert waiting(SLOW) == (
        "Worker 1 on 10.0.0.2 is a straggler: by itself its step takes 2.0 times as long as the "
        "others' (100, 200, 100 ms by worker), and they wait for it. Predicted, not measured: "
        "without it the 2 others would process 1.2 times (1 to 1.4) as many examples per second."
    )
