"""The option that `serve` and `keys` share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="Settings file (TOML).", show_default=False),
]
