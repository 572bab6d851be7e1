"""Calls that today's TensorFlow still has, but not for long."""

from __future__ import annotations

from autotune.doctor.code import Kind
from autotune.doctor.report import Severity
from autotune.doctor.rule import Rule
from autotune.doctor.rules._old_calls import Old

_DISTRIBUTE = "tf.distribute.experimental."

DEPRECATED = Old(
    names={
        f"{_DISTRIBUTE}MultiWorkerMirroredStrategy": "tf.distribute.MultiWorkerMirroredStrategy",
        f"{_DISTRIBUTE}TPUStrategy": "tf.distribute.TPUStrategy",
        f"{_DISTRIBUTE}CollectiveCommunication": f"{_DISTRIBUTE}CommunicationImplementation",
        f"{_DISTRIBUTE}CollectiveHints": f"{_DISTRIBUTE}CommunicationOptions",
    },
    methods={
        (None, "experimental_distribute_datasets_from_function"): (
            "strategy.distribute_datasets_from_function"
        ),
        (Kind.STRATEGY, "make_dataset_iterator"): "strategy.experimental_distribute_dataset",
        (Kind.STRATEGY, "make_input_fn_iterator"): "strategy.distribute_datasets_from_function",
        (Kind.STRATEGY, "experimental_run"): "strategy.run",
        (Kind.STRATEGY, "unwrap"): "strategy.experimental_local_results",
        (Kind.STRATEGY, "configure"): "nothing, because TF_CONFIG defines it",
    },
    renamed={
        "experimental_distribute_datasets_from_function": "distribute_datasets_from_function",
        "unwrap": "experimental_local_results",
    },
    verb="is deprecated",
)

_NAMES = (
    *("experimental", "make_dataset_iterator", "make_input_fn_iterator"),
    *(".unwrap(", ".configure("),
)

_BAD = """
import tensorflow as tf

strategy = tf.distribute.experimental.MultiWorkerMirroredStrategy()  # <- here
batches = strategy.experimental_distribute_datasets_from_function(make_dataset)  # <- here
"""

_BAD_IMPORT = """
from tensorflow.distribute.experimental import TPUStrategy  # <- here

strategy = TPUStrategy(resolver)
"""

_GOOD = """
import tensorflow as tf

strategy = tf.distribute.MultiWorkerMirroredStrategy()
batches = strategy.distribute_datasets_from_function(make_dataset)
"""

RULE = Rule(
    name="deprecated-call",
    title="deprecated TensorFlow API",
    severity=Severity.WARNING,
    why="It warns now, or works only in part, and will be removed in a future version.",
    instead="Use the replacement named in the finding.",
    words=(("strategy", "collective"), _NAMES),
    check=DEPRECATED.check,
    bad=(_BAD, _BAD_IMPORT),
    good=(_GOOD,),
)
