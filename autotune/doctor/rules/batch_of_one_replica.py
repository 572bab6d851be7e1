"""per-replica and global batch size mixed up.

Why: experimental_distribute_dataset splits every batch among the replicas, so each gets only a
fraction and idles; datasets of distribute_datasets_from_function are not split, so the batch grows
with the replicas and may not fit in memory.

Instead: Use the global batch size for experimental_distribute_dataset, and
input_context.get_per_replica_batch_size(global_batch) in the function passed to
distribute_datasets_from_function.
"""

import ast
import re
from collections.abc import Iterable, Iterator

from autotune.doctor import Hits, Kind, Module, Severity, argument, mended
from autotune.doctor.rules._examples import MIRRORED

_PER_REPLICA = re.compile(r"per_?(replica|device|gpu|worker|core)|(replica|device|gpu)_?batch")
_GLOBAL = re.compile(r"global_?batch|batch_?size_?global|total_?batch")
_MADE_WHOLE = "experimental_distribute_dataset"
_MADE_IN_PARTS = "distribute_datasets_from_function"
_SPLITS = "is the per-replica batch size, but {} splits each batch among all replicas."
_TOO_LARGE = f"is the global batch size, but {_MADE_IN_PARTS} gives each replica whole batches."
_MOST = 200
_UNDONE = {"unbatch", "rebatch"}


def check(module: Module) -> Hits:
    for call, _ in module.methods(Kind.STRATEGY, _MADE_WHOLE):
        sizes = _sizes(module, call.args[:1], set())
        yield from _named(sizes, _PER_REPLICA, _SPLITS.format(_MADE_WHOLE))
    for call in _fits(module):
        given = argument(call, None, "batch_size")
        batched = _sizes(module, call.args[:1], set())
        yield from _named(
            [given, *batched] if given else batched, _PER_REPLICA, _SPLITS.format("`fit`")
        )
    for call, _ in module.methods(Kind.STRATEGY, _MADE_IN_PARTS):
        function = module.meant(call.args[0]) if call.args else None
        results = module.returned[function] if function else []
        yield from _named(_sizes(module, results, set()), _GLOBAL, _TOO_LARGE)


def _named(sizes: Iterable[ast.expr], wrong: re.Pattern[str], why: str) -> Hits:
    for size in sizes:
        name = ast.unparse(size)
        if isinstance(size, ast.Name | ast.Attribute) and wrong.search(name.lower()):
            yield size, f"`{name}` by its name {why}"


def _fits(module: Module) -> Iterator[ast.Call]:
    for call, model in module.methods(Kind.MODEL, "fit") if not module.may_be_one_device else ():
        bindings = module.bindings_of(model)
        if bindings and all(module.in_strategy_scope(each.node) for each in bindings):
            yield call


def _sizes(module: Module, datasets: Iterable[ast.expr], seen: set[ast.AST]) -> Iterator[ast.expr]:
    """Yield the sizes by which datasets are batched, as far back as each is certain."""
    for node in datasets:
        if node in seen or len(seen) > _MOST:
            continue
        seen.add(node)
        match node:
            case ast.Name():
                values = [each.plain for each in module.bindings_of(node)]
                whole = [each for each in values if each and not _is_undone(each)]
                yield from _sizes(module, whole, seen) if len(whole) == len(values) else ()
            case ast.Call(func=ast.Attribute(value=owner, attr="batch" | "padded_batch")):
                size = argument(node, 0, "batch_size")
                yield from [size] if size and module.kind(owner) is Kind.DATASET else []
            case ast.Call(func=ast.Attribute(value=owner)) if not module.meant(node.func):
                yield from _sizes(module, [] if _is_undone(node) else [owner], seen)
            case ast.Call(func=func, args=args) if function := module.meant(func):
                given = dict(zip([each.arg for each in function.args.args], args, strict=False))
                given |= {each.arg: each.value for each in node.keywords if each.arg}
                for size in _sizes(module, module.returned[function], seen):
                    yield given.get(getattr(size, "id", ""), size)


def _is_undone(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and getattr(node.func, "attr", "") in _UNDONE


_BAD = f"""{MIRRORED}BATCH_PER_REPLICA = 64
dataset = tf.data.TFRecordDataset(files).batch(BATCH_PER_REPLICA)  # <- here
batches = strategy.experimental_distribute_dataset(dataset)
"""

_BAD_GLOBAL = f"""{MIRRORED}
global_batch = 64 * strategy.num_replicas_in_sync


def make_dataset(context):
    dataset = tf.data.Dataset.from_tensor_slices(images)
    share = dataset.shard(context.num_input_pipelines, context.input_pipeline_id)
    return share.batch(global_batch).prefetch(2)  # <- here


batches = strategy.distribute_datasets_from_function(make_dataset)
"""
_OF_REPLICA = "context.get_per_replica_batch_size(global_batch)"
SEVERITY = Severity.WARNING
BAD = (_BAD, _BAD_GLOBAL)
GOOD = (
    mended(_BAD, ".batch(BATCH", ".batch(strategy.num_replicas_in_sync * BATCH"),
    mended(_BAD_GLOBAL, "batch(global_batch)", f"batch({_OF_REPLICA})"),
)
