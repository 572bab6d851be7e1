"""Deprecated TensorFlow API.

Why: It warns now, or works only in part, and will be removed in a future version.

Instead: Use the replacement named in the finding.
"""

from autotune.doctor import Kind, Severity, mended
from autotune.doctor.rules._examples import MIRRORED
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
    renamed=("experimental_distribute_datasets_from_function", "unwrap"),
    verb="is deprecated",
)

BAD = f"""
from tensorflow.distribute.experimental import TPUStrategy  # <- here
{MIRRORED.replace("distribute.", "distribute.experimental.MultiWorker").strip()}  # <- here
batches = strategy.experimental_distribute_datasets_from_function(make_dataset)  # <- here
"""
SEVERITY = Severity.WARNING
check = DEPRECATED.check
GOOD = mended(mended(BAD, ".experimental", ""), "experimental_", "")
