"""`slow_store.py` as two functions, whose workers share the reading: the end of the tutorial.

autotune tune examples/slow_store_shared.py:model_fn examples/slow_store_shared.py:dataset_fn
"""

import keras
import tensorflow as tf
from slow_store import SPEC, examples, network


def model_fn() -> keras.Model:
    """Build and compile the network of the script."""
    return network()


def dataset_fn(input_context: tf.distribute.InputContext | None = None) -> tf.data.Dataset:
    """Return the examples, of each worker only its own share."""
    workers = input_context.num_input_pipelines if input_context else 1
    mine = input_context.input_pipeline_id if input_context else 0
    return tf.data.Dataset.from_generator(examples, output_signature=SPEC, args=(mine, workers))
