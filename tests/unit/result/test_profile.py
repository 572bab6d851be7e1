"""A diagnosis in words, with its figures."""

from __future__ import annotations

import pytest

from autotune.checks.breakdown import Breakdown, Part, Share, Straggler
from autotune.checks.diagnosis import BreakEven, Predicted
from autotune.checks.remedies import Rated, advise, read_by_one
from autotune.config import Configuration
from autotune.result.profile import limits, on_more_hosts, where_it_goes, where_it_pays
from autotune.space import Candidates
from autotune.stats import Interval
from autotune.workload import WorkloadFacts

from .conftest import near as around, step

ALONE = Configuration(per_replica_batch=32)
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=32, shard_policy="data"
)
FACTS = WorkloadFacts(dense_gradient_bytes=8_400_000)


def told(
    found: Breakdown, facts: WorkloadFacts = FACTS, rates: dict[Configuration, Rated] | None = None
) -> str:
    here = Candidates(configurations=(found.configuration,), limits=(), batch_matched={})
    return " ".join(limits(found, facts, advise(facts, here, rates or {})))


def test_every_part_has_its_milliseconds() -> None:
    """A share alone does not say whether it is worth anybody's time."""
    text = where_it_goes(step(GANG, 50.0, exchange=0.8, compute=0.2))
    assert text == (
        "A step of MultiWorkerMirroredStrategy with 2 workers takes 50 ms: exchanging gradients "
        "40 ms, 80% (79% to 81%), computing 10 ms, 20% (19% to 21%)."
    )


def test_the_exchange_stands_beside_the_computing() -> None:
    """With the size of the gradients, and whether it costs more than it saves, if that is known."""
    text = told(step(GANG, 50.0, exchange=0.8, compute=0.2))
    assert "(8.4 MB per replica) adds 40 ms to each step; computing them takes 10 ms" in text
    assert "more than the other replicas save" in text
    assert "more than" not in told(step(GANG, 50.0, exchange=0.4, compute=0.6))
    assert "adds 40 ms to each step: a larger" in told(step(GANG, 50.0, exchange=0.8))
    sparse = WorkloadFacts(dense_gradient_bytes=100_000, gradient_bytes=8_400_000)
    text = told(step(GANG, 50.0, exchange=0.8, compute=0.2), sparse)
    assert "(0.1 MB of dense ones per replica, and sparse ones) adds 40 ms" in text


def test_what_seems_less_than_nothing_is_left_out_of_the_sentence() -> None:
    """By the noise alone a held batch may take longer; the page's table tells it."""
    text = where_it_goes(step(ALONE, 50.0, compute=1.02, input=-0.03))
    assert text == "A step of one device takes 50 ms: computing 51 ms, 102% (101% to 103%)."


def test_what_is_not_known_is_not_told() -> None:
    """A part that may be anything between nothing and all of the step is none to be named."""
    wide = Share(part=Part.INPUT, share=Interval(low=-0.4, value=0.3, high=1.0))
    known = step(ALONE, 50.0, compute=0.7)
    both = known.model_copy(update={"shares": (*known.shares, wide)})
    assert "waiting for input" not in (where_it_goes(both) or "")
    assert where_it_goes(known.model_copy(update={"shares": (wide,)})) == (
        "A step of one device could not be taken apart: its runs differ too much."
    )


def test_what_is_not_explained_is_said() -> None:
    """With its interval, and why where it is less than nothing."""
    known = step(GANG, 50.0, compute=0.7)
    left = known.model_copy(update={"unexplained": around(0.3)})
    assert where_it_goes(left) == (
        "A step of MultiWorkerMirroredStrategy with 2 workers takes 50 ms: computing 35 ms, "
        "70% (69% to 71%); not explained 15 ms, 30% (29% to 31%)."
    )
    overlap = known.model_copy(update={"unexplained": around(-0.2)})
    assert (where_it_goes(overlap) or "").endswith(
        "; together 10 ms, 20% (19% to 21%), more than the step, so parts overlap or something "
        "disturbed the runs."
    )


def test_what_the_computing_hides_stands_beside_what_is_added() -> None:
    """An exchange of 8 ms that adds 2.2 is told with both; noise alone hides nothing."""
    found = step(GANG, 12.2, compute=10 / 12.2, exchange=2.2 / 12.2)
    alone = around(8 / 12.2)
    hidden = found.model_copy(update={"exchange_alone": alone, "hidden": around(5.8 / 12.2)})
    assert (where_it_goes(hidden) or "").endswith(
        "exchanging gradients 2.2 ms, 18% (17% to 19%). A program that only exchanges the "
        "gradients takes 8 ms: at most 5.8 ms, 48% (47% to 49%) of the step, is hidden behind the "
        "computing."
    )
    unsure = found.model_copy(update={"exchange_alone": alone, "hidden": around(0.005)})
    assert "whether any of it is hidden" in (where_it_goes(unsure) or "")


def test_what_servers_take_is_said_to_be_unknown() -> None:
    """Nobody can take them away from workers that train through them."""
    served = Configuration(
        strategy="parameter_server", workers=2, servers=1, per_replica_batch=32, shard_policy="data"
    )
    found = step(served, 50.0, compute=0.2).model_copy(update={"unexplained": around(0.8)})
    assert "parameter servers take cannot be distinguished" in told(found)
    assert "parameter servers take" not in told(step(served, 50.0, compute=0.9))


def test_a_slow_generator_is_told_by_the_example() -> None:
    """A step of 32 examples that waits 320 ms reads one in 10 ms."""
    text = told(step(ALONE, 320.0, input=0.99), WorkloadFacts(python_input=True))
    assert "input-bound, at about 10 ms per example" in text
    assert "Python code produces the examples" in text
    assert "declare `input_context`" in text


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        (WorkloadFacts(), "declare `input_context`"),
        (WorkloadFacts(), "into at least 2 files"),
        (WorkloadFacts(file_shards=2), "with shard policy file each reads its own files"),
        (WorkloadFacts(dataset_takes=("input_context",)), "shard policy source"),
    ],
)
def test_work_that_is_thrown_away_is_told(facts: WorkloadFacts, words: str) -> None:
    """With DATA sharding every worker runs all of the input; what else there is is proposed."""
    text = told(step(GANG, 640.0, input=0.9), facts)
    assert (
        "each of the 2 workers runs the whole input pipeline and discards all but its share" in text
    )
    assert words in text
    assert "at about 10 ms per example" in text


def test_who_shards_at_the_source_throws_nothing_away() -> None:
    """A worker's own pipeline reads its own share only, and so do files; it is not told to."""
    facts = WorkloadFacts(python_input=True, dataset_takes=("input_context",))
    text = told(step(GANG.but(shard_policy="source"), 640.0, input=0.9), facts)
    assert "more workers" in text
    assert "shard policy source" not in text
    for policy in ("source", "file"):
        own = GANG.but(shard_policy=policy)
        assert read_by_one(own, WorkloadFacts(file_shards=2)) == 32
        assert "discards" not in told(step(own, 640.0, input=0.9))


def test_remedies_are_told_in_order() -> None:
    """A cache leaves nothing of the work, parallel calls shorten it, workers only divide it."""
    text = told(step(ALONE, 320.0, input=0.99))
    places = [text.index(each) for each in ("(1) a cache", "`num_parallel_calls`", "`batch_size`")]
    places += [text.index(each) for each in ("`input_context`", "more workers")]
    assert places == sorted(places)


def test_what_was_measured_of_a_remedy_is_told() -> None:
    """Both where a step has not taken it, and where that is why it no longer waits."""
    cached = ALONE.but(cache="memory")
    rates = {ALONE: Rated(2, 100.0), cached: Rated(7, 3400.0)}
    words = "ached in memory: 34 times the examples per second (trial 7 against 2)"
    assert f"(1) c{words};" in told(step(ALONE, 320.0, input=0.99), rates=rates)
    assert told(step(cached, 9.4, compute=1.0), rates=rates) == f"C{words}."


def test_a_straggler_is_told_with_the_share_of_waiting() -> None:
    """Twice the work of one worker leaves the others idle for half of it."""
    late = Straggler(worker=1, factor=2.0, seconds=(0.1, 0.2))
    text = told(step(GANG, 200.0, compute=1.0).model_copy(update={"straggler": late}))
    assert "Worker 1 is a straggler: it works 2.0 times as long per step" in text
    assert "100, 200 ms of CPU time by worker" in text
    assert "idle for about 50% of that" in text
    gain = Interval(low=1.0, value=1.2, high=1.4)
    host = Straggler(worker=1, host="10.0.0.2", factor=2.0, seconds=(0.1, 0.2, 0.1), without=gain)
    text = told(step(GANG, 200.0, compute=1.0).model_copy(update={"straggler": host}))
    assert "Worker 1 on 10.0.0.2 is a straggler: by itself its step takes 2.0 times" in text
    assert "(100, 200, 100 ms by worker)" in text
    assert "Predicted, not measured: without it the 2 others would process 1.2 times" in text


def test_a_sequential_model_is_told() -> None:
    """Where half the batch takes nearly as long, the chain of operations is named."""
    found = step(ALONE, 20.0, compute=0.9, call=0.1).model_copy(update={"fixed": around(0.8)})
    assert "Half the batch would take 90%" in told(found)
    assert "sequence of small operations, so more replicas gain little" in told(found)


def test_a_model_is_not_blamed_without_proof() -> None:
    """Where nobody knows what a call takes, or all wait for input, the model may be innocent."""
    unknown = step(ALONE, 20.0, compute=1.0).model_copy(update={"fixed": around(0.8)})
    assert "most of a step is fixed cost" in told(unknown)
    waiting = step(ALONE, 320.0, input=0.99, call=0.0).model_copy(update={"fixed": around(0.8)})
    assert "Half the batch" not in told(waiting)


@pytest.mark.parametrize("batch", [None, around(0.5)], ids=["nowhere", "somewhere"])
def test_a_break_even_without_input_says_so(batch: Interval | None) -> None:
    """It is known of steps that wait for no input, which is no promise where real ones do."""
    found = BreakEven(configuration=GANG, batch=batch, farthest=256)
    assert "2 workers with faster input" in " ".join(where_it_pays(found, waits=True))
    assert "faster input" not in " ".join(where_it_pays(found))


def test_more_hosts_are_only_predicted() -> None:
    """The word stands before the figures, which have their intervals."""
    factor = Interval(low=1.5, value=2.5, high=3.5)
    text = on_more_hosts([Predicted(hosts=4, seconds=around(0.1), speedup=factor)])
    assert text.startswith("Predicted, not measured")
    assert "2.5 times (1.5 to 3.5) on 4 hosts" in text


@pytest.mark.parametrize(("value", "shown"), [(3e6, "at most about 3 MB"), (0.0, None)])
def test_the_gradients_with_which_it_would_pay_are_told(value: float, shown: str | None) -> None:
    """Not where even none are too many."""
    size = Interval(low=value / 2, value=value, high=value * 2)
    found = BreakEven(configuration=GANG, farthest=256, gradient_bytes=size)
    text = " ".join(where_it_pays(found))
    assert shown in text if shown else "MB" not in text


def test_the_overhead_of_a_call_is_no_sequential_model() -> None:
    """Where the call itself takes the time, the model is not blamed."""
    found = step(ALONE, 1.0, call=0.6, compute=0.4).model_copy(update={"fixed": around(0.9)})
    assert "Calling the step function takes 0.6 ms" in told(found)
    assert "sequence of small operations" not in told(found)
