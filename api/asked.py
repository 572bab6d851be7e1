"""A request for a job as it comes in, and what it becomes once it is checked."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from autotune.api.errors import InvalidBudget, InvalidConstraints, InvalidSpace
from autotune.api.settings import Quotas
from autotune.api.values import Name, Tuning
from autotune.api.workloads import Registry
from autotune.durations import parse_seconds
from autotune.errors import UsageError
from autotune.space import AUTO, Constraints, Space, ready_made
from autotune.strategies import strategies
from autotune.value import Value, Whole

MOST_AXES = 32
MOST_PARAMETERS = 64
MOST_EXAMPLES = 2**31

Text = Annotated[str, Field(strict=True, max_length=200)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Given = Annotated[StrictBool | StrictInt | Number | Text, Field(union_mode="left_to_right")]
"""Strict: otherwise a one would become true."""


class Asked(Value):
    """A request for a job: what to tune, over which space, for how long, within which bounds."""

    workload: Name
    """The name of a registered workload."""
    params: Annotated[dict[Name, Given], Field(max_length=MOST_PARAMETERS)] = Field(
        default_factory=dict
    )
    """Parameters of the workload."""
    space: Name | Space = AUTO
    """`auto`, the name of a ready-made space, or a whole space."""
    budget: Annotated[str, Field(max_length=20)] | Annotated[float, Field(strict=True)] = "3min"
    """Wall time of the search: `90s`, `3min`, or seconds."""
    max_trials: Annotated[Whole, Field(ge=1, le=10_000)] | None = None
    constraints: Constraints = Constraints()
    margin: float = Field(default=0.03, ge=0, le=10, allow_inf_nan=False, strict=True)
    seed: Whole = Field(default=0, ge=0, lt=2**31)

    @property
    def fingerprint(self) -> str:
        """Equal for the same request, in whatever order its members come."""
        text = json.dumps(self.model_dump(mode="json"), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()


def checked(asked: Asked, registry: Registry, quotas: Quotas) -> Tuning:
    """Return a request that a worker can run as it stands.

    Raises:
        InvalidTuning: Something in it is wrong; the text says what.
    """
    workload = registry.find(asked.workload)
    params = workload.validate(asked.params)
    _check_space(asked.space)
    workload.check_space(asked.space, params)
    _check_constraints(asked.constraints)
    return Tuning(
        workload=asked.workload,
        params=params,
        space=asked.space,
        seconds=budget_seconds(asked.budget, quotas),
        max_trials=asked.max_trials,
        constraints=asked.constraints,
        margin=asked.margin,
        seed=asked.seed,
    )


def budget_seconds(budget: str | float, quotas: Quotas) -> float:
    """Return the seconds of a budget.

    Raises:
        InvalidBudget: It is no length of time, or out of bounds.
    """
    try:
        seconds = parse_seconds(budget)
    except UsageError as exc:
        raise InvalidBudget(exc.cause, exc.next_step) from exc
    if not quotas.shortest_budget <= seconds <= quotas.longest_budget:
        raise InvalidBudget(
            f"A budget of {seconds:.0f} s is not allowed.",
            f"Use {quotas.shortest_budget:.0f} to {quotas.longest_budget:.0f} s.",
        )
    return seconds


def _check_space(space: str | Space) -> None:
    # Elsewhere a text may be the path of a file; from a request it must not be.
    if isinstance(space, str) and space not in (AUTO, *ready_made()):
        raise InvalidSpace(
            "Unknown search space.",
            f"Use one of {', '.join([AUTO, *ready_made()])}, or send a space definition.",
        )
    if isinstance(space, Space) and (len(space.axes) > MOST_AXES or _odd(space)):
        raise InvalidSpace(
            f"The space has more than {MOST_AXES} axes, or values that are too long.",
            "Send a smaller one.",
        )


def _odd(space: Space) -> bool:
    values = [each for domain in space.axes.values() for each in domain]
    texts = [each for each in (*values, *space.axes, space.name) if isinstance(each, str)]
    numbers = [each for each in values if isinstance(each, float)]
    return (
        any(len(text) > 100 for text in texts)
        or len(space.description) > 2000
        or not all(map(math.isfinite, numbers))
    )


def _check_constraints(constraints: Constraints) -> None:
    unknown = sorted(set(constraints.strategies or ()) - set(strategies()))
    if unknown:
        raise InvalidConstraints("Unknown strategy.", f"Choose from {', '.join(strategies())}.")
    if len(constraints.workers or ()) > 64:
        raise InvalidConstraints("There are more than 64 worker counts.", "Name fewer.")
    counts = (constraints.global_batch, constraints.max_global_batch, *(constraints.workers or ()))
    if max((each for each in counts if each is not None), default=0) > MOST_EXAMPLES:
        raise InvalidConstraints(
            f"A global batch size exceeds {MOST_EXAMPLES:,}.", "Use a smaller one."
        )
