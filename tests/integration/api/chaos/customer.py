"""Whoever uses the service meanwhile: asks for jobs over HTTP until they are accepted."""

import time
from collections.abc import Mapping
from random import Random
from threading import Event, Thread

import httpx2 as httpx

_PAUSE = 0.1
UNFINISHED = {"state": ["queued", "running", "cancelling"], "limit": 100}


class Customer(Thread):
    def __init__(self, address: str, asked: Mapping[str, object], seed: int, most: int) -> None:
        super().__init__(daemon=True)
        self._client = httpx.Client(base_url=address, timeout=10)
        self._asked = asked
        self._random = Random(seed)
        self._most = most
        self._enough = Event()
        self.accepted: dict[str, str] = {}
        """The id of the job of each idempotency key that was answered with 202."""
        self.cancelled: set[str] = set()
        self.refused = 0
        """Answers of 503."""
        self.failure: BaseException | None = None

    def stop(self) -> None:
        self._enough.set()
        self.join(60)
        self._client.close()

    def run(self) -> None:
        try:
            while not self._enough.is_set():
                self._look_and_ask()
                time.sleep(_PAUSE)
        except BaseException as exc:  # noqa: BLE001 - the test raises it
            self.failure = exc

    def _look_and_ask(self) -> None:
        found = self._answered("GET", "/v1/tunings", params=UNFINISHED)
        waiting = [each["id"] for each in found.json()["tunings"]]
        if len(waiting) < self._most:
            self._submit()
        if waiting and self._random.random() < 0.01:
            self._cancel(self._random.choice(waiting))

    def _submit(self) -> None:
        key = f"key-{len(self.accepted)}"
        trials = self._random.randint(4, 12)
        asked = {**self._asked, "max_trials": trials}
        for _ in range(self._random.choice((1, 1, 2))):
            answer = self._answered(
                "POST", "/v1/tunings", json=asked, headers={"Idempotency-Key": key}
            )
            assert answer.status_code == 202, answer.text
            assert self.accepted.setdefault(key, answer.json()["id"]) == answer.json()["id"]

    def _cancel(self, job_id: str) -> None:
        answer = self._answered("POST", f"/v1/tunings/{job_id}/cancel")
        assert answer.status_code in (202, 409), answer.text
        if answer.status_code == 202:
            self.cancelled.add(job_id)

    def _answered(self, method: str, path: str, **given: object) -> httpx.Response:
        while True:
            try:
                answer = self._client.request(method, path, **given)
            except httpx.TransportError:
                time.sleep(_PAUSE)
                continue
            if answer.status_code != 503:
                return answer
            assert "Retry-After" in answer.headers
            self.refused += 1
            time.sleep(_PAUSE)
