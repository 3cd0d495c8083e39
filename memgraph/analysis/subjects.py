"""Of whom a sentence is: whether its subject is a person other than the user."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import pairwise

from memgraph.analysis.lexicon import load_lexicon
from memgraph.analysis.names import names_of
from memgraph.analysis.normalize import HAN, WORD, fold, is_chinese
from memgraph.analysis.remarks import mentions_user
from memgraph.analysis.statement import PRONOUNS, Word, classes_of, read_words
from memgraph.analysis.words import language_of, word_classes, words

_REFERRING = frozenset({"he", "she", "him", "her", "his", "hers"})
_THINGS = frozenset({"it", "they"})
_POINTING = frozenset({"this", "that", "these", "those"})
_PAIR = re.compile(r"(?<!\w)\w++/\w+")
"""Such as "she/her", which are words, not persons."""
_CHINESE_REFERRING = re.compile("[他她它]|[这那](?:[是就样里边]|些(?![天年日]))")

_GROUPS = words("groups_of_people")
"""Words of the classes of people that name no other person, or a group with the user in it."""
_CLASSES = frozenset({"FAMILY", "FRIEND", "PET", "OTHERS"})
_DETERMINERS = frozenset({"a", "an", "the", "this", "my", "our", "his", "her", "their", "user's"})
_USER, _VERBS = frozenset({"me", "us", "mine", "ours", "myself", "ourselves"}), frozenset({"be", "have", "do"})
_ENDS = " .。!！"
MAX_SUBJECT = 4
"""Words among which the verb after a subject is looked for; without one the first word is the subject."""
_BEFORE_SUBJECT = frozenset({"openers", "light", "articles", "own"})
_OWNER = re.compile(r"(?:用户|我们?|咱们?|[他她]们?)的?(?:一?[个位名])?[表堂]?")
_MODIFIERS = re.compile(r"(?: of (?:mine|ours)\b| (?:(?:who|whom|that) )?(?:i|we) [^\W_]+(?:'[^\W_]+)*)*")
"""What belongs to the person before it: "a friend of mine", "a man I know"."""
_PART_OF = re.compile(r"^(?:an? )?(?:one|two|some|most|many|all|both|each|none|several|few|couple|half|lot) of (?=\w)")
"""What stands before several of whom one or some are meant: "one of my cousins"."""
_CLAUSE = re.compile(r"[.,;:!?\n。，、；：！？…()（）]+|\b(?:and|but|so)\b")
_PART = re.compile(r"[.,;:!?\n。，、；：！？…]+|\bso\b")
"""Between clauses: what "and" adds may have the subject before it, and parentheses hold the date of a word."""
_NICKNAME = re.compile(f"[阿小老][{HAN}]")
"""A name as friends use it, such as 阿强 and 小芳."""
_ADVERB = re.compile(r"[a-z]{4,}ly")
"""Such as "finally"; a shorter word is more often a name, such as "Sally"."""


def other_subject(text: str) -> str:
    """Return the person other than the user who is the subject of *text*, as one word; empty if none is.

    A text with a word for the user elsewhere is about the user too: "My doctor says I may stop".
    """
    clauses = [clause for clause in map(str.strip, _CLAUSE.split(fold(text))) if clause]
    found = next(filter(None, map(_subject, clauses)), None)
    if found is None:
        return ""
    person, phrase = found
    return "" if mentions_user(fold(text).replace(phrase, " ", 1)) else person


def lacks_referent(text: str) -> bool:
    """Return whether *text* is about a person or a thing that only what was said before it names.

    "She is always late." is, and so is "It's for my kids."; "Our boss is strict, but she listens." has the person.
    """
    read = read_words(_PAIR.sub("", text))
    start = next((at for at, word in enumerate(read) if not word.classes & {"openers", "light"}), len(read))
    if not read[start:]:
        return False
    if language_of(text) == "zh":
        return _CHINESE_REFERRING.match("".join(word.text for word in read[start:])) is not None
    subject, after = read[start], read[start + 1 : start + 2]
    goes_on = any(_is_verb(word) or word.classes & {"light", "denied"} for word in after)
    if subject.text in _THINGS or (subject.text in _POINTING and goes_on):
        return True
    place = next((at for at, word in enumerate(read) if word.text in _REFERRING), None)
    before = read[:place]
    is_named = any(names_of(text)) or people_in(" ".join(word.text for word in before))
    return place is not None and (place == start or not (is_named or classes_of(before) & {"articles", "own"}))


def dropped_subject(content: str, said: str) -> str:
    """Return what *said* begins with if that is what it is about, and *content*, which rests on it, lacks it.

    "Takes penicillin." lacks the subject of "Tom takes penicillin." What counts is the clause of *said* with most words
    of *content*. Empty if a clause has a word for the user alone. A Chinese sentence needs no subject, so that it has
    one only if *content* is what follows it, or if it is a word for a person.
    """
    if language_of(said) == "zh":
        return _chinese_subject(content.strip(_ENDS), said)
    content = next(filter(str.strip, _PART.split(content)), content)
    known = {word.lemma for word in read_words(content)}
    clauses = [clause for clause in map(_after_openers, _PART.split(fold(said))) if clause]
    if any(map(_has_user, clauses)):
        return ""
    read = max(clauses, key=lambda clause: len(known & {word.lemma for word in clause}), default=list[Word]())
    if read and read[0].text in PRONOUNS | _GROUPS:
        return read[0].text
    if not read or read[0].classes:
        return ""
    verb = next((at for at, word in enumerate(read[:MAX_SUBJECT]) if _is_verb(word)), 1)
    return "" if not verb or any(word.lemma in known for word in read[:verb]) else read[0].text


def _chinese_subject(content: str, said: str) -> str:
    """Return what stands before the words of *content* in the clause of *said* that has most of them."""
    end = said.find(content)
    read = _after_openers(said[: max(0, end)])
    if read and not _has_user(read):
        return read[0].text
    claim = next(filter(str.strip, _PART.split(content)), content)
    pairs = {one + other for one, other in pairwise(claim)}
    clauses = _PART.split(said)
    places = [[at for at in range(len(one)) if one[at : at + 2] in pairs] for one in clauses]
    clause, found = max(zip(clauses, places, strict=True), key=lambda one: len(one[1]))
    before = clause[: found[0]] if found else ""
    named = _NICKNAME.match(before)
    people = [named[0]] if named else [word for word in _people() if word in before]
    person = max((*people, *_begun(_OWNER.sub("", before, count=1), words("JOB"))), key=len, default="")
    if not person or person in content:
        return ""
    first, _, last = before.partition(person)
    is_object = any("prepositions" in word.classes for word in read_words(first))
    return "" if is_object or "我" in last else person


def _after_openers(clause: str) -> list[Word]:
    """Return the words of *clause*, without those that may precede its subject, such as adverbs."""
    return [word for word in read_words(clause) if not (word.classes & _BEFORE_SUBJECT or _ADVERB.fullmatch(word.text))]


def _has_user(read: Iterable[Word]) -> bool:
    return any(word.text in _USER or "user" in word.classes for word in read)


def _is_verb(word: Word) -> bool:
    return bool(word.form or "modals" in word.classes or word.lemma in _VERBS)


def people_in(text: str) -> frozenset[str]:
    """Return the persons other than the user that *text* names, relatives by one word each."""
    folded = fold(text)
    if language_of(folded) == "zh":
        return frozenset(_canonical(word) for word in _people() if not word.isascii() and word in folded)
    return frozenset(_canonical(word) for word in map(_bare, WORD.findall(folded)) if word in _people())


def _subject(clause: str) -> tuple[str, str] | None:
    """Return the person with whom *clause* begins, and the words for that person; None if it begins otherwise."""
    if is_chinese(clause[:1]):
        owner = _OWNER.match(clause)
        starts = (0, owner.end()) if owner else (0,)
        return next(
            ((_canonical(word), clause[: at + len(word)]) for at in starts for word in _begun(clause[at:], _people())),
            None,
        )
    clause = _PART_OF.sub("", clause)
    read = list(WORD.finditer(clause))
    tokens = [_bare(match[0]) if match[0] not in _DETERMINERS else match[0] for match in read]
    place = _first_content(tokens)
    has_determiner = place > 0 and tokens[place - 1] in _DETERMINERS
    for at in range(place, min(place + 1 + has_determiner, len(tokens))):  # "my older sister"
        if tokens[at] in _people():
            modifiers = _MODIFIERS.match(clause, read[at].end())
            return _canonical(tokens[at]), clause[: modifiers.end() if modifiers else None]
    return None


def _begun(clause: str, people: AbstractSet[str]) -> Iterator[str]:
    """Yield the Chinese word of *people* with which *clause* begins, the longest; none for a group."""
    known = sorted((word for word in people | _GROUPS if not word.isascii()), key=len, reverse=True)
    word = next((word for word in known if clause.startswith(word)), "")
    if word and word not in _GROUPS:
        yield word


def _first_content(tokens: Sequence[str]) -> int:
    """Return the place of the first token that is neither a determiner nor a word for the time."""
    kinds = word_classes()
    light = (at for at, token in enumerate(tokens) if token not in _DETERMINERS and kinds.get(token) != "MOMENT")
    return next(light, len(tokens))


def _bare(token: str) -> str:
    return token.removesuffix("'s").removesuffix("'")


def _canonical(word: str) -> str:
    return load_lexicon().people.get(word, word)


@cache
def _people() -> frozenset[str]:
    return frozenset(word for word, name in word_classes().items() if name in _CLASSES) - _GROUPS
