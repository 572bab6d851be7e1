"""The store against a model of itself: any order of calls, on both databases."""

from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, settings, strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test as run_machine,
)
from sqlalchemy import update

from autotune.api.requests import ListQuery
from autotune.api.settings import Quotas
from autotune.api.store import attempts
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import jobs, metadata
from autotune.api.values import JobOutcome, LeaseToken, WorkerInfo
from autotune.api.workloads import Registered, Registry
from autotune.wire.errors import IllegalTransition, Superseded
from autotune.wire.events import Ended
from autotune.wire.jobs import FINAL, HELD, JobRequest, State
from tests.trials import ended_trial

LEASE = 1000.0
QUOTAS = Quotas(queued=10_000, device_seconds=1e12, window_seconds=1e9)
REGISTRY = Registry({"digits": Registered(model="m.py:f", dataset="m.py:g")})
DEVICES = st.sampled_from(["a", "b"])


@dataclass
class Model:
    state: State = State.QUEUED
    attempt: int = 0
    token: LeaseToken | None = None
    """Who may write."""
    devices: str | None = None
    trials: list[int] = field(default_factory=list)
    heard: int = 0


class StoreMachine(RuleBasedStateMachine):
    database: Database

    def __init__(self) -> None:
        super().__init__()
        with self.database.writing() as connection:
            for table in reversed(metadata.sorted_tables):
                connection.execute(table.delete())
        self.service = Jobs(self.database, REGISTRY, QUOTAS)
        self.jobs: dict[str, Model] = {}
        self.old: list[LeaseToken] = []

    @rule()
    def submit(self) -> None:
        job = self.service.submit(JobRequest(workload="digits", budget=60), "me")
        self.jobs[job.id] = Model()

    @rule(devices=DEVICES)
    def claim(self, devices: str) -> None:
        post = WorkerInfo(worker="w", devices=devices, host="h")
        claimed = attempts.claim(self.database, post, LEASE)
        expected = self._next(devices)
        assert (claimed and claimed.job.id) == expected
        if claimed:
            model = self.jobs[claimed.job.id]
            model.attempt += 1
            model.state = max(model.state, State.RUNNING, key=[*State].index)
            model.token, model.devices, model.heard = claimed.token, devices, 0
            assert claimed.token.attempt == model.attempt
            assert [each.number for each in claimed.kept] == model.trials

    @precondition(lambda self: self.jobs)
    @rule(data=st.data())
    def cancel(self, data: st.DataObject) -> None:
        job_id = data.draw(st.sampled_from([*self.jobs]))
        model = self.jobs[job_id]
        if model.state in (State.DONE, State.FAILED):
            with pytest.raises(IllegalTransition):
                self.service.cancel(job_id, "me")
            return
        self.service.cancel(job_id, "me")
        after = {State.QUEUED: State.CANCELLED, State.RUNNING: State.CANCELLING}
        model.state = after.get(model.state, model.state)

    @precondition(lambda self: self._holders())
    @rule(data=st.data())
    def record(self, data: st.DataObject) -> None:
        model = data.draw(st.sampled_from(self._holders()))
        report = AttemptReport(number=model.heard + 1, trial=ended_trial(len(model.trials)))
        assert attempts.record(self.database, model.token, report)
        assert not attempts.record(self.database, model.token, report)
        model.heard += 1
        model.trials.append(len(model.trials))

    @precondition(lambda self: self._holders())
    @rule(data=st.data())
    def renew(self, data: st.DataObject) -> None:
        model = data.draw(st.sampled_from(self._holders()))
        assert attempts.renew(self.database, model.token, LEASE) is model.state

    @precondition(lambda self: self._holders())
    @rule(data=st.data(), state=st.sampled_from([State.DONE, State.FAILED]))
    def finish(self, data: st.DataObject, state: State) -> None:
        model = data.draw(st.sampled_from(self._holders()))
        wanted = State.CANCELLED if model.state is State.CANCELLING else state
        found = attempts.finish(self.database, model.token, JobOutcome(state=state))
        assert found is wanted
        self._over(model, wanted)

    @precondition(lambda self: self._holders())
    @rule(data=st.data())
    def let_go(self, data: st.DataObject) -> None:
        model = data.draw(st.sampled_from(self._holders()))
        wanted = State.CANCELLED if model.state is State.CANCELLING else State.QUEUED
        assert attempts.let_go(self.database, model.token, "died", "x") is wanted
        self._over(model, wanted)
        model.devices = model.devices if model.trials else None

    @precondition(lambda self: self._holders())
    @rule(data=st.data())
    def lapse(self, data: st.DataObject) -> None:
        model = data.draw(st.sampled_from(self._holders()))
        assert model.token
        mine = update(jobs).where(jobs.c.id == model.token.job_id)
        with self.database.writing() as connection:
            connection.execute(mine.values(expires_at=1.0))
        self._over(model, model.state)

    @precondition(lambda self: self.old)
    @rule(data=st.data())
    def wake(self, data: st.DataObject) -> None:
        token = data.draw(st.sampled_from(self.old))
        for write in (
            lambda: attempts.renew(self.database, token, LEASE),
            lambda: attempts.status(self.database, token),
            lambda: attempts.note_process(self.database, token, 1, 1),
            lambda: attempts.record(
                self.database, token, AttemptReport(number=1, trial=ended_trial(99))
            ),
            lambda: attempts.finish(self.database, token, JobOutcome(state=State.DONE)),
            lambda: attempts.let_go(self.database, token, "died", "x"),
        ):
            with pytest.raises(Superseded):
                write()

    @invariant()
    def jobs_are_as_expected(self) -> None:
        found = {each.id: each for each in self.service.page("me", ListQuery(limit=100)).tunings}
        assert {name: (job.state, job.attempt, job.trials) for name, job in found.items()} == {
            name: (model.state, model.attempt, len(model.trials))
            for name, model in self.jobs.items()
        }

    @invariant()
    def events_have_no_gaps_and_one_end(self) -> None:
        for name, model in self.jobs.items():
            shown = self.service.events(name, "me")
            assert [each.number for each in shown] == list(range(1, len(shown) + 1))
            ends = [each for each in shown if isinstance(each.body, Ended)]
            assert len(ends) == (model.state in FINAL)
            assert not ends or shown[-1] == ends[0]

    def _holders(self) -> list[Model]:
        return [model for model in self.jobs.values() if model.token]

    def _over(self, model: Model, state: State) -> None:
        assert model.token
        self.old.append(model.token)
        model.token, model.state = None, state

    def _next(self, devices: str) -> str | None:
        if any(model.token and model.devices == devices for model in self.jobs.values()):
            return None
        left = [
            name
            for name, model in self.jobs.items()
            if model.state in HELD and not model.token and self._fits(model, devices)
        ]
        left.sort(key=lambda name: self.jobs[name].state is State.RUNNING)
        waiting = [
            name
            for name, model in self.jobs.items()
            if model.state is State.QUEUED and self._fits(model, devices)
        ]
        return next(iter([*left, *waiting]), None)

    def _fits(self, model: Model, devices: str) -> bool:
        bound = model.trials and model.devices != devices
        return not bound or model.state is State.CANCELLING


def test_the_store_does_as_its_model(database: Database, url: str) -> None:
    """Whatever is called in whatever order, jobs end once and no attempt writes after its time."""

    class Machine(StoreMachine):
        pass

    Machine.database = database
    run_machine(
        Machine,
        settings=settings(
            max_examples=15 if url.startswith("sqlite") else 8,
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
