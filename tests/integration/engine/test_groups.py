"""Workers that train together also end together; the exchange of gradients can be taken out."""

import json
import re
from pathlib import Path

import pytest

from autotune.checks.scaling import slow_worker
from autotune.engine.base import Limits
from autotune.engine.local import LocalEngine
from autotune.reason import Outcome, Overdue, Phase
from autotune.reason.sentences import reason_text
from autotune.stats.intervals import EXPECTED
from autotune.strategies import Role
from tests.trials import ENOUGH, request_for, text_of

pytestmark = pytest.mark.real

TWO = (Role(index=0), Role(index=1))
MINE = "json.loads(os.environ['TF_CONFIG'])['task']['index']"


def disturbed(line: str) -> str:
    program = text_of("gang").replace("        call += 1", f"        {line}\n        call += 1")
    return f"import json, os\n{program}"


@pytest.mark.parametrize(
    ("misfortune", "outcome", "reason"),
    [
        ("raise KeyError('lost')", Outcome.FAILED, "worker 1: KeyError: 'lost' (train.py line"),
        ("os.kill(os.getpid(), 9)", Outcome.CRASHED, "Worker 1 was killed by SIGKILL."),
    ],
)
def test_the_first_real_error_is_told(
    engine: LocalEngine, tmp_path: Path, misfortune: str, outcome: Outcome, reason: str
) -> None:
    """When one worker ends, its own trouble is the reason, not what its peers say of it."""
    program = disturbed(f"if call == 20 and {MINE} == 1: {misfortune}")
    result = engine.execute(request_for(program, tmp_path / "t", roles=TWO))
    assert result.outcome is outcome
    assert reason_text(result.reason).startswith(reason)


def test_a_worker_that_blocks_is_a_hang(engine: LocalEngine, tmp_path: Path) -> None:
    """It keeps the others waiting for the limit of its phase only."""
    program = disturbed(f"if call == 20 and {MINE} == 1: os.kill(os.getpid(), 19)")
    request = request_for(program, tmp_path / "t", roles=TWO, limits=Limits(window=3.0))
    result = engine.execute(request)
    overdue = Overdue(phase=Phase.STEADY, seconds=3.0)
    assert (result.outcome, result.reason) == (Outcome.HUNG, overdue)


def test_a_worker_that_works_longer_is_told_from_the_others(
    engine: LocalEngine, tmp_path: Path
) -> None:
    """Workers that exchange nothing wait for nobody, so that a straggler has a name."""
    step = "strategy.run(step, (next(iterator),))"
    program = disturbed(f"if {MINE} == 1: sum(range(2_000_000))").replace(
        f'strategy.reduce("MEAN", {step}, axis=None)',
        f"strategy.experimental_local_results({step})[0]",
    )
    result = engine.execute(
        request_for(program, tmp_path / "t", roles=TWO, exchanges=False),
        lambda windows: ENOUGH if len(windows) >= 20 else None,
    )
    assert result.outcome is Outcome.MEASURED, result
    found = slow_worker(result.step_seconds, max(result.step_seconds), EXPECTED)
    assert found.worker == 1


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
