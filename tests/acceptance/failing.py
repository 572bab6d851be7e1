"""An engine that reads the code of a workload, and some on which no run tells anything."""

from pathlib import Path

from autotune.engine.base import RunResult, Stop, Watch
from autotune.engine.tasks import InspectionRequest, TrialRequest
from autotune.errors import FactoryFailed, ScriptFailed
from autotune.reason import Killed, Outcome
from autotune.workload import WorkloadFacts
from tests.engines.fake import FAKE_FACTS, FakeEngine

KILLED = Stop(outcome=Outcome.CRASHED, reason=Killed(signal=9))


class Reads(FakeEngine):
    """Needs the files of a workload where it works, as a process that imports them does."""

    def inspect(self, request: InspectionRequest) -> WorkloadFacts:
        missing = [name for name, file in request.workload.files_below(Path()).items() if not file]
        if missing:
            raise FactoryFailed(f"There is no {missing}.", "Look for it.")
        return super().inspect(request)


class InspectsNothing(FakeEngine):
    """Cannot run the workload."""

    def inspect(self, request: InspectionRequest) -> WorkloadFacts:
        del request
        raise ScriptFailed("The script raised FileNotFoundError before its fit.", "Get the file.")


class HasAFault(FakeEngine):
    """Raises what nobody has foreseen."""

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        del request, watch
        raise ZeroDivisionError


def reads() -> FakeEngine:
    return Reads(lambda configuration: 1000.0 * configuration.global_batch**0.3)


def inspects_nothing() -> FakeEngine:
    return InspectsNothing(lambda _: 1000.0)


def kills() -> FakeEngine:
    return FakeEngine(lambda _: KILLED)


def is_small() -> FakeEngine:
    """Return an engine whose data is too small for any batch."""
    return FakeEngine(lambda _: 1000.0, facts=FAKE_FACTS.model_copy(update={"examples": 1}))


def has_a_fault() -> FakeEngine:
    return HasAFault(lambda _: 1000.0)
