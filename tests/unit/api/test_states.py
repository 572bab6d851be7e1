"""The state machine of a job."""

from __future__ import annotations

import pytest

from autotune.api.errors import IllegalTransition
from autotune.api.states import FINAL, NEXT, UNFINISHED, State, check_transition


@pytest.mark.parametrize("before", [State.DONE, State.CANCELLED, State.FAILED])
def test_what_has_ended_stays_so(before: State) -> None:
    for after in {*State} - {before}:
        with pytest.raises(IllegalTransition, match=f"{before} cannot become {after}"):
            check_transition(before, after)


def test_every_state_can_come_to_an_end() -> None:
    for state in UNFINISHED:
        reached = {state}
        for _ in State:
            reached |= {after for each in reached for after in NEXT[each]}
        assert reached & FINAL
