"""The OpenAPI document, with what FastAPI does not know of."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from itertools import pairwise
from operator import attrgetter
from typing import Any

from fastapi.routing import APIRoute
from pydantic import BaseModel

from autotune.api.http.answers import Problem
from autotune.api.values import JobEvent
from autotune.value import Value

_ARTICLES = {"a", "the", "of", "as"}


def operation_id(route: APIRoute) -> str:
    """Return the name of a call for clients that are made from the document: `get_job`."""
    words = re.findall("[a-z]+", (route.summary or route.name).lower())
    return "_".join(each for each in words if each not in _ARTICLES)


def completed(
    usual: Callable[[], dict[str, Any]], routes: Callable[[], Iterable[APIRoute]]
) -> dict[str, Any]:
    """Return the document, with what it refers to and what the code says of each field."""
    document = usual()
    schemas = document.setdefault("components", {}).setdefault("schemas", {})
    if "Problem" not in schemas:
        for each in (Problem, JobEvent):
            schema = each.model_json_schema(
                mode="serialization", ref_template="#/components/schemas/{model}"
            )
            schemas |= {**schema.pop("$defs", {}), each.__name__: schema}
        _put_examples(document, routes())
        _put_descriptions(schemas)
    return document


def _put_examples(document: dict[str, Any], routes: Iterable[APIRoute]) -> None:
    """Put the examples in again, because FastAPI leaves out every null in them."""
    for route in filter(attrgetter("include_in_schema"), routes):
        for method in route.methods or ():
            told = document["paths"][route.path][method.lower()]["responses"]
            for status, response in route.responses.items():
                for kind, media in response.get("content", {}).items():
                    told[str(status)]["content"][kind] |= media


def _put_descriptions(schemas: dict[str, Any]) -> None:
    models = {model.__name__: model for model in _models(Value)}
    for name, schema in schemas.items():
        model = models.get(name.removesuffix("-Input").removesuffix("-Output"), Value)
        for field, told in schema.get("properties", {}).items():
            texts = (_said(each).get(field) for each in model.__mro__)
            if text := next(filter(None, texts), None):
                told.setdefault("description", text)


def _models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    for each in base.__subclasses__():
        yield each
        yield from _models(each)


@cache
def _said(model: type) -> dict[str, str]:
    """Return the text below each field of a class."""
    try:
        (tree,) = ast.parse(textwrap.dedent(inspect.getsource(model))).body
    except (OSError, TypeError, SyntaxError):  # It was not written, but made.
        return {}
    found = {}
    lines = tree.body if isinstance(tree, ast.ClassDef) else []
    for field, text in pairwise(lines):
        if isinstance(field, ast.AnnAssign) and isinstance(text, ast.Expr):
            found[ast.unparse(field.target)] = " ".join(str(ast.literal_eval(text.value)).split())
    return found
