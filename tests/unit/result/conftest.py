"""Trials, a plan and a result to be shown, made by hand, and a page read as a browser would."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from autotune.checks.breakdown import Breakdown, Part, Share
from autotune.checks.scaling import BreakEven, Diagnosis
from autotune.config import Configuration
from autotune.plan import Plan
from autotune.reason import Message, Outcome
from autotune.result import Result
from autotune.search.tune import TuningRequest, dry_run
from autotune.shared_values import Window
from autotune.stats.intervals import Interval
from autotune.trial import Stage, Trial
from tests.answers import answer_of
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, FakeEngine
from tests.trials import ended_trial
from tools.docs.samples import WORKLOAD

ALONE = Configuration(per_replica_batch=128)
PAIR = Configuration(
    strategy="mirrored", replicas_per_worker=2, per_replica_batch=64, reduction="one_device"
)
GANG = Configuration(
    strategy="multi_worker_mirrored", workers=2, per_replica_batch=64, shard_policy="data"
)


def make_trial(number: int, configuration: Configuration = ALONE, **changes: Any) -> Trial:
    fields = {
        "stage": Stage.EXPLORE if configuration.distributed else Stage.BASELINE,
        "reason": Message(text="throughput measured"),
        "examples_per_second": 1000.0,
        "windows": (Window(4, 0.1),),
        "wall_seconds": 3.0,
    }
    return ended_trial(number, configuration=configuration, **fields | changes)


AGAIN = [
    make_trial(3 + i, c, stage=Stage.REPEAT, examples_per_second=rate)
    for i, (c, rate) in enumerate([(ALONE, 1000), (PAIR, 1400), (ALONE, 1010), (PAIR, 1450)])
]
CRASH = {"outcome": Outcome.CRASHED, "reason": Message(text="worker 1 was killed by SIGSEGV")}
TRIALS = (
    make_trial(0),
    make_trial(1, PAIR, examples_per_second=1500.0),
    make_trial(2, GANG, examples_per_second=None, windows=(), **CRASH),
    *AGAIN,
)
"""A search: two measured, one that crashed, and the two again, twice."""


@pytest.fixture
def plan() -> Plan:
    request = TuningRequest(workload=WORKLOAD, space="quick", out=Path("out"))
    return dry_run(request, FakeEngine(lambda _: 1.0))


RESULT = Result(
    configuration=PAIR,
    answer=answer_of(TRIALS, PAIR, ALONE),
    script="print('trained')\n",
    launch=None,
    trials=TRIALS,
    workload=WORKLOAD,
    facts=FAKE_FACTS,
    machine=FAKE_MACHINE,
    study="digits",
)


def changed(*, told: Mapping[str, Any] | None = None, **changes: Any) -> Result:
    """Return it with other fields, and an answer that follows from these but for what is told."""
    trials = changes.get("trials", TRIALS)
    chosen = changes.get("configuration", PAIR)
    answer = answer_of(trials, chosen, **{"own": ALONE, **(told or {})})
    return RESULT.model_copy(update={"answer": answer, **changes})


VOID = {"meta", "link", "br", "img", "hr", "input", "wbr"}


@dataclass
class Element:
    name: str = ""
    attributes: dict[str, str] = field(default_factory=dict)
    inside: list[Element | str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return "".join(each if isinstance(each, str) else each.text for each in self.inside)

    def find(self, name: str) -> Iterator[Element]:
        """Yield all elements of a name in it; `*` takes any."""
        for each in self.inside:
            if isinstance(each, Element):
                if name in ("*", each.name):
                    yield each
                yield from each.find(name)


class Reader(HTMLParser):
    """Reads a page, and refuses one whose elements are not closed in their order."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open = [Element()]
        self.feed(text)
        self.close()
        assert len(self.open) == 1, "something is not closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{tag} has an attribute twice: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].inside.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop().name == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.open[-1].inside.append(data)


def read(result: Result) -> Element:
    return Reader(result.report()).open[0]


def around(value: float) -> Interval:
    return Interval(low=value * 0.8, value=value, high=value * 1.25)


def near(value: float) -> Interval:
    return Interval(low=value - 0.01, value=value, high=value + 0.01)


def step(configuration: Configuration, milliseconds: float, **shares: float) -> Breakdown:
    """Return a step whose parts have these shares."""
    known = (Share(part=Part[n.upper()], share=near(each)) for n, each in shares.items())
    return Breakdown(configuration=configuration, milliseconds=milliseconds, shares=tuple(known))


DIAGNOSED = RESULT.model_copy(
    update={
        "diagnosis": Diagnosis(
            one_device=step(ALONE, 64.0, compute=0.75, input=0.25),
            distributed=step(PAIR, 128.0, compute=0.5, sharing=0.3, exchange=0.2),
            break_even=BreakEven(
                configuration=PAIR, batch=around(300), farthest=512, bandwidth=around(2.5e8)
            ),
        )
    }
)
"""A result that knows where the time of its steps goes."""
