"""A search on several hosts goes on with those that are left."""

from __future__ import annotations

import pytest

from autotune import Outcome, Verdict
from autotune.engine.base import RunResult, Watch
from autotune.engine.tasks.observe import Observation, ObservationRequest
from autotune.engine.tasks.train import TrialRequest
from autotune.events import Notice
from autotune.reason import HostLost, TooFewHosts
from autotune.result.verdict import VerdictOutcome
from autotune.space import parse_space
from autotune.testing import FakeEngine
from autotune.testing.fake import Speed, fake_machine
from autotune.trial import Stage

from .conftest import Tuner

SPACE = parse_space(
    {
        "name": "spread",
        "strategies": ["one_device", "multi_worker_mirrored"],
        "axes": {
            "per_replica_batch": [32, 64],
            "workers": [2, 3],
            "shard_policy": ["data"],
        },
    },
    where="test",
)
LOST = HostLost(host="host2 (10.0.0.2)", silent=5.0)


class Losing(FakeEngine):
    """Three hosts, of which some are lost under a run.

    Args:
        truth: The speeds.
        during: The run of several hosts, counted from 0, during which they are lost.
        count: How many are; 0: only the run is, as where an agent is replaced.
    """

    def __init__(self, truth: Speed, *, during: int = 0, count: int = 1) -> None:
        super().__init__(truth, machine=fake_machine(hosts=3), between=0.01)
        self._during = during
        self._count = count
        self._gangs = 0
        self.lost = 0

    def lost_hosts(self) -> tuple[str, ...]:
        """Return those that are gone by now."""
        return ("host2", "host1")[: self.lost]

    def run(self, request: TrialRequest, watch: Watch) -> RunResult:
        """Run it if its hosts are left, and stay so."""
        reason = self._why_not(request)
        if reason is None:
            return super().run(request, watch)
        return RunResult(outcome=Outcome.CRASHED, reason=reason)

    def observe(self, request: ObservationRequest) -> Observation:
        """Look at it if its hosts are left, and stay so."""
        reason = self._why_not(request.trial)
        return Observation(failure=reason) if reason else super().observe(request)

    def _why_not(self, request: TrialRequest) -> HostLost | TooFewHosts | None:
        needed, left = 1 + max(role.host for role in request.roles), 3 - self.lost
        if needed > left:
            return TooFewHosts(needed=needed, left=left)
        self._gangs += needed > 1
        if needed == 1 or self._gangs != self._during + 1:
            return None
        self.lost = self._count
        return LOST


def speed(*, two: float, three: float) -> Speed:
    """Gangs are so many times as fast as one device."""
    factors = {1: 1.0, 2: two, 3: three}
    return lambda c: 1000.0 * factors[c.workers]


@pytest.mark.parametrize("during", [0, 1, 3, 6])
def test_the_gangs_that_are_left_are_judged(tuner: Tuner, during: int) -> None:
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
    assert any("host2 (10.0.0.2) was lost" in each for each in result.reasons)


def test_what_lacks_a_host_may_have_been_faster(tuner: Tuner) -> None:
    """With one host left nothing is said against distribution, but what the search needs."""
    engine = Losing(speed(two=1.6, three=2.2), count=2)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    assert result.verdict is Verdict.UNDECIDED
    assert result.evidence.outcome is VerdictOutcome.HOSTS_LOST
    assert not result.config.distributed
    assert "start them again and continue with --resume" in str(result)


def test_a_loss_that_changes_nothing_leaves_the_verdict(tuner: Tuner) -> None:
    """Where the gangs that lack a host were measured and slower, one device is right."""
    engine = Losing(speed(two=0.4, three=0.3), during=4)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    assert result.verdict is Verdict.ONE_DEVICE


def test_a_run_whose_agent_was_replaced_is_made_again(tuner: Tuner) -> None:
    """No host is lost, so nothing is held against the configuration."""
    engine = Losing(speed(two=1.6, three=2.2), count=0)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    [lost] = [t for t in result.trials if t.reason == LOST]
    again = [t for t in result.trials if t.configuration == lost.configuration]
    assert [t.outcome for t in again][:2] == [Outcome.CRASHED, Outcome.MEASURED]


def test_a_host_lost_in_certification_refuses_nobody(tuner: Tuner) -> None:
    """That a look could not be finished says nothing of what it looked at."""

    class Uncertified(Losing):
        def run(self, request: TrialRequest, watch: Watch) -> RunResult:
            return FakeEngine.run(self, request, watch)

    engine = Uncertified(speed(two=0.5, three=2.2), count=1)
    result = tuner(lambda _: 0, engine=engine, space=SPACE, options={"budget": 300.0})
    assert engine.lost == 1
    assert not [t for t in result.trials if t.outcome is Outcome.REJECTED]
    assert result.verdict is not Verdict.ONE_DEVICE
    assert all(t.stage is not Stage.FINAL or t.configuration.workers < 3 for t in result.trials)
