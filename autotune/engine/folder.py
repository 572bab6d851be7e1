"""The files of one trial: the one place that builds their names."""

from __future__ import annotations

from pathlib import Path

SCRATCH = "autotune-work-"
"""How the names of the folders begin in which a script that is timed works."""


class TrialFolder:
    """Names of the files through which the tuner and the processes of a trial talk."""

    def __init__(self, path: str | Path) -> None:
        # Absolute, because the processes that share it may each change their working folder.
        self.path = Path(path).absolute()

    def create(self) -> TrialFolder:
        """Make the folder, which must not hold another trial."""
        self.path.mkdir(parents=True)
        return self

    @property
    def script(self) -> Path:
        """The training program."""
        return self.path / "train.py"

    @property
    def request(self) -> Path:
        """What the processes are to do, as JSON."""
        return self.path / "request.json"

    def answers(self, index: int) -> Path:
        """What one process found, as JSON."""
        return self.path / f"answer-{index}.json"

    def kept(self, index: int) -> Path:
        """The batches that one process trained on, for a reference."""
        return self.path / f"kept-{index}.pickle"

    @property
    def first_weights(self) -> Path:
        """The weights before the first step, for a reference."""
        return self.path / "first-weights.pickle"

    @property
    def reference(self) -> Path:
        """The folder of the run whose batches and first weights this one takes."""
        return self.path / "reference"

    def pickled(self, name: str) -> Path:
        """The function that is shipped by value under a global name of the program."""
        return self.path / f"{name}.pickle"

    def events(self, index: int) -> Path:
        """What one process reports, a line of JSON each."""
        return self.path / f"events-{index}.jsonl"

    def output(self, index: int) -> Path:
        """What one process printed."""
        return self.path / f"output-{index}.txt"

    def given(self) -> dict[str, Path]:
        """Return the files that processes read, by their path in this folder."""
        own = [self.script, self.request, *self.path.glob("*.pickle")]
        taken = self.reference.glob("*.pickle")
        return {str(each.relative_to(self.path)): each for each in (*own, *taken) if each.exists()}

    def forget_run(self) -> None:
        """Remove what processes have left here, so that others may start in their place."""
        for pattern in ("events-*.jsonl", "output-*.txt", "answer-*.json"):
            for file in self.path.glob(pattern):
                file.unlink()
