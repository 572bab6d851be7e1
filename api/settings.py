"""The operator's settings: a TOML file, and variables of the environment, which win.

    AUTOTUNE_SERVICE_FILE=service.toml
    AUTOTUNE_SERVICE_DATABASE=postgresql://autotune@db/autotune
    AUTOTUNE_SERVICE_QUOTAS__QUEUED=20

Without any of these it is a service for one machine, with SQLite and the examples of the checkout
that it is started in.
"""

import os
import platform
import secrets
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Self

import psutil
from pydantic import Field, SecretStr, ValidationError, model_validator
from pydantic_settings import (
    BaseSettings,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    SettingsError as SourceError,
    TomlConfigSettingsSource,
)

from autotune.api.identity import TrustedProxy
from autotune.api.isolation import Isolation
from autotune.api.log import LogStyle
from autotune.api.workloads import GROUP, Declared, Registered, Registry, check_bounded, registered
from autotune.base import Value
from autotune.errors import first_mistake
from autotune.machine import Machine
from autotune.versions import load_plugins
from autotune.wire.errors import SettingsError
from autotune.wire.jobs import Labels

PREFIX = "AUTOTUNE_SERVICE_"
FILE = f"{PREFIX}FILE"
DEVICES = "devices"
"""File of the data folder that holds the name of what jobs are measured on."""
PRIVATE = 0o077
"""Mask of the service's files, which no other user may read."""
EXAMPLES = "examples/workloads.toml"
"""Declares the shipped examples, which are registered where they are found."""


class Quotas(Value):
    queued: int = Field(default=10, ge=1)
    device_seconds: float = Field(default=4 * 3600.0, gt=0)
    window_seconds: float = Field(default=24 * 3600.0, gt=0)
    longest_budget: float = Field(default=3600.0, gt=0)
    shortest_budget: float = Field(default=10.0, gt=0)
    code: int = Field(default=2**30, ge=1024)
    """Bytes of archives that a project may keep."""


class Code(Value):
    """Limits of uploaded code; keys need the scope `code` to upload any."""

    bytes: int = Field(default=64 * 2**20, ge=1024)
    """Size of an archive, and of its files, unpacked."""
    files: int = Field(default=10_000, ge=1)
    """Files of an archive."""
    folders: tuple[Path, ...] = ()
    """Folders of data sets, which it may read under the same names."""
    memory: int | None = Field(default=None, gt=0)
    """Bytes of memory; None is nine tenths of the machine's."""
    processes: int = Field(default=2000, ge=64)
    disk: int = Field(default=16 * 2**30, ge=2**20)
    """Bytes that it may write to the disk; to its folder /tmp, in memory, a quarter of `memory`."""

    @property
    def most_memory(self) -> int:
        return self.memory or psutil.virtual_memory().total * 9 // 10


class Patience(Value):
    """Waiting times of a worker, in seconds."""

    lease: float = Field(default=30.0, gt=0)
    """An attempt that was not heard of for so long has lost its job."""
    renewal: float = Field(default=5.0, gt=0)
    poll: float = Field(default=0.3, gt=0)
    """Between checks whether the job was cancelled."""
    idle: float = Field(default=1.0, gt=0)
    """Between queries for a job."""
    interrupt: float = Field(default=30.0, gt=0)
    """After it was asked to end, a search may save what it found, for which it needs ten seconds on
    a busy machine; then it is killed."""
    overrun: float = Field(default=30.0, gt=0)
    """A search that is over its budget by so much is asked to end."""

    @model_validator(mode="after")
    def _renewed_in_time(self) -> Self:
        if self.renewal * 3 > self.lease:
            raise ValueError("renewal must be at most a third of lease")
        return self


Host = Annotated[str, Field(pattern=r"^(\*\.)?[A-Za-z0-9.-]+$|^\[[0-9a-fA-F:.]+\]$")]


class Web(Value):
    hosts: tuple[Host, ...] = ()
    """Names by which it may be called beside this machine's own; `*.example.org` is allowed."""
    body: int = Field(default=64 * 1024, ge=1024)
    """Most bytes of a request's body."""
    heartbeat: float = Field(default=15.0, gt=0)
    """A stream in which nothing happens for so many seconds gets a comment, so that it lives."""
    poll: float = Field(default=0.5, gt=0)
    """Seconds between queries for events of a job that is followed."""
    streams: int = Field(default=500, ge=1)
    """Most event streams at a time."""
    streams_per_key: int = Field(default=50, ge=1)
    """Most of them that one key may have open."""


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", frozen=True, extra="forbid"
    )

    database: SecretStr | None = None
    """Its URL, which may hold a password; None keeps it in the data folder, with SQLite."""
    data: Path = Path("autotune-service")
    """Folder for the jobs' files."""
    root: Path = Path()
    """Folder from which the workloads' files are named."""
    devices: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    """Name of the devices that jobs are measured on, one job at a time. Without it a name is made
    up once and kept in the data folder, as a container has another host's name at each start."""
    labels: Labels = ()
    """Words by which jobs may ask for this host's worker."""
    engine: str = "local"
    """The engine that runs the trials: its name, its URL, or `package.module:callable`."""
    deaths: int = Field(default=10, ge=1)
    """A job whose search or workers died so often fails."""
    isolation: Isolation = Isolation.AUTO
    """Whether searches get a network namespace, in which no other process reaches theirs.
    With an engine that is a URL, or `ray`, which is out of reach from there, `auto` is `off`."""
    retention_days: int | None = Field(default=None, ge=7, le=36_500)
    """Jobs that ended so long ago are removed, with their files; None keeps them. Never
    sooner than idempotency keys are forgotten."""
    quotas: Quotas = Quotas()
    code: Code = Code()
    patience: Patience = Patience()
    web: Web = Web()
    proxy: TrustedProxy | None = None
    """A proxy at which people sign in; None for API keys alone."""
    machine: Machine | None = None
    """The machine that jobs are measured on, if it is not this host; None has it inspected."""
    workloads: dict[str, Declared] = Field(default_factory=dict)
    file: Path | None = None
    """The settings file itself; set by the variable that names it, or on the command line."""
    log: LogStyle = "text"
    """Format of the logs of API and workers: text, or a line of JSON each."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Let the environment win over the file."""
        del dotenv_settings, file_secret_settings
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    @property
    def network(self) -> Isolation:
        """The isolation of a search's network, as far as the engine allows it."""
        elsewhere = "://" in self.engine or self.engine == "ray"
        return Isolation.OFF if elsewhere and self.isolation is Isolation.AUTO else self.isolation

    @property
    def jobs(self) -> Path:
        """Folder with one of each job, within the data folder."""
        return self.data / "jobs"

    @property
    def database_url(self) -> str:
        if self.database is not None:
            return self.database.get_secret_value()
        return f"sqlite:///{(self.data / 'service.db').absolute()}"

    def named_devices(self) -> str:
        """Return the name of what jobs are measured on; the data folder must be there."""
        if self.devices is not None:
            return self.devices
        kept = self.data / DEVICES
        # Whole at once: another process may read it at this moment.
        own = self.data / f"{DEVICES}.{secrets.token_hex(4)}"
        own.write_text(f"{platform.node()}-{secrets.token_hex(3)}", "utf-8")
        with suppress(FileExistsError):
            kept.hardlink_to(own)
        own.unlink()
        return kept.read_text("utf-8")

    def registry(self) -> Registry:
        declared, examples = self.workloads, self.root / EXAMPLES
        if examples.is_file():
            shipped = tomllib.loads(examples.read_text("utf-8"))
            known = {name: Declared.model_validate(each) for name, each in shipped.items()}
            declared = {**known, **declared}
        with _registering("An installed package's workload"):
            found = load_plugins(GROUP, Registered)
        for name, each in declared.items():
            with _registering(f"The workload {name!r}"):
                found[name] = registered(each)
        for name, workload in found.items():
            check_bounded(name, workload)
        return Registry(found)


def load_settings(file: Path | None = None, **given: Any) -> Settings:
    named = os.environ.get(FILE)
    path = file or (Path(named) if named else None)
    if path is not None and not path.is_file():
        raise SettingsError(f"Settings file {path} not found.", "Check the path.")

    class FromFile(Settings):
        model_config = SettingsConfigDict(toml_file=path)

    try:
        return FromFile(**given, file=path)
    except ValidationError as exc:
        raise SettingsError(f"Setting {first_mistake(exc)}.", "Mend it.") from exc
    except (SourceError, ValueError) as exc:
        raise SettingsError(f"The settings cannot be read: {exc}.", "Mend them.") from exc


@contextmanager
def _registering(what: str) -> Iterator[None]:
    try:
        yield
    except SettingsError:
        raise
    except Exception as exc:
        # Importing a package may raise anything, and so may pydantic for a field that cannot be.
        raise SettingsError(f"{what} cannot be registered: {exc}", "Mend it.") from exc
