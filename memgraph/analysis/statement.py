"""The net: what a quoted sentence states, of whom and how firmly, and whether a claim is known to follow from it.

Words cannot decide whether any claim follows, but they can decide that a claim is no more than a clause of the sentence
with its subject taken off: the same words in the same order, the same denial, tense and modality. Such a claim is
plain. Everything else is at most kept as it was said. The words are closed classes: `patterns/statement/en.yaml`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cache
from itertools import accumulate, pairwise, takewhile
from typing import Literal, NamedTuple, cast, get_args

from memgraph._cache import word_cache
from memgraph.analysis.names import USER_NAMES, names_of, numbers_of
from memgraph.analysis.normalize import HAN, IS_HAN, fold, is_chinese, stem
from memgraph.analysis.provenance import QUOTATION, quoted_names
from memgraph.analysis.quotes import MAX_AROUND, find_quote
from memgraph.analysis.sentences import sentences
from memgraph.analysis.similarity import Profile
from memgraph.analysis.words import groups_of, split_phrases, word_classes
from memgraph.models import Modality, Turn
from memgraph.models.conversation import PLACEHOLDER

Verdict = Literal["plain", "as said", "refused"]
Source = Literal["user", "assistant", "other", "nobody"]
Subject = Literal["user", "person", "thing"]
Setting = Literal["talk", "quotation", "lines", "text", "code", "fiction"]
Mark = Literal["denied", "conditional", "hedged", "planned", "hoped", "reported", "past", "habitual", "asked"]

_WEAK = frozenset({"conditional", "hedged", "planned", "hoped", "reported"})
# Share of words of a class or a form, below which a text is in a language whose words for people are not known. So are
# .009 of the English statements in benchmarks/sets that are worth keeping, and 35 of 35 sentences in eight others.
MIN_KNOWN = 1 / 3
MIN_LABELS = 2  # such as "Anna:", in a chat log
MAX_TAG_WORDS = 4  # of a clause such as "don't I" or "my aunt says", which counts for the others
MIN_STEM, MAX_SUFFIX = 3, 4  # letters of a verb, and of what makes a noun of it, as in "gardener"
MIN_QUOTED_WORDS = 3  # of a quotation that states something; a shorter one names something

COMPARED = frozenset({"conditional", "hedged", "planned", "hoped", "reported", "limits", "averted"})
_DROPPED = COMPARED | {"articles", "own", "light", "denied", "be", "past"}
_BEFORE_SUBJECT = frozenset({"openers", "light"})
_PEOPLE = frozenset({"FAMILY", "FRIEND", "OTHERS"})  # these are classes of words.yaml
_RELATED = frozenset({"FAMILY", "PET"})
_TIMES = frozenset({"REGULAR", "DATE"})
_WHOLE = _PEOPLE | {"PET", "JOB", "HOBBY", "LANGUAGE", "CONDITION", "FOOD"}  # whose parts may look like function words
_OTHER_SUBJECT = frozenset({"user", "own", "addressee", "others"})
_TAG = frozenset({"user", "addressee", "others", "modals", "denied", "tags"})
_AUXILIARIES, _HAVE = frozenset({"be", "have", "do"}), frozenset({"have", "有"})
_RELATIVES = frozenset({"who", "that", "which"})
_CHOICES = frozenset({"or", "还是", "或"})
_REASONS = frozenset({"because", "cause", "cos", "since", "as", "although", "given that", "因为"})
_BASE_FORMS, _OBJECTS = frozenset({"do", "have", "be"}), frozenset({"it", "me", "him", "her", "us", "them"})
PRONOUNS = frozenset({"he", "she", "他", "她"})
"""What stands for one other person who was named before."""
_SUBJECTS, _YOUR = USER_NAMES | PRONOUNS | {"they"}, frozenset({"your", "你的", "您的"})
_FINAL = frozenset("的了")
_FORMS = (("past", "ed"), ("ing", "ing"))
_NONE = frozenset[str]()
_CLOSERS = " \n\t\"'”’」』）)"
_NUMERALS = r"[零〇一二两三四五六七八九十百千万]{2,}|\b\w+ty (?:one|two|three|four|five|six|seven|eight|nine)\b"
_COLON = re.compile(r"[:：](?!\d)|[-=]>")
_CLAUSE_END = re.compile(rf"{_COLON.pattern}|,(?!\d)|[;!?。，；！？、…()（）\[\]\n/]|\.(?!\w)|\s-+\s")
_CODE = re.compile(r"[={}\\]|<-|->|\w\(\)|\w_\w|\w\"\s*:")
_NAME = r"[^\s\[\]【】():：<>,，.!?。！？\"“]{1,20}"
_LABEL = re.compile(rf"(?:^|(?<=[\s。!?.]))[\[【(]?(?P<name>{_NAME}(?: {_NAME})?)\s?[\]】)>:：](?!//)")


class Word(NamedTuple):
    """A word or phrase of a clause, folded. One that is dropped changes nothing, or is compared as a mark.

    Its form is "past", "ing" or empty.
    """

    text: str
    lemma: str
    form: str
    classes: frozenset[str]

    @property
    def is_dropped(self) -> bool:
        return bool(self.classes & _DROPPED)


class StatedClause(NamedTuple):
    """A part of a sentence. It has the marks of its own words, and those of *marks*: "if" counts in all the sentence.

    It is the user's own unless it is announced, or in a text to work on. If it *inherits*, it needs no subject to be
    about the user.
    """

    words: tuple[Word, ...]
    is_own: bool = True
    is_asked: bool = False
    marks: frozenset[str] = frozenset()
    inherits: bool = False

    @property
    def classes(self) -> frozenset[str]:
        """The classes of its words, and its marks."""
        return classes_of(self.words) | self.marks

    @property
    def is_meant(self) -> bool:
        """Whether it is the user's own, and nothing near it is a jest."""
        return self.is_own and "jests" not in self.marks


class Statement(NamedTuple):
    """What the sentences that a quote touches state.

    Args:
        quote: The words as the user wrote them; empty if the turn does not contain them.
        source: Whose statement it is; a question, code and a story have no author.
        marks: How firm it is: of the clauses with words of the quote.
        setting: Its place: in the user's talk, in quotation marks, in lines of several speakers, in a text that
            work is asked for, in code, or in a story.
        clauses: All clauses of these sentences.
        answers_about_person: Whether it follows a question about another person.
    """

    quote: str
    source: Source
    marks: frozenset[Mark]
    setting: Setting
    clauses: tuple[StatedClause, ...] = ()
    answers_about_person: bool = False

    @property
    def quoted(self) -> Sequence[StatedClause]:
        """The clauses that the quote touches."""
        return _quoted(self.clauses, self.quote)

    @property
    def about(self) -> Subject:
        """Of whom the quote is."""
        return _subject_of(self.quoted)


def statement(quote: str, turn: Turn, previous: str = "") -> Statement:
    """Read the whole sentences of *turn*, with its provenance, that hold *quote*; *previous* is the turn before it."""
    words = find_quote(quote, turn.text) or ""
    at = turn.text.find(words) if words else -1
    if at < 0:
        return Statement("", "nobody", frozenset(), "talk")
    low = max(0, at - MAX_AROUND)
    start, end, text = at - low, at - low + len(words), turn.text[low : at + len(words) + MAX_AROUND]
    foreign = [(max(span.start - low, 0), span.end - low) for span in turn.spans if span.end > low]
    foreign += [mark.span() for mark in QUOTATION.finditer(text) if len(read_words(mark[0])) >= MIN_QUOTED_WORDS]
    ends = list(accumulate(map(len, sentences(text)), initial=0))
    touched = [span for span in pairwise(ends) if span[0] < end and start < span[1]]
    setting = _setting(text, start, end, touched[0][0], foreign)
    spans = [span for span in foreign if not span[0] <= start < span[1]]
    answers = _asks_of_person(previous)
    clauses = list(_clauses_in(text, touched, spans, answers=answers))
    quoted = _quoted(clauses, words)
    classes = _NONE.union(*(clause.classes for clause in quoted))
    is_past = any(_is_past(clause.words[begin:]) for clause in quoted for begin in _starts(clause))
    asks = bool(quoted) and all(clause.is_asked for clause in quoted)
    marks = classes.difference({"past"}) | {name for name, has in (("past", is_past), ("asked", asks)) if has}
    author: Source = "user" if turn.is_users else "assistant" if turn.role == "ai" else "other"
    source: Source = author if setting == "talk" else "other"
    if setting in {"code", "fiction"} or (source == "user" and asks and "own" not in classes):
        source = "nobody"
    known = cast("frozenset[Mark]", marks & frozenset(get_args(Mark)))
    return Statement(words, source, known, setting, tuple(clauses), answers)


def follows(claim: str, stated: Statement, *, is_supported: bool = False) -> Verdict:
    """Return whether *claim* is known to follow from *stated* ("plain"), may be kept as it was said, or neither.

    Args:
        claim: A sentence about the user.
        stated: What the sentences that the claim quotes state.
        is_supported: Whether the claim is known to add nothing to the user's words. Then it follows if it is as firm
            as its sentence, about the same person and time, and has the words that both share in the same order.
    """
    claims = [_without_subject(clause.words) for clause in _read_sentence(claim)]
    if claims and stated.setting == "talk" and stated.source in {"user", "nobody"}:
        joined = [word for words in claims for word in words]
        is_known = all(any(_follows_from(words, clause) for clause in stated.clauses) for words in claims)
        is_list = len(claims) > 1 and any(_follows_from(joined, clause) for clause in _lists(stated.clauses))
        if is_known or is_list:
            return "plain"
        if is_supported and stated.source == "user" and is_as_firm(claim, stated):
            return "plain"
    return "as said" if stated.source == "user" else "refused"


def states_firmly(claim: str, stated: Statement) -> bool:
    """Return whether the user states one of the clauses about *claim* without a condition, doubt, plan or question."""
    named = _lemmas(read_words(claim))
    said = [clause for clause in stated.clauses if not clause.is_asked]
    own = [clause for clause in said if clause.is_own]
    about = [clause for clause in said if named & _lemmas(clause.words)]
    # "Translate: I am well." states nothing, but "Good news: I am well." does
    is_quoted = any("work" in clause.classes for clause in own) and not any(one.is_own for one in about)
    read = [clause for clause in about if clause.is_own] or ([] if about and is_quoted else own)
    return stated.source == "user" and any(
        not _classes_without_hedged_numbers(one) & (_WEAK | {"fiction", "jests"}) for one in read
    )


def _classes_without_hedged_numbers(clause: StatedClause) -> frozenset[str]:
    """Return the classes of *clause* without a hedge of a number alone: "about 2 pm" doubts nothing else."""
    pairs = zip(clause.words, (*clause.words[1:], *clause.words[-1:]), strict=True)
    kept = (word for word, after in pairs if "hedged" not in word.classes or "numbers" not in after.classes)
    return classes_of(kept) | clause.marks


def firmness_of(said: str) -> frozenset[str]:
    """Return the marks by which *said*, words of the user, is less than asserted: a doubt, plan, denial or past."""
    return _NONE.union(*(clause.classes for clause in _read_sentence(said))) & (_WEAK | {"denied", "past"})


def modality_of(claim: str) -> Modality | None:
    """Return how firm *claim* is by its own words; None if it is asserted."""
    words = read_words(claim)
    marks = classes_of(words).difference({"past"}) | ({"past"} if has_past(words) else _NONE)
    return next((name for name in get_args(Modality) if name in marks), None)


def states_only_past(sentence: str) -> bool:
    """Return whether all of *sentence* is about a state of the past: "We used to live in Ghent.".

    A verb in a form of the past, or 了, states what happened, and may change what holds: "Sold it a year ago.".
    """
    clauses = [clause.words for clause in _read_sentence(sentence)]
    happened = any(word.form == "past" or word.text == "了" for words in clauses for word in words)
    return bool(clauses) and not happened and all("past" in classes_of(words) for words in clauses)


def has_firm_clause(claim: str) -> bool:
    """Return whether a clause of *claim* has no condition, doubt, plan, hope or report."""
    return any(not clause.classes & _WEAK for clause in _read_sentence(claim))


def is_as_firm(claim: str, stated: Statement) -> bool:
    """Return whether *claim* has the marks of the quoted clauses, their time and person, and their order of words.

    It has no word of the quote that is not the user's own, or asked, and adds none if the quote does not name the user,
    as in "Berlin sounds fun".
    """
    words, quoted = read_words(claim), stated.quoted
    said = _NONE.union(*(clause.classes for clause in quoted))
    was_past = any(has_past(clause.words) for clause in quoted)
    named, names_user = _lemmas(words), any(map(_is_users, quoted))
    is_about_user = _subject_of([one for one in quoted if named & _lemmas(one.words)] or quoted) == "user"
    shared = [one.words for one in quoted if named & _lemmas(one.words)]
    theirs = {noun.lemma for said_of in shared if (noun := _owned_subject(said_of, is_state="be" in classes_of(words)))}
    own = _lemmas(word for one in stated.clauses if one.is_meant and not _asks_something(one) for word in one.words)
    compared = COMPARED | {"denied", "fiction"}
    return (
        all(clause.is_meant for clause in quoted)
        and classes_of(words) & compared == said & compared
        and (has_past(words) == was_past or "begun" in said)
        and ("ends" in Profile(claim).marks or "ends" not in Profile(stated.quote).marks)
        and ((is_about_user and theirs <= named) or _names_person(words))
        and (names_user or named <= _lemmas(word for one in quoted for word in one.words))
        and _is_in_order(words, stated.clauses)
        and _keeps_predicate(words, quoted)
        and not _lemmas(words) & (_lemmas(read_words(stated.quote)) - own)
    )


def _owned_subject(words: Sequence[Word], *, is_state: bool) -> Word | None:
    """Return what an English clause is about that the user calls theirs: "tenant" of "my tenant smokes".

    What it is counts if a claim states what the user is: of "my flat is in Ghent" the user lives there.
    """
    start = next((at for at in _openings(words) if "own" in words[at].classes), len(words))
    owned, *others = (*content_of(words[start + 1 :]), None)
    acts = any(word and (word.form or word.text in {f"{word.lemma}s", f"{word.lemma}es"}) for word in others)
    is_clause = acts or (is_state and "be" in classes_of(words[start:]))
    return owned if owned and is_clause and not is_chinese(owned.text) else None


def _asks_something(clause: StatedClause) -> bool:
    """Return whether *clause* asks something: "Nuts?" only names what follows."""
    asks = _TAG | {"asks"}
    return clause.is_asked and any(word.classes & asks or word.lemma in _AUXILIARIES for word in clause.words)


def _lemmas(words: Iterable[Word]) -> frozenset[str]:
    return frozenset(word.lemma for word in content_of(words))


def has_past(words: Iterable[Word]) -> bool:
    """Return whether *words* are about the past: "was engaged", but not "is engaged"."""
    words = tuple(words)
    finite = [word.form == "past" for word in words if "be" in word.classes]
    return any("past" in word.classes for word in words) or (
        any(finite) if finite else any(word.form == "past" and "light" not in word.classes for word in words)
    )


def _is_in_order(claim: Sequence[Word], clauses: Iterable[StatedClause]) -> bool:
    """Return whether the words that *claim* shares with *clauses*, each there once, stand in the same order."""
    said = [word.lemma for clause in clauses for word in content_of(clause.words)]
    shared = [word.lemma for word in content_of(_without_subject(claim))]
    places = [said.index(lemma) for lemma in shared if said.count(lemma) == 1]
    return places == sorted(places)


def is_fragment(claim: str, stated: Statement) -> bool:
    """Return whether the sentences do not name the user, so that a question completes them: "In Rome.".

    They are as firm as *claim*, which drops none of their verbs, and about no person whom it does not name.
    """
    words = read_words(claim)
    said = _NONE.union(*(clause.classes for clause in stated.clauses))
    is_firm = classes_of(words) & COMPARED == said & COMPARED
    verbs = _lemmas(word for clause in stated.quoted for word in clause.words if word.form)
    is_clause = bool(said & {"user", "own"}) or not verbs <= _lemmas(words)
    is_others = any(map(_opens_with_person, stated.quoted)) or stated.answers_about_person
    is_unclear = is_clause or (is_others and not _names_person(words))
    return is_firm and not is_unclear and _keeps_predicate(words, stated.quoted, is_completed=True)


def _keeps_predicate(claim: Sequence[Word], clauses: Sequence[StatedClause], *, is_completed: bool = False) -> bool:
    """Return whether *claim* drops no verb for "is" or "has": "I met a doctor" states no "Is a doctor.".

    Nor does it make a noun of another word, as "Is a baker." of "I bake"; what a question completes may lack it.
    """
    words = _without_subject(claim)
    content = content_of(words)
    owns = len(content) > 1 and content[0].lemma in _HAVE and content[1].form != "past"  # not "has lived"
    if not (owns or _is_state(words)):
        return True
    name = next((word.lemma for word in content[owns:]), "")
    said, named = [(one.words, [word.lemma for word in one.words]) for one in clauses], _lemmas(content[owns:])
    places = [(spoken, min(map(lemmas.index, named & {*lemmas}))) for spoken, lemmas in said if name in lemmas]
    kept = any(_is_state_at(*place) or (owns and _is_owned_at(*place)) for place in places)
    return kept or (not places and (is_completed or owns or not _is_trade(words, clauses)))


def _is_trade(words: Sequence[Word], clauses: Sequence[StatedClause]) -> bool:
    """Return whether *words*, which state what a person is, name a trade, or who does what *clauses* state: "baker"."""
    said = [word for one in clauses for word in one.words]
    claimed = "".join(word.text for word in words)
    if is_chinese(claimed):  # 上海人 is from 上海, but 歌手 does not follow from 唱歌
        text = "".join(word.text for word in said)
        return not any(one + other in text for one, other in pairwise(claimed))
    done = [word.lemma.removesuffix("e") for word in content_of(said)]
    is_noun = "articles" in classes_of(takewhile(lambda word: word.is_dropped, words))
    return any(
        word_classes().get(word.text) == "JOB" or (is_noun and any(_makes_noun(stem, word.text) for stem in done))
        for word in content_of(words)
    )


def _makes_noun(stem: str, noun: str) -> bool:
    return MIN_STEM <= len(stem) <= len(noun) <= len(stem) + MAX_SUFFIX and noun.startswith(stem)


def _is_state_at(words: Sequence[Word], at: int) -> bool:
    """Return whether nothing but a form of "be" and words that belong to it stand before *at*, after the subject."""
    start = next((place + 1 for place in reversed(range(at)) if "user" in words[place].classes), 0)
    before = words[start:at]
    if start and not IS_HAN.match(words[start - 1].text) and not _has_be(before):  # "I cook"
        return False
    acts = any(word.form == "ing" for word in before)
    return not content_of(before) or (_is_state(before) and not acts and "complements" not in classes_of(before))


def _is_state(words: Sequence[Word]) -> bool:
    return _has_be(words) or any(word.text == "是" for word in takewhile(lambda word: word.is_dropped, words))


def _is_owned_at(words: Sequence[Word], at: int) -> bool:
    """Return whether what stands at *at* is what the user has, or calls theirs."""
    start = next((place for place in reversed(range(at)) if words[place].classes & {"user", "own"}), 0)
    before = words[start:at]
    has = any(word.lemma in _HAVE for word in before)
    return has or ("own" in words[start].classes and all(word.text != "'s" for word in before))


# -- where a quote stands -------------------------------------------------------------------------


def _setting(text: str, start: int, end: int, first: int, foreign: Sequence[tuple[int, int]]) -> Setting:
    """Return where the quote `text[start:end]` stands, in a sentence that begins at *first*."""
    labels = [label for label in _LABEL.finditer(text) if _is_label(label["name"])]
    before = [label["name"] for label in labels if first <= label.start() < end]
    if before and _is_users_label(before[-1]):
        return "talk"
    if any(low <= start and end <= high for low, high in foreign):
        return "quotation"
    if _CODE.search(text[start:end]):
        return "code"
    if before and len(labels) >= MIN_LABELS:
        return "lines"
    announced = list(_COLON.finditer(text, first, start))
    classes = classes_of(read_words(text[first : announced[-1].start()])) if announced else _NONE
    return "fiction" if "fiction" in classes else "text" if "work" in classes else "talk"


def _is_label(name: str) -> bool:
    is_name = name[0].isupper() or not name.isascii() or _is_users_label(name)
    return is_name and name.casefold() not in quoted_names("not_names")


def _is_users_label(name: str) -> bool:
    return all("labels" in word.classes for word in read_words(name))


def _clauses_in(
    text: str, spans: Iterable[tuple[int, int]], foreign: Iterable[tuple[int, int]], *, answers: bool
) -> Iterator[StatedClause]:
    """Yield the clauses of the sentences at *spans*, without what is *foreign*.

    If the text *answers* a question about another person, no clause is about the user for want of a subject.
    """
    for low, high in foreign:
        text = text[:low] + PLACEHOLDER * (min(high, len(text)) - low) + text[high:]
    words = read_words(text)
    classes = classes_of(words)
    names_others = _names_person(words)
    known = sum(bool(word.classes or word.form or _class(word) or IS_HAN.match(word.text)) for word in words)
    is_read = known >= MIN_KNOWN * len(words)
    for low, high in spans:
        is_own = not ("work" in classes and _COLON.search(text, 0, low))
        for clause in _read_sentence(text[low:high], is_own=is_own, inherits=is_read and not (names_others or answers)):
            yield clause._replace(marks=clause.marks | classes & {"fiction", "jests"})


# -- clauses and words ----------------------------------------------------------------------------


def _read_sentence(sentence: str, *, is_own: bool = True, inherits: bool = False) -> list[StatedClause]:
    """Split *sentence* into clauses, none of them empty."""
    names, is_question = frozenset(names_of(sentence)), _is_question(sentence)
    colon = _COLON.search(sentence)
    head = read_words(sentence[: colon.start()]) if colon else ()
    is_announced = not all("openers" in word.classes for word in head)  # "Remember: ..." is the user's own
    ends = [(0, 0), *(mark.span() for mark in _CLAUSE_END.finditer(sentence)), (len(sentence), 0)]
    read: list[StatedClause] = []
    for (_, start), (end, _) in pairwise(ends):
        carried: frozenset[str] = _NONE
        for words in _parts(read_words(sentence[start:end], names)):
            carried = carried if words[0].text == "and" else _NONE
            continues = inherits and (not read or any(_starts(read[-1])))  # at 0 it names nobody itself
            is_said = is_own and not (colon and is_announced and colon.start() < start)
            is_relative = bool(read) and words[0].text in _RELATIVES and not is_question
            is_asked = not is_relative and _asks(words, is_question=is_question)
            read.append(StatedClause(words, is_said, is_asked, carried, continues))
            carried = carried.union(classes_of(words) & COMPARED)
    for at in range(len(read) - 1, -1, -1) if is_question else ():
        tag = read[at].words
        if at and tag[0].text in _REASONS:  # "which rice, as I am diabetic?" asks for the rice
            continue
        is_tag = len(tag) <= MAX_TAG_WORDS and all(word.classes & _TAG or word.lemma in _AUXILIARIES for word in tag)
        read[at] = read[at]._replace(is_asked=True)
        if not is_tag:
            break
    marks = _NONE.union(*(_marks_for_all(clause.words) for clause in read))
    return [clause._replace(marks=clause.marks | marks) for clause in read]


def _is_question(sentence: str) -> bool:
    return sentence.rstrip(_CLOSERS).endswith(("?", "？"))


def _asks_of_person(text: str) -> bool:
    """Return whether the last question in *text* that names a person is about another: "What does your brother do?"."""
    for words in map(read_words, filter(_is_question, reversed(sentences(text)))):
        for at, word in enumerate(words):
            if _class(word) in _PEOPLE or word.text in PRONOUNS:
                return True
            if word.text in _YOUR:
                if any(_class(one) == "JOB" for one in words[at + 1 : at + 3]):
                    return True
            elif "addressee" in word.classes and not any(_class(one) in _PEOPLE for one in words[at + 1 : at + 2]):
                return False
    return False


def _parts(words: tuple[Word, ...]) -> Iterator[tuple[Word, ...]]:
    """Split *words* before a word such as "and" that the user, as another subject, or a question follows."""
    start = 0
    for at in range(1, len(words) - 1):
        is_new = words[at + 1].classes & {"user", "own", "asks"} or _is_inverted(words[at + 1 :])
        if is_new and words[at].classes >= {"joins", "openers"}:
            yield words[start:at]
            start = at
    if words:
        yield words[start:]


def _marks_for_all(words: Sequence[Word]) -> frozenset[str]:
    """Return the marks of a clause that count in all the sentence: "if", and those of "I think" by itself."""
    return classes_of(words) & {"conditional", *(("hedged", "reported") if len(words) <= MAX_TAG_WORDS else ())}


def _asks(words: Sequence[Word], *, is_question: bool) -> bool:
    """Return whether a clause has the form of a question."""
    rest = [word for word in words if "asks" in word.classes or not word.classes & {"openers", "denied"}]
    if (
        not rest
        or "asks" in rest[0].classes
        or any("asks" in word.classes and IS_HAN.match(word.text) for word in rest)
    ):
        return bool(rest)
    is_article = is_question and len(rest) > 1 and "articles" in rest[1].classes and _is_auxiliary(rest[0])
    return is_article or _is_inverted(rest)


def _is_auxiliary(word: Word) -> bool:
    return "modals" in word.classes or word.lemma in _AUXILIARIES


def _is_inverted(words: Sequence[Word]) -> bool:
    if len(words) < 2 or not _is_auxiliary(words[0]):  # noqa: PLR2004 - a verb and its subject
        return False
    if words[0].text in _BASE_FORMS and words[1].text in _OBJECTS:  # "do it like that" is an order
        return False
    return bool(words[1].classes & _OTHER_SUBJECT) or (words[0].lemma == "be" and words[1].text in _RELATIVES)


def read_words(text: str, names: AbstractSet[str] = frozenset()) -> tuple[Word, ...]:
    """Return the words of *text*; of Chinese those of a class, and single characters."""
    lexicon, folded = _lexicon(), fold(text)
    for pattern, replacement in lexicon.rewrites:
        folded = pattern.sub(replacement, folded)
    words: list[Word] = []
    is_gerund = False
    for match in lexicon.token.finditer(folded):
        word, last = _word(match[0]), words[-1].classes if words else _NONE
        if word.text == "to" and last & (COMPARED | {"past", "attitudes"}):
            is_gerund = "attitudes" in last
            continue
        word = word._replace(form="ing") if is_gerund else word
        words.append(word._replace(classes=word.classes | {"names"}) if word.text in names else word)
        is_gerund = False
    return tuple(words)


def classes_of(words: Iterable[Word]) -> frozenset[str]:
    """Return the classes of *words*."""
    return _NONE.union(*(word.classes for word in words))


def _class(word: Word) -> str | None:
    return word_classes().get(word.text)


@word_cache(16_384)
def _word(text: str) -> Word:
    lexicon, numbers, stemmed = _lexicon(), numbers_of(text, in_words=True), stem(text)
    base = lexicon.lemmas.get(text) or max(numbers, key=float, default=stemmed)
    form = next((name for name, ending in _FORMS if stemmed != text and text.endswith(ending)), "")
    classes = lexicon.classes.get(text, _NONE).union(["numbers"] if numbers else [])
    return Word(text, lexicon.lemmas.get(base, base), "past" if text in lexicon.past_forms else form, classes)


class _Lexicon(NamedTuple):
    classes: Mapping[str, frozenset[str]]
    lemmas: Mapping[str, str]
    past_forms: frozenset[str]
    weaker: Mapping[str, str]
    rewrites: Sequence[tuple[re.Pattern[str], str]]
    token: re.Pattern[str]


@cache
def _lexicon() -> _Lexicon:
    files = groups_of("statement")
    members = [
        (name, phrase) for file in files for name, words in file["classes"].items() for phrase in split_phrases([words])
    ]
    forms_of = [file["forms"] for file in files]
    irregular = [(forms.split(), past.split()) for forms, past in _pairs(forms_of, "irregular")]
    members += [("hedged", phrase) for name, phrase in members if name == "averted"]
    members += [("be", form) for forms, past in irregular if forms[0] == "be" for form in (*forms, *past)]
    classes: dict[str, frozenset[str]] = {}
    for name, phrase in members:
        classes[phrase] = classes.get(phrase, _NONE) | {name}
    lemmas = {form: stem(forms[0]) for forms, past in irregular for form in (*forms, *past)}
    for group in map(str.split, split_phrases(forms["same"] for forms in forms_of)):
        lemmas |= {form: group[0] for member in group for form in (member, stem(member))}
    known = {word for word, name in word_classes().items() if name in _WHOLE and IS_HAN.match(word)}
    names = filter(IS_HAN.match, USER_NAMES)
    phrases = sorted({*classes, *known, *names}, key=len, reverse=True)
    # no character is compared with the phrases of the other script
    spaced = "|".join(phrase for phrase in phrases if " " in phrase and not IS_HAN.match(phrase))
    unspaced = "|".join(filter(IS_HAN.match, phrases))
    return _Lexicon(
        classes,
        lemmas,
        frozenset(form for _, past in irregular for form in past),
        {stem(one): stem(other) for one, other in _pairs(forms_of, "weaker")},
        [(re.compile(old), new.replace("_", " ")) for old, new in _pairs(forms_of, "rewrites")],
        re.compile(rf"{_NUMERALS}|\b(?:{spaced})\b|(?=[{HAN}])(?:{unspaced}|[{HAN}])|'s\b|[^\W_{HAN}]+"),
    )


def _pairs(files: Iterable[Mapping[str, str]], name: str) -> Iterator[tuple[str, str]]:
    texts = (file.get(name, "") for file in files)
    for one, _, other in (pair.rpartition(" > ") for text in texts for pair in text.split(" | ") if pair):
        yield one.strip(), other.strip()


# -- what a clause states ------------------------------------------------------------------------


def _quoted(clauses: Sequence[StatedClause], quote: str) -> Sequence[StatedClause]:
    """Return the clauses of which *quote* has at least half of the words, or the other way round; without any, all."""
    wanted = Counter(word.text for word in read_words(quote))

    def is_touched(clause: StatedClause) -> bool:
        words = Counter(word.text for word in clause.words)
        return 2 * (words & wanted).total() >= min(words.total(), wanted.total()) > 0

    return [clause for clause in clauses if is_touched(clause)] or clauses


def _names_person(words: Iterable[Word]) -> bool:
    return any(_class(word) in _PEOPLE or "others" in word.classes for word in words)


def _opens_with_person(clause: StatedClause) -> bool:
    words = clause.words
    return any(_names_person(words[at : at + 1]) or _is_users_person(words[at : at + 2]) for at in _openings(words))


def _subject_of(clauses: Sequence[StatedClause]) -> Subject:
    """Return about whom the first of *clauses* is that names a person: "my manager" and 我同事 are not the user."""
    for clause in clauses:
        for at, word in enumerate(clause.words):
            if _names_person([word]) or _is_users_person(clause.words[at : at + 2]):
                return "person"
            if "user" in word.classes:
                return "user"
    is_own = "own" in classes_of(word for clause in clauses for word in clause.words)
    return "user" if is_own or any(clause.inherits for clause in clauses) else "thing"


def _is_users_person(pair: Sequence[Word]) -> bool:
    """Return whether two words are such as "my manager" or 我同事; the Chinese jobs are also verbs, as in 我工作."""
    owner, *person = pair
    if IS_HAN.match(owner.text):
        return not owner.classes.isdisjoint({"user", "own"}) and any(_class(word) in _PEOPLE for word in person)
    return "own" in owner.classes and any(_class(word) in _PEOPLE | {"JOB"} for word in person)


def _without_subject(words: Sequence[Word]) -> Sequence[Word]:
    """Return a claim without the word for the user with which it begins."""
    at = next((at for at, word in enumerate(words) if "articles" not in word.classes), 0)
    is_subject = bool(words) and (words[at].text in _SUBJECTS or "user" in words[at].classes)
    return words[at + 1 :] if is_subject else words


def _openings(words: Sequence[Word]) -> Iterator[int]:
    """Yield where a clause may begin: after each word that may precede its subject."""
    for at, word in enumerate(words):
        yield at
        if not word.classes & _BEFORE_SUBJECT:
            return


def _starts(clause: StatedClause) -> Iterator[int]:
    """Yield where the words after a subject begin that is the user or theirs, and stands first in *clause*."""
    words = clause.words
    for at in _openings(words):
        if words[at].classes & {"user", "own"}:
            yield at + 1
            verbs = takewhile(lambda place: not words[place].classes & (COMPARED | {"user"}), range(at + 1, len(words)))
            yield from (place + 1 for place in verbs if words[place].text == "and")
        elif clause.inherits and (words[at].form or IS_HAN.match(words[at].text)):
            yield at  # an English verb without a form may be an order


def _is_users(clause: StatedClause) -> bool:
    """Return whether the subject of *clause* is the user or theirs.

    A clause without a subject begins with a word of a class: 每天打太极 is the user's, and 北京下雪了 has a subject.
    """
    return any(start or clause.words[0].classes for start in _starts(clause))


def _lists(clauses: Sequence[StatedClause]) -> Iterator[StatedClause]:
    """Yield each clause with those after it, which are one if commas separate the items of a list."""
    for at, clause in enumerate(clauses):
        if not any(other.is_asked or not other.is_meant for other in clauses[at:]):
            yield clause._replace(words=tuple(word for other in clauses[at:] for word in other.words))


def _follows_from(claim: Sequence[Word], clause: StatedClause) -> bool:
    if clause.is_asked or not clause.is_meant:
        return clause.is_meant and _is_owned(claim, clause)
    fronted = _without_topic(clause)
    starts = [(clause, start) for start in _starts(clause)] + ([(fronted, 0)] if fronted else [])
    return any(_is_same(claim, read, start) for read, start in starts) or _is_owned(claim, clause)


def _without_topic(clause: StatedClause) -> StatedClause | None:
    """Return 相机我借给他了 as 借给他相机; None if no object stands before the subject."""
    at = next((at for at, word in enumerate(clause.words) if "user" in word.classes and IS_HAN.match(word.text)), 0)
    topic, rest = clause.words[:at], [word for word in clause.words[at + 1 :] if word.text not in _FINAL]
    if not at or classes_of(topic) - {"articles", "light"} or any(_class(word) in _PEOPLE for word in topic):
        return None
    return clause._replace(words=(*rest, *topic))


def _is_same(claim: Sequence[Word], clause: StatedClause, start: int) -> bool:
    """Return whether *claim* is what *clause* states from *start* on, up to the end of a phrase."""
    end = _align(claim, clause.words, start)
    if end is None or not _may_end(clause.words, end):
        return False
    joins = (at for at in range(end, len(clause.words)) if clause.words[at].classes & {"joins", "user"})
    said = clause.words[start : next(joins, len(clause.words))]
    is_state, was_state = _has_be(claim), _has_be(said)  # "is a cook" is not "cooks", but "allergic" is "is allergic"
    if is_state != was_state and (is_state or content_of(claim)[0].text != content_of(said)[0].text):
        return False
    denials, denied = ([word for word in words if "denied" in word.classes] for words in (claim, said))
    compared = COMPARED | {"fiction"}
    return (
        len(denials) == len(denied) <= 1
        and _is_past(claim) == _is_past(said)
        and classes_of(claim) & compared == (classes_of(said) | clause.marks) & compared
        and not any(_class(word) in _TIMES for word in clause.words[end : start + len(said)])
    )


def _align(claim: Sequence[Word], words: Sequence[Word], start: int) -> int | None:
    """Return where the words of *claim* end in *words*, in which they stand in the same order from *start* on.

    Between them, and in addition in the claim, are only words that are dropped; a number may have its unit in addition.
    """
    at, before, is_past = start, "", "past" in classes_of([*claim, *words])
    for wanted in content_of(claim):
        skipped = at
        while skipped < len(words) and words[skipped].is_dropped and not _is_form(wanted, words[skipped], is_past):
            skipped += 1
        if skipped < len(words) and _is_form(wanted, words[skipped], is_past):
            at = skipped + 1
        elif "units" not in wanted.classes or not (before.isdigit() or len(before) > 1):
            return None
        before = before + wanted.lemma if IS_HAN.match(wanted.lemma) else wanted.lemma
    return at if at > start else None


def content_of(words: Iterable[Word]) -> list[Word]:
    """Return the words that count in a comparison by themselves."""
    return [word for word in words if not word.is_dropped and word.text not in _RELATIVES]


def _is_form(one: Word, other: Word, is_past: bool) -> bool:  # noqa: FBT001 - whether "used to live" may be "lived"
    is_same = other.lemma in {one.lemma, _lexicon().weaker.get(one.lemma)}
    return is_same and (one.form == other.form or (is_past and "ing" not in {one.form, other.form}))


def _may_end(words: Sequence[Word], end: int) -> bool:
    """Return whether a phrase may end before *end*: not within a compound or a name, nor before its complement."""
    if end >= len(words):
        return True
    last, following = words[end - 1].classes, words[end]
    splits = following.text == "'s" or "complements" in following.classes or "names" in last & following.classes
    return bool(following.classes) and not splits


def _has_be(words: Sequence[Word]) -> bool:
    return "be" in classes_of(takewhile(lambda word: word.is_dropped, words))


def _is_past(words: Sequence[Word]) -> bool:
    verb = next((word.form for word in words if not word.is_dropped or word.classes & {"be", "hoped", "planned"}), "")
    return verb == "past" or "past" in classes_of(words)


def _is_owned(claim: Sequence[Word], clause: StatedClause) -> bool:
    """Return whether *claim* states that the user has what *clause* calls theirs: "my twin brother", 我女儿."""
    wanted, ruled_out = content_of(claim), COMPARED - {"hedged", "averted"} | {"denied", "fiction"}
    has_had = any(word.text == "had" for word in claim)
    if not wanted or wanted[0].lemma not in _HAVE or classes_of(claim) & (ruled_out | {"hedged"}):
        return False
    ruled_out = ruled_out.union(() if has_had else ["past"])
    has_ended = any(word.form == "past" and ("be" in word.classes or not word.is_dropped) for word in clause.words)
    if has_ended or clause.classes & ruled_out:
        return False
    lemmas = [word.lemma for word in wanted if word.lemma not in _HAVE]
    return any(
        ("own" in word.classes or ("user" in word.classes and _class(following) in _RELATED))
        and _has_all(lemmas, clause.words, at)
        for at, (word, following) in enumerate(pairwise(clause.words), 1)
    )


def _has_all(wanted: Sequence[str], words: Sequence[Word], start: int) -> bool:
    """Return whether *words* from *start* on are first those *wanted*, in any order, up to the end of a phrase."""
    rest = list(wanted)
    for at in range(start, len(words)):
        if words[at].lemma in rest:
            rest.remove(words[at].lemma)
        elif not words[at].is_dropped or words[at].classes & COMPARED:
            return False
        if not rest:
            return _may_end(words, at + 1) or (
                _class(words[at]) == "FAMILY" and IS_HAN.match(words[at].text) is not None
            )
    return False


def asks_for(claim: str, question: str) -> bool:
    """Return whether a yes to *question* is one to *claim*: it has the same marks and time, and no other person.

    "Is your sister vegetarian?", "Were you vegetarian?" and "Are you vegetarian or vegan?" do not ask for
    "Is vegetarian.".
    """
    words = read_words(claim)
    named = _lemmas(words)
    read = [one.words for one in _read_sentence(question) if named & _lemmas(one.words)]
    asked = [word for clause in read for word in clause if "addressee" not in word.classes]
    compared = COMPARED | {"denied", "others"}
    return (
        classes_of(words) & compared == classes_of(asked) & compared
        and any(map(has_past, read)) == has_past(words)
        and {_class(word) for word in asked} & _PEOPLE <= {_class(word) for word in words}
        and not {word.text for word in asked} & _CHOICES
    )
