"""Contradictions that rules can see: one answer where there can be only one, and things that are so and are not so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import datetime
from types import MappingProxyType

from memgraph.audit.finding import Finding, latest, of_two
from memgraph.audit.overlap import covered
from memgraph.audit.polarity import content_terms, is_denied, is_past
from memgraph.models import Fact, Memory
from memgraph.text.fold import fold

_WHO = r"(?:the user(?:'s)?|user(?:'s)?|they|he|she|用户|他|她)?\s*"
_END = r"\s*[.。!！]?\s*"


def _slot(shape: str) -> re.Pattern[str]:
    return re.compile(rf"\s*{_WHO}(?:{shape}){_END}", re.IGNORECASE)


SLOTS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "name": _slot(r"(?:first |full )?name is (?P<x>[^,.;]{1,60})|(?:名字|姓名)?(?:叫|是叫)(?P<y>[^，。；]{1,20})"),
        "home": _slot(
            r"(?:currently |now )?(?:lives?|living|resides?|is based) in (?P<x>[^,.;]{1,60})"
            r"|(?:现在|目前)?住在(?P<y>[^，。；]{1,20})"
        ),
        "employer": _slot(
            r"(?:currently |now )?works? (?:at|for) (?P<x>[^,.;]{1,60}?)(?: as .{1,60})?"
            r"|(?:现在|目前)?在(?P<y>[^，。；]{1,20}?)(?:工作|上班)"
        ),
        "age": _slot(r"is (?P<x>\d{1,3}) years old|(?:今年)?(?P<y>\d{1,3})岁"),
        "birthday": _slot(r"(?:birthday is|was born) (?:on |in )?(?P<x>[^.;]{1,40})|生日是(?P<y>[^，。；]{1,20})"),
        "favourite": _slot(
            r"favou?rite (?P<k>[^,.;]{1,40}?) (?:is|are) (?P<x>[^,.;]{1,60})"
            r"|最喜欢的(?P<l>[^，。；]{1,12}?)是(?P<y>[^，。；]{1,20})"
        ),
        "marriagemarriage": _slot(r"is (?P<x>single|married|divorced|widowed|engaged)\b.{0,60}|(?P<y>单身|已婚|离异)"),
    }
)
"""Questions that have one answer at a time: `x` or `y` is the answer, `k` or `l` what it is about."""

_PREFERS = re.compile(
    rf"\s*{_WHO}prefers? (?P<a>[^,.;]{{1,60}}?) (?:over|to|rather than|instead of) (?P<b>[^,.;]{{1,60}}){_END}",
    re.IGNORECASE,
)


def contradictions(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts that cannot both be so. The newer is suggested to stay; of two of one time neither is."""
    del now
    seen = set[frozenset[str]]()
    for one, other, why in (*_replaced(memory), *_slots(memory), *_turned_round(memory), *_denied(memory)):
        pair = frozenset((one.id, other.id))
        if pair not in seen:
            seen.add(pair)
            kept, gone = (one, other) if latest(one) >= latest(other) else (other, one)
            yield of_two("contradiction", kept, gone, why, remove=latest(kept) != latest(gone))


Pair = tuple[Fact, Fact, str]


def _replaced(memory: Memory) -> Iterator[Pair]:
    for fact in memory.facts:
        for old in fact.replaces:
            if (known := memory.fact(old)) and known.id != fact.id:
                yield fact, known, "the newer one replaced the other, which is still there"


def _slots(memory: Memory) -> Iterator[Pair]:
    answers: defaultdict[str, list[tuple[Fact, str]]] = defaultdict(list)
    for fact in memory.facts:
        if fact.kind != "correction" and not is_past(fact.content) and not is_denied(fact.content):
            for slot, shape in SLOTS.items():
                if match := shape.fullmatch(fact.content):
                    said = match.groupdict()
                    about = said.get("k") or said.get("l") or ""
                    answers[f"{slot} {fold(about)}".strip()].append((fact, said.get("x") or said.get("y") or ""))
    for slot, given in answers.items():
        for place, (one, mine) in enumerate(given):
            for other, theirs in given[place + 1 :]:
                if not _agree(mine, theirs):
                    yield one, other, f"there can be one {slot} only"


def _agree(mine: str, theirs: str) -> bool:
    one, other = " ".join(fold(mine).split()), " ".join(fold(theirs).split())
    return one in other or other in one


def _turned_round(memory: Memory) -> Iterator[Pair]:
    held: dict[tuple[str, str], Fact] = {}
    for fact in memory.facts:
        if match := _PREFERS.fullmatch(fact.content):
            first, second = fold(match["a"]).strip(), fold(match["b"]).strip()
            if other := held.get((second, first)):
                yield fact, other, "one prefers what the other does not"
            held.setdefault((first, second), fact)


def _denied(memory: Memory) -> Iterator[Pair]:
    told = [fact for fact in memory.facts if fact.kind != "correction" and not is_past(fact.content)]
    for one, other in covered(told, lambda fact: content_terms(fact.content)):
        same = content_terms(one.content) == content_terms(other.content)
        if same and is_denied(one.content) != is_denied(other.content):
            yield one, other, "one says what the other denies"
