"""What is compared: documents, and the query of the last exchanges of a conversation, the latest weighing most."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import cache, cached_property
from importlib.resources import files
from itertools import dropwhile
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel

from memgraph.analysis.areas import Shares, areas_of
from memgraph.analysis.date_phrases import DateMention, find_dates
from memgraph.analysis.names import names_of
from memgraph.analysis.normalize import fold, is_chinese
from memgraph.analysis.terms import Terms, content_terms, extract_terms
from memgraph.analysis.words import groups_of, split_phrases, states_standing_need
from memgraph.models import MANUAL, UNKNOWN_THREAD, Turn
from memgraph.models.dates import Days, days_of
from memgraph.retrieval.terms import load_synonyms

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage, MessageLikeRepresentation

    from memgraph.analysis.message import MessageText

    MessageLike = MessageLikeRepresentation | Turn
    """The accepted forms of a message; a plain text is a message of the user."""

NO_THREAD = frozenset({MANUAL, UNKNOWN_THREAD, ""})
"""Sources that are not a conversation."""
TURN_DECAY = 0.5
"""Weight of an exchange relative to the one after it."""
ANSWER_WEIGHT = 0.4
"""Weight of an answer of the assistant relative to its question."""
SYNONYM_WEIGHT = 0.5
"""Weight of a synonym of a query term."""
MAX_CHARS = 2_000
"""A longer turn is shortened to its beginning and its end."""
MAX_GENERAL_CHARS = 100
"""A longer text does not ask in general."""
_QUANTITIES = ("几", "多[久大高远长重]")
"""What asks for a number, in addition to the question words of patterns/statement."""
READ_FACTOR = 2
"""So many times the human messages that count are read if too few of the last ones do, since some only acknowledge."""


@dataclass(frozen=True)
class Document:
    """A fact or an episode as it is searched."""

    text: str
    """Its own text, which an embedding model compares with the question."""
    context: tuple[str, ...] = ()
    """Further texts by whose words it is found."""
    thread: str = ""
    """The conversation it is from; empty if there is none."""
    dates: tuple[str, ...] = ()
    """The times that it is about, as (partial) ISO 8601 dates: the first of them to the last."""

    @property
    def words(self) -> str:
        """All texts by whose words it is found."""
        return "\n".join((self.text, *self.context)) if self.context else self.text

    @cached_property
    def terms(self) -> Terms:
        """The terms of these."""
        return extract_terms(self.words)

    @cached_property
    def own_terms(self) -> frozenset[str]:
        """The different terms of its own text, without the pairs of characters."""
        return content_terms(self.text)

    @cached_property
    def areas(self) -> Shares:
        """The areas of life that it is about."""
        return areas_of(self.terms)

    @cached_property
    def states_need(self) -> bool:
        """Whether its own text names what always matters: see `states_standing_need`."""
        return states_standing_need(self.text)


class Query(BaseModel, frozen=True, extra="forbid"):
    """Texts, the oldest first, each with its weight in (0, 1]."""

    parts: tuple[tuple[str, float], ...] = ()
    dates: tuple[str, ...] = ()
    """The partial dates that the last of them names, and intervals from the first to the last of several, each after
    a slash: "2025-03/2025-05"."""
    today: str = ""
    """The date of the user's day on which the last of them is written."""
    asked: str = ""
    """The last text of the user, shortened."""
    alone: bool = False
    """Whether a document is found by itself alone, whatever others of its thread match."""

    @property
    def text(self) -> str:
        """All texts, one after the other."""
        return "\n".join(text for text, _ in self.parts)

    @cached_property
    def is_about_past(self) -> bool:
        """Whether the user asks what was before, such as "Where did I live before?"."""
        return asks_about_past(self.asked)

    @cached_property
    def is_general(self) -> bool:
        """Whether the user asks about themselves in general, such as "What do you know about me?"."""
        return asks_in_general(self.asked)

    @cached_property
    def names(self) -> frozenset[str]:
        """The terms of the names in the last text of the user."""
        return frozenset(term for name in names_of(self.asked) for term in extract_terms(name))

    @cached_property
    def areas(self) -> Shares | None:
        """The areas of life that the last text of the user is about; None if they do not matter.

        They do not in a search, for a question about the user in general, or about a time that is over.
        """
        named = (days_of(each.rpartition("/")[2]) for each in self.dates)
        last_days = (days.last.isoformat() for days in named if days)
        if self.alone or self.is_general or max(last_days, default=LAST_DAY) < self.today:
            return None
        areas = areas_of(extract_terms(self.asked))
        return areas if any(areas) else None

    @cached_property
    def terms(self) -> dict[str, float]:
        """Its terms, each with its weight in the turn in which it weighs most."""
        return self._term_weights[0]

    @cached_property
    def content(self) -> frozenset[str]:
        """Those of its terms that no answer lacks: none has a Chinese question word, or a pronoun for user or model."""
        if self.text.isascii():
            return frozenset(self.terms)
        return frozenset(extract_terms(_asking().sub(" ", fold(self.text)))) & self.terms.keys()

    @cached_property
    def synonyms(self) -> dict[str, float]:
        """The synonyms of its words, weighed likewise."""
        return self._term_weights[1]

    @cached_property
    def _term_weights(self) -> tuple[dict[str, float], dict[str, float]]:
        own, synonyms, synonym_map = dict[str, float](), dict[str, float](), load_synonyms()
        for text, weight in sorted(self.parts, key=lambda part: part[1], reverse=True):
            terms = extract_terms(text)
            for term in terms:
                own.setdefault(term, weight)
            for term in synonym_map.expand(text, terms):
                synonyms.setdefault(term, weight * SYNONYM_WEIGHT)
        return own, synonyms

    def __bool__(self) -> bool:
        return any(text.strip() for text, _ in self.parts)


def build_query(
    messages: str | Sequence[MessageLike], *, max_context_turns: int = 3, today: date | None = None
) -> Query:
    """Return the query of the last exchanges of a conversation.

    Args:
        messages: Messages, turns or texts, the oldest first; a text alone is one human turn.
        max_context_turns: How many exchanges count, from the last back: human messages are counted,
            the final answers between them included.
        today: The day on which the last one is written; default: the current day in UTC.
    """
    if max_context_turns < 1:
        return _make_query((), "", today)
    turns = _last_turns([messages] if isinstance(messages, str) else messages, max_context_turns)
    parts = list(_weigh(turns, max_context_turns))[::-1]
    asked = next((turn.text for turn in reversed(turns) if turn.role == "human"), "")
    return _make_query(parts, asked, today)


def message_identities(messages: str | Sequence[MessageLike]) -> frozenset[str]:
    """Return the ids of *messages*, and the texts of those of the user: by these their episodes are recognised."""
    found = set[str]()
    for message in [messages] if isinstance(messages, str) else messages:
        if isinstance(message, str):
            found.add(message.strip())
        elif isinstance(message, Turn):
            found.update((message.id, message.text.strip()))
        else:
            found.update(*((said.id or "", said.text.strip()) for said in _convert([message])))
    return frozenset(found - {""})


def _make_query(parts: Iterable[tuple[str, float]], asked: str, today: date | None) -> Query:
    """Return the query of *parts*; *asked* is the text whose dates count, which is written *today*."""
    today = today or datetime.now(UTC).date()
    asked = _shorten(asked)
    dates = dict.fromkeys(_dates_in(asked, today))
    return Query(parts=tuple(parts), dates=tuple(dates), today=today.isoformat(), asked=asked)


_RANGE = re.compile(r"\s{0,9}(?:to|until|till|through|and|[-–~～]|到|至|和)\s{0,9}(?:the\s{1,9})?", re.IGNORECASE)
_RANGE_BEGINS = re.compile(r"(?:\b(?:between|from)\s{1,9}(?:the\s{1,9})?|从)$", re.IGNORECASE)
_UP_TO = re.compile(r"\b(?:before|prior to)\s{1,9}(?:the\s{1,9})?$", re.IGNORECASE), re.compile("[以之]前")
_FROM_ON = re.compile(r"\b(?:after|since)\s{1,9}(?:the\s{1,9})?$", re.IGNORECASE), re.compile("[以之][后来]")
"""Before an English date, and after a Chinese one: what was before it, or from it on."""
FIRST_DAY, LAST_DAY = "0001-01-01", "9999-12-31"


def _dates_in(text: str, today: date) -> Iterator[str]:
    """Yield the partial dates and the intervals that *text* names; *today* is the day on which it is written."""
    mentions = [(found, found.days, _name_of(found, found.days)) for found in find_dates(text, today) if found.days]
    for at, (mention, days, name) in enumerate(mentions):
        before, after = text[: mention.start], text[mention.end :]
        following, _, last = mentions[at + 1] if at + 1 < len(mentions) else (None, None, "")
        if following and _RANGE_BEGINS.search(before) and _RANGE.fullmatch(text[mention.end : following.start]):
            yield f"{name}/{last}"
        elif _UP_TO[0].search(before) or _UP_TO[1].match(after):
            yield f"{FIRST_DAY}/{days.first - timedelta(days=1)}"
        elif _FROM_ON[0].search(before) or _FROM_ON[1].match(after):
            yield f"{name}/{LAST_DAY}"
        else:
            yield name


def _name_of(mention: DateMention, days: Days) -> str:
    """Return the partial date of *mention*, or its first and last day: "last week" is not all of its month."""
    return mention.date if mention.date and days_of(mention.date) == days else f"{days.first}/{days.last}"


def asks_about_past(text: str) -> bool:
    """Return whether *text* asks what was before; `past_questions.txt` has the patterns of such questions."""
    return _past_questions().search(fold(text)) is not None


@cache
def _past_questions() -> re.Pattern[str]:
    lines = files("memgraph.retrieval").joinpath("past_questions.txt").read_text("utf-8").splitlines()
    return re.compile("|".join(line for line in lines if line and not line.startswith("#")))


def asks_in_general(text: str) -> bool:
    """Return whether *text* has only words of `general_questions.txt`, one of those that ask for what is known."""
    if len(text) > MAX_GENERAL_CHARS:
        return False
    words, knowing = _general_words()
    return words.fullmatch(folded := fold(text)) is not None and knowing.search(folded) is not None


@cache
def _general_words() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the pattern of a text of such words, and that of one which asks for what is known."""
    lines = files("memgraph.retrieval").joinpath("general_questions.txt").read_text("utf-8").splitlines()
    known = [word for line in lines if line.startswith("*") for word in line[1:].split()]
    others = [word for line in lines if not line.startswith(("#", "*")) for word in line.split()]
    one, all_of = (
        "|".join(word if is_chinese(word) else rf"\b{word}\b" for word in sorted(words, key=len, reverse=True))
        for words in (known, [*known, *others])
    )
    return re.compile(rf"(?:{all_of}|[\W\d_])++"), re.compile(one)


@cache
def _asking() -> re.Pattern[str]:
    """Return the pattern of the Chinese words that ask, and of those for the user and the model."""
    classes = [file["classes"] for file in groups_of("statement")]
    words = split_phrases(known[name] for known in classes for name in ("asks", "user", "addressee"))
    return re.compile("|".join(sorted((*filter(is_chinese, words), *_QUANTITIES), key=len, reverse=True)))


def _weigh(turns: Sequence[Turn | MessageText], exchanges: int) -> Iterator[tuple[str, float]]:
    """Yield *turns* and their weights from the last back, until *exchanges* human turns are counted."""
    weight = 1.0
    for turn in reversed(turns):
        is_human = turn.role == "human"
        yield _shorten(turn.text), weight if is_human else weight * ANSWER_WEIGHT
        if is_human:
            exchanges -= 1
            weight *= TURN_DECAY
        if not exchanges:
            return


def _shorten(text: str) -> str:
    return text if len(text) <= MAX_CHARS else f"{text[: MAX_CHARS // 2]}\n{text[-MAX_CHARS // 2 :]}"


def _last_turns(messages: Sequence[MessageLike], exchanges: int) -> Sequence[Turn | MessageText]:
    """Return the turns at the end of *messages*; the beginning of a long conversation is not read."""
    if all(isinstance(item, str | Turn) for item in messages[-exchanges * READ_FACTOR :]):
        known = (item for item in messages if isinstance(item, str | Turn))
        return [item if isinstance(item, Turn) else Turn(id="", role="human", text=item) for item in known]
    from memgraph.analysis.turns import turn_texts

    turns: Sequence[MessageText] = ()
    for count in (exchanges + 1, exchanges * READ_FACTOR + 1):
        turns = turn_texts(_last_messages(messages, count))
        # the exchange before the first answer may begin before what was read
        whole = dropwhile(lambda turn: turn.role == "human", turns)
        if sum(turn.role == "human" for turn in whole) >= exchanges:
            break
    return turns


def _last_messages(messages: Sequence[MessageLike], human_count: int) -> list[BaseMessage]:
    """Return the end of *messages*, converted, that contains *human_count* messages of the user, or all of them."""
    last = list[Any]()
    for message in _convert(reversed(messages)):
        last.append(message)
        human_count -= message.type == "human"
        if not human_count:
            break
    return last[::-1]


def _convert(messages: Iterable[MessageLike]) -> Iterator[BaseMessage]:
    from memgraph.analysis.message import convert_message

    for item in messages:
        given = (item.role, item.text) if isinstance(item, Turn) else item
        yield from convert_message(given)
