"""Train the model of toy:model_fn on the examples of toy:dataset_fn.

One device, batch 8.
Run: python train.py --epochs 20
"""

import keras
import tensorflow as tf

from keras_training import add_folder, callbacks_of, parse_arguments, run, save

add_folder(__file__, "programs", "toy")

from toy import dataset_fn, model_fn

BATCH_SIZE = 8
STEPS_PER_EXECUTION = 1
EXAMPLES = 64


def make_dataset():
    """Return batches without end."""
    dataset = dataset_fn()
    return dataset.repeat().batch(BATCH_SIZE, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def main(argv=None, callbacks=()):
    args = parse_arguments(argv, __file__, __doc__, epochs=10, steps=EXAMPLES / BATCH_SIZE)
    keras.utils.set_random_seed(args.seed)
    model = model_fn()
    # Set here, because Keras's own choice depends on the strategy and the device.
    model.jit_compile, model.steps_per_execution = False, STEPS_PER_EXECUTION
    model.fit(
        make_dataset(),
        epochs=args.epochs,
        steps_per_epoch=args.steps_per_epoch,
        shuffle=False,
        callbacks=[*callbacks_of(args), *callbacks],
        verbose=args.verbose,
    )
    save(model, args)


if __name__ == "__main__":
    run(main)
