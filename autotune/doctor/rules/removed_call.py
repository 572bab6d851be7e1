"""Removed TensorFlow API.

Why: It raises AttributeError or ImportError.

Instead: Use the replacement named in the finding.
"""

from autotune.doctor import Kind, mended
from autotune.doctor.rules._examples import MIRRORED
from autotune.doctor.rules._old_calls import Old
from autotune.doctor.target import KERAS_3

_FIT = "Model.fit under a strategy's scope"
_STRATEGIES = "a strategy of tf.distribute"
_PRECISION = "keras.mixed_precision.set_global_policy"
_MIRRORED = "tf.distribute.MirroredStrategy, with the model created in its scope"
_ESTIMATORS = ("tf.estimator.", "tf.compat.v1.estimator.", "keras.estimator.")
_CONTRIB = {
    **dict.fromkeys(("distribute", "nccl", "all_reduce"), "tf.distribute"),
    **dict.fromkeys(("estimator", "learn"), _FIT),
    **dict.fromkeys(("layers", "rnn", "cudnn_rnn", "seq2seq", "legacy_seq2seq"), "keras.layers"),
    **dict.fromkeys(("framework", "eager", "training"), "tf itself"),
    **dict.fromkeys(("opt", "optimizer_v2"), "keras.optimizers"),
    **{name: f"keras.{name}" for name in ("losses", "metrics")},
    **{name: f"tf.{name}" for name in ("data", "image", "lookup", "saved_model", "summary")},
    "keras": "keras",
    "mixed_precision": "keras.mixed_precision",
    "slim": "keras.layers, or the package tf_slim",
    "tpu": "tf.distribute.TPUStrategy",
}

REMOVED = Old(
    names={
        **dict.fromkeys(_ESTIMATORS, _FIT),
        "tf.contrib.": "what TensorFlow 2 has in its place",
        **{f"tf.contrib.{name}.": today for name, today in _CONTRIB.items()},
        "keras.utils.multi_gpu_model": _MIRRORED,
        "keras.mixed_precision.experimental.": "keras.mixed_precision",
        "keras.mixed_precision.experimental.Policy": "keras.mixed_precision.Policy",
        "keras.mixed_precision.experimental.set_policy": _PRECISION,
        "tf.train.Server": "tf.distribute.Server",
        "tf.train.SyncReplicasOptimizer": _STRATEGIES,
        "tf.train.replica_device_setter": "tf.distribute.ParameterServerStrategy",
        "tf.train.MonitoredTrainingSession": "Model.fit, with callbacks",
        "tf.distribute.experimental.MirroredStrategy": "tf.distribute.MirroredStrategy",
    },
    methods={
        (None, "experimental_run_v2"): "strategy.run",
        (None, "experimental_make_numpy_dataset"): (
            "tf.data.Dataset.from_tensor_slices, then strategy.experimental_distribute_dataset"
        ),
        (Kind.MODEL, "fit_generator"): "Model.fit, which takes generators",
        (Kind.MODEL, "evaluate_generator"): "Model.evaluate, which takes generators",
        (Kind.MODEL, "predict_generator"): "Model.predict, which takes generators",
    },
    renamed=("experimental_run_v2",),
    since=dict.fromkeys(_ESTIMATORS, KERAS_3),
    verb="was removed from TensorFlow",
)

_BAD = f"""{MIRRORED}

@tf.function
def train_step(batch):
    return strategy.experimental_run_v2(replica_step, args=(batch,))  # <- here
"""

_BAD_ESTIMATOR = """
import tensorflow as tf

config = tf.estimator.RunConfig()  # <- here
"""
check = REMOVED.check
BAD = (_BAD, _BAD_ESTIMATOR)
GOOD = (
    mended(_BAD, "experimental_run_v2", "run"),
    mended(_BAD_ESTIMATOR, "config =", 'if hasattr(tf, "estimator"):\n    config ='),
)
