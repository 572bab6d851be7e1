"""Texts for callers, which name files without the operator's folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.api.settings import load_settings
from autotune.api.values import AttemptReport
from autotune.api.work.messages import Found, GaveUp, Stuck
from autotune.api.work.tuner import Places
from autotune.checks.certificate import Certificate, failed
from autotune.config import Configuration
from autotune.events import Notice, TrialEnded
from autotune.reason import CheckKind, Message, Seen
from autotune.result import Result
from tests.trials import ended_trial

PATH = "/srv/models/a.py"


def places(data: str = "/var/lib/tuning", root: str = "/srv/models") -> Places:
    return Places(load_settings(root=Path(root), data=Path(data)))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("File /srv/models/examples/digits.py not found.", "File examples/digits.py not found."),
        ("It lies in /srv/models.", "It lies in models."),
        ("It lies in '/srv/models' or so.", "It lies in 'models' or so."),
        ("/var/lib/tuning/jobs/a/1 is full.", "tuning/jobs/a/1 is full."),
        ("sqlite:////var/lib/tuning/jobs/a/1/study.db", "sqlite:///tuning/jobs/a/1/study.db"),
        ("/srv/models2/a and /srv/models.old/a and /my/srv/models/a", None),
        ("a/b is 1/2 of /etc/hosts", None),
    ],
)
def test_the_operators_folders_are_hidden(text: str, shown: str | None) -> None:
    assert places().hidden(text) == (text if shown is None else shown)


def test_data_are_named_from_the_root_they_lie_in() -> None:
    """A root of everything hides nothing."""
    assert places("/srv/models/var").hidden("/srv/models/var/jobs/a") == "var/jobs/a"
    assert places("/data", "/").hidden("/etc/hosts, /data/x") == "/etc/hosts, data/x"


def test_a_folder_is_known_by_both_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    known = places("/data", f"{tmp_path}/link")
    assert known.hidden(f"{tmp_path}/link/a {tmp_path}/real/b") == "a b"


def test_messages_lose_them_too() -> None:
    """All that whoever asked sees; a configuration and what is for the log alone stay."""

    def ended(path: str) -> TrialEnded:
        return TrialEnded(trial=ended_trial(reason=Message(text=f"In {path}.")), elapsed=1)

    known, running = places(), AttemptReport(running=Configuration())
    gave_up = known.shortened(GaveUp(reason=PATH, for_log=PATH))
    assert gave_up == GaveUp(reason="a.py", for_log=PATH)
    assert known.shortened(Stuck(for_log=PATH)) == Stuck(for_log=PATH)
    assert known.shortened(ended(PATH)) == ended("a.py")
    assert known.shortened(AttemptReport(events=(Notice(text=PATH),), study=PATH)) == (
        AttemptReport(events=(Notice(text="a.py"),), study=PATH)
    )
    assert known.shortened(running) == running


def test_a_recommendation_loses_them_wherever_it_speaks() -> None:
    def certificate(path: str) -> Certificate:
        seen = Seen(kind=CheckKind.RUN_FAILED, reason=Message(text=f"In {path}."))
        return Certificate(checks=(failed("certification run", seen),))

    found = Result.model_construct(
        configuration=Configuration(), trials=(), certificate=certificate(PATH)
    )
    shortened = places().shortened(Found(recommendation=found))
    assert shortened.recommendation.certificate == certificate("a.py")
