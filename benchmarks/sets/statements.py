"""Labelled sentences: which ones state something worth remembering, and those held out of training."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memgraph.llm.offline.sentences import read_sentences
from memgraph.llm.offline.statements import read_statements

from .labels import HERE, LANGUAGES

NONE = "none"
HELD_OUT = 3
"""One sentence in this many is held out."""


class Labelled(NamedTuple):
    """A sentence and its label."""

    label: str
    """A category, or `none`."""
    source: str
    text: str
    language: str

    @property
    def is_kept(self) -> bool:
        """Whether it should be remembered."""
        return self.label != NONE

    @property
    def is_held_out(self) -> bool:
        """Whether it is only for measuring. The text alone decides, so it stays where it is as the set grows."""
        return int(hashlib.sha256(self.text.encode()).hexdigest(), 16) % HELD_OUT == 0


def read_labelled() -> Iterator[Labelled]:
    """Yield the sentences of every language."""
    for language in LANGUAGES:
        with path_of_statements(language).open(encoding="utf-8", newline="") as file:
            rows = csv.reader((line for line in file if not line.startswith("#")), "excel-tab", quoting=csv.QUOTE_NONE)
            yield from (Labelled(label, source, text, language) for label, source, text in rows)


def path_of_statements(language: str) -> Path:
    """Return the file of the sentences in *language*."""
    return HERE / f"statements.{language}.tsv"


def statements_of(text: str) -> list[str]:
    """Return the statements that the offline model finds in a turn of the user."""
    return [statement for sentence in read_sentences(text) for statement in read_statements(sentence)]
