"""Requests for real trials."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from autotune.cluster import Role
from autotune.config import Configuration
from autotune.run.engine import TrialRequest
from autotune.workload import Factory, Workload

pytest.register_assert_rewrite("autotune.testing.contract")

PROGRAMS = Path(__file__).parent / "programs"
UNUSED = Factory(name="unused", module="unused")

MakeRequest = Callable[..., TrialRequest]


@pytest.fixture(scope="session")
def make_request() -> MakeRequest:
    """Return a function that makes a request for one of the programs, or for a program's text."""

    def make(program: str, folder: Path, **fields: Any) -> TrialRequest:
        text = program if "\n" in program else (PROGRAMS / f"{program}.py").read_text()
        defaults = {
            "configuration": Configuration(),
            "script": text,
            "workload": Workload(model=UNUSED, dataset=UNUSED),
            "roles": (Role(),),
            "folder": folder,
        }
        return TrialRequest(**{**defaults, **fields})

    return make
