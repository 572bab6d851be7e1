"""The study: readable by Optuna's tools, and a place to go on from."""

from __future__ import annotations

from pathlib import Path

import optuna
import pytest
from optuna.trial import TrialState

from autotune.errors import OutputError, StudyMismatch
from autotune.testing import FAKE_FACTS, FakeEngine

from .conftest import SPACE, Tuner, speed


def test_every_trial_is_in_the_study(tuner: Tuner, tmp_path: Path) -> None:
    """Optuna sees throughput, parameters, state, and the outcome with its reason."""
    result = tuner(speed(distributed=0.3))
    url = f"sqlite:///{tmp_path / 'out' / 'study.db'}"
    study = optuna.load_study(study_name=result.study, storage=url)
    assert len(study.trials) == len(result.trials)
    for kept, seen in zip(result.trials, study.trials, strict=True):
        assert seen.user_attrs["outcome"] == kept.outcome
        assert seen.params["per_replica_batch"] == kept.configuration.per_replica_batch
        assert (seen.state is TrialState.COMPLETE) == kept.measured
    assert study.best_value == max(t.examples_per_second or 0 for t in result.trials if t.measured)


def test_resume_goes_on(tuner: Tuner) -> None:
    """A resumed search keeps the trials and repeats none of them."""
    first = tuner(speed(), options={"seconds": None, "max_trials": 3})
    second = tuner(speed(), options={"seconds": None, "max_trials": 6}, resume=True)
    assert second.study == first.study
    assert second.trials[: len(first.trials)] == first.trials
    assert len(second.trials) > len(first.trials)


def test_a_new_search_leaves_the_old_study_alone(tuner: Tuner) -> None:
    """Without resume, a second search in the same folder gets a study of its own."""
    names = [tuner(speed(), options={"seconds": 15.0}).study for _ in range(3)]
    assert names == ["digits", "digits-2", "digits-3"]


def test_a_study_of_another_workload_is_refused(tuner: Tuner) -> None:
    """The message says what differs; nothing of the study is touched."""
    first = tuner(speed(), options={"seconds": 15.0})
    other = FakeEngine(speed(), facts=FAKE_FACTS.model_copy(update={"weights": 1}))
    with pytest.raises(StudyMismatch, match="another workload"):
        tuner(speed(), engine=other, resume=True, study=first.study)


def test_a_study_of_another_space_is_refused(tuner: Tuner) -> None:
    """Its parameters would have other domains."""
    tuner(speed(), options={"seconds": 15.0})
    space = SPACE.model_copy(update={"axes": {"per_replica_batch": (64,)}})
    with pytest.raises(StudyMismatch, match="another space"):
        tuner(speed(), space=space, resume=True)


def test_resume_without_a_study_is_an_error(tuner: Tuner) -> None:
    """The message names what the storage holds."""
    with pytest.raises(StudyMismatch, match="holds none"):
        tuner(speed(), resume=True)


def test_a_name_that_is_taken_is_an_error(tuner: Tuner) -> None:
    """Nothing is overwritten silently."""
    tuner(speed(), options={"seconds": 15.0}, study="mine")
    with pytest.raises(StudyMismatch, match="--resume"):
        tuner(speed(), options={"seconds": 15.0}, study="mine")


@pytest.mark.parametrize("url", ["nonsense", "sqlite:////nowhere/at/all.db"])
def test_a_storage_that_cannot_be_opened_is_an_error(tuner: Tuner, url: str) -> None:
    """The message names the URL."""
    with pytest.raises(OutputError, match="cannot be opened"):
        tuner(speed(), storage=url)


def test_an_output_folder_that_cannot_be_made_is_an_error(tuner: Tuner, tmp_path: Path) -> None:
    """It is found before the search, not after it."""
    (tmp_path / "file").touch()
    with pytest.raises(OutputError, match="cannot be made"):
        tuner(speed(), out=tmp_path / "file" / "out")
