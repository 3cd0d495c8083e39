"""A Griffe extension that shows the type, limits, default and meaning of the fields of pydantic models."""

from __future__ import annotations

import ast
from typing import Any

import griffe


class FieldDescriptions(griffe.Extension):
    """Leaves of `name: Annotated[type, ...] = Field(...)` the type, its limits and the default."""

    def on_attribute_instance(self, *, attr: griffe.Attribute, **_: Any) -> None:
        """Simplify *attr*; called by Griffe for each attribute."""
        if isinstance(attr.annotation, griffe.ExprSubscript) and str(attr.annotation.left) == "Annotated":
            attr.annotation = _limits_only(attr.annotation)
        if not isinstance(attr.value, griffe.ExprCall) or str(attr.value.function) != "Field":
            return
        given = {each.name: each.value for each in attr.value.arguments if isinstance(each, griffe.ExprKeyword)}
        factory = given.get("default_factory")
        attr.value = f"{factory}()" if factory and not isinstance(factory, griffe.ExprLambda) else given.get("default")
        if "description" in given and not attr.docstring:
            attr.docstring = griffe.Docstring(ast.literal_eval(f"({given['description']})"), parent=attr)


def _limits_only(annotated: griffe.ExprSubscript) -> griffe.Expr | str:
    """Return *annotated* with its type and limits, and without validators and labels."""
    kind, *metadata = annotated.slice.elements if isinstance(annotated.slice, griffe.ExprTuple) else [annotated.slice]
    limits = [each for each in metadata if isinstance(each, griffe.ExprCall) and str(each.function) == "Field"]
    if not limits:
        return kind
    return griffe.ExprSubscript(annotated.left, griffe.ExprTuple([kind, *limits], implicit=True))
