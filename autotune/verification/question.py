"""What a saved recommendation is compared with today, and what differs from the search."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from autotune.config import Configuration
from autotune.installed import VERSION
from autotune.machine import Machine
from autotune.objective import objective_named
from autotune.reason import Rule
from autotune.reason.sentences import rule_text
from autotune.result import SavedConfiguration
from autotune.search.request import Subject
from autotune.space import Situation
from autotune.value import Value
from autotune.verification.answer import Answer
from autotune.workload import WorkloadFacts, own_batch


@dataclass(frozen=True, kw_only=True)
class Case:
    """What is to be verified, and where."""

    saved: SavedConfiguration
    machine: Machine
    """The one of today."""
    facts: WorkloadFacts
    """What the factories give today."""

    @property
    def subject(self) -> Subject:
        return Subject(
            workload=self.saved.workload,
            facts=self.facts,
            machine=self.machine,
            objective=objective_named(self.saved.objective),
        )

    @property
    def adjective(self) -> str:
        return self.subject.objective.adjective

    def why_illegal(self, configuration: Configuration) -> Rule | None:
        return Situation(machine=self.machine, facts=self.facts).why_illegal(configuration)


class Question(Value):
    """Two configurations, and the bounds between which their ratio decides nothing.

    The ratio is the score of what is recommended as a multiple of its challenger's.
    """

    challenger: Configuration
    holds_above: float
    fails_below: float
    """Looked at first, because a gain below the margin is no reason to distribute."""
    mine: str
    """What is recommended, in words, with the verb of the sentence."""
    theirs: str
    """The challenger, in words."""
    adjective: str
    """What a better configuration is, such as "fast"."""
    if_holds: str = ""
    """Consequence, to follow the ratio in a sentence."""
    if_fails: str = ""

    def consequence(self, answer: Answer) -> str:
        """Return what follows from the answer, as the end of a sentence."""
        return {Answer.HOLDS: self.if_holds, Answer.FAILS: self.if_fails}.get(answer, "")


def question_of(case: Case) -> Question | None:
    """Return what to ask, or None where there is nothing to compare with."""
    if case.saved.configuration.distributed:
        return _against_one_device(case)
    challenger = case.saved.best_distributed
    if challenger and case.why_illegal(challenger) is None:
        return _against_distribution(challenger, case)
    return _against_default(case)


def notes_on_challenger(case: Case) -> tuple[str, ...]:
    """Return what the user should know of the challenger, in sentences."""
    kind, challenger = "distributed configuration", case.saved.best_distributed
    if case.saved.configuration.distributed:
        kind, challenger = "single device", case.saved.one_device
    rule = case.why_illegal(challenger) if challenger else None
    return (f"The best {kind} of the search cannot run here: {rule_text(rule)}",) if rule else ()


def _against_one_device(case: Case) -> Question | None:
    saved = case.saved
    if case.why_illegal(saved.one_device):
        return None
    return Question(
        challenger=saved.one_device,
        holds_above=1.0,
        fails_below=1 + saved.margin,
        mine="distributed training is",
        theirs="the best single device",
        adjective=case.adjective,
        if_fails=f", a gain of less than {saved.margin:.0%}",
    )


def _against_distribution(challenger: Configuration, case: Case) -> Question:
    margin = case.saved.margin
    bound = 1 / (1 + margin)
    return Question(
        challenger=challenger,
        holds_above=bound,
        fails_below=bound,
        mine="one device is",
        theirs="the best distributed configuration",
        adjective=case.adjective,
        if_holds=f", so distribution gains less than {margin:.0%}",
        if_fails=f", so distribution gains more than {margin:.0%}",
    )


def _against_default(case: Case) -> Question | None:
    winner, facts = case.saved.configuration, case.facts
    # With the batch that the search has taken for the user's own, where there was one.
    batch = facts.learning.batch if facts.learning else own_batch(facts).size
    # Values of the user's own axes have no default.
    own = tuple(winner.own_values().items())
    challenger = Configuration(per_replica_batch=batch, arguments=own)
    if challenger == winner or case.why_illegal(challenger):
        return None
    return Question(
        challenger=challenger,
        holds_above=1.0,
        fails_below=1.0,
        mine="the recommended settings are",
        theirs="the Keras defaults",
        adjective=case.adjective,
    )


_HARDWARE: Mapping[str, str] = {
    "cpus": "CPU cores",
    "memory": "memory",
    "processor": "processor",
    "gpus": "GPUs",
    "tpus": "TPU cores",
}
_SOFTWARE: Mapping[str, str] = {"python": "Python", "tensorflow": "TensorFlow", "keras": "Keras"}
_WORKLOAD: Mapping[str, str] = {
    "examples": "examples",
    "example_bytes": "bytes per example",
    "element": "element spec",
    "weights": "model weights",
    "optimizer": "optimizer",
    "loss": "loss",
}


def changes(case: Case) -> tuple[str, ...]:
    """Return what differs between the saved machine, software and workload and today's.

    A sentence for each of the three; none where all is as it was.
    """
    saved, machine = case.saved, case.machine
    software = [*_differing(saved.machine, machine, _SOFTWARE)]
    if saved.autotune != VERSION:
        software.append(_change("autotune", saved.autotune, VERSION))
    found = {
        "Measured on another machine": [*_differing(saved.machine, machine, _HARDWARE)],
        "Measured with other software versions": software,
        "The workload has changed": [*_differing(saved.facts, case.facts, _WORKLOAD)],
    }
    return tuple(f"{lead}: {'; '.join(parts)}." for lead, parts in found.items() if parts)


def _differing(before: Value, now: Value, names: Mapping[str, str]) -> Iterator[str]:
    for field, name in names.items():
        old, new = (_text(field, getattr(each, field)) for each in (before, now))
        if old != new:
            yield _change(name, old, new)


def _change(name: str, before: str, now: str) -> str:
    return f"{name} {before} then, {now} now"


def _text(field: str, value: object) -> str:
    if field == "memory" and isinstance(value, int):
        # In the digits that are shown: a kernel keeps a few bytes more or less for itself.
        return f"{value / 2**30:.3g} GiB"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return f"{value:,}" if isinstance(value, int) else str(value) or "unknown"
