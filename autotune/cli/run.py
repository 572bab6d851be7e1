"""`autotune run`: train, in place of `python train.py`, with what a search finds or has found."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from autotune.cli import options as take
from autotune.cli.console import log, write_out
from autotune.cli.tune import terminated_as_by_ctrl_c
from autotune.errors import (
    ConfigurationError,
    DatasetTooSmall,
    EngineError,
    FactoryFailed,
    Interrupted,
    NothingMeasured,
    OutputError,
    ScriptFailed,
    StudyMismatch,
    UsageError,
)

if TYPE_CHECKING:
    from autotune.options import SearchOptions
    from autotune.result import Result
    from autotune.workload import Script

    Subject = tuple[str | Script, str | None]

Place = Literal["local", "slurm", "ray"]
REFUSED = (ScriptFailed, FactoryFailed, DatasetTooSmall, NothingMeasured, EngineError)
"""What keeps a search from a program that may train by itself all the same."""
OF_A_RESULT = ("target", "arguments", "on", "hosts", "show", "out")
"""What is taken where nothing is searched."""
# No variable of the environment: they are of a call, not of a project.
_option = partial(typer.Option, allow_from_autoenv=False)


class RunCommand(take.HereCommand):
    """A command whose options stand before a program; all that stands behind it is the program's.

    So do torchrun and `accelerate launch`. Options of `autotune run DIR` may follow the folder.
    """

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        ctx.allow_interspersed_args = False
        named, _, _ = self.make_parser(ctx).parse_args(args=[*args])
        ctx.allow_interspersed_args = not _is_program(named.get("target"))
        return super().parse_args(ctx, args)


def _is_program(target: object) -> bool:
    """Whether it names a script or a factory, and no folder of a result."""
    from autotune.workload import is_script

    if not isinstance(target, str) or Path(target).is_dir():
        return False
    return is_script(target) or ":" in target


def run(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    context: typer.Context,
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="[SCRIPT | MODEL DATASET | DIR]",
            help="Training script, or two functions as `autotune tune` takes them, to search for "
            "and then train; or a folder that holds a result, to train with that.",
            show_default=False,
        ),
    ] = None,
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[ARGUMENTS]",
            help="Of the script, or of the program that was found; behind DIR they follow --.",
            show_default=False,
        ),
    ] = None,
    again: Annotated[bool, _option("--again", help="Search anew, though there is a result.")] = (
        False
    ),
    on: Annotated[
        Place, _option(help="What starts the workers: this machine or ssh, Slurm, or Ray.")
    ] = "local",
    hosts: Annotated[
        str | None,
        _option(metavar="HOST,...", help="Hosts of the workers, by ssh.", show_default=False),
    ] = None,
    show: Annotated[
        bool, _option("--print", help="Print the command of the training, and do not start it.")
    ] = False,
) -> None:
    """Train in place of `python train.py`: search for settings as long as that pays, then train.

    Exit code and Ctrl-C are the training's own. Each epoch is saved, and the same command goes on
    from there. Where a search for the same program on this machine has ended, it trains at once.
    """
    here, launch, words = context.obj.here, Launch(on, hosts, show), arguments or []
    if target is None or not _is_program(target):
        if target and target.startswith("-"):  # autotune run -- --epochs 20
            words, target = [target, *words], None
        _check_no_search(context)
        return launch.start(Path(target or here.out), words)
    asked = {**context.obj.called, "callbacks_fn": here.callbacks}
    out, tuner = here.out, here.tuner()
    program = Program(target, words[1:] if words[:1] == ["--"] else words)
    try:
        what = program.subject(here.fit)
        elsewhere = "://" in here.engine
        earlier = earlier_in(out, _made_for(what, out, **asked), again=again, elsewhere=elsewhere)
        with terminated_as_by_ctrl_c():
            search = partial(tuner.tune, *what, out=out, study=here.study, **asked)
            result = earlier.result_of(search)
    except REFUSED as exc:
        if not program.trains_by_itself or (here.no_wait and isinstance(exc, EngineError)):
            raise
        log(f"Not searched: {exc.cause}")
        if exc.next_step:
            log(exc.next_step)
        return launch.become(program.command)
    if not earlier.holds:
        _log_answer(result, out)
    if result.interrupted:
        log(f"The same command goes on with the search; autotune run {out} trains with this")
        raise typer.Exit(Interrupted.exit_code)
    from autotune.search.setup import PROGRAM

    if PROGRAM in earlier.changed:
        rename_checkpoints(out)
    return _train(program, result, launch, out)


def _check_no_search(context: typer.Context) -> None:
    for each in context.command.get_params(context):
        source = context.get_parameter_source(each.name or "")
        if each.name not in OF_A_RESULT and source and source.name == "COMMANDLINE":
            raise UsageError(
                f"{each.opts[0]} is of a search, and there is a result to train with already.",
                "Name a script, or have options of the training follow --: "
                "autotune run DIR -- --epochs 3.",
            )


def _made_for(
    what: Subject, out: Path, *, space: str, options: SearchOptions, **given: Any
) -> Mapping[str, str]:
    from autotune.search.setup import TuningRequest, made_for
    from autotune.tuning import workload_of

    workload = workload_of(*what, **given)
    return made_for(TuningRequest(workload=workload, space=space, options=options, out=out))


class Program(NamedTuple):
    """What is to be trained, as the command line names it."""

    target: str
    words: list[str]

    @property
    def is_script(self) -> bool:
        from autotune.workload import is_script

        return is_script(self.target)

    def subject(self, fit: str | None) -> Subject:
        """Return what a search takes: a script with its arguments, or two functions."""
        return take.subject(self.target, self.words if self.is_script else self.words[:1], fit)

    @property
    def trains_by_itself(self) -> bool:
        return self.target.endswith(".py")

    @property
    def command(self) -> list[str]:
        """What trains without autotune."""
        return [sys.executable, self.target, *self.words]


class Launch(NamedTuple):
    """How the workers are started; or the command is shown, and nothing is started."""

    on: Place
    hosts: str | None
    show: bool

    def start(self, folder: Path, arguments: Sequence[str]) -> None:
        """Train by the program that a folder holds."""
        command = command_for(folder, arguments, self.on, self.hosts)
        # TensorFlow tells what it found when it starts; what goes wrong is an exception.
        self.become(command, {"TF_CPP_MIN_LOG_LEVEL": "3"})

    def become(self, command: Sequence[str], defaults: Mapping[str, str] | None = None) -> None:
        """Go on as another program, which so gets every signal and has the exit code."""
        if self.show:
            write_out(shlex.join(command) + "\n")
            return
        log(f"Running: {shlex.join(command)}")
        sys.stdout.flush()
        environment = {**(defaults or {}), **os.environ}
        os.execvpe(command[0], [*command], environment)  # noqa: S606 - the command of `--print`


def _train(program: Program, result: Result, launch: Launch, out: Path) -> None:
    unsaved = result.unsaved
    from autotune.result.files import programs

    lacks = unsaved is not None and not {*unsaved.files}.isdisjoint(programs(result))
    if program.trains_by_itself and (lacks or _keeps_own(result)):
        launch.become(program.command)
    elif unsaved and lacks:
        raise OutputError(unsaved.cause, "Free some space, or choose another --out.")
    else:
        # Those of a script are written into the program.
        launch.start(out, [] if program.is_script else program.words[1:])


def _keeps_own(result: Result) -> bool:
    """Whether a script trains by itself with what is recommended, and as long as was asked for."""
    answer, found, facts = result.answer, result.configuration, result.facts
    as_written = (found.run_eagerly, found.xla) == (facts.eager, facts.jit_compile)
    strategy = facts.fit.own_strategy if facts.fit else None
    distributed = strategy is not None and strategy.title
    same_epochs = result.workload.epochs in (None, facts.fit and facts.fit.epochs)
    return answer.recommended == answer.own and as_written and same_epochs and not distributed


def _log_answer(result: Result, out: Path) -> None:
    from autotune.result.files import written
    from autotune.result.headline import settings

    log(result.summary)
    log(f"Settings: {settings(result)}")
    if page := written(out).get("report.html"):
        log(f"Why: {page}")


def command_for(
    folder: Path, arguments: Sequence[str], on: Place = "local", hosts: str | None = None
) -> list[str]:
    train, launch = folder / "train.py", folder / "launch.py"
    if not train.is_file():
        raise UsageError(
            f"There is no train.py in {folder}.",
            "Name the folder that `autotune tune` has written.",
        )
    if not launch.is_file():
        if hosts or on != "local":
            raise UsageError(
                "This training takes one process, which no launcher starts.",
                f"Run it on a machine of your choice: autotune run {folder}.",
            )
        return [sys.executable, str(train), *arguments]
    if hosts and on != "local":
        raise UsageError("--hosts names hosts for ssh.", f"Omit it: {on} chooses them.")
    if on == "ray":
        return [sys.executable, str(folder / "launch_ray.py"), *arguments]
    if on == "slurm":
        return _by_slurm(folder, train, arguments)
    return [sys.executable, str(launch), *(["--hosts", hosts] if hosts else []), *arguments]


def _by_slurm(folder: Path, train: Path, arguments: Sequence[str]) -> list[str]:
    """Return what runs in the allocation that there is, or else submits a job and waits for it."""
    script = [str(folder / "launch.slurm"), str(train), *arguments]
    if "SLURM_JOB_NODELIST" in os.environ:
        return ["bash", *script]
    if shutil.which("sbatch") is None:
        raise UsageError("There is no sbatch here.", "Start it on a machine that submits to Slurm.")
    return ["sbatch", "--wait", f"--output={folder / 'slurm-%j.txt'}", *script]


class Earlier(NamedTuple):
    """The result of an output folder, and what is not as it was when that was made."""

    folder: Path
    result: Result | None = None
    changed: tuple[str, ...] = ()
    """What is asked for now and was not then, the program first."""
    goes_on: bool = False
    """Whether a search is to go on with the last study."""

    @property
    def holds(self) -> bool:
        """Whether its result is that of the search that is asked for, and that search has ended."""
        return bool(self.result) and not self.changed and not self.goes_on

    def result_of(self, search: Callable[..., Result]) -> Result:
        """Return the result if it holds, or else that of a search, which may go on."""
        if self.result and self.holds:
            from autotune.result.stored import RESULT

            written = datetime.fromtimestamp((self.folder / RESULT).stat().st_mtime, UTC)
            date = f"{written.astimezone():%d %b %Y, %H:%M}"
            log(f"Training with the result of {date}; --again searches anew")
            return self.result
        if self.result and not self.goes_on:
            log(f"The result in {self.folder} is of another {self.changed[0]}: a new search begins")
        try:
            return search(resume=self.goes_on)
        except StudyMismatch:
            # Data or TensorFlow's devices are others, which only a run of the program tells.
            if not self.goes_on:
                raise
            return search(resume=False)


def earlier_in(
    folder: Path, asked: Mapping[str, str], *, again: bool = False, elsewhere: bool = False
) -> Earlier:
    """Return what a folder holds of a search, by what that is to be made for.

    Args:
        folder: The output folder.
        asked: Each thing that has to be equal, with its fingerprint.
        again: Whether a new search is wanted whatever there is.
        elsewhere: Whether other machines are to run it, whose fingerprint nobody knows here.
    """
    from autotune.result import Result
    from autotune.search.setup import LENGTH, MACHINE

    try:
        result = Result.load(folder)
    except ConfigurationError:
        # A search that was killed leaves its study alone.
        return Earlier(folder, goes_on=not again and (folder / "study.db").is_file())
    asked = dict(asked)
    if any(host.name for host in result.machine.hosts) != elsewhere:
        asked[MACHINE] = "another"
    changed = tuple(each for each in asked if result.made_for.get(each) != asked[each])
    if again:
        return Earlier(folder, changed=changed)
    longer = changed == (LENGTH,) or (result.interrupted and not changed)
    return Earlier(folder, result, changed, goes_on=longer)


def rename_checkpoints(folder: Path) -> None:
    """Keep a new program from going on with what an earlier one has trained."""
    for each in folder.glob("checkpoints*"):
        kept = each.with_name(f"earlier-{each.name}-{each.stat().st_mtime:.0f}")
        each.rename(kept)
        log(f"What was trained before the program changed is now in {kept}")
