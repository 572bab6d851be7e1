"""What `curl` would do, on the application in this process."""

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from starlette.testclient import TestClient

from autotune.api.http.app import create_app
from autotune.api.http.service import Service as Api
from autotune.api.settings import load_settings
from tests.engines.fake import FAKE_MACHINE
from tools.docs.pages import ROOT

BASE = "http://127.0.0.1:8321"
NOT_DONE = 409
"""Nothing works on the jobs here, so there is no recommendation yet."""


class Service:
    def __init__(self, client: TestClient) -> None:
        self._client = client
        self.variables = {"KEY": "atk_key", "ID": "none"}
        """What the commands of a page take; `ID` is that of the job which was made last."""

    def curl(self, arguments: Sequence[str]) -> None:
        """Make the call of a command line, and fail where the service refuses it."""
        asked = _parser().parse_args(arguments)
        assert asked.url.startswith(BASE), f"{asked.url} is not the address that serve prints"
        path = asked.url.removeprefix(BASE)
        # The one would not end before the job does, and no trial of the other has run.
        last = path.rpartition("/")[2]
        if last in {"events", "output"}:
            paths = self._client.get("/openapi.json").json()["paths"]
            assert any(each.endswith(f"/{last}") for each in paths)
            return
        method = asked.X or ("POST" if asked.json else "GET")
        headers = dict(each.split(": ", 1) for each in asked.H)
        headers |= {"Content-Type": "application/json"} if asked.json else {}
        answer = self._client.request(method, path, headers=headers, content=asked.json)
        assert answer.status_code < 400 or answer.status_code == NOT_DONE, answer.text
        if (method, path) == ("POST", "/v1/tunings"):
            self.variables["ID"] = answer.json()["id"]


@contextmanager
def service(data: Path) -> Iterator[Service]:
    """Give a service with the shipped examples, and no worker."""
    settings = load_settings(data=data, root=ROOT, machine=FAKE_MACHINE)
    with closing(Api(settings, keys=False)) as opened:
        yield Service(TestClient(create_app(opened), base_url=BASE))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("curl")
    parser.add_argument("-H", action="append", default=[])
    parser.add_argument("-X")
    parser.add_argument("--json")
    for flag in ("-N", "-O", "-J", "-s"):
        parser.add_argument(flag, action="store_true")
    parser.add_argument("url")
    return parser
