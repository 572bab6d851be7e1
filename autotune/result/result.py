"""The result of a search: its values with their sentences, as files and as a page."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from pydantic import ValidationError, computed_field

from autotune.disk import put_texts
from autotune.errors import ConfigurationError, UsageError, first_mistake
from autotune.result.explanations import explanations
from autotune.result.files import REPORT, TRIALS, texts
from autotune.result.headline import summary
from autotune.result.stored import PICKLES, RESULT, ResultData, parsed

WINDOWS = {"trials": {"__all__": {"windows"}}}
"""What JSON for people leaves out; trials.jsonl holds it."""
WRITTEN = "Name a folder that `autotune tune` or `result.save()` has written, or search again."


class Result(ResultData):
    """The result of a search: the configuration to train with, why, and the program for it."""

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def summary(self) -> str:
        """The answer in sentences: the time of the training first, then the verdict."""
        return summary(self)

    @computed_field  # type: ignore[prop-decorator] # mypy knows no decorated property
    @property
    def reasons(self) -> tuple[str, ...]:
        """Why, one sentence each, the most important first."""
        return tuple(explanations(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the result as JSON-serializable data, the same as `autotune tune --json`."""
        dumped: dict[str, Any] = json.loads(self.model_dump_json(exclude={**PICKLES, **WINDOWS}))
        return dumped

    def save(self, folder: str | Path) -> Path:
        """Write the configuration, program, trials and report to a folder.

        Whatever trains lies there too: `train.py` with the modules that it imports, what starts
        its workers, and of a script `train.patch`.

        Args:
            folder: Created if missing; existing files of these names are overwritten.

        Returns:
            The folder.

        Raises:
            OutputError: The folder or a file is not writable.
        """
        folder = Path(folder)
        put_texts(folder, self.texts())
        return folder

    def texts(self) -> Mapping[str, str | None]:
        """Return what the files of `save` hold, by name, the smallest first; None for no file."""
        return {**texts(self), REPORT: self.report()}

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a result back: all but factories that were passed as functions.

        Args:
            path: A folder that `autotune tune` or `result.save()` has written, or its result.json.

        Raises:
            ConfigurationError: It is not there, cannot be read, or is damaged.
        """
        folder = Path(path).parent if Path(path).name == RESULT else Path(path)
        kept = parsed(folder / RESULT, json.loads, WRITTEN)
        # Not `splitlines`: what a trial printed may hold other characters that end a line.
        trials = parsed(
            folder / TRIALS,
            lambda text: [*map(json.loads, filter(None, text.split("\n")))],
            WRITTEN,
        )
        fields = kept if isinstance(kept, dict) else {}
        try:
            # An earlier version may have kept more.
            return cls.model_validate_json(json.dumps({**fields, "trials": trials}), extra="ignore")
        except ValidationError as exc:
            raise ConfigurationError(
                f"{folder / RESULT} is no saved result: {first_mistake(exc)}.",
                "Read it with the version of autotune that wrote it, or search again.",
            ) from exc

    def report(self) -> str:
        """Return the report, a self-contained HTML page."""
        # The faces need jinja2 and rich, which a search does not.
        from autotune.result.html import page  # noqa: PLC0415

        return page(self)

    def strategy(self) -> Any:
        """Return the recommended `tf.distribute` strategy, to train in this process.

            with result.strategy().scope():
                model = model_fn()

        Raises:
            UsageError: It needs several processes, or TensorFlow has begun to use its devices.
        """
        from autotune.result.training import strategy_of  # noqa: PLC0415 - as above

        return strategy_of(self)

    def fit(self, *, epochs: int | None = None, save: str | Path | None = None) -> None:
        """Train as recommended, by the program of the result in processes of its own.

        What it prints appears as it comes. Functions of a notebook train with the values that they
        had when they were tuned, also where a saved program lacks these.

        Args:
            epochs: Number of epochs; None takes that of the program.
            save: File that the trained model is saved to, for example `model.keras`.

        Raises:
            UsageError: `epochs` is below one, or the result was read from a file, and its program
                needs values that could not be written down.
            AutotuneError: The training failed.
        """
        from autotune.result.training import train  # noqa: PLC0415 - as above

        if epochs is not None and epochs < 1:
            raise UsageError(f"epochs={epochs} is no training.", "Take one or more.")
        asked = {"--epochs": epochs, "--save": save}
        words = [(flag, str(value)) for flag, value in asked.items() if value is not None]
        train(self, [each for pair in words for each in pair])

    def __str__(self) -> str:
        """Return the answer as the command prints it."""
        from autotune.result.terminal import brief  # noqa: PLC0415 - as above

        return brief(self)

    __repr__ = __str__  # A notebook keeps it beside the HTML; all fields would be megabytes.

    def _repr_html_(self) -> str:
        """Return the answers, the plot, the programs and the report for a notebook's cell."""
        from autotune.result.html import cell  # noqa: PLC0415 - as above

        return cell(self)
