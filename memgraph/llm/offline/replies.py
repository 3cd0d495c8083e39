"""What a user says of the assistant's last answer: that it was wrong, or just right."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from memgraph.llm.offline import chinese, english
from memgraph.llm.offline.english_text import fits
from memgraph.llm.offline.finding import Finding
from memgraph.llm.offline.sentences import BLANK, Sentence, read_sentences
from memgraph.llm.offline.tables import Language, pattern

MIN_QUOTE, MAX_QUOTE = 8, 200
"""Characters of the assistant's words that a fact may hold."""


class Reply(NamedTuple):
    """Corrections and confirmations, and the sentences that were needed to understand them."""

    findings: tuple[Finding, ...] = ()
    spent: frozenset[Sentence] = frozenset()


def read_reply(sentences: Sequence[Sentence], answer: str) -> Reply:
    """Read *sentences* as a reply to *answer*, what the assistant said before."""
    if not sentences or not answer:
        return Reply()
    return _read_correction(sentences, answer) or _read_confirmation(sentences, answer) or Reply()


# -- it was wrong ---------------------------------------------------------------------------------


def _read_correction(sentences: Sequence[Sentence], answer: str) -> Reply | None:
    """The right way is in the sentence that says "wrong", or in the one after it."""
    for position, sentence in enumerate(sentences[:3]):
        language = _language(sentence.text)
        text = _one_form(sentence.text, language)
        objection = pattern(language, "objection").match(text)
        contrast = pattern(language, "contrast").search(text)
        if sentence.is_asked or not (objection or (contrast and position == 0 and _said(contrast, answer))):
            continue
        rest = text[objection.end() :] if objection else text
        for candidate in (rest, *(_one_form(after.text, language) for after in sentences[position + 1 : position + 2])):
            right = _right_way(candidate, language, answer)
            if right:
                spent = frozenset(sentences[position : position + 2])
                return Reply((right,), spent)
    return None


def _said(contrast: re.Match[str], answer: str) -> bool:
    """Whether the assistant said what is called wrong."""
    wrong = contrast.groupdict().get("wrong") or contrast.groupdict().get("wrong2") or ""
    return bool(wrong.strip()) and wrong.strip(" ,.，。").casefold() in answer.casefold()


def _right_way(text: str, language: Language, answer: str) -> Finding | None:
    """What *text* says is right, if it can stand by itself."""
    text = text.strip(" ,.，。:：!！-")
    if not text or pattern(language, "question").search(text) or BLANK in text:
        return None
    about_user = next(iter(_facts(text, language)), None)
    content = about_user.content if about_user else _rule_of_thumb(text, language, answer)
    if content is None:
        return None
    slot = about_user.slot if about_user else ""
    section = about_user.section if about_user else "workContext"
    return Finding(content, "correction", 0.95, section, language, slot, source_error=_wrong(text, language, answer))


def _facts(text: str, language: Language) -> list[Finding]:
    found = chinese.find if language == "zh" else english.find
    return [finding for finding in found(Sentence(text, is_asked=False), greets=False) if not finding.ends]


def _rule_of_thumb(text: str, language: Language, answer: str) -> str | None:
    """An instruction or a statement about the world, with its own subject."""
    match = pattern(language, "right_way").fullmatch(text)
    contrast = pattern(language, "contrast").search(text)
    if match is None and language == "en" and contrast and _said(contrast, answer) and fits(text.split(), 1, 10):
        return None if re.search(r"\b(?:i|it|you|this|that|he|she|they)\b", text, re.IGNORECASE) else f"Meant {text}."
    if match is None or len(text) > MAX_QUOTE:
        return None
    if language == "zh":
        return None if re.search(r"[这那它你他她]", match["x"]) else f"正确做法：{text}"
    if re.match(r"I (?:need|want) ", text, re.IGNORECASE):
        text = re.sub(r"^I (need|want)", lambda verb: f"{verb[1].title()}s", text, flags=re.IGNORECASE)
    if re.search(r"\b(?:i|me|my)\b", text, re.IGNORECASE):
        return None
    if re.search(r"\b(?:it|this|that|these|those|them|you|one|again|there|here)\b", match["x"], re.IGNORECASE):
        return None
    return f"{text[0].upper()}{text[1:]}."


def _wrong(text: str, language: Language, answer: str) -> str:
    """The sentence of the assistant that was wrong: the one with the word that is called wrong."""
    contrast = pattern(language, "contrast").search(text)
    wrong = (
        (contrast.groupdict().get("wrong") or contrast.groupdict().get("wrong2") or "").strip(" ,.，。")
        if contrast
        else ""
    )
    said = [sentence.text for sentence in read_sentences(answer)]
    holding = [sentence for sentence in said if wrong and wrong.casefold() in sentence.casefold()]
    quoted = (holding or said[:1] or [wrong])[0][:MAX_QUOTE]
    return f"助手说：“{quoted}”" if language == "zh" else f'The assistant said: "{quoted}"'


# -- it was right ---------------------------------------------------------------------------------


def _read_confirmation(sentences: Sequence[Sentence], answer: str) -> Reply | None:
    first = sentences[0]
    language = _language(first.text)
    if first.is_asked or not pattern(language, "confirms").match(_one_form(first.text, language)):
        return None
    approach = _approach(answer, _language(answer))
    if approach is None:
        return Reply(spent=frozenset({first}))
    content = f"用户认可的做法：{approach}" if language == "zh" else f"Confirmed as the right approach: {approach}"
    finding = Finding(content, "behavior", 0.9, "workContext", language)
    return Reply((finding,), frozenset({first}))


def _approach(answer: str, language: Language) -> str | None:
    """The sentence of *answer* that says how the assistant goes about it."""
    for sentence in read_sentences(answer):
        text = english.expand(sentence.text) if language == "en" else sentence.text
        if (
            pattern(language, "approach").search(text)
            and MIN_QUOTE <= len(sentence.text) <= MAX_QUOTE
            and BLANK not in text
        ):
            return f'"{sentence.text}"' if language == "en" else f"“{sentence.text}”"
    return None


def _language(text: str) -> Language:
    return "zh" if chinese.is_chinese(text) else "en"


def _one_form(text: str, language: Language) -> str:
    return text if language == "zh" else english.expand(text)
