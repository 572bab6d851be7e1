"""Labels of jobs, by which lists find them; those of workers are single words, in `needs`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import Field

MOST_LABELS = 16
_NAME = "[A-Za-z0-9][A-Za-z0-9._/-]{0,62}"
_TEXT = "[A-Za-z0-9][A-Za-z0-9._/=:+@-]{0,62}"
_Name = Annotated[str, Field(pattern=f"^{_NAME}$")]
_Text = Annotated[str, Field(pattern=f"^{_TEXT}$")]
JobLabels = Annotated[dict[_Name, _Text], Field(max_length=MOST_LABELS)]
Selector = Annotated[str, Field(pattern=f"^{_NAME}:{_TEXT}$")]
"""A label as lists are asked for it: `team:vision`."""


def selectors(labels: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(f"{name}:{text}" for name, text in sorted(labels.items()))
