"""A worker: claims one job after the other and sees each to its end, or lets go of it."""

import logging
import math
import os
import platform
import secrets
import shutil
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from threading import Event

from autotune.api import archives, isolation, sandbox
from autotune.api.isolation import Isolation
from autotune.api.log import about, log, write_log
from autotune.api.settings import PRIVATE, Settings, load_settings
from autotune.api.store import attempts, code, workers
from autotune.api.store.attempts import AT_ONCE, mark_unserved
from autotune.api.store.database import Database, cause_of
from autotune.api.store.jobs import open_database, remove_ended, still_there
from autotune.api.store.tables import check_schema
from autotune.api.store.workers import known_machine
from autotune.api.values import ClaimedJob, JobOutcome, WorkerInfo
from autotune.api.work import processes
from autotune.api.work.attempt import (
    EndCause,
    Lease,
    Supervision,
    Tuner,
    failed,
    order,
    outcome_of,
)
from autotune.api.work.child import UNUSABLE, Found, GaveUp, Stuck, detail
from autotune.engine.resolve import new_engine
from autotune.face import Face, shown_by
from autotune.machine import Machine
from autotune.text import plural, size
from autotune.wire.errors import (
    BadArchive,
    CodeTooLarge,
    DatabaseUnavailable,
    InvalidTuning,
    Superseded,
)
from autotune.wire.jobs import State

_HELD = "Processes of an earlier attempt hold the devices."
_EDITED = "The workload's code has changed since its first trials; ask for it again."
REMOVE_SECONDS = 3600.0
"""Between removals of jobs that are too old to be kept."""
DAY_SECONDS = 24 * 3600.0
INSPECT_SECONDS = 60.0
DEATHS_OF_CODE = 3
"""Crashes after which a job of uploaded code fails, at the latest."""
ROOM = 64 * 2**20
"""Bytes that are free on a disk which is not full."""


class Worker:
    """Runs jobs, one at a time. To be used by one thread, which lives as long as it."""

    def __init__(
        self,
        database: Database,
        settings: Settings,
        *,
        adopts: bool = False,
        takes_code: bool = False,
    ) -> None:
        self._database = database
        self._settings = settings
        self._registry = settings.registry()
        self._adopts = adopts
        self._chores = (
            at_most_every(workers.SEEN_SECONDS / 4, self._show),
            at_most_every(REMOVE_SECONDS, self._remove_old),
        )
        self._stop = Event()
        self._name = f"{platform.node()}-{os.getpid()}-{secrets.token_hex(4)}"
        self._devices = settings.named_devices()
        self._host = processes.this_host()
        self._inspection = Inspection(settings, self._devices, database)
        self._inspect_if_due = at_most_every(INSPECT_SECONDS, self._inspection.inspect)
        self._shown: WorkerInfo | None = None
        self._takes_code = takes_code

    def stop(self) -> None:
        """Let go of the job at hand, and end; may be called from a signal's handler."""
        self._stop.set()

    def run(self) -> None:
        """End what earlier workers left on this host, then run jobs until asked to stop."""
        with suppress(DatabaseUnavailable):
            sweep(self._database, self._host)
        while not self._stop.is_set():
            self.tidy()
            if not self._run_one_if_it_can():
                self._inspect_if_due()
                self._stop.wait(self._settings.patience.idle)
        with suppress(DatabaseUnavailable):
            workers.leave(self._database, self._info())

    def _info(self) -> WorkerInfo:
        return WorkerInfo(
            worker=self._name,
            devices=self._devices,
            host=self._host,
            workloads=self._codes(),
            takes_code=self._takes_code,
            machine=self._inspection.machine,
            labels=self._settings.labels,
            engine=self._settings.engine.partition(":")[0],
        )

    def tidy(self) -> None:
        for do_if_due in self._chores:
            with suppress(DatabaseUnavailable):
                do_if_due()

    def _show(self) -> None:
        check_schema(self._database)
        self._shown = self._info()
        workers.seen(self._database, self._shown)
        mark_unserved(self._database)

    def _remove_old(self) -> None:
        """Remove jobs that ended long ago, unused code, and the files that no job has any more.

        The files come last, and by what is in the database: so what a crash left in between goes
        the next time, and what lies on this host of a job that another one removed goes as well.
        """
        if self._settings.retention_days is None:
            return
        seconds = self._settings.retention_days * DAY_SECONDS
        while remove_ended(self._database, seconds) == AT_ONCE:
            pass
        code.remove_unused(self._database, seconds)
        since, old = time.time() - seconds, dict[str, Path]()
        with suppress(OSError):
            for each in self._settings.jobs.iterdir():
                if each.is_dir() and each.stat().st_mtime < since:
                    old[each.name] = each
        for name in old.keys() - still_there(self._database, list(old)):
            shutil.rmtree(old[name], ignore_errors=True)

    def _run_one_if_it_can(self) -> bool:
        try:
            return self.run_one()
        except DatabaseUnavailable as exc:
            log(exc.cause, logging.WARNING, error=cause_of(exc))
        except Exception as exc:  # noqa: BLE001 - one job must not end the worker of all others
            what = "A job cannot be run."
            log(what, logging.ERROR, error=type(exc).__name__, text=detail(exc))
        return False

    def run_one(self) -> bool:
        patience = self._settings.patience
        info = self._info()
        if self._shown is not None and info != self._shown:
            self._show()  # What it has must be known before a job asks for it.
        claimed = attempts.claim(self._database, info, patience.lease)
        if claimed is None:
            return False
        with about(job=claimed.job.id, attempt=str(claimed.token.attempt)):
            log("Job claimed.")
            try:
                state = self._attempt(Lease(self._database, claimed, patience))
                log("Attempt ended.", state=state)
            except Superseded:
                log("The attempt has lost its lease.", logging.WARNING)
        return True

    def _attempt(self, lease: Lease) -> State:
        claimed = lease.claimed
        if not sweep(self._database, self._host):
            return self._put_back(lease, attempts.RELEASED, _HELD)
        lease.insist(lease.renew)
        refused = self._refusal(claimed)
        if refused is not None:
            return self._finish(lease, refused)
        try:
            what = order(claimed, self._registry, self._settings)
            what.out.mkdir(parents=True, exist_ok=True)
            if what.code is not None:
                self._unpack(claimed, what.code)
            tuner = Tuner(claimed.marker, self._settings, what, adopts=self._adopts)
        except (InvalidTuning, BadArchive, CodeTooLarge) as exc:
            return self._finish(lease, failed(str(exc)))
        except OSError as exc:
            return self._stuck(lease, detail(exc))
        return self._tune(lease, tuner)

    def _unpack(self, claimed: ClaimedJob, folder: Path) -> None:
        """Put the uploaded code of a job where its sandbox finds it."""
        job = claimed.job
        digest = job.program.digest if job.program else ""
        with tempfile.NamedTemporaryFile(dir=folder.parent) as file:
            file.write(code.archive(self._database, job.project, digest))
            file.flush()
            folder.mkdir()
            archives.read(Path(file.name), self._settings.code, folder)

    def _refusal(self, claimed: ClaimedJob) -> JobOutcome | None:
        if claimed.job.state is State.CANCELLING:
            return JobOutcome(state=State.CANCELLED)
        if claimed.unreadable is not None:
            return failed(claimed.unreadable)
        if claimed.kept and self._is_edited(claimed):
            return failed(_EDITED)
        deaths = self._settings.deaths
        if claimed.job.program is not None:  # It may end its search itself, as often as it likes.
            deaths = min(deaths, DEATHS_OF_CODE)
        if claimed.deaths >= deaths:
            return failed(f"Its search or worker crashed {plural(claimed.deaths, 'time')}.")
        return None

    def _tune(self, lease: Lease, tuner: Tuner) -> State:
        with _ended_at_last(tuner, lease):
            identity = processes.identity(tuner.pid)
            if identity is not None:
                lease.insist(lambda: attempts.note_process(self._database, lease.token, *identity))
                tuner.go()
            supervision = Supervision(lease, tuner, self._settings.code, self._stop.is_set)
            cause = supervision.follow()
            exit_code = tuner.ended or 0
        if tuner.order.code is not None:
            shutil.rmtree(tuner.order.code, ignore_errors=True)
        final = supervision.final
        if isinstance(final, Stuck):
            if tuner.order.code is None or shutil.disk_usage(tuner.order.out).free < ROOM:
                return self._stuck(lease, final.for_log)
            most = size(self._settings.code.disk)
            return self._finish(lease, failed(f"The program has filled the {most} of its disk."))
        if isinstance(final, Found):
            self._inspection.take(final.recommendation.machine)
        if cause is EndCause.DIED:
            by = f"was terminated by signal {-exit_code}"
            how = by if exit_code < 0 else f"exited with code {exit_code}"
            return self._let_go(lease, attempts.DIED, f"The search's process {how}.")
        if cause is EndCause.STOPPED:
            return self._let_go(lease, attempts.RELEASED, "The worker was shut down.")
        if isinstance(final, GaveUp) and final.for_log:
            log("The engine could not run a search.", logging.ERROR, error=final.for_log)
        return self._finish(lease, outcome_of(supervision.asked or cause, final, lease.claimed.job))

    def _is_edited(self, claimed: ClaimedJob) -> bool:
        job = claimed.job
        return job.program is None and job.code not in (None, self._codes().get(job.workload))

    def _codes(self) -> dict[str, str]:
        """Return the digest of the code of each workload whose files are here."""
        return {name: each.code(self._settings.root) for name, each in self._registry.items()}

    def _finish(self, lease: Lease, outcome: JobOutcome) -> State:
        outcome = outcome.model_copy(update={"code_changed": self._is_edited(lease.claimed)})
        return lease.insist(lambda: attempts.finish(self._database, lease.token, outcome))

    def _stuck(self, lease: Lease, error: str) -> State:
        """Put a job back that this host cannot run now, which is no fault of the job."""
        log("A job's folder cannot be used.", logging.ERROR, error=error)
        return self._put_back(lease, attempts.STUCK, UNUSABLE)

    def _put_back(self, lease: Lease, ending: str, reason: str) -> State:
        """Let go of a job, and take none for a while: the next one would fare no better."""
        state = self._let_go(lease, ending, reason)
        self._stop.wait(self._settings.patience.lease)
        return state

    def _let_go(self, lease: Lease, ending: str, reason: str) -> State:
        return lease.insist(lambda: attempts.let_go(self._database, lease.token, ending, reason))


@shown_by(Face.SERVICE)
def main(file: Path | None = None) -> None:
    settings = load_settings(file)
    write_log(settings.log)
    os.umask(PRIVATE)
    if settings.isolation is Isolation.REQUIRED:
        isolation.check()
    refused = sandbox.refusal(settings)
    if refused:
        log("This worker runs no uploaded code.", why=refused)
    processes.adopt_orphans()
    worker = Worker(open_database(settings), settings, adopts=True, takes_code=not refused)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: worker.stop())
    worker.run()


@contextmanager
def _ended_at_last(tuner: Tuner, lease: Lease) -> Iterator[None]:
    """Leave nothing of the process of an attempt, however it goes."""
    try:
        yield
    finally:
        while not tuner.end():
            # The devices are not free, so the lease is kept.
            log("A process cannot be killed.", logging.ERROR)
            lease.insist(lease.renew)
        tuner.close()


def at_most_every(
    seconds: float, do: Callable[[], None], clock: Callable[[], float] = time.monotonic
) -> Callable[[], None]:
    """Return what does something, but not again before its time; an error puts nothing off."""
    due = -math.inf

    def do_if_due() -> None:
        nonlocal due
        if clock() >= due:
            do()
            due = clock() + seconds

    return do_if_due


def sweep(database: Database, host: str) -> bool:
    """End all that is left on this host of attempts that are over; return whether nothing is.

    Both their recorded process and whatever carries their marker count, because a process that
    was recorded may be gone and its own children not.
    """
    clean = True
    for each in attempts.orphans(database, host):
        if processes.end_all(partial(processes.left, each.marker, each.pid, each.pid_started)):
            attempts.swept(database, each.job_id, each.number)
        else:
            clean = False
            what = "Processes of an earlier attempt cannot be killed."
            log(what, logging.ERROR, job=each.job_id, attempt=each.number)
    return clean


class Inspection:
    """Finds out what a machine is. To be used by one thread."""

    def __init__(self, settings: Settings, devices: str, database: Database) -> None:
        self._engine = settings.engine
        self._sure = settings.machine is not None
        self.machine = settings.machine
        if self.machine is None:
            with suppress(DatabaseUnavailable):
                self.machine = known_machine(database, devices)

    def inspect(self) -> None:
        """Inspect the machine, unless that was done, or a search is measuring on it now.

        This imports TensorFlow and takes seconds; until it succeeds the last known machine counts.
        """
        if self._sure:
            return

        def give_up(why: object) -> None:
            raise _MeasuredOn(str(why))

        try:
            engine = new_engine(self._engine)
            with engine.reserved("inspecting the machine", give_up), engine:
                found = engine.machine()
            self.take(found)
        except _MeasuredOn as exc:
            log("Inspecting the machine is delayed.", why=str(exc))
        except Exception as exc:  # noqa: BLE001 - an engine may fail in any way
            kind = type(exc).__name__
            log("Inspecting the machine failed.", logging.ERROR, error=kind, text=str(exc))

    def take(self, seen: Machine) -> None:
        if not self._sure:
            self._sure, self.machine = True, seen


class _MeasuredOn(Exception):
    """A search measures on the machine."""


if __name__ == "__main__":
    main()
