"""What two facts must share before they can say the same: numbers, and whether something is so."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from difflib import SequenceMatcher
from types import MappingProxyType

from memgraph.audit.findings import Finding, latest, pair_finding
from memgraph.models import Fact, Memory
from memgraph.retrieval.terms import extract_terms
from memgraph.text.normalize import fact_key, fold, single_line

_NUMBER = re.compile(r"\d+(?:[.,:]\d+)*")
_NOT = re.compile(
    r"\b(?:not|no|never|none|nor|without|cannot|dislikes?|disliked|hates?|hated|avoids?|avoided|stopped|quit|refuses?)\b"
    r"|n't\b|n’t\b|不|没|無|无|讨厌|讨嫌|避免|拒绝|别|反对"
)
_PAST = re.compile(
    r"\b(?:used to|formerly|previously|former|once|until|no longer|in the past|as a child|back then|ex)\b"
    r"|以前|曾|过去|之前|原来|不再"
)
_POLAR = frozenset(
    extract_terms("never none without cannot dislikes disliked hates hated avoids avoided like likes liked love loves")
)
_POLAR_HAN = frozenset("不没無无讨厌喜欢爱")


def numbers(text: str) -> frozenset[str]:
    """The numbers in *text*."""
    return frozenset(_NUMBER.findall(text))


def is_negated(text: str) -> bool:
    """Whether *text* says that something is not so."""
    return _NOT.search(fold(text)) is not None


def is_past(text: str) -> bool:
    """Whether *text* says how something was."""
    return _PAST.search(fold(text)) is not None


def content_terms(text: str) -> frozenset[str]:
    """The terms of *text*, less those that only say whether something is so."""
    return frozenset(term for term in extract_terms(text) if term not in _POLAR and not _POLAR_HAN.intersection(term))


MOST_SHARING = 300
"""Facts that a pair is looked for among; a word that more of them share tells nothing."""


def subsumed_pairs(facts: Sequence[Fact], read: Callable[[Fact], frozenset[str]]) -> Iterator[tuple[Fact, Fact]]:
    """Yield each pair of which the second has all the terms of the first; equal ones once.

    A fact is looked for among those that have its rarest term, so that 10,000 take a second.

    Args:
        facts: Any.
        read: The terms of a fact; one without any is in no pair.
    """
    found = [(fact, read(fact)) for fact in facts]
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for place, (_, words) in enumerate(found):
        for word in words:
            holders[word].append(place)
    for place, (fact, words) in enumerate(found):
        if not words:
            continue
        sharing = holders[min(words, key=lambda word: (len(holders[word]), word))]
        for other in sharing[:MOST_SHARING]:
            theirs = found[other][1]
            if other != place and words <= theirs and (words != theirs or place < other):
                yield fact, found[other][0]


LEAST_TERMS = 3
"""Of a fact that another may say better: what has fewer is too short to tell."""
LEAST_SHARE = 0.75
"""Of the longer one's terms, that the shorter must have."""
LEAST_ORDER = 0.8
"""How far the terms must come in the same order, from 0 to 1: "Ada manages Bob" is not "Bob manages Ada"."""


def duplicates(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts that are told twice; what a person wrote stays, else what says more, else what is newer."""
    del now
    gone = set[str]()
    first: dict[str, Fact] = {}
    for fact in sorted(memory.facts, key=_worth, reverse=True):
        if not (key := fact_key(fact.content)):
            continue
        if key in first:
            gone.add(fact.id)
            yield pair_finding("duplicate", first[key], fact, "they say the same")
        first.setdefault(key, fact)
    left = [fact for fact in memory.facts if fact.id not in gone]
    for short, long in subsumed_pairs(left, lambda fact: frozenset(extract_terms(fact.content))):
        if short.id in gone or long.id in gone or not _says_all(short, long):
            continue
        same_length = frozenset(extract_terms(short.content)) == frozenset(extract_terms(long.content))
        kept, dropped = sorted((short, long), key=_worth, reverse=True) if same_length else (long, short)
        gone.add(dropped.id)
        yield pair_finding("duplicate", kept, dropped, "the first says all that the second says")


def _worth(fact: Fact) -> tuple[bool, float, str, str]:
    return fact.is_manual, fact.confidence, latest(fact), fact.id


def _says_all(short: Fact, long: Fact) -> bool:
    mine, theirs = extract_terms(short.content), extract_terms(long.content)
    return (
        short.effective_category == long.effective_category
        and len(set(mine)) >= LEAST_TERMS
        and len(set(mine)) / len(set(theirs)) >= LEAST_SHARE
        and numbers(short.content) == numbers(long.content)
        and is_negated(short.content) == is_negated(long.content)
        and is_past(short.content) == is_past(long.content)
        and _order(mine, theirs) >= LEAST_ORDER
    )


def _order(mine: tuple[str, ...], theirs: tuple[str, ...]) -> float:
    shared = [term for term in theirs if term in set(mine)]
    return SequenceMatcher(None, mine, shared, autojunk=False).ratio()


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
            yield pair_finding("contradiction", kept, gone, why, remove=latest(kept) != latest(gone))


Pair = tuple[Fact, Fact, str]


def _replaced(memory: Memory) -> Iterator[Pair]:
    for fact in memory.facts:
        for old in fact.replaces:
            if (known := memory.fact(old)) and known.id != fact.id:
                yield fact, known, "the newer one replaced the other, which is still there"


def _slots(memory: Memory) -> Iterator[Pair]:
    answers: defaultdict[str, list[tuple[Fact, str]]] = defaultdict(list)
    for fact in memory.facts:
        if fact.effective_category != "correction" and not is_past(fact.content) and not is_negated(fact.content):
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
    one, other = single_line(fold(mine)), single_line(fold(theirs))
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
    told = [fact for fact in memory.facts if fact.effective_category != "correction" and not is_past(fact.content)]
    for one, other in subsumed_pairs(told, lambda fact: content_terms(fact.content)):
        same = content_terms(one.content) == content_terms(other.content)
        if same and is_negated(one.content) != is_negated(other.content):
            yield one, other, "one says what the other denies"
