"""Third person: a statement of the user in the form that facts have, if reading it back finds the same."""

from __future__ import annotations

import re

from memgraph.analysis.statement import classes_of, follows, read_words, statement
from memgraph.analysis.words import language_of, word_classes
from memgraph.models import Turn

_SHORT_FORMS = (
    (re.compile(r"^I ?['’]?m\b", re.IGNORECASE), "I am"),
    (re.compile(r"^I ?['’]?ve\b", re.IGNORECASE), "I have"),
    (re.compile(r"^I['’]ll\b", re.IGNORECASE), "I will"),
    (re.compile(r"^I['’]d (?=(?:rather|like|love|prefer|hate)\b)", re.IGNORECASE), "I would "),
)
_SUBJECT = re.compile(
    r"(?P<subject>I|My)\s+"
    r"(?P<adverbs>(?:(?:\w+ly|never|always|often|also|still|now|just|only|sometimes|no longer|even|quite|rather|almost"
    r"|already|seldom|soon|ever|once|then)\s+)*)"
    r"(?P<verb>[a-z]+(?:['’]t)?)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FORMS = {"am": "is", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't"}
_UNCLEAR = frozenset(
    {
        *("put", "cut", "quit", "let", "set", "hit", "cost", "hurt", "read", "beat", "bet", "shut", "split", "spread"),
        *("wed", "wanna", "gotta", "gonna"),
    }
)
"""Verbs of which the past is spelled as the present, and words that have no other form."""
_OTHERS = re.compile(r"\b(?:I|me|mine|myself|we|us|ours?|ourselves|you|yours?)\b|[我你您咱]", re.IGNORECASE)
_OWN = re.compile(r"\bmy\s+(?:own\s+)?", re.IGNORECASE)
_CONJUNCTIONS, _BASE_FORMS = frozenset({"and", "or", "but"}), frozenset({"have", "do", "am"})
_INFINITIVES = frozenset({"planned", "hoped"})
"""Classes of verbs that an infinitive follows: "wants to sail and see the world"."""
_CHINESE_SUBJECT = re.compile(r"(?:我|本人)(?![们的])")


def in_third_person(text: str) -> str | None:
    """Return the statement *text* without its first person: "I never eat pork" is "never eats pork".

    None if it speaks of others with the user, or if what is left does not state the same by itself.
    """
    found = _chinese(text) if language_of(text) == "zh" else _english(text.replace("’", "'"))
    if not found or _OTHERS.search(found):
        return None
    turn = Turn(id="", role="human", text=text)
    return found if follows(f"{found}.", statement(text, turn)) == "plain" else None


def _chinese(text: str) -> str | None:
    subject = _CHINESE_SUBJECT.match(text)
    return text[subject.end() :].strip(" ,，") if subject else None


def _english(text: str) -> str | None:
    for short, long in _SHORT_FORMS:
        text = short.sub(long, text)
    found = _SUBJECT.match(text)
    if found is None:
        return None
    verb = found["verb"]
    if found["subject"].casefold() == "i":
        verb = _inflected(verb.casefold())
        is_changed = verb != found["verb"].casefold() and not classes_of(read_words(verb or "")) & _INFINITIVES
        if verb is None or (is_changed and _has_second_verb(found["rest"])):
            return None
    return f"{found['adverbs']}{verb}{_OWN.sub('', found['rest'])}"


def _has_second_verb(rest: str) -> bool:
    """Return whether "and" joins a verb to the one before *rest*, which would need its form: "and eat a lot of fruit".

    No noun stands directly before an article, a possessive or a number.
    """
    read = [word for word in read_words(rest) if "light" not in word.classes or word.text in _BASE_FORMS]
    for joint, verb, after in zip(read, read[1:], [*read[2:], *read[-1:]], strict=False):
        is_verb = not verb.classes and not verb.form and after.classes & {"articles", "own", "numbers"}
        is_verb = is_verb or verb.text in _BASE_FORMS or word_classes().get(verb.text) in {"LIKE", "DISLIKE"}
        if joint.text in _CONJUNCTIONS and is_verb:
            return True
    return False


def _inflected(verb: str) -> str | None:
    """Return the form of *verb* after he or she, the same of a past one or a modal; None if it may be either."""
    if verb in _UNCLEAR:
        return None
    if any(word.form == "past" or "modals" in word.classes for word in read_words(f"I {verb}")):
        return verb
    if verb in _FORMS:
        return _FORMS[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"
