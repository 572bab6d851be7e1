"""Gradients clipped before they are summed over the replicas.

Why: Each replica clips its own gradients by their own norm, and the optimizer then sums them: the
sum may be as many times the limit as there are replicas, and the result differs from that of one
device with the same global batch.

Instead: Sum them first, by tf.distribute.get_replica_context().all_reduce('SUM', gradients), and
apply what is clipped without summing it again; or give the optimizer the limit.
"""

import ast

from autotune.doctor import Hits, Module, Severity, last_name, mended
from autotune.doctor.rules._examples import MIRRORED, TRAIN_STEP

_CLIPS = ("tf.clip_by_global_norm", "tf.clip_by_norm", "tf.clip_by_value")
_SUMS = {
    *("all_reduce", "merge_call", "batch_reduce", "batch_reduce_to"),
    *("experimental_aggregate_gradients", "skip_gradients_aggregation"),
}


def check(module: Module) -> Hits:
    functions = module.replica_functions
    names = {name for each in functions for name in module.names_in(each)}
    if module.may_be_one_device or names & _SUMS or not names & {"apply_gradients", "apply"}:
        return
    for call in module.calls_of(*_CLIPS):
        made_from = module.ingredients(call.args[0]) if call.args else ()
        if "gradient" in map(last_name, made_from) and module.function_of(call) in functions:
            what = ast.unparse(call.func)
            yield call, f"`{what}` clips one replica's gradients before they are summed."


BAD = f"""{MIRRORED}

def replica_step(images, labels):
    with tf.GradientTape() as tape:
        loss = loss_of(model(images, training=True), labels)
    gradients = tape.gradient(loss, model.trainable_variables)
    gradients, _ = tf.clip_by_global_norm(gradients, 1.0)  # <- here
    optimizer.apply_gradients(zip(gradients, model.trainable_variables))
{TRAIN_STEP}"""
SEVERITY = Severity.WARNING
GOOD = mended(
    BAD,
    "    gradients, _",
    "    context = tf.distribute.get_replica_context()\n"
    "    gradients = context.all_reduce('SUM', gradients)\n    gradients, _",
)
