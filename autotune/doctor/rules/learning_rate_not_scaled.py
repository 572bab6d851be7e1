"""Learning rate constant while the batch grows with the replicas.

Why: With more replicas the steps become fewer while each is as long as before, so the model learns
less from the same data, and another number of devices gives another result.

Instead: Scale it with the global batch, with a warm-up where that makes it large, or hold the
global batch fixed.
"""

import ast
import re

from autotune.doctor import Hits, Kind, Module, Severity, argument, mended
from autotune.doctor.rules._examples import MIRRORED

_COUNTS = {"num_replicas_in_sync", "num_replicas", "num_gpus", "n_replicas", "replicas", "hvd"}
_RATE = re.compile(r"learning_?rate|(?<![a-z])lr(?![a-z])|schedul|warm_?up")


def check(module: Module) -> Hits:
    names = [each for each in module.scopes[0].names if each.lower() in _COUNTS]
    counts: list[ast.expr] = [*module.attributes["num_replicas_in_sync"]]
    counts += [each for name in names for each in module.loads[name]]
    if module.may_be_one_device or not any(_grows(module, each) for each in counts):
        return
    if any(_sets_rate(module, each) for each in counts):
        return
    for call in module.calls:
        if module.dotted(call.func) and module.kind(call) is Kind.OPTIMIZER:
            rate = argument(call, 0, "learning_rate", "lr")
            if rate and isinstance(module.constant(rate), float):
                what = f"The learning rate stays {ast.unparse(rate)}"
                yield rate, f"{what} while the batch grows with the replicas."


def _grows(module: Module, node: ast.expr) -> bool:
    product = module.parents[node]
    multiplies = isinstance(product, ast.BinOp) and isinstance(product.op, ast.Mult)
    return multiplies and "batch" in ast.unparse(product).lower()


def _sets_rate(module: Module, node: ast.expr) -> bool:
    statement = module.statement_of(node)
    simple = isinstance(statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Return)
    return simple and bool(_RATE.search(ast.unparse(statement or node).lower()))


BAD = f"""{MIRRORED}dataset = make_dataset().batch(BATCH * strategy.num_replicas_in_sync)

with strategy.scope():
    model = make_model()
    model.compile(keras.optimizers.SGD(0.1, momentum=0.9), "mse")  # <- here
"""
SEVERITY = Severity.WARNING
GOOD = mended(BAD, "0.1,", "0.1 * strategy.num_replicas_in_sync,")
