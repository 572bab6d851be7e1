"""The kinds of values that matter here, and the calls that make them."""

import re
from enum import Enum, auto
from functools import cache


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
    """An element of a DATASET."""
    SHARE = auto()
    """A value for each replica: from a DISTRIBUTED dataset, or returned by `strategy.run`."""
    GENERATOR = auto()
    """Of Keras, whose `flow` methods give batches."""
    LOCK = auto()
    POOL = auto()
    """Runs functions in threads."""


ELEMENTS = {Kind.DATASET: Kind.BATCH, Kind.DISTRIBUTED: Kind.SHARE, Kind.SHARE: Kind.SHARE}
RUNS = ("run", "experimental_run_v2")
"""TensorFlow no longer has the second one, which did the same."""
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
ANY_STRATEGY = {"tf.distribute.Strategy", "tf.distribute.get_strategy"}
ONE_DEVICE = "tf.distribute.OneDeviceStrategy"
_PLACES = ("tf.distribute", "tf.distribute.experimental")
MULTI_WORKER = {f"{place}.MultiWorkerMirroredStrategy" for place in _PLACES}
SERVERS = {f"{place}.ParameterServerStrategy" for place in _PLACES}

_MAKERS = {
    Kind.STRATEGY: r"tf\.distribute\.((experimental\.)?\w*Strategy|get_strategy)",
    Kind.MODEL: (
        r"keras\.(models\.)?(Sequential|Model)|keras\.models\.(Functional|clone_model)"
        r"|keras\.(models|saving)\.load_model|keras\.applications\.(\w+\.)?[A-Z]\w*"
    ),
    Kind.OPTIMIZER: r"keras\.optimizers\.(get|(legacy\.)?[A-Z]\w*)",
    Kind.METRIC: r"keras\.metrics\.[A-Z]\w*",
    Kind.LOSS: r"keras\.losses\.[A-Z]\w*",
    Kind.VARIABLE: r"tf\.Variable",
    Kind.DATASET: (
        r"tf\.data\.(TFRecord|TextLine|FixedLengthRecord)?Dataset"
        r"|tf\.data\.Dataset\.(from_\w+|range|list_files|zip|random|sample_from_datasets)"
        r"|keras\.utils\.(image|text)_dataset_from_directory"
        r"|keras\.utils\.timeseries_dataset_from_array"
    ),
    Kind.GENERATOR: r"keras\.(legacy\.)?preprocessing\.image\.ImageDataGenerator",
    Kind.LOCK: r"threading\.(R?Lock|Condition|(Bounded)?Semaphore)",
    Kind.POOL: (
        r"concurrent\.futures\.(thread\.)?ThreadPoolExecutor"
        r"|multiprocessing\.(pool\.ThreadPool|dummy\.Pool)"
    ),
}
STRATEGY_NAME = re.compile(
    r"_*((mirrored|dist|distribution|distribute|distributed|tpu|multi_?worker)_?)?strategy"
)
"""Names of nothing but a tf.distribute.Strategy, in lower case."""
ITERATED = {"enumerate", "tqdm", "tqdm.tqdm", "tqdm.auto.tqdm", "tqdm.notebook.tqdm", "iter"}
"""Calls that hand on the elements of their first argument."""


@cache
def made_by(dotted: str) -> Kind | None:
    """Return the kind of value that a call of that name returns."""
    return next((kind for kind, names in _MAKERS.items() if re.fullmatch(names, dotted)), None)
