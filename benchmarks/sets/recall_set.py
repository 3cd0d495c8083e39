"""The recall set: memories of invented people, and questions about them. make_recall_set.py generates it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memgraph import MemoryDocument

SET = Path(__file__).parent / "recall.json"
LANGUAGES = {"en": "English", "zh": "Chinese"}


@dataclass(frozen=True)
class Question:
    """A question, the id of its answer, and the ids of outdated answers."""

    kind: str
    text: str
    answer: str
    outdated: frozenset[str]
    compatible: bool = False
    """Whether the answer and an outdated one can both be true."""
    said: str = ""
    """What the user says with a compatible answer: that it replaces the outdated one."""


@dataclass(frozen=True)
class Persona:
    """A memory, and questions about it."""

    language: str
    memory: MemoryDocument
    questions: tuple[Question, ...]


def read_personas() -> list[Persona]:
    """Read the set of questions."""
    return [_persona(item) for item in json.loads(SET.read_text("utf-8"))["personas"]]


def _persona(item: Mapping[str, Any]) -> Persona:
    questions = (Question(**each | {"outdated": frozenset(each.get("outdated", ()))}) for each in item["questions"])
    return Persona(item["language"], MemoryDocument(facts=item["facts"]), tuple(questions))
