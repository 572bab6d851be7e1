"""What became of each script, as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autotune import Verdict
from autotune.value import Value


class Row(Value):
    """A script that was tried."""

    script: str
    verdict: str = ""
    """The verdict and what is recommended; nothing where there is none."""
    trains: bool = False
    """Whether the program that was handed over has trained."""
    reason: str = ""
    """Why the script has no verdict, or what its program did not do."""

    @property
    def decided(self) -> bool:
        """Whether there is a verdict, and it is not that this is undecided."""
        return bool(self.verdict) and not self.verdict.startswith(Verdict.UNDECIDED)


def figures(rows: Sequence[Row], circumstances: str) -> Iterator[str]:
    """Yield the figures of the page."""
    yield circumstances
    yield ""
    decided = sum(row.decided for row in rows)
    trained = sum(row.trains for row in rows)
    yield f"Of {len(rows)} scripts {decided} came to a decided verdict; {trained} programs train."
    yield ""
    yield "| script | verdict | its program trains | if not, or not to its end, why |"
    yield "| --- | --- | --- | --- |"
    yield from map(_line, rows)


def _line(row: Row) -> str:
    reason = " ".join(row.reason.replace("|", "\\|").split())
    trains = "yes" if row.trains else "no"
    return f"| {row.script} | {row.verdict or 'none'} | {trains} | {reason} |"
