"""Finds what the user of a conversation states about themselves: facts, and the ends of facts."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from memgraph.llm.offline.patterns import matches_pattern, pattern
from memgraph.llm.offline.replies import Correction, read_correction
from memgraph.llm.offline.sentences import BLANK, Sentence, read_sentences, read_verbatim
from memgraph.llm.offline.slot_statements import Filled, read_end, read_slot
from memgraph.llm.offline.statements import Utterance, read_remembered, read_statements
from memgraph.prompts.update_prompt import ShownTurn
from memgraph.text.lasting import predict
from memgraph.text.turns import is_acknowledgement
from memgraph.text.words import language_of

CERTAIN, LIKELY = 0.95, 0.85
Embed = Callable[[str], Sequence[float]]
"""Returns the vector of a statement by the embedding model `local`."""
_GREETING = re.compile(r"\b(?:hi|hello|hey|good (?:morning|evening)|nice to meet you)\b|[你您家]好|嗨", re.IGNORECASE)


class Extraction(NamedTuple):
    """A fact of the user, in their own words unless it only fills a slot.

    `quote` is the statement that it was read from; `filled` the slot that it fills; `ended` the one that the statement
    ends, so that it is a fact only if no known fact is ended; `source_error` what a correction corrects.
    """

    content: str
    category: str
    confidence: float
    quote: str
    filled: Filled | None = None
    ended: Filled | None = None
    source_error: str = ""
    turn: int = 0

    @property
    def slot(self) -> str:
        """The slot that the fact fills, or an empty text."""
        return self.filled.slot if self.filled else ""

    @property
    def is_tentative(self) -> bool:
        """Whether the words may mean something else: it never replaces another value of its slot."""
        return self.filled is not None and self.filled.is_tentative


def find_all(turns: Sequence[ShownTurn], embed: Embed | None = None) -> list[Extraction]:
    """Return the facts in the new user turns, each once; *embed* helps to choose them. Reading ends at a role play."""
    findings: dict[str, Extraction] = {}
    answer = ""
    for turn in turns:
        if turn.speaker != "user":  # what follows another speaker's words does not answer the assistant
            answer = turn.text if turn.speaker == "assistant" else ""
            continue
        if matches_pattern("role_play", turn.text[:4_000]):
            break
        if turn.is_new:
            for finding in find_in_turn(turn, answer, embed):
                findings.setdefault(finding.content.casefold(), finding._replace(turn=turn.number))
        answer = ""
    return list(findings.values())


def find_in_turn(turn: ShownTurn, answer: str = "", embed: Embed | None = None) -> Iterator[Extraction]:
    """Yield the facts in one turn; *answer* is the assistant's turn before it."""
    sentences = read_sentences(turn.text)
    correction = read_correction(sentences, answer) if answer else None
    if correction:
        yield _to_correction(correction)
    for sentence in read_verbatim(turn.text):
        if remembered := read_remembered(sentence.text):
            category = predict(remembered, language_of(remembered)).category
            yield Extraction(remembered, category, CERTAIN, sentence.text, read_slot(remembered))
    for sentence in sentences:
        if correction is None or sentence not in correction.used:
            yield from _find_in_sentence(sentence, turn.text, embed)


def _to_correction(found: Correction) -> Extraction:
    content = (found.filled.content if found.filled else "") or own_words(found.text)
    quote = found.sentence.text.replace(BLANK, "...")
    return Extraction(content, "correction", CERTAIN, quote, found.filled, source_error=found.error)


def _find_in_sentence(sentence: Sentence, turn: str, embed: Embed | None) -> Iterator[Extraction]:
    statements = read_statements(sentence)
    greets = _GREETING.search(turn[:200]) is not None
    for number, statement in enumerate(statements):
        introduces = greets or (number == 0 and len(statements) > 1)
        if found := _read_statement(statement, embed, introduces=introduces):
            yield found


def _read_statement(statement: Utterance, embed: Embed | None, *, introduces: bool) -> Extraction | None:
    text = statement.text
    prediction, own = predict(text, statement.language, embed(text) if embed else None), own_words(text)
    if ended := read_end(text):
        return Extraction(own, prediction.category, max(prediction.confidence, LIKELY), text, ended=ended)
    if filled := read_slot(text, introduces=introduces):
        return Extraction(filled.content or own, "context", LIKELY if filled.is_tentative else CERTAIN, text, filled)
    if pattern(statement.language, "wish").match(text):
        return Extraction(own, "preference", LIKELY, text)
    is_kept = prediction.is_kept and not is_acknowledgement(text)
    return Extraction(own, prediction.category, prediction.confidence, text) if is_kept else None


def own_words(text: str) -> str:
    """Return *text* as a sentence: a capital at the beginning, and in English a full stop at the end."""
    text = " ".join(text.split()).strip(" ,，;；")
    if language_of(text) == "zh":
        return text.rstrip("。.")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', '…')) else '.'}"
