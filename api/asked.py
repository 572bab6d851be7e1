"""A request for a job as it comes in, and what it becomes once it is checked."""

from __future__ import annotations

import hashlib
import json
import math
from typing import Annotated

from pydantic import Field, StrictBool, StrictInt

from autotune.api.errors import InvalidBudget, InvalidOption, InvalidSpace
from autotune.api.settings import Quotas
from autotune.api.values import Name, Tuning
from autotune.api.workloads import Registry
from autotune.objective import objectives
from autotune.options import SearchOptions
from autotune.space import AUTO, Space, ready_made
from autotune.strategies import strategies

MOST_AXES = 32
MOST_PARAMETERS = 64

Text = Annotated[str, Field(strict=True, max_length=200)]
Number = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Given = Annotated[StrictBool | StrictInt | Number | Text, Field(union_mode="left_to_right")]
"""Strict: otherwise a one would become true."""


class Asked(SearchOptions):
    """A request for a job: what to tune, over which space, and with which options."""

    workload: Name
    """The name of a registered workload."""
    params: Annotated[dict[Name, Given], Field(max_length=MOST_PARAMETERS)] = Field(
        default_factory=dict
    )
    """Parameters of the workload."""
    space: Name | Space = AUTO
    """`auto`, the name of a ready-made space, or a whole space."""

    @property
    def options(self) -> SearchOptions:
        """The options of the search."""
        return SearchOptions(**{name: getattr(self, name) for name in SearchOptions.model_fields})

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
    check_budget(asked.budget, quotas)
    _check_names(asked)
    return Tuning(
        workload=asked.workload,
        params=params,
        space=asked.space,
        options=asked.options,
    )


def check_budget(seconds: float | None, quotas: Quotas) -> None:
    """Make sure that a budget is within the quotas.

    Raises:
        InvalidBudget: It is not.
    """
    if seconds is None or not quotas.shortest_budget <= seconds <= quotas.longest_budget:
        told = "An unlimited budget" if seconds is None else f"A budget of {seconds:.0f} s"
        raise InvalidBudget(
            f"{told} is not allowed.",
            f"Use {quotas.shortest_budget:.0f} to {quotas.longest_budget:.0f} s.",
        )


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


def _check_names(options: SearchOptions) -> None:
    if set(options.strategies or ()) - set(strategies()):
        raise InvalidOption("Unknown strategy.", f"Choose from {', '.join(strategies())}.")
    if options.objective not in objectives():
        raise InvalidOption("Unknown objective.", f"Choose from {', '.join(objectives())}.")
