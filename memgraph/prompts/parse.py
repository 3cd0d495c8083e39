"""Parse a model's answer into a change set. Invalid items are refused one by one; the others are used."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar, cast

from pydantic import JsonValue
from pydantic.alias_generators import to_camel

from memgraph.analysis.date_phrases import date_of_fact, name_dates, read_date
from memgraph.analysis.dates import local_day
from memgraph.analysis.quotes import CompletedFact, FoundQuote, QuoteFinder, find_quote
from memgraph.models import (
    Addition,
    Answer,
    Evidence,
    MemoryDocument,
    MemoryUpdate,
    ProfileChange,
    Prompt,
    Refusal,
    Removal,
    Rewrite,
    SectionName,
    Turn,
    new_fact_id,
)
from memgraph.models.dates import is_before
from memgraph.models.values import JsonObject, as_list, as_object, is_list, is_object
from memgraph.policy import Policy
from memgraph.prompts.json_text import MAX_READ, Bracket, end_of_object, find_closed, find_last, is_open
from memgraph.prompts.template import PromptTexts

PREVIEW_CHARS = 200
"""Characters of an invalid item, or of a reason, that are kept."""
DEFAULT_CONFIDENCE = 0.8
"""The confidence of a fact for which the model gave none."""

_FACT_KEYS = ("newFacts", "new_facts", "facts")
_FACT_KEY = re.compile(r"""(?:newFacts|new_facts|facts)["']?\s*:""")
_CONTENT_KEYS = ("content", "fact", "text")

Item = TypeVar("Item")
T = TypeVar("T")


class UnreadableError(ValueError):
    """The answer contains no memory update; the message explains the problem to the model."""


class InvalidItemError(ValueError):
    """One item of the answer is invalid; the others can be used."""


@dataclass(frozen=True)
class AskedAbout:
    """What the model was asked about: an answer is read against it."""

    memory: MemoryDocument = field(default_factory=MemoryDocument)
    turns: Mapping[int, Turn] = field(default_factory=dict[int, Turn])
    """The turns that the prompt showed, by the numbers that they have there."""
    texts: PromptTexts = field(default_factory=lambda: PromptTexts(Prompt(system="", human="")))
    """To recognise what was copied from the prompt."""
    episode_of: Callable[[Turn, str], str] = lambda _turn, _words: ""
    """Returns the id of the episode that keeps these words of a turn; empty if none does."""
    timezone: str = "UTC"
    """Of the days on which turns were written."""
    policy: Policy = field(default_factory=Policy)
    """Of the categories, the summaries and the profile."""

    @cached_property
    def quotes(self) -> QuoteFinder:
        """Finds quotes in the turns, which are read once for all items."""
        return QuoteFinder(self.turns.values())

    @property
    def said_last(self) -> str:
        """When the user wrote the last of the turns; empty if unknown."""
        return next((turn.at for turn in reversed(list(self.turns.values())) if turn.is_users), "")


def parse_answer(
    answer: Answer,
    asked: AskedAbout,
    *,
    at: str,
    thread: str,
    message_ids: tuple[str, ...],
    make_id: Callable[[], str] = new_fact_id,
) -> MemoryUpdate:
    """Return the change set that the model proposed.

    Args:
        answer: The model's answer; the last memory update in it counts, whatever surrounds it.
        asked: What the prompt showed.
        at: When it answered, ISO 8601 in UTC.
        thread: The thread learned from, or "unknown".
        message_ids: The messages learned from, the newest last.
        make_id: Generates the ids of new facts.

    Raises:
        UnreadableError: If the answer contains no memory update.
    """
    found = _find_update(answer)
    refused: list[Refusal] = []
    taken = {fact.id for fact in asked.memory.recallable}
    return MemoryUpdate(
        at=at,
        thread=thread,
        message_ids=message_ids,
        rewrites=read_rewrites(found, asked, refused),
        additions=read_items(
            _items(found, _FACT_KEYS, refused),
            lambda item: _addition(item, _unused_id(make_id, taken), asked),
            refused,
        ),
        removals=read_items(_items(found, ("factsToRemove",), refused), _removal, refused),
        profile=_profile(found) if asked.policy.profile else (),
        refused=tuple(refused),
    )


# -- the update in the answer ---------------------------------------------------------------------


def is_incomplete(answer: Answer) -> bool:
    """Return whether the answer was cut off before its memory update ended, also if the provider did not report it."""
    text = after_thinking(answer)
    opening = text.find("{")
    rest = text[end_of_object(text, opening) :] if opening >= 0 else text
    text = rest if _FACT_KEY.search(rest) else text  # a draft before it is no answer
    bracket = _bracket(text)
    return (answer.cut_off or is_open(text, bracket)) and find_last(text, _as_update, bracket, repair=False) is None


def after_thinking(answer: Answer) -> str:
    """Return what follows the reasoning of the model: it may contain drafts of the answer.

    Some models never end it. All they wrote is read then, unless it was cut off.
    """
    text = answer.text[:MAX_READ].rstrip().removesuffix("```").rstrip()
    closing = text.rfind("</think>")
    if closing < 0:
        is_cut = answer.cut_off or not text.endswith(("}", "]"))
        return "" if is_cut and text.lstrip().startswith("<think>") else text
    opening = text.find("{")
    end = end_of_object(text, opening) if opening >= 0 else 0
    return text if closing < end else text[closing + len("</think>") :]  # a fact may mention the tag


def _find_update(answer: Answer) -> JsonObject:
    text = after_thinking(answer)
    if answer.refused:
        raise UnreadableError("the model refused to answer")
    if not text.strip():
        raise UnreadableError("the answer is empty")
    is_cut_off = is_incomplete(answer)
    find = find_closed if is_cut_off else find_last
    found = find(text, _as_update, _bracket(text))
    if found is None:
        why = "it was cut off before it held one; be shorter" if is_cut_off else "there is none in it"
        raise UnreadableError(f"a JSON object with the key newFacts was expected, but {why}")
    return found


def _bracket(text: str) -> Bracket:
    """Return with which bracket the update begins: some models answer with the bare list of facts."""
    start = text.find("[")
    return "[" if start >= 0 and not _FACT_KEY.search(text) and "{" not in text[:start] else "{"


def _as_update(value: object) -> JsonObject | None:
    """Return a JSON value as an update; a bare list is one of facts. None if it is something else."""
    if is_list(value):
        return {"newFacts": value}
    found = as_object(value)
    return found if any(isinstance(found.get(key), list) for key in _FACT_KEYS) else None


def _items(found: JsonObject, keys: Sequence[str], refused: list[Refusal]) -> list[object]:
    """Return the list at the first of *keys* that has a value."""
    key, items = next(((key, found[key]) for key in keys if found.get(key) is not None), (keys[0], None))
    if items is None or isinstance(items, list):
        return cast("list[object]", items or [])
    refused.append(Refusal(item=preview(items), reason=f"{key} is not a list"))
    return []


def read_items(items: Iterable[Item], read: Callable[[Item], T | None], refused: list[Refusal]) -> tuple[T, ...]:
    """Return what *read* makes of *items*; those that are invalid are added to *refused*."""
    results: list[T] = []
    for item in items:
        try:
            result = read(item)
        except InvalidItemError as error:
            refused.append(Refusal(item=str(error.args[0]), reason=str(error.args[1])))
        else:
            results += [] if result is None else [result]
    return tuple(results)


# -- summaries ------------------------------------------------------------------------------------


def read_rewrites(found: JsonObject, asked: AskedAbout, refused: list[Refusal]) -> tuple[Rewrite, ...]:
    """Return the rewritten summaries of an answer; invalid ones are added to *refused*."""
    sections = _sections(found, asked.policy.section_names, refused)
    return read_items(sections, lambda named: _rewrite(*named, asked), refused)


def _sections(
    found: JsonObject, known: Collection[SectionName], refused: list[Refusal]
) -> list[tuple[SectionName, object]]:
    """Return the summaries in `summaries`, a list or an object, and in `user` and `history`, as older prompts ask."""
    named = [pair for key in ("user", "history", "summaries") for pair in as_object(found.get(key)).items()]
    listed = (read_fields(item, main_key="section") for item in as_list(found.get("summaries")))
    named += ((str(fields.get("section")), fields.get("text", fields.get("summary"))) for fields in listed)
    sections = {name: section for name, section in named if section is not None}
    names = {spelling: name for name in known for spelling in (to_camel(name), name)}
    unknown = [name for name in sections if name not in names]
    refused.extend(Refusal(item=preview(name), reason="it is not the name of a summary") for name in unknown)
    return [(names[name], section) for name, section in sections.items() if name in names]


def _rewrite(name: SectionName, section: object, asked: AskedAbout) -> Rewrite | None:
    fields = read_fields(section, main_key="summary")
    if not isinstance(section, dict | str):
        raise InvalidItemError(preview(section), f"{to_camel(name)} is not a text")
    summary = _text(fields.get("summary", fields.get("text")))
    if not summary or not _bool(fields.get("shouldUpdate"), default=True):
        return None
    if asked.texts.is_copied(summary):
        raise _copied(summary)
    return Rewrite(section=name, summary=summary, base=asked.memory.section(name).summary)


# -- the profile ----------------------------------------------------------------------------------


def _profile(found: JsonObject) -> tuple[ProfileChange, ...]:
    """Return the changes in `profile`: a list, or an object of values by field. The rules judge them."""
    profile = found.get("profile")
    named = ((name, value, as_object(value)) for name, value in as_object(profile).items())
    by_name = ({"field": name, **(fields if "value" in fields else {"value": value})} for name, value, fields in named)
    return tuple(
        ProfileChange(field=name, value=cast("JsonValue", item.get("value")), quote=_text(item.get("quote")))
        for item in (*map(as_object, as_list(profile)), *by_name)
        if isinstance(name := item.get("field"), str) and "value" in item
    )


# -- facts ----------------------------------------------------------------------------------------


def _addition(item: object, fact_id: str, asked: AskedAbout) -> Addition:
    fields = read_fields(item, main_key="content")
    content = next((text for key in _CONTENT_KEYS if isinstance(text := fields.get(key), str) and text.strip()), None)
    if content is None:
        raise InvalidItemError(preview(item), "it has no content")
    quote = _text(fields.get("quote"))
    number = _number(fields.get("turn"))
    found = asked.quotes.find(quote, first=asked.turns.get(number) if number is not None else None)
    if asked.texts.is_copied(content, quote, is_quoted=found is not None):
        raise _copied(content)
    if found is None:
        _refuse_other_speaker(content, quote, number, asked)
    elif found.is_cut_with(content):
        content, found = _completed(content, found)
    else:
        content = content.rstrip() + asked.quotes.title_after(content)
    category = str(fields.get("category")).strip().lower()
    said_at = _said_at(found, number, asked)
    day = local_day(said_at, asked.timezone)
    since = date_of_fact(fields.get("date"), found.words if found else "", day)
    until = read_date(fields.get("until"), day)
    if until and is_before(until, since):
        until = ""
    return Addition(
        id=fact_id,
        content=name_dates(content.strip(), day, found.words if found else ""),
        category=category if category in asked.policy.category_names else "context",
        confidence=_confidence(fields.get("confidence"), item),
        source_error=_text(fields.get("sourceError")) or None,
        durable=_bool(fields.get("durable"), default=True),
        about_user=_bool(fields.get("aboutUser"), default=True),
        replaces=read_fact_ids(fields.get("replaces")),
        repeats=next(filter(asked.memory.said_claim, read_fact_ids(fields.get("repeats"))), ""),
        said_at=said_at,
        valid_from=since,
        valid_until=until,
        quote=quote,
        evidence=(Evidence(episode=asked.episode_of(found.turn, found.words), quote=found.words),) if found else (),
        slot=_text(fields.get("slot")) or None,
    )


def _completed(content: str, found: FoundQuote) -> CompletedFact:
    completed = found.completed(content)
    if completed is None:
        raise InvalidItemError(content[:PREVIEW_CHARS], "it ends where a quotation begins")
    return completed


def _refuse_other_speaker(content: str, quote: str, number: int | None, asked: AskedAbout) -> None:
    """Refuse an item that rests on words of others: a turn that it names or quotes, or a quotation in the user's."""
    for shown, turn in asked.turns.items():
        if turn.speaker and (shown == number or find_quote(quote, turn.text)):
            raise InvalidItemError(content[:PREVIEW_CHARS], "another speaker's words are not the user's")
        foreign = [piece.text for piece in turn.pieces if piece.origin != "user"]
        if turn.is_users and any(find_quote(quote, text) for text in foreign):
            raise InvalidItemError(content[:PREVIEW_CHARS], "quoted or added words are not the user's")


def _copied(text: str) -> InvalidItemError:
    return InvalidItemError(text[:PREVIEW_CHARS], "it was copied from the examples or the rules in the prompt")


def _said_at(found: FoundQuote | None, number: int | None, asked: AskedAbout) -> str:
    """Return when the turn was written that the fact is from: the quoted one, else the named one, else the last."""
    named = asked.turns.get(number) if number is not None else None
    turn = found.turn if found else named
    return turn.at if turn else asked.said_last


def _removal(item: object) -> Removal:
    fields = read_fields(item, main_key="id")
    fact_id = fields.get("id")
    if not isinstance(fact_id, str) or not fact_id:
        raise InvalidItemError(preview(item), "it names no fact to remove")
    reason = _text(fields.get("reason"))[:PREVIEW_CHARS] or "contradicted"
    return Removal(id=fact_id, reason=reason, quote=_text(fields.get("quote")))


# -- values ---------------------------------------------------------------------------------------


def read_fields(item: object, *, main_key: str) -> JsonObject:
    """Return the item's keys and values; a bare value is read as the value of *main_key*."""
    return item if is_object(item) else {main_key: item}


def _confidence(value: object, item: object) -> float:
    """Parse a confidence, clamped to [0, 1]; numeric strings are accepted."""
    if value is None:
        return DEFAULT_CONFIDENCE
    try:
        number = math.nan if isinstance(value, bool) else float(cast("Any", value))
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number):
        raise InvalidItemError(preview(item), f"confidence {preview(value)} is not a number")
    return min(1.0, max(0.0, number))


def _number(value: object) -> int | None:
    """Parse the number of a turn; None if it is not one, since the quote may still find the turn."""
    try:
        return None if isinstance(value, bool) else int(cast("Any", value))
    except (TypeError, ValueError, OverflowError):
        return None


def _bool(value: object, *, default: bool) -> bool:
    if isinstance(value, str):
        return value.strip().lower() in {"true", "yes", "1"}
    return value if isinstance(value, bool) else default


def read_fact_ids(value: object) -> tuple[str, ...]:
    return tuple(item for item in as_list(value) or [value] if isinstance(item, str) and item)


def _text(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def preview(value: object) -> str:
    """Return an invalid item, short enough for a report."""
    return repr(value)[:PREVIEW_CHARS]


def _unused_id(make_id: Callable[[], str], taken: set[str]) -> str:
    """Generate an id that no fact has."""
    while (fact_id := make_id()) in taken:
        pass
    taken.add(fact_id)
    return fact_id
