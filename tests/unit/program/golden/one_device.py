"""Train the model of toy:model_fn on the examples of toy:dataset_fn.

- one device, 8 examples per step

How to run it:

    python train.py --epochs 5
"""

import argparse
import math
import sys
from collections.abc import Sequence
from pathlib import Path

import keras
import tensorflow as tf


def folder_of(path: str, *modules: str) -> str:
    """Return a folder with modules of yours, by its path from the folder where autotune ran.

    That is taken to be the folder of this file, the one above it, the working folder, or any above.
    """
    me = Path(__file__).resolve()
    for start in (*me.parents[:2], Path.cwd(), *me.parents[2:]):
        files = [start / path / f"{name}.py" for name in modules]
        if all(each != me and (each.is_file() or each.with_suffix("").is_dir()) for each in files):
            return str(start / path)
    raise SystemExit(
        f"Found no {' and '.join(modules)} in {path!r}, from {me.parent}, the folders above it, or "
        "the working folder. Run this program in the folder where autotune ran, or move it there."
    )


sys.path.insert(0, folder_of("programs", "toy"))

from toy import dataset_fn, model_fn

PER_REPLICA_BATCH = 8
STEPS_PER_EXECUTION = 1
EXAMPLES = 64


def make_strategy() -> tf.distribute.Strategy:
    """Return the strategy.

    TensorFlow's default strategy trains on the first GPU, or on the CPU where there is none.
    """
    return tf.distribute.get_strategy()


def make_dataset() -> tf.data.Dataset:
    """Return an infinite dataset of batches."""
    dataset = dataset_fn()
    # Without the remainder, because a batch of another size would be retraced.
    dataset = dataset.repeat().batch(PER_REPLICA_BATCH, drop_remainder=True)
    return dataset.prefetch(tf.data.AUTOTUNE)


def steps_of_an_epoch() -> int:
    """Return how many batches the examples make, the last of them filled up from the next epoch."""
    return math.ceil(EXAMPLES / PER_REPLICA_BATCH)


def parse_arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--epochs", type=int, default=1, help="default: 1")
    parser.add_argument("--steps-per-epoch", type=int, help="default: all examples once")
    parser.add_argument("--seed", type=int, default=0, help="default: 0")
    parser.add_argument("--verbose", type=int, choices=(0, 1, 2), default=2, help="default: 2")
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
    with strategy.scope():
        model = model_fn()
    # Both are set outright, because what Keras does by itself depends on strategy and device.
    model.jit_compile = False
    model.steps_per_execution = STEPS_PER_EXECUTION
    steps = args.steps_per_epoch or steps_of_an_epoch()
    model.fit(
        make_dataset(),
        epochs=args.epochs,
        steps_per_epoch=steps,
        callbacks=list(callbacks),
        verbose=args.verbose,
        shuffle=False,
    )
    if args.save is not None:
        model.save(args.save)


if __name__ == "__main__":
    main()
