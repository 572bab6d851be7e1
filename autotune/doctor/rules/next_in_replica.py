"""Next batch taken inside the replica function.

Why: An iterator of a distributed dataset gives the batches of all replicas at once, so TensorFlow
raises ValueError where one replica asks for the next. From an iterator of a dataset that is not
distributed, each replica takes a batch in turn: nothing is copied ahead to its device, a last round
that is not full fails, and every worker reads all the data. A new iterator gives every replica the
same first batch.

Instead: Distribute the dataset by strategy.experimental_distribute_dataset, and pass the batch:
strategy.run(replica_step, args=(next(iterator),)).
"""

import ast

from autotune.doctor import Hits, Kind, Module, mended
from autotune.doctor.rules._examples import MIRRORED

_NEXT = {"get_next", "get_next_as_optional", "__next__"}


def check(module: Module) -> Hits:
    for run in module.runs:
        functions = module.all_called([run.function])
        shared = module.may_be_one_device or module.ask_which_it_is(functions)
        for node in (each for function in functions for each in module.walk(function)):
            given, read = _asked(module, node)
            kind = module.kind(given) if given is not None else None
            if kind is Kind.DISTRIBUTED or (kind is Kind.DATASET and not shared):
                what = f"`{ast.unparse(read)}` is {'read' if read is given else 'called'}"
                whole = ", of a dataset that is not distributed" if kind is Kind.DATASET else ""
                yield read, f"{what} on each replica{whole}."


def _asked(module: Module, node: ast.AST) -> tuple[ast.expr | None, ast.AST]:
    """Return the iterator of which a node wants the next element, and the place that says so."""
    match node:
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            return node.iter, node.iter
        case ast.Call(func=ast.Name(id="next"), args=[given, *_]):
            return None if module.bindings("next", node) else given, node
        case ast.Call(func=ast.Attribute(attr=name, value=given)) if name in _NEXT:
            return given, node
    return None, node


_BAD = f"""{MIRRORED}
iterator = iter(strategy.experimental_distribute_dataset(make_dataset()))


def replica_step(iterator):
    return loss_of(model(next(iterator)))  # <- here


@tf.function
def train_step(iterator):
    return strategy.run(replica_step, args=(iterator,))


train_step(iterator)
"""
_SET = "strategy.experimental_distribute_dataset(make_dataset())"
BAD = (_BAD, _BAD.replace(_SET, "tf.data.Dataset.from_tensor_slices(images).batch(64)"))
GOOD = (
    mended(BAD[0], "args=(iterator,)", "args=(next(iterator),)")
    .replace("model(next(iterator))", "model(batch)")
    .replace("replica_step(iterator)", "replica_step(batch)")
)
