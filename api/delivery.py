"""Sends webhooks what they are still to be told, beside everything else that a process does."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from functools import partial

import anyio
import httpcore2 as httpcore
from anyio import to_thread

from autotune.api.errors import DatabaseUnavailable, InvalidWebhook
from autotune.api.log import say
from autotune.api.outbound import NotAllowed, Outbound
from autotune.api.store.database import Database
from autotune.api.store.webhooks import settle, take, tidy
from autotune.api.webhooks import Parcel, Trouble, headers

AT_ONCE = 8
"""Webhooks that one process sends something to at a time."""
LOOK_SECONDS = 1.0
TIDY_SECONDS = 600.0
MARGIN_SECONDS = 15.0
"""How much longer than an attempt a webhook is held, for noting what came of it."""
LEAVE_SECONDS = 5.0
TROUBLES: tuple[tuple[type[Exception], Trouble], ...] = (
    (NotAllowed, Trouble.NOT_ALLOWED),
    (InvalidWebhook, Trouble.NOT_ALLOWED),
    (TimeoutError, Trouble.TIMEOUT),
    (httpcore.TimeoutException, Trouble.TIMEOUT),
)
"""What an attempt may end with; all else is that the receiver cannot be reached."""


class Deliverer:
    """Sends what is due, in a thread of its own; any number of processes may have one.

    Args:
        database: Keeps what is to be sent.
        outbound: Sends it.
        look: Seconds between looks for it.
    """

    def __init__(self, database: Database, outbound: Outbound, look: float = LOOK_SECONDS) -> None:
        self._database = database
        self._outbound = outbound
        self._limits = outbound.limits
        self._look = look
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="webhooks", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def close(self) -> None:
        """Begin nothing more; what is being sent may be sent again by the next process."""
        self._stop.set()
        self._thread.join(LEAVE_SECONDS)

    def _run(self) -> None:
        anyio.run(self._send_all)

    async def _send_all(self) -> None:
        slots = anyio.Semaphore(AT_ONCE)
        async with anyio.create_task_group() as group:
            group.start_soon(self._tidy)
            while not self._stop.is_set():
                await slots.acquire()
                parcel = await to_thread.run_sync(self._taken)
                if parcel is None:
                    slots.release()
                    await anyio.sleep(self._look)
                else:
                    group.start_soon(self._send, parcel, slots)
            group.cancel_scope.cancel()

    def _taken(self) -> Parcel | None:
        try:
            return take(self._database, self._limits.seconds + MARGIN_SECONDS)
        except DatabaseUnavailable:
            return None  # Whoever asks the service is told.
        except Exception as exc:  # noqa: BLE001 - one that cannot be read must not end all others
            say("A webhook cannot be read.", logging.ERROR, error=type(exc).__name__)
            return None

    async def _send(self, parcel: Parcel, slots: anyio.Semaphore) -> None:
        try:
            status, error = await self._attempt(parcel)
            note = partial(settle, self._database, parcel, self._limits.delays, status, error)
            with suppress(DatabaseUnavailable):  # It is sent again.
                standing = await to_thread.run_sync(note)
                say(
                    "Webhook called.",
                    webhook=parcel.webhook,
                    delivery=parcel.id,
                    attempt=parcel.attempt,
                    status=status,
                    error=error,
                    state=standing,
                )
        finally:
            slots.release()

    async def _attempt(self, parcel: Parcel) -> tuple[int | None, Trouble | None]:
        """Return the status of the answer, and why the attempt failed if it did."""
        body = parcel.body.model_dump_json().encode()
        try:
            status = await self._outbound.post(parcel.url, headers(parcel, body, time.time()), body)
        except Exception as exc:  # noqa: BLE001 - what a receiver answers must not end the sending
            told = (trouble for kind, trouble in TROUBLES if isinstance(exc, kind))
            return None, next(told, Trouble.UNREACHABLE)
        return status, None if 200 <= status < 300 else Trouble.STATUS

    async def _tidy(self) -> None:
        while True:
            with suppress(DatabaseUnavailable):
                await to_thread.run_sync(tidy, self._database)
            await anyio.sleep(TIDY_SECONDS)
