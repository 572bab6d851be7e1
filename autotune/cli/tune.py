"""`autotune tune`: find the best configuration, and hand over its program."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autotune.cli import options as take
from autotune.cli.console import show, table, write_out
from autotune.cli.options import sources
from autotune.cli.remote import show_result
from autotune.errors import Interrupted, OutputError, UsageError

if TYPE_CHECKING:
    from autotune.result import Result

EXAMPLE = (
    "For example: autotune tune train.py\n"
    "         or: autotune tune mine.py:model_fn mine.py:dataset_fn --budget 3min"
)


def tune(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    context: typer.Context,
    model: take.Model = None,
    dataset: take.Dataset = None,
    resume: take.Resume = False,
    dry_run: take.DryRun = False,
    show_settings: take.ShowSettings = False,
    write_config: take.WriteConfig = None,
    write_script: take.WriteScript = None,
    json: take.Json = False,
    verbose: take.Verbose = False,
) -> None:
    """Find out whether and how to distribute a training.

    Times short runs of the real training in fresh processes on this machine.
    Press Ctrl-C once to stop early and keep the results; --resume continues.
    """
    if show_settings:
        return show(table(("option", "value", "source"), sources(context)))
    if model is None:
        raise UsageError("What is to be tuned was not named.", EXAMPLE)
    here = context.obj.here
    what = take.subject(model, dataset or [], here.fit)
    called, tuner = context.obj.called, here.tuner()
    if dry_run:
        from autotune.result.terminal import plan_text

        plan = tuner.plan(*what, **called)
        return write_out(plan.model_dump_json(indent=2) + "\n") if json else show(plan_text(plan))
    _check_copies(write_config, write_script)
    saved = {"out": here.out, "study": here.study, "resume": resume}
    with terminated_as_by_ctrl_c():
        result = tuner.tune(*what, callbacks_fn=here.callbacks, **saved, **called)
    show_result(result, here.out, as_json=json, verbose=verbose)
    _write_copies(result, here.out, write_config, write_script)
    if result.unsaved:
        raise OutputError(
            result.unsaved.cause,
            "The result above is what was measured until then. Free some space and run the same "
            "command with --resume, or choose another --out.",
        )
    if result.interrupted:
        raise typer.Exit(Interrupted.exit_code)
    return None


def _check_copies(config: Path | None, script: Path | None) -> None:
    """Fail before the search, not after it."""
    if config:
        from autotune.result.stored import check_suffix

        check_suffix(config)
    for path in filter(None, (config, script)):
        if not path.parent.is_dir():
            raise OutputError(f"Folder {path.parent} does not exist.", "Create it first.")
        target = path if path.exists() else path.parent
        if path.is_dir() or not os.access(target, os.W_OK):
            raise OutputError(f"{path} cannot be written.", "Choose another path.")


def _write_copies(result: Result, out: Path, config: Path | None, script: Path | None) -> None:
    from autotune.result.files import write_program
    from autotune.result.stored import RESULT, save_configuration

    if config:
        save_configuration(result, config, out / RESULT)
    if script:
        write_program(script, result.script)


@contextmanager
def terminated_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, by which schedulers end a job, keep what was found too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
