"""An engine that only plays trials, for what happens around them, and so in seconds."""

import resource

from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks import TrialRequest
from tests.engines.fake import FakeEngine


class Filling(FakeEngine):
    """While the third trial runs the disk fills: from then on it takes only small files."""

    def __init__(self) -> None:
        super().__init__(lambda configuration: 1000.0 * configuration.global_batch**0.3)

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        if len(self.requests) == 2:
            _, most = resource.getrlimit(resource.RLIMIT_FSIZE)
            resource.setrlimit(resource.RLIMIT_FSIZE, (1_000, most))
        return super().run(request, watch)
