"""Writes every page that follows from the code: `python -m documentation.write`."""

from __future__ import annotations

from collections.abc import Mapping

from documentation import axes, commands, strategies
from documentation.doctor import page as doctor_page
from documentation.pages import write


def pages() -> Mapping[str, str]:
    """Return the written part of every such page, by its name under `docs/`."""
    doctor = {"doctor.md": doctor_page()}
    return {**strategies.pages(), **axes.pages(), **commands.pages(), **doctor}


if __name__ == "__main__":
    write(pages())
