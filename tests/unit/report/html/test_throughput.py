"""The figure of all configurations."""

from __future__ import annotations

from collections.abc import Callable

from autotune.config import Configuration
from autotune.report.html.throughput import SHOWN, Mark, Throughput, throughput
from autotune.result import Result
from autotune.run.engine import Outcome
from autotune.trial import Trial

MakeTrial = Callable[..., Trial]
Changed = Callable[..., Result]


def drawn(result: Result) -> Throughput:
    return throughput(result)


def place(text: str) -> float:
    return float(text.removesuffix("%"))


def test_finalists_stand_first_and_once(result: Result) -> None:
    """What was in the finals is not told again as explored."""
    (finals,) = drawn(result).groups
    assert [line.label.partition(",")[0] for line in finals.lines] == ["Mirrored x2", "one device"]
    assert [line.recommended for line in finals.lines] == [True, False]


def test_a_faster_configuration_is_farther_to_the_right(result: Result) -> None:
    """Its mark stands within its interval, and one device on its line."""
    found = drawn(result)
    pair, alone = found.groups[0].lines
    assert pair.reach
    assert alone.reach
    assert place(pair.reach.low) < place(pair.reach.at) < place(pair.reach.high)
    assert place(pair.reach.at) > place(alone.reach.at)
    assert alone.reach.at == found.one
    assert alone.reach.sure


def test_marks_differ_by_what_they_stand_for(
    result: Result, changed: Changed, make_trial: MakeTrial
) -> None:
    """One device, several, and what was stopped early."""
    slow = make_trial(9, Configuration(per_replica_batch=7), outcome=Outcome.PRUNED)
    found = drawn(changed(trials=(*result.trials, slow)))
    assert [mark for mark, _ in found.marks] == list(Mark)
    assert found.groups[1].lines[-1].mark is Mark.PRUNED
    assert "pruned" in found.groups[1].lines[-1].note


def test_the_slowest_go_to_a_table(result: Result, changed: Changed, make_trial: MakeTrial) -> None:
    """The drawing has an end; every configuration is told somewhere."""
    more = tuple(
        make_trial(i, Configuration(per_replica_batch=i), examples_per_second=float(i))
        for i in range(100, 150)
    )
    found = drawn(changed(trials=(*result.trials, *more)))
    shown = [line for group in found.groups for line in group.lines]
    assert len(shown) == SHOWN
    assert len({line.label for line in (*shown, *found.rest)}) == 52 - 1  # one is in both
    assert "100" in found.rest[-1].label
