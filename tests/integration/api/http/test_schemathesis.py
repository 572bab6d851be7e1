"""Schemathesis holds the application to its OpenAPI document, in this process.

`make schemathesis` does the same with many more examples.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from autotune.api.http.app import create_app
from autotune.api.http.service import Service
from autotune.api.identity import Scope
from autotune.api.settings import Quotas, Settings, Web, load_settings
from autotune.api.store.auth import Keyring
from autotune.api.work.worker import Worker
from tests.engines.fake import FAKE_MACHINE

ROOT = Path(__file__).parents[4]
ENGINES = Path(__file__).parents[1]
EXAMPLES = int(os.environ.get("AUTOTUNE_SCHEMATHESIS", "4"))
"""Of each operation, beside those that cover every boundary once."""
PHASES: dict[str, object] = {"stateful": {"generation": {"max-examples": 1}, "max-steps": 3}}
"""One short sequence of calls."""
if "AUTOTUNE_SCHEMATHESIS" in os.environ:
    PHASES = {}
ONLY = os.environ.get("AUTOTUNE_SCHEMATHESIS_PATH")
"""A path of the document, to try its operations alone."""


ACCEPTED = ["2xx", "3xx", 401, 403, 404, 409, 429, "5xx"]
"""What Schemathesis takes for an acceptance of valid data by itself."""
_UNKNOWN_HEADER = "in header - object with unexpected properties"
"""It would have a request refused for a header that nobody knows; HTTP says to ignore it (RFC 9110,
section 5.1)."""


@dataclass(frozen=True)
class Target:
    app: FastAPI
    secret: str
    job: str

    def findings(self, **options: object) -> list[str]:
        import schemathesis  # noqa: PLC0415 - it takes a second, in all that collect this file
        from schemathesis.config import SchemathesisConfig  # noqa: PLC0415 - as above
        from schemathesis.engine import from_schema  # noqa: PLC0415 - as above

        shown = {
            "headers": {"Authorization": f"Bearer {self.secret}"},
            "generation": {"max-examples": EXAMPLES, "deterministic": True, "no-shrink": True},
            "phases": PHASES,
            # Not all that fits the schema is registered, or can run on a machine.
            "checks": {"positive_data_acceptance": {"expected-statuses": [*ACCEPTED, 422]}},
            **options,
        }
        config = SchemathesisConfig.from_dict(shown)
        schema = schemathesis.openapi.from_asgi("/openapi.json", self.app, config=config)
        schema = schema.include(path=ONLY) if ONLY else schema
        return [each for event in from_schema(schema).execute() for each in _findings(event)]


def _findings(event: Any) -> Iterator[str]:
    from schemathesis.engine import events  # noqa: PLC0415 - as above

    if isinstance(event, events.NonFatalError):
        yield f"{event.label}: {event.info.format()}"
    elif isinstance(event, events.FatalError):
        yield repr(event.exception)
    elif isinstance(event, events.ScenarioFinished):
        for checks in event.recorder.checks.values():
            for check in checks:
                failure = check.failure_info
                if failure is not None and _UNKNOWN_HEADER not in failure.failure.message:
                    yield f"{check.name}: {failure.failure.message}\n{failure.code_sample}"


@pytest.fixture(scope="module")
def own_settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return load_settings(
        data=tmp_path_factory.mktemp("data"),
        root=ROOT,
        engine="service_engines:quick",
        machine=FAKE_MACHINE,
        quotas=Quotas(queued=10**9, device_seconds=1e12),
        web=Web(hosts=("testserver",), poll=0.01, heartbeat=0.05),
    )


@pytest.fixture(scope="module")
def target(own_settings: Settings) -> Iterator[Target]:
    with ExitStack() as stack:
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.syspath_prepend(str(ENGINES))
        service = Service(own_settings, keys=True)
        stack.callback(service.close)
        secret = (
            Keyring(service.database).hand_out("schemathesis", list(Scope), "schemathesis").secret
        )
        app = create_app(service)
        with TestClient(app, headers={"Authorization": f"Bearer {secret}"}) as client:
            asked = {"workload": "digits", "space": "quick", "max_trials": 3}
            job = client.post("/v1/tunings", json=asked).json()["id"]
            Worker(service.database, own_settings).run_one()
            assert client.get(f"/v1/tunings/{job}").json()["state"] == "done"
        yield Target(app, secret, job)


def test_every_answer_is_as_documented(target: Target) -> None:
    """Whatever is sent, alone or one call after the other: no check has a finding."""
    # One event is all that comes of a job that waits.
    found = target.findings(**{"max-stream-events": 1})
    assert not found, "\n\n".join(found)


def test_every_answer_about_a_job_that_is_done_is_as_documented(target: Target) -> None:
    options = {
        "parameters": {"path.job_id": target.job},
        "phases": {"stateful": {"enabled": False}},
    }
    found = target.findings(**options)
    assert not found, "\n\n".join(found)
