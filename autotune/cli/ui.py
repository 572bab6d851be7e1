"""`autotune ui`: the service's pages over results on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.console import write_out
from autotune.errors import UsageError
from autotune.installed import check_service


def ui(
    *,
    folders: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR...", help="Folders of `autotune tune`, or a folder of such folders."
        ),
    ] = [Path("autotune-out")],  # noqa: B006 - typer only reads it
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 picks a free one.")] = 8322,
) -> None:
    """Show results in a browser: charts, trials and what they printed, several compared.

    It needs the packages of the service: the extra `service`.
    """
    check_service()
    from autotune.api.errors import SettingsError
    from autotune.api.http.local import show

    try:
        show(folders, port, lambda where: write_out(f"{where} shows the results. Ctrl-C ends.\n"))
    except SettingsError as exc:
        raise UsageError(exc.cause, "Choose another --port.") from exc
