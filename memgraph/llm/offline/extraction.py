"""Extracts what the user of a conversation states about themselves."""

import re
from collections.abc import Iterator, Sequence

from memgraph.llm.offline import chinese, english
from memgraph.llm.offline.reply import Reply, read_confirmation, read_correction
from memgraph.llm.offline.rules import LANGUAGES, Extraction, pattern
from memgraph.llm.offline.sentences import BLANK, Sentence, read_sentences
from memgraph.prompts.update_prompt import ShownTurn
from memgraph.text.date_phrases import resolve_date
from memgraph.text.dates import days_of

_END = re.compile(r"\b(?:until|till|by|before)\b|直到|截至|之前|以前", re.IGNORECASE)


def find_all(turns: Sequence[ShownTurn]) -> list[Extraction]:
    """Return the facts in the new user turns, each once. Reading ends at a role play."""
    findings: dict[str, Extraction] = {}
    answer = ""
    for turn in turns:
        if turn.speaker != "user":  # what follows another speaker's words does not answer the assistant
            answer = turn.text if turn.speaker == "assistant" else ""
            continue
        if _is_role_play(turn.text):
            break
        if turn.is_new:
            for finding in _find_in_turn(turn.text, answer, turn.date):
                findings.setdefault(finding.content.casefold(), finding._replace(turn=turn.number))
        answer = ""
    return list(findings.values())


def _find_in_turn(text: str, answer: str, day: str) -> Iterator[Extraction]:
    """Yield the facts in one turn, written on *day*; *answer* is the assistant's turn before it."""
    sentences = read_sentences(text)
    reply = _read_reply(sentences, answer)
    first = next((sentence for sentence in sentences if sentence in reply.used), None)
    yield from (_quoting(finding, first) for finding in reply.findings)
    for sentence in sentences:
        if sentence not in reply.used:
            found = [_quoting(finding, sentence) for finding in _find_in_sentence(sentence, text)]
            # of several statements, the one that the date belongs to is not certain
            yield from (_dated(finding, sentence, day) for finding in found) if len(found) == 1 else found


def _dated(finding: Extraction, sentence: Sentence, day: str) -> Extraction:
    """Return *finding* with the date that its sentence, written on *day*, names, unless that is its end."""
    written = days_of(day)
    if written is None or _END.search(sentence.text):
        return finding
    return finding._replace(date=resolve_date(sentence.text, written.first) or "")


def _quoting(finding: Extraction, sentence: Sentence | None) -> Extraction:
    return finding._replace(quote=sentence.text.replace(BLANK, "...")) if sentence else finding


def _read_reply(sentences: Sequence[Sentence], answer: str) -> Reply:
    """Read *sentences* as a reply to *answer*."""
    if not sentences or not answer:
        return Reply()
    return read_correction(sentences, answer) or read_confirmation(sentences, answer) or Reply()


def _find_in_sentence(sentence: Sentence, turn: str) -> Iterator[Extraction]:
    if chinese.is_chinese(sentence.text):
        yield from chinese.find(sentence, greets=chinese.is_introduction(turn))
    if english.is_english(sentence.text):
        yield from english.find(sentence, greets=english.is_introduction(turn))


def _is_role_play(text: str) -> bool:
    return any(pattern(language, "role_play").search(text[:4_000]) for language in LANGUAGES)
