"""PostgreSQL stops while the service runs: what callers see, and what is there afterwards."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx2 as httpx
import pytest

from benchmarks.service.site import Site, address_of, running, until

ASKED = {"workload": "digits", "space": "quick", "budget": 180, "max_trials": 3}
PATIENCE = '{"lease": 5.0, "renewal": 0.3, "poll": 0.1, "idle": 0.1}'


@pytest.fixture(scope="module")
def client(postgresql: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[httpx.Client]:
    postgresql.execute("CREATE DATABASE outage TEMPLATE schema")
    site = Site(
        folder=tmp_path_factory.mktemp("outage"),
        database=postgresql.url("outage"),
        engine="service_engines:slow",
        changes={"PATIENCE": PATIENCE},
    )
    api = site.start("serve", "api", "--port", "0", "--no-keys")
    worker = site.start("serve", "worker")
    with running(api, worker), httpx.Client(base_url=address_of(api), timeout=30) as client:
        yield client
    postgresql.execute("DROP DATABASE outage WITH (FORCE)")


@pytest.mark.real
def test_calls_tell_that_the_database_is_gone_and_all_goes_on_after_it(
    client: httpx.Client, postgresql: Any
) -> None:
    """Reads, requests and cancelling answer 503; the job at hand and the accepted ones end."""
    accepted = [client.post("/v1/tunings", json=ASKED).json()["id"] for _ in range(2)]
    until(lambda: _job(client, accepted[0])["trials"] > 0)
    postgresql.run("pg_ctl", "-m", "immediate", "stop")
    try:
        _check_gone(client, accepted[0])
    finally:
        postgresql.start()
    until(lambda: client.get("/readyz").status_code == 200)
    assert {*accepted} <= {each["id"] for each in client.get("/v1/tunings").json()["tunings"]}
    late = client.post("/v1/tunings", json=ASKED)
    assert late.status_code == 202
    assert client.post(f"{late.headers['location']}/cancel").status_code == 202
    for each in accepted:
        until(lambda each=each: _job(client, each)["state"] == "done")


def _check_gone(client: httpx.Client, job: str) -> None:
    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503
    calls = [
        ("GET", f"/v1/tunings/{job}"),
        ("GET", "/v1/tunings"),
        ("GET", f"/v1/tunings/{job}/trials"),
        ("GET", f"/v1/tunings/{job}/recommendation"),
        ("GET", f"/v1/tunings/{job}/events"),
        ("GET", f"/v1/tunings/{job}/report"),
        ("POST", f"/v1/tunings/{job}/cancel"),
        ("POST", "/v1/tunings"),
    ]

    def ask(method: str, path: str) -> httpx.Response:
        return client.request(method, path, json=ASKED if method == "POST" else None)

    with ThreadPoolExecutor(len(calls)) as pool:
        answers = [*pool.map(ask, *zip(*calls, strict=True))]
    for answer in answers:
        assert answer.status_code == 503, (answer.url, answer.text)
        assert answer.headers["content-type"] == "application/problem+json"
        assert int(answer.headers["retry-after"]) > 0
        assert answer.json()["code"] == "database-unavailable"


@pytest.mark.real
def test_a_follower_stays_through_an_outage(client: httpx.Client, postgresql: Any) -> None:
    where = client.post("/v1/tunings", json=ASKED).headers["location"]
    numbers = []
    with client.stream("GET", f"{where}/events") as stream:
        for line in stream.iter_lines():
            if line.startswith("id: "):
                numbers.append(int(line[4:]))
                if len(numbers) == 6:
                    postgresql.run("pg_ctl", "-m", "immediate", "stop")
                    time.sleep(1)
                    postgresql.start()
    assert numbers == list(range(1, len(numbers) + 1))
    assert _job(client, where.rpartition("/")[2])["state"] == "done"


def _job(client: httpx.Client, job: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/v1/tunings/{job}").json()
    return found
