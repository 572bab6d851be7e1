"""Requests for real trials, of programs that behave in a known way."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autotune.config import Configuration
from autotune.engine.base import Limits, Stop
from autotune.engine.tasks import TrialRequest
from autotune.reason import Message, Outcome
from autotune.shared_values import Window
from autotune.strategies import Role
from autotune.trial import Stage, Trial
from autotune.workload import Factory, Workload
from tests.engines.contract import Behaviour

UNUSED = Factory(name="unused", module="unused")


def text_of(program: str) -> str:
    folder = Path(__file__).parent / "integration" / "engine" / "programs"
    return (folder / f"{program}.py").read_text()


BEHAVIOURS = {
    Behaviour.MEASURED: "fit",
    Behaviour.GROUP: "gang",
    Behaviour.FAILED: "raises",
    Behaviour.NAN: text_of("ticks").replace("LOSS = 1.0", "LOSS = float('nan')"),
    Behaviour.OUT_OF_MEMORY: "eats",
    Behaviour.HUNG: "hangs",
    Behaviour.CRASHED: "dies",
}
"""The program that behaves so."""
ENOUGH = Stop(Outcome.MEASURED, Message(text="Enough."))
LIMITS = {Behaviour.HUNG: Limits(start=2.0), Behaviour.OUT_OF_MEMORY: Limits(memory=1 << 30)}


def stop_at_once(_: Sequence[Window]) -> Stop:
    return ENOUGH


def request_for(program: str, folder: Path, **fields: Any) -> TrialRequest:
    defaults = {
        "configuration": Configuration(),
        "script": program if "\n" in program else text_of(program),
        "workload": Workload(model=UNUSED, dataset=UNUSED),
        "roles": (Role(),),
        "folder": folder,
    }
    return TrialRequest(**{**defaults, **fields})


def request_of(behaviour: Behaviour, folder: Path, gang: tuple[Role, ...]) -> TrialRequest:
    """Return a request for the program that behaves so; a gang has these roles."""
    return request_for(
        BEHAVIOURS[behaviour],
        folder,
        limits=LIMITS.get(behaviour, Limits()),
        roles=gang if behaviour is Behaviour.GROUP else gang[:1],
    )


def ended_trial(number: int = 0, **fields: Any) -> Trial:
    defaults = {
        "stage": Stage.BASELINE,
        "configuration": Configuration(),
        "outcome": Outcome.MEASURED,
        "reason": Message(text=""),
        "examples_per_second": 100.0,
    }
    return Trial(number=number, **{**defaults, **fields})
