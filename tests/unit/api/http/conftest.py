"""The application in this process, on a database made anew for each test, without a worker."""

import secrets
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.answer import Answer
from autotune.api.http.app import create_app
from autotune.api.http.service import Service
from autotune.api.identity import Scope
from autotune.api.settings import Patience, Quotas, Settings, Web, load_settings
from autotune.api.store import attempts, workers
from autotune.api.store.attempts import AttemptReport
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.values import LeaseToken, WorkerInfo
from autotune.api.work.attempt import EndCause, outcome_of
from autotune.api.work.child import Found
from autotune.config import Configuration
from autotune.events import TrialEnded
from autotune.reason import Message
from autotune.result import Result
from autotune.shared_values import Window
from autotune.stats.intervals import Interval
from autotune.trial import Trial
from autotune.wire.jobs import Job, JobRequest
from autotune.workload import Workload
from tests.answers import answer_of as answer_from
from tests.engines.fake import FAKE_FACTS, FAKE_MACHINE, fake_machine
from tests.trials import ended_trial

ROOT = Path(__file__).parents[4]
Client = Callable[..., TestClient]
Conclude = Callable[[Result], Job]


@pytest.fixture
def settings(database: Database, tmp_path: Path) -> Settings:
    del database  # Its file lies where these settings look.
    return load_settings(
        data=tmp_path,
        root=ROOT,
        devices="bench",
        machine=FAKE_MACHINE,
        patience=Patience(lease=600),
        quotas=Quotas(queued=100_000, device_seconds=1e9),
        web=Web(poll=0.01, heartbeat=0.05),
    )


@pytest.fixture
def jobs(database: Database, settings: Settings) -> Jobs:
    return Jobs(database, settings.registry(), settings.quotas)


@pytest.fixture
def serve() -> Iterator[Callable[..., FastAPI]]:
    with ExitStack() as stack:

        def make(settings: Settings, *, keys: bool = True) -> FastAPI:
            service = Service(settings, keys=keys)
            stack.callback(service.close)
            return create_app(service)

        yield make


@pytest.fixture
def app(serve: Callable[..., FastAPI], settings: Settings) -> FastAPI:
    return serve(settings)


@pytest.fixture
def anybody(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, base_url="http://localhost", raise_server_exceptions=False) as client:
        yield client


@pytest.fixture
def client_with(anybody: TestClient, database: Database) -> Client:
    def make(*scopes: Scope, **options: Any) -> TestClient:
        made = Keyring(database).hand_out(
            "test", scopes, **{"project": secrets.token_hex(4), **options}
        )
        client = TestClient(anybody.app, base_url="http://localhost", raise_server_exceptions=False)
        client.headers["Authorization"] = f"Bearer {made.secret}"
        client.portal = anybody.portal
        return client

    return make


@pytest.fixture
def client(client_with: Client) -> TestClient:
    return client_with(Scope.READ, Scope.WRITE)


@pytest.fixture
def job(client: TestClient, jobs: Jobs) -> Job:
    made = client.post("/v1/tunings", json={"workload": "digits", "space": "quick"})
    return jobs.get(made.json()["id"], None)


@pytest.fixture
def token(database: Database, job: Job, settings: Settings) -> LeaseToken:
    del job
    post = WorkerInfo(worker="w", devices="bench", host="here")
    return attempts.claim(database, post, settings.patience.lease).token


@pytest.fixture
def worker(database: Database) -> WorkerInfo:
    post = WorkerInfo(
        worker="bench-1-1-a",
        devices="bench",
        host="here",
        workloads={"digits": "c0de"},
        machine=fake_machine(gpus=("<b>H100</b>",)),
        labels=("fast",),
    )
    workers.seen(database, post)
    return post


@pytest.fixture
def trial() -> Trial:
    return ended_trial(
        configuration=Configuration(per_replica_batch=128),
        reason=Message(text="throughput measured"),
        examples_per_second=1000.0,
        windows=(Window(4, 0.1),),
        wall_seconds=3.0,
        detail="printed by /home/somebody/model.py",
    )


@pytest.fixture
def answer(trial: Trial) -> Answer:
    own = ended_trial(1, configuration=Configuration(), examples_per_second=800.0)
    gain = Interval(low=1.1, value=1.2, high=1.3)
    return answer_from((trial, own), trial.configuration, Configuration(), gain=gain)


@pytest.fixture
def recommendation(trial: Trial, answer: Answer, workload: Workload) -> Result:
    return Result(
        configuration=trial.configuration,
        answer=answer,
        script="print('trained')\n",
        launch=None,
        trials=(trial,),
        workload=workload,
        facts=FAKE_FACTS,
        machine=FAKE_MACHINE,
        study="tuning",
    )


@pytest.fixture
def measured(database: Database, token: LeaseToken, trial: Trial, answer: Answer) -> LeaseToken:
    shown = trial.model_copy(update={"windows": ()})
    ended = TrialEnded(trial=shown, elapsed=3.0, answer=answer)
    report = AttemptReport(number=1, events=[ended], trial=trial, began=True)
    attempts.record(database, token, report)
    return token


@pytest.fixture
def conclude(database: Database, jobs: Jobs, measured: LeaseToken) -> Conclude:
    def conclude(found: Result) -> Job:
        job = jobs.get(measured.job_id, None)
        outcome = outcome_of(EndCause.ANSWERED, Found(recommendation=found), job)
        attempts.finish(database, measured, outcome)
        return jobs.get(measured.job_id, None)

    return conclude


@pytest.fixture
def done(conclude: Conclude, recommendation: Result) -> Job:
    return conclude(recommendation)


@pytest.fixture
def asked() -> JobRequest:
    return JobRequest(workload="digits", space="quick")
