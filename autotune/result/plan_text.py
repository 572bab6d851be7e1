"""The plan of a search, for people: what it will look at, and why not at more."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from autotune.plan import Plan, StrategyPlan, times_in_words
from autotune.reason.sentences import rule_text
from autotune.result.tables import HEAD, columns
from autotune.text import plural, sentence, size
from autotune.value import Scalar
from autotune.workload import FitFacts, OwnStrategy, WorkloadFacts


def plan_text(plan: Plan) -> RenderableType:
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
    examples = f"{_how_many(facts)} of {size(facts.example_bytes)}"
    length = facts.first_pass and facts.first_pass.mean_length
    if length:
        examples += f", {length:.3g} long in the mean"
    steps = facts.accumulated_steps
    updates = f"an update sees {steps} batches" if steps > 1 else ""
    model = f"a model of {facts.weights:,} weights"
    return "; ".join(filter(None, [examples, model, facts.optimizer, updates, facts.loss]))


def _how_many(facts: WorkloadFacts) -> str:
    many, fit = facts.examples, facts.fit
    if not many:
        return "unknown number of examples"
    text = plural(many, "example")
    if fit and fit.steps and many < fit.steps * (facts.usual_batch or 1):
        return f"{text} (fewer than the {plural(fit.steps, 'step')} take that an epoch is to have)"
    return f"at most {text}" if fit and fit.partial else text


def fit_in_words(fit: FitFacts) -> str:
    """Return which call of a script is tuned, and what trials do not do."""
    texts = [f"The fit in line {fit.line} is tuned"] if fit.line else []
    if fit.others:
        listed = ", ".join(f"line {each.line} ({each.of})" for each in fit.others)
        texts = [f"{''.join(texts) or 'One fit is tuned'}, not {listed}: --fit chooses another"]
    texts += _kept_and_left_out(fit)
    return f"{'; '.join(texts)}." if texts else ""


def _kept_and_left_out(fit: FitFacts) -> Iterator[str]:
    if fit.only_batch:
        yield (
            f"its batches of {fit.only_batch} stay as they are, as others cannot be made of its "
            "data or trained with"
        )
    if fit.own_strategy and fit.own_strategy.title:
        yield _own_strategy(fit.own_strategy)
    if fit.left_out:
        yield f"trials leave out {', '.join(dict.fromkeys(fit.left_out))}"
    if fit.eager:
        yield (
            f"line {fit.eager} asks for eager execution, which is timed as your own and else left "
            "out"
        )
    if fit.network:
        yield (
            f"line {fit.network} uses the network, in each trial anew unless it keeps what it gets "
            "outside the working folder"
        )
    if fit.backend not in {None, "tensorflow"}:
        yield (
            f"it asks for Keras's backend {fit.backend}, but is timed, and trains in the program "
            "that is handed over, with TensorFlow's"
        )


def _own_strategy(own: OwnStrategy) -> str:
    line = f" in line {own.line}" if own.line else ""
    return (
        f"the {own.title}{line} is taken out: the script gets the strategy that is tried in its "
        f"place, with {plural(own.replicas, 'replica')} to reckon with"
    )


def _strategy(plan: StrategyPlan) -> Iterator[RenderableType]:
    """Yield how many configurations it has, and below how many were left out and why."""
    yield Text(f"{plan.configurations:>6,}  {plan.title}")
    for limit in sorted(plan.limits, key=lambda limit: -limit.configurations):
        out = f"{limit.configurations:,} excluded: {sentence(rule_text(limit.rule))}"
        yield Padding(Text(out, style="dim"), (0, 0, 0, 8))


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
