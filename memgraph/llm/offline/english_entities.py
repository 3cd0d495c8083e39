"""English values about people: names, professions, family, pets."""

from __future__ import annotations

import re
from itertools import takewhile

from memgraph.llm.offline.english_text import fits, is_vague, is_word, lists, short, third_person, tidy, tokens, trimmed
from memgraph.llm.offline.rules import words
from memgraph.llm.offline.sentences import BLANK

_DATE = re.compile(
    r"\d ?[./-] ?\d|\d{1,2}(?:st|nd|rd|th)\b"
    r"|\b(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)(?:uary|ruary|ch|il|ust|tember|ember|ober)?\b",
    re.IGNORECASE,
)
_TIMEZONE = re.compile(
    r"(?:UTC|GMT)(?: ?[+-] ?\d{1,2}(?::?\d\d)?)?|[A-Z]{2,5}|[A-Z][A-Za-z]+/[A-Z][A-Za-z_]+"
    r"|(?:[A-Z][a-z]+ )+(?:standard |daylight |summer )?time",
    re.IGNORECASE,
)
_NAME_END = re.compile(r",| and | but | from | - | \(|\bby the way\b")
_JOB_END = re.compile(
    r" (?:at|for|in|with|who|which|that|working|living|based|by|from|of(?= my)|on|but|so|because|now|since|looking"
    r"|trying|specializing|to|and (?=(?:i|my|live|love|work|am)\b)) |[,;(!:]| - "
)
_FAMILY_END = re.compile(
    r" (?:who|which|that|so|because|but|to|at|from|for|in|with me|and (?=(?:i|we|they|he|she|it|my)\b)) |[;(!]| - "
    r"|, (?=(?:so|but|he|she|it|they|and (?:i|we|they))\b)"
)


def name(text: str) -> str | None:
    """A name stated explicitly, in any case."""
    parts = _NAME_END.split(text.strip(" .!\"'"), maxsplit=1)[0].split()
    if not fits(parts, 1, 4) or not all(is_word(part) and not lists("not_names", part) for part in parts):
        return None
    return " ".join(part if part[:1].isupper() else part.title() for part in parts)


def proper_name(text: str) -> str | None:
    """A name, recognized by its capitals."""
    found = name(text)
    is_tool = found is not None and any(lists("tools", part) for part in found.split())
    return found if found and found in text and fits(found.split(), 1, 3) and not is_tool else None


def job(text: str) -> str | None:
    """A profession: the head of the phrase is a known one."""
    tidied = trimmed(_JOB_END.split(f"{text} ", maxsplit=1)[0])
    found = tokens(tidied)
    parts = tokens(re.split(r" of | and ", tidied, maxsplit=1)[0])
    if not fits(found, 1, 7) or BLANK in tidied or not parts or not lists("roles", parts[-1]):
        return None
    says_little = fits(parts, 1, 2) and parts[0] in {"a", "an", *parts[-1:]} and parts[-1] in words("en", "weak_roles")
    if says_little or any(word in words("en", "judging") for word in parts[:-1]):
        return None
    article, title = found[0], parts[-1]
    if article == "the" and not re.search(r" of my\b", text):
        return tidied if title in words("en", "titles") else None
    if article == "the":
        return None
    if article in {"a", "an"} or title in {"ceo", "cto", "cfo", "coo"}:
        return tidied
    return f"{'an' if article[0] in 'aeio' else 'a'} {tidied}"


def self(text: str) -> str | None:
    """A role other than a profession."""
    tidied = tidy(re.split(r" (?:of|to|with|from|in|at|and|but|by) ", text, maxsplit=1)[0])
    found = tokens(tidied)
    is_known = fits(found, 2, 5) and (lists("selves", found[-1]) or lists("selves", " ".join(found[-2:])))
    return tidied if is_known and not any(word in words("en", "judging") for word in found) else None


def possession(text: str) -> str | None:
    """Family and pets, counted or named."""
    tidied = trimmed(_FAMILY_END.split(text, maxsplit=1)[0])
    found = tokens(tidied)
    if not fits(found, 2, 16) or not (found[0] in words("en", "numbers") or found[0].isdigit()):
        return None
    first = tokens(re.split(r" (?:named|called) |,? and |, | plus | \(", tidied, maxsplit=1)[0])
    is_family = any(lists(kind, part) for kind in ("pets", "possessions") for part in (first[-1], " ".join(first[-2:])))
    return third_person(tidied) if is_family and not is_vague(tidied.removeprefix("no ")) else None


def new_pet(text: str) -> str | None:
    """A new pet."""
    found = possession(text)
    is_animal = found is not None and any(lists("pets", word) for word in tokens(found)[1:4])
    return found if found and is_animal and fits(tokens(found), 2, 7) else None


def relation(text: str) -> str | None:
    """A member of the family or the team."""
    return text.lower() if text.lower() in words("en", "relations") else None


def pet(text: str) -> str | None:
    """An animal in the house."""
    is_animal = fits(text.split(), 1, 3) and any(lists("pets", part) for part in (text, text.rsplit(maxsplit=1)[-1]))
    return text.lower() if is_animal else None


def date(text: str) -> str | None:
    """A day of the year."""
    tidied = tidy(text)
    return tidied if re.fullmatch(r"(?=.*\d)[\w ,./-]{3,30}", tidied) and _DATE.search(tidied) else None


def span(text: str) -> str | None:
    """How long, or since when."""
    tidied = short(text, limit=5)
    return tidied if tidied and re.search(r"\d|year|month|college|school", tidied) else None


_PLACE_END = re.compile(
    r" (?:with|for|since|because|but|and|now|about|where|which|when|while|who|as|at|working|to|until|on|right|after"
    r"|before|by) |[;(!]| - "
)
_BEFORE_PLACE = re.compile(
    r"(?:the |downtown |central |northern |southern |eastern |western |rural |upstate "
    r"|a (?:small )?(?:town|village|city|suburb) (?:in|near|outside|of) )+",
    re.IGNORECASE,
)
_BEFORE_COUNTRY = re.compile(r"^(?:downtown|central|northern|southern|eastern|western|rural|upstate) ", re.IGNORECASE)
_ORGANISATION_END = re.compile(
    r" (?:for (?:\d|\w+ years)|since|because|but|where|which|when|while|who|doing|working|mostly"
    r"|mainly|now|right now|currently"
    r"|so|until|based|here|and(?= (?:start|finish|live|commute|work|manage|run|teach|usually|need|want|would"
    r"|could|can|have|has|was|do|get|keep|use|must|like|hate|just|usually|i|we|it|my|live|love|am|this|that|the"
    r"|he|she|they)\b))(?: |$)|[;(!]| - |, (?=[a-z])"
)
_SINCE = re.compile(
    r" (?:(?:back )?in|since|around|last) (?:early |late |the )?(?:\d{4}|january|february|march|april|may|june|july"
    r"|august|september|october|november|december|spring|summer|autumn|fall|winter)(?: \d{4})?$",
    re.IGNORECASE,
)
_SUBJECT = re.compile(r"(?:ology|ics|istry|onomy|ography)$")


def place(text: str) -> str | None:
    """A place with a capital, or a well-known one."""
    tidied = trimmed(_PLACE_END.split(text, maxsplit=1)[0]).strip(" \"'")
    tidied = _SINCE.sub("", tidied)
    first, *regions = [part for part in tidied.split(", ") if part] or [""]
    parts = [first, *takewhile(_is_region, regions)]
    tidied = ", ".join(parts)
    if not fits(parts, 1, 3) or not fits(tokens(tidied), 1, 6) or BLANK in tidied:
        return None
    before = _BEFORE_PLACE.match(parts[0])
    head = parts[0][before.end() :] if before else parts[0]
    if not tokens(head) or any(
        lists(kind, part) for kind in ("not_places", "tools") for part in (head, parts[0], tokens(head)[0])
    ):
        return None
    if head.isupper() or (head[0].isupper() and not lists("vague", tokens(head)[0])):
        return tidied
    if lists("places", head) or lists("places", parts[0]):
        return tidied.replace(head, head.upper() if fits([*head], 1, 3) else head.title())
    return None


def known_place(text: str) -> str | None:
    """A well-known place, or one in or near a well-known place."""
    found = place(text)
    parts = re.split(r", | (?:in|near|outside|of) ", _BEFORE_COUNTRY.sub("", found)) if found else []
    is_known = any(lists("places", form) for part in parts for form in (part, _BEFORE_PLACE.sub("", part)))
    return found if is_known else None


def _is_region(part: str) -> bool:
    return part[0].isupper() or lists("places", part)


def place_or_date(text: str) -> str | None:
    """Place or time of birth."""
    tidied = tidy(text)
    return tidied if re.fullmatch(r"(?:\w+ )?(?:\d{1,2},? )?(?:19|20)\d\d", tidied) else place(text)


def organisation(text: str) -> str | None:
    """An employer or a school: a proper name, or a name with its type."""
    tidied = trimmed(_ORGANISATION_END.split(text, maxsplit=1)[0]).strip(" \"'")
    found = tokens(tidied)
    if not fits(found, 1, 8) or BLANK in tidied or found[0] in words("en", "vague") | words("en", "not_organisations"):
        return None
    if tidied[0].isupper() and not lists("not_places", tidied):
        return tidied
    if lists("well_known", tidied):
        return tidied.upper() if fits(list(tidied), 1, 3) else tidied.title()
    is_named = found[0] in {"a", "an", "the"} and len(found) > 1 and tidied.split()[1][0].isupper()
    is_kind = found[0] in {"a", "an", "the"} and any(lists("organisations", word) for word in found[1:])
    says_little = fits(found, 1, 2) and not is_named and found[-1] in words("en", "any_organisation")
    return tidied if (is_named or is_kind) and not says_little else None


def firm(text: str) -> str | None:
    """An employer by its name."""
    found = organisation(_SINCE.sub("", text))
    if found is None or not found[0].isupper() or {tokens(found)[0], tokens(found)[-1]} & words("en", "leisure_groups"):
        return None
    return None if lists("not_names", found) or lists("languages", found) else found


def business(text: str) -> str | None:
    """The user's own company."""
    tidied = short(re.split(r" (?:with|in \d|to|for|when|last|and (?=i\b)) ", text, maxsplit=1)[0])
    says_little = tidied is None or (fits(tokens(tidied), 1, 2) and tidied not in text.rstrip(" .!"))
    was_cut = (
        tidied is not None
        and fits(tokens(tidied), 1, 2)
        and re.match(r" (?:that|who|which|where)\b", text[len(tidied) :])
    )
    is_one = tidied is not None and any(lists("organisations", word) for word in tokens(tidied)[1:5])
    return tidied if is_one and not says_little and not was_cut else None


def timezone(text: str) -> str | None:
    """An abbreviation, an offset, a name such as Europe/Rome, or a well-known place."""
    tidied = tidy(text)
    is_one = tidied[:1].isupper() and _TIMEZONE.fullmatch(tidied) and (tidied.isupper() or not tidied.isalpha())
    return tidied if is_one else known_place(text)


def team(text: str) -> str | None:
    """A team that the user leads."""
    tidied = short(text, limit=10)
    return tidied if tidied and not fits(tokens(tidied), 1, 2) else None


def field(text: str) -> str | None:
    """A field of work, or a workplace."""
    tidied = tidy(text)
    if _is_field(tidied):
        return tidied
    return None if any(lists("tools", word) for word in tokens(tidied)) else place(text) or organisation(text)


def subject(text: str) -> str | None:
    """A field of study."""
    tidied = tidy(re.split(r" (?:at|for|in|with|from|every|on|to) ", text, maxsplit=1)[0])
    found = tokens(tidied)
    is_known = _is_field(tidied) or (fits(found, 1, 4) and (_SUBJECT.search(tidied) or lists("languages", found[-1])))
    return tidied if is_known else None


def _is_field(text: str) -> bool:
    found = tokens(text)
    return fits(found, 1, 5) and any(lists("fields", " ".join(found[-count:])) for count in (1, 2, 3))
