"""The tuner's side of the process that is connected to a cluster."""

import itertools
import threading
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, NamedTuple

from autotune.engine.helper import Helper
from autotune.errors import EngineError

_CONNECT_SECONDS = 60.0
_LEAVE_SECONDS = 10.0


class Node(NamedTuple):
    key: str
    name: str
    address: str
    """By which the other nodes reach it."""
    cpus: float
    gpus: float

    def __str__(self) -> str:
        return f"{self.name} ({self.address})"


class Call(NamedTuple):
    number: int
    agent: str
    """The key of its node; empty for the bridge itself."""
    method: str
    arguments: tuple[Any, ...]


class Answer(NamedTuple):
    number: int
    value: Any = None
    error: BaseException | None = None


class Gone(Exception):
    """An agent, or the connection, is gone; `memory` where it was ended for want of it."""

    def __init__(self, why: str, *, memory: bool = False) -> None:
        super().__init__(why)
        self.memory = memory


class BridgeClient(Helper):
    """Starts the bridge, at once and without waiting for it, and hands it calls.

    Args:
        address: `host:port` of the cluster, or `auto` for the one that this machine is part of.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._calls: dict[int, Future[Any]] = {0: Future()}
        self._connected = self._calls[0]
        self._numbers = itertools.count(1)
        self._sending = threading.Lock()
        variables = {"RAY_USAGE_STATS_ENABLED": "0"}
        super().__init__("autotune.engine.ray_bridge", address, environment=variables)
        threading.Thread(target=self._receive, daemon=True).start()

    def nodes(self) -> list[Node]:
        """Return the nodes that the cluster had when it was connected to."""
        try:
            found: list[Node] = self._connected.result(_CONNECT_SECONDS)
        except (Gone, RuntimeError, TimeoutError) as exc:
            raise self._refused(exc) from exc
        return found

    def ask(self, agent: str, method: str, *arguments: Any) -> Future[Any]:
        """Call a method of an agent, or of the bridge itself where none is named."""
        future: Future[Any] = Future()
        with self._sending:
            number = next(self._numbers)
            self._calls[number] = future
            try:
                self.channel.send(Call(number, agent, method, arguments))
            except OSError:
                self._calls.pop(number, None)
                future.set_exception(Gone("the connection to the cluster has ended"))
        return future

    def close(self) -> None:
        """End the connection, and with it the agents; may be called twice."""
        # The other thread is reading from it, so it is left to the bridge to close it.
        with self._sending, suppress(OSError):
            self.channel.send(None)
        self.wait(_LEAVE_SECONDS)

    def _receive(self) -> None:
        with suppress(EOFError, OSError):
            while True:
                answer: Answer = self.channel.recv()
                future = self._calls.pop(answer.number)
                if answer.error is None:
                    future.set_result(answer.value)
                else:
                    future.set_exception(answer.error)
        with self._sending:
            self.channel.close()
            left, self._calls = self._calls, {}
        for each in left.values():
            each.set_exception(Gone("the connection to the cluster has ended"))

    def _refused(self, error: Exception) -> EngineError:
        said = str(error) or self.last_words()
        first = next(iter(said.splitlines()), "no answer").rstrip(".")
        where = "this machine is part of" if self._address == "auto" else f"at {self._address}"
        return EngineError(
            f"The Ray cluster {where} refused or did not answer: {first}.",
            "Run autotune on a machine of the cluster (`ray start --address=...`), and check the "
            "address and the token (RAY_AUTH_MODE, RAY_AUTH_TOKEN_PATH).",
        )
