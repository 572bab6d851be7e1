"""Calls of old answers and tutorials, and what is written today; seen with TensorFlow 2.21."""

import ast
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from autotune.doctor import Hits, Kind, Module, rule
from autotune.doctor.code.names import same
from autotune.doctor.edits import Edit, renamed_attribute, without_attribute
from autotune.doctor.rules._guards import is_guarded
from autotune.doctor.target import KERAS_3, Version

_CLUSTER = {"cluster_resolver", "tpu_cluster_resolver"}
_FIT = "Model.fit under a strategy's scope"
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
_DISTRIBUTE = "tf.distribute.experimental."
_PRECISION = "keras.mixed_precision."


@dataclass(frozen=True, kw_only=True)
class Old:
    """Names that are old in one way."""

    names: Mapping[str, str]
    """Dotted names, each with what to write today; with a point at the end, for all inside."""
    methods: Mapping[tuple[Kind | None, str], str]
    """Methods, each with what to write today; of None, whoever has them."""
    verb: str
    """What has become of them."""
    renamed: Collection[str] = ()
    """The methods that only have another name today."""
    since: Mapping[str, Version] = field(default_factory=dict)
    """The TensorFlow that first lacks a name, for those that were there for long."""

    def check(self, module: Module) -> Hits:
        for node, dotted in (*_imported(module), *self._mentioned(module).items()):
            fits = [it for it in self.names if _is_of(dotted, it)]
            name = max(fits, key=len, default="")
            is_gone = name and module.target >= self.since.get(name, module.target)
            if is_gone and not is_guarded(module, node):
                sentence = f"{dotted} {self.verb}; use {self.names[name]}."
                yield node, sentence, _promotion(module, node, self.names[name])
        for (kind, name), today in self.methods.items():
            for node in module.attributes[name]:
                call = module.parents[node]
                called = isinstance(call, ast.Call) and call.func is node
                old = called and kind in {None, module.kind(node.value)}
                if old and not is_guarded(module, node):
                    sentence = f"{ast.unparse(node.value)}.{name} {self.verb}; use {today}."
                    renamed = renamed_attribute(node, today.rpartition(".")[2])
                    yield call, sentence, renamed if name in self.renamed else None

    def _mentioned(self, module: Module) -> dict[ast.Attribute, str]:
        found = {}
        for name in self.names:
            for node in module.attributes[name.rstrip(".").rpartition(".")[2]]:
                if module.dotted(node) == name.rstrip("."):
                    whole = _whole(module, node) if name.endswith(".") else node
                    found[whole] = module.dotted(whole)
        return found


REMOVED = Old(
    names={
        **dict.fromkeys(_ESTIMATORS, _FIT),
        "tf.contrib.": "what TensorFlow 2 has in its place",
        **{f"tf.contrib.{name}.": today for name, today in _CONTRIB.items()},
        "keras.utils.multi_gpu_model": (
            "tf.distribute.MirroredStrategy, with the model created in its scope"
        ),
        f"{_PRECISION}experimental.": "keras.mixed_precision",
        f"{_PRECISION}experimental.Policy": f"{_PRECISION}Policy",
        f"{_PRECISION}experimental.set_policy": f"{_PRECISION}set_global_policy",
        "tf.train.Server": "tf.distribute.Server",
        "tf.train.SyncReplicasOptimizer": "a strategy of tf.distribute",
        "tf.train.replica_device_setter": "tf.distribute.ParameterServerStrategy",
        "tf.train.MonitoredTrainingSession": "Model.fit, with callbacks",
        f"{_DISTRIBUTE}MirroredStrategy": "tf.distribute.MirroredStrategy",
    },
    methods={
        (None, "experimental_run_v2"): "strategy.run",
        (None, "experimental_make_numpy_dataset"): (
            "tf.data.Dataset.from_tensor_slices, then strategy.experimental_distribute_dataset"
        ),
        **{
            (Kind.MODEL, f"{name}_generator"): f"Model.{name}, which takes generators"
            for name in ("fit", "evaluate", "predict")
        },
    },
    renamed=("experimental_run_v2",),
    since=dict.fromkeys(_ESTIMATORS, KERAS_3),
    verb="was removed from TensorFlow",
)
DEPRECATED = Old(
    names={
        **{
            f"{_DISTRIBUTE}{name}": f"tf.distribute.{name}"
            for name in ("MultiWorkerMirroredStrategy", "TPUStrategy")
        },
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


@rule
def removed_call(module: Module) -> Hits:
    return REMOVED.check(module)


@rule
def deprecated_call(module: Module) -> Hits:
    return DEPRECATED.check(module)


def _is_of(dotted: str, name: str) -> bool:
    """Return whether a name is old, or belongs to a family that is gone as a whole."""
    return dotted == name.rstrip(".") or (name.endswith(".") and dotted.startswith(name))


def _imported(module: Module) -> Iterator[tuple[ast.stmt, str]]:
    for node in module.nodes:
        if isinstance(node, ast.Import | ast.ImportFrom):
            base = f"{node.module or ''}." if isinstance(node, ast.ImportFrom) else ""
            yield from ((node, same(f"{base}{each.name}")) for each in node.names)


def _whole(module: Module, node: ast.Attribute) -> ast.Attribute:
    """Return the whole of a dotted name that begins with a node."""
    parent = module.parents[node]
    return _whole(module, parent) if isinstance(parent, ast.Attribute) else node


def _promotion(module: Module, node: ast.AST, new: str) -> Edit | None:
    """Return the edit of a call whose name has only left its `experimental`.

    Other arguments than the cluster have other names or places today.
    """
    match node, module.parents[node]:
        case ast.Attribute(value=ast.Attribute() as part), ast.Call(func=func) as call:
            named = {each.arg for each in call.keywords} <= _CLUSTER
            placed = not call.args or (new == "tf.distribute.TPUStrategy" and len(call.args) == 1)
            left = f"{module.dotted(part.value)}.{node.attr}" == new
            whole = func is node and left and named and placed
            return without_attribute(part) if whole else None
    return None
