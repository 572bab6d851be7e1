"""Texts for callers, which name files without the operator's folders."""

from __future__ import annotations

from pathlib import Path

import pytest

from autotune.api.settings import load_settings
from autotune.api.work.messages import Begun, Found, GaveUp
from autotune.api.work.tuner import Places
from autotune.checks.certificate import Certificate, failed
from autotune.config import Configuration
from autotune.events import Notice, TrialEnded
from autotune.reason import CheckKind, Message, Outcome, Seen
from autotune.result import Result
from autotune.trial import Stage, Trial

ROOT = Path("/srv/models")


def places(data: str = "/var/lib/tuning", root: Path = ROOT) -> Places:
    return Places(load_settings(root=root, data=Path(data), examples=False))


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (
            "File /srv/models/examples/digits.py not found.",
            "File examples/digits.py not found.",
        ),
        ("It lies in /srv/models.", "It lies in models."),
        ("It lies in '/srv/models' or so.", "It lies in 'models' or so."),
        ("/var/lib/tuning/jobs/a/1 is full.", "tuning/jobs/a/1 is full."),
        ("sqlite:////var/lib/tuning/jobs/a/1/study.db", "sqlite:///tuning/jobs/a/1/study.db"),
        ("/srv/models2/a and /srv/models.old/a and /my/srv/models/a", None),
        ("a/b is 1/2 of /etc/hosts", None),
    ],
)
def test_the_operators_folders_are_hidden(text: str, shown: str | None) -> None:
    """What lies in them is named from the root; other paths stay as they are."""
    assert places().hidden(text) == (text if shown is None else shown)


def test_data_within_the_root_are_named_from_it() -> None:
    hidden = places("/srv/models/var/tuning").hidden("/srv/models/var/tuning/jobs/a")
    assert hidden == "var/tuning/jobs/a"


def test_a_root_of_everything_hides_nothing() -> None:
    assert places("/data", Path("/")).hidden("/etc/hosts, /data/x") == "/etc/hosts, data/x"


def test_a_folder_is_known_by_both_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    known = places("/data", tmp_path / "link")
    assert known.hidden(f"{tmp_path}/link/a {tmp_path}/real/b") == "a b"


def test_messages_lose_them_too() -> None:
    """All that callers see of a message is changed, and nothing else."""
    path, trial = (
        "/srv/models/a.py",
        Trial(
            number=0,
            stage=Stage.BASELINE,
            configuration=Configuration(),
            outcome=Outcome.FAILED,
            reason=Message(text="In /srv/models/a.py."),
        ),
    )
    known = places()
    assert known.shortened(Notice(text=path)) == Notice(text="a.py")
    assert known.shortened(GaveUp(reason=path, detail=path)) == GaveUp(reason="a.py", detail=path)
    shortened = known.shortened(TrialEnded(trial=trial, elapsed=1))
    expected = trial.model_copy(update={"reason": Message(text="In a.py.")})
    assert shortened == TrialEnded(trial=expected, elapsed=1)
    assert known.shortened(Begun()) == Begun()


def test_a_recommendation_loses_them_wherever_it_speaks() -> None:
    """Its certificate is for callers as well, and may tell why a run failed."""
    checks = (
        failed(
            "certification run",
            Seen(kind=CheckKind.RUN_FAILED, reason=Message(text="In /srv/models/a.py.")),
        ),
    )
    found = Result.model_construct(
        configuration=Configuration(),
        compared=(),
        trials=(),
        certificate=Certificate(checks=checks),
    )
    shortened = places().shortened(Found(recommendation=found))
    assert isinstance(shortened, Found)
    assert shortened.recommendation.certificate == Certificate(
        checks=(
            failed(
                "certification run",
                Seen(kind=CheckKind.RUN_FAILED, reason=Message(text="In a.py.")),
            ),
        )
    )
