"""English values about places and organisations."""

import re
from itertools import takewhile

from memgraph.llm.offline.english_text import fits, lists, short, tidy, tokens, trimmed
from memgraph.llm.offline.sentences import BLANK
from memgraph.llm.offline.tables import words

_PLACE_END = re.compile(
    r" (?:with|for|since|because|but|and|now|about|where|which|when|while|who|as|at|working|to|until|on|right|after"
    r"|before|by) |[;(!]| - "
)
_BEFORE_PLACE = re.compile(
    r"(?:the |downtown |central |northern |southern |eastern |western |rural |upstate "
    r"|a (?:small )?(?:town|village|city|suburb) (?:in|near|outside|of) )+",
    re.IGNORECASE,
)
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


def _is_region(part: str) -> bool:
    return part[0].isupper() or lists("places", part)


def place_or_date(text: str) -> str | None:
    """Where or when one was born."""
    tidied = tidy(text)
    return tidied if re.fullmatch(r"(?:\w+ )?(?:\d{1,2},? )?(?:19|20)\d\d", tidied) else place(text)


def organisation(text: str) -> str | None:
    """An employer or a school: a proper name, or one that says what it is."""
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
    is_leisure = found is not None and tokens(found)[-1] in words("en", "leisure_groups")
    return found if found and found[0].isupper() and not is_leisure else None


def business(text: str) -> str | None:
    """A firm of one's own."""
    tidied = short(re.split(r" (?:with|in \d|to|for|when|last|and (?=i\b)) ", text, maxsplit=1)[0])
    says_little = tidied is None or (fits(tokens(tidied), 1, 2) and tidied not in text.rstrip(" .!"))
    was_cut = (
        tidied is not None
        and fits(tokens(tidied), 1, 2)
        and re.match(r" (?:that|who|which|where)\b", text[len(tidied) :])
    )
    is_one = tidied is not None and any(lists("organisations", word) for word in tokens(tidied)[1:5])
    return tidied if is_one and not says_little and not was_cut else None


def team(text: str) -> str | None:
    """A team that one leads."""
    tidied = short(text, limit=10)
    return tidied if tidied and not fits(tokens(tidied), 1, 2) else None


def field(text: str) -> str | None:
    """A line of work, or a place where it is done."""
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
