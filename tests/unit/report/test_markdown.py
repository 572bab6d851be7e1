"""The result as Markdown."""

from __future__ import annotations

from collections.abc import Callable

from autotune.reason import Message
from autotune.report.markdown import result_markdown
from autotune.result import Result

Changed = Callable[..., Result]


def test_it_tells_all_that_a_reader_needs(result: Result) -> None:
    """Verdict, reasons, every configuration, failures, and where it was measured."""
    text = result_markdown(result)
    assert text.startswith("# digits:model\\_fn\n\n**Distribute: MirroredStrategy")
    assert "- Run-to-run variation was not measured; 6% is assumed." in text
    assert "| 2 | " in text
    assert "worker 1 was killed by SIGSEGV" in text
    assert "TensorFlow 2.21.0" in text


def test_every_row_has_as_many_cells_as_the_head(result: Result, changed: Changed) -> None:
    """Nothing in a cell ends it early."""
    hostile = "it | said\n`x` <b>"
    trials = tuple(
        each.model_copy(update={"reason": Message(text=hostile)}) for each in result.trials
    )
    lines = result_markdown(changed(trials=trials)).splitlines()
    rows = [each.replace("\\|", "") for each in lines if each.startswith("|")]
    assert {each.count("|") for each in rows} == {5}
    assert "<b>" not in "".join(lines).replace("\\<b\\>", "")


def test_only_one_row_is_recommended(result: Result) -> None:
    """It is the configuration of the result."""
    assert result_markdown(result).count("**recommended**") == 1
