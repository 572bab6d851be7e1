"""`autotune tune`: find the best configuration, and hand over its program."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from autotune.cli import options as take
from autotune.cli.console import log, show, write_out
from autotune.cli.remote import (
    Label,
    Need,
    Priority,
    check_place,
    connected,
    show_result,
    tune_there,
    turn_from,
)
from autotune.errors import Interrupted, OutputError

if TYPE_CHECKING:
    from autotune.plan import Plan
    from autotune.result import Result

CONFIG_FORMATS = (".yaml", ".json", ".toml")


def tune(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    context: typer.Context,
    model: take.Model,
    dataset: take.Dataset = None,
    fit: take.Fit = None,
    space: take.Space = "auto",
    url: take.RemoteUrl = None,
    key_file: take.KeyFile = None,
    need: Need = None,
    priority: Priority = 0,
    label: Label = None,
    resume: take.Resume = False,
    no_wait: take.NoWait = False,
    dry_run: take.DryRun = False,
    engine: take.Engine = "local",
    model_arg: take.ModelArg = None,
    dataset_arg: take.DatasetArg = None,
    callbacks: take.Callbacks = None,
    out: take.Out = Path("autotune-out"),
    config: take.ConfigFile = None,
    script: take.ScriptFile = None,
    study: take.StudyName = None,
    storage: take.Storage = None,
    json: take.Json = False,
) -> None:
    """Find out whether and how to distribute a training.

    Times short runs of the real training in fresh processes on this machine.
    Press Ctrl-C once to stop early and keep the results; --resume continues.
    """
    # Here, so that the help answers before all of this is imported; the same below.
    from autotune.options import options_from
    from autotune.tuning import Tuner

    what, data = (model, None) if url else take.subject(model, dataset or [], fit)
    check_place(context, url)
    tuner = Tuner(engine=engine, storage=storage, progress=True, wait=not no_wait)
    options = options_from(context.obj)
    model_args = take.pairs(model_arg or (), "--model-arg")
    dataset_args = take.pairs(dataset_arg or (), "--dataset-arg")
    if dry_run:
        plan = tuner.plan(
            what,
            data,
            space=space,
            options=options,
            model_args=model_args,
            dataset_args=dataset_args,
        )
        return _show_plan(plan, as_json=json)
    if engine == "local" and url is None:
        _notify_of_unused_nodes()
    copies = Copies(config=config, script=script)
    copies.check()
    with _terminated_as_by_ctrl_c():
        if url is not None:
            params = {**model_args, **dataset_args}
            turn = turn_from(need, priority, label)
            with connected(url, key_file) as client:
                result = tune_there(
                    client, model, params, out=out, space=space, options=options, **turn
                )
        else:
            result = tuner.tune(
                what,
                data,
                space=space,
                out=out,
                options=options,
                model_args=model_args,
                dataset_args=dataset_args,
                callbacks_fn=callbacks,
                study=study,
                resume=resume,
            )
    show_result(result, out, as_json=json)
    copies.write(result)
    if result.unsaved:
        raise OutputError(
            result.unsaved.cause,
            "The result above is what was measured until then. Free some space and run the same "
            "command with --resume, or choose another --out.",
        )
    if result.interrupted:
        raise typer.Exit(Interrupted.exit_code)
    return None


def _notify_of_unused_nodes() -> None:
    """Say where a job of Slurm has more machines than the one that is searched."""
    nodes = os.environ.get("SLURM_JOB_NUM_NODES", "1")
    if nodes.isdecimal() and int(nodes) > 1:
        log(
            f"Slurm gave this job {nodes} machines, of which only this one is used. To use all of "
            "them, start Ray on each and add --engine ray; examples/tune.slurm does that."
        )


@dataclass(frozen=True, kw_only=True)
class Copies:
    """Where to write copies of the configuration and the program; None for no copy."""

    config: Path | None
    script: Path | None

    def check(self) -> None:
        """Fail before the search, not after it.

        Raises:
            OutputError: A file cannot be written, or has no suffix that names a format.
        """
        if self.config and self.config.suffix not in CONFIG_FORMATS:
            raise OutputError(
                f"--config {self.config} has no known file extension.",
                f"Use {', '.join(CONFIG_FORMATS)}.",
            )
        for path in filter(None, (self.config, self.script)):
            if not path.parent.is_dir():
                raise OutputError(f"Folder {path.parent} does not exist.", "Create it first.")
            target = path if path.exists() else path.parent
            if path.is_dir() or not os.access(target, os.W_OK):
                raise OutputError(f"{path} cannot be written.", "Choose another path.")

    def write(self, result: Result) -> None:
        """Write them.

        Raises:
            OutputError: A file cannot be written.
        """
        from autotune.result.files import write_text
        from autotune.result.saved import save_configuration

        if self.config:
            save_configuration(result.saved(), self.config)
        if self.script:
            write_text(self.script, result.script)


def _show_plan(plan: Plan, *, as_json: bool) -> None:
    from autotune.result.plan_text import plan_text

    write_out(plan.model_dump_json(indent=2) + "\n") if as_json else show(plan_text(plan))


@contextmanager
def _terminated_as_by_ctrl_c() -> Iterator[None]:
    """Let SIGTERM, by which schedulers end a job, keep what was found too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
