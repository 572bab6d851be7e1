"""The client against a service that answers as each test wants."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest

from autotune import (
    Client,
    SearchOptions,
    ServiceError,
    ServiceUnreachable,
    UsageError,
    client as client_module,
)
from autotune.api.errors import NoRecommendation, QuotaExceeded
from autotune.api.http.problems import answer, problem
from autotune.api.needs import Needs
from autotune.config import Configuration
from autotune.result import Result, Verdict
from autotune.result.verdict import Decision, Evidence, VerdictOutcome
from autotune.space import Space
from autotune.stats import Interval
from autotune.testing import FAKE_FACTS, FAKE_MACHINE
from autotune.workload import Workload

URL = "http://tuner"
Reply = httpx.Response | Exception
AT = "2026-03-02T09:30:00Z"
QUEUED: dict[str, Any] = {
    "workload": "digits",
    "id": "3f1c9a0b5d7e2468ace13579",
    "project": "vision",
    "state": "queued",
    "attempt": 0,
    "events": 1,
    "trials": 0,
    "created_at": AT,
    **dict.fromkeys(("one_device", "distributed", "started_at", "ended_at"), None),
    **dict.fromkeys(("verdict", "summary", "reason"), None),
}
DONE = {**QUEUED, "state": "done", "verdict": "one device", "added": "by a later version"}
WORKER = {
    "name": "bench-1",
    "devices": "bench",
    "machine": None,
    "engine": "local",
    "labels": [],
    "workloads": {},
    "version": "0.1.0",
    "started_at": AT,
    "seen_at": AT,
    "draining": False,
    "busy": True,
    "job": None,
}


class Service:
    """Answers with one reply after the other, and keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = [*replies]
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        """Answer."""
        self.asked.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    @property
    def client(self) -> Client:
        """A client of it."""
        return Client(URL, "secret", transport=httpx.MockTransport(self))


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that were waited for; nobody waits."""
    waited: list[float] = []

    monkeypatch.setattr("autotune.client.time.sleep", waited.append)
    return waited


def refused(code: str) -> httpx.Response:
    """Return a problem as the service answers it."""
    told = answer(problem(code, "It is so.", "Do this."))
    return httpx.Response(told.status_code, content=told.body, headers=dict(told.headers))


class Body(httpx.SyncByteStream):
    """Comes in parts, and breaks unless it ends."""

    def __init__(self, parts: list[str], *, ends: bool) -> None:
        self.parts, self.ends = parts, ends

    def __iter__(self) -> Iterator[bytes]:
        """Give one part after the other."""
        yield from map(str.encode, self.parts)
        if not self.ends:
            raise httpx.ReadError("connection reset")


def stream(*kinds: str, first: int = 1, ends: bool = True) -> httpx.Response:
    """Return an event stream, which breaks unless it ends."""
    more = {"ended": {"state": "done"}, "notice": {"text": "x"}}
    parts = []
    for number, kind in enumerate(kinds, first):
        body = {"kind": kind, **more.get(kind, {})}
        told = json.dumps({"number": number, "at": "2026-03-02T09:30:00Z", "body": body})
        parts.append(f"event: {kind}\ndata: {told}\nid: {number}\n\n")
    headers = {"Content-Type": "text/event-stream"}
    return httpx.Response(200, stream=Body(parts, ends=ends), headers=headers)


JSON = {"Content-Type": "application/json"}


@pytest.fixture
def result(workload: Workload) -> Result:
    """One that stays on one device."""
    alone = Configuration()
    decision = Decision(verdict=Verdict.ONE_DEVICE)
    outcome = VerdictOutcome.PROVED_SLOWER
    return Result(
        configuration=alone,
        verdict=Verdict.ONE_DEVICE,
        evidence=Evidence(outcome=outcome, decision=decision, default=alone),
        examples_per_second=Interval(low=900, value=1000, high=1100),
        best_distributed_speedup=None,
        one_device=alone,
        best_distributed=None,
        gain_over_yours=None,
        script="print('trained')\n",
        launch=None,
        trials=(),
        compared=(),
        workload=workload,
        facts=FAKE_FACTS,
        machine=FAKE_MACHINE,
        study="tuning",
        seed=0,
        seconds=60.0,
    )


def test_a_request_says_what_was_asked_for() -> None:
    """With the key, and nothing that is as it always is."""
    service = Service(httpx.Response(202, json=QUEUED))
    options = SearchOptions(max_trials=5)
    job = service.client.submit("digits", {"filters": 64}, budget="90s", options=options)
    (asked,) = service.asked
    assert json.loads(asked.content) == {
        "workload": "digits",
        "params": {"filters": 64},
        "budget": 90.0,
        "max_trials": 5,
    }
    assert asked.headers["authorization"] == "Bearer secret"
    assert (job.id, job.state) == (QUEUED["id"], "queued")


def test_a_request_says_what_it_needs() -> None:
    """As a value or a mapping, with its priority; what is odd is refused here."""
    service = Service(*(httpx.Response(202, json=QUEUED) for _ in range(2)))
    for needs in (Needs(kind="H100", labels=("fast",)), {"kind": "H100", "labels": ["fast"]}):
        service.client.submit("digits", needs=needs, priority=-2)
    wanted = {"kind": "H100", "labels": ["fast"]}
    sent = [json.loads(each.content) for each in service.asked]
    assert [(each["needs"], each["priority"]) for each in sent] == [(wanted, -2)] * 2
    with pytest.raises(UsageError, match="gpus"):
        service.client.submit("digits", needs={"gpus": 2})


def test_a_job_is_labelled_and_found_by_that() -> None:
    """What no label can be is refused here."""
    page = {"tunings": [], "next": None}
    service = Service(httpx.Response(202, json=QUEUED), httpx.Response(200, json=page))
    service.client.submit("digits", labels={"team": "vision"})
    sent = json.loads(service.asked[0].content)
    assert sent["labels"] == {"team": "vision"}
    assert list(service.client.jobs(labels={"team": "vision", "run": "7"})) == []
    assert service.asked[1].url.params.get_list("label") == ["run:7", "team:vision"]
    with pytest.raises(UsageError, match="labels"):
        service.client.submit("digits", labels={"a:b": "c"})


def test_a_job_is_repeated_once() -> None:
    """However often the request is sent, and by both clients."""
    service = Service(httpx.ReadError("reset"), httpx.Response(202, json=QUEUED))
    assert service.client.repeat(DONE["id"]).id == QUEUED["id"]
    first, second = service.asked
    assert first.url.path == f"/v1/tunings/{DONE['id']}/repeat"
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"]


def test_jobs_are_listed_over_all_pages() -> None:
    """Each page is asked for once the one before is used up; a time is sent with its zone."""
    pages = [{"tunings": [DONE], "next": DONE["id"]}, {"tunings": [QUEUED], "next": None}]
    service = Service(*(httpx.Response(200, json=each) for each in pages))
    since = datetime(2026, 3, 2, tzinfo=UTC)
    found = service.client.jobs("done", "queued", workload="digits", since=since)
    assert next(found).state == "done"
    assert len(service.asked) == 1
    assert [each.state for each in found] == ["queued"]
    asked = [each.url.params.multi_items() for each in service.asked]
    states = [("state", "done"), ("state", "queued")]
    assert [each for each in asked[0] if each[0] == "state"] == states
    assert {*asked[1]} - {*asked[0]} == {("before", DONE["id"])}
    assert dict(asked[0])["workload"] == "digits"
    assert datetime.fromisoformat(dict(asked[0])["since"]) == since


def test_workers_are_listed() -> None:
    """As values."""
    service = Service(httpx.Response(200, json={"workers": [WORKER]}))
    (found,) = service.client.workers()
    assert (found.name, found.busy) == (WORKER["name"], True)


def test_a_space_of_ones_own_is_sent_whole(tmp_path: Path) -> None:
    """The service takes no path, so a file is read here."""
    service = Service(*(httpx.Response(202, json=QUEUED) for _ in range(2)))
    path = tmp_path / "own.yaml"
    path.write_text("strategies: [one_device]\naxes: {per_replica_batch: [32]}\n")
    service.client.submit("digits", space=str(path))
    service.client.submit("digits", space={"strategies": ["one_device"]})
    spaces = [Space.model_validate(json.loads(each.content)["space"]) for each in service.asked]
    assert [each.strategies for each in spaces] == [("one_device",)] * 2
    assert spaces[0].axes["per_replica_batch"] == (32,)


def test_a_lost_answer_makes_no_second_job(slept: list[float]) -> None:
    """The same idempotency key is sent until there is an answer; another request has another."""
    lost = httpx.ReadError("reset"), refused("database-unavailable")
    service = Service(*lost, *(httpx.Response(202, json=QUEUED) for _ in range(3)))
    service.client.submit("digits")
    assert (len(service.asked), len(slept)) == (3, 2)
    assert slept[0] < slept[1]
    service.client.submit("digits")
    service.client.submit("digits", idempotency_key="mine")
    keys = [each.headers["idempotency-key"] for each in service.asked]
    assert (len({*keys[:3]}), len({*keys}), keys[4]) == (1, 3, "mine")


def test_what_is_refused_is_not_tried_again(slept: list[float]) -> None:
    """A quota does not come back in a moment."""
    service = Service(refused("quota-exceeded"))
    with pytest.raises(QuotaExceeded, match=r"It is so\. Do this\."):
        service.client.submit("digits")
    assert slept == []


def test_a_service_that_is_away_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once its time is over."""
    service = Service(*(httpx.ConnectError("Connection refused") for _ in range(200)))
    now = iter(range(1000))
    monkeypatch.setattr(client_module.time, "monotonic", lambda: float(next(now)))
    with pytest.raises(ServiceUnreachable, match="Connection refused"):
        service.client.job("x")
    first = len(service.asked)
    service.replies[:0] = [httpx.Response(200, json=DONE)]
    client = service.client
    client.job("x")
    with pytest.raises(ServiceUnreachable):
        client.job("x")
    assert first < 10 < len(service.asked)


def test_a_job_is_waited_for() -> None:
    """Until it has ended, or its time is over."""
    running = {**QUEUED, "state": "running"}
    service = Service(*(httpx.Response(200, json=each) for each in (QUEUED, running, DONE)))
    assert service.client.wait(QUEUED["id"]).state == "done"
    service = Service(httpx.Response(200, json=QUEUED))
    assert service.client.wait(QUEUED["id"], seconds=0).state == "queued"


def test_a_broken_stream_is_resumed() -> None:
    """After the last event that came, and no event comes twice; 204 says that none is left."""
    service = Service(
        stream("queued", "notice", ends=False),
        httpx.ConnectError("refused"),
        refused("database-unavailable"),
        stream("notice", first=3),
        stream("ended", first=4),
    )
    told = [each.number for each in service.client.follow("x")]
    assert told == [1, 2, 3, 4]
    assert [each.headers["last-event-id"] for each in service.asked] == ["0", "2", "2", "2", "3"]
    assert [*Service(httpx.Response(204)).client.follow("x", after=9)] == []


def test_a_large_event_is_no_lost_connection() -> None:
    """It would be lost again and again."""
    told = {"number": 1, "at": 0, "body": {"kind": "notice", "text": "x" * 2_000_000}}
    parts = [f"event: notice\ndata: {json.dumps(told)}\nid: 1\n\n"]
    headers = {"Content-Type": "text/event-stream"}
    large = httpx.Response(200, stream=Body(parts, ends=True), headers=headers)
    events = [*Service(large, stream("ended", first=2)).client.follow("x")]
    assert [each.number for each in events] == [1, 2]


def test_an_event_of_a_later_service_is_told_as_that() -> None:
    """And the stream goes on."""
    service = Service(stream("queued", "unheard-of", "ended"))
    kinds = [each.body.kind for each in service.client.follow("x")]
    assert kinds == ["queued", "notice", "ended"]


@pytest.mark.parametrize("code", ["key-refused", "not-found", "too-many-streams"])
def test_a_follower_that_is_refused_is_told(code: str) -> None:
    """At once, and also where the stream broke before."""
    service = Service(stream("queued", ends=False), refused(code))
    with pytest.raises(ServiceError, match="It is so"):
        [*service.client.follow("x")]


def test_a_result_is_the_one_of_the_python_call(tmp_path: Path, result: Result) -> None:
    """With its trials, and the files that it saves."""
    service = Service(
        httpx.Response(200, json=DONE),
        httpx.Response(200, text=result.model_dump_json(), headers=JSON),
    )
    folder = service.client.download(DONE["id"], tmp_path / "out")
    assert {"config.yaml", "train.py", "report.html", "trials.csv"} <= {
        each.name for each in folder.iterdir()
    }


def test_a_failed_job_has_no_result() -> None:
    """The error says why it failed."""
    failed = {**DONE, "state": "failed", "reason": "no digits."}
    service = Service(httpx.Response(200, json=failed))
    with pytest.raises(NoRecommendation, match=r"The job failed: no digits\."):
        service.client.result(DONE["id"])


@pytest.mark.parametrize("url", ["tuner:8321", "ftp://tuner", "http://", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    """Before anything is sent."""
    with pytest.raises(UsageError, match="is no address of a service"):
        Client(url)


def test_the_key_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless one is given."""
    monkeypatch.setenv("AUTOTUNE_API_KEY", "mine")
    service = Service(httpx.Response(200, json=DONE))
    Client(URL, transport=httpx.MockTransport(service)).job("x")
    assert service.asked[0].headers["authorization"] == "Bearer mine"
    with pytest.raises(UsageError, match="no key has"):
        Client(URL, "a\nb")
