"""The arguments and options of `autotune tune`.

What an axis means is said once, in its declaration: `{workers}` in a help text quotes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autotune.cli.completion import space_names, strategy_names

_SEARCH, _BOUNDS, _WORKLOAD, _OUTPUT = "Search", "Bounds", "Workload", "Results"

Model = Annotated[
    str,
    typer.Argument(
        help=(
            "Function that returns the compiled model: package.module:function or "
            "path/to/file.py:function."
        ),
        show_default=False,
    ),
]
Engine = Annotated[
    str,
    typer.Option(
        metavar="NAME|URL",
        help="Engine that runs the trials: local, or one that a package adds.",
        rich_help_panel=_SEARCH,
    ),
]
Dataset = Annotated[
    str,
    typer.Argument(
        help="Function that returns a tf.data.Dataset of single examples, not batched or repeated.",
        show_default=False,
    ),
]
Space = Annotated[
    str,
    typer.Option(
        autocompletion=space_names,
        metavar="NAME|FILE",
        help="Search space: a name from `autotune spaces`, or a YAML file.",
        rich_help_panel=_SEARCH,
    ),
]
Budget = Annotated[
    str,
    typer.Option(
        help="Time limit of the whole search: 90s, 3min, 1h30min; none requires --max-trials.",
        rich_help_panel=_SEARCH,
    ),
]
MaxTrials = Annotated[
    int | None,
    typer.Option(
        min=1, help="Maximum number of trials before the finals.", rich_help_panel=_SEARCH
    ),
]
Seed = Annotated[int, typer.Option(help="Random seed of the search.", rich_help_panel=_SEARCH)]
Margin = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="Minimum relative gain for which distribution is recommended.",
        rich_help_panel=_SEARCH,
    ),
]
Diagnose = Annotated[
    bool,
    typer.Option(
        "--diagnose/--no-diagnose",
        help="Reserve 15% of the budget, at most 25 s, to profile where the step time goes.",
        rich_help_panel=_SEARCH,
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue an interrupted study.", rich_help_panel=_SEARCH),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show what would be searched and what is excluded; run no trials.",
        rich_help_panel=_SEARCH,
    ),
]
GlobalBatch = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Fixed global batch size.",
        rich_help_panel=_BOUNDS,
    ),
]
MaxGlobalBatch = Annotated[
    int | None,
    typer.Option(min=1, help="Maximum global batch size.", rich_help_panel=_BOUNDS),
]
Strategies = Annotated[
    str | None,
    typer.Option(
        autocompletion=strategy_names,
        metavar="A,B",
        help="{strategy} Comma-separated; default: all in the space.",
        rich_help_panel=_BOUNDS,
    ),
]
Workers = Annotated[
    str | None,
    typer.Option(
        metavar="1,2,4",
        help="{workers} Comma-separated; default: those in the space.",
        rich_help_panel=_BOUNDS,
    ),
]
AllowAsynchronous = Annotated[
    bool,
    typer.Option(
        "--allow-asynchronous",
        help="Include asynchronous strategies, which change convergence.",
        rich_help_panel=_BOUNDS,
    ),
]
ModelArg = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Argument of the model function; repeatable.",
        rich_help_panel=_WORKLOAD,
    ),
]
DatasetArg = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Argument of the dataset function; repeatable.",
        rich_help_panel=_WORKLOAD,
    ),
]
Callbacks = Annotated[
    str | None,
    typer.Option(
        metavar="FACTORY",
        help="Function that returns a list of Keras callbacks to use in every trial.",
        rich_help_panel=_WORKLOAD,
    ),
]
Out = Annotated[
    Path,
    typer.Option(metavar="DIR", help="Output folder.", rich_help_panel=_OUTPUT),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Also write the configuration to this .yaml, .json or .toml file.",
        rich_help_panel=_OUTPUT,
    ),
]
ScriptFile = Annotated[
    Path | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help="Also write the training program to this file.",
        rich_help_panel=_OUTPUT,
    ),
]
StudyName = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="NAME", help="Name of the Optuna study.", rich_help_panel=_OUTPUT
    ),
]
Storage = Annotated[
    str | None,
    typer.Option(
        metavar="URL",
        help="SQLAlchemy URL of the Optuna storage; default: study.db in the output folder.",
        rich_help_panel=_OUTPUT,
    ),
]
TensorBoard = Annotated[
    Path | None,
    typer.Option(
        "--tensorboard",
        metavar="DIR",
        help="Log trials for TensorBoard (HParams and scalars) to this folder.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print the result to stdout as JSON.", rich_help_panel=_OUTPUT),
]
