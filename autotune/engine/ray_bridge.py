"""The process that is connected to a Ray cluster, so that the tuner's is not.

    python -c ... main(["DESCRIPTOR", "ADDRESS"])

Ray ends the process that is connected to it when its head is gone, and prints what it likes to
standard output. It also changes what it starts: environment, module path, memory score and
priority, which an agent sets right before it starts anything.

It reads calls from a socket and answers each when its agent has; when the tuner goes, by whatever
means, the connection goes, and Ray ends the agents.
"""

import logging
import os
import socket
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import psutil
import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from autotune.engine.local import VISIBLE
from autotune.engine.ray_agent import Agent
from autotune.engine.ray_hosts import Answer, Call, Gone, Node
from autotune.engine.trial_run import Environment

_THREADS = 4
"""Calls of an agent that may last at the same time: a long one, `clock`, `reach` and `end`."""
_CLOSING_SECONDS = 3.0
_LEAVING_SECONDS = 5.0
_ANSWER_SECONDS = 0.5
"""In which an agent's last answer has left its process."""
_HEAD_SECONDS = 10.0
"""Without the cluster's head, after which the cluster counts as lost. Ray waits for a minute, and
then ends agents before they have removed their files."""
_POLL_SECONDS = 1.0


class RayAgent(Agent):
    """An agent in a worker process of Ray."""

    def __init__(self) -> None:
        mine = Path(ray.__file__).parent
        # Ray's own copies of some packages are found last.
        sys.path.sort(key=lambda each: mine in Path(each).parents)
        raylet = psutil.Process(os.getppid())
        _take_on(raylet)
        super().__init__(_as_before(raylet.environ()))

    def close(self) -> None:
        """End everything, and this process too: Ray leaves it for a minute without its head."""
        super().close()
        threading.Timer(_ANSWER_SECONDS, os._exit, [0]).start()


class Bridge:
    """Hands calls to agents, and their answers to the tuner."""

    def __init__(self, tuner: Connection) -> None:
        self._tuner = tuner
        self._sending = threading.Lock()
        self._closing = False
        self._agents: dict[str, Any] = {}
        self._own: dict[str, Callable[..., object]] = {
            "place": self._place,
            "drop": lambda key: ray.kill(self._agents.pop(key)),
        }

    def serve(self) -> None:
        """Obey calls until there is None, or the tuner is gone."""
        with suppress(EOFError, OSError):
            while call := self._tuner.recv():
                self._obey(call)

    def attend(self) -> None:
        """Leave when the cluster's head is gone."""
        host, _, port = ray.get_runtime_context().gcs_address.rpartition(":")
        seen = time.monotonic()
        while time.monotonic() - seen < _HEAD_SECONDS:
            time.sleep(_POLL_SECONDS)
            with suppress(OSError), socket.create_connection((host.strip("[]"), int(port)), 2.0):
                seen = time.monotonic()
        self.close()
        os._exit(0)

    def close(self) -> None:
        """Let the agents remove their files; Ray ends those that do not answer."""
        self._closing = True
        calls = [each.close.remote() for each in self._agents.values()]
        ray.wait(calls, num_returns=len(calls), timeout=_CLOSING_SECONDS) if calls else None

    def send(self, answer: Answer) -> None:
        with self._sending, suppress(OSError):
            self._tuner.send(answer)

    def _obey(self, call: Call) -> None:
        done: Future[Any] = Future()
        try:
            if call.agent:
                method = getattr(self._agents[call.agent], call.method)
                done = method.remote(*call.arguments).future()
            else:
                done.set_result(self._own[call.method](*call.arguments))
        except Exception as exc:  # noqa: BLE001 - Ray's, and the tuner has to know
            done.set_exception(exc)
        done.add_done_callback(partial(self._answer, call.number))

    def _answer(self, number: int, done: Future[Any]) -> None:
        """Tell the tuner what came of a call, unless it failed because agents have been closed.

        The end of the connection tells the tuner why.
        """
        error = done.exception()
        if error is None:
            self.send(Answer(number, done.result()))
        elif not self._closing:
            self.send(Answer(number, error=_translated(error)))

    def _place(self, node: Node) -> None:
        """Start an agent that keeps all of a node for itself, once no other job uses it."""
        self._agents[node.key] = (
            ray.remote(RayAgent)
            .options(
                num_cpus=node.cpus,
                num_gpus=node.gpus,
                max_restarts=0,
                max_task_retries=0,
                max_concurrency=_THREADS,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.key, soft=False),
            )
            .remote()
        )


def nodes() -> list[Node]:
    cluster: Any = ray  # untyped in part
    found = [each for each in cluster.nodes() if each["Alive"] and each["Resources"].get("CPU")]
    return [
        Node(
            key=each["NodeID"],
            name=each["NodeManagerHostname"],
            address=each["NodeManagerAddress"],
            cpus=each["Resources"]["CPU"],
            gpus=each["Resources"].get("GPU", 0),
        )
        for each in found
    ]


def main(arguments: list[str]) -> None:
    bridge = Bridge(Connection(int(arguments[0])))
    try:
        ray.init(address=arguments[1], log_to_driver=False, logging_level=logging.ERROR)
    except Exception as exc:  # noqa: BLE001 - the tuner raises it where the user sees it
        bridge.send(Answer(0, error=exc if type(exc) is RuntimeError else Gone(str(exc))))
        return
    bridge.send(Answer(0, nodes()))
    threading.Thread(target=bridge.attend, daemon=True).start()
    bridge.serve()
    bridge.close()
    late = threading.Timer(_LEAVING_SECONDS, os._exit, [0])
    late.daemon = True
    late.start()
    ray.shutdown()
    os._exit(0)  # Ray's handlers at exit may wait for a head that is gone.


def _take_on(raylet: psutil.Process) -> None:
    """Take on the memory score and, where that is allowed, the priority of what Ray starts from."""
    with suppress(OSError):
        score = Path(f"/proc/{raylet.pid}/oom_score_adj").read_text(encoding="ascii")
        Path("/proc/self/oom_score_adj").write_text(score, encoding="ascii")
    with suppress(OSError):
        for thread in Path("/proc/self/task").iterdir():
            os.setpriority(os.PRIO_PROCESS, int(thread.name), raylet.nice())


def _as_before(raylet: Environment) -> Environment:
    """Return the changes that undo those of Ray; which GPUs it allows is left as it is."""
    now = os.environ
    changed = {name for name in {*now, *raylet} if now.get(name) != raylet.get(name)}
    undone = {name: raylet.get(name) for name in changed - {VISIBLE}}
    return {**undone, **{name: None for name in {*now, *raylet} if name.startswith("RAY_")}}


def _translated(error: BaseException) -> BaseException:
    """Return an agent's own error, or one that needs no Ray to be understood."""
    if isinstance(error, ray.exceptions.RayTaskError):
        cause: BaseException = error.cause
        return cause
    if isinstance(error, ray.exceptions.OutOfMemoryError):
        return Gone(str(error), memory=True)
    return Gone(str(error))
