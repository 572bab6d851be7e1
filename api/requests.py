"""The checks of a request before its job waits, and which jobs a list has."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from autotune.api.settings import Quotas
from autotune.api.workloads import Registry
from autotune.axis import AxisRole
from autotune.base import Described, Scalar
from autotune.config import axes, axes_of
from autotune.errors import SpaceError
from autotune.machine import Machine
from autotune.objective import OBJECTIVES
from autotune.options import SearchOptions
from autotune.reason import Rule
from autotune.reason.sentences import rule_text
from autotune.result import Verdict
from autotune.space import AUTO, ONE_DEVICE, Situation, Space, part_of, ready_made, strategies_of
from autotune.strategies import strategies
from autotune.text import is_line
from autotune.wire.errors import (
    InvalidBudget,
    InvalidOption,
    InvalidParameter,
    InvalidSpace,
    InvalidTuning,
    SpaceNotRunnable,
)
from autotune.wire.jobs import JobRequest, Program, State, Text, Tuning
from autotune.workload import Returned, WorkloadFacts, is_script

MOST_AXES = 32
LARGEST = 2.0**63
"""Largest number of a space; sizes are computed with them."""
MOST_STRUCTURES = 4096
"""Ways of distributing in one space; looking at more takes too long for an answer."""


def _digits(given: Any) -> Any:
    if isinstance(given, str) and not re.fullmatch("-?[0-9]{1,18}", given, re.ASCII):
        raise ValueError("Input should be a whole number")
    return given


# The bounds come first, so that the JSON schema has them.
DIGITS = BeforeValidator(_digits)
"""A whole number in plain digits; `+1.0` is none."""


class ListQuery(Described):
    """Which jobs to list."""

    state: list[State] = Field(default=[], max_length=len(State))
    """Only those in one of these states."""
    workload: Text | None = None
    """Only those of this workload."""
    verdict: Verdict | None = None
    """Only those with this verdict."""
    before: Annotated[str, Field(pattern="^[0-9a-f]{24}$")] | None = None
    """The `next` of the page before."""
    limit: Annotated[int, Field(ge=1, le=100), DIGITS] = 20
    """Most jobs to return."""


def checked(
    request: JobRequest, registry: Registry, quotas: Quotas, machines: Sequence[Machine] = ()
) -> Tuning:
    """Return what a worker can run as it stands, with all parameters of the workload."""
    _check_space(request.space)
    name, params = request.workload, dict[str, Scalar](request.params)
    if request.program is None:
        workload = registry[name]
        params = workload.validate(params)
        workload.check_space(request.space, params)
    else:
        name = _checked_name(request.program, params)
    shortest, longest = quotas.shortest_budget, quotas.longest_budget
    if request.budget is not None and not shortest <= request.budget <= longest:
        raise InvalidBudget(
            f"A budget of {request.budget:.0f} s is not allowed.",
            f"Use {shortest:.0f} to {longest:.0f} s, or auto.",
        )
    _check_names(request)
    for number, each in enumerate(machines, 1):  # One that can run it is enough.
        try:
            check_runnable(request.space, request, each)
            break
        except SpaceNotRunnable:
            if number == len(machines):
                raise
    # A search that goes on as long as it pays has the longest one as its limit.
    limit = request.budget or longest
    return Tuning(**{**dict(request), "workload": name, "params": params, "budget": limit})


def _checked_name(program: Program, params: Mapping[str, Scalar]) -> str:
    """Return under which name the job of a program stands."""
    alone = is_script(program.model)
    if alone is bool(program.dataset):
        raise InvalidTuning(
            f"{program.model} is no pair of functions.",
            "Name a model and a dataset function, or a training script alone.",
        )
    if alone and (params or program.dataset_params):
        raise InvalidParameter("A script takes no parameters.", "Write them into `arguments`.")
    if not alone and (program.arguments or program.fit is not None):
        raise InvalidParameter("Functions take no `arguments`, and no `fit`.", "Use `params`.")
    return program.model


def check_runnable(space: str | Space, options: SearchOptions, machine: Machine) -> None:
    """Make sure that the machine can run what a space is for.

    What depends on the workload is left out, and so is a batch that is held fixed: one device is
    always measured, and to learn that nothing else can run may be what is wanted. Of a space that
    names ways to distribute, the machine must be able to run at least one.
    """
    if space == AUTO:  # It fits the machine.
        return
    found = space if isinstance(space, Space) else ready_made()[space]
    bounds = options.model_copy(update={"global_batch": None, "max_global_batch": None})
    where = Situation(machine=machine, facts=_any_workload(found), options=bounds)
    _check_size(found, options)
    rules: list[Rule | None] = []
    try:
        names = [each for each in strategies_of(found, where) if each != ONE_DEVICE]
        for name in names or [ONE_DEVICE]:
            rules += part_of(found, name, where).placements.values()
            if None in rules:
                return
    except SpaceError as exc:
        raise InvalidSpace(exc.cause, exc.next_step) from exc
    why = next((rule_text(each) for each in rules if each), "it is empty")
    raise SpaceNotRunnable(
        f"This space cannot run on this machine: {why.rstrip('.')}.", "Use another space."
    )


def _any_workload(space: Space) -> WorkloadFacts:
    """Return a workload that rules nothing out, so that only the machine does."""
    parameters = (axis.needs_parameter for axis in axes().values())
    return WorkloadFacts(
        model_takes=space.own_axes,
        dataset_takes=("input_context", *filter(None, parameters)),
        examples=2**62,
        repeatable=True,
        file_shards=2**20,
        returned=Returned(by_python=True),
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
            f"The space has more than {MOST_AXES} axes, or values that are too long or odd.",
            "Send a smaller one, in printable characters.",
        )


def _odd(space: Space) -> bool:
    values = [each for domain in space.axes.values() for each in domain]
    texts = [each for each in (*values, *space.axes, space.name) if isinstance(each, str)]
    numbers = [each for each in values if isinstance(each, int | float)]
    return (
        any(len(text) > 100 or not is_line(text) for text in texts)
        or len(space.description) > 2000
        or not is_line(space.description.replace("\n", ""))
        or not all(-LARGEST <= each <= LARGEST for each in numbers)
    )


def _check_names(options: SearchOptions) -> None:
    if options.strategies == ():
        raise InvalidOption("No strategy is named.", f"Choose from {', '.join(strategies())}.")
    if set(options.strategies or ()) - set(strategies()):
        raise InvalidOption("Unknown strategy.", f"Choose from {', '.join(strategies())}.")
    if options.objective not in OBJECTIVES:
        raise InvalidOption("Unknown objective.", f"Choose from {', '.join(OBJECTIVES)}.")


def _check_size(space: Space, options: SearchOptions) -> None:
    names = [name for name in axes_of(AxisRole.PLACEMENT) if name != "strategy"]
    domains = {name: space.values(name) for name in names}
    domains["workers"] = options.workers or domains["workers"]
    if math.prod(map(len, domains.values())) > MOST_STRUCTURES:
        raise InvalidSpace(
            f"The space has more than {MOST_STRUCTURES:,} ways to distribute.",
            f"Shorten {', '.join(names)}.",
        )
