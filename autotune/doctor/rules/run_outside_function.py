"""strategy.run in a Python loop, outside a tf.function.

Why: Outside a tf.function every operation is dispatched from Python, one replica thread at a time,
so the replicas run one after the other. With two replicas on a CPU a small step took 44 ms instead
of 5. TPUStrategy does not support it.

Instead: Call strategy.run in a function decorated with @tf.function, and loop over tf.range in it
to run several steps per call.
"""

import ast

from autotune.doctor import Function, Hits, Kind, Module, Severity, is_repeated, mended
from autotune.doctor.rules._examples import MIRRORED


def check(module: Module) -> Hits:
    for run in () if module.is_graph_mode else module.runs:
        # What is run may be compiled by itself, and strategies then compile the whole call.
        is_model = bool(run.call.args) and module.kind(run.call.args[0]) is Kind.MODEL
        known = (run.function or is_model) and not run.compiled
        line = _loop_of(module, run.call, set()) if known else 0
        if line:
            how = f"repeatedly from Python, by the loop in line {line}"
            yield run.call, f"strategy.run is called {how}, outside a tf.function."


def _loop_of(module: Module, call: ast.Call, passed: set[Function]) -> int:
    """Return the line of the loop by which Python makes a call again and again; 0 for none."""
    function = module.function_of(call)
    if not module.is_python(function):
        return 0
    loops = (each for each in module.loops_around(call) if is_repeated(module, each))
    if loop := next(loops, None):
        return getattr(loop, "lineno", 0)
    lines: list[int] = []
    if function is not None and function not in passed:
        passed.add(function)
        meant = [(site, module.follow(site.func)) for site in module.sites[function]]
        plain = [site for site, each in meant if each and not each.compiled]
        lines = [_loop_of(module, site, passed) for site in plain]
    return next(filter(None, lines), 0)


BAD = f"""{MIRRORED}batches = strategy.experimental_distribute_dataset(make_dataset())


def replica_step(batch):
    return compute_loss(model, batch)


def train_step(batch):
    return strategy.run(replica_step, args=(batch,))  # <- here


for batch in batches:
    train_step(batch)
"""
SEVERITY = Severity.WARNING
GOOD = mended(BAD, "def train_step", "@tf.function\ndef train_step")
