"""Training with a result by its program, in processes of its own."""

import pytest

from autotune import AutotuneError, Result, tune
from tests.engines.fake import FakeEngine


@pytest.fixture(scope="module")
def result() -> Result:
    engine = FakeEngine(lambda _: 1.0)
    return tune(lambda: None, lambda: None, max_trials=2, budget=None, engine=engine)


def test_the_program_trains_and_its_output_is_shown(
    result: Result, capsys: pytest.CaptureFixture[str]
) -> None:
    """As it comes, with what was asked for."""
    script = "import sys; print(sys.argv[1:]); print('loss', file=sys.stderr)"
    given = result.model_copy(update={"script": script, "launch": None})
    given.fit(epochs=3, save="m.keras")
    shown = capsys.readouterr().out
    assert "['--epochs', '3', '--save', 'm.keras']" in shown
    assert "loss" in shown


def test_a_training_that_fails_is_an_error(result: Result) -> None:
    given = result.model_copy(update={"script": "raise SystemExit(4)", "launch": None})
    with pytest.raises(AutotuneError, match="exit code 4"):
        given.fit()
