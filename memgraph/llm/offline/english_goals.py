"""English values about goals, projects and habits."""

import re

from memgraph.llm.offline.english_text import fits, lists, short, tokens
from memgraph.llm.offline.rules import pattern, words

_ERRAND = re.compile(
    r"\b(?:some|more (?:about|of)|other|essay|article|right|get (?:some|back|to|the)|help with|something"
    r"|how to (?!play|swim|cook|drive|sew|knit|ride|code|sail|ski|surf|dance|sing|draw|paint)\w+|scratch|member"
    r"|subscriber|under|below|better person)\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:boost|grow|scale|build|expand|elevate|promote|improve|increase)(?:ing)? (?:up )?(?:their |the )?(?:\S+ )?"
    r"(?:brand|business|presence|following|reach|visibility|sales|traffic)$",
    re.IGNORECASE,
)
_TARGET = re.compile(
    r"\b(?:marathon|exams?|race|certification|triathlon|ironman|house|car|trip|wedding|competition|tournament|bar|gre"
    r"|toefl|ielts)\b",
    re.IGNORECASE,
)
_HEAD_END = re.compile(r" (?:for|in|with|about|on|of|to|using|at|from|called|named) ")


def aim(text: str) -> str | None:
    """A long-term goal, not the next errand."""
    tidied = short(text, limit=14)
    is_aim = tidied is not None and pattern("en", "aim").fullmatch(_in_first_person(tidied)) is not None
    return tidied if tidied and is_aim and not _is_errand(tidied) else None


def _is_errand(text: str) -> bool:
    return bool(_ERRAND.search(text) or _VAGUE.search(text)) or _is_technical(text)


def _is_technical(text: str) -> bool:
    return any(lists("technical", word) for word in tokens(text))


def _in_first_person(text: str) -> str:
    return re.sub(r"\btheir\b", "my", text)


def aim_said(text: str) -> str | None:
    """A goal stated explicitly."""
    tidied = short(text, limit=20)
    is_aim = (
        tidied is not None
        and not re.match(r"(?:about|of|like|so|when)\b", tidied)
        and fits(tokens(tidied), 2, 20)
        and not _is_technical(tidied)
    )
    return tidied if tidied and is_aim and not _VAGUE.search(tidied) else None


def occasion(text: str) -> str | None:
    """A race, an exam, a purchase."""
    tidied = short(text, limit=8)
    is_own = tidied is not None and re.match(r"(?:an?|their|the (?=[A-Z]))\b", tidied) is not None
    return tidied if tidied and is_own and _TARGET.search(tidied) else None


def lesson(text: str) -> str | None:
    """A named subject to learn."""
    tidied = short(text, limit=8)
    if tidied is None:
        return None
    first, *more = tokens(tidied)
    if first == "to":
        return tidied if more and more[0] not in words("en", "lessons_of_life") else None
    is_lasting = bool(more) and lists("the_lasting", more[-1])
    return tidied if is_lasting or first not in words("en", "any_lesson") else None


def project(text: str) -> str | None:
    """A project that takes weeks."""
    tidied = short(text)
    found = tokens(tidied or "")
    if tidied is None or not found or found[0] not in {"a", "an", "their"}:
        return None
    head = tokens(_HEAD_END.split(tidied, maxsplit=1)[0])
    is_own = head[0] == "their" and head[-1] not in words("en", "own_projects")
    says_little = not fits(head, 3 if is_own else 2, 10) or lists("technical", head[-1])
    is_bare = fits(found, 2, 2) and found[-1] in words("en", "any_project")
    is_any_project = is_bare or (head[-1] == "project" and (fits(head, 1, 2) or head[-2] in words("en", "any_project")))
    is_chore = lists("chores", head[-1]) or lists("chores", " ".join(head[-2:]))
    return None if says_little or is_any_project or is_chore else tidied


def habit(text: str) -> str | None:
    """A habit: its verb is put in the third person."""
    tidied = short(text.partition(",")[0], limit=14)
    found = tokens(tidied or "")
    if tidied is None or not fits(found, 2, 14) or found[0] not in words("en", "habits"):
        return None
    is_vague_work = found[0] == "work" and found[1] in {"hard", "a", "all", "too", "so", "late"}
    if is_vague_work or any(lists("any_habit", word) for word in found[1:]):
        return None
    if fits(found, 2, 2) and found[1] in {"to", "on", "out", "through", "up"}:
        return None
    if re.search(r" first$", text.rstrip(" .!")):
        tidied = f"{tidied.removesuffix(' first')} first"
    return re.sub(r"(?:^|(?<= and )|(?<= or ))[A-Za-z]+", _conjugated, tidied)


def _conjugated(verb: re.Match[str]) -> str:
    return third(verb[0].lower()) if verb[0].lower() in words("en", "habits") else verb[0]


def third(verb: str) -> str:
    """Return *verb* in the third person singular."""
    if verb in {"do", "go"} or verb.endswith(("s", "sh", "ch", "x", "z")):
        return verb + "es"
    return verb[:-1] + "ies" if re.search(r"[^aeiou]y$", verb) else verb + "s"
