"""Facts in a Chinese sentence about its author."""

import re
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from itertools import takewhile
from types import MappingProxyType

from memgraph.llm.offline import chinese_entities, chinese_preferences
from memgraph.llm.offline.chinese_text import plain, short
from memgraph.llm.offline.rules import Extraction, Kind, apply_rule, endings, pattern, rules
from memgraph.llm.offline.sentences import Sentence

VALIDATORS: Mapping[str, Kind] = MappingProxyType(
    {
        "text": plain,
        "short": short,
        "name": chinese_entities.name,
        "surnamed": chinese_entities.surnamed,
        "nickname": chinese_entities.nickname,
        "date": chinese_entities.date,
        "pet_name": chinese_entities.pet_name,
        "place": chinese_entities.place,
        "known_place": chinese_entities.known_place,
        "homeland": chinese_entities.homeland,
        "organisation": chinese_entities.organisation,
        "firm": chinese_entities.firm,
        "city": chinese_entities.city,
        "school": chinese_entities.school,
        "business": chinese_entities.business,
        "job": chinese_entities.job,
        "self": chinese_entities.self,
        "possession": chinese_entities.possession,
        "relation": chinese_entities.relation,
        "pet": chinese_entities.pet,
        "thing": chinese_preferences.thing,
        "named": chinese_preferences.named,
        "label": chinese_preferences.label,
        "languages": chinese_preferences.languages,
        "tools": chinese_preferences.tools,
        "pastime": chinese_preferences.pastime,
        "aim": chinese_preferences.aim,
        "aim_said": chinese_preferences.aim_said,
        "lesson": chinese_preferences.lesson,
        "project": chinese_preferences.project,
        "habit": chinese_preferences.habit,
    }
)
"""Validators of values, by name: each normalizes a text or returns None. A rule names one for each value."""

_COMMA = re.compile(r"\s*(?:[，,;；]|——|…+)\s*|(?:并且|而且|同时也|，?但是?|不过|所以|因此)(?=我)")
_SPACE = re.compile(r"(?<=[\u4e00-\u9fff，、]) +| +(?=[\u4e00-\u9fff，、])")
_ITEM = re.compile(
    r"(?!推荐|求|帮|请|谢|给|来|麻烦|怎|有|坐标|base)[^\s你我他她的了吗呢吧也还很是不想会在有对最为请能可]{1,5}"
)
_OF_OTHERS = re.compile(
    r"用户的(?!名|生日|母语|目标|梦想|理想|工作|团队)|用户(?:家里)?(?:养[了着]?|有)[一两二三四五六七八九十几\d]*[个只条位匹头]"
)
"""A fact about another person, or about a pet: a following clause without a subject continues with that person."""
_ALL_OPENING = re.compile(r".{1,3}")
MAX_OPENINGS = 3


def is_chinese(text: str) -> bool:
    """Return whether *text* contains Chinese characters."""
    return re.search(r"[\u4e00-\u9fff]", text) is not None


def is_introduction(turn: str) -> bool:
    """Return whether *turn* contains a greeting, so that 我是张三 is an introduction."""
    return pattern("zh", "greeting").search(turn[:200]) is not None


def find(sentence: Sentence, *, greets: bool) -> Iterator[Extraction]:
    """Return the facts in *sentence* about its author. *greets*: its turn is an introduction."""
    text = _SPACE.sub("", sentence.text)
    if pattern("zh", "joke").search(text):
        return
    clauses = _clauses(text)
    if sentence.is_asked and clauses:
        clauses = [] if pattern("zh", "tag").fullmatch(clauses[-1]) else clauses[:-1]
    unfit = {"greeting"} if not greets else set[str]()
    unfit |= {"settled"} if pattern("zh", "trouble").search(text) or sentence.is_asked else set[str]()
    speaking = False
    for clause in takewhile(_is_meant, clauses):
        found = [] if pattern("zh", "question").search(clause) else list(_match(clause, unfit, speaking=speaking))
        speaking = bool(found) and not _OF_OTHERS.match(found[-1].content)
        yield from found


def _is_meant(clause: str) -> bool:
    """Return whether *clause* states something real: not hypothetical, not reported speech."""
    return not (pattern("zh", "unreal").search(clause) or pattern("zh", "reported").search(clause))


def _clauses(text: str) -> list[str]:
    """Return the clauses of *text*; a list separated by commas is one clause."""
    clauses: list[str] = []
    for part in _COMMA.split(text):
        clause = _without_opening(part.strip())
        if clauses and re.match(r"比起|相比|与其", clauses[-1]):
            clauses[-1] += f"，{clause}"
        elif clauses and _ITEM.fullmatch(part) and re.search(r"喜欢|爱好|热爱", clauses[-1]):
            clauses[-1] += f"、{part}"
        elif clause:
            clauses.append(clause)
    return clauses


def _without_opening(clause: str) -> str:
    for _ in range(MAX_OPENINGS):
        opening = pattern("zh", "opening").match(clause)
        if opening is None or (opening.end() == len(clause) and not _ALL_OPENING.fullmatch(clause)):
            break
        clause = clause[opening.end() :]
    return clause


def _match(clause: str, unfit: AbstractSet[str], *, speaking: bool) -> Iterator[Extraction]:
    """Match the rules. A clause without 我 counts only if the one before it is about the user."""
    if speaking and re.match(r"一[名位个]", clause):
        clause = f"我是{clause}"
    if not speaking and not re.search("我|本人|始终|以后|今后|回答|回复|^(?:请|别|不要)", clause):
        return
    if re.match(r"(?:你|您|他|她|它|这|那|谁)", clause) and not re.match(
        r"(?:你|您)(?:也|可以|就|以后)*(?:叫|称呼|喊)我", clause
    ):
        return
    for rule in (*endings("zh"), *rules("zh")):
        if rule.entry.only in unfit:
            continue
        if rule.entry.only == "always" and not re.search("始终|以后|今后|一直|永远|从现在起", clause):
            continue
        found = apply_rule(rule, clause, VALIDATORS, "zh")
        if found is not None:
            if found[0]:
                yield found[0]._replace(ends=rule in endings("zh"))
            return
