"""Statements that leave no doubt which slot they fill."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from datetime import date
from functools import cache, partial
from gzip import decompress
from importlib.resources import files
from itertools import chain
from typing import NamedTuple

from pydantic import BaseModel

from memgraph._yaml import read_packaged
from memgraph.analysis.date_phrases import find_dates
from memgraph.analysis.parts import parts_of
from memgraph.analysis.words import language_of, words
from memgraph.llm.offline.sentences import compiled

CONTRACTIONS = (
    (re.compile(r"\b(?:I'm|im)\b", re.IGNORECASE), "I am"),
    (re.compile(r"\b(?:I've|ive)\b", re.IGNORECASE), "I have"),
    (re.compile(r"\b(do|does|did)n'?t\b", re.IGNORECASE), r"\1 not"),
    (re.compile(r"\b(name|job)'?s (?=\S)", re.IGNORECASE), r"\1 is "),
)
_ANY_DAY, _OTHER_DAY = date(2000, 1, 1), date(2003, 7, 9)
_BEFORE_DATE = re.compile(r"\b(?:in|on|since|at) $")
MAX_AGE = 120
MAX_VALUE = 40  # characters of a value; a longer one is more than a value


class StatementRule(BaseModel, frozen=True, extra="forbid"):
    """An entry of slot_statements.yaml, which describes its fields. `check` names the check that a value must pass."""

    slot: str
    check: str
    when: tuple[str, ...]
    also: tuple[str, ...] = ()
    says: str
    ends: tuple[str, ...] = ()
    greeting: bool = False
    tentative: bool = False


class StatementTable(BaseModel, frozen=True, extra="forbid"):
    """slot_statements.yaml."""

    fragments: dict[str, str]
    statements: tuple[StatementRule, ...]


class Filled(NamedTuple):
    """A slot and its value, stated or known."""

    slot: str
    value: str
    content: str = ""
    """The fact in a standard wording; empty if the statement contains more."""
    role: str = ""
    """Of an employee."""
    is_tentative: bool = False
    ends: tuple[str, ...] = ()
    """Other slots that are empty from now on."""


def read_slot(text: str, *, introduces: bool = False) -> Filled | None:
    """Return the slot that the statement *text*, or the first of two that it makes, fills.

    *introduces*: it belongs to an introduction.
    """
    first, *others = parts_of(text)
    if others and (filled := read_slot(first, introduces=introduces)):
        return filled._replace(content="")
    text = _expanded(text)
    undated = _undated(text)
    for rule in _table().statements:
        if rule.greeting and not introduces:
            continue
        if filled := next(chain(_fill(rule, rule.when, text), _fill(rule, rule.when, undated)), None):
            return filled
        if filled := next(chain(_fill(rule, rule.also, text), _fill(rule, rule.also, undated)), None):
            return filled._replace(content="")
    return None


def _undated(text: str) -> str:
    """Return *text* without the dates in it, which its quote has."""
    for found in reversed(find_dates(text, _ANY_DAY)):
        text = f"{_BEFORE_DATE.sub('', text[: found.start])}{text[found.end :]}"
    return " ".join(text.split()).strip(" ,，")


def find_known_slot(content: str) -> str | None:
    """Return the slot of a known fact in a standard wording, as a person or a tool may have written it.

    That may be the user's own.
    """
    if said := read_slot(content.strip(" .。")):
        return said.slot
    found = (filled for rule in _table().statements for filled in _fill(rule, (_worded(rule.says),), content))
    return next((filled.slot for filled in found if not _is_side_job(filled)), None)


def _is_side_job(filled: Filled) -> bool:
    """Return whether the value is a profession that people have in addition to another one."""
    return filled.slot == "role" and any(side in filled.value.casefold() for side in words("side_jobs"))


def _worded(says: str) -> str:
    source = re.sub(r"\\{(\w+)\\}", r"(?P<\1>.+?)", re.escape(says))
    return source.replace(re.escape("用户"), "(?:用户)?").removesuffix(re.escape(".")) + r"\.?"


def _fill(rule: StatementRule, sources: tuple[str, ...], text: str) -> Iterator[Filled]:
    for source in sources:
        if found := _compiled(source).fullmatch(text):
            groups = found.groupdict(default="")
            value, role = groups["x"].strip(" .,!\"'"), groups.get("role")
            checked = CHECKS[rule.check](value) if 0 < len(value) <= MAX_VALUE else None
            checked_role = _role(role) if role else groups.get("any_role", "")
            if checked and checked_role is not None:
                content = rule.says.format_map({"x": checked, "role": checked_role, "any_role": checked_role})
                yield Filled(rule.slot, checked, content, checked_role, rule.tentative, rule.ends)


def _expanded(text: str) -> str:
    for contraction, full in CONTRACTIONS:
        text = contraction.sub(full, text)
    return " ".join(text.split())


# -- what a value must be: the value in its usual form, or None -----------------------------------------------

_NAME = re.compile(r"[^\W\d_]\S*(?: [^\W\d_]\S*){0,2}")
_NATIONALITY = re.compile(r"\S+(?:an|ese|ish|er|ist)")
_PLACE = re.compile(r"[A-Z]\S*(?: (?:de|of|[A-Z]\S*)){0,3}(?:, [A-Z][\w ]*){0,2}")
_ASIDE = re.compile(r" (?:most|some|many|on|every|today|this|right|all|in the|because|so|and|but)\b")
_TITLE_END = re.compile(r" (?:in|for|with|from|of|who|that|by|and|but|on)\b")
_NO_JOB = re.compile(r"\b(?:good|bad|this|that|my|not|slow|great|game)\b|[我你他她这那不过，,]|(?:上班|工作|任职)$")
_CHINESE_NAME = re.compile(r"[^\W\d_A-Za-z]{2,4}|[A-Z][a-z]+(?: [A-Z][a-z]+)?")
_CHINESE_PLACE = re.compile(r"[^，,的]{2,12}")
_BARE_FIRM = re.compile(r"公司|学校|医院|酒店|银行|工厂|.*[我你他她这那].*")


def _lists(name: str, text: str) -> bool:
    return text.casefold().replace(" ", "_") in words(name)


def _listed(name: str, text: str) -> str | None:
    return text.casefold() if _lists(name, text) else None


def _name(text: str) -> str | None:
    if not _NAME.fullmatch(text) or any(_lists("not_names", part) for part in text.split()):
        return None
    return " ".join(part if part[0].isupper() else part.title() for part in text.split())


def _greeted_name(text: str) -> str | None:
    first = text.split(maxsplit=1)[0]
    is_known = any(_lists(name, first) for name in ("LANGUAGE", "JOB", "not_places"))
    is_capital = all(part[0].isupper() and not part.isupper() for part in text.split())
    return _name(text) if is_capital and not is_known and not _NATIONALITY.fullmatch(text) else None


def _place(text: str) -> str | None:
    is_named = _PLACE.fullmatch(text) and not _lists("not_places", text.partition(",")[0])
    return text if is_named else _known_place(text)


def _known_place(text: str) -> str | None:
    places = _places()
    known = (places.large,) if text[0].islower() else (places.large, places.small)
    if not any(_lists("places", part) or any(part.casefold() in names for names in known) for part in text.split(", ")):
        return None
    return text if text[0].isupper() else text.upper() if len(text) < len("rome") else text.title()


def _firm(text: str) -> str | None:
    is_named = text[0].isupper() or text.startswith(("the ", "a ", "an "))
    return text if is_named and not _ASIDE.search(text) and not _lists("not_places", text) else None


def _role(text: str) -> str | None:
    if language_of(text) == "zh":
        return _chinese_role(text)
    *_, title = _TITLE_END.split(text)[0].split()
    if not any(_lists("JOB", form) for form in (title, title.removesuffix("er"))) or _NO_JOB.search(text):
        return None
    return text if text.startswith(("a ", "an ", "the ")) else f"{'an' if text[0] in 'aeio' else 'a'} {text}"


def _age(text: str) -> str | None:
    return text if 1 <= int(text) <= MAX_AGE else None


def _birthday(text: str) -> str | None:
    found, later = (find_dates(text, today) for today in (_ANY_DAY, _OTHER_DAY))  # "in 3 days" is another one then
    return text if found == later and [(one.start, one.end) for one in found] == [(0, len(text))] else None


def _chinese_name(text: str) -> str | None:
    is_other = any(part in text for part in words("not_in_chinese_names")) or _lists("firms", text)
    return text if _CHINESE_NAME.fullmatch(text) and not is_other else None


def _chinese_place(text: str) -> str | None:
    begins = {text[:end] for end in range(2, len(text) + 1)}
    is_known = not begins.isdisjoint(words("places") | _places().chinese) or text.endswith(tuple("省市县区镇乡州岛"))
    is_other = text.startswith(tuple(words("not_places"))) or not _CHINESE_PLACE.fullmatch(text)
    return text if is_known and not is_other else None


def _chinese_firm(text: str) -> str | None:
    return text if text.endswith(tuple(words("firms"))) and not _BARE_FIRM.fullmatch(text) else None


def _chinese_role(text: str) -> str | None:
    is_job = text.endswith(tuple(job for job in words("JOB") if not job.isascii()))
    return text if is_job and not _NO_JOB.search(text) else None


_ENGLISH = (_name, _greeted_name, _place, _known_place, _firm, _role, _age, _birthday)
_CHINESE = (_chinese_name, _chinese_place, _chinese_firm, _chinese_role)
_LISTED = ("out_of_work", "marital_status")
"""Lists of words that are all the values of a slot."""
CHECKS: Mapping[str, Callable[[str], str | None]] = {
    **{check.__name__[1:]: check for check in (*_ENGLISH, *_CHINESE)},
    **{name: partial(_listed, name) for name in _LISTED},
}


class Places(NamedTuple):
    """Names of places, folded: benchmarks/places.py writes them."""

    large: frozenset[str]
    small: frozenset[str]
    """In lower case they are words."""
    chinese: frozenset[str]


@cache
def _places() -> Places:
    data = files("memgraph.llm.offline").joinpath("places.txt.gz").read_bytes()
    return Places(*(frozenset(block.split("\n")) for block in decompress(data).decode().casefold().split("\n\n")))


@cache
def _table() -> StatementTable:
    return StatementTable.model_validate(read_packaged("memgraph.llm.offline", "slot_statements.yaml"))


@cache
def _compiled(source: str) -> re.Pattern[str]:
    for name, fragment in _table().fragments.items():
        source = source.replace(f"<{name}>", fragment)
    return compiled(source)
