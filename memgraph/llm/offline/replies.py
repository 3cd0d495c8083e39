"""Corrections of the assistant's last answer, in the user's own words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from memgraph.llm.offline.patterns import matches_pattern, pattern
from memgraph.llm.offline.sentences import BLANK, MAX_CHARS, Sentence, split_sentences
from memgraph.llm.offline.slot_statements import Filled, read_slot
from memgraph.retrieval.terms import extract_terms
from memgraph.text.words import language_of, words

MAX_SENTENCES = 3  # a correction is at the beginning of a reply
MAX_QUOTE = 200  # characters of a correction, and of what went wrong
MIN_QUOTE = 8
_NOT_THAT = re.compile(r",? (?:and |but )?(?:not|rather than) [^,]+$|[，,]?(?:而)?不是[^，]+$", re.IGNORECASE)
_ASKED = re.compile(r"(?<![^.!?。！？\n])[^.!?。！？\n]++[?？]")


class Correction(NamedTuple):
    """What is right, what was wrong, its slot, the sentence that states what is right, and all that were used."""

    text: str
    error: str
    filled: Filled | None
    sentence: Sentence
    used: frozenset[Sentence]


def read_correction(sentences: Sequence[Sentence], answer: str) -> Correction | None:
    """Return the correction of *answer* in *sentences*; None if there is none, or not what would be right."""
    opening = list(sentences[:MAX_SENTENCES])
    start = next((place for place, one in enumerate(opening) if _objects(one, answer)), None)
    if start is None or any(matches_pattern("own_fault", one.text) for one in opening):
        return None
    reply = [one for one in opening[start:] if not one.is_asked]
    right = [(one, text) for one in reply if (text := _without_objection(one.text)) and _is_rule(text)]
    if not right:
        return None
    text = " ".join(text if text.endswith((".", "。")) else f"{text}." for _, text in right)
    text = text if language_of(text) == "en" else "，".join(text.strip("。. ") for _, text in right)
    used = frozenset({one for one, _ in right} | {one for one in reply if not _without_objection(one.text)})
    filled = read_slot(_NOT_THAT.sub("", right[0][1]))
    return Correction(text, _error(reply, answer), filled, right[0][0], used) if len(text) <= MAX_QUOTE else None


def _objects(one: Sentence, answer: str) -> bool:
    """Return whether *one* rejects the answer, or a word of it."""
    if one.is_asked or matches_pattern("reported", one.text):
        return False
    return any(_objection(one.text)) or bool(_rejected(one.text, answer))


def _objection(text: str) -> tuple[str, str]:
    """Return the words of *text* that only object, and the rest."""
    found = pattern(language_of(text), "objection").match(text)
    return (found[0], text[found.end() :]) if found else ("", "")


def _without_objection(text: str) -> str:
    objection, rest = _objection(text)
    rest = rest if objection else re.sub(r"^(?:no|nope|nah)\b[, ]+", "", text, flags=re.IGNORECASE)
    return rest.strip(" ,.，。:：!！-")


def _is_rule(text: str) -> bool:
    """Return whether *text* states what is right, and can be understood on its own."""
    language = language_of(text)
    return (
        BLANK not in text
        and len(text) >= MIN_QUOTE // (2 if language == "zh" else 1)
        and pattern(language, "rule").search(text) is not None
        and not pattern(language, "pointing").search(text)
        and not pattern(language, "question").search(text)
    )


def _rejected(text: str, answer: str) -> str:
    """Return the word that *text* rejects, if the assistant used it."""
    said = _ASKED.sub(" ", answer[:MAX_CHARS]).casefold()
    is_chinese = language_of(text) == "zh"
    for found in pattern("zh" if is_chinese else "en", "refused").finditer(text):
        wrong = found["wrong"].strip().casefold()
        parts = [wrong[:size] for size in range(8, 1, -1)] if is_chinese else [p.strip(".") for p in wrong.split()[:2]]
        named = (part for part in parts if len(part) > 1 and part not in words("function_words"))
        if term := next((part for part in named if part.removesuffix("s") in said), ""):
            return term
    return ""


def _error(reply: Sequence[Sentence], answer: str) -> str:
    """Return what went wrong: the assistant's sentence, else the user's words."""
    text = " ".join(one.text for one in reply)
    term = _rejected(text, answer).removesuffix("s")
    said = [one.text for one in split_sentences(answer) if BLANK not in one.text and len(one.text) <= MAX_QUOTE]
    holding = next((sentence for sentence in said if term and term in sentence.casefold()), "")
    terms = set(extract_terms(text))
    quote = holding or max(said, key=lambda sentence: len(terms.intersection(extract_terms(sentence))), default="")
    who, quote = ("assistant", quote.strip(" ：:，,")) if quote else ("user", reply[0].text[:MAX_QUOTE])
    if language_of(text) == "zh":
        return f"{'助手' if who == 'assistant' else '用户'}说：“{quote}”"
    return f'The {who} said: "{quote}"'
