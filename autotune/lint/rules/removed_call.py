"""Calls that today's TensorFlow no longer has."""

from __future__ import annotations

from autotune.lint.code import Kind
from autotune.lint.report import Severity
from autotune.lint.rule import Rule
from autotune.lint.rules._old_calls import Old

_FIT = "Model.fit under a strategy's scope"
_STRATEGIES = "a strategy of tf.distribute"
_PRECISION = "keras.mixed_precision.set_global_policy"
_MIRRORED = "tf.distribute.MirroredStrategy, with the model created in its scope"

REMOVED = Old(
    names={
        "tf.estimator.": _FIT,
        "tf.compat.v1.estimator.": _FIT,
        "keras.estimator.": _FIT,
        "tf.contrib.": _STRATEGIES,
        "keras.utils.multi_gpu_model": _MIRRORED,
        "keras.mixed_precision.experimental.": _PRECISION,
        "tf.train.Server": "tf.distribute.Server",
        "tf.train.SyncReplicasOptimizer": _STRATEGIES,
        "tf.train.replica_device_setter": "tf.distribute.ParameterServerStrategy",
        "tf.train.MonitoredTrainingSession": "Model.fit, with callbacks",
        "tf.distribute.experimental.MirroredStrategy": "tf.distribute.MirroredStrategy",
    },
    methods={
        (Kind.STRATEGY, "experimental_run_v2"): "strategy.run",
        (Kind.STRATEGY, "experimental_make_numpy_dataset"): (
            "tf.data.Dataset.from_tensor_slices, then strategy.experimental_distribute_dataset"
        ),
        (Kind.MODEL, "fit_generator"): "Model.fit, which takes generators",
        (Kind.MODEL, "evaluate_generator"): "Model.evaluate, which takes generators",
        (Kind.MODEL, "predict_generator"): "Model.predict, which takes generators",
    },
    verb="was removed from TensorFlow",
)

_NAMES = (
    *("experimental_run_v2", "experimental_make_numpy_dataset", "estimator", "contrib"),
    *("multi_gpu_model", "mixed_precision.experimental", "experimental.mirroredstrategy"),
    *("_generator(", "train.server", "syncreplicas", "replica_device_setter", "monitoredtraining"),
)

_BAD = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()


@tf.function
def train_step(batch):
    return strategy.experimental_run_v2(replica_step, args=(batch,))  # <- here
"""

_BAD_ESTIMATOR = """
import tensorflow as tf

strategy = tf.distribute.MirroredStrategy()
config = tf.estimator.RunConfig(train_distribute=strategy)  # <- here
estimator = tf.estimator.Estimator(model_fn, config=config)  # <- here
"""

_BAD_MULTI_GPU = """
from keras.utils import multi_gpu_model  # <- here

parallel = multi_gpu_model(model, gpus=2)
"""

_GOOD = _BAD.replace("experimental_run_v2", "run").replace("  # <- here", "")

_GOOD_GUARDED = """
import tensorflow as tf

if hasattr(tf, "estimator"):
    config = tf.estimator.RunConfig()
"""

RULE = Rule(
    name="removed-call",
    title="removed TensorFlow API",
    severity=Severity.ERROR,
    why="It raises AttributeError or ImportError.",
    instead="Use the replacement named in the finding.",
    words=(_NAMES,),
    check=REMOVED.check,
    bad=(_BAD, _BAD_ESTIMATOR, _BAD_MULTI_GPU),
    good=(_GOOD, _GOOD_GUARDED),
)
