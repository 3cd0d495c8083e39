"""Corrections and confirmations of the assistant's last answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from memgraph.llm.offline import chinese, english
from memgraph.llm.offline.english_goals import third
from memgraph.llm.offline.english_text import tokens
from memgraph.llm.offline.error_source import MAX_QUOTE, describe_error, shares_words, wrong_term
from memgraph.llm.offline.rules import Extraction, Language, pattern, words
from memgraph.llm.offline.sentences import BLANK, Sentence, split


class Reply(NamedTuple):
    """A correction or a confirmation, and the sentences that express it."""

    findings: tuple[Extraction, ...] = ()
    used: frozenset[Sentence] = frozenset()


class Statement(NamedTuple):
    """A sentence of a reply, normalized for the patterns of its language."""

    sentence: Sentence
    text: str
    language: Language


def to_statements(sentences: Sequence[Sentence]) -> list[Statement]:
    """Return *sentences* normalized for the patterns of their language."""
    return [_to_statement(sentence) for sentence in sentences]


def _to_statement(sentence: Sentence) -> Statement:
    language = language_of(sentence.text)
    return Statement(sentence, sentence.text if language == "zh" else english.expand(sentence.text), language)


def language_of(text: str) -> Language:
    """Return Chinese if *text* has a Chinese character, else English."""
    return "zh" if chinese.is_chinese(text) else "en"


MIN_QUOTE = 8


def read_confirmation(sentences: Sequence[Sentence], answer: str) -> Reply | None:
    """Return the approach that the first of *sentences* confirm."""
    for first in to_statements(sentences[:2]):
        praise = None if first.sentence.is_asked else pattern(first.language, "confirms").match(first.text)
        if praise is not None:
            return _confirmed(first, praise, answer)
    return None


def _confirmed(first: Statement, praise: re.Match[str], answer: str) -> Reply:
    approach = _kept_practice(praise) or _approach(answer, language_of(answer))
    if approach is None:
        return Reply(used=frozenset({first.sentence}))
    content = (
        f"用户认可的做法：{approach}" if first.language == "zh" else f"Confirmed as the right approach: {approach}"
    )
    return Reply((Extraction(content, "behavior", 0.9, "", first.language),), frozenset({first.sentence}))


def _kept_practice(praise: re.Match[str]) -> str | None:
    """Return what the user explicitly asks to keep doing."""
    return f"{kept}." if (kept := praise.groupdict().get("kept")) else None


def _approach(answer: str, language: Language) -> str | None:
    """Return the sentence of *answer* that describes its approach, without a lead-in such as "Sure,"."""
    for sentence in split(answer):
        lead = pattern(language, "lead_in").match(sentence.text)
        text = sentence.text[lead.end() :] if lead else sentence.text
        says_how = pattern(language, "approach").search(english.expand(text) if language == "en" else text)
        promises = lead is not None and lead[0].rstrip().endswith((":", "："))
        if (says_how or promises) and MIN_QUOTE <= len(text) <= MAX_QUOTE and BLANK not in text:
            return f'"{text}"' if language == "en" else f"“{text}”"
    return None


MAX_SENTENCES = 3
"""A correction is at the beginning of a reply."""
_COMMA = re.compile(r"[，,；;：:]\s*")


def read_correction(sentences: Sequence[Sentence], answer: str) -> Reply | None:
    """Return the correction of *answer* in *sentences*; None if there is none, or not what would be right."""
    opening = to_statements(sentences[:MAX_SENTENCES])
    start = next((at for at, one in enumerate(opening) if _objects(one, answer)), None)
    if start is None or any(_is_own_fault(one) for one in opening):
        return None
    reply = [one for one in opening[start:] if not one.sentence.is_asked]
    found = [(one, each) for one in reply for each in _corrections(one, answer)]
    if not found:
        return None
    one, right = min(found, key=lambda pair: pattern(pair[0].language, "refusal").match(pair[1].content) is not None)
    text = " ".join(each.text for each in reply)
    right = right._replace(
        content=_name_rejected_term(right.content, text, one, answer),
        source_error=describe_error(text, reply[0].text, one.language, answer),
    )
    return Reply((right,), frozenset(each.sentence for each in reply if _is_used(each, one)))


def _is_used(each: Statement, right: Statement) -> bool:
    return each is right or pattern(each.language, "objection").match(each.text) is not None


def _objects(one: Statement, answer: str) -> bool:
    """Return whether *one* rejects the answer, or a word of it."""
    if one.sentence.is_asked or pattern(one.language, "reported").search(one.text):
        return False
    return (
        pattern(one.language, "objection").match(one.text) is not None
        or bool(wrong_term(one.text, one.language, answer))
        or _sets_a_norm(one, answer)
        or (_denies(one, answer) and shares_words(one.text, answer, one.language))
    )


def _sets_a_norm(one: Statement, answer: str) -> bool:
    """Return whether *one* states a norm about something in the answer."""
    norm = pattern(one.language, "norm").search(one.text)
    return norm is not None and norm["subject"].casefold().removesuffix("s") in answer.casefold()


def _denies(one: Statement, answer: str) -> bool:
    """Return whether *one* denies a statement. To a question, it would be an answer."""
    return pattern(one.language, "denial").match(one.text) is not None and not re.search(r"[?？]", answer)


def _is_own_fault(one: Statement) -> bool:
    return pattern(one.language, "own_fault").search(one.text) is not None


def _corrections(one: Statement, answer: str) -> list[Extraction]:
    """Return the corrections in *one*, the best reading first."""
    return [finding for finding in _readings(one, answer) if finding]


def _readings(one: Statement, answer: str) -> Iterator[Extraction | None]:
    objection = pattern(one.language, "objection").match(one.text)
    rest = one.text[objection.end() :].strip(" ,.，。:：!！-") if objection else one.text
    if not rest or BLANK in rest or pattern(one.language, "question").search(rest):
        return
    if one.language == "zh":
        yield _about_user(rest, one, answer)
        yield _chinese_rule(rest)
    else:
        parts = [part for part in pattern("en", "reason_end").split(rest) if part]
        for part in (rest, *(parts if len(parts) > 1 else ())):
            yield _about_user(part, one, answer)
            yield _english_rule(part)


def _about_user(text: str, one: Statement, answer: str) -> Extraction | None:
    find = chinese.find if one.language == "zh" else english.find
    found = [each for each in find(Sentence(text, is_asked=False), greets=False) if not each.ends]
    if not found or (one.language == "zh" and pattern("zh", "team_rule").search(text)):
        return None
    is_excuse = found[0].category == "preference" and not wrong_term(text, one.language, answer)
    return None if is_excuse else found[0]._replace(category="correction", confidence=0.95)


def _rule(content: str, one: str) -> Extraction:
    return Extraction(content, "correction", 0.95, "", "zh" if one == "zh" else "en")


def _english_rule(text: str) -> Extraction | None:
    """An instruction, or a statement with its own subject."""
    text = pattern("en", "correction_tail").sub("", pattern("en", "correction_opening").sub("", text)).strip(" ,.:")
    match = pattern("en", "right_way").fullmatch(text)
    if match is None:
        meant = re.fullmatch(r"(?P<x>(?:an? )?[\w.+#-]+(?: [\w.+#-]+){0,3}), not (?:an? )?[\w .+#-]{2,30}", text)
        match = meant if meant and not re.match(r"(?:it|that|this|i|we|you|so)\b", text, re.IGNORECASE) else None
        text = f"Meant {text}" if match else text
    if match is None or len(text) > MAX_QUOTE or tokens(text)[-1] in words("en", "dangling"):
        return None
    text = _to_third_person(text)
    if pattern("en", "correction_points").search(text):
        return None
    return _rule(f"{text[0].upper()}{text[1:]}.", "en")


def _to_third_person(text: str) -> str:
    """Return *text* in the third person, about the user and the team."""
    text = re.sub(
        r"^I (always |only |never |)(\w+)", lambda said: f"{said[1]}{third(said[2])}", text, flags=re.IGNORECASE
    )
    text = re.sub(
        r"^we (always |only |never |)(\w+)",
        lambda said: f"the team {said[1]}{third(said[2])}",
        text,
        flags=re.IGNORECASE,
    )
    text = re.sub(r"\b(in|for) this (?=repo|project|codebase|team|company)", r"\1 the ", text)
    return re.sub(r"\b(?:our|my)\b", "the user's", re.sub(r"\bme\b", "the user", text), flags=re.IGNORECASE)


def _chinese_rule(text: str) -> Extraction | None:
    """Return the clauses from the first to the last that states a rule."""
    clauses = [clause for clause in _COMMA.split(text) if clause]
    ruling = [at for at, clause in enumerate(clauses) if pattern("zh", "right_way").search(clause)]
    if not ruling:
        return None
    kept = "，".join(clauses[ruling[0] : ruling[-1] + 1]).strip("了啊呀吧。 ")
    if len(kept) > MAX_QUOTE or pattern("zh", "correction_points").search(kept):
        return None
    kept = re.sub(r"^我们的?(?=项目|团队|公司|系统|规范|部署|数据库|代码|接口)", "", kept)
    is_order = re.match(r"(?:请|应该|应当|要|必须|得|用|改用|采用|别|不要|不能|不用|不是|统一|一律|只|先)", kept)
    return _rule(f"正确做法：{kept}" if is_order else re.sub(r"^我们", "用户的团队", kept), "zh")


def _name_rejected_term(content: str, text: str, one: Statement, answer: str) -> str:
    """Return *content*, with the rejected word if it names none."""
    term = wrong_term(text, one.language, answer)
    is_use = re.match(r"Use (?!.*\b(?:not|never|instead)\b)", content)
    return f"{content.removesuffix('.')}, not {term}." if term and is_use and term not in content else content
