"""English values about what people like, use and can do."""

import re

from memgraph.llm.offline.english_text import fits, is_vague, lists, short, third_person, tidy, tokens
from memgraph.llm.offline.rules import words

_AND = re.compile(r",? and |, | or |/| plus | \+ ")
_LANGUAGE_END = re.compile(r" (?:at|with|to|in|fluently|natively|well|every|on|for)(?: |$)")
_TOOL_END = re.compile(
    r" (?:as|at|in|on|to|all|every|about|professionally|daily|almost|from|via|during|instead|rather)(?: |$)"
)
_PURPOSE = re.compile(r" for (?:my |our |all )?(?:\S+ ){0,3}\S+$")
_PART = re.compile(r"\b(?:part|moment|memory|memories|thing|one|way|time)s?\b", re.IGNORECASE)
_COLLECTED = re.compile(
    r"\b(?:stamps|coins|vinyl|records|cards|books|figurines|comics|watches|shoes|sneakers|jerseys|knives|postcards|toys"
    r"|antiques|dolls|plants|rocks|minerals)$"
)


def thing(text: str) -> str | None:
    """Something liked in general, not at the moment."""
    tidied = short(text)
    if tidied is None or re.match(r"(?:learning|hearing|knowing|seeing) more\b", text, re.IGNORECASE):
        return None
    first, *more = tokens(tidied)
    if first == "the":
        is_lasting = any(lists("the_lasting", word) for word in more[:1] + more[-1:]) or tidied[4:5].isupper()
        return tidied if is_lasting else None
    teases = first.endswith("ing") and bool(more) and (more[-1] == "people" or "things" in more)
    is_momentary = teases or first in words("en", "momentary") or first in {"a", "an", "their"}
    says_little = first == "to" and (
        not more
        or more[0] in {"help", "pay", "wait", "say", "stay", "leave", "go", "start", "meet"}
        or f"{more[0]}ing" in words("en", "momentary")
    )
    if is_momentary or says_little:
        return None
    return tidied[:1].lower() + tidied[1:] if first.endswith("ing") else tidied


def wish(text: str) -> str | None:
    """A lasting instruction for answers."""
    tidied = re.sub(r"[,\s]+(?:please|thanks|thank you|ok|okay|again)$", "", text.strip(" ,.!"))
    about_user = third_person(tidied).replace(" them ", " the user ")
    says_little = not fits(tokens(tidied), 1, 16) or is_vague(
        re.sub(r"\b(?:your|no|not|me)\b|^(?:do |never )", "", tidied)
    )
    about_user = re.sub(
        r"^(?:Never|Do|Use|Add|Include|Give|Show|Keep|Avoid|Put|Ask)\b", lambda verb: verb[0].lower(), about_user
    )
    return (
        None
        if says_little or re.search(r"\b(?:below|above|following)\b", tidied)
        else re.sub(r"\byour\b", "its", re.sub(r"^do not\b", "not", about_user))
    )


def allergen(text: str) -> str | None:
    """An allergen; not a joke such as mornings."""
    tidied = short(text)
    items = [item for item in _AND.split(tidied or "") if item]
    return tidied if items and all(_lists_last("allergens", item) for item in items) else None


def illness(text: str) -> str | None:
    """A lasting condition."""
    tidied = short(re.split(r" (?:that|which|and I|so) ", text, maxsplit=1)[0])
    is_known = tidied is not None and any(lists("illnesses", form) for form in (tidied, tokens(tidied)[-1]))
    return tidied if is_known else None


def _lists_last(name: str, item: str) -> bool:
    return any(lists(name, " ".join(item.split()[-count:])) for count in (1, 2))


def choice(text: str) -> str | None:
    """One side of a comparison."""
    tidied = short(text, limit=8)
    is_task = tidied is not None and tokens(tidied)[0] in {
        "the",
        "see",
        "hear",
        "know",
        "talk",
        "be",
        "have",
        "if",
        "shooting",
        "killing",
    }
    return None if is_task else tidied


def vice(text: str) -> str | None:
    """Something given up, not a program that was ended."""
    found = choice(text)
    return None if found is None or any(lists("tools", word) for word in (found, *tokens(found))) else found


def named(text: str) -> str | None:
    """The answer to a favourite."""
    tidied = short(text, limit=10)
    is_scene = tidied is not None and tokens(tidied)[0] in {"when", "how", "what", "to", "being", "getting", "seeing"}
    return None if is_scene else tidied


def label(text: str) -> str | None:
    """The category of a favourite."""
    if is_vague(text) or not fits(tokens(text), 1, 4) or _PART.search(text):
        return None
    return text


def pastime(text: str) -> str | None:
    """What is played or collected, but not "a role" or "it safe"."""
    tidied = short(text)
    core = tokens(re.split(r" (?:with|in|at|on|for|every|since|as|and|or) |,", tidied or "", maxsplit=1)[0])
    forms = (" ".join(core).removeprefix("the "), " ".join(core[-2:]), " ".join(core[:2]), *core[-1:])
    is_known = any(lists("sports", form) for form in forms)
    is_collected = fits(core, 1, 3) and core[0] not in {"the", "a"} and _COLLECTED.search(core[-1])
    return tidied if is_known or is_collected else None


def languages(text: str) -> str | None:
    """Languages that people speak."""
    tidied = tidy(_LANGUAGE_END.split(text, maxsplit=1)[0])
    items = [item.strip() for item in _AND.split(tidied) if item.strip()]
    if not items or not all(lists("languages", item) or lists("languages", item.split()[-1]) for item in items):
        return None
    *rest, last = [item.title() if item.islower() else item for item in items]
    return f"{', '.join(rest)} and {last}" if rest else last


def tools(text: str) -> str | None:
    """Languages, frameworks and programs: some known, the others with the form of names."""
    tidied = tidy(_TOOL_END.split(text, maxsplit=1)[0])
    purpose = _PURPOSE.search(tidied)
    named = tidied[: purpose.start()] if purpose else tidied
    items = [item for item in _AND.split(named.partition(" with ")[0]) if item]
    known = [item for item in items if _is_tool(item)]
    is_plain = all(item in known or item[0].isupper() for item in items)
    return third_person(tidied) if known and is_plain and not is_vague(tidied) and fits(tokens(tidied), 1, 14) else None


def _is_tool(item: str) -> bool:
    is_known = lists("tools", re.sub(r"[ v]\d[\d.]*\+?$", "", item))
    return is_known or (fits(item.split(), 1, 3) and lists("tools", item.split(maxsplit=1)[0]) and " is" not in item)


def products(text: str) -> str | None:
    """Programs by their names, known or not."""
    tidied = tidy(_TOOL_END.split(text, maxsplit=1)[0])
    items = [item for item in _AND.split(_PURPOSE.sub("", tidied)) if item]
    are_names = all(fits(item.split(), 1, 3) and all(part[0].isupper() for part in item.split()) for item in items)
    return third_person(tidied) if items and are_names and not is_vague(tidied) else None


def fandom(text: str) -> str | None:
    """The object of a fan."""
    tidied = thing(text)
    return tidied if tidied and (tidied[0].isupper() or lists("sports", tidied) or lists("fields", tidied)) else None


def skill(text: str) -> str | None:
    """A skill."""
    return tools(text) or (thing(text) if fits(tokens(tidy(text)), 1, 5) else None)
