"""The recommended configuration, setting by setting."""

from __future__ import annotations

from dataclasses import dataclass

from autotune.config import Configuration, axes, default_of, describe


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
    named = [_setting(configuration, name) for name in axes()]
    own = [
        Setting(name=name, value=str(value), changed=True, meaning="User-defined axis.")
        for name, value in configuration.arguments
    ]
    return tuple(sorted([*own, *named], key=lambda each: not each.changed))


def _setting(configuration: Configuration, name: str) -> Setting:
    value = getattr(configuration, name)
    return Setting(
        name=name,
        value=str(value),
        changed=value != default_of(name),
        meaning=describe(name),
    )
