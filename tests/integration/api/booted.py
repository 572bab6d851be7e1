"""Starts the units of deploy/ under the systemd that runs it, and uses them; prints what it found.

It is the only unit of a machine that was booted for it, which ends with it. Standard output is kept
as JSON.
"""

import json
import os
import pwd
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from autotune import Client, SearchOptions

API, WORKER = UNITS = ("autotune-api", "autotune-worker")
ADDRESS = "http://localhost:8321"
SECONDS = 600
"""Longest wait for anything; only a machine that hangs takes so long.

A search may make four runs in it, by the clock of its engine."""
RESTARTS = 5
"""More than a unit has that works."""
AS_USER = ("runuser", "-u", "autotune", "--")
OPTIONS = SearchOptions(
    max_trials=2, budget=SECONDS, train_for="500h", strategies=("one_device",), global_batch=32
)


def said(*words: str) -> str:
    done = subprocess.run(words, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.strip()


def until(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not look():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.2)


def process(unit: str) -> dict[str, str]:
    number = said("systemctl", "show", "--property=MainPID", "--value", unit)
    lines = Path("/proc", number, "status").read_text("utf-8").splitlines()
    return {"Pid": number, **dict(line.split(":\t", 1) for line in lines)}


def confined(unit: str) -> dict[str, Any]:
    found = process(unit)
    return {
        "user": pwd.getpwuid(int(found["Uid"].split()[0])).pw_name,
        "capabilities": int(found["CapEff"], 16),
        "gains": found["NoNewPrivs"] == "0",
        "filtered": found["Seccomp"] == "2",
    }


def is_served() -> bool:
    if int(said("systemctl", "show", "--property=NRestarts", "--value", API)) > RESTARTS:
        raise RuntimeError("the API does not stay")
    check = f"import urllib.request; urllib.request.urlopen('{ADDRESS}/readyz', timeout=5)"
    done = subprocess.run(
        ["/opt/autotune/bin/python", "-c", check], capture_output=True, check=False
    )
    return done.returncode == 0


def new_key() -> str:
    settings = ("--settings", "/etc/autotune/service.toml")
    lines = Path("/etc/autotune/environment").read_text("utf-8").splitlines()
    own = ["env", "HOME=/var/lib/autotune-api", *lines]
    return said(*AS_USER, *own, "/opt/autotune/bin/autotune", "keys", "create", "me", *settings)


def used() -> dict[str, Any]:
    """Return what becomes of a job whose worker is stopped, and whose API is killed meanwhile.

    A worker takes code if it has made a sandbox at its start.
    """
    with Client(ADDRESS, new_key(), patience=SECONDS) as client:
        job = client.submit("digits", space="quick", options=OPTIONS)
        until(lambda: client.job(job).trials > 0)
        said("systemctl", "stop", WORKER)
        stopped = client.job(job).state
        before = process(API)["Pid"]
        said("systemctl", "kill", "--signal=KILL", "--kill-whom=main", API)
        until(lambda: is_served() and process(API)["Pid"] != before)
        said("systemctl", "start", WORKER)
        kinds = [each.body.kind for each in client.follow(job)]
        return {
            "stopped": stopped,
            "events": (kinds[0], kinds[-1]),
            "state": client.job(job).state,
            "takes code": [each.takes_code for each in client.workers()],
        }


def main() -> None:
    said("useradd", "--system", "--no-create-home", "--shell", "/usr/sbin/nologin", "autotune")
    try:
        said("systemctl", "start", *UNITS)
        until(is_served)
        found = {**used(), **{unit: confined(unit) for unit in UNITS}}
        found["left"] = said(
            "systemctl", "list-units", "--failed", "--plain", "--no-legend", "autotune-*"
        )
        print(json.dumps(found), flush=True)  # noqa: T201 - its result
    finally:
        Path("/srv/out/journal").write_text(said("journalctl", "--no-pager", "--unit=autotune-*"))
        os.sync()
        said("systemctl", "poweroff", "--force")


if __name__ == "__main__":
    main()
