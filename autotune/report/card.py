"""The card of a search, and what a machine offers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from autotune.machine import Host, Machine
from autotune.plan import Plan, StrategyPlan, times_in_words
from autotune.reason.sentences import rule_text
from autotune.report.tables import HANG, HEAD, columns, hanging
from autotune.space import space_for
from autotune.value import Scalar
from autotune.wording import plural, sentence, size
from autotune.workload import FitFacts, OwnStrategy, WorkloadFacts


def card(plan: Plan) -> RenderableType:
    """Return what a search will look at, and why not at more."""
    parts: list[RenderableType] = [_head(plan), Text(), Text("configurations", style=HEAD)]
    parts += [line for each in plan.strategies for line in _strategy(each)]
    if any(each.axes for each in plan.strategies):
        parts += [Text(), _axes(plan)]
    return Group(*parts, Text(), Text(times_in_words(plan)))


def _head(plan: Plan) -> Text:
    head = Text.assemble(
        ("autotune ", "dim"), (plan.workload, "bold"), f" on {plan.machine}, space {plan.space}\n"
    )
    head.append(_facts(plan.facts), style="dim")
    if plan.facts.fit:
        head.append(f"\n{fit_in_words(plan.facts.fit)}", style="dim")
    return head


def _facts(facts: WorkloadFacts) -> str:
    each = size(facts.example_bytes)
    examples = f"{_how_many(facts)} of {each}"
    length = facts.first_pass and facts.first_pass.mean_length
    if length:
        examples += f", {length:.3g} long in the mean"
    steps = facts.accumulated_steps
    updates = f"an update sees {steps} batches" if steps > 1 else ""
    model = f"a model of {facts.weights:,} weights"
    parts = [examples, model, facts.optimizer, updates, facts.loss]
    return "; ".join(filter(None, parts))


def _how_many(facts: WorkloadFacts) -> str:
    many, fit = facts.examples, facts.fit
    if not many:
        return "unknown number of examples"
    told = plural(many, "example")
    if fit and fit.steps and many < fit.steps * (facts.usual_batch or 1):
        return f"{told} (fewer than the {plural(fit.steps, 'step')} take that an epoch is to have)"
    return f"at most {told}" if fit and fit.partial else told


def fit_in_words(fit: FitFacts) -> str:
    """Return which call of a script is tuned, and what trials do not do."""
    texts = [f"The fit in line {fit.line} is tuned"] if fit.line else []
    if fit.others:
        listed = ", ".join(f"line {each.line} ({each.of})" for each in fit.others)
        texts = [f"{''.join(texts) or 'One fit is tuned'}, not {listed}: --fit chooses another"]
    if fit.only_batch:
        texts.append(
            f"its batches of {fit.only_batch} stay as they are, as others cannot be made of its "
            "data or trained with"
        )
    if fit.own_strategy and fit.own_strategy.title:
        texts.append(own_strategy_in_words(fit.own_strategy))
    if fit.left_out:
        texts.append(f"trials leave out {', '.join(dict.fromkeys(fit.left_out))}")
    if fit.eager:
        texts.append(
            f"line {fit.eager} asks for eager execution, which is timed as your own and else left "
            "out"
        )
    if fit.network:
        texts.append(
            f"line {fit.network} uses the network, in each trial anew unless it keeps what it gets "
            "outside the working folder"
        )
    if fit.backend not in {None, "tensorflow"}:
        texts.append(
            f"it asks for Keras's backend {fit.backend}, but is timed, and trains in the program "
            "that is handed over, with TensorFlow's"
        )
    return f"{'; '.join(texts)}." if texts else ""


def own_strategy_in_words(own: OwnStrategy) -> str:
    """Return what becomes of the strategy that a script makes."""
    line = f" in line {own.line}" if own.line else ""
    return (
        f"the {own.title}{line} is taken out: the script gets the strategy that is tried in its "
        f"place, with {plural(own.replicas, 'replica')} to reckon with"
    )


def _strategy(plan: StrategyPlan) -> list[RenderableType]:
    """How many configurations it has, and below how many were left out and why."""
    lines: list[RenderableType] = [Text(f"{plan.configurations:>6,}  {plan.title}")]
    for limit in sorted(plan.limits, key=lambda limit: -limit.configurations):
        out = f"{limit.configurations:,} excluded: {sentence(rule_text(limit.rule))}"
        lines.append(hanging(out, indent=8, hang=HANG, style="dim"))
    return lines


def _axes(plan: Plan) -> Table:
    table = columns("|axis", "values and meaning")
    every = [axis for each in plan.strategies for axis in each.axes]
    for name in dict.fromkeys(axis.name for axis in every):
        mine = [axis for axis in every if axis.name == name]
        values = _in_order({value: None for axis in mine for value in axis.values})
        text = Text(", ".join(map(str, values)))
        table.add_row(name, text.append(f"  {mine[0].meaning}", style="dim"))
    return table


def _in_order(values: Iterable[Scalar]) -> tuple[Scalar, ...]:
    """Return numbers by size, and anything else as it comes."""
    every = tuple(values)
    numbers = [each for each in every if type(each) is int]
    return tuple(sorted(numbers)) if len(numbers) == len(every) else every


def machine_table(machine: Machine) -> RenderableType:
    """Return the machine's devices, memory and software, and which space fits it."""
    table = Table.grid(padding=(0, 2))
    for name, value in _rows(machine):
        table.add_row(Text(name, style="dim"), Text(value))
    return table


def links_table(links: Mapping[tuple[str, str], tuple[float, float] | None]) -> RenderableType:
    """Return what the network gives between hosts.

    Args:
        links: Seconds there and back, and bytes per second, from the first host to the second.
    """
    table = columns("|from", "|to", ">ms there and back", ">Mbit/s")
    for (here, there), link in links.items():
        figures = (f"{1000 * link[0]:.3g}", f"{link[1] * 8 / 1e6:,.0f}") if link else ("-", "-")
        table.add_row(here, there, *figures)
    return table


def _rows(machine: Machine) -> list[tuple[str, str]]:
    hosts = "\n".join(map(_host, machine.hosts))
    return [
        *([("machines", hosts)] if len(machine.hosts) > 1 else []),
        ("CPU", f"{machine.cpus} cores of {machine.processor}"),
        ("memory", size(machine.memory)),
        ("GPUs", "\n".join(machine.gpus) or "none visible to TensorFlow"),
        ("TPU cores", str(machine.tpus or "none visible to TensorFlow")),
        ("Python", machine.python),
        ("TensorFlow", machine.tensorflow),
        ("Keras", machine.keras),
        ("space auto", space_for(machine).name),
    ]


def _host(host: Host) -> str:
    devices = [plural(host.cpus, "core"), *host.gpus, size(host.memory)]
    return f"{host.name}: {', '.join(devices)}"
