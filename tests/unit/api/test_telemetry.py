"""Traces: when there are some, what is in them, and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from autotune.api import telemetry
from autotune.api.log import about, known
from autotune.api.requests import JobRequest
from autotune.api.states import State
from autotune.api.store import attempts
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.telemetry import Telemetry, Traces, telemetry_of
from autotune.api.values import Claim, Post
from autotune.config import Configuration
from autotune.events import TrialEnded, TrialStarted
from autotune.reason import Message, Outcome
from autotune.trial import Stage, Trial

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
WHERE = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}


class Spans:
    """A provider that keeps what it is told."""

    def __init__(self) -> None:
        sdk: Any = pytest.importorskip("opentelemetry.sdk.trace", reason="the extra `telemetry`")
        export: Any = pytest.importorskip("opentelemetry.sdk.trace.export")
        memory: Any = pytest.importorskip("opentelemetry.sdk.trace.export.in_memory_span_exporter")
        self._kept = memory.InMemorySpanExporter()
        self.provider = sdk.TracerProvider(shutdown_on_exit=False)
        self.provider.add_span_processor(export.SimpleSpanProcessor(self._kept))

    def named(self, name: str) -> list[Any]:
        """Return those of some name that have ended."""
        return [each for each in self._kept.get_finished_spans() if each.name == name]


@pytest.fixture
def spans() -> Spans:
    """What is told."""
    return Spans()


@pytest.fixture
def claimed(database: Database, jobs: Jobs, asked: JobRequest) -> Claim:
    """A job that somebody asked for within a trace, and that a worker has taken."""
    with about(traceparent=PARENT):
        jobs.submit(asked, "me")
    found = attempts.claim(database, Post(worker="w", devices="d", host="h"), 60.0)
    assert found is not None
    return found


def started(number: int, **choices: Any) -> TrialStarted:
    configuration = Configuration(**choices)
    return TrialStarted(
        number=number, stage=Stage.BASELINE, configuration=configuration, elapsed=0.0
    )


def ended(number: int, outcome: Outcome) -> TrialEnded:
    trial = Trial(
        number=number,
        stage=Stage.BASELINE,
        configuration=Configuration(),
        outcome=outcome,
        reason=Message(text="secret of the user"),
        examples_per_second=1000.0 if outcome is Outcome.MEASURED else None,
        wall_seconds=3.0,
        detail="secret of the user",
    )
    return TrialEnded(trial=trial, elapsed=3.0)


@pytest.mark.parametrize(
    "variables",
    [{}, {**WHERE, "OTEL_SDK_DISABLED": "True"}, {"OTEL_EXPORTER_OTLP_ENDPOINT": ""}],
)
def test_there_are_no_traces_unless_asked_for(variables: dict[str, str]) -> None:
    """By the usual variables."""
    assert type(telemetry_of("api", variables)) is Telemetry


def test_a_service_that_cannot_trace_says_how_it_could_and_serves(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """An environment that asks for traces may be one for everything on a cluster."""

    def missing(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    monkeypatch.setattr(telemetry, "import_module", missing)
    assert type(telemetry_of("api", WHERE)) is Telemetry
    assert "'.[telemetry]'" in caplog.text


def test_a_job_goes_on_with_the_trace_of_its_request(spans: Spans, claimed: Claim) -> None:
    """Waiting and search are parts of the request, each trial is one of the search."""
    with Traces(spans.provider).attempt(claimed) as attempt:
        attempt.hear(started(0, per_replica_batch=64, arguments=(("lr", 0.1), ("who", "me"))))
        attempt.hear(ended(0, Outcome.MEASURED))
        attempt.ended(State.DONE)
    (wait,), (search,), (trial,) = map(spans.named, ("wait", "search", "trial"))
    for each in (wait, search):
        assert f"{each.parent.trace_id:032x}-{each.parent.span_id:016x}" == PARENT[3:-3]
    assert trial.parent.span_id == search.context.span_id
    assert search.attributes["autotune.state"] == "done"
    assert trial.attributes["autotune.trial.outcome"] == "measured"
    assert trial.attributes["autotune.per_replica_batch"] == 64
    assert trial.attributes["autotune.lr"] == 0.1


def test_no_text_of_the_user_is_told(spans: Spans, claimed: Claim) -> None:
    """It may hold anything."""
    with Traces(spans.provider).attempt(claimed) as attempt:
        attempt.hear(started(0, arguments=(("token", "secret of the user"),)))
        attempt.hear(ended(0, Outcome.CRASHED))
    (trial,) = spans.named("trial")
    assert "secret" not in trial.to_json()
    assert not trial.status.is_ok


def test_a_trial_that_is_cut_short_ends_with_its_attempt(spans: Spans, claimed: Claim) -> None:
    """It failed, whoever's fault that was."""
    with Traces(spans.provider).attempt(claimed) as attempt:
        attempt.hear(started(0))
    (trial,) = spans.named("trial")
    assert trial.status.description == "interrupted"


def test_what_a_worker_logs_of_a_job_names_its_trace(spans: Spans, claimed: Claim) -> None:
    """And nothing else does."""
    with Traces(spans.provider).attempt(claimed):
        assert known()["trace_id"] == PARENT.split("-")[1]
    assert "trace_id" not in known()
