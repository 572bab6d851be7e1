"""Weights of classes beside a dataset into which Keras cannot put them."""

import ast

from autotune.doctor import Hits, Kind, Module, argument, last_name, rule

_PLACE = 9
"""The place of the class weights among the arguments of `fit`."""


@rule
def class_weight_distributed(module: Module) -> Hits:
    for call in module.calls:
        weights, rows = argument(call, _PLACE, "class_weight"), argument(call, 0, "x")
        if not weights or not rows or last_name(call.func) != "fit":
            continue
        # Those of a caller or a setting may be None.
        ends = [part.node for part in module.origins(weights) if module.is_end(part)]
        given = not any(isinstance(each, ast.Constant | ast.arg | ast.Attribute) for each in ends)
        if given and module.kind(rows) is Kind.DISTRIBUTED:
            what = f"`fit` fails with class_weight: `{ast.unparse(rows)}` is distributed"
            yield call, f"{what}, and has no `map` to add weights by."
