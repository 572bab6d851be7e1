"""`autotune doctor`: how noisy is this machine, or what is wrong with this code?"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli import options as take
from autotune.cli.console import notices, put, say, show
from autotune.errors import CodeError, UsageError

if TYPE_CHECKING:
    from autotune.workload import Workload

FOUND = 1
"""Exit code when something was found."""

EXIT_CODES = (
    "Exit codes: 0 machine measured, or no findings in the code, 1 findings, 2 usage error or "
    "unreadable file, 3 nothing could be measured, 130 interrupted."
)
NAME = "autotune doctor"
_CODE = "Code check"
_OF_THE_CODE = ("sarif", "select", "ignore")
_OF_THE_MACHINE = ("model", "dataset", "model_arg", "dataset_arg", "seconds", "seed", "engine")


def doctor(  # noqa: PLR0913 - one parameter for each option of the command
    *,
    context: typer.Context,
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE|FOLDER",
            help="Code to check for distributed TensorFlow mistakes; default: check the machine.",
            show_default=False,
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="FACTORY",
            help="Function that returns the model to train; default: a small built-in one.",
        ),
    ] = None,
    dataset: Annotated[
        str | None,
        typer.Option(metavar="FACTORY", help="Function that returns the dataset to train on."),
    ] = None,
    model_arg: take.ModelArg = None,
    dataset_arg: take.DatasetArg = None,
    seconds: Annotated[float, typer.Option(min=1.0, help="Time limit.")] = 45.0,
    seed: Annotated[int, typer.Option(help="Random seed of the order within each pair.")] = 0,
    engine: take.Engine = "local",
    json: take.Json = False,
    sarif: Annotated[
        bool, typer.Option("--sarif", help="Print findings as SARIF 2.1.0.", rich_help_panel=_CODE)
    ] = False,
    select: Annotated[
        str | None,
        typer.Option(
            metavar="RULE,...",
            help="Comma-separated rules to enable; default: all.",
            rich_help_panel=_CODE,
        ),
    ] = None,
    ignore: Annotated[
        str | None,
        typer.Option(
            metavar="RULE,...", help="Comma-separated rules to disable.", rich_help_panel=_CODE
        ),
    ] = None,
    rules: Annotated[
        bool, typer.Option("--rules", help="List all rules and exit.", rich_help_panel=_CODE)
    ] = False,
    explain: Annotated[
        str | None,
        typer.Option(metavar="RULE", help="Explain a rule and exit.", rich_help_panel=_CODE),
    ] = None,
) -> None:
    """Measure the timing noise of this machine, or check code for mistakes.

    Without files, it compares a configuration with itself in alternating fresh processes
    (an A/A test) to show how small a gain can be detected. With files or folders, it checks
    them for distributed TensorFlow mistakes without running them.
    """
    if rules:
        from autotune.lint.show import rule_list

        return show(rule_list())
    if explain is not None:
        return _explain(explain)
    if files:
        _refuse(context, _OF_THE_MACHINE, "does not apply to a code check.", "Remove it.")
        if json and sarif:
            raise UsageError("--json and --sarif cannot be used together.", "Use one of them.")
        return _check_code(files, select, ignore, "json" if json else "sarif" if sarif else None)
    _refuse(context, _OF_THE_CODE, "needs files to check.", "Pass files or folders.")
    workload = _workload(model, dataset, model_arg, dataset_arg)
    _check_machine(engine, workload, seconds, seed, as_json=json)
    return None


def _refuse(context: typer.Context, options: tuple[str, ...], cause: str, next_step: str) -> None:
    """Raise UsageError if one of these options is given."""
    for name in options:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            raise UsageError(f"--{name.replace('_', '-')} {cause}", next_step)


def _check_machine(
    engine: str, workload: Workload | None, seconds: float, seed: int, *, as_json: bool
) -> None:
    from autotune.run.resolve import reserved_engine

    with reserved_engine(engine, NAME, say) as running:
        # Imported while the engine's own process imports TensorFlow.
        from autotune.options import SearchOptions
        from autotune.report import TurnsReport, checkup_text, document
        from autotune.verification.aa_test import aa_test

        found = aa_test(
            running,
            workload,
            options=SearchOptions(budget=seconds, seed=seed),
            observer=TurnsReport(notices()),
        )
    put(document(found)) if as_json else show(checkup_text(found))


def _workload(
    model: str | None,
    dataset: str | None,
    model_arg: list[str] | None,
    dataset_arg: list[str] | None,
) -> Workload | None:
    """Return the user's workload, or None for the built-in one.

    Raises:
        UsageError: Half of it is missing.
    """
    from autotune.workload import Workload, factory_from_text

    if model is None and dataset is None and not model_arg and not dataset_arg:
        return None
    if model is None or dataset is None:
        raise UsageError("--model and --dataset must be used together.", "Pass both or neither.")
    return Workload(
        model=factory_from_text(model, take.pairs(model_arg or (), "--model-arg")),
        dataset=factory_from_text(dataset, take.pairs(dataset_arg or (), "--dataset-arg")),
    )


def _check_code(
    paths: list[Path], select: str | None, ignore: str | None, form: str | None
) -> None:
    from autotune.lint.check import check_paths
    from autotune.lint.rules import choose
    from autotune.lint.show import json_document, plain_text, sarif_document, terminal_text
    from autotune.options import names

    report = check_paths(tuple(paths), choose(names(select), names(ignore)))
    if form is not None:
        put(json_document(report) if form == "json" else sarif_document(report))
    elif sys.stdout.isatty():
        show(terminal_text(report))
    else:
        put(plain_text(report))
    for each in report.troubles:
        say(f"{'Error' if each.unread else 'Warning'}: {each.text}")
    if not report.complete:
        raise typer.Exit(CodeError.exit_code)
    if report.findings:
        raise typer.Exit(FOUND)


def _explain(name: str) -> None:
    from autotune.lint.rules import find
    from autotune.lint.show import explained

    show(explained(find(name)))
