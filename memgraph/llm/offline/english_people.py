"""English values about people: names, professions, family, pets."""

import re

from memgraph.llm.offline.english_text import fits, is_vague, is_word, lists, short, third_person, tidy, tokens, trimmed
from memgraph.llm.offline.sentences import BLANK
from memgraph.llm.offline.tables import words

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
    """A name given outright, in any case."""
    parts = _NAME_END.split(text.strip(" .!\"'"), maxsplit=1)[0].split()
    if not fits(parts, 1, 4) or not all(is_word(part) and not lists("not_names", part) for part in parts):
        return None
    return " ".join(part if part[:1].isupper() else part.title() for part in parts)


def proper_name(text: str) -> str | None:
    """A name that shows by its capitals."""
    found = name(text)
    is_tool = found is not None and any(lists("tools", part) for part in found.split())
    return found if found and found in text and fits(found.split(), 1, 3) and not is_tool else None


def job(text: str) -> str | None:
    """A profession: the head of the phrase is one we know."""
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
    """What one is besides a profession."""
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
    """An animal that came into the house."""
    found = possession(text)
    is_animal = found is not None and any(lists("pets", word) for word in tokens(found)[1:4])
    return found if found and is_animal and fits(tokens(found), 2, 7) else None


def relation(text: str) -> str | None:
    """A member of the family, or one at work."""
    return text.lower() if text.lower() in words("en", "relations") else None


def pet(text: str) -> str | None:
    """An animal in the house."""
    is_animal = fits(text.split(), 1, 3) and any(lists("pets", part) for part in (text, text.rsplit(maxsplit=1)[-1]))
    return text.lower() if is_animal else None


def date(text: str) -> str | None:
    """A day of the year."""
    return tidied if re.fullmatch(r"(?=.*\d)[\w ,./-]{3,30}", tidied := tidy(text)) else None


def span(text: str) -> str | None:
    """How long, or since when."""
    tidied = short(text, limit=5)
    return tidied if tidied and re.search(r"\d|year|month|college|school", tidied) else None
