"""What an earlier search has left in an output folder: a result to train with, or a study."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from autotune.cli.console import log
from autotune.errors import ConfigurationError, StudyMismatch

if TYPE_CHECKING:
    from autotune.result import Result


class Earlier(NamedTuple):
    """The result of an output folder, and what is not as it was when that was made."""

    folder: Path
    result: Result | None = None
    changed: tuple[str, ...] = ()
    """What is asked for now and was not then, the program first."""
    goes_on: bool = False
    """Whether a search is to go on with the last study."""

    @property
    def holds(self) -> bool:
        """Whether its result is that of the search that is asked for, and that search has ended."""
        return bool(self.result) and not self.changed and not self.goes_on

    @property
    def of_another_program(self) -> bool:
        from autotune.search.request import PROGRAM

        return PROGRAM in self.changed

    def result_of(self, search: Callable[..., Result]) -> Result:
        """Return the result if it holds, or else that of a search, which may go on."""
        if self.result and self.holds:
            log(f"Training with the result of {self._date}; --again searches anew")
            return self.result
        if self.result and not self.goes_on:
            log(f"The result in {self.folder} is of another {self.changed[0]}: a new search begins")
        try:
            return search(resume=self.goes_on)
        except StudyMismatch:
            # Data or TensorFlow's devices are others, which only a run of the program tells.
            if not self.goes_on:
                raise
            return search(resume=False)

    @property
    def _date(self) -> str:
        from autotune.result.saved import RESULT

        written = (self.folder / RESULT).stat().st_mtime
        return f"{datetime.fromtimestamp(written, UTC).astimezone():%d %b %Y, %H:%M}"


def earlier_in(
    folder: Path, asked: Mapping[str, str], *, again: bool = False, elsewhere: bool = False
) -> Earlier:
    """Return what a folder holds of a search, by what that is to be made for.

    Args:
        folder: The output folder.
        asked: Each thing that has to be equal, with its fingerprint.
        again: Whether a new search is wanted whatever there is.
        elsewhere: Whether other machines are to run it, whose fingerprint nobody knows here.
    """
    from autotune.result import Result
    from autotune.search.request import LENGTH, MACHINE

    try:
        result = Result.load(folder)
    except ConfigurationError:
        # A search that was killed leaves its study alone.
        return Earlier(folder, goes_on=not again and (folder / "study.db").is_file())
    asked = dict(asked)
    if any(host.name for host in result.machine.hosts) != elsewhere:
        asked[MACHINE] = "another"
    changed = tuple(each for each in asked if result.made_for.get(each) != asked[each])
    if again:
        return Earlier(folder, changed=changed)
    longer = changed == (LENGTH,) or (result.interrupted and not changed)
    return Earlier(folder, result, changed, goes_on=longer)


def rename_checkpoints(folder: Path) -> None:
    """Keep a new program from going on with what an earlier one has trained."""
    for each in folder.glob("checkpoints*"):
        kept = each.with_name(f"earlier-{each.name}-{each.stat().st_mtime:.0f}")
        each.rename(kept)
        log(f"What was trained before the program changed is now in {kept}")
