"""The statements of a fact, one of which may end ("Lives in Oslo and repairs pianos."), and of a summary."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cached_property

from memgraph.analysis.lexicon import load_lexicon
from memgraph.analysis.names import USER_NAMES, names_of
from memgraph.analysis.normalize import HAN, is_chinese, words_of
from memgraph.analysis.statement import COMPARED, Word, classes_of, content_of, has_past, read_words
from memgraph.analysis.words import word_classes

MIN_SIZE = 2
"""Words, or Chinese characters, of a statement: "Lives and works in Oslo." is one."""

_JOINT = re.compile(
    rf"[;；]|,? (?:and|but) |(?<=[{HAN}])(?:[，,](?:并且|而且|同时|但是?|并|且)?|并且|而且|同时)(?:也|还|又)?"
)
_WITH = " with "
_PLACES = (["in"], ["at"], ["on"], ["near"])
_OBJECTS = frozenset({"me", "us"})
_CHINESE_LIST = re.compile("[和、]")
_REFERRING = re.compile("[叫名它他她其]|是.*的$")
"""A Chinese clause that is about what precedes it."""
_ENDS = " .。!！,，;；"
_AUXILIARIES = frozenset({"be", "have", "do"})
_VERBS = frozenset({"modals", "denied", "hoped", "planned", "attitudes"})
_DETERMINERS = frozenset({"articles", "own", "numbers"})
_SUBJECTS = frozenset({"user", "others", "own"})


def parts_of(content: str, quotes: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the statements of *content* about the user, each a sentence of its own; one if it cannot be taken apart.

    Args:
        content: A fact, such as "Lives in Oslo and repairs pianos." or "Speaks Danish and Polish."
        quotes: The user's words that it rests on: what stands in them as it does in the fact cannot be a verb of it.
    """
    parts = [one for part in _joined(content.strip(_ENDS), quotes) for one in _without_company(part)]
    if len(parts) == 1 or any(len(words_of(part)) < MIN_SIZE for part in parts):
        return (content,)
    end = "。" if is_chinese(content) else "."
    return tuple(f"{part[:1].upper()}{part[1:]}{end}" for part in parts)


def _joined(content: str, quotes: Sequence[str]) -> list[str]:
    """Return the statements of *content* that "and", a comma or a semicolon joins."""
    in_chinese = is_chinese(content)
    is_list = in_chinese and not _JOINT.search(content)
    first, *others = (part.strip(_ENDS) for part in (_CHINESE_LIST if is_list else _JOINT).split(content))
    said = frozenset(words_of(" ".join(quotes)))
    if others and not in_chinese and not _is_statement(others[-1], said):  # "tea, coffee and cocoa"
        first, *listed = first.split(", ")
        others = [*listed, *others]
    parts = [first]
    for part in others:
        if in_chinese:
            is_statement = not is_list and not _REFERRING.match(part)
            head = _chinese_head(first) if is_list else ""
        else:
            is_statement = _is_statement(part, said)
            head = "" if is_statement else _english_head(first, part)
        if not (is_statement or head):
            return [content]
        parts.append(head + part)
    return parts


def _without_company(part: str) -> list[str]:
    """Return *part* by itself, and with whom or what it is: "lives in Porto" and "lives with a dog"."""
    place, _, company = part.partition(_WITH)
    words = place.split()
    size = 1 + place.startswith("I ")
    verb = " ".join(words[:size])
    is_state = any(word.lemma in _AUXILIARIES for word in read_words(verb))  # "is in love with Ana" is one
    if not company or is_state or words[size : size + 1] not in _PLACES:
        return [part]
    return [place, f"{verb}{_WITH}{company}"]


def begins_statement(text: str) -> bool:
    """Return whether *text* begins with the user as its subject, or with a thing: "milk upsets my stomach"."""
    words = read_words(text)
    if len(words) >= MIN_SIZE and "user" in words[0].classes:
        return True
    at = next((at for at, word in enumerate(words) if "own" in word.classes or word.text in _OBJECTS), 0)
    return at >= MIN_SIZE and not any(word.classes - {"articles"} for word in words[:at])


def _is_statement(part: str, said: frozenset[str]) -> bool:
    return begins_statement(part) or _is_predicate(read_words(part), said)


def _is_predicate(words: Sequence[Word], said: frozenset[str]) -> bool:
    """Return whether *words* begin with a verb of the user's: in what the user *said*, it has no "s"."""
    rest = [word for word in words if "light" not in word.classes]
    if len(rest) < MIN_SIZE or rest[0].classes & _SUBJECTS:
        return False
    first = rest[0]
    if first.lemma in _AUXILIARIES or first.classes & _VERBS or first.form == "past":
        return True
    return re.search("[^s]s$", first.text) is not None and first.text not in said


def _english_head(first: str, other: str) -> str:
    """Return what *other*, a second object, needs of *first* to be a statement: "Has" for "a cat"; empty if unclear."""
    words, second = read_words(first), read_words(other)
    if not second or not words:
        return ""
    if second[0].classes & _DETERMINERS:
        at = next((at for at, word in enumerate(words) if word.classes & _DETERMINERS), 0)
        found = re.match(rf"(?:\S+\s+){{{at}}}", first) if 0 < at <= MIN_SIZE else None
        return found[0] if found else ""
    *before, _ = first.split()
    is_object = len(before) == 1 or any("prepositions" in word.classes for word in words[-2:-1])
    if is_object and len(other.split()) == 1:
        return f"{' '.join(before)} "
    is_state = [word.lemma for word in words[:1]] == ["be"] and not any(word[0].classes for word in (words[1:], second))
    return f"{first.split(maxsplit=1)[0]} " if is_state else ""  # "is vegan", and "allergic to soy"


def _chinese_head(text: str) -> str:
    """Return the verb with which *text* begins, after one character such as 会 at most; empty if none is known."""
    actions = [word for word in load_lexicon().actions if is_chinese(word)]
    known = (text[: at + len(word)] for at in (0, 1) for word in actions if text.startswith(word, at))
    return max(known, key=len, default="")


# -- restatements -----------------------------------------------------------------------------------

MIN_SHARE = 0.5
"""Share of the words of a source that a sentence has that rests on it."""

_MARKS = COMPARED | {"denied", "fiction"}
_OTHERS = frozenset({"FAMILY", "FRIEND", "OTHERS"})
_CHINESE_USER = "用户"


class Sources:
    """Sentences that another one may rest on.

    Args:
        texts: Each states something about the user.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    @cached_property
    def _read(self) -> list[_Read]:
        return [_Read(text) for text in self._texts]

    def hold(self, sentence: str) -> bool:
        """Return whether *sentence* has no word, denial, doubt, time or person that those it rests on have not."""
        read = _Read(sentence)
        below = [one for one in self._read if one.terms and read.has_most(one)]
        known = frozenset[str]().union(*(one.forms for one in below))
        return (
            bool(below)
            and all(not own.isdisjoint(known) for own in read.synonyms)
            and read.marks == frozenset[str]().union(*(one.marks for one in below))
            and read.people == frozenset[str]().union(*(one.people for one in below))
            and read.is_past == any(one.is_past for one in below)
        )


class _Read:
    """What is compared of a sentence."""

    def __init__(self, text: str) -> None:
        read = read_words(text.replace(_CHINESE_USER, ""), frozenset(names_of(text)))
        words = [word for word in read if word.text not in USER_NAMES]
        lexicon = load_lexicon()
        self.terms = frozenset(word.lemma for word in content_of(words)) - lexicon.light
        self.synonyms = [frozenset({term, *lexicon.groups.get(term, ())}) for term in self.terms]
        self.forms = frozenset[str]().union(*self.synonyms)
        self.marks = classes_of(words) & _MARKS
        self.people = frozenset(word.lemma for word in words if word_classes().get(word.text) in _OTHERS)
        self.is_past = has_past(words)

    def has_most(self, other: _Read) -> bool:
        """Return whether this has MIN_SHARE of the words of *other*, or synonyms."""
        return sum(not own.isdisjoint(self.forms) for own in other.synonyms) >= MIN_SHARE * len(other.synonyms)
