"""The recommended configuration, setting by setting."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config import Configuration, describe


@dataclass(frozen=True, kw_only=True)
class Setting:
    """An axis with its value."""

    name: str
    value: str
    changed: bool
    """Whether it is away from its default."""
    meaning: str


def settings(configuration: Configuration) -> tuple[Setting, ...]:
    """Return every setting, those first that are away from their defaults."""
    changed = configuration.changed()
    found = [
        Setting(name=name, value=str(value), changed=name in changed, meaning=describe(name))
        for name, value in configuration.values().items()
    ]
    return tuple(sorted(found, key=lambda each: not each.changed))
