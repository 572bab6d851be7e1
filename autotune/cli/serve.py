"""`autotune serve`: the service."""

from __future__ import annotations

from typing import Annotated

import typer

from autotune.cli.console import guarded, log, write_out
from autotune.cli.options import SettingsFile
from autotune.errors import UsageError
from autotune.installed import check_service

app = typer.Typer(help="Run the tuning service: API and worker together, or one of them.")

Host = Annotated[str, typer.Option(help="Host name or address to bind to.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to bind to; 0 picks a free one.")]
NoKeys = Annotated[
    bool,
    typer.Option("--no-keys", help="Disable API keys; only with a loopback host."),
]
LOCAL_HOST, USUAL_PORT = "127.0.0.1", 8321
_OF_THE_API = {"host": "--host", "port": "--port", "no_keys": "--no-keys"}


@app.callback(invoke_without_command=True)
@guarded
def everything(
    *,
    context: typer.Context,
    host: Host = LOCAL_HOST,
    port: Port = USUAL_PORT,
    no_keys: NoKeys = False,
    settings: SettingsFile = None,
) -> None:
    """Run the API and a worker until Ctrl-C or SIGTERM."""
    check_service()
    context.obj = settings  # For a part that is named, and has no file of its own.
    if context.invoked_subcommand is not None:
        return _refuse_lost(context)
    from autotune.cli.supervise import Part, supervise

    file = ("--settings", str(settings.absolute())) if settings else ()
    flags = ("--no-keys",) if no_keys else ()
    api = ("serve", "api", "--host", host, "--port", str(port), *flags, *file)
    worker = ("serve", "worker", *file)
    parts = [Part(name="API", command=api), Part(name="worker", command=worker)]
    raise typer.Exit(supervise(parts, log))


@app.command()
@guarded
def api(
    *,
    context: typer.Context,
    host: Host = LOCAL_HOST,
    port: Port = USUAL_PORT,
    no_keys: NoKeys = False,
    settings: SettingsFile = None,
) -> None:
    """Run only the API."""
    from autotune.api.http.server import serve
    from autotune.api.log import write_log
    from autotune.api.settings import load_settings

    given = load_settings(settings or context.obj)
    write_log(given.log)
    serve(given, host, port, lambda text: write_out(f"{text}\n"), keys=not no_keys)


@app.command()
@guarded
def worker(*, context: typer.Context, settings: SettingsFile = None) -> None:
    """Run only a worker, which processes one job at a time."""
    from autotune.api.work.worker import main

    file = settings or context.obj
    main([str(file)] if file else [])


def _refuse_lost(context: typer.Context) -> None:
    """Raise UsageError where an option stands before the part that it is meant for."""
    part = context.invoked_subcommand
    for name, option in _OF_THE_API.items():
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(
                f"{option} has no effect before {part}.",
                f"Put it last: autotune serve api {option} ..."
                if part == "api"
                else f"Remove it: a {part} takes no requests.",
            )
