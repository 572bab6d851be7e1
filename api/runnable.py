"""Whether anything of a search space can run on a machine, before a job waits for it in vain."""

from __future__ import annotations

import math

from autotune.api.errors import InvalidSpace, SpaceNotRunnable
from autotune.config import AxisRole, axes_of
from autotune.errors import SpaceError
from autotune.machine import Machine
from autotune.options import SearchOptions
from autotune.report.spaces import any_workload
from autotune.space import AUTO, Space, ready_made
from autotune.space.part import Situation, part_of

ONE_DEVICE = "one_device"
MOST_STRUCTURES = 4096
"""Ways of distributing in one space; looking at more takes too long for an answer."""


def check_runnable(space: str | Space, constraints: SearchOptions, machine: Machine) -> None:
    """Make sure that the machine can run what a space is for.

    What depends on the workload is left out, and so is a batch that is held fixed: one device is
    always measured, and to learn that nothing else can run may be what is wanted. Of a space that
    names ways to distribute, the machine must be able to run at least one.

    Raises:
        InvalidSpace: It is too large, or lacks a strategy that the constraints name.
        SpaceNotRunnable: Nothing of it can.
    """
    if space == AUTO:  # It fits the machine.
        return
    found = space if isinstance(space, Space) else ready_made()[space]
    bounds = SearchOptions(
        workers=constraints.workers, allow_asynchronous=constraints.allow_asynchronous
    )
    where = Situation(machine=machine, facts=any_workload(found), constraints=bounds)
    _check_size(found, constraints)
    rules: list[str] = []
    names = _strategies(found, constraints)
    for name in [each for each in names if each != ONE_DEVICE] or [ONE_DEVICE]:
        broken = _rules(found, name, where)
        if None in broken:
            return
        rules += [each for each in broken if each]
    raise SpaceNotRunnable(
        f"This space cannot run on this machine: {rules[0] if rules else 'it is empty'}.",
        "Use another space.",
    )


def _strategies(space: Space, constraints: SearchOptions) -> tuple[str, ...]:
    asked = constraints.strategies or space.strategies
    missing = sorted(set(asked) - {*space.strategies, ONE_DEVICE})
    if missing:
        raise InvalidSpace(
            f"Space {space.name!r} has no strategy {missing[0]!r}.",
            f"It has {', '.join(space.strategies)}.",
        )
    return asked


def _check_size(space: Space, constraints: SearchOptions) -> None:
    names = [name for name in axes_of(AxisRole.PLACEMENT) if name != "strategy"]
    domains = {name: space.values(name) for name in names}
    domains["workers"] = constraints.workers or domains["workers"]
    if math.prod(map(len, domains.values())) > MOST_STRUCTURES:
        raise InvalidSpace(
            f"The space has more than {MOST_STRUCTURES:,} ways to distribute.",
            f"Shorten {', '.join(names)}.",
        )


def _rules(space: Space, name: str, where: Situation) -> list[str | None]:
    """Return for each way of distributing the rule that it breaks, None if it can run."""
    try:
        return list(part_of(space, name, where).structures.values())
    except SpaceError as exc:
        raise InvalidSpace(exc.cause, exc.next_step) from exc
