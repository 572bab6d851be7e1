"""Run your script whole.py with its fit as it was tuned.

One device, batch 8.
Run: python train.py
"""

import math

import keras
import tensorflow as tf

from keras_input import batches_of
from keras_script import Script
from keras_training import callbacks_of, parse_arguments, run, save

script = Script(__file__, "programs/whole.py", ["--units", "8"], fit=12)

BATCH_SIZE = 8
STEPS_PER_EXECUTION = 1


def dataset_fn(batch_size):
    """Return full batches of the examples that the script gives to `fit`."""
    call = script.call
    dataset = batches_of(*call.training_arrays(), batch_size=batch_size, shuffle=call.shuffle)
    return call.weighted(dataset)


def make_dataset():
    """Return batches without end."""
    dataset = dataset_fn(batch_size=BATCH_SIZE)
    return dataset.repeat().prefetch(tf.data.AUTOTUNE)


def examples_of(call):
    """Return how many examples an epoch has: a script may call the `fit` that was tuned again."""
    rows = call.training_rows()
    if not call.steps_per_epoch:
        return rows
    # Keras ends an epoch with the data.
    return min(int(call.steps_per_epoch) * int(call.batch_size or 32), rows)


def main(argv=None, callbacks=()):
    args = parse_arguments(argv, __file__, __doc__, verbose=None)
    keras.utils.set_random_seed(args.seed)

    def train_by(call):
        model = call.model
        epochs = call.epochs if args.epochs is None else args.epochs
        asked = 1 if call.verbose == "auto" else int(call.verbose)
        verbose = asked if args.verbose is None else args.verbose
        # Set here, because Keras's own choice depends on the strategy and the device.
        model.jit_compile, model.steps_per_execution = False, STEPS_PER_EXECUTION
        steps = args.steps_per_epoch or math.ceil(examples_of(call) / BATCH_SIZE)
        keras.Model.fit(
            model,
            make_dataset(),
            epochs=epochs,
            initial_epoch=call.initial_epoch,
            steps_per_epoch=steps,
            shuffle=False,
            callbacks=[
                *call.all_callbacks(validates=args.validation),
                *callbacks_of(args, turn=len(script.calls)),
                *callbacks,
            ],
            verbose=verbose,
        )
        save(model, args)

    script.run(train_by)
    if not script.calls:
        raise SystemExit("The script has come to no fit that was tuned.")


if __name__ == "__main__":
    run(main)
