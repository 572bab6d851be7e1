"""Run whole.py with its fit as it was tuned.

- one device, 8 examples per step

How to run it:

    python train.py
"""

import argparse
import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any

import keras
import numpy as np
import tensorflow as tf


def place_of(path: str) -> Path:
    """Return the script, by its path from the folder where autotune ran.

    That is taken to be the folder of this file, the one above it, the working folder, or any above.
    """
    me = Path(__file__).resolve()
    for start in (*me.parents[:2], Path.cwd(), *me.parents[2:]):
        found = (start / path).resolve()
        if found != me and found.is_file():
            return found
    raise SystemExit(
        f"Found no {path!r} from {me.parent}, the folders above it, or the working folder. "
        "Run this program in the folder where autotune ran, or move it there."
    )


# From the folder where autotune ran.
PATH = "programs/whole.py"
SCRIPT = place_of(PATH)
ARGUMENTS: list[str] = ["--units", "8"]
# The line of the script that calls the `fit` that was tuned.
FIT: int | None = 12

PER_REPLICA_BATCH = 8
STEPS_PER_EXECUTION = 1


def make_strategy() -> tf.distribute.Strategy:
    """Return the strategy.

    TensorFlow's default strategy trains on the first GPU, or on the CPU where there is none.
    """
    return tf.distribute.get_strategy()


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

    def arrays(self, rows: slice) -> tuple[Any, Any, Any]:
        """Return some rows of features, labels and weights."""

        def chosen(array: Any) -> Any:
            return None if array is None else getattr(array, "iloc", array)[rows]

        return keras.tree.map_structure(chosen, (self.x, self.y, self.sample_weight))


# The calls of `fit` that have been reached, the last one is under way.
calls: list[Call] = []


def run_script(
    train: Callable[[Call], None], other_fit: Callable[..., Any] = keras.Model.fit
) -> None:
    """Run the script as `python` does, with `train` in place of the `fit` that was tuned."""
    original = keras.Model.fit

    def fit(model: keras.Model, *arguments: Any, **options: Any) -> keras.callbacks.History:
        if FIT is not None and FIT not in lines_of(sys._getframe(1)):
            return other_fit(model, *arguments, **options)
        calls.append(Call(model, *arguments, **options))
        before = model.jit_compile, model.steps_per_execution, model.run_eagerly
        keras.Model.fit = original
        # Keras keeps what an earlier fit has compiled, which holds for the settings of that one.
        model.train_function = model.test_function = model.predict_function = None
        try:
            train(calls[-1])
        finally:
            keras.Model.fit = fit
            model.jit_compile, model.steps_per_execution, model.run_eagerly = before
            model.train_function = model.test_function = model.predict_function = None
        return model.history

    keras.Model.fit = fit
    sys.argv = [str(SCRIPT), *ARGUMENTS]
    sys.path.insert(0, str(SCRIPT.parent))
    module = ModuleType("__main__")
    module.__file__ = str(SCRIPT)
    folders = Path(PATH).parts[:-1]
    if folders and all(map(str.isidentifier, folders)):
        # As `python -m` has it, so that the script can import from its own package.
        module.__package__ = ".".join(folders)
        sys.path.append(str(SCRIPT.parents[len(folders)]))
    sys.modules["__main__"] = module
    try:
        exec(compile(text_of_script(), str(SCRIPT), "exec"), vars(module))
    finally:
        keras.Model.fit = original


def text_of_script() -> str:
    """Return the script's text."""
    return SCRIPT.read_text(encoding="utf-8")


def lines_of(frame: Any) -> list[int]:
    """Return the lines of the script that are under way, the innermost first."""
    found = []
    while frame is not None:
        if frame.f_code.co_filename == str(SCRIPT):
            found.append(frame.f_lineno)
        frame = frame.f_back
    return found


def dataset_fn(batch_size: int) -> tf.data.Dataset:
    """Return full batches of the examples that the script gives to `fit`."""
    call = calls[-1]
    arrays = call.arrays(slice(call.training_rows()))
    dataset = batches_of(*arrays, batch_size=batch_size, shuffle=call.shuffle)
    if call.class_weight is None:
        return dataset
    return dataset.map(partial(with_class_weights, call.class_weight))


def batches_of(
    x: Any, y: Any = None, sample_weight: Any = None, *, batch_size: int, shuffle: bool = True
) -> tf.data.Dataset:
    """Return full batches of arrays, shuffled anew in every epoch, as `Model.fit` makes them."""
    arrays = keras.utils.pack_x_y_sample_weight(x, y, sample_weight)
    # In the memory of the host, because that is where tf.data reads them.
    with tf.device("CPU"):
        arrays = keras.tree.lists_to_tuples(keras.tree.map_structure(as_tensor, arrays))
    sizes = {int(each.shape[0]) for each in keras.tree.flatten(arrays) if each is not None}
    if len(sizes) != 1:
        raise ValueError(f"All arrays need the same number of examples, not {sorted(sizes)}.")
    (size,) = sizes

    def examples(numbers: tf.Tensor) -> Any:
        return keras.tree.map_structure(
            lambda each: None if each is None else tf.gather(each, numbers), arrays
        )

    # Numbers are shuffled and batched instead of examples, because that costs far less.
    numbers = tf.data.Dataset.range(size)
    if shuffle:
        numbers = numbers.shuffle(max(size, 1))
    batches = numbers.batch(batch_size, drop_remainder=True)
    return batches.map(examples, num_parallel_calls=tf.data.AUTOTUNE)


def as_tensor(values: Any) -> Any:
    """Return an array, a column, a table or a tensor as a tensor, with floats as Keras has them."""
    if values is None:
        return None
    if hasattr(values, "toarray"):  # of SciPy, sparse
        values = values.toarray()
    if hasattr(values, "iloc"):  # of pandas
        column = values.ndim == 1
        values = np.expand_dims(values.to_numpy(), -1) if column else values.to_numpy()
    tensor = values if tf.is_tensor(values) else tf.convert_to_tensor(np.asarray(values))
    floating = tensor.dtype.is_floating and tensor.dtype != keras.config.floatx()
    return tf.cast(tensor, keras.config.floatx()) if floating else tensor


def with_class_weights(weights: dict[int, float], *batch: Any) -> Any:
    """Return a batch whose examples count as much as their classes do."""
    x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(batch)
    table = tf.constant([weights.get(each, 1.0) for each in range(max(weights) + 1)])
    classes = tf.argmax(y, axis=-1) if len(y.shape) > 1 and y.shape[-1] > 1 else y
    found = tf.gather(table, tf.cast(tf.reshape(classes, [-1]), tf.int64))
    return x, y, found if sample_weight is None else found * sample_weight


class Validation(keras.callbacks.Callback):
    """Evaluates the model after each epoch on what the script validates with, as `fit` does."""

    def __init__(self, call: Call) -> None:
        """Take the data from a call."""
        super().__init__()
        self.call = call
        if call.validation_data is None:
            self.data = call.arrays(slice(call.training_rows(), None))
        elif isinstance(call.validation_data, (tuple, list)):
            self.data = keras.utils.unpack_x_y_sample_weight(tuple(call.validation_data))
        else:
            self.data = (call.validation_data, None, None)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Add the results to the epoch's."""
        every = self.call.validation_freq
        if (epoch + 1) % every if isinstance(every, int) else epoch + 1 not in every:
            return
        x, y, sample_weight = self.data
        found = self.model.evaluate(
            x,
            y,
            sample_weight=sample_weight,
            batch_size=self.call.validation_batch_size or self.call.batch_size,
            steps=self.call.validation_steps,
            verbose=0,
            return_dict=True,
        )
        if logs is not None:
            logs.update({f"val_{name}": value for name, value in found.items()})


def callbacks_of(call: Call) -> list[keras.callbacks.Callback]:
    """Return the callbacks of a call, behind one that validates if it asks for that."""
    given = call.callbacks or []
    own = list(given) if isinstance(given, (list, tuple)) else [given]
    validates = call.validation_data is not None or call.validation_split
    return [Validation(call), *own] if validates else own


def make_dataset() -> tf.data.Dataset:
    """Return an infinite dataset of batches."""
    dataset = dataset_fn(batch_size=PER_REPLICA_BATCH)
    dataset = dataset.repeat()
    return dataset.prefetch(tf.data.AUTOTUNE)


def examples_of(call: Call) -> int:
    """Return how many examples an epoch has: a script may call the `fit` that was tuned again."""
    rows = call.training_rows()
    if not call.steps_per_epoch:
        return rows
    # Keras ends an epoch with the data.
    return min(int(call.steps_per_epoch) * int(call.batch_size or 32), rows)


def steps_of_an_epoch() -> int:
    """Return how many batches the examples make, the last of them filled up from the next epoch."""
    return math.ceil(examples_of(calls[-1]) / PER_REPLICA_BATCH)


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, help="default: those of the script")
    parser.add_argument("--steps-per-epoch", type=int, help="default: all examples once")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--verbose", type=int, choices=(0, 1, 2), help="default: as the script")
    parser.add_argument("--save", metavar="FILE.keras", help="where to save the trained model")
    args = parser.parse_args(argv)
    if args.save is not None and not args.save.endswith(".keras"):
        parser.error("--save needs a name that ends in .keras")
    return args


def main(
    argv: Sequence[str] | None = None, callbacks: Sequence[keras.callbacks.Callback] = ()
) -> None:
    """Train the model.

    Args:
        argv: Arguments of the command line; None takes those of the process.
        callbacks: Keras callbacks to be called during the training.
    """
    args = parse_arguments(argv)
    keras.utils.set_random_seed(args.seed)
    strategy = make_strategy()

    def train_by(call: Call) -> None:
        model = call.model
        epochs = call.epochs if args.epochs is None else args.epochs
        asked = 1 if call.verbose == "auto" else int(call.verbose)
        verbose = asked if args.verbose is None else args.verbose
        # Both are set outright, because what Keras does by itself depends on strategy and device.
        model.jit_compile = False
        model.steps_per_execution = STEPS_PER_EXECUTION
        steps = args.steps_per_epoch or steps_of_an_epoch()
        keras.Model.fit(
            model,
            make_dataset(),
            epochs=epochs,
            initial_epoch=call.initial_epoch,
            steps_per_epoch=steps,
            callbacks=[*callbacks_of(call), *callbacks],
            verbose=verbose,
            shuffle=False,
        )
        if args.save is not None:
            model.save(args.save)

    with strategy.scope():
        run_script(train_by)


if __name__ == "__main__":
    main()
