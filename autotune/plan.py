"""The plan of a search: what it may try, why not more, and for how long a training."""

from autotune.base import Scalar, Value
from autotune.face import for_face
from autotune.machine import Machine
from autotune.reason import Rule
from autotune.space import Limit
from autotune.text import plural, roughly, very_roughly
from autotune.workload import WorkloadFacts, why_assumed
from autotune.workload.facts import Length, LengthSource


class AxisPlan(Value):
    """One axis under one strategy."""

    name: str
    values: tuple[Scalar, ...]
    meaning: str


class StrategyPlan(Value):
    """One strategy in a search."""

    name: str
    title: str
    configurations: int
    axes: tuple[AxisPlan, ...]
    limits: tuple[Limit, ...]
    changes: tuple[Rule, ...] = ()
    """Which batches stand for the own one, where replicas do not divide it."""


class Plan(Value):
    """A search before it starts."""

    workload: str
    machine: Machine
    space: str
    objective: str = "max_throughput"
    """Name of what is optimized."""
    facts: WorkloadFacts
    strategies: tuple[StrategyPlan, ...]
    budget_seconds: float | None
    """Limit of the whole search; None where it goes on as long as it pays."""
    exhaustive_seconds: float = 0.0
    """Rough time that measuring every configuration once would take."""

    trial_seconds: float = 0.0
    """Rough time of a trial with the default settings, before the first one."""
    tracing_seconds: float = 0.0
    """What its first call takes of that, which traces and compiles the model."""
    length: Length = Length()
    """How long the training is by the user's own settings."""
    training_seconds: float | None = None
    """Its rough time; None where only a run tells."""

    @property
    def configurations(self) -> int:
        """Configurations that can run."""
        return sum(each.configurations for each in self.strategies)


def times_in_words(plan: Plan) -> str:
    """Return what trials take, how long the training is, and when the search ends.

    What trials take is told only where a first call was timed, which most of a trial may be.
    """
    text = plural(plan.configurations, "configuration")
    if plan.facts.first_step_seconds is not None:
        text += f", about {roughly(plan.trial_seconds)} each on one device"
        if plan.tracing_seconds >= 1.0:
            text += f", {roughly(plan.tracing_seconds)} of it tracing and compiling"
        text += f". Running each once would take about {roughly(plan.exhaustive_seconds)}"
    ends = "The search ends when no run is expected to save more time than it takes"
    if plan.budget_seconds is not None:
        ends += f", after {roughly(plan.budget_seconds)} at the latest"
    return f"{text}. {length_in_words(plan)} {ends}."


def length_in_words(plan: Plan) -> str:
    """Return how long the training is, and where that comes from."""
    length, facts, seconds = plan.length, plan.facts, plan.training_seconds
    time = "" if seconds is None else roughly(seconds)
    match length.source:
        case LengthSource.ASSUMED:
            text = f"The training is taken to last {time}, because {why_assumed(facts)}: say it by "
            return for_face(f"{text}--epochs or --train-for.")
        case LengthSource.TRAIN_FOR:
            text = f"The training takes {time} by your own settings, as you say"
        case LengthSource.SCRIPT | LengthSource.EPOCHS:
            by = "as you say" if length.source is LengthSource.EPOCHS else "as the script says"
            whole = f"{plural(length.epochs or 0, 'epoch')} of {facts.how_many}"
            text = f"The training has {whole}, {by}"
            if seconds is not None:
                text += f". Its first steps tell that it takes about {very_roughly(seconds)} by "
                text += "your own settings, or half or twice that"
    if length.at_most:
        text += "; a callback may end it before"
    if seconds is not None and seconds < plan.trial_seconds:
        text += ". It is shorter than a single trial, so a search saves no time"
    return f"{text}."
