"""What a user says of the assistant's last answer: that it was wrong, or just right."""

from collections.abc import Sequence
from typing import NamedTuple

from memgraph.llm.offline import chinese, english
from memgraph.llm.offline.finding import Finding
from memgraph.llm.offline.sentences import Sentence
from memgraph.llm.offline.tables import Language


class Reply(NamedTuple):
    """A correction or a confirmation, and the sentences that were needed to understand it."""

    findings: tuple[Finding, ...] = ()
    spent: frozenset[Sentence] = frozenset()


class Said(NamedTuple):
    """A sentence of a reply, in the one form that the patterns of its language read."""

    sentence: Sentence
    text: str
    language: Language


def said(sentences: Sequence[Sentence]) -> list[Said]:
    """*sentences* as their language's patterns read them."""
    return [_said(sentence) for sentence in sentences]


def _said(sentence: Sentence) -> Said:
    language = language_of(sentence.text)
    return Said(sentence, sentence.text if language == "zh" else english.expand(sentence.text), language)


def language_of(text: str) -> Language:
    """Chinese where *text* has a Chinese character."""
    return "zh" if chinese.is_chinese(text) else "en"
