"""Calls a server over one connection that stays open, one call after the other."""

import time
from collections.abc import Sequence
from http.client import HTTPConnection
from itertools import cycle
from urllib.parse import urlsplit

from autotune.base import Value


class Calls(Value):
    """Paths that are asked for, in turn."""

    paths: Sequence[str]
    key: str
    body: str = ""
    """Of a POST; without any it is a GET."""


class Burst(Value):
    """Seconds of each call, and the last answer."""

    latencies: tuple[float, ...]
    last: bytes


def burst(address: str, calls: Calls, seconds: float) -> Burst:
    """Call for some seconds, at least once.

    Raises:
        RuntimeError: An answer is no success; a refusal is quick and must not count as speed.
    """
    connection = HTTPConnection(urlsplit(address).netloc)
    headers = {"Authorization": f"Bearer {calls.key}", "Content-Type": "application/json"}
    method, ends, latencies = "POST" if calls.body else "GET", time.perf_counter() + seconds, []
    for path in cycle(calls.paths):
        began = time.perf_counter()
        connection.request(method, path, calls.body or None, headers)
        answer = connection.getresponse()
        last = answer.read()
        latencies.append(time.perf_counter() - began)
        if answer.status not in {200, 202}:
            raise RuntimeError(f"{path} was answered by {answer.status}")
        if time.perf_counter() >= ends:
            break
    connection.close()
    return Burst(latencies=tuple(latencies), last=last)
