"""Whatever can be parsed can be checked."""

import ast
import textwrap
from contextlib import suppress

import pytest
from hypothesis import given, settings, strategies as st

from autotune.doctor import Module
from autotune.doctor.check import check_text
from autotune.doctor.rules import rules
from autotune.doctor.source import Text
from autotune.errors import CodeError

HEAD = "import tensorflow as tf\nimport keras\nimport threading\n"
PARTS = sorted(
    {
        ast.unparse(statement)
        for rule in rules().values()
        for example in (*rule.bad, *rule.good)
        for statement in ast.walk(ast.parse(example))
        if isinstance(statement, ast.stmt)
    }
    | {
        "strategy = strategy",
        "batch = next(batch)",
        "def train_step(): return train_step()",
        "train_step = tf.function(train_step)",
        "model, optimizer = optimizer, model = f()",
        "global model",
        "class Model(Model): step = lambda self, *a, **k: self.step(self)",
        "from tensorflow import *",
        "del strategy",
        "strategy = (x := strategy).run(lambda: x)",
        "loss = [loss for loss in loss if (loss := float(loss))]",
        "async def train_step(*strategy): await strategy.run(train_step)",
    }
)
AROUND = (
    "{}",
    "if True:\n{}",
    "for batch in batch:\n{}\nelse:\n    pass",
    "while strategy.run(model):\n{}",
    "with strategy.scope():\n{}",
    "with tf.GradientTape() as tape, tf.device(device):\n{}",
    "def train_step(strategy, batch=batch, *, model: keras.Model | None=None):\n{}",
    "@tf.function\ndef replica_step(self, batch):\n{}",
    "@tf.function(jit_compile=True)\nasync def train(batch, /):\n{}",
    "class Trainer(keras.Model):\n{}",
    "try:\n{}\nexcept AttributeError as loss:\n    raise\nfinally:\n    pass",
    "match strategy:\n    case {{'loss': [loss, *_], **model}}:\n        pass\n    case _:\n{}",
)


@st.composite
def sources(draw: st.DrawFn) -> str:
    """Statements of the examples in odd places, in odd orders."""

    def block(depth: int) -> str:
        parts = draw(st.lists(st.sampled_from(PARTS), min_size=1, max_size=4))
        if depth:
            frame = draw(st.sampled_from(AROUND))
            indent = "        " if frame.startswith("match") else "    " * (frame != "{}")
            parts.append(frame.format(textwrap.indent(block(depth - 1), indent)))
        return "\n".join(draw(st.permutations(parts)))

    return HEAD + block(draw(st.integers(0, 4)))


@settings(max_examples=50, deadline=None)
@given(sources())
def test_odd_code_is_checked(source: str) -> None:
    """Names that stand for themselves, functions that call themselves, all inside out."""
    module = Module(ast.parse(source))
    for rule in rules().values():
        for node, sentence, *_ in rule.check(module):
            assert isinstance(node, ast.AST)
            assert sentence.endswith((".", "?"))


@pytest.mark.parametrize(
    "source",
    [
        "x = " + "(" * 150 + "1" + ")" * 150,
        "loss = train_step(batch)\nfloat(" + " + ".join(["loss"] * 3000) + ")",
        "strategy" + ".x" * 3000,
        "f = " + "tf.function(" * 90 + "g" + ")" * 90 + "\nf()",
        "strategy" + "()" * 3000,
        "\n".join(f"s{n + 1} = s{n}" for n in range(500)) + "\nfor _ in x: s500.run(f)",
    ],
)
def test_what_is_nested_too_deeply_is_told_at_most(source: str) -> None:
    """A check ends with a report or with an error of its own."""
    with suppress(CodeError):
        check_text(Text(file="deep.py", content=HEAD + source), rules())
