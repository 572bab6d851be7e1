"""The figures of the service with their goals, as a table."""

from collections.abc import Sequence

from autotune.base import Value

HEAD = "| what | measured | goal | |\n| --- | --- | --- | --- |"


class Row(Value):
    """One figure."""

    what: str
    measured: str
    goal: str = ""
    reached: bool | None = None
    """None: there is no goal."""

    def __str__(self) -> str:
        word = {None: "", True: "reached", False: "MISSED"}[self.reached]
        return f"| {self.what} | {self.measured} | {self.goal} | {word} |"


def table(rows: Sequence[Row]) -> str:
    return "\n".join([HEAD, *map(str, rows)])
