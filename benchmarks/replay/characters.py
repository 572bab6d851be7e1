"""The workloads of the replay tables: what each stands for, and the space that is swept."""

from pathlib import Path
from typing import Any

import yaml

from autotune.base import Value
from autotune.options import SearchOptions
from autotune.space import Space, parse_space
from autotune.workload import Workload, factory_from_text

EXAMPLES = Path(__file__).parents[2] / "examples"
OWN = Path(__file__).parent / "workloads"
FILE = Path(__file__).with_suffix(".yaml")


class Character(Value):
    """A workload with a character of its own."""

    name: str
    """Of its table, and of its file where `of` names no other."""
    of: str = ""
    what: str
    """What limits it."""
    strategies: tuple[str, ...] = ("one_device", "mirrored", "multi_worker_mirrored")
    axes: dict[str, list[Any]]
    """The values that are swept."""
    constraints: SearchOptions = SearchOptions()
    """What the user holds fixed."""
    unseen: bool = False
    """Whether its table is held out."""

    @property
    def space(self) -> Space:
        """The space, with two replicas or two workers."""
        pair = {"replicas_per_worker": [2], "workers": [2]}
        given = {"name": self.name, "strategies": self.strategies, "axes": {**pair, **self.axes}}
        return parse_space(given, where=self.name)

    @property
    def workload(self) -> Workload:
        """Its factories."""
        file = f"{self.of or self.name}.py"
        path = OWN / file if (OWN / file).exists() else EXAMPLES / file
        return Workload(
            model=factory_from_text(f"{path}:model_fn", {}),
            dataset=factory_from_text(f"{path}:dataset_fn", {}),
        )


CHARACTERS = tuple(map(Character.model_validate, yaml.safe_load(FILE.read_text(encoding="utf-8"))))


def character(name: str) -> Character:
    """Return the character of a name.

    Raises:
        SystemExit: There is none.
    """
    for each in CHARACTERS:
        if each.name == name:
            return each
    raise SystemExit(f"{name} is none of {', '.join(c.name for c in CHARACTERS)}.")
