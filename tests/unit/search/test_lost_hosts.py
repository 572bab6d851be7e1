"""A search on several hosts goes on with those that are left."""

import pytest

from autotune import Outcome, Verdict
from autotune.answer import Because
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks import Observation, ObservationRequest, TrialRequest
from autotune.events import Notice
from autotune.reason import HostLost, TooFewHosts
from autotune.space import Space
from tests.engines.fake import FakeEngine, Speed, fake_machine

from .conftest import Tuner

SPACE = Space(
    strategies=("one_device", "multi_worker_mirrored"),
    axes={"per_replica_batch": (32, 64), "workers": (2, 3), "shard_policy": ("data",)},
)
LOST = HostLost(host="host2 (10.0.0.2)", silent=5.0)


class Losing(FakeEngine):
    """Three hosts, of which some are lost under a run.

    Args:
        truth: The speeds.
        during: The run of several hosts, counted from 0, during which they are lost.
        count: How many are; 0: only the run is, as where an agent is replaced.
        certifying: They are lost during that certification instead.
    """

    def __init__(
        self, truth: Speed, *, during: int = 0, count: int = 1, certifying: bool = False
    ) -> None:
        super().__init__(truth, machine=fake_machine(hosts=3), between=0.01)
        self._during = during
        self._count = count
        self._certifying = certifying
        self._several = 0
        self.lost = 0

    def lost_hosts(self) -> tuple[str, ...]:
        return ("host2", "host1")[: self.lost]

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        reason = self._why_not(request, counts=not self._certifying)
        if reason is None:
            return super().run(request, watch)
        return RunResult(outcome=Outcome.CRASHED, reason=reason)

    def observe(self, request: ObservationRequest) -> Observation:
        reason = self._why_not(request.trial, counts=self._certifying)
        return Observation(failure=reason) if reason else super().observe(request)

    def _why_not(self, request: TrialRequest, *, counts: bool) -> HostLost | TooFewHosts | None:
        needed, left = 1 + max(role.host for role in request.roles), 3 - self.lost
        if needed > left:
            return TooFewHosts(needed=needed, left=left)
        if needed == 1 or not counts:
            return None
        self._several += 1
        if self._several != self._during + 1:
            return None
        self.lost = self._count
        return LOST


def speed(*, two: float, three: float) -> Speed:
    factors = {1: 1.0, 2: two, 3: three}
    return lambda c: 1000.0 * factors[c.workers]


@pytest.mark.parametrize("during", [0, 2])
def test_what_the_hosts_can_run_that_are_left_is_compared(tuner: Tuner, during: int) -> None:
    """Whenever a host is lost, what needs it is not run any more, and what does not may win."""
    engine = Losing(speed(two=1.6, three=2.2), during=during)
    told: list[object] = []
    result = tuner(
        lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0}, observer=told.append
    )
    assert result.verdict is Verdict.DISTRIBUTE
    assert result.config.workers == 2
    after = next(t.number for t in result.trials if t.reason == LOST)
    ran = [t for t in result.trials if t.number > after and t.outcome is not Outcome.SKIPPED]
    assert {t.configuration.workers for t in ran} <= {1, 2}
    assert not [t for t in result.trials if t.outcome is Outcome.CRASHED and t.reason != LOST]
    assert Notice(text="The search goes on without host2, with 2 of 3 machines.") in told


def test_what_lacks_a_host_may_have_been_faster(tuner: Tuner) -> None:
    """With one host left nothing is said against distribution, but what the search needs."""
    engine = Losing(speed(two=1.6, three=2.2), count=2)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    assert result.verdict is Verdict.ONE_DEVICE
    assert result.answer.because is Because.HOSTS_LOST
    assert not result.config.distributed
    assert "start them again and search on" in str(result)


def test_a_loss_that_changes_nothing_leaves_the_verdict(tuner: Tuner) -> None:
    engine = Losing(speed(two=0.4, three=0.3), during=4)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    assert result.verdict is Verdict.ONE_DEVICE


def test_a_run_whose_agent_was_replaced_is_made_again(tuner: Tuner) -> None:
    engine = Losing(speed(two=1.6, three=2.2), count=0)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    [lost] = [t for t in result.trials if t.reason == LOST]
    again = [t for t in result.trials if t.configuration == lost.configuration]
    assert [t.outcome for t in again][:2] == [Outcome.CRASHED, Outcome.MEASURED]


def test_a_host_lost_in_certification_refuses_nobody(tuner: Tuner) -> None:
    """That it could not be finished says nothing of what it looked at, which is certified later."""
    engine = Losing(speed(two=1.6, three=2.2), certifying=True)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    assert engine.lost == 1
    assert not [t for t in result.trials if t.outcome is Outcome.REJECTED]
    assert result.verdict is Verdict.DISTRIBUTE
    assert result.config.workers == 2
