"""`autotune doctor`: how noisy is this machine?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli import options as take
from autotune.cli.consoles import notices, put, show
from autotune.cli.engine import timing_engine
from autotune.cli.values import pairs
from autotune.errors import UsageError

if TYPE_CHECKING:
    from autotune.workload import Workload

EXIT_CODES = (
    "Exit codes: 0 it was measured, 2 the call was wrong, 3 nothing could be measured, "
    "130 interrupted."
)
NAME = "autotune doctor"


def doctor(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    model: Annotated[
        str | None,
        typer.Option(metavar="FACTORY", help="Model to train, instead of a small built-in one."),
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="FACTORY", help="Dataset to train it on.")
    ] = None,
    model_arg: take.ModelArg = None,
    data_arg: take.DataArg = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="Time for all of it.")] = 45.0,
    seed: Annotated[int, typer.Option(help="Seed of the order within each pair.")] = 0,
    json: Annotated[
        bool, typer.Option("--json", help="Print one JSON document to stdout instead.")
    ] = False,
) -> None:
    """Say how much timings scatter on this machine, and which gains can be told apart.

    Runs one configuration against itself, in fresh processes that take turns: an A/A test.
    """
    workload = _workload(model, dataset, model_arg, data_arg)
    with timing_engine(NAME) as engine:
        # Imported while the engine's own process imports TensorFlow.
        from autotune.report import TurnsReport, checkup_document, checkup_text
        from autotune.search.host import this_host
        from autotune.search.options import Options
        from autotune.verification.doctor import examine

        found = examine(
            engine,
            workload,
            options=Options(seconds=seconds, seed=seed),
            observer=TurnsReport(notices()),
            look=this_host().look,
        )
    put(checkup_document(found)) if json else show(checkup_text(found))


def _workload(
    model: str | None,
    dataset: str | None,
    model_arg: list[str] | None,
    data_arg: list[str] | None,
) -> Workload | None:
    """Return the user's workload, or None for the built-in one.

    Raises:
        UsageError: Half of it is missing.
    """
    from autotune.workload import Workload, factory_from_text

    if model is None and dataset is None and not model_arg and not data_arg:
        return None
    if model is None or dataset is None:
        raise UsageError(
            "A model and a dataset belong together.", "Give both --model and --dataset, or neither."
        )
    return Workload(
        model=factory_from_text(model, pairs(model_arg or (), "--model-arg")),
        dataset=factory_from_text(dataset, pairs(data_arg or (), "--data-arg")),
    )
