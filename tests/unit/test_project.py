"""The settings of a project: which TensorFlow its code is written for."""

from pathlib import Path

import pytest

from autotune.code.module import NEWEST
from autotune.project import required_version


@pytest.mark.parametrize(
    ("requirement", "version"),
    [
        ("tensorflow", NEWEST),
        ("tensorflow>=2.10", NEWEST),
        ("tensorflow<2.16", (2, 15)),
        ("tensorflow-cpu == 2.12.1  # pinned", (2, 12)),
        ("tensorflow[and-cuda]~=2.14.0", (2, 14)),
        ("tensorflow-datasets<2", NEWEST),
        ("-r other.txt", NEWEST),
    ],
)
def test_the_newest_that_a_project_allows_is_meant(
    tmp_path: Path, requirement: str, version: tuple[int, int]
) -> None:
    project = {"project": {"dependencies": [requirement]}}
    assert required_version(tmp_path, project) == version
    (tmp_path / "requirements.txt").write_text(f"numpy\n{requirement}\n")
    assert required_version(tmp_path, {}) == version
