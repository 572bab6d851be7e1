"""What `autotune serve` refuses, and how it keeps its parts."""

import socket
import sys
from collections.abc import Sequence
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
import uvicorn

from autotune import versions
from autotune.api.settings import load_settings
from autotune.api.store.auth import Keyring
from autotune.api.store.database import Database
from autotune.cli import serve
from autotune.wire.errors import ServiceError

from .conftest import run


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "example.org"])  # noqa: S104
def test_a_service_without_keys_is_for_this_machine_only(host: str) -> None:
    """Everybody who can reach it could do everything."""
    done = run("serve", "api", "--no-keys", "--host", host)
    assert done.exit_code == 2
    assert "loopback" in done.stderr


def test_a_port_that_is_taken_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = run("serve", "api", "--port", port)
    assert done.exit_code == 2
    assert str(port) in done.stderr


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("unknown = 1\n", "unknown"),
        ("data = 'mine.py/data'\n", "data folder"),
        (
            "[workloads.mine]\nmodel = 'm:f'\ndataset = 'm:g'\nparameters.name.type = 'str'\n",
            "choices",
        ),
    ],
)
def test_wrong_settings_are_told(folder: Path, text: str, told: str) -> None:
    """The service does not start, and says what is wrong instead of where it failed."""
    assert run("serve", "api", "--settings", "nosuch.toml").exit_code == 2
    (folder / "service.toml").write_text(text)
    for words in (("api", "--settings", "service.toml"), ("--settings", "service.toml", "api")):
        done = run("serve", *words)
        assert done.exit_code == 2
        assert "Error:" in done.stderr
        assert told in done.stderr


@pytest.mark.parametrize("option", ["--host=::1", "--port=1", "--no-keys"])
def test_a_worker_takes_no_option_of_the_api(option: str) -> None:
    for words in ((option, "worker"), ("worker", option)):
        done = run("serve", *words)
        assert done.exit_code == 2
        assert "A worker takes no --host, --port or --no-keys" in done.stderr


def test_an_option_before_the_part_is_not_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    """A service without keys must not turn out to have them, nor the other way round."""
    served = Mock(return_value=None)
    monkeypatch.setattr("autotune.api.http.app.serve", served)
    assert run("serve", "--host=::1", "--port=1", "--no-keys", "api").exit_code == 0
    assert served.call_args.args[1:3] == ("::1", 1)
    assert served.call_args.kwargs == {"keys": False}


def test_all_parts_read_the_same_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Sequence[str]] = []
    monkeypatch.setattr(serve, "supervise", lambda parts: started.extend(parts.values()) or 0)
    assert run("serve", "--settings", "service.toml", "--no-keys").exit_code == 0
    path = str(Path("service.toml").absolute())
    assert [each[:2] for each in started] == [("serve", "api"), ("serve", "worker")]
    assert [each[-2:] for each in started] == [("--settings", path)] * 2
    assert ["--no-keys" in each for each in started] == [True, False]


def test_a_service_that_cannot_start_makes_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    """It would never be shown."""
    startup = AsyncMock(side_effect=ServiceError("It cannot start."))
    monkeypatch.setattr(uvicorn.Server, "startup", startup)
    assert run("serve", "api", "--port", 0).exit_code == ServiceError.exit_code
    assert Keyring(Database(load_settings().database_url)).all() == ()


@pytest.mark.parametrize(
    "words",
    [
        *("serve", "serve api", "database", "keys create ci", "keys list", "keys revoke x"),
        *("workers list", "workers drain x", "workers resume x"),
    ],
)
def test_a_service_without_its_packages_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    """In one sentence, before anything of it is imported."""
    find = versions.find_spec
    monkeypatch.setattr(
        versions, "find_spec", lambda name: None if name == "sqlmodel" else find(name)
    )
    for name in [*sys.modules]:
        if name.startswith("autotune.api.store"):
            monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "sqlmodel", None)
    done = run(*words.split())
    assert done.exit_code == 2
    assert "The service needs sqlmodel, which is not installed." in done.stderr
    assert "pip install '.[service]'" in done.stderr
