"""Where the options of `autotune tune` come from."""

import json
import re
from pathlib import Path

import pytest

from .conftest import run, tune

PROJECT = """
[tool.autotune]
budget = "90s"
max-trials = 4
strategies = ["mirrored", "one_device"]
model-arg = {units = 512, deep = true}
profile = true
margin = 0.1
resume = true

[tool.autotune.doctor]
select = []
"""


def shown(*arguments: str) -> dict[str, tuple[str, str]]:
    done = run("tune", "--show-settings", *arguments)
    assert done.exit_code == 0, done.stderr
    rows = [line.split(None, 2) for line in done.stdout.splitlines()[1:]]
    return {option: (value, source.strip()) for option, value, source in rows}


def test_each_source_overrides_the_one_before(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The project's file, found upward, then the environment, then the command line."""
    (folder / "pyproject.toml").write_text(PROJECT)
    (folder / "below").mkdir()
    monkeypatch.chdir(folder / "below")
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setenv("AUTOTUNE_MAX_TRIALS", "7")
    monkeypatch.setenv("AUTOTUNE_MARGIN", "0.2")
    rows, file = shown("--margin", "0.3"), str(folder / "pyproject.toml")
    assert rows["--budget"] == ("90s", file)
    assert rows["--strategies"] == ("mirrored,one_device", file)
    assert rows["--model-arg"] == ("units=512,", f"deep=True  {file}")
    assert rows["--profile"] == ("true", file)
    assert rows["--resume"] == ("true", file)
    assert rows["--max-trials"] == ("7", "AUTOTUNE_MAX_TRIALS")
    assert rows["--margin"] == ("0.3", "command line")
    assert rows["--seed"] == ("0", "default")


def test_settings_reach_the_search(folder: Path) -> None:
    """As the flags do; another file is read instead of the project's."""
    (folder / "pyproject.toml").write_text("[tool.autotune]\nbudget = 0\n")
    (folder / "own.toml").write_text("json = true\nmax_trials = 2\nmodel-arg = {units = 8}\n")
    done = tune("--config", "own.toml")
    assert done.exit_code == 0, done.stderr
    read = json.loads(done.stdout)
    assert read["options"]["max_trials"] == 2
    assert read["workload"]["model"]["arguments"] == [["units", 8]]


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        ("pyproject.toml", "[tool.autotune]\nbugdet = 3", "unknown key 'bugdet'.*mean budget"),
        ("own.toml", "config = 'x'", "unknown key 'config'"),
        ("own.toml", "max-trials = 0", "--max-trials"),
        ("own.toml", "model-arg = 'units'", "'units' is not NAME=VALUE"),
        ("own.toml", "=", "own.toml cannot be read"),
        ("config.yaml", "", "TOML file.*autotune script"),
    ],
)
def test_a_wrong_file_is_told(folder: Path, name: str, text: str, words: str) -> None:
    """Before anything runs, with what was meant."""
    (folder / name).write_text(text)
    asked = () if name == "pyproject.toml" else ("--config", name)
    done = tune(*asked)
    assert done.exit_code == 2
    assert done.stderr.startswith("Error: ")
    assert re.search(words, " ".join(done.stderr.split()))
