"""The categories of facts that a policy lists; by default the six built-in ones.

A configured category ranks as `context` does. Only the built-in names have a meaning for the rules: a correction states
what to avoid and never becomes stale, and corrections and preferences are recalled first.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self, cast

from pydantic import AfterValidator, BaseModel, Field, field_validator, model_validator

from memgraph._validation import SingleLine, check_names
from memgraph.models import CATEGORIES

MAX_CATEGORIES = 24
"""Maximum number of categories: each costs tokens in every update."""
MAX_DESCRIPTION_CHARS = 300
"""Maximum characters of a description, which is part of the prompt of every update."""
REQUIRED_CATEGORIES = ("context", "correction")
"""Always there: what fits no other category is context, and only a correction has what to avoid."""
RESERVED_CATEGORIES = frozenset({"all", "any", "none", "null", "other", "unknown"})
"""What models and people write for no category."""

_NAME = re.compile("[a-z][a-z0-9_-]{0,39}")


class Category(BaseModel, frozen=True, extra="forbid", use_attribute_docstrings=True):
    """A kind of facts, which the model assigns. In a list, a text is the name of a built-in one."""

    name: str
    """1-40 lower-case letters, digits, `-` and `_`, such as `allergy`."""
    description: Annotated[str, Field(max_length=MAX_DESCRIPTION_CHARS), SingleLine] = ""
    """What belongs to it, for the model, such as `foods and drugs to avoid`. A built-in one has its own."""
    stale_days: Annotated[int | None, Field(ge=1, le=36_500)] = None
    """Days after which the upkeep asks whether a fact that was not repeated still holds; default: never."""

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, value: object) -> object:
        """Read a bare name, and give a built-in category its own description."""
        fields = {"name": value} if isinstance(value, str) else value
        if not isinstance(fields, Mapping):
            return fields
        known = cast("Mapping[str, object]", fields)
        built_in = CATEGORIES.get(str(known.get("name")), "")
        return known if known.get("description") else {**known, "description": built_in}

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name):
            raise ValueError("a name has 1 to 40 lower-case letters, digits, - and _, and starts with a letter")
        if name in RESERVED_CATEGORIES:
            raise ValueError(f"{name!r} is reserved, since models write it for no category")
        return name

    @model_validator(mode="after")
    def _check_description_and_days(self) -> Self:
        if not self.description:
            raise ValueError(f"{self.name!r} needs a description, from which the model knows what belongs to it")
        if self.name in CATEGORIES and self.stale_days is not None:
            raise ValueError(f"{self.name!r} is built in: set its days by stale_days: {{{self.name}: ...}}")
        return self

    @property
    def is_built_in(self) -> bool:
        """Whether name and description are those of a built-in category."""
        return CATEGORIES.get(self.name) == self.description


DEFAULT_CATEGORIES = tuple(Category(name=name) for name in CATEGORIES)


def _complete_list(categories: tuple[Category, ...]) -> tuple[Category, ...]:
    """Return *categories* with those that are always there.

    Raises:
        ValueError: If there are none, too many, or two with the same name.
    """
    names = [category.name for category in categories]
    check_names(names, "categories", limit=MAX_CATEGORIES, always=REQUIRED_CATEGORIES)
    return (*categories, *(Category(name=name) for name in REQUIRED_CATEGORIES if name not in names))


Categories = Annotated[tuple[Category, ...], AfterValidator(_complete_list)]
