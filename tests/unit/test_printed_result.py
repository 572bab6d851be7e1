"""What a result is in Python: in a console, in a notebook, as a frame, and in its file."""

import pytest
import yaml

from autotune import SearchOptions, Verdict, autotune
from autotune.config import Configuration
from autotune.result import Result
from tests.engines.fake import FakeEngine

NOTEBOOK = 4096
"""Bytes that a notebook may keep beside what it shows."""
LARGE = bytes(range(256)) * 20_000


def factory() -> object:
    data = LARGE
    return lambda: data


def search(distributed: float, **options: object) -> Result:
    def speed(configuration: Configuration) -> float:
        return 1000.0 * (distributed if configuration.distributed else 1.0)

    return autotune(
        factory(),
        factory(),
        space="quick",
        options=SearchOptions(**{"budget": None, "max_trials": 6, **options}),
        engine=FakeEngine(speed),
    )


@pytest.fixture(autouse=True)
def _here(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path_factory.mktemp("out"))


def test_a_result_is_printed_as_the_command_prints_it() -> None:
    """The verdict and the table, and nothing of the pickled functions."""
    result = search(0.6)
    assert str(result) == repr(result)
    assert str(result).split()[: len(result.summary.split())] == result.summary.split()
    assert "examples/s" in str(result)
    assert "recommended" in str(result)
    assert len(str(result).encode()) < NOTEBOOK
    assert len(repr(result.workload)) < NOTEBOOK
    assert len(repr(result.saved().workload.dataset)) < NOTEBOOK


@pytest.mark.parametrize(
    ("distributed", "verdict"), [(1.5, Verdict.DISTRIBUTE), (0.9, Verdict.ONE_DEVICE)]
)
def test_the_file_has_the_ratio_of_the_table(distributed: float, verdict: Verdict) -> None:
    """It is called by what it is of, and nothing is called a speedup."""
    result = search(distributed, max_trials=40)
    assert result.verdict is verdict
    kept = yaml.safe_load((result.save("saved") / "config.yaml").read_text())
    assert not [each for each in {*kept, *result.to_dict()} if "speedup" in each]
    if told := result.gain_over_yours:
        assert result.answer.entry(result.config).ratio == told
        assert kept["gain_over_yours"]["value"] == pytest.approx(told.value, rel=1e-3)
        assert f"{told.value:.2f} (" in str(result)
