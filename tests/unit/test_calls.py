"""Calls of a method in a text, and whose they surely are not."""

from __future__ import annotations

import ast

import pytest

from autotune.calls import ScriptNames

TEXT = """
import sklearn.svm as s
from sklearn.pipeline import make_pipeline
from functools import partial
import keras
pipe = make_pipeline(1)
model = keras.Model()
class Plain: ...
class Derived(Plain):
    def go(self): self.fit(1)
class Net(keras.Model):
    def go(self): self.fit(1)
class Run:
    def __init__(self):
        self.clf = s.SVC()
        self.net = keras.Model()
    def go(self, given):
        self.clf.fit(1)
        self.net.fit(1)
        given.fit(1)
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("pipe.fit(1)", []),
        ("s.SVC().fit(1)", []),
        ("Derived().fit(1)", []),
        ("model.fit(1)", ["model"]),
        ("fit = model.fit\nfit(1)", ["model"]),
        ("fit = partial(model.fit, 1)\nfit()", ["model"]),
        ("for each in q: each.fit(1)", ["each"]),
        ("pipe = keras.Model()\npipe.fit(1)", ["pipe"]),
        ("make().fit(1)", ["make()"]),
    ],
)
def test_objects_of_other_libraries_and_plain_classes_are_not_kerass(
    text: str, found: list[str]
) -> None:
    """What is not sure may be Keras's, as is all that a Keras model may be wrapped into."""
    names = ScriptNames(ast.parse(TEXT + text))
    calls = (
        each.receiver for each in names.method_calls(["fit"]) if not names.is_other(each.receiver)
    )
    assert [ast.unparse(each) for each in calls] == ["self", "self.net", "given", *found]


def test_what_wraps_keras_for_scikit_learn_may_be_anywhere_in_it() -> None:
    tree = ast.parse(f"{TEXT}from keras.wrappers import SKLearnClassifier\npipe.fit(1)")
    names = ScriptNames(tree)
    assert not names.is_other(names.method_calls(["fit"])[-1].receiver)
