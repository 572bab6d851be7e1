"""The global batch, the share of one replica, and the learning rate that belongs to them."""

import ast
import re
from collections.abc import Iterable, Iterator
from itertools import chain

from autotune.doctor import Hits, Kind, Module, argument, last_name, rule

PER_REPLICA = re.compile(r"per_?(replica|device|gpu|worker|core)|(replica|device|gpu)_?batch")
_GLOBAL = re.compile(r"global_?batch|batch_?size_?global|total_?batch")
_MADE_WHOLE = "experimental_distribute_dataset"
_MADE_IN_PARTS = "distribute_datasets_from_function"
_SPLITS = "is the per-replica batch size, but {} splits each batch among all replicas."
_TOO_LARGE = f"is the global batch size, but {_MADE_IN_PARTS} gives each replica whole batches."
_BATCHES = {"batch", "padded_batch"}
_UNDONE = {"unbatch", "rebatch"}
_COUNTS = {"num_replicas_in_sync", "num_replicas", "num_gpus", "n_replicas", "replicas", "hvd"}
_RATE = re.compile(r"learning_?rate|(?<![a-z])lr(?![a-z])|schedul|warm_?up")


@rule
def batch_of_one_replica(module: Module) -> Hits:
    for call, _ in module.methods(Kind.STRATEGY, _MADE_WHOLE):
        sizes = _sizes(module, call.args[:1])
        yield from _named(sizes, PER_REPLICA, _SPLITS.format(_MADE_WHOLE))
    for call, model in module.methods(Kind.MODEL, "fit") if not module.may_be_one_device else ():
        bindings = module.bindings_of(model)
        if bindings and all(module.in_strategy_scope(each.node) for each in bindings):
            given = argument(call, None, "batch_size")
            both = (*filter(None, [given]), *_sizes(module, call.args[:1]))
            yield from _named(both, PER_REPLICA, _SPLITS.format("`fit`"))
    for call, _ in module.methods(Kind.STRATEGY, _MADE_IN_PARTS):
        results = module.returned[module.meant(argument(call, 0))]
        yield from _named(_sizes(module, results), _GLOBAL, _TOO_LARGE)


@rule
def learning_rate_not_scaled(module: Module) -> Hits:
    names = [each for each in module.scopes[0].names if each.lower() in _COUNTS]
    counts: list[ast.expr] = [*module.attributes["num_replicas_in_sync"]]
    counts += [each for name in names for each in module.loads[name]]
    above = map(module.parents.__getitem__, counts)
    products = (it for it in above if isinstance(it, ast.BinOp) and isinstance(it.op, ast.Mult))
    grows = any("batch" in ast.unparse(each).lower() for each in products)
    simple = ast.Assign | ast.AugAssign | ast.Expr | ast.Return
    statements = (it for it in map(module.statement_of, counts) if isinstance(it, simple))
    sets_rate = any(_RATE.search(ast.unparse(each).lower()) for each in statements)
    if module.may_be_one_device or not grows or sets_rate:
        return
    for call in module.calls:
        if module.dotted(call.func) and module.kind(call) is Kind.OPTIMIZER:
            rate = argument(call, 0, "learning_rate", "lr")
            if rate and isinstance(module.constant(rate), float):
                what = f"The learning rate stays {ast.unparse(rate)}"
                yield rate, f"{what} while the batch grows with the replicas."


def _named(sizes: Iterable[ast.expr], wrong: re.Pattern[str], why: str) -> Hits:
    for size in sizes:
        name = ast.unparse(size)
        if isinstance(size, ast.Name | ast.Attribute) and wrong.search(name.lower()):
            yield size, f"`{name}` by its name {why}"


def _sizes(module: Module, datasets: Iterable[ast.expr]) -> Iterator[ast.expr]:
    """Yield the sizes by which datasets are batched, unless something undoes that."""
    for call, entered in chain.from_iterable(map(module.stages, datasets)):
        name = last_name(call.func)
        if name in _UNDONE:
            return
        if name in _BATCHES and (size := argument(call, 0, "batch_size")):
            yield from filter(None, module.given_by(entered, size) or [size])
