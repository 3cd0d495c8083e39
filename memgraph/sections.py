"""The summaries that a policy lists; by default the six built-in ones.

In Python a built-in summary has the name of its attribute, `work_context`. In settings, prompts, answers and documents
it has the key of the document, `workContext`. A custom summary has one name, which is its key.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from memgraph._validation import SingleLine, check_names
from memgraph.models import SECTIONS

MAX_SECTIONS = 16
"""Maximum number of summaries."""
MAX_INSTRUCTION_CHARS = 300
"""Maximum characters of an instruction, which is part of the prompt of every update."""
RESERVED_SECTIONS = frozenset(
    {"user", "history", "facts", "newFacts", "past", "threads", "quarantine", "summaries", "section", "profile", "none"}
)
"""Keys of documents and answers, and what models write for no summary."""

_NAME = re.compile("[a-z]{2,}(?:[A-Z][a-z]+)*")
_MAX_NAME_CHARS = 40
_KEYS: Mapping[str, str] = {to_camel(name): name for name in SECTIONS}
_NEXT_WORD = re.compile("(?<=[a-z])(?=[A-Z])")


def section_name(key: str) -> str:
    """Return the name of the summary that has *key* in the document: `work_context` of `workContext`."""
    return _KEYS.get(key, key)


def section_title(name: str) -> str:
    """Return the title of a custom summary: `Health notes` of `healthNotes`. A document may have any name."""
    return _NEXT_WORD.sub(" ", name[:_MAX_NAME_CHARS]).capitalize()


class SummarySection(BaseModel):
    """A summary that updates rewrite. In a list, a text is the key of a built-in one."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    name: str
    """Its key in the document: letters in camel case, at most 40, such as `healthNotes`."""
    instruction: Annotated[str, Field(max_length=MAX_INSTRUCTION_CHARS), SingleLine] = ""
    """What it is about, for the model, such as `illnesses and medication`. A built-in one has its own."""
    max_tokens: Annotated[int | None, Field(ge=50, le=4_000)] = None
    """Maximum tokens of a new text; default: `max_summary_tokens`."""

    @model_validator(mode="before")
    @classmethod
    def _read_bare_name(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        if not _NAME.fullmatch(name) or len(name) > _MAX_NAME_CHARS:
            raise ValueError(f"a name has 2 to {_MAX_NAME_CHARS} letters in camel case, such as healthNotes")
        if name in RESERVED_SECTIONS:
            raise ValueError(f"{name!r} is reserved, since documents and answers have that key")
        return name

    @model_validator(mode="after")
    def _check_instruction(self) -> Self:
        if not self.instruction and self.name not in _KEYS:
            raise ValueError(f"{self.name!r} needs an instruction, from which the model knows what it is about")
        return self

    @property
    def section(self) -> str:
        """Its name in Python, see `section_name`."""
        return section_name(self.name)


DEFAULT_SECTIONS = tuple(SummarySection(name=key) for key in _KEYS)


def _check_list(sections: tuple[SummarySection, ...]) -> tuple[SummarySection, ...]:
    """Return *sections* if there is one, not too many, and no two with the same name."""
    check_names([section.name for section in sections], "summaries", limit=MAX_SECTIONS)
    return sections


Sections = Annotated[tuple[SummarySection, ...], AfterValidator(_check_list)]
