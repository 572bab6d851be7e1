"""The pages of the strategies, from their files."""

import inspect
from collections.abc import Iterator, Mapping

from autotune.axis import AxisRole
from autotune.config import axes
from autotune.machine import Machine
from autotune.program import render
from autotune.strategies import Strategy, strategies
from tools.docs import samples
from tools.docs.pages import code, page, table, wrapped

TRAINS = {
    "fit": "`Model.fit`",
    "loop": "a loop of its own inside a `tf.function`",
    "coordinator": "a loop in each worker, under the orders of a `ClusterCoordinator`",
}
_INTRODUCTION = (
    "A strategy is one file in `autotune/strategies/`. It declares its legality, its "
    "processes, and its part of the program. These pages follow from those files. A dry run with "
    "`--space every` shows the strategies that can run on your machine, and the reasons against "
    "the others."
)


def pages() -> Mapping[str, str]:
    found = {"strategies.md": page("autotune/strategies/", _index(), "strategies.md")}
    for each in strategies().values():
        name = f"strategies/{each.name}.md"
        found[name] = page(f"autotune/{name[:-3]}.py", _lines(each), name)
    return found


def _index() -> Iterator[str]:
    yield from ("# Strategies", "", wrapped(_INTRODUCTION), "")
    rows = (
        (f"[{name}](strategies/{name}.md)", each.title, _waits(each), each.doc)
        for name, each in strategies().items()
    )
    yield from table(("name", "strategy", "replicas", "meaning"), rows)


def _lines(each: Strategy) -> Iterator[str]:
    yield from (f"# {each.title[:1].upper()}{each.title[1:]}", "")
    yield wrapped(f"{each.doc} {inspect.getdoc(type(each))}")
    yield ""
    yield from table(("property", "here"), _facts(each))
    yield from ("", "## Axes", "", _axes(each))
    yield from _refusals(each)
    yield from _programs(each)


def _facts(each: Strategy) -> Iterator[tuple[str, str]]:
    yield "In spaces and configurations", f"`{each.name}`"
    yield "Replicas", _waits(each)
    yield "Trains by", "; or ".join(TRAINS[way] for way in sorted(samples.trainings(each)))
    yield "Reductions", ", ".join(f"`{name}`" for name in each.reductions)
    for name, machine in (("on CPUs", samples.CPUS), ("on GPUs", samples.GPUS)):
        example = samples.legal(each, machine)
        if example is not None:
            roles = ", ".join(role.name for role in each.roles(example, machine))
            yield f"Processes {name}, for example", roles


def _waits(each: Strategy) -> str:
    if each.asynchronous:
        return "do not wait for each other; only with `--allow-asynchronous`"
    return "one" if each.name == "one_device" else "wait for each other in every step"


def _axes(each: Strategy) -> str:
    own = ", ".join(f"[`{name}`](../axes/{name}.md)" for name in sorted(each.axes))
    common = sum(axis.role is not AxisRole.PLACEMENT for axis in axes().values())
    if not own:
        return f"Only the {common} [axes of every strategy](../axes.md)."
    return wrapped(f"{own}, beside the {common} [axes of every strategy](../axes.md).")


def _refusals(each: Strategy) -> Iterator[str]:
    yield from ("", "## When it is refused", "")
    yield "With these words (the figures are of an example):"
    yield ""
    for reason in samples.refusals(each):
        yield wrapped(reason, first="- ", rest="  ")


def _programs(each: Strategy) -> Iterator[str]:
    places = (("CPUs", samples.CPUS), ("GPUs", samples.GPUS), ("a TPU", samples.TPU))
    texts: dict[str, list[str]] = {}
    for name, machine in places:
        text = _program(each, machine)
        if text and not (texts and machine is samples.TPU):  # Its host is the CPU once more.
            texts.setdefault(text, []).append(name)
    yield from ("", "## In the program", "")
    if not texts:
        yield "It is never written into one."
    for text, names in texts.items():
        yield from (f"On {' and '.join(names)}:", "", "<!-- parsed only: part of a program -->")
        yield from (*code("python", text), "")


def _program(each: Strategy, machine: Machine) -> str:
    """Return the function that makes the strategy, as it stands in `train.py`."""
    example = samples.legal(each, machine)
    if example is None:
        return ""
    train = render(example, samples.WORKLOAD, samples.ARRAYS, machine).train
    start = train.find("def make_strategy")
    if start < 0:
        return ""  # TensorFlow's default strategy, which nothing makes.
    return train[start : train.index("\n\n\n", start)]
