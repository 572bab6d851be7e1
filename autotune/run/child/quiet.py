"""Makes a model train the same way every time, so that two trainings can be compared.

Layers that draw random numbers, and those that normalize by the batch before them, are made to
compute as in inference while the rest of the model trains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras


def quieten(model: Any) -> list[str]:
    """Silence the layers of a model whose training differs between replicas by design.

    Returns:
        Their kinds, each once.
    """
    layers = [each for each in model._flatten_layers() if _differs(each)]  # noqa: SLF001 - Keras offers no public walk over all layers
    for layer in layers:
        layer.call = _as_in_inference(layer.call)
    return sorted({type(layer).__name__ for layer in layers})


def _differs(layer: Any) -> bool:
    if isinstance(layer, keras.layers.BatchNormalization):
        # A synchronized one normalizes by the global batch, as one device does.
        return not layer.synchronized
    return bool(_generators(layer))


def _generators(layer: Any) -> list[Any]:
    return list(getattr(layer, "_seed_generators", ()))


def _as_in_inference(call: Callable[..., Any]) -> Callable[..., Any]:
    def quiet(*arguments: Any, **options: Any) -> Any:
        if options.get("training"):
            options["training"] = False
        return call(*arguments, **options)

    return quiet
