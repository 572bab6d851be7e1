"""`autotune submit`, `watch` and `fetch`: a search that a service runs."""

from __future__ import annotations

import json as json_format
from collections.abc import Iterable
from contextlib import chdir
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autotune.cli import options as take
from autotune.cli.console import log, notices, show, write_out
from autotune.errors import Interrupted, UsageError, in_words

if TYPE_CHECKING:
    from autotune.client import Client
    from autotune.result import Result
    from autotune.wire.jobs import Program

What = Annotated[
    str,
    typer.Argument(
        metavar="MODEL",
        help="A training script, a model function, or a workload that is registered there.",
        show_default=False,
    ),
]
Params = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE", help="Parameter of the model function or the workload; repeatable."
    ),
]
Folder = Annotated[
    Path,
    typer.Option(metavar="DIR", help="Folder that is uploaded with a script or functions."),
]


def submit(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    context: typer.Context,
    model: What,
    dataset: take.Dataset = None,
    url: take.Url,
    key_file: take.KeyFile = None,
    folder: Folder = Path(),
    fit: take.Fit = None,
    param: Params = None,
    dataset_arg: take.DatasetArg = None,
    space: take.Space = "auto",
    need: take.Need = None,
    priority: take.Priority = 0,
    json: take.Json = False,
) -> None:
    """Have a service tune a training, and print the job's id.

    A script or functions are uploaded with the files of the folder that git tracks or would track.
    """
    from autotune.wire.jobs import WaitsFor
    from autotune.workload import is_script

    params, options = take.pairs(param, "--param"), context.obj.options
    asked: dict[str, Any] = {"needs": _needs_from(need), "priority": priority}
    with connected(url, key_file) as client:
        if is_script(model) or ":" in model:
            asked["program"] = _uploaded(client, folder, model, dataset or [], fit, dataset_arg)
        elif dataset or fit or dataset_arg:
            raise UsageError(f"{model} is the name of a workload.", "Give it --param alone.")
        job = client.submit(model, params, space=space, options=options, **asked)
    write_out((job.model_dump_json(indent=2) if json else job.id) + "\n")
    if job.waiting and job.waiting.kind is WaitsFor.WORKER:
        log(f"{job.waiting.sentence} It waits until one is.")
    log(f"Follow it with: autotune watch {job.id} --url {url}")


def _uploaded(
    client: Client,
    folder: Path,
    model: str,
    behind: list[str],
    fit: str | None,
    dataset_arg: list[str] | None,
) -> Program:
    from autotune.workload import is_script

    params = take.pairs(dataset_arg, "--dataset-arg")
    if not folder.is_dir():
        raise UsageError(f"The folder {folder} is not there.", "Check --folder.")
    with chdir(folder):
        # Read here, as in `tune`: a mistake is found before anything is sent.
        take.subject(model, behind, fit)
    what: dict[str, Any] = (
        {"arguments": behind, "fit": fit} if is_script(model) else {"dataset": behind[0]}
    )
    return client.upload(model, **what, dataset_params=params, folder=folder, notify=log)


def _needs_from(given: Iterable[str] | None) -> dict[str, Any]:
    found: dict[str, Any] = take.pairs(given, "--need")
    if "labels" in found:
        found["labels"] = [part.strip() for part in str(found["labels"]).split(",")]
    if "kind" in found:
        found["kind"] = str(found["kind"])
    return found


def watch(
    *, job: take.JobId, url: take.Url, key_file: take.KeyFile = None, json: take.Json = False
) -> None:
    """Follow a job of a service until it ends; Ctrl-C ends the watching, not the job."""
    from autotune.events import Event, Notice
    from autotune.result.headline import settings
    from autotune.result.terminal import terminal_report
    from autotune.wire.events import sentence_of
    from autotune.wire.jobs import State

    with connected(url, key_file) as client:
        with terminal_report(notices()) as view:
            for body in (each.body for each in client.follow(job)):
                view(body if isinstance(body, Event) else Notice(text=sentence_of(body) or ""))
        ended = client.job(job)
        result = client.result(job) if ended.state is State.DONE else None
    if json:
        write_out(ended.model_dump_json(indent=2) + "\n")
    log(ended.summary or ended.reason or f"The job is {ended.state}.")
    if result is None:
        raise typer.Exit(Interrupted.exit_code if ended.state is State.CANCELLED else 3)
    log(f"Settings: {settings(result)}")
    log(f"Fetch the files with: autotune fetch {job} --url {url}")


def fetch(
    *,
    job: take.JobId,
    url: take.Url,
    key_file: take.KeyFile = None,
    out: take.Out = take.OUT,
    json: take.Json = False,
) -> None:
    """Write the files of a job's result, once it has ended."""
    with connected(url, key_file) as client:
        result = client.result(job)
    result.save(out)
    show_result(result, out, as_json=json, fetched=True)


def connected(url: str, key_file: Path | None) -> Client:
    """Return a client with the key of a file, or that of the environment."""
    from autotune.client import Client

    try:
        key = key_file.read_text("utf-8").strip() if key_file else None
    except (OSError, UnicodeDecodeError) as exc:
        raise UsageError(f"{key_file} cannot be read: {in_words(exc)}.", "Check the path.") from exc
    return Client(url, key)


def show_result(
    result: Result, out: Path, *, as_json: bool, verbose: bool = False, fetched: bool = False
) -> None:
    from autotune.result.files import written
    from autotune.result.terminal import result_text

    if as_json:
        missing = result.unsaved.files if result.unsaved else ()
        files = {name: str(path) for name, path in written(out).items() if name not in missing}
        write_out(json_format.dumps({**result.to_dict(), "files": files}, indent=2) + "\n")
    else:
        show(result_text(result, out, verbose=verbose, fetched=fetched))
