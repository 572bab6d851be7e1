"""How the log is written."""

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from autotune.api.log import LogStyle, about, log, write_log
from autotune.api.store.database import Database
from autotune.api.store.tables import check_schema, make


@pytest.fixture
def write() -> Iterator[Callable[[LogStyle], None]]:
    root = logging.getLogger()
    before, level = root.handlers[:], root.level

    def write(style: LogStyle) -> None:
        root.handlers[:] = []
        write_log(style)

    yield write
    root.handlers[:] = before
    root.setLevel(level)


Write = Callable[[LogStyle], None]


def test_a_line_of_json_has_the_sentence_and_its_fields(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    write("json")
    with about(request="r1"):
        log("Job 100% claimed.", logging.WARNING, job="j", seconds=1.5, nothing=None)
    logging.getLogger("other").error("%s failed", "it")
    ours, others = map(json.loads, capsys.readouterr().err.splitlines())
    assert ours.pop("time").endswith("+00:00")
    assert ours == {
        "level": "WARNING",
        "message": "Job 100% claimed.",
        "request": "r1",
        "job": "j",
        "seconds": 1.5,
    }
    assert (others["level"], others["message"]) == ("ERROR", "it failed")


def test_a_line_for_people_has_all_in_brackets(
    write: Write, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """A look at the schema, of which there are several in a second, has none."""
    write("text")
    database = Database(f"sqlite:///{tmp_path}/service.db")
    make(database)
    check_schema(database)
    log("Job claimed.", job="j")
    (shown,) = capsys.readouterr().err.splitlines()
    assert shown.endswith("INFO Job claimed. [job=j]")
