"""Where past measurements are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.past_measurements import measurements_file


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_CACHE_HOME": "/cache"}, Path("/cache/autotune/measurements.db")),
        ({}, Path.home() / ".cache/autotune/measurements.db"),
        ({"XDG_CACHE_HOME": ""}, Path.home() / ".cache/autotune/measurements.db"),
        ({"XDG_CACHE_HOME": "not/absolute"}, Path.home() / ".cache/autotune/measurements.db"),
        ({"AUTOTUNE_CACHE": "/mine", "XDG_CACHE_HOME": "/cache"}, Path("/mine/measurements.db")),
        ({"AUTOTUNE_CACHE": "mine"}, Path.cwd() / "mine/measurements.db"),
        ({"AUTOTUNE_CACHE": ""}, None),
        ({"AUTOTUNE_CACHE": "off"}, None),
    ],
)
def test_the_file_of_an_environment(environment: dict[str, str], expected: Path | None) -> None:
    """The variable decides, then the user's cache folder; a relative cache folder is ignored."""
    assert measurements_file(environment) == expected


def test_a_user_without_a_home_keeps_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some containers run as a user that is in no list."""

    def homeless() -> Path:
        raise RuntimeError

    monkeypatch.setattr(Path, "home", homeless)
    assert measurements_file({}) is None
