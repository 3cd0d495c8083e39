"""Of whom a sentence is: whether its subject is a person other than the user."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache

from memgraph.text.lexicon import load_lexicon
from memgraph.text.normalize import HAN, fold
from memgraph.text.statement import read_words
from memgraph.text.words import language_of, word_classes, words

PRONOUNS = frozenset({"he", "she", "他", "她"})
"""What stands for one other person who was named before."""

_GROUPS = frozenset({"they", "them", "their", "people", "everyone", "someone", "somebody", "family"}) | frozenset(
    {"他们", "她们", "大家", "别人", "家人"}
)
"""Words of the classes of people that name no other person, or a group with the user in it."""
_CLASSES = frozenset({"FAMILY", "FRIEND", "PET", "OTHERS"})
_DETERMINERS = frozenset({"a", "an", "the", "my", "our", "his", "her", "their", "user's"})
_USER, _VERBS = frozenset({"me", "us", "myself", "ourselves"}), frozenset({"be", "have", "do"})
_ENDS = " .。!！"
MAX_SUBJECT = 4
"""Words among which the verb after a subject is looked for; without one the first word is the subject."""
_BEFORE_SUBJECT = frozenset({"openers", "light", "articles", "own"})
_OWNER = re.compile(r"(?:用户|我们?|咱们?|[他她]们?)的?[表堂]?")
_CLAUSE = re.compile(r"[.,;:!?\n。，、；：！？…()（）]+|\b(?:and|but|so)\b")
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*")


def other_subject(text: str) -> str:
    """Return the person other than the user who is the subject of *text*, as one word; empty if none is.

    A text with a word for the user elsewhere is about the user too: "My doctor says I may stop".
    """
    clauses = [clause for clause in map(str.strip, _CLAUSE.split(fold(text))) if clause]
    found = next(filter(None, map(_subject, clauses)), None)
    if found is None:
        return ""
    person, phrase = found
    return "" if _mentions_user(fold(text).replace(phrase, " ", 1)) else person


def dropped_subject(content: str, said: str) -> str:
    """Return what *said* begins with if that is what it is about, and *content*, which rests on it, lacks it.

    "Takes penicillin." lacks the subject of "Tom takes penicillin." Empty if *said* has a word for the user alone. A
    Chinese sentence needs no subject, so that it has one only if *content* is what follows it.
    """
    is_chinese = language_of(said) == "zh"
    end = said.find(content.strip(_ENDS)) if is_chinese else len(said)
    read = [word for word in read_words(said[: max(0, end)]) if not word.classes & _BEFORE_SUBJECT]
    if not read or any(word.text in _USER or "user" in word.classes for word in read):
        return ""
    is_verb = (bool(word.form or "modals" in word.classes or word.lemma in _VERBS) for word in read[:MAX_SUBJECT])
    verb = 0 if read[0].classes else next((at for at, found in enumerate(is_verb) if found), 1)
    known = {word.lemma for word in read_words(content)} if not is_chinese else frozenset[str]()
    return "" if not verb or any(word.lemma in known for word in read[:verb]) else read[0].text


def people_in(text: str) -> frozenset[str]:
    """Return the persons other than the user that *text* names, relatives by one word each."""
    folded = fold(text)
    if language_of(folded) == "zh":
        return frozenset(_canonical(word) for word in _people() if not word.isascii() and word in folded)
    return frozenset(_canonical(word) for word in map(_bare, _WORD.findall(folded)) if word in _people())


def _subject(clause: str) -> tuple[str, str] | None:
    """Return the person with whom *clause* begins, and the words for that person; None if it begins otherwise."""
    if re.match(f"[{HAN}]", clause):
        owner = _OWNER.match(clause)
        starts = (0, owner.end()) if owner else (0,)
        return next(
            ((_canonical(word), clause[: start + len(word)]) for start in starts for word in _begun(clause[start:])),
            None,
        )
    read = list(_WORD.finditer(clause))
    tokens = [_bare(match[0]) if match[0] not in _DETERMINERS else match[0] for match in read]
    place = _first_content(tokens)
    has_determiner = place > 0 and tokens[place - 1] in _DETERMINERS
    for at in range(place, min(place + 1 + has_determiner, len(tokens))):  # "my older sister"
        if tokens[at] in _people():
            return _canonical(tokens[at]), clause[: read[at].end()]
    return None


def _begun(clause: str) -> Iterator[str]:
    """Yield the Chinese word for a person with which *clause* begins, the longest; none for a group."""
    known = sorted((word for word in _people() | _GROUPS if not word.isascii()), key=len, reverse=True)
    word = next((word for word in known if clause.startswith(word)), "")
    if word and word not in _GROUPS:
        yield word


def _first_content(tokens: Sequence[str]) -> int:
    """Return the place of the first token that is neither a determiner nor a word for the time."""
    light = (at for at, token in enumerate(tokens) if token not in _DETERMINERS and not _is_time(token))
    return next(light, len(tokens))


def _is_time(token: str) -> bool:
    return word_classes().get(token) == "MOMENT"


def _mentions_user(text: str) -> bool:
    tokens = frozenset(_WORD.findall(text))
    return any(word in (tokens if word.isascii() else text) for word in words("about_user"))


def _bare(token: str) -> str:
    return token.removesuffix("'s").removesuffix("'")


def _canonical(word: str) -> str:
    return load_lexicon().people.get(word, word)


@cache
def _people() -> frozenset[str]:
    return frozenset(word for word, name in word_classes().items() if name in _CLASSES) - _GROUPS
