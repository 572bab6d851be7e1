"""Webhooks with a real receiver: what it gets, how often, and whom the service calls at all."""

from __future__ import annotations

import base64
import hmac
import json
import shutil
import ssl
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat
from pathlib import Path

import httpx2 as httpx
import pytest
from sqlalchemy import update

from autotune.api.delivery import Deliverer
from autotune.api.failpoints import FAIL_AT, FAIL_FLAG, FailPoint
from autotune.api.outbound import Outbound, _tls
from autotune.api.requests import JobRequest
from autotune.api.settings import WebhookLimits
from autotune.api.states import FINAL, State
from autotune.api.store.database import Database
from autotune.api.store.jobs import Jobs
from autotune.api.store.tables import webhooks
from autotune.api.store.webhooks import Webhooks
from autotune.api.values import Job
from autotune.api.webhooks import ENDINGS, Delivery, NewWebhook, Standing, Trouble
from benchmarks.service.site import Site, address_of, running, until

LIMITS = WebhookLimits(plain=True, hosts=("127.0.0.1",), seconds=5, delays=(0.05, 0.1, 0.1))
LOOK = 0.02
on_sqlite = pytest.mark.parametrize("url", ["sqlite"], indirect=True)
Start = Callable[..., subprocess.Popen[bytes]]


@dataclass
class Receiver:
    """An HTTP server that keeps what it gets."""

    statuses: list[int] = field(default_factory=list)
    """What it answers first; then 204."""
    location: str = ""
    seconds: float = 0.0
    """How long it takes to answer."""
    drips: bool = False
    """Whether its answer never ends."""
    paths: list[str] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)
    at_once: int = 0
    most_at_once: int = 0
    port: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}/hook"

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Keep a request, and answer it."""
        body = request.rfile.read(int(request.headers["content-length"]))
        with self._lock:
            self.paths.append(request.path)
            self.got.append(({k.lower(): v for k, v in request.headers.items()}, body))
            self.at_once += 1
            self.most_at_once = max(self.most_at_once, self.at_once)
            status = next(chain(self.statuses[len(self.got) - 1 :], repeat(204)))
        time.sleep(self.seconds)
        with self._lock:
            self.at_once -= 1
        if self.drips:
            return self._drip(request)
        request.send_response(status)
        request.send_header("Location", self.location)
        return request.end_headers()

    def _drip(self, request: BaseHTTPRequestHandler) -> None:
        with suppress(OSError):
            for each in chain(b"HTTP/1.1 200 OK\r\nX: ", repeat(ord("x"))):
                request.wfile.write(bytes([each]))
                time.sleep(0.02)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """One that takes everything."""
    found = Receiver()
    with serving(found):
        yield found


def serving(receiver: Receiver, context: ssl.SSLContext | None = None) -> ExitStack:
    """Have a receiver listen until the block ends."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            receiver.answer(self)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if context:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    receiver.port = server.server_address[1]
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack = ExitStack()
    stack.callback(server.server_close)
    stack.callback(server.shutdown)
    return stack


@pytest.fixture
def hooks(database: Database) -> Webhooks:
    """The webhooks."""
    return Webhooks(database, LIMITS)


@pytest.fixture
def hook(hooks: Webhooks, receiver: Receiver) -> NewWebhook:
    """One that leads to the receiver."""
    return hooks.add(receiver.url, ENDINGS, "me")


def sending(database: Database, limits: WebhookLimits = LIMITS) -> closing[Deliverer]:
    """Have what is due sent, until the block ends."""
    deliverer = Deliverer(database, Outbound(limits), LOOK)
    deliverer.start()
    return closing(deliverer)


def settled(hooks: Webhooks, hook: NewWebhook, database: Database, **options: object) -> Delivery:
    """Return the only delivery of a webhook once nothing more happens to it."""
    with sending(database, LIMITS.model_copy(update=options)):
        until(lambda: hooks.deliveries(hook.id, None)[0].state is not Standing.PENDING)
    (found,) = hooks.deliveries(hook.id, None)
    return found


def verify(secret: str, headers: dict[str, str], body: bytes) -> None:
    """Check a signature as a receiver does it, by hand."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
    expected = base64.b64encode(hmac.digest(key, signed, "sha256")).decode()
    assert f"v1,{expected}" in headers["webhook-signature"].split()
    assert abs(time.time() - int(headers["webhook-timestamp"])) < 60


@pytest.fixture
def end_job(jobs: Jobs, asked: JobRequest) -> Callable[[], str]:
    """Ends a job and returns its id."""
    return lambda: jobs.cancel(jobs.submit(asked, "me").id, "me").id


def test_a_receiver_that_fails_twice_gets_it_a_third_time(
    database: Database,
    end_job: Callable[[], str],
    hooks: Webhooks,
    hook: NewWebhook,
    receiver: Receiver,
) -> None:
    """Every attempt has the same id and a signature of its own, which is right."""
    receiver.statuses = [500, 429]
    job = end_job()
    found = settled(hooks, hook, database)
    assert (found.state, found.attempts, found.status) == (Standing.DELIVERED, 3, 204)
    assert len(receiver.got) == 3
    for headers, body in receiver.got:
        verify(hook.secret, headers, body)
        assert headers["webhook-id"] == found.id
        told = json.loads(body)
        assert (told["type"], told["data"]["id"]) == ("job.cancelled", job)


@pytest.fixture
def orphaned(
    hook: NewWebhook, jobs: Jobs, asked: JobRequest, start_worker: Start, tmp_path: Path
) -> Job:
    """A job whose worker was killed as soon as its end was recorded."""
    del hook
    job = jobs.submit(asked, "me")
    worker = start_worker(**{FAIL_AT: FailPoint.FINISHED, FAIL_FLAG: str(tmp_path / "died")})
    assert worker.wait(120) < 0
    return jobs.get(job.id, None)


def test_the_end_of_a_job_is_told_though_its_worker_was_killed_right_after_it(
    database: Database, hooks: Webhooks, hook: NewWebhook, receiver: Receiver, orphaned: Job
) -> None:
    """What is to be told is in the database with the end itself."""
    assert orphaned.state is State.DONE
    assert receiver.got == []
    assert settled(hooks, hook, database).state is Standing.DELIVERED
    ((headers, body),) = receiver.got
    verify(hook.secret, headers, body)
    told = json.loads(body)["data"]
    assert (told["id"], told["state"], told["verdict"]) == (orphaned.id, "done", orphaned.verdict)


def test_two_senders_tell_everything_once(
    database: Database,
    url: str,
    end_job: Callable[[], str],
    hooks: Webhooks,
    hook: NewWebhook,
    receiver: Receiver,
) -> None:
    """In the order of the ends, and one after the other."""
    receiver.seconds = 0.01
    ended = [end_job() for _ in range(20)]
    other = Database(url)
    with closing(other), sending(database), sending(other):
        until(lambda: hooks.counts()[Standing.DELIVERED] == len(ended))
    assert [json.loads(body)["data"]["id"] for _, body in receiver.got] == ended
    assert receiver.most_at_once == 1
    assert all(each.attempts == 1 for each in hooks.deliveries(hook.id, None))


@on_sqlite
def test_a_redirect_is_not_followed(
    database: Database,
    end_job: Callable[[], str],
    hooks: Webhooks,
    hook: NewWebhook,
    receiver: Receiver,
) -> None:
    """It could lead anywhere; the delivery fails with its status."""
    receiver.statuses, receiver.location = [307] * 4, receiver.url.replace("hook", "inside")
    end_job()
    found = settled(hooks, hook, database)
    assert (found.state, found.status, found.error) == (Standing.FAILED, 307, Trouble.STATUS)
    assert receiver.paths == ["/hook"] * 4


@on_sqlite
@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "localhost.localdomain.", "127.1"])
def test_what_only_this_machine_reaches_is_not_called(
    database: Database,
    end_job: Callable[[], str],
    hooks: Webhooks,
    receiver: Receiver,
    host: str,
) -> None:
    """By whatever name, and also if it was allowed when it was added."""
    hook = hooks.add(receiver.url.replace("127.0.0.1", host), ENDINGS, "me")
    end_job()
    found = settled(hooks, hook, database, hosts=())
    assert found.error in (Trouble.NOT_ALLOWED, Trouble.UNREACHABLE)
    assert host == "localhost.localdomain." or found.error is Trouble.NOT_ALLOWED
    assert receiver.got == []


@on_sqlite
def test_an_answer_without_an_end_is_left(
    database: Database,
    end_job: Callable[[], str],
    hooks: Webhooks,
    hook: NewWebhook,
    receiver: Receiver,
) -> None:
    """However steadily it comes; others are told meanwhile."""
    receiver.drips = True
    other = Receiver()
    with serving(other):
        second = hooks.add(other.url, ENDINGS, "me")
        end_job()
        limits = LIMITS.model_copy(update={"delays": ()})
        with sending(database, limits):
            until(lambda: hooks.counts()[Standing.PENDING] == 0)
    assert hooks.deliveries(hook.id, None)[0].error is Trouble.TIMEOUT
    assert hooks.deliveries(second.id, None)[0].state is Standing.DELIVERED


@on_sqlite
@pytest.mark.parametrize("trusted", [True, False])
def test_the_receiver_must_show_a_certificate_of_its_name(
    database: Database,
    hooks: Webhooks,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    trusted: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    """The name is checked although an address is connected to."""
    context = certified(tmp_path, "localhost" if trusted else "elsewhere")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    _tls.cache_clear()
    receiver = Receiver()
    with serving(receiver, context):
        hook = hooks.add(f"https://localhost:{receiver.port}", ENDINGS, "me")
        hooks.test(hook.id, "me")
        found = settled(hooks, hook, database, hosts=("localhost",))
    _tls.cache_clear()
    assert (found.state is Standing.DELIVERED) is trusted
    assert len(receiver.got) == trusted


def certified(folder: Path, name: str) -> ssl.SSLContext:
    """Return what a server of some name shows."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl here")
    files = ("-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem"))
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", *files]
    names = ("-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}")
    subprocess.run([*made, *names], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    return context


@on_sqlite
def test_a_service_that_is_killed_while_it_sends_sends_it_again(
    url: str, database: Database, receiver: Receiver, tmp_path: Path
) -> None:
    """From its API on: added over HTTP, told of a job that was cancelled there, killed, told."""
    given = LIMITS.model_dump_json()
    site = Site(folder=tmp_path, database=url, engine="x:y", changes={"WEBHOOKS": given})
    receiver.seconds = 60
    api = site.start("serve", "api", "--port", "0", "--no-keys")
    with running(api), httpx.Client(base_url=address_of(api), timeout=30) as client:
        made = client.post("/v1/webhooks", json={"url": receiver.url}).json()
        job = client.post("/v1/tunings", json={"workload": "digits", "space": "quick"}).json()["id"]
        client.post(f"/v1/tunings/{job}/cancel")
        until(lambda: bool(receiver.got))
        assert client.get(f"/v1/tunings/{job}").json()["state"] in FINAL
    receiver.seconds = 0
    with database.writing() as connection:  # As if the time of the sender that died were over.
        connection.execute(update(webhooks).values(held_until=0.0))
    api = site.start("serve", "api", "--port", "0", "--no-keys")
    with running(api), httpx.Client(base_url=address_of(api), timeout=30) as client:
        shown = f"/v1/webhooks/{made['id']}/deliveries"
        until(lambda: client.get(shown).json()["deliveries"][0]["state"] == "delivered")
    assert len({headers["webhook-id"] for headers, _ in receiver.got}) == 1
    for headers, body in receiver.got:
        verify(made["secret"], headers, body)
    assert len(receiver.got) == 2
