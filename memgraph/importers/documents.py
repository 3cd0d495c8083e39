"""Exports: their documents, the items in them, and the facts that these become, with a report of what is changed.

Fields are read as tolerantly as stored documents; the limits of new facts apply.
"""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import cast

from pydantic import BaseModel, ConfigDict

from memgraph.analysis.dates import parse_time
from memgraph.analysis.normalize import clean_visible, fact_key, shorten
from memgraph.analysis.sentences import cut_at_sentence
from memgraph.errors import EditError
from memgraph.models import CATEGORIES, Fact, MemoryDocument, learned_source, new_fact_id
from memgraph.policy import Policy

Item = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class ExportDocument:
    """One file of an export."""

    name: str
    """The path in the export, with `/`. Some systems encode the user in it."""
    data: bytes

    def text(self) -> str:
        """Return the text, with Unix line ends.

        Raises:
            EditError: If it is not UTF-8.
        """
        try:
            return self.data.removeprefix(codecs.BOM_UTF8).decode().replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise EditError(f"{self.name} is not UTF-8: invalid byte at position {error.start:,}") from error

    def json(self) -> object:
        """Return the JSON value: of the whole text, or a list with one value per line.

        Raises:
            EditError: If it is neither.
        """
        text = self.text()
        try:
            return _load_json(text)
        except ValueError as error:
            lines = [line for line in text.splitlines() if line.strip()]
            if len(lines) < 2:  # noqa: PLR2004 - JSON Lines need at least two lines
                raise EditError(f"{self.name} is not JSON: {error}") from None
        try:
            return [_load_json(line) for line in lines]
        except ValueError as error:
            raise EditError(f"{self.name} is neither JSON nor JSON Lines: {error}") from None


def _load_json(text: str) -> object:
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def as_item(value: object) -> Item | None:
    """Return *value* if it is a mapping, else None."""
    return cast("Item", value) if isinstance(value, Mapping) else None


def item_in(item: Item, key: str) -> Item:
    """Return the mapping under *key*; an empty one if there is none."""
    return as_item(item.get(key)) or {}


def items_in(value: object) -> list[Item]:
    """Return the mappings in a list; none if *value* is not a list."""
    found = map(as_item, cast("list[object]", value) if isinstance(value, list) else [])
    return [item for item in found if item is not None]


def text_in(item: Item, *keys: str) -> str:
    """Return the first text under one of *keys* that is not blank; empty if there is none."""
    values = map(item.get, keys)
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def thread_source(thread_id: object) -> str | None:
    """Return the source of facts of a thread or run, or None if it has no id."""
    return learned_source(str(thread_id)) if thread_id not in (None, "") else None


def exported_items(documents: Sequence[ExportDocument], keys: Iterable[str], system: str) -> list[object]:
    """Return the items of an export that is a list, or contains a list under one of *keys*.

    Raises:
        EditError: If a document is neither.
    """
    items = list[object]()
    for document in documents:
        value = document.json()
        if mapping := as_item(value):
            value = next((mapping[key] for key in keys if isinstance(mapping.get(key), list)), None)
        if not isinstance(value, list):
            raise EditError(f"{document.name} is not an export of {system}: it contains no list of memories")
        items += cast("list[object]", value)
    return items


def select_owner(owners: Iterable[str], selected: str | None, system: str) -> str | None:
    """Return the owner whose items to import; None for all, if all items have the same owner.

    Args:
        owners: The owner of each item; empty if unknown.
        selected: The owner to import; None if there should be only one.
        system: The name of the system in errors.

    Raises:
        EditError: If there are several owners and none is selected, or the selected one does not exist.
    """
    known = sorted({*owners} - {""})
    if selected is not None:
        if selected not in known:
            raise EditError(f"this export of {system} has no memories of {selected!r}, only of {_join_names(known)}")
        return selected
    if len(known) > 1:
        raise EditError(f"this export of {system} has memories of {_join_names(known)}: select one of them with --of")
    return None


def _join_names(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name[:80]) for name in names[:20])
    return f"{shown} and {len(names) - 20:,} more" if len(names) > 20 else shown or "unknown owners"  # noqa: PLR2004


# -- the result -----------------------------------------------------------------------------------


class Note(BaseModel):
    """A remark about an item of an export."""

    model_config = ConfigDict(frozen=True)

    what: str
    why: str


class ImportReport(BaseModel):
    """What was imported, changed and skipped."""

    model_config = ConfigDict(frozen=True)

    facts: int = 0
    """Number of imported facts."""
    summaries: int = 0
    """Number of imported summaries."""
    changed: tuple[Note, ...] = ()
    """Items that were imported with changes."""
    left: tuple[Note, ...] = ()
    """Items that were skipped, and why."""


@dataclass(frozen=True, slots=True)
class ImportResult:
    """The memory that an export contains."""

    memory: MemoryDocument
    report: ImportReport


# -- facts --------------------------------------------------------------------------------------------

QUOTED_CHARS = 80
"""Maximum characters of an item that the report quotes."""

CATEGORY_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "cognitive": "behavior",
        **dict.fromkeys(("constraint", "decision", "identity", "other", "personal", "personal_details"), "context"),
        **dict.fromkeys(("professional", "professional_details", "project", "work"), "context"),
        **dict.fromkeys(("plan", "plans"), "goal"),
        **dict.fromkeys(("skill", "skills"), "knowledge"),
        **dict.fromkeys(("food", "hobbies", "hobby", "preferences", "user_preferences"), "preference"),
    }
)
"""Category names of other systems, and the matching one of CATEGORIES."""


class FactCollector:
    """Collects the facts of one export and the notes for its report.

    Args:
        system: The exporting system; also the source of facts without one.
        confidence: The confidence of facts without one.
    """

    def __init__(self, system: str, *, confidence: float) -> None:
        self._system = system
        self._confidence = confidence
        self._facts: dict[str, Fact] = {}
        self._changed: list[Note] = []
        self._skipped: list[Note] = []
        self._ids = set[str]()

    def add(self, content: object, fields: Mapping[str, object]) -> None:
        """Add a fact, or skip it if it is empty or a duplicate.

        Args:
            content: The text of the fact; anything but a text is skipped.
            fields: Other fields, by the names that Fact has.
        """
        text = clean_visible(content).strip() if isinstance(content, str) else ""
        if not text:
            self.skip(content, "it has no content")
        elif (key := fact_key(text)) in self._facts:
            self.skip(text, f"{self._facts[key].id} has the same content")
        else:
            self._facts[key] = self._make_fact(text, fields)

    def select(
        self,
        items: Iterable[object],
        owner: str | None,
        *,
        get_owner: Callable[[Item], str],
        get_content: Callable[[Item], object],
    ) -> Iterator[Item]:
        """Yield the items of *owner*, and skip those that are malformed or of another owner.

        Raises:
            EditError: If there are several owners and *owner* is None, or *owner* has no items.
        """
        parsed = [(value, as_item(value)) for value in items]
        selected = select_owner((get_owner(item) for _, item in parsed if item), owner, self._system)
        for value, item in parsed:
            if item is None:
                self.skip(value, f"it is not a memory of {self._system}")
            elif selected is not None and get_owner(item) != selected:
                self.skip(get_content(item), f"it belongs to {get_owner(item)!r}")
            else:
                yield item

    def skip(self, item: object, reason: str) -> None:
        """Report that *item* is not imported."""
        self._skipped.append(Note(what=shorten(str(item), QUOTED_CHARS), why=reason))

    def note_change(self, item: object, reason: str) -> None:
        """Report that *item* is imported with a change."""
        self._changed.append(Note(what=shorten(str(item), QUOTED_CHARS), why=reason))

    def result(self, memory: MemoryDocument | None = None) -> ImportResult:
        """Return the collected facts together with the summaries of *memory*, and the report."""
        memory = (memory or MemoryDocument()).with_facts(tuple(self._facts.values()))
        summaries = sum(bool(section.summary) for _, section in memory.sections())
        report = ImportReport(
            facts=len(self._facts), summaries=summaries, changed=tuple(self._changed), left=tuple(self._skipped)
        )
        return ImportResult(memory, report)

    def _make_fact(self, text: str, fields: Mapping[str, object]) -> Fact:
        known = {name: value for name, value in fields.items() if value not in (None, "")}
        known = {"id": new_fact_id(), "source": self._system, "confidence": self._confidence, **known}
        learned_at = parse_time(known.get("created_at"))
        if learned_at:
            known = {"said_at": learned_at, **known, "created_at": learned_at}
        category = self._convert_category(text, known.pop("category", None))
        fact = Fact.model_validate({**known, "content": self._truncate(text), "category": category})
        if category != "correction" and fact.source_error:
            fact = fact.model_copy(update={"source_error": None})
        if fact.created_at and not fact.created_at.endswith("Z"):
            self.note_change(text, f"its time {fact.created_at[:40]!r} is invalid and was removed")
            fact = fact.model_copy(update={"created_at": ""})
        while fact.id in self._ids:
            fact = fact.model_copy(update={"id": new_fact_id()})
        self._ids.add(fact.id)
        return fact

    def _truncate(self, text: str) -> str:
        limit = Policy().max_fact_chars
        if len(text) <= limit:
            return text
        self.note_change(text, f"it had {len(text):,} characters and was truncated to {limit:,}")
        return cut_at_sentence(text, limit, len)

    def _convert_category(self, text: str, value: object) -> str:
        """Return the matching category; "context" for an unknown one."""
        name = value.strip().lower() if isinstance(value, str) else ""
        if name in CATEGORIES:
            return name
        category = CATEGORY_ALIASES.get(name, "context")
        if name:
            self.note_change(text, f"its category {name[:40]!r} became {category!r}")
        return category
