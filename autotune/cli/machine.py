"""`autotune machine` and `autotune spaces`: what there is, and what may be searched on it."""

from __future__ import annotations

import json as to_json
from collections.abc import Iterator, Mapping
from contextlib import closing, nullcontext
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

SPACE_KINDS = {
    "cpu": "a machine without accelerators",
    "gpu": "one GPU",
    "gpus": "several GPUs",
    "tpu": "a TPU",
}


def machine(
    *,
    model: Annotated[
        str | None,
        typer.Argument(
            metavar="[MODEL",
            help="On a cluster: function that returns the model, to be called too; or a script.",
        ),
    ] = None,
    dataset: Annotated[
        str | None, typer.Argument(metavar="DATASET]", help="Function that returns the dataset.")
    ] = None,
    engine: take.Engine = "local",
    json: take.Json = False,
) -> None:
    """Show the devices, memory and software that TensorFlow sees on this machine.

    With an engine of several machines, check that they have the same software and reach each
    other; with factories or a script, that each machine can run them and reads the same data.
    """
    from autotune.engine.resolve import new_engine

    workload = None if model is None else _workload(model, dataset)
    made = new_engine(engine)
    is_cluster = hasattr(made, "links")
    if workload is not None and not is_cluster:
        raise UsageError(
            f"The engine {engine} has a single machine, so there is nothing to check.",
            "Name a cluster: --engine ray://HOST:PORT.",
        )
    reserved = made.reserved("machine", log) if is_cluster else nullcontext()
    with closing(made), reserved, made as running:
        log(
            "Measuring the network between the machines" if is_cluster else "Inspecting the machine"
        )
        links = _reached(cast("RayEngine", running).links()) if is_cluster else {}
        found = running.machine()
        if workload is not None:
            _check_workload(running, workload)
    if json:
        pairs = [
            {"from": a, "to": b, "seconds": link.latency, "bytes_per_second": link.bandwidth}
            for (a, b), link in links.items()
        ]
        shown = found.model_dump(mode="json") | ({"links": pairs} if links else {})
        return write_out(to_json.dumps(shown, indent=2) + "\n")
    from autotune.result.terminal import named

    show(named(_rows(found)))
    if links:
        lines = (
            (a, b, f"{1000 * link.latency:.3g}", f"{link.bandwidth * 8 / 1e6:,.0f}")
            for (a, b), link in links.items()
        )
        show(table(("|from", "|to", ">ms there and back", ">Mbit/s"), lines))
        log(f"{plural(len(found.hosts), 'machine')}, and nothing stands in the way of training")
    return None


def _reached(links: Mapping[tuple[str, str], Link | None]) -> Mapping[tuple[str, str], Link]:
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
    from autotune.engine.tasks import InspectionRequest, inspected

    log(f"{'Running the script' if workload.script else 'Calling the factories'} on all machines")
    facts = inspected(running, InspectionRequest(workload))
    log(f"All machines read {facts.how_many} and make a model of {facts.weights:,} weights")


def spaces(
    *,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE",
            help="Space to show as a YAML file.",
            show_default=False,
            autocompletion=take.space_names,
        ),
    ] = None,
) -> None:
    """List the built-in search spaces, or show one as YAML."""
    from autotune.engine.resolve import new_engine
    from autotune.space import AUTO, load_space, ready_made, space_file, space_for

    if name is None:
        lines = (
            (name, each.description, SPACE_KINDS.get(each.chosen_for or "", ""))
            for name, each in ready_made().items()
        )
        return show(table(("space", "for", "auto uses it on"), lines))
    if name == AUTO:
        log("Inspecting the machine")
        with new_engine() as engine:
            name = space_for(engine.machine()).name
    load_space(name)  # So that a mistake in a file is told.
    return write_out(space_file(name))


def _rows(machine: Machine) -> Iterator[tuple[str, str]]:
    from autotune.space import space_for
    from autotune.text import size

    if len(machine.hosts) > 1:
        has = ([plural(h.cpus, "core"), *h.gpus, size(h.memory)] for h in machine.hosts)
        each = (f"{h.name}: {', '.join(m)}" for h, m in zip(machine.hosts, has, strict=True))
        yield "machines", "\n".join(each)
    yield "CPU", f"{machine.cpus} cores of {machine.processor}"
    yield "memory", size(machine.memory)
    yield "GPUs", "\n".join(machine.gpus) or "none visible to TensorFlow"
    yield "TPU cores", str(machine.tpus or "none visible to TensorFlow")
    yield "Python", machine.python
    yield "TensorFlow", machine.tensorflow
    yield "Keras", machine.keras
    yield "space auto", space_for(machine).name
