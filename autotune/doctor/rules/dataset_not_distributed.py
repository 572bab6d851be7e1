"""Custom loop over a dataset that is not distributed.

Why: strategy.run passes a plain tensor to every replica unchanged. All replicas compute the same
step on the same batch: n times the work for the result of one device.

Instead: Loop over strategy.experimental_distribute_dataset(dataset), batched by the global batch
size, or over strategy.distribute_datasets_from_function(dataset_fn).
"""

import ast
from collections.abc import Iterator

from autotune.doctor import Hits, Kind, Module, mended
from autotune.doctor.code.module import Run
from autotune.doctor.rules._examples import MIRRORED, TRAIN_STEP

_SHARES = {"get_replica_context", "replica_id_in_sync_group", "num_replicas_in_sync"}
"""Who asks for these may take its share of a batch by itself."""


def check(module: Module) -> Hits:
    for run in () if module.may_be_one_device else module.runs:
        values = (*_given(run.call), *_held(module, run))
        given = next((each for each in values if module.kind(each) is Kind.BATCH), None)
        if given is None or run.function is None or not _is_repeated(module, run.call):
            continue
        called = module.all_called([run.function])
        if not any(module.asks_for(each, _SHARES) for each in called):
            what = ast.unparse(given)
            yield given, f"Every replica gets the whole `{what}`: its dataset is not distributed."


def _given(call: ast.Call) -> Iterator[ast.expr]:
    """Yield what a call of `strategy.run` hands to the function."""
    values = [*call.args[1:], *(each.value for each in call.keywords if each.arg != "options")]
    if call.args and isinstance(call.args[0], ast.Call):
        values += call.args[0].args[1:]
    for value in values:
        match value:
            case ast.Tuple(elts=several) | ast.List(elts=several) | ast.Dict(values=several):
                yield from several
            case _:
                yield value


def _held(module: Module, run: Run) -> Iterator[ast.expr]:
    """Yield the names by which the function uses what surrounds it, but for shapes and types."""
    function = run.function
    for each in module.walk(function) if function else ():
        if function and isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load):
            bound = (it.node for it in module.bindings_of(each))
            asked = getattr(module.parents[each], "attr", "") in {"shape", "dtype"}
            if not asked and not any(module.inside(it, function) for it in bound):
                yield each


def _is_repeated(module: Module, node: ast.AST) -> bool:
    """Return whether it runs again and again: alone, it may be there to create the variables."""
    for _ in range(3):
        function = module.function_of(node)
        sites = module.sites[function] if function else []
        if any(module.loops_around(node)):
            return True
        if len(sites) != 1:
            return any(True for site in sites for _ in module.loops_around(site))
        node = sites[0]
    return False


BAD = f"""{MIRRORED}dataset = tf.data.Dataset.from_tensor_slices((images, labels)).batch(64)


def replica_step(images, labels):
    return loss_of(model(images, training=True), labels)
{TRAIN_STEP.replace("labels))", "labels))  # <- here")}

for images, labels in dataset:
    train_step(images, labels)
"""
_DISTRIBUTED = "strategy.experimental_distribute_dataset(dataset)"
GOOD = mended(BAD, "in dataset:", f"in {_DISTRIBUTED}:")
