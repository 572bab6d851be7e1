"""The kinds of values that matter here, and the calls that make them."""

from __future__ import annotations

import re
from enum import Enum, auto


class Kind(Enum):
    """What a value is."""

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
    LOCK = auto()
    POOL = auto()
    """Runs functions in threads."""


STRATEGIES = {
    "tf.distribute.MirroredStrategy",
    "tf.distribute.MultiWorkerMirroredStrategy",
    "tf.distribute.OneDeviceStrategy",
    "tf.distribute.ParameterServerStrategy",
    "tf.distribute.TPUStrategy",
    "tf.distribute.experimental.CentralStorageStrategy",
    "tf.distribute.experimental.MultiWorkerMirroredStrategy",
    "tf.distribute.experimental.ParameterServerStrategy",
    "tf.distribute.experimental.TPUStrategy",
}
ANY_STRATEGY = {"tf.distribute.Strategy", "tf.distribute.get_strategy"}
ONE_DEVICE = "tf.distribute.OneDeviceStrategy"
MULTI_WORKER = {
    "tf.distribute.MultiWorkerMirroredStrategy",
    "tf.distribute.experimental.MultiWorkerMirroredStrategy",
}

_MADE_BY = {
    **dict.fromkeys(STRATEGIES | ANY_STRATEGY, Kind.STRATEGY),
    "keras.Sequential": Kind.MODEL,
    "keras.Model": Kind.MODEL,
    "keras.models.Sequential": Kind.MODEL,
    "keras.models.Model": Kind.MODEL,
    "keras.models.Functional": Kind.MODEL,
    "keras.models.load_model": Kind.MODEL,
    "keras.models.clone_model": Kind.MODEL,
    "keras.saving.load_model": Kind.MODEL,
    "keras.optimizers.get": Kind.OPTIMIZER,
    "tf.Variable": Kind.VARIABLE,
    "tf.data.Dataset": Kind.DATASET,
    "tf.data.TFRecordDataset": Kind.DATASET,
    "tf.data.TextLineDataset": Kind.DATASET,
    "tf.data.FixedLengthRecordDataset": Kind.DATASET,
    "keras.utils.image_dataset_from_directory": Kind.DATASET,
    "keras.utils.text_dataset_from_directory": Kind.DATASET,
    "keras.utils.timeseries_dataset_from_array": Kind.DATASET,
    "threading.Lock": Kind.LOCK,
    "threading.RLock": Kind.LOCK,
    "threading.Condition": Kind.LOCK,
    "threading.Semaphore": Kind.LOCK,
    "threading.BoundedSemaphore": Kind.LOCK,
    "concurrent.futures.ThreadPoolExecutor": Kind.POOL,
    "concurrent.futures.thread.ThreadPoolExecutor": Kind.POOL,
    "multiprocessing.pool.ThreadPool": Kind.POOL,
    "multiprocessing.dummy.Pool": Kind.POOL,
}
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
    """Return what a call of that name returns."""
    if dotted in _MADE_BY:
        return _MADE_BY[dotted]
    return next((kind for family, kind in _FAMILIES if family.fullmatch(dotted)), None)


def is_named_strategy(name: str) -> bool:
    """Return whether people call nothing but a tf.distribute.Strategy so."""
    return bool(_STRATEGY_NAME.fullmatch(name.lower()))
