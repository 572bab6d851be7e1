"""An engine that reads the code of a workload."""

from pathlib import Path

from autotune.engine.tasks import InspectionRequest
from autotune.errors import FactoryFailed
from autotune.workload import WorkloadFacts
from tests.engines.fake import FakeEngine


class Reads(FakeEngine):
    """Needs the files of a workload where it works, as a process that imports them does."""

    def inspect(self, request: InspectionRequest) -> WorkloadFacts:
        missing = [name for name, file in request.workload.files_below(Path()).items() if not file]
        if missing:
            raise FactoryFailed(f"There is no {missing}.", "Look for it.")
        return super().inspect(request)


def reads() -> FakeEngine:
    return Reads(lambda configuration: 1000.0 * configuration.global_batch**0.3)
