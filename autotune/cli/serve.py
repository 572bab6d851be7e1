"""`autotune serve`: the service."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.consoles import put, say
from autotune.cli.guard import guarded

app = typer.Typer(
    help="Take tuning jobs over HTTP and run them: everything on one machine, or a part alone.",
    context_settings={"help_option_names": ["-h", "--help"]},
)

Host = Annotated[str, typer.Option(help="Name or address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: a free one.")]
NoKeys = Annotated[
    bool,
    typer.Option("--no-keys", help="Let everybody on this machine do everything; loopback only."),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="Settings file (TOML).", show_default=False),
]
LOCAL_HOST, USUAL_PORT = "127.0.0.1", 8321


@guarded
def everything(
    *,
    context: typer.Context,
    host: Host = LOCAL_HOST,
    port: Port = USUAL_PORT,
    no_keys: NoKeys = False,
    settings: SettingsFile = None,
) -> None:
    """Serve the API and run a worker, until Ctrl-C or SIGTERM."""
    if context.invoked_subcommand is not None:
        return
    from autotune.cli.supervised import Part, supervise

    _take(settings)
    flags = ("--no-keys",) if no_keys else ()
    api = ("serve", "api", "--host", host, "--port", str(port), *flags)
    parts = [Part(name="API", command=api), Part(name="worker", command=("serve", "worker"))]
    raise typer.Exit(supervise(parts, say))


@guarded
def api(
    *,
    host: Host = LOCAL_HOST,
    port: Port = USUAL_PORT,
    no_keys: NoKeys = False,
    settings: SettingsFile = None,
) -> None:
    """Serve the API alone."""
    from autotune.api.http.server import serve
    from autotune.api.settings import load_settings

    _log()
    serve(load_settings(settings), host, port, lambda text: put(f"{text}\n"), keys=not no_keys)


@guarded
def worker(*, settings: SettingsFile = None) -> None:
    """Run a worker alone: it takes one job after the other."""
    from autotune.api.work.worker import main

    main([str(settings)] if settings else [])


app.callback(invoke_without_command=True)(everything)
app.command()(api)
app.command()(worker)


def _take(settings: Path | None) -> None:
    """Let the parts read the same settings file."""
    if settings is not None:
        from autotune.api.settings import FILE

        os.environ[FILE] = str(settings.absolute())


def _log() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
