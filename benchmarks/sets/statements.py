"""Labelled sentences: which ones state something worth remembering, for training and for measuring."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from memgraph.analysis.words import language_of
from memgraph.llm.offline.sentences import read_sentences, read_statements

from .labels import HERE, LANGUAGES

NONE = "none"
ORDINARY = HERE / "ordinary.tsv"
"""Sentences that are never trained on."""
CHATS = HERE / "chats.tsv"
"""All sentences of whole chats."""


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


def read_ordinary(path: Path = ORDINARY) -> Iterator[Labelled]:
    """Yield the sentences of ORDINARY or CHATS; their source is their group or writer."""
    rows = (line.split("\t") for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    for group, label, text in rows:
        yield Labelled(label, group, text, language_of(text))


def read_labelled() -> Iterator[Labelled]:
    """Yield the sentences of every language that were labelled one by one."""
    for language in LANGUAGES:
        with path_of_statements(language).open(encoding="utf-8", newline="") as file:
            rows = csv.reader((line for line in file if not line.startswith("#")), "excel-tab", quoting=csv.QUOTE_NONE)
            yield from (Labelled(label, source, text, language) for label, source, text in rows)


def read_training() -> Iterator[Labelled]:
    """Yield the sentences that the classifier of what lasts is trained on: those of `read_labelled`, and of CHATS."""
    yield from read_labelled()
    yield from read_ordinary(CHATS)


def path_of_statements(language: str) -> Path:
    """Return the file of the sentences in *language*."""
    return HERE / f"statements.{language}.tsv"


def statements_of(text: str) -> list[str]:
    """Return the statements that the offline model finds in a turn of the user."""
    return [statement for sentence in read_sentences(text) for statement in read_statements(sentence)]
