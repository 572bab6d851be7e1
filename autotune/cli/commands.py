"""The commands, put together."""

import signal
import sys
from collections.abc import Callable, Mapping
from io import TextIOWrapper
from typing import Annotated

import typer

from autotune.cli.console import Command, Commands
from autotune.cli.doctor import EXIT_CODES as DOCTOR_CODES, doctor
from autotune.cli.machine import machine, spaces
from autotune.cli.operate import database, keys_app, workers_app
from autotune.cli.options import PREFIX, HereCommand, SearchCommand
from autotune.cli.remote import fetch, submit, watch
from autotune.cli.run import RunCommand, run
from autotune.cli.saved import VERIFY_CODES, report, script, verify
from autotune.cli.serve import serve
from autotune.cli.tune import tune

EXIT_CODES = (
    "Exit codes: 0 success, 1 findings (doctor) or refuted (verify), 2 usage error, 3 nothing "
    "could be measured, or an internal error, 130 interrupted."
)
TUNE_CODES = (
    "Exit codes: 0 a recommendation was made, 2 usage error or full disk (results so far are "
    "printed), 3 nothing could be measured, 130 interrupted (results so far are saved)."
)
RUN_CODES = (
    "Exit codes: those of the training; of a search that did not end 2, 3 or 130, as `autotune "
    "tune`, and nothing is trained."
)

app = typer.Typer(
    name="autotune",
    cls=Commands,
    help="Should I distribute this Keras training, how, and with which settings?",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for searches, its_class, codes in ((tune, HereCommand, TUNE_CODES), (run, RunCommand, RUN_CODES)):
    app.command(
        cls=its_class,
        epilog=codes,
        rich_help_panel="Tune",
        context_settings={"auto_envvar_prefix": PREFIX},
    )(searches)
app.command(cls=Command, epilog=DOCTOR_CODES, rich_help_panel="Tune")(doctor)
app.command(cls=Command, epilog=VERIFY_CODES, rich_help_panel="Results")(verify)
app.command(cls=SearchCommand, rich_help_panel="Service")(submit)
PANELS: Mapping[str, tuple[Callable[..., None], ...]] = {
    "Tune": (spaces, machine),
    "Results": (script, report),
    "Service": (watch, fetch),
    "Operate": (serve, database),
}
for panel, commands in PANELS.items():
    for command in commands:
        app.command(cls=Command, rich_help_panel=panel)(command)
for name, group in (("keys", keys_app), ("workers", workers_app)):
    for each in group.registered_commands:
        each.cls = Command
    app.add_typer(group, name=name, cls=Commands, rich_help_panel="Operate")


def _show_version(wanted: bool) -> None:  # noqa: FBT001 - typer calls it with the option's value
    if wanted:
        from autotune.versions import VERSION

        typer.echo(f"autotune {VERSION}")
        raise typer.Exit


@app.callback()
def _options(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    del version


def main() -> None:
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            # A result is worth more than a character that the terminal does not have.
            stream.reconfigure(errors="replace")
    try:
        app()
    finally:
        # A further Ctrl-C would only replace the exit code.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
