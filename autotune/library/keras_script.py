"""Runs a training script as it is, but has its `fit` done in another way.

autotune writes this file beside a program that imports it. It needs Keras and TensorFlow alone.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import tensorflow as tf

from keras_training import Validation, places_above


@dataclass
class Call:
    """What the script gives to `fit`, with the names and defaults that these have in Keras."""

    model: keras.Model
    x: Any = None
    y: Any = None
    batch_size: int | None = None
    epochs: int = 1
    verbose: Any = "auto"
    callbacks: Any = None
    validation_split: float = 0.0
    validation_data: Any = None
    shuffle: bool = True
    class_weight: dict[int, float] | None = None
    sample_weight: Any = None
    initial_epoch: int = 0
    steps_per_epoch: int | None = None
    validation_steps: int | None = None
    validation_batch_size: int | None = None
    validation_freq: int = 1

    def training_rows(self) -> int:
        """Return how many examples the arrays hold, without those at the end that validate."""
        rows = int(keras.tree.flatten(self.x)[0].shape[0])
        return int(rows * (1 - self.validation_split))

    def training_arrays(self) -> tuple[Any, Any, Any]:
        """Return features, labels and weights that train."""
        return self.arrays(slice(self.training_rows()))

    def arrays(self, rows: slice) -> tuple[Any, Any, Any]:
        """Return some rows of features, labels and weights."""

        def chosen(array: Any) -> Any:
            return None if array is None else getattr(array, "iloc", array)[rows]

        found = keras.tree.map_structure(chosen, (self.x, self.y, self.sample_weight))
        return found[0], found[1], found[2]

    def weighted(self, dataset: tf.data.Dataset) -> tf.data.Dataset:
        """Return batches whose examples count as much as their classes do."""
        if self.class_weight is None:
            return dataset
        return dataset.map(partial(with_class_weights, self.class_weight))

    def all_callbacks(self, *, validates: bool) -> list[keras.callbacks.Callback]:
        """Return the callbacks, behind one that validates if that is asked for."""
        given, data = self.callbacks or [], self.validation_data
        own = list(given) if isinstance(given, (list, tuple)) else [given]
        if not validates or (data is None and not self.validation_split):
            return own
        if data is None:
            data = self.arrays(slice(self.training_rows(), None))
        return [Validation(data, self.evaluate, self.validation_freq), *own]

    def evaluate(self, model: keras.Model, x: Any, y: Any, **options: Any) -> dict[str, Any]:
        """Return the figures of the model on what the script validates with, as `fit` does."""
        size = self.validation_batch_size or self.batch_size
        steps = self.validation_steps
        return model.evaluate(x, y, batch_size=size, steps=steps, verbose=0, **options)


def with_class_weights(weights: dict[int, float], *batch: Any) -> Any:
    """Return a batch whose examples count as much as their classes do."""
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
    table = tf.constant([weights.get(each, 1.0) for each in range(max(weights) + 1)])
    classes = tf.argmax(y, axis=-1) if len(y.shape) > 1 and y.shape[-1] > 1 else y
    found = tf.gather(table, tf.cast(tf.reshape(classes, [-1]), tf.int64))
    return x, y, found if sample_weight is None else found * sample_weight


current_strategy = tf.distribute.get_strategy


class OwnStrategy:
    """Stands in the script for the strategy of the program.

    Wherever the script makes or asks for a strategy, it gets this, with its own number of replicas,
    by which it may reckon its batch size or learning rate.
    """

    replicas = 1
    stands_for = (
        "MirroredStrategy",
        "MultiWorkerMirroredStrategy",
        "OneDeviceStrategy",
        "CentralStorageStrategy",
    )

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Take what the script says of its own, which does not matter."""
        self.num_replicas_in_sync = self.replicas

    def __getattr__(self, name: str) -> Any:
        """Return what the program's strategy has."""
        return getattr(current_strategy(), name)

    @property
    def cluster_resolver(self) -> tf.distribute.cluster_resolver.ClusterResolver:
        """Say which worker this is; one that trains alone has no other cluster than its own."""
        found = current_strategy().cluster_resolver
        return found or tf.distribute.cluster_resolver.TFConfigClusterResolver()

    def experimental_distribute_dataset(self, dataset: Any, options: Any = None) -> Any:
        """Return the dataset, because it is distributed where it is trained on."""
        return dataset

    def distribute_datasets_from_function(self, dataset_fn: Any, options: Any = None) -> Any:
        """Return a dataset of global batches, because it is distributed where it is trained on."""
        return dataset_fn(tf.distribute.InputContext())


def strategy_of_script() -> Any:
    """Return what `tf.distribute.get_strategy` does, but what stands for it to the script."""
    asked_by = sys._getframe(1).f_globals.get("__name__")  # noqa: SLF001 - no other function tells
    return OwnStrategy() if asked_by == "__main__" else current_strategy()


def replace_strategies(replicas: int) -> None:
    """Have the script get the strategy of the program, wherever it makes or asks for one."""
    OwnStrategy.replicas = replicas
    tf.distribute.get_strategy = strategy_of_script
    for place in (tf.distribute, tf.distribute.experimental):
        for name in OwnStrategy.stands_for:
            if hasattr(place, name):
                setattr(place, name, type(name, (OwnStrategy,), {}))


class Script:
    """A script, and the calls of its `fit` that have been reached.

    Args:
        program: The file that runs it.
        path: Of the script, from the folder where autotune ran. That is taken to be the folder of
            the program, the one above it, the working folder, or any above.
        arguments: Of its command line.
        fit: The line that calls the `fit` that was tuned; None takes any.
        of: What that is called on, as the script writes it.
        replicas: As many as a strategy of its own would have, whose place that of the program
            takes; None where it has none.
        read: Makes Python of its text.

    Raises:
        SystemExit: There is no such script, or it was edited, and which `fit` is meant is not
            certain any more.
    """

    Call = Call
    OwnStrategy = OwnStrategy

    def __init__(
        self,
        program: str,
        path: str,
        arguments: Sequence[str] = (),
        *,
        fit: int | None = None,
        of: str | None = None,
        replicas: int | None = None,
        read: Callable[[str], str] = str,
    ) -> None:
        self.path = path
        self.file = _place_of(program, path)
        self.arguments = arguments
        self.calls: list[Any] = []
        self.replicas = replicas
        self._read = read
        self.fit = fit if of is None else self._line_of_fit(fit, of)

    def text(self) -> str:
        """Return it as Python: of a notebook the cells of code."""
        return self._read(self.file.read_text(encoding="utf-8"))

    def fit_calls(self) -> list[Any]:
        """Return the calls of a method `fit` that stand in it."""
        calls = [each for each in ast.walk(ast.parse(self.text())) if isinstance(each, ast.Call)]
        methods = [each for each in calls if isinstance(each.func, ast.Attribute)]
        return [each for each in methods if vars(each.func)["attr"] == "fit"]

    @property
    def call(self) -> Any:
        """The call of `fit` that is under way."""
        return self.calls[-1]

    def lines_of(self, called: Any) -> list[int]:
        """Return the lines of the script that are under way, the innermost first."""
        found = []
        while called is not None:
            if called.f_code.co_filename == str(self.file):
                found.append(called.f_lineno)
            called = called.f_back
        return found

    def run(
        self,
        train: Callable[[Any], None],
        other_fit: Callable[..., Any] = keras.Model.fit,
        **methods: Callable[..., Any],
    ) -> None:
        """Run the script as `python` does, with `train` in place of the `fit` that was tuned.

        Args:
            train: Trains as a call asks for.
            other_fit: Takes the place of every other `fit`.
            methods: Take the place of further methods of `keras.Model`, by name.
        """
        original = keras.Model.fit

        def fit(model: keras.Model, *arguments: Any, **options: Any) -> keras.callbacks.History:
            asked_by = sys._getframe(1)  # noqa: SLF001 - as above
            if self.fit is not None and self.fit not in self.lines_of(asked_by):
                return other_fit(model, *arguments, **options)
            self.calls.append(self.Call(model, *arguments, **options))
            before = model.jit_compile, model.steps_per_execution, model.run_eagerly
            eagerly = tf.config.functions_run_eagerly()
            keras.Model.fit = original
            # Keras keeps what an earlier fit has compiled, for the settings of that one.
            model.train_function = model.test_function = model.predict_function = None
            try:
                train(self.calls[-1])
            finally:
                keras.Model.fit = fit
                model.jit_compile, model.steps_per_execution, model.run_eagerly = before
                if eagerly != tf.config.functions_run_eagerly():
                    tf.config.run_functions_eagerly(eagerly)
                model.train_function = model.test_function = model.predict_function = None
            return model.history

        keras.Model.fit = fit
        for name, method in methods.items():
            setattr(keras.Model, name, method)
        if self.replicas is not None:
            replace_strategies(self.replicas)
        sys.argv = [str(self.file), *self.arguments]
        sys.path.insert(0, str(self.file.parent))
        module = ModuleType("__main__")
        module.__file__ = str(self.file)
        folders = Path(self.path).parts[:-1]
        if folders and all(map(str.isidentifier, folders)):
            # As `python -m` has it, so that the script can import from its own package.
            module.__package__ = ".".join(folders)
            sys.path.append(str(self.file.parents[len(folders)]))
        sys.modules["__main__"] = module
        if self.file.suffix == ".ipynb":
            vars(module)["display"] = print
        try:
            exec(compile(self.text(), str(self.file), "exec"), vars(module))
        finally:
            keras.Model.fit = original

    def _line_of_fit(self, line: int | None, of: str) -> int | None:
        """Return the line of the `fit` that was tuned, also where the script was edited since."""
        if line is None:
            return None
        calls = [each for each in self.fit_calls() if ast.unparse(each.func.value) == of]
        # That of the method's name, which is what is under way while it is called.
        lines = [int(each.func.end_lineno) for each in calls]
        for each, name in zip(calls, lines, strict=True):
            if each.lineno <= line <= each.end_lineno:
                return name
        if len(lines) == 1:
            return lines[0]
        others = f"lines {', '.join(map(str, lines))} do" if lines else "no other line does"
        raise SystemExit(
            f"{self.file.name} was edited since it was tuned: line {line} calls {of}.fit no more, "
            f"and {others}. Tune it again."
        )


def _place_of(program: str, path: str) -> Path:
    me = Path(program).resolve()
    for start in places_above(program):
        found = (start / path).resolve()
        if found != me and found.is_file():
            return found
    raise SystemExit(
        f"Found no {path!r} from {me.parent}, the folders above it, or the working folder. "
        "Run this program in the folder where autotune ran, or move it there."
    )
