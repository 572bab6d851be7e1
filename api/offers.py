"""What may be asked for here: workloads, spaces, and the machine that they run on."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from threading import Lock

from autotune.api.errors import MachineUnknown
from autotune.api.settings import Settings
from autotune.api.workloads import Registered, Registry
from autotune.errors import AutotuneError
from autotune.machine import Machine
from autotune.run.engine import Engine
from autotune.space import Space, ready_made, space_for


class Offers:
    """Knows what may be asked for. Threads may share it.

    Args:
        settings: The operator's.
        registry: The workloads that they register.
    """

    def __init__(self, settings: Settings, registry: Registry) -> None:
        self._settings = settings
        self._registry = registry
        self._machine = settings.machine
        self._failed = False
        self._lock = Lock()

    @property
    def workloads(self) -> Mapping[str, Registered]:
        """The workloads by name."""
        return self._registry.workloads

    @property
    def spaces(self) -> Mapping[str, Space]:
        """The ready-made spaces by name."""
        return ready_made()

    @property
    def devices(self) -> str:
        """The name of what jobs are measured on."""
        return self._settings.devices

    def machine(self) -> Machine:
        """Return what jobs are measured on; the first look takes seconds.

        Raises:
            MachineUnknown: The look failed.
        """
        with self._lock:
            if self._machine is None and not self._failed:
                self._look()
        if self._machine is None:
            raise MachineUnknown("The engine could not look at the machine.", "Tell the operator.")
        return self._machine

    def machine_if_known(self) -> Machine | None:
        """Return what jobs are measured on, or None where it cannot be looked at."""
        try:
            return self.machine()
        except MachineUnknown:
            return None

    def space(self) -> Space:
        """Return the space that `auto` stands for.

        Raises:
            MachineUnknown: The machine could not be looked at.
        """
        return space_for(self.machine())

    def _look(self) -> None:
        module, _, name = self._settings.engine.partition(":")
        try:
            engine: Engine = getattr(import_module(module), name)()
            with engine:
                self._machine = engine.machine()
        except (AutotuneError, ImportError, AttributeError, OSError):
            # Looked at once: it would fail again, and each look takes seconds.
            self._failed = True
