"""Further copies of the configuration and the program, where the user wants them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from autotune.cli.text import write_text
from autotune.errors import OutputError
from autotune.result import Result
from autotune.result.saved import save_configuration

FORMATS = (".yaml", ".json", ".toml")


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Where to write copies; None for no copy."""

    config: Path | None
    script: Path | None

    def check(self) -> None:
        """Fail before the search, not after it.

        Raises:
            OutputError: A file cannot be written, or has no suffix that names a format.
        """
        if self.config and self.config.suffix not in FORMATS:
            raise OutputError(
                f"--config {self.config} has no known file extension.",
                f"Use {', '.join(FORMATS)}.",
            )
        for path in (self.config, self.script):
            if path:
                _check_writable(path)

    def write(self, result: Result) -> None:
        """Write them.

        Raises:
            OutputError: A file cannot be written.
        """
        if self.config:
            save_configuration(result.saved(), self.config)
        if self.script:
            write_text(self.script, result.script)


def _check_writable(path: Path) -> None:
    folder = path.parent
    if not folder.is_dir():
        raise OutputError(f"Folder {folder} does not exist.", "Create it first.")
    target = path if path.exists() else folder
    if path.is_dir() or not os.access(target, os.W_OK):
        raise OutputError(f"{path} cannot be written.", "Choose another path.")
