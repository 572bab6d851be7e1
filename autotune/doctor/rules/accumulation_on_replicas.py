"""Gradients accumulated by Keras 3 under a strategy of replicas.

Why: The update stands in a condition, where replicas cannot be merged: RuntimeError about
merge_call in the first step, even with a single replica.

Instead: Use a larger batch for each replica, or sum the gradients of several batches in a loop of
your own before apply_gradients; OneDeviceStrategy can accumulate.
"""

from autotune.doctor import ONE_DEVICE, Hits, Kind, Module, argument, made_by, mended
from autotune.doctor.rules._examples import MIRRORED


def check(module: Module) -> Hits:
    for call in module.calls if module.has_keras_3 else ():
        steps = module.constant(argument(call, None, "gradient_accumulation_steps"))
        if steps is not None and made_by(module.dotted(call.func)) is Kind.OPTIMIZER:
            over = module.strategies_over(call)
            unclear = ONE_DEVICE in over and module.is_conditional(call)
            if over - {ONE_DEVICE} and not unclear:
                strategy = min(over - {ONE_DEVICE}).rpartition(".")[2]
                yield call, f"Keras 3 cannot accumulate gradients under {strategy}."


BAD = f"""{MIRRORED}
with strategy.scope():
    model = keras.Sequential([keras.layers.Dense(10)])
    optimizer = keras.optimizers.AdamW(0.001, gradient_accumulation_steps=4)  # <- here
    model.compile(optimizer, "mse")
"""
GOOD = mended(BAD, "MirroredStrategy()", "OneDeviceStrategy('GPU:0')")
