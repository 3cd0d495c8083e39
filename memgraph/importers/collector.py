"""FactCollector: turns the items of an export into facts, and reports what it changes or skips.

Fields are read as tolerantly as stored documents; the limits of new facts apply.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from memgraph.importers.documents import ImportReport, ImportResult, Item, Note, as_item, select_owner
from memgraph.models import CATEGORIES, Fact, MemoryDocument, new_fact_id
from memgraph.policy import Policy
from memgraph.text.dates import parse_time
from memgraph.text.normalize import clean_visible, fact_key, single_line
from memgraph.text.sentences import cut_at_sentence

QUOTED_CHARS = 80
"""Maximum characters of an item that the report quotes."""

_ALIASES = {
    "behavior": ("cognitive",),
    "context": (
        *("constraint", "decision", "identity", "other", "personal", "personal_details", "professional"),
        *("professional_details", "project", "work"),
    ),
    "goal": ("plan", "plans"),
    "knowledge": ("skill", "skills"),
    "preference": ("food", "hobbies", "hobby", "preferences", "user_preferences"),
}
CATEGORY_ALIASES: Mapping[str, str] = MappingProxyType(
    {alias: category for category, aliases in _ALIASES.items() for alias in aliases}
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
        self._skipped.append(Note(what=_quote(item), why=reason))

    def note_change(self, item: object, reason: str) -> None:
        """Report that *item* is imported with a change."""
        self._changed.append(Note(what=_quote(item), why=reason))

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


def _quote(item: object) -> str:
    text = single_line(str(item))
    return f"{text[: QUOTED_CHARS - 3]}..." if len(text) > QUOTED_CHARS else text
