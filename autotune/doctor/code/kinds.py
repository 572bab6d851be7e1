"""The kinds of values that matter here, and the calls that make them."""

import re
from enum import Enum, auto


class Kind(Enum):
    STRATEGY = auto()
    MODEL = auto()
    OPTIMIZER = auto()
    METRIC = auto()
    LOSS = auto()
    """A loss object, not its value."""
    VARIABLE = auto()
    DATASET = auto()
    """As tf.data makes it, or an iterator of it."""
    DISTRIBUTED = auto()
    """A dataset, or an iterator of it, that gives each replica its share."""
    BATCH = auto()
    """What a DATASET holds."""
    SHARE = auto()
    """What a DISTRIBUTED dataset holds: a value for each replica."""
    GENERATOR = auto()
    """Of Keras, whose `flow` methods give batches."""
    LOCK = auto()
    POOL = auto()
    """Runs functions in threads."""


ELEMENTS = {Kind.DATASET: Kind.BATCH, Kind.DISTRIBUTED: Kind.SHARE}
DISTRIBUTING = {
    *("experimental_distribute_dataset", "distribute_datasets_from_function"),
    *("experimental_distribute_datasets_from_function", "make_dataset_iterator"),
}
"""Methods of strategies."""
OF_DATASETS = {
    *("map", "filter", "flat_map", "interleave", "batch", "padded_batch", "unbatch", "rebatch"),
    *("shuffle", "repeat", "take", "skip", "prefetch", "cache", "shard", "with_options", "apply"),
    *("concatenate", "enumerate", "window", "ragged_batch", "snapshot", "as_numpy_iterator"),
}
"""Methods of datasets that return one."""
_BOTH = {"MultiWorkerMirroredStrategy", "ParameterServerStrategy", "TPUStrategy"}
STRATEGIES = {
    *(f"tf.distribute.{name}" for name in _BOTH | {"MirroredStrategy", "OneDeviceStrategy"}),
    *(f"tf.distribute.experimental.{name}" for name in _BOTH | {"CentralStorageStrategy"}),
}
ANY_STRATEGY = {"tf.distribute.Strategy", "tf.distribute.get_strategy"}
ONE_DEVICE = "tf.distribute.OneDeviceStrategy"
MULTI_WORKER = {
    "tf.distribute.MultiWorkerMirroredStrategy",
    "tf.distribute.experimental.MultiWorkerMirroredStrategy",
}

_MAKERS = {
    Kind.STRATEGY: STRATEGIES | ANY_STRATEGY,
    Kind.MODEL: {
        *("keras.Sequential", "keras.Model", "keras.saving.load_model"),
        *(f"keras.models.{name}" for name in ("Sequential", "Model", "Functional")),
        *("keras.models.load_model", "keras.models.clone_model"),
    },
    Kind.OPTIMIZER: {"keras.optimizers.get"},
    Kind.VARIABLE: {"tf.Variable"},
    Kind.DATASET: {
        *("tf.data.Dataset", "tf.data.TFRecordDataset", "tf.data.TextLineDataset"),
        *("tf.data.FixedLengthRecordDataset", "keras.utils.image_dataset_from_directory"),
        *("keras.utils.text_dataset_from_directory", "keras.utils.timeseries_dataset_from_array"),
    },
    Kind.GENERATOR: {
        *("keras.preprocessing.image.ImageDataGenerator",),
        *("keras.legacy.preprocessing.image.ImageDataGenerator",),
    },
    Kind.LOCK: {
        *("threading.Lock", "threading.RLock", "threading.Condition"),
        *("threading.Semaphore", "threading.BoundedSemaphore"),
    },
    Kind.POOL: {
        *("concurrent.futures.ThreadPoolExecutor", "concurrent.futures.thread.ThreadPoolExecutor"),
        *("multiprocessing.pool.ThreadPool", "multiprocessing.dummy.Pool"),
    },
}
_MADE_BY = {name: kind for kind, names in _MAKERS.items() for name in names}
_FAMILIES = (
    (re.compile(r"keras\.optimizers\.(legacy\.)?[A-Z]\w*"), Kind.OPTIMIZER),
    (re.compile(r"keras\.metrics\.[A-Z]\w*"), Kind.METRIC),
    (re.compile(r"keras\.losses\.[A-Z]\w*"), Kind.LOSS),
    (re.compile(r"keras\.applications\.(\w+\.)?[A-Z]\w*"), Kind.MODEL),
    (
        re.compile(
            r"tf\.data\.Dataset\.(from_\w+|range|list_files|zip|random|sample_from_datasets)"
        ),
        Kind.DATASET,
    ),
)
_STRATEGY_NAME = re.compile(
    r"(self\.)?_*((mirrored|dist|distribution|distribute|distributed|tpu|multi_?worker)_?)?strategy"
)
ITERATED = {"enumerate", "tqdm", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "iter"}
"""Calls that hand on the elements of their first argument."""


def made_by(dotted: str) -> Kind | None:
    if dotted in _MADE_BY:
        return _MADE_BY[dotted]
    return next((kind for family, kind in _FAMILIES if family.fullmatch(dotted)), None)


def is_named_strategy(name: str) -> bool:
    """Return whether people call nothing but a tf.distribute.Strategy so."""
    return bool(_STRATEGY_NAME.fullmatch(name.lower()))
