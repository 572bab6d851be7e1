"""Starts what deploy/ describes without its images, and uses it; run in a network of its own.

Each service of the composition runs its own command as the image has it: as another user, with the
variables of both files, on a root file system that is read-only but for /tmp and its volume. What
was found is printed as JSON.
"""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from string import Template
from typing import Any

import httpx2 as httpx
import yaml

from autotune import Client, SearchOptions

DEPLOY = Path(__file__).parents[3] / "deploy"
HOST = "localhost"
SECONDS = 600
"""Longest wait for anything; only a machine that hangs takes so long."""
HIDDEN = ("/tmp", "/opt", "/srv", "/run", "/var/lib")  # noqa: S108 - of the sandbox
"""Folders of the machine that a container does not have."""


def image() -> dict[str, Any]:
    text = (DEPLOY / "Containerfile").read_text("utf-8").replace("\\\n", " ")
    said = dict(re.findall(r"^([A-Z]+) (.+)$", text[text.rindex("\nFROM") :], re.MULTILINE))
    variables = dict(each.split("=", 1) for each in said["ENV"].split())
    variables["PATH"] = variables["PATH"].replace("$PATH", os.environ["PATH"])
    commands = {name: json.loads(said[name]) for name in ("ENTRYPOINT", "CMD")}
    return {**said, **commands, "ENV": variables, "USER": said["USER"].partition(":")[0]}


def services() -> dict[str, Any]:
    text = (DEPLOY / "compose.yaml").read_text("utf-8")
    given = {"POSTGRES_PASSWORD": "x", "HOST": HOST, "MODELS": "/srv/models", "PACKAGES": ""}
    filled = Template(re.sub(r"\$\{(\w+):[?-][^}]*\}", r"${\1}", text)).substitute(given)
    found: dict[str, Any] = yaml.safe_load(filled)["services"]
    return found


class Composition:
    def __init__(self, place: Path, database: str) -> None:
        self.place = place
        self._url = f"postgresql://autotune@/{database}?host=/run/postgresql"
        self._image, self._services = image(), services()

    def command(self, name: str) -> list[str]:
        given = self._services[name].get("command", self._image["CMD"])
        return [*self._container(name), *self._image["ENTRYPOINT"], *given]

    def proxy(self) -> list[str]:
        """Return what starts the proxy, which keeps its certificates in the folder `proxy`."""
        (self.place / "proxy").mkdir()
        words = ["bwrap", "--die-with-parent", "--ro-bind", "/", "/", "--dev", "/dev"]
        words += ["--tmpfs", "/run", "--bind", str(self.place / "proxy"), "/run/data"]
        words += ["--ro-bind", str(DEPLOY / "Caddyfile"), "/run/Caddyfile"]
        variables = {"XDG_DATA_HOME": "/run/data", "XDG_CONFIG_HOME": "/run/config"}
        words += [*_set({**variables, "HOST": HOST}), "--"]
        return [*words, "caddy", "run", "--config", "/run/Caddyfile", "--adapter", "caddyfile"]

    def inside(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [*self._container("api"), *words]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    def is_healthy(self) -> bool:
        _, *check = self._services["api"]["healthcheck"]["test"]
        return self.inside(*check).returncode == 0

    def _container(self, name: str) -> list[str]:
        given = self._services[name]["environment"] | {"AUTOTUNE_SERVICE_DATABASE": self._url}
        variables = {**self._image["ENV"], **given, "PYTHONPATH": "/srv/models"}
        (self.place / name).mkdir(exist_ok=True)
        words = ["bwrap", "--die-with-parent", "--unshare-user", "--cap-drop", "ALL"]
        words += ["--uid", self._image["USER"], "--gid", self._image["USER"], "--clearenv"]
        words += ["--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
        for each in HIDDEN:
            words += ["--tmpfs", each]
        # The interpreter of the tests may lie in one of those.
        for each in (sys.base_prefix, sys.prefix):
            words += ["--ro-bind", each, each]
        words += ["--ro-bind", str(self.place / "opt"), "/opt/autotune"]
        words += ["--ro-bind", str(self.place / "models"), "/srv/models"]
        words += ["--bind", str(self.place / "socket"), "/run/postgresql"]
        words += ["--bind", str(self.place / name), "/var/lib/autotune"]
        return [*words, *_set(variables), "--chdir", self._image["WORKDIR"], "--"]


def _set(variables: dict[str, str]) -> Iterator[str]:
    for name, value in variables.items():
        yield from ("--setenv", name, value)


def until(look: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not look():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.2)


def used(run: Composition) -> dict[str, Any]:
    root = run.place / "proxy" / "caddy" / "pki" / "authorities" / "local" / "root.crt"
    until(root.is_file)
    os.environ["SSL_CERT_FILE"] = str(root)
    made = run.inside("autotune", "keys", "create", "somebody")
    places = ("/opt/autotune/x", "/srv/models/x", "/usr/x", "/etc/x")
    return {
        "user": run.inside("id", "-u").stdout.strip(),
        "refused": [place for place in places if run.inside("touch", place).returncode],
        **by_client(made.stdout.strip()),
        **by_browser(made.stdout.strip()),
    }


def by_client(key: str) -> dict[str, Any]:
    options = SearchOptions(max_trials=3, budget=600)
    with Client(f"https://{HOST}", key, patience=SECONDS) as client:
        job = client.submit("digits", space="quick", options=options)
        kinds = [each.body.kind for each in client.follow(job)]
        return {"events": kinds, "state": client.job(job).state}


def by_browser(key: str) -> dict[str, Any]:
    here = f"https://{HOST}"
    with httpx.Client(base_url=here, timeout=60) as browser:
        signed = browser.post("/sign-in", data={"key": key}, headers={"Origin": here})
        elsewhere = {"Origin": "https://elsewhere.example"}
        return {
            "cookie": signed.headers.get("set-cookie", ""),
            "home": browser.get("/").status_code,
            "foreign": browser.post("/", data={}, headers=elsewhere).status_code,
            "plain": httpx.get(f"http://{HOST}/healthz").headers["location"],
        }


def main() -> None:
    run = Composition(Path(sys.argv[1]), sys.argv[2])
    commands = {"api": run.command("api"), "worker": run.command("worker"), "proxy": run.proxy()}
    with ExitStack() as stack:
        for name, words in commands.items():
            log = stack.enter_context((run.place / f"{name}.log").open("wb"))
            process = subprocess.Popen(words, stdout=log, stderr=log)
            stack.callback(process.wait)
            stack.callback(process.terminate)
            if name == "api":
                until(lambda: process.poll() is not None or run.is_healthy())  # noqa: B023 - here
            if process.poll() is not None:
                raise SystemExit(f"{name} has ended")
        print(json.dumps(used(run)))  # noqa: T201 - its result


if __name__ == "__main__":
    main()
