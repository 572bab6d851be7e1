"""The exchange of gradients can be taken out of a step, and nothing else is."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from autotune.engine.local import LocalEngine
from autotune.roles import Role
from tests.trials import request_for

pytestmark = pytest.mark.real

EXCHANGES = ("CollectiveReduceV2", "CollectiveGatherV2")
WORK = ("MatMul", "ResourceGather", "AssignSubVariableOp", "ResourceScatterAdd", "Sum")
"""What a step of a dense and an embedding layer computes and updates, in either case."""


@pytest.mark.parametrize("workers", [1, 2], ids=["replicas", "workers"])
def test_replicas_keep_their_gradients_to_themselves(
    engine: LocalEngine, tmp_path: Path, workers: int
) -> None:
    """Dense gradients are no longer added up nor sparse ones gathered; the work is the same."""
    roles = tuple(Role(index=each) for each in range(workers))

    def operations(*, exchanges: bool) -> dict[str, int]:
        folder = tmp_path / f"{exchanges}"
        request = request_for("reduces", folder, roles=roles, exchanges=exchanges)
        result = engine.execute(request, lambda _: None)
        printed = (folder / "output-0.txt").read_text("utf-8")
        # TensorFlow writes to the same file, and perhaps into the same line.
        told = re.search(r'\{"[^{}]*\}', printed)
        assert told, f"{result}\n{printed}"
        found: dict[str, int] = json.loads(told[0])
        return found

    together, apart = operations(exchanges=True), operations(exchanges=False)
    assert all(together.get(each, 0) > 0 for each in EXCHANGES)
    assert not any("Collective" in each for each in apart)
    assert {each: together.get(each) for each in WORK} == {each: apart.get(each) for each in WORK}
    assert together["MatMul"] > 0
