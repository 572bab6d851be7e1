"""The state machine of a job."""

from __future__ import annotations

import itertools

import pytest

from autotune.api.errors import IllegalTransition
from autotune.api.states import FINAL, NEXT, UNFINISHED, State, transition


@pytest.mark.parametrize(("before", "after"), [*itertools.product(State, State)])
def test_only_listed_steps_are_taken(before: State, after: State) -> None:
    """Every pair of states is either listed and allowed, or refused."""
    if after in NEXT[before]:
        assert transition(before, after) is after
    else:
        with pytest.raises(IllegalTransition, match=f"{before} cannot become {after}"):
            transition(before, after)


def test_every_state_can_come_to_an_end() -> None:
    for state in UNFINISHED:
        reached = {state}
        for _ in State:
            reached |= {after for each in reached for after in NEXT[each]}
        assert reached & FINAL
