"""What a model factory gave."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from autotune.run.child.complaint import failed
from autotune.run.failure import ERROR


class ModelLook:
    """Checks a model and describes it.

    Args:
        model: What the factory returned.

    Raises:
        Complaint: It is no compiled Keras model.
    """

    def __init__(self, model: Any) -> None:
        if not isinstance(model, keras.Model):
            raise failed(
                f"model_fn returned {_kind(model)}, not a keras.Model.",
                "Return a compiled keras.Model.",
            )
        if not model.compiled or model.optimizer is None:
            raise failed(
                "model_fn returned a model that is not compiled.",
                "Call model.compile(optimizer=..., loss=...) before returning it.",
            )
        self._model = model
        self._dense: dict[int, int] = {}

    def train_on(self, batch: Any) -> None:
        """Take one step, which shows whether model, loss, metrics and data fit together.

        It is taken eagerly: that needs no tracing, and errors name the line that raised them.

        Raises:
            Complaint: The model does not accept the examples.
        """
        self._model.run_eagerly = True
        self._listen()
        try:
            # The batch is a dataset of its own, so that no error of the user's dataset comes here.
            self._model.fit(tf.data.Dataset.from_tensors(batch), verbose=0)
        except BaseException as exc:
            raise failed(
                f"The model cannot be trained on the dataset's examples: {ERROR}.",
                "Check that the model's inputs, loss and metrics match the shapes and dtypes of "
                "the examples. dataset_fn must return single examples, not batches (unless it "
                "declares batch_size).",
            ) from exc

    def facts(self) -> dict[str, Any]:
        """Return what is known of the model, once it has been tried."""
        trainable = self._model.trainable_weights
        return {
            "weights": sum(int(np.prod(each.shape)) for each in self._model.weights),
            "gradient_bytes": sum(_bytes(each) for each in trainable),
            "dense_gradient_bytes": self._exchanged(),
            "optimizer": type(self._model.optimizer).__name__,
            "loss": _name(self._model.loss),
        }

    def _exchanged(self) -> int:
        # With accumulation only every so many steps exchange anything.
        rarely = getattr(self._model.optimizer, "gradient_accumulation_steps", None)
        return 0 if rarely else sum(self._dense.values())

    def _listen(self) -> None:
        """Note which gradients are dense: replicas exchange of the others only the rows used."""
        optimizer = self._model.optimizer
        apply = optimizer.apply

        def noting(grads: Any, *args: Any, **kwargs: Any) -> Any:
            grads = list(grads)
            for index, grad in enumerate(grads):
                if isinstance(grad, tf.Tensor):
                    self._dense[index] = _bytes(grad)
            return apply(grads, *args, **kwargs)

        optimizer.apply = noting


def _kind(value: Any) -> str:
    kind = type(value)
    return "nothing" if value is None else f"a {kind.__module__}.{kind.__qualname__}"


def _bytes(weight: Any) -> int:
    return int(np.prod(weight.shape)) * int(tf.as_dtype(weight.dtype).size)


def _name(loss: Any) -> str:
    if loss is None:
        return ""
    if isinstance(loss, str):
        return loss
    if isinstance(loss, dict):
        return ", ".join(_name(each) for each in loss.values())
    if isinstance(loss, list | tuple):
        return ", ".join(_name(each) for each in loss)
    return str(getattr(loss, "__name__", type(loss).__name__))
