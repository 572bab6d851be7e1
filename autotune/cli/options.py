"""The options of the commands: those that several share, and those of a search.

Those of `autotune tune` come from a file, the environment and flags: Click merges them, and the
last one counts.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, get_type_hints

import typer

from autotune.cli.console import Command, without_types
from autotune.errors import UsageError

if TYPE_CHECKING:
    from autotune.base import Scalar
    from autotune.options import Declared, SearchOptions
    from autotune.tuning import Tuner
    from autotune.workload import Script

PACKAGE = Path(__file__).parents[1]
_PAIR = re.compile(r"([\w.-]+)=(.*)", re.DOTALL)
# YAML 1.1 takes a number such as 1e-3 for text, because it has no point.
_EXPONENT = re.compile(r"[-+]?\d+(\.\d*)?[eE][-+]?\d+")
PREFIX = "AUTOTUNE"
"""Of the environment variables: `AUTOTUNE_BUDGET=5min`."""
TABLE = "[tool.autotune]"
_FILE = "autotune.settings"
_APART = ("config", "show_settings", "help")


def space_names(incomplete: str) -> list[str]:
    """Return the ready-made spaces, and the YAML files of the folder that is being typed."""
    ready = ["auto", *_stems("search_spaces", ".yaml")]
    return [name for name in (*ready, *_files(incomplete)) if name.startswith(incomplete)]


def strategy_names(incomplete: str) -> list[str]:
    """Return the strategies that can follow in a comma-separated list."""
    before, comma, begun = incomplete.rpartition(",")
    taken = set(before.split(","))
    names = [n for n in _stems("strategies", ".py") if not n.startswith("_")]
    return [f"{before}{comma}{n}" for n in names if n.startswith(begun) and n not in taken]


def _stems(folder: str, suffix: str) -> list[str]:
    return sorted(path.stem for path in (PACKAGE / folder).glob(f"*{suffix}"))


def _files(incomplete: str) -> Iterator[str]:
    folder = "".join(incomplete.rpartition("/")[:2])
    for path in sorted(Path(folder).glob("[!.]*")):
        end = "/" if path.is_dir() else ""
        if end or path.suffix in (".yaml", ".yml"):
            yield f"{folder}{path.name}{end}"


def read_settings(context: typer.Context, file: Path | None) -> Path | None:
    """Make what a settings file says the defaults of a command, before its options are read.

    Without a file it is the project's pyproject.toml, found upward from the working folder.
    """
    from autotune.project import FILE, project_file, read_toml

    path = file or project_file(Path.cwd())
    if path is None or context.resilient_parsing:
        return file
    if path.suffix != ".toml":
        raise UsageError(
            f"--config reads options from a TOML file, which {path} is not.",
            "For example: budget = '5min'. What a search has saved is read by `autotune script`.",
        )
    table = read_toml(path)
    if path.name == FILE:
        table = table.get("tool", {}).get("autotune", {})
        table = {key: value for key, value in table.items() if key != "doctor"}
    context.default_map = dict(_entry(context, path, *each) for each in table.items())
    context.meta[_FILE] = path
    return file


def _entry(context: typer.Context, path: Path, key: str, value: Any) -> tuple[str, Any]:
    from autotune.text import hint

    # Those of `autotune tune`: another command takes what it has of them.
    tune = context.find_root().command.commands["tune"]  # type: ignore[attr-defined] # of a group
    known = {each.name.replace("_", "-"): each for each in _options(context, tune)}
    option = known.get(key.replace("_", "-"))
    if option is None:
        where = f" in {TABLE}" if path.name == "pyproject.toml" else ""
        raise UsageError(f"{path}: unknown key {key!r}{where}.", hint(key, known))
    return option.name, _written(value, several=option.multiple)


def _written(value: Any, *, several: bool) -> Any:
    """Return a value of a TOML file as the command line takes it."""
    if isinstance(value, dict):
        value = [f"{name}={each}" for name, each in value.items()]
    if several:
        return value if isinstance(value, list) else [value]
    return ",".join(map(str, value)) if isinstance(value, list) else value


def _options(context: typer.Context, command: Any) -> Iterator[Any]:
    for each in command.get_params(context):
        if each.param_type_name == "option" and each.name not in _APART:
            yield each


# Each has a variable of the environment, which the help would repeat.
_option = partial(typer.Option, show_envvar=False)
_search = partial(_option, rich_help_panel="Search")
_workload = partial(_option, rich_help_panel="Workload")
_results = partial(_option, rich_help_panel="Results")
_service = partial(_option, rich_help_panel="Service", show_default=False)
_factory = partial(typer.Argument, show_default=False)

Model = Annotated[
    str | None,
    _factory(
        metavar="MODEL",
        help="Function that returns the compiled model: package.module:function or "
        "path/to/file.py:function. Or a training script or notebook: train.py, train.ipynb.",
    ),
]
Dataset = Annotated[
    list[str] | None,
    _factory(
        metavar="DATASET | [-- ARGUMENTS]",
        help="Function that returns a tf.data.Dataset of single examples, not batched or repeated. "
        "Behind a script: its arguments, after --.",
    ),
]
Fit = Annotated[
    str | None,
    _workload(
        metavar="NUMBER|NAME|LINE",
        help="Which fit of a script to tune: the second line that comes to one (2), the one of a "
        "model's name, or the one in 'line 7'; default: the first that it comes to.",
    ),
]
Space = Annotated[
    str,
    _search(
        autocompletion=space_names,
        metavar="NAME|FILE",
        help="Search space: a name from `autotune spaces`, or a YAML file.",
    ),
]
Engine = Annotated[
    str,
    _search(
        metavar="NAME|URL",
        help="What runs the trials: local, ray://HOST:PORT, or an engine of a package.",
    ),
]
Resume = Annotated[bool, _search("--resume", help="Continue an interrupted study.")]
NoWait = Annotated[
    bool,
    _search("--no-wait", help="Fail at once while another search is running, instead of waiting."),
]
WaitForQuiet = Annotated[
    str,
    _search(metavar="DURATION", help="Wait at most so long for other programs to leave the cores."),
]
DryRun = Annotated[
    bool,
    _search("--dry-run", help="Show what would be searched and what is excluded; run no trials."),
]
ModelArg = Annotated[
    list[str] | None,
    _workload(metavar="NAME=VALUE", help="Argument of the model function; repeatable."),
]
DatasetArg = Annotated[
    list[str] | None,
    _workload(metavar="NAME=VALUE", help="Argument of the dataset function; repeatable."),
]
Callbacks = Annotated[
    str | None,
    _workload(
        metavar="FACTORY",
        help="Function that returns a list of Keras callbacks to use in every trial.",
    ),
]
OUT = Path("autotune-out")
Out = Annotated[Path, _results(metavar="DIR", help="Output folder.")]
WriteConfig = Annotated[
    Path | None,
    _results(metavar="FILE", help="Also write config.yaml to this file."),
]
WriteScript = Annotated[
    Path | None,
    _results(metavar="FILE", help="Also write the training program to this file."),
]
ConfigFile = Annotated[
    Path | None,
    _search(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=read_settings,
        help="Read options from this TOML file; default: tool.autotune in pyproject.toml. "
        "Variables such as AUTOTUNE_BUDGET override it, and flags override both.",
    ),
]
ShowSettings = Annotated[
    bool, _search("--show-settings", help="Show each option with its source, and exit.")
]
StudyName = Annotated[
    str | None, _results("--study", metavar="NAME", help="Name of the Optuna study.")
]
Storage = Annotated[
    str | None,
    _results(
        metavar="URL",
        help="SQLAlchemy URL of the Optuna storage; default: study.db in the output folder.",
    ),
]
Json = Annotated[bool, _results("--json", help="Print the result to stdout as JSON.")]
Verbose = Annotated[
    bool,
    _results("--verbose", "-v", help="Print the table, the reasons and what each file is for."),
]
Quiet = Annotated[
    bool,
    _results("--quiet", "-q", help="Print the answer and the files, but no progress."),
]
Saved = Annotated[
    Path,
    typer.Argument(
        metavar="DIR|FILE",
        help="What `autotune tune` or `result.save()` has written, or its config.yaml.",
        callback=lambda path: path / "config.yaml" if path.is_dir() else path,
    ),
]
Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="What `autotune tune` or `result.save()` has written."),
]
SettingsFile = Annotated[
    Path | None,
    typer.Option("--settings", metavar="FILE", help="Settings file (TOML).", show_default=False),
]
Url = Annotated[
    str,
    typer.Option(
        "--url", envvar="AUTOTUNE_URL", help="Address of the service.", show_default=False
    ),
]
KeyFile = Annotated[
    Path | None,
    _service(
        "--key-file",
        metavar="FILE",
        help="File that holds the service's API key; default: the variable AUTOTUNE_API_KEY.",
    ),
]
Need = Annotated[
    list[str] | None,
    _service(
        metavar="NAME=VALUE",
        help="What the worker must have: devices=2, kind=H100, labels=nvlink,fast; repeatable.",
    ),
]
Priority = Annotated[
    int,
    _service(
        metavar="N",
        min=-10,
        max=10,
        show_default=True,
        help="Jobs of higher priority go first; above 0 needs a key with the scope admin.",
    ),
]
JobId = Annotated[str, _factory(metavar="ID", help="Id of the job.")]


@dataclass(frozen=True, kw_only=True)
class Here:
    """What a search on this machine takes, beside the options of any search."""

    fit: Fit = None
    space: Space = "auto"
    no_wait: NoWait = False
    wait_for_quiet: WaitForQuiet = ""
    engine: Engine = "local"
    model_arg: ModelArg = None
    dataset_arg: DatasetArg = None
    callbacks: Callbacks = None
    out: Out = OUT
    config: ConfigFile = None
    study: StudyName = None
    storage: Storage = None
    quiet: Quiet = False

    def tuner(self) -> Tuner:
        from autotune.tuning import Tuner

        return Tuner(
            engine=self.engine,
            storage=self.storage,
            progress=not self.quiet,
            wait=not self.no_wait,
            wait_for_quiet=self.wait_for_quiet,
        )


class Asked(NamedTuple):
    """Options that a command takes without naming each."""

    search: dict[str, Any]
    """Of any search, by name."""
    here: Here | None = None

    @property
    def options(self) -> SearchOptions:
        from autotune.options import options_from

        return options_from(self.search)

    @property
    def called(self) -> Mapping[str, Any]:
        """Arguments of a search on this machine, as `Tuner` takes them."""
        here = self.here or Here()
        return {
            "space": here.space,
            "options": self.options,
            "model_args": pairs(here.model_arg, "--model-arg"),
            "dataset_args": pairs(here.dataset_arg, "--dataset-arg"),
        }

    def values(self) -> Mapping[str, Any]:
        return {**self.search, **({} if self.here is None else vars(self.here))}


class SearchCommand(Command):
    """A command that also takes every option of a search, and finds them in `context.obj`.

    They are read off their declaration when the command is used: importing that takes longer than
    the help of the other commands.
    """

    def get_params(self, ctx: Any) -> list[Any]:
        found = [*super().get_params(ctx), *self._shared()]
        place = [each.name for each in found].index("space") + 1
        return [*found[:place], *_search_options(), *found[place:]]

    def invoke(self, ctx: Any) -> Any:
        def taken(options: Sequence[Any]) -> dict[str, Any]:
            return {each.name: ctx.params.pop(each.name) for each in options}

        here = taken(self._shared())
        ctx.obj = Asked(taken(_search_options()), Here(**here) if here else None)
        return super().invoke(ctx)

    def _shared(self) -> Sequence[Any]:
        return ()


class HereCommand(SearchCommand):
    """A command that searches on this machine."""

    def _shared(self) -> Sequence[Any]:
        return _of_here()


@cache
def _search_options() -> Sequence[Any]:
    from autotune.options import declared

    return _made_of([_parameter(each) for each in declared()])


@cache
def _of_here() -> Sequence[Any]:
    kinds = get_type_hints(Here, include_extras=True)
    keyword = inspect.Parameter.KEYWORD_ONLY
    return _made_of(
        inspect.Parameter(each.name, keyword, default=each.default, annotation=kinds[each.name])
        for each in fields(Here)
    )


def _made_of(parameters: Iterable[inspect.Parameter]) -> Sequence[Any]:
    """Return the options that typer makes of the parameters of a function."""

    def stand_in() -> None: ...

    signature = inspect.Signature([*parameters])
    stand_in.__signature__ = signature  # type: ignore[attr-defined] # PEP 362
    stand_in.__annotations__ = {n: each.annotation for n, each in signature.parameters.items()}
    app = typer.Typer(add_completion=False)
    app.command()(stand_in)
    return tuple(without_types(typer.main.get_command(app).params))


def _parameter(option: Declared) -> inspect.Parameter:
    kind = {"boolean": bool, "integer": int, "number": float}.get(option.kind, str)
    default = option.unset if option.default is None else option.default
    info = typer.Option(
        option.flags,
        min=option.minimum,
        max=option.maximum,
        metavar=option.metavar or {"integer": "N", "number": "X"}.get(option.kind),
        help=help_text(option),
        rich_help_panel=option.group,
        show_envvar=False,
        autocompletion=strategy_names if option.name == "strategies" else None,
    )
    taken: Any = kind if default is not None else kind | None
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(
        option.name, keyword, default=default, annotation=Annotated[taken, info]
    )


def help_text(option: Declared) -> str:
    """Return the description of an option, with other options named as the command line does."""
    from autotune.options import SearchOptions, flag

    known = SearchOptions.model_fields
    spelled = re.compile(r"`(\w+)`")
    return spelled.sub(lambda m: flag(m[1]) if m[1] in known else m[1], option.description)


def pairs(given: Iterable[str] | None, option: str) -> dict[str, Scalar]:
    """Return the values of `name=value` texts, each read as a YAML scalar."""
    found: dict[str, Scalar] = {}
    for each in given or ():
        pair = _PAIR.fullmatch(each)
        if pair is None:
            example = f"For example: {option} name=value."
            raise UsageError(f"{option} {each!r} is not NAME=VALUE.", example)
        if pair[1] in found:
            raise UsageError(f"{option} sets {pair[1]!r} twice.", "Remove one of them.")
        found[pair[1]] = scalar(pair[2], option)
    return found


def subject(model: str, behind: list[str], fit: str | None) -> tuple[str | Script, str | None]:
    """Return the model function and the dataset function, or a script with what stands behind."""
    from autotune.workload import is_script, script_from_text

    if is_script(model):
        _check_meant(model, behind)
        return script_from_text(model, behind, fit), None
    if len(behind) != 1 or fit is not None:
        raise UsageError(
            f"{model} is a folder."
            if Path(model).is_dir()
            else "A model function needs one dataset function, and nothing else.",
            "Use: autotune tune MODEL DATASET, or autotune tune train.py -- ARGUMENTS.",
        )
    return model, behind[0]


def _check_meant(script: str, behind: list[str]) -> None:
    """Refuse a model function that is named by its file alone, before a dataset function."""
    file, _, name = behind[0].partition(":") if len(behind) == 1 else ("", "", "")
    meant = name.isidentifier() or file == script
    if meant and file.endswith(".py") and Path(file).is_file():
        raise UsageError(
            f"{script} is a whole script, and {behind[0]} would be its argument.",
            f"Name the functions: autotune tune {script}:model_fn {file}:{name or 'dataset_fn'}.",
        )


def scalar(text: str, option: str) -> Scalar:
    if _EXPONENT.fullmatch(text):
        return float(text)
    import yaml

    try:
        value = yaml.safe_load(text)
    except yaml.YAMLError:
        return text
    if isinstance(value, list | dict) or (value is None and text):
        raise UsageError(
            f"{option} does not accept {text!r}.", "Use a number, true, false or a string."
        )
    # A date, say, is meant as it is written.
    return value if isinstance(value, bool | int | float | str) else text


def sources(context: typer.Context) -> Iterator[tuple[str, str, str]]:
    values = {**context.params, **context.obj.values()}
    for each in _options(context, context.command):
        known = {
            "COMMANDLINE": "command line",
            "ENVIRONMENT": f"{PREFIX}_{each.name.upper()}",
            "DEFAULT_MAP": str(context.meta.get(_FILE)),
        }
        found = context.get_parameter_source(each.name)
        source = known.get(found.name, "default") if found else "default"
        yield each.opts[0], _shown(values[each.name]), source


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    text = ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)
    return "-" if value is None else text or "-"
