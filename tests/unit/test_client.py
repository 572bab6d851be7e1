"""The client against a service that answers as each test wants."""

import json
from collections.abc import Iterator
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
from autotune.api.http.problems import response_to
from autotune.errors import AutotuneError
from autotune.space import Space
from autotune.text import STEERING
from autotune.wire.errors import NoRecommendation, QuotaExceeded, UnreadableRecord
from autotune.wire.jobs import Needs

URL = "http://tuner"
Reply = httpx.Response | Exception
AT = "2026-03-02T09:30:00Z"
QUEUED: dict[str, Any] = {
    "workload": "digits",
    "id": "3f1c9a0b5d7e2468ace13579",
    "project": "vision",
    "state": "queued",
    "created_at": AT,
    **dict.fromkeys(("attempt", "events", "trials"), 0),
    **dict.fromkeys(("one_device", "distributed", "started_at", "ended_at"), None),
    **dict.fromkeys(("verdict", "summary", "reason"), None),
}
DONE = {**QUEUED, "state": "done", "verdict": "one device", "added": "by a later version"}


class Service:
    """Answers with one reply after the other, and keeps what it was asked."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = [*replies]
        self.asked: list[httpx.Request] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request)
        reply = self.replies.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply

    @property
    def client(self) -> Client:
        return Client(URL, "secret", transport=httpx.MockTransport(self))


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    waited: list[float] = []
    monkeypatch.setattr("autotune.client.time.sleep", waited.append)
    return waited


def refused(code: str) -> httpx.Response:
    told = response_to(ServiceError.kinds[code]("It is so.", "Do this."))
    return httpx.Response(told.status_code, content=told.body, headers=dict(told.headers))


class Body(httpx.SyncByteStream):
    """Comes in parts, and breaks unless it ends."""

    def __init__(self, parts: list[str], *, ends: bool) -> None:
        self.parts, self.ends = parts, ends

    def __iter__(self) -> Iterator[bytes]:
        yield from map(str.encode, self.parts)
        if not self.ends:
            raise httpx.ReadError("connection reset")


def stream(*kinds: str, first: int = 1, ends: bool = True, text: str = "x") -> httpx.Response:
    """Return an event stream, which breaks unless it ends."""
    more = {"ended": {"state": "done"}, "notice": {"text": text}}
    parts = []
    for number, kind in enumerate(kinds, first):
        body = {"kind": kind, **more.get(kind, {})}
        told = json.dumps({"number": number, "at": AT, "body": body})
        parts.append(f"event: {kind}\ndata: {told}\nid: {number}\n\n")
    headers = {"Content-Type": "text/event-stream"}
    return httpx.Response(200, stream=Body(parts, ends=ends), headers=headers)


def test_a_request_says_what_was_asked_for() -> None:
    """With the key, and nothing that is as it always is; needs are a value or a mapping."""
    service = Service(*(httpx.Response(202, json=QUEUED) for _ in range(3)))
    options = SearchOptions(max_trials=5)
    job = service.client.submit("digits", {"filters": 64}, budget="90s", options=options)
    asked = {"needs": {"kind": "H100", "labels": ["fast"]}, "priority": -2}
    for needs in (Needs(kind="H100", labels=("fast",)), asked["needs"]):
        service.client.submit("digits", **{**asked, "needs": needs})
    assert service.asked[0].headers["authorization"] == "Bearer secret"
    assert (job.id, job.state) == (QUEUED["id"], "queued")
    first, *others = [json.loads(each.content) for each in service.asked]
    assert first == {
        "workload": "digits",
        "params": {"filters": 64},
        "budget": 90.0,
        "max_trials": 5,
    }
    assert [{name: each[name] for name in asked} for each in others] == [asked] * 2


@pytest.mark.parametrize(
    ("asked", "told"), [({"needs": {"gpus": 2}}, "gpus"), ({"epochs": 0}, "epochs")]
)
def test_what_no_service_takes_is_refused_here(asked: dict[str, Any], told: str) -> None:
    service = Service()
    with pytest.raises(UsageError, match=told):
        service.client.submit("digits", **asked)
    assert service.asked == []


def test_jobs_are_listed_over_all_pages() -> None:
    """Each page is asked for once the one before is used up."""
    pages = [{"tunings": [DONE], "next": DONE["id"]}, {"tunings": [QUEUED], "next": None}]
    service = Service(*(httpx.Response(200, json=each) for each in pages))
    found = service.client.jobs("done", "queued", workload="digits")
    assert next(found).state == "done"
    assert len(service.asked) == 1
    assert [each.state for each in found] == ["queued"]
    asked = [each.url.params.multi_items() for each in service.asked]
    states = [("state", "done"), ("state", "queued")]
    assert [each for each in asked[0] if each[0] == "state"] == states
    assert {*asked[1]} - {*asked[0]} == {("before", DONE["id"])}
    assert dict(asked[0])["workload"] == "digits"


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


def test_a_stream_that_breaks_late_is_resumed_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """The minute in which the service may come back begins with the loss."""
    now = 0.0
    monkeypatch.setattr(client_module.time, "monotonic", lambda: now)
    service = Service(
        stream("queued", ends=False), httpx.ConnectError("refused"), stream("ended", first=2)
    )
    told = service.client.follow("x")
    assert next(told).number == 1
    now = 1800.0
    assert [each.number for each in told] == [2]


def test_a_large_event_and_one_of_a_later_service_lose_no_connection() -> None:
    service = Service(stream("notice", "unheard-of", "ended", text="x" * 2_000_000))
    kinds = [each.body.kind for each in service.client.follow("x")]
    assert kinds == ["notice", "notice", "ended"]


@pytest.mark.parametrize("code", ["key-refused", "not-found", "too-many-streams"])
def test_a_follower_that_is_refused_is_told(code: str) -> None:
    """At once, and also where the stream broke before."""
    service = Service(stream("queued", ends=False), refused(code))
    with pytest.raises(ServiceError, match="It is so"):
        [*service.client.follow("x")]


def test_a_failed_job_has_no_result() -> None:
    failed = {**DONE, "state": "failed", "reason": "no digits."}
    service = Service(httpx.Response(200, json=failed))
    with pytest.raises(NoRecommendation, match=r"The job failed: no digits\."):
        service.client.result(DONE["id"])


@pytest.mark.parametrize("url", ["tuner:8321", "ftp://tuner", "http://", ""])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="is no address of a service"):
        Client(url)


def test_the_key_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AUTOTUNE_API_KEY", "mine")
    service = Service(httpx.Response(200, json=DONE))
    Client(URL, transport=httpx.MockTransport(service)).job("x")
    assert service.asked[0].headers["authorization"] == "Bearer mine"
    with pytest.raises(UsageError, match="no key has"):
        Client(URL, "a\nb")


JSON = {"Content-Type": "application/json"}


@pytest.mark.parametrize("body", ["", "[]", "[" * 100_000, '{"id": ' + "1" * 9000 + "}", "\x1b[2J"])
@pytest.mark.parametrize("status", [200, 422])
def test_whatever_a_hostile_service_answers_is_an_error_of_ours(status: int, body: str) -> None:
    reply = httpx.Response(status, text=body, headers=JSON)
    with pytest.raises(AutotuneError) as told:
        Service(reply).client.job("x")
    assert not STEERING.search(str(told.value))


def test_what_a_service_says_steers_no_terminal() -> None:
    """In answers, in refusals and in events; a program stays as it is."""
    odd = "\x1b]52;c;eA==\x07 \u202e"
    job = Service(httpx.Response(200, json={**QUEUED, "reason": odd})).client.job("x")
    assert not STEERING.search(job.reason or "")
    problem = {"type": "", "title": "", "status": 422, "code": "x", "detail": odd, "next_step": odd}
    with pytest.raises(ServiceError) as told:
        Service(httpx.Response(422, json=problem)).client.job("x")
    assert not STEERING.search(str(told.value))
    (event, _) = Service(stream("notice", "ended", text=odd)).client.follow("x")
    assert not STEERING.search(event.body.text)


def test_an_event_without_a_number_is_told() -> None:
    body = Body(["event: notice\ndata: odd\nid: first\n\n"], ends=True)
    reply = httpx.Response(200, stream=body, headers={"Content-Type": "text/event-stream"})
    with pytest.raises(UnreadableRecord):
        next(Service(reply).client.follow("x"))


@pytest.mark.parametrize("known", [False, True])
def test_a_script_is_sent_with_its_folder_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, known: bool
) -> None:
    """What is sent is told before; the job names it by its digest."""
    (tmp_path / "train.py").write_text("import keras\n")
    monkeypatch.chdir(tmp_path)
    kept = {"digest": "0", "bytes": 1, "files": 1, "unpacked": 1, "created_at": AT}
    here, made = httpx.Response(200, json=kept), httpx.Response(201, json=kept)
    service = Service(*([here] if known else [refused("not-found"), made]))
    told: list[str] = []
    program = service.client.upload("train.py", arguments=["--epochs", "3"], notify=told.append)
    methods = [each.method for each in service.asked]
    assert (methods, len(told)) == ((["GET"], 0) if known else (["GET", "PUT"], 1))
    assert {each.url.path for each in service.asked} == {f"/v1/code/{program.digest}"}
    asking = Service(httpx.Response(202, json=QUEUED))
    asking.client.submit("", program=program, train_for="6h")
    assert json.loads(asking.asked[0].content) == {
        "program": {
            "digest": program.digest,
            "model": "train.py",
            "arguments": ["--epochs", "3"],
        },
        "train_for": 21600.0,
    }
