"""What a user praises in the assistant's answer: the approach, to be taken again."""

import re
from collections.abc import Sequence

from memgraph.llm.offline import english
from memgraph.llm.offline.blame import MAX_QUOTE
from memgraph.llm.offline.finding import Finding
from memgraph.llm.offline.replies import Reply, Said, language_of, said
from memgraph.llm.offline.sentences import BLANK, Sentence, split
from memgraph.llm.offline.tables import Language, pattern

MIN_QUOTE = 8


def read_confirmation(sentences: Sequence[Sentence], answer: str) -> Reply | None:
    """The approach that *sentences* confirm as soon as they begin."""
    for first in said(sentences[:2]):
        praise = None if first.sentence.is_asked else pattern(first.language, "confirms").match(first.text)
        if praise is not None:
            return _confirmed(first, praise, answer)
    return None


def _confirmed(first: Said, praise: re.Match[str], answer: str) -> Reply:
    approach = _kept(praise) or _approach(answer, language_of(answer))
    if approach is None:
        return Reply(spent=frozenset({first.sentence}))
    content = (
        f"用户认可的做法：{approach}" if first.language == "zh" else f"Confirmed as the right approach: {approach}"
    )
    return Reply((Finding(content, "behavior", 0.9, "", first.language),), frozenset({first.sentence}))


def _kept(praise: re.Match[str]) -> str | None:
    """What the user says to keep doing, in so many words."""
    return f"{kept}." if (kept := praise.groupdict().get("kept")) else None


def _approach(answer: str, language: Language) -> str | None:
    """The sentence of *answer* that says how the assistant goes about it, without "Sure," before it."""
    for sentence in split(answer):
        lead = pattern(language, "lead_in").match(sentence.text)
        text = sentence.text[lead.end() :] if lead else sentence.text
        says_how = pattern(language, "approach").search(english.expand(text) if language == "en" else text)
        promises = lead is not None and lead[0].rstrip().endswith((":", "："))
        if (says_how or promises) and MIN_QUOTE <= len(text) <= MAX_QUOTE and BLANK not in text:
            return f'"{text}"' if language == "en" else f"“{text}”"
    return None
