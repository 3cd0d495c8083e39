"""Finds what the user of a conversation states about themselves: facts, their ends, and corrections of an answer."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from memgraph.analysis.lasting import predict
from memgraph.analysis.requests import is_question, words_to_forget, words_to_remember
from memgraph.analysis.statement import classes_of, follows, read_words, statement
from memgraph.analysis.terms import content_terms
from memgraph.analysis.words import language_of, states_standing_need, word_classes, words
from memgraph.llm.offline.sentences import (
    BLANK,
    Sentence,
    matches_pattern,
    pattern,
    read_sentences,
    read_statements,
    read_verbatim,
    split_sentences,
)
from memgraph.llm.offline.slot_statements import Filled, read_slot
from memgraph.models import Turn
from memgraph.prompts.update_prompt import ShownTurn

CERTAIN, LIKELY = 0.95, 0.85
LEAST = 0.8  # of what the user states: the classifier does not know how certain it is, only whether it lasts
LEAST_OF_NEED = 0.5  # an allergy is kept from an even chance on
Embed = Callable[[str], Sequence[float]]
"""Returns the vector of a statement by the embedding model `local`."""
_GREETING = re.compile(r"\b(?:hi|hello|hey|good (?:morning|evening)|nice to meet you)\b|[你您家]好|嗨", re.IGNORECASE)
MAX_SENTENCES = 3  # a correction is at the beginning of a reply
MAX_QUOTE = 200  # characters of a correction, and of what went wrong
MIN_QUOTE = 8
_NOT_THAT = re.compile(r",? (?:and |but )?(?:not|rather than) [^,]+$|[，,]?(?:而)?不是[^，]+$", re.IGNORECASE)


class Extraction(NamedTuple):
    """A fact of the user: in the third person if that is safe, else in their own words.

    `quote` is the statement that it was read from; `filled` the slot that it fills; `source_error` what a correction
    corrects; `ends` the ids of the known facts that it ends.
    """

    content: str
    category: str
    confidence: float
    quote: str
    filled: Filled | None = None
    source_error: str = ""
    turn: int = 0
    ends: tuple[str, ...] = ()

    @property
    def slot(self) -> str:
        """The slot that the fact fills, or an empty text."""
        return self.filled.slot if self.filled else ""

    @property
    def is_tentative(self) -> bool:
        """Whether the words may mean something else: it never replaces another value of its slot."""
        return self.filled is not None and self.filled.is_tentative


class Ending(NamedTuple):
    """The known fact that a statement ends."""

    fact_id: str
    instead: str = ""
    """What holds instead, if the statement names no more than what was wrong of it."""


Ends = Callable[[str], Mapping[str, Ending]]
"""Returns by the statements in a text that end a known fact which one that is."""


def find_all(turns: Sequence[ShownTurn], embed: Embed | None = None, ends: Ends | None = None) -> list[Extraction]:
    """Return the facts in the new user turns, each once. Reading ends at a role play.

    *embed* helps to choose them. What *ends* a known fact is always one.
    """
    findings: dict[str, Extraction] = {}
    answer = ""
    for turn in turns:
        if turn.speaker != "user":  # what follows another speaker's words does not answer the assistant
            answer = turn.text if turn.speaker == "assistant" else ""
            continue
        if matches_pattern("role_play", turn.text[:4_000]):
            break
        if turn.is_new:
            ended: Mapping[str, Ending] = ends(turn.text) if ends else {}
            for finding in find_in_turn(turn, answer, embed, ended):
                ids = (ended[finding.quote].fact_id,) if finding.quote in ended else ()
                findings.setdefault(finding.content.casefold(), finding._replace(turn=turn.number, ends=ids))
        answer = ""
    return list(findings.values())


def find_in_turn(
    turn: ShownTurn, answer: str = "", embed: Embed | None = None, ended: Mapping[str, Ending] = MappingProxyType({})
) -> Iterator[Extraction]:
    """Yield the facts in one turn; *answer* is the assistant's turn before it, *ended* what is one in any case."""
    sentences = read_sentences(turn.text)
    used: Collection[Sentence] = ()
    is_of_known = any(ending.instead for ending in ended.values())
    if answer and not is_of_known and (found := _read_correction(sentences, answer)):
        correction, used = found
        yield correction
    for sentence in read_verbatim(turn.text):
        remembered = words_to_remember(sentence.text).rstrip(".。!！")
        if remembered and not sentence.text.startswith(remembered):  # "Remember to breathe." asks for nothing
            category = predict(remembered, language_of(remembered)).category
            yield Extraction(remembered, category, CERTAIN, sentence.text, read_slot(remembered))
    greets = _GREETING.search(turn.text[:200]) is not None
    for sentence in sentences:
        clauses = () if sentence in used else read_statements(sentence)
        for number, clause in enumerate(clauses):
            introduces = greets or (number == 0 and len(clauses) > 1)
            ending = ended.get(clause)
            if not ending and words_to_forget(clause):
                continue
            stated = ending.instead if ending and ending.instead else clause
            if found := _read_statement(stated, embed, is_end=ending is not None, introduces=introduces):
                yield found._replace(quote=clause)


def _read_statement(text: str, embed: Embed | None, *, is_end: bool, introduces: bool) -> Extraction | None:
    language = language_of(text)
    prediction = predict(text, language, embed(text) if embed else None)
    if filled := read_slot(text, introduces=introduces):
        confidence = LIKELY if filled.is_tentative else CERTAIN
        return Extraction(filled.content or _content(text), "context", confidence, text, filled)
    if pattern(language, "wish").match(text):
        return Extraction(_content(text), "preference", LIKELY, text)
    is_need = states_standing_need(text) and prediction.confidence >= LEAST_OF_NEED
    if not (is_end or is_need or prediction.is_kept) or "conditional" in classes_of(read_words(text)[:1]):
        return None
    confidence = max(prediction.confidence, LIKELY if is_end else LEAST)
    return Extraction(_content(text), prediction.category, confidence, text)


def _content(text: str) -> str:
    return own_words(in_third_person(text) or text)


def own_words(text: str) -> str:
    """Return *text* as a sentence: a capital at the beginning, and in English a full stop at the end."""
    text = " ".join(text.split()).strip(" ,，;；")
    if language_of(text) == "zh":
        return text.rstrip("。.")
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '!', '?', '…')) else '.'}"


# -- corrections of the assistant's last answer -------------------------------------------------------------


def _read_correction(sentences: Sequence[Sentence], answer: str) -> tuple[Extraction, frozenset[Sentence]] | None:
    """Return the correction of *answer*, and those of *sentences* that make it.

    None if none of the first ones objects, or if none states what would be right.
    """
    opening = [one for one in sentences[:MAX_SENTENCES] if not one.is_asked]
    start = next((at for at, one in enumerate(opening) if _objection(one.text)), None)
    if start is None or any(matches_pattern("own_fault", one.text) for one in opening):
        return None
    right = [(one, text) for one in opening[start:] if _is_rule(text := _without_objection(one.text))][:1]
    if not right or len(text := right[0][1]) > MAX_QUOTE:
        return None
    said, terms = [one.text for one in split_sentences(answer)], content_terms(text)
    wrong = max(said, key=lambda each: len(terms & content_terms(each)), default="")[:MAX_QUOTE]
    error = f"助手说：“{wrong}”" if language_of(text) == "zh" else f'The assistant said: "{wrong}"'
    filled = read_slot(_NOT_THAT.sub("", text))
    content, quote = (filled.content if filled else "") or own_words(text), right[0][0].text.replace(BLANK, "...")
    used = frozenset({right[0][0], *(one for one in opening[start:] if not _without_objection(one.text))})
    return Extraction(content, "correction", CERTAIN, quote, filled, source_error=error if wrong else ""), used


def _objection(text: str) -> str:
    """Return the words of *text* that only object."""
    found = pattern(language_of(text), "objection").match(text)
    return found[0] if found else ""


def _without_objection(text: str) -> str:
    return text.removeprefix(_objection(text)).strip(" ,.，。:：!！-")


def _is_rule(text: str) -> bool:
    """Return whether *text* states what is right, and can be understood on its own."""
    language = language_of(text)
    is_whole = BLANK not in text and len(text) >= MIN_QUOTE // (2 if language == "zh" else 1) and not is_question(text)
    return is_whole and bool(pattern(language, "rule").search(text)) and not pattern(language, "pointing").search(text)


# -- third person: the form that facts have, if reading it back finds the same -------------------------------

_SHORT_FORMS = (
    (re.compile(r"^I ?['’]?m\b", re.IGNORECASE), "I am"),
    (re.compile(r"^I ?['’]?ve\b", re.IGNORECASE), "I have"),
    (re.compile(r"^I['’]ll\b", re.IGNORECASE), "I will"),
    (re.compile(r"^I['’]d (?=(?:rather|like|love|prefer|hate)\b)", re.IGNORECASE), "I would "),
)
_VERBS_IN_LY = "|".join(words("verbs_in_ly"))
_SUBJECT = re.compile(
    r"(?P<subject>I|My)\s+"
    rf"(?P<adverbs>(?:(?:(?!(?:{_VERBS_IN_LY})\b)\w+ly|never|always|often|also|still|now|just|only|sometimes|no longer"
    r"|even|quite|rather|almost|already|seldom|soon|ever|once|then)\s+)*)"
    r"(?P<verb>[a-z]+(?:['’]t)?)\b(?P<rest>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FORMS = {"am": "is", "have": "has", "haven't": "hasn't", "do": "does", "don't": "doesn't"}
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
    if verb in words("unclear_verbs"):
        return None
    if any(word.form == "past" or "modals" in word.classes for word in read_words(f"I {verb}")):
        return verb
    if verb in _FORMS:
        return _FORMS[verb]
    if verb.endswith(("s", "x", "z", "ch", "sh", "o")):
        return f"{verb}es"
    return f"{verb[:-1]}ies" if verb.endswith("y") and verb[-2:-1] not in "aeiou" else f"{verb}s"
