"""`autotune doctor`: how noisy is this machine, or what is wrong with this code?"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autotune.cli import options as take
from autotune.cli.code_check import CodeCheck, Format
from autotune.cli.console import notices, put, say, show
from autotune.errors import UsageError

if TYPE_CHECKING:
    from autotune.doctor.settings import Settings
    from autotune.workload import Workload

EXIT_CODES = (
    "Exit codes: 0 machine measured, or no findings in the code, 1 findings, 2 usage error or "
    "unreadable file, 3 nothing could be measured, 130 interrupted."
)
NAME = "autotune doctor"
_CODE = "Code check"
_OF_THE_CODE = ("output_format", "select", "ignore", "target_version", "fix", "diff", "exit_zero")
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
    output_format: Annotated[
        Format, typer.Option(help="Format of the findings.", rich_help_panel=_CODE)
    ] = Format.TEXT,
    select: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE,...",
            help="Comma-separated rules to enable; may be repeated. Default: all.",
            show_default=False,
            rich_help_panel=_CODE,
        ),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RULE,...",
            help="Comma-separated rules to disable; may be repeated.",
            show_default=False,
            rich_help_panel=_CODE,
        ),
    ] = None,
    target_version: Annotated[
        str | None,
        typer.Option(
            metavar="X.Y",
            help="TensorFlow version of the code; default: the newest that the project allows.",
            show_default=False,
            rich_help_panel=_CODE,
        ),
    ] = None,
    fix: Annotated[
        bool, typer.Option("--fix", help="Edit files where that is safe.", rich_help_panel=_CODE)
    ] = False,
    diff: Annotated[
        bool,
        typer.Option("--diff", help="Show what --fix would edit.", rich_help_panel=_CODE),
    ] = False,
    exit_zero: Annotated[
        bool,
        typer.Option("--exit-zero", help="Exit with 0 despite findings.", rich_help_panel=_CODE),
    ] = False,
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
        from autotune.doctor.show import rule_list

        return show(rule_list())
    if explain is not None:
        return _explain(explain)
    if files:
        _refuse(context, _OF_THE_MACHINE, "does not apply to a code check.", "Remove it.")
        if json:
            output_format = Format.JSON
        return CodeCheck(
            settings=_settings(select or (), ignore or (), target_version),
            output_format=output_format,
            edit="diff" if diff else "fix" if fix else None,
            exit_zero=exit_zero,
        ).run(files)
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
    from autotune.engine.resolve import reserved_engine

    with reserved_engine(engine, NAME, say) as running:
        # Imported while the engine's own process imports TensorFlow.
        from autotune.cli.checks import checkup_text, document
        from autotune.options import SearchOptions
        from autotune.result.following import TurnsReport
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


def _settings(select: Iterable[str], ignore: Iterable[str], target: str | None) -> Settings:
    """Return the project's settings, as options of the call change them."""
    from autotune.doctor.settings import settings_of
    from autotune.options import names

    chosen, left_out = (
        tuple(e for each in given for e in names(each)) for given in (select, ignore)
    )
    return settings_of(Path.cwd()).with_options(chosen, left_out, target)


def _explain(name: str) -> None:
    from autotune.doctor.rules import find
    from autotune.doctor.show import explained

    show(explained(find(name)))
