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
        help="Factory of the compiled model: package.module:function or path/to/file.py:function.",
        show_default=False,
    ),
]
Dataset = Annotated[
    str,
    typer.Argument(
        help="Factory of the tf.data.Dataset of single examples, neither batched nor repeated.",
        show_default=False,
    ),
]
Space = Annotated[
    str,
    typer.Option(
        autocompletion=space_names,
        metavar="NAME|FILE",
        help="Ready-made search space (see `autotune spaces`), or a YAML file.",
        rich_help_panel=_SEARCH,
    ),
]
Budget = Annotated[
    str,
    typer.Option(
        help="Time for the whole search: 90s, 3min, 1h30min; or none, with --max-trials.",
        rich_help_panel=_SEARCH,
    ),
]
MaxTrials = Annotated[
    int | None,
    typer.Option(min=1, help="Trials before the finals.", rich_help_panel=_SEARCH),
]
Seed = Annotated[int, typer.Option(help="Seed of the search.", rich_help_panel=_SEARCH)]
Margin = Annotated[
    float,
    typer.Option(
        min=0.0,
        help="A gain below this share is not worth the trouble of distribution.",
        rich_help_panel=_SEARCH,
    ),
]
Diagnose = Annotated[
    bool,
    typer.Option(
        "--diagnose/--no-diagnose",
        help="Keep a tenth of the budget to find out where the time of a step goes.",
        rich_help_panel=_SEARCH,
    ),
]
Resume = Annotated[
    bool,
    typer.Option("--resume", help="Go on with an interrupted study.", rich_help_panel=_SEARCH),
]
DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Show what would be searched, and why not more; run nothing.",
        rich_help_panel=_SEARCH,
    ),
]
GlobalBatch = Annotated[
    int | None,
    typer.Option(
        min=1,
        help="Hold the examples per step of all replicas together at this.",
        rich_help_panel=_BOUNDS,
    ),
]
MaxGlobalBatch = Annotated[
    int | None,
    typer.Option(min=1, help="Let the examples per step not pass this.", rich_help_panel=_BOUNDS),
]
Strategies = Annotated[
    str | None,
    typer.Option(
        autocompletion=strategy_names,
        metavar="A,B",
        help="{strategy} Comma-separated; default: all of the space.",
        rich_help_panel=_BOUNDS,
    ),
]
Workers = Annotated[
    str | None,
    typer.Option(
        metavar="1,2,4",
        help="{workers} Comma-separated; default: those of the space.",
        rich_help_panel=_BOUNDS,
    ),
]
AllowAsynchronous = Annotated[
    bool,
    typer.Option(
        "--allow-asynchronous",
        help="Let strategies take part whose workers do not wait for each other, which changes "
        "the training.",
        rich_help_panel=_BOUNDS,
    ),
]
ModelArg = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Fixed argument of the model factory; may be repeated.",
        rich_help_panel=_WORKLOAD,
    ),
]
DataArg = Annotated[
    list[str] | None,
    typer.Option(
        metavar="NAME=VALUE",
        help="Fixed argument of the dataset factory; may be repeated.",
        rich_help_panel=_WORKLOAD,
    ),
]
Callbacks = Annotated[
    str | None,
    typer.Option(
        metavar="FACTORY",
        help="Factory of a list of Keras callbacks that take part in every trial.",
        rich_help_panel=_WORKLOAD,
    ),
]
Out = Annotated[
    Path,
    typer.Option(
        metavar="DIR", help="Folder for all files and the study.", rich_help_panel=_OUTPUT
    ),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="Write the configuration here too, as .yaml, .json or .toml.",
        rich_help_panel=_OUTPUT,
    ),
]
ScriptFile = Annotated[
    Path | None,
    typer.Option(
        "--script",
        metavar="FILE",
        help="Write the training program here too.",
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
        help="SQLAlchemy URL of the study's database; default: study.db in the folder.",
        rich_help_panel=_OUTPUT,
    ),
]
TensorBoard = Annotated[
    Path | None,
    typer.Option(
        "--tensorboard",
        metavar="DIR",
        help="Write the trials for TensorBoard too: its HParams and scalars.",
        rich_help_panel=_OUTPUT,
    ),
]
Json = Annotated[
    bool,
    typer.Option(
        "--json", help="Print one JSON document to stdout instead.", rich_help_panel=_OUTPUT
    ),
]
