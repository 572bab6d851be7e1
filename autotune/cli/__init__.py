"""The command line: `autotune`, one file per command.

What needs seconds to import (TensorFlow is in the trials only, but optuna and scipy are not) is
imported by the command that needs it, so that `autotune --help` answers at once.
"""

from autotune.cli.commands import app, main

__all__ = ["app", "main"]
