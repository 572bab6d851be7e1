"""`autotune cluster`: whether machines can train together."""

from __future__ import annotations

import json as to_json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, cast

import typer

from autotune.cli import options as take
from autotune.cli.console import log, show, table, write_out
from autotune.errors import EngineError, UsageError
from autotune.text import plural

if TYPE_CHECKING:
    from autotune.engine.base import Engine
    from autotune.engine.ray import RayEngine
    from autotune.engine.ray_agent import Link
    from autotune.machine import Machine
    from autotune.workload import Workload

    Links = Mapping[tuple[str, str], Link]

app = typer.Typer(
    help="Check whether the machines of a cluster can train together.",
    no_args_is_help=True,
)


@app.callback()
def _group() -> None:
    """Keep `check` a command of its own, though it is the only one."""


@app.command()
def check(
    *,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL",
            help="Function that returns the model, to be called too; or a training script.",
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET]", help="Function that returns the dataset.")
    ] = None,
    engine: take.Engine = "ray",
    json: take.Json = False,
) -> None:
    """Check that the machines have the same software and reach each other, before any trial.

    With factories or a script also that each machine can run them and reads the same data.
    """
    from autotune.engine.resolve import reserved_engine

    workload = None if model is None else _workload(model, dataset)
    with reserved_engine(engine, "cluster check", log) as running:
        if not hasattr(running, "links"):
            raise UsageError(
                f"The engine {engine} has a single machine, so there is nothing to check.",
                "Name a cluster: --engine ray://HOST:PORT.",
            )
        log("Measuring the network between the machines")
        cluster = cast("RayEngine", running)
        links, machine = _reached(cluster.links()), cluster.machine()
        if workload is not None:
            _check_workload(running, workload)
    if json:
        write_out(to_json.dumps(_as_data(machine, links), indent=2) + "\n")
    else:
        _report(machine, links)


def _reached(links: Mapping[tuple[str, str], Link | None]) -> Links:
    """Return the links between the machines, of which none may be cut."""
    cut = [f"{there} from {here}" for (here, there), link in links.items() if link is None]
    if cut:
        raise EngineError(
            f"Not reached: {', '.join(cut)}.",
            "Open all ports between the machines to each other: TensorFlow chooses among them.",
        )
    return {pair: link for pair, link in links.items() if link}


def _workload(model: str, dataset: str | None) -> Workload:
    from autotune.tuning import workload_of
    from autotune.workload import is_script

    if dataset is None and not is_script(model):
        raise UsageError("Only one factory was given.", "Pass both, a training script, or neither.")
    return workload_of(model, dataset)


def _check_workload(running: Engine, workload: Workload) -> None:
    from autotune.engine.tasks.inspect import InspectionRequest, inspected

    log(f"{'Running the script' if workload.script else 'Calling the factories'} on all machines")
    facts = inspected(running, InspectionRequest(workload))
    log(f"All machines read {facts.how_many} and make a model of {facts.weights:,} weights")


def _as_data(machine: Machine, links: Links) -> dict[str, object]:
    pairs = [
        {"from": here, "to": there, "seconds": link.latency, "bytes_per_second": link.bandwidth}
        for (here, there), link in links.items()
    ]
    return {"machine": machine.model_dump(mode="json"), "links": pairs}


def _report(machine: Machine, links: Links) -> None:
    from autotune.cli.machine import machine_table

    lines = (
        (here, there, f"{1000 * link.latency:.3g}", f"{link.bandwidth * 8 / 1e6:,.0f}")
        for (here, there), link in links.items()
    )
    show(machine_table(machine))
    show(table(("|from", "|to", ">ms there and back", ">Mbit/s"), lines))
    log(f"{plural(len(machine.hosts), 'machine')}, and nothing stands in the way of training")
