"""A package that adds an engine, for tests of engines that are found by name."""

from pathlib import Path

MODULE = """
from tests.engines.fake import FakeEngine

class Fleet(FakeEngine):
    def __init__(self, url="none"):
        super().__init__(lambda configuration: 100.0 * configuration.global_batch**0.5)
        self.url = url

    def machine(self):
        found = super().machine()
        return found.model_copy(update={"tensorflow": f"at {self.url}"})
"""


def fleet_package(tmp_path: Path) -> Path:
    """Return a folder in which a distribution declares the engine `fleet`."""
    folder = tmp_path / "site"
    info = folder / "fleet-1.0.dist-info"
    info.mkdir(parents=True)
    (folder / "fleet_of_a_test.py").write_text(MODULE)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fleet\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[autotune.engines]\nfleet = fleet_of_a_test:Fleet\n")
    return folder
