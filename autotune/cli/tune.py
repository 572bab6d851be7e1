"""`autotune tune`: search, and hand over the result."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autotune.cli import options
from autotune.cli.consoles import notices, show
from autotune.cli.copies import Copies
from autotune.cli.engine import start_engine
from autotune.cli.values import counts, names, pairs
from autotune.durations import parse_seconds
from autotune.errors import Interrupted
from autotune.workload import Workload, factory_from_text

