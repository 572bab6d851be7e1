"""The strategies: one per file of this folder, and those of entry points of other packages."""

from functools import cache
from importlib import import_module
from pkgutil import iter_modules

from autotune.config import Configuration, equal_parts
from autotune.errors import ConfigurationError
from autotune.strategies._base import (
    Role as Role,
    Setup as Setup,
    Strategy as Strategy,
    Training as Training,
    tf_config as tf_config,
)
from autotune.text import hint
from autotune.versions import load_plugins

GROUP = "autotune.strategies"
"""Of the entry points; each names an instance of `Strategy`."""


@cache
def strategies() -> dict[str, Strategy]:
    files = [each.name for each in iter_modules(__path__) if not each.name.startswith("_")]
    own = {name: import_module(f"{__name__}.{name}").STRATEGY for name in files}
    return dict(sorted({**load_plugins(GROUP, Strategy), **own}.items()))


def strategy(name: str) -> Strategy:
    known = strategies()
    if name in known:
        return known[name]
    raise ConfigurationError(f"Unknown strategy {name!r}.", hint(name, known))


def title(configuration: Configuration) -> str:
    name = strategy(configuration.strategy).title
    if not configuration.distributed:
        return name
    if configuration.workers > 1:
        return f"{name} with {configuration.workers} workers"
    return f"{name} with {configuration.replicas} replicas"


def update_batch(configuration: Configuration) -> int:
    """Return the examples behind one update: of all replicas, unless they wait for nobody."""
    alone = strategy(configuration.strategy).asynchronous
    return configuration.per_replica_batch if alone else configuration.global_batch


def weighed_batch(configuration: Configuration, own: int) -> int:
    """Return as which batch an update counts: as the own, where it is the nearest to that."""
    batch, each = update_batch(configuration), configuration.per_replica_batch
    return own if each == equal_parts(own, batch // each) else batch


def is_nearest(configuration: Configuration, own: int) -> bool:
    """Whether its batch stands for the own one, which its replicas do not divide."""
    return weighed_batch(configuration, own) == own != update_batch(configuration)


def in_short(configuration: Configuration) -> str:
    """Return a configuration in a line: `Mirrored x2, batch 2x64, 8 steps/call`."""
    return f"{distribution(configuration)}, {configuration.in_short()}"


def distribution(configuration: Configuration) -> str:
    """Return how a configuration is distributed: `one device`, `Mirrored x2`."""
    name = strategy(configuration.strategy).title.removesuffix("Strategy")
    counts = [n for n in (configuration.workers, configuration.replicas_per_worker) if n > 1]
    return " ".join([name, *(f"x{count}" for count in counts)])
