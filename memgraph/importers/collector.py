"""The facts of an export: read as forgivingly as a stored document, judged as what is newly written."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType

from memgraph.importers.documents import Item, as_item, select_owner
from memgraph.importers.report import ImportReport, ImportResult, Note
from memgraph.models import CATEGORIES, Fact, Memory, new_fact_id
from memgraph.policy import Policy
from memgraph.text.normalize import clean, fact_key, single_line
from memgraph.text.sentences import cut_at_sentence

SHOWN = 80
"""Characters of an item in the report."""

KINDS: Mapping[str, str] = MappingProxyType(
    {
        "cognitive": "behavior",
        "constraint": "context",
        "decision": "context",
        "food": "preference",
        "hobbies": "preference",
        "hobby": "preference",
        "identity": "context",
        "other": "context",
        "personal": "context",
        "personal_details": "context",
        "plan": "goal",
        "plans": "goal",
        "preferences": "preference",
        "professional": "context",
        "professional_details": "context",
        "project": "context",
        "skill": "knowledge",
        "skills": "knowledge",
        "user_preferences": "preference",
        "work": "context",
    }
)
"""What other systems call a category, and which of ours it is."""


class FactCollector:
    """Gathers facts and what is to be said of them.

    Args:
        system: Whose export it is; the source of facts that name none.
        confidence: Of facts that have none.
    """

    def __init__(self, system: str, *, confidence: float) -> None:
        self._system = system
        self._confidence = confidence
        self._facts: dict[str, Fact] = {}
        self._changed: list[Note] = []
        self._left: list[Note] = []
        self._ids = set[str]()

    def add(self, content: object, fields: Mapping[str, object]) -> None:
        """Take a fact, or leave it and say why.

        Args:
            content: What it says.
            fields: What else is known of it, by the names of a Fact.
        """
        text = clean(content).strip() if isinstance(content, str) else ""
        if not text:
            self.skip(content, "it says nothing")
        elif (key := fact_key(text)) in self._facts:
            self.skip(text, f"{self._facts[key].id} says the same")
        else:
            self._facts[key] = self._fact(text, fields)

    def group(
        self,
        items: Iterable[object],
        of: str | None,
        *,
        owner: Callable[[Item], str],
        content: Callable[[Item], object],
    ) -> Iterator[Item]:
        """Yield the items that are wanted; what is no item, or another user's, is left.

        Raises:
            EditError: If they are of several users, and *of* names none of them.
        """
        held = [(item, as_item(item)) for item in items]
        whose = select_owner((owner(memory) for _, memory in held if memory), of, self._system)
        for item, memory in held:
            if memory is None:
                self.skip(item, f"it is no memory of {self._system}")
            elif whose is not None and owner(memory) != whose:
                self.skip(content(memory), f"it is of {owner(memory)!r}")
            else:
                yield memory

    def skip(self, what: object, why: str) -> None:
        """Note what is not taken."""
        self._left.append(Note(what=_short(what), why=why))

    def note_change(self, what: object, why: str) -> None:
        """Note what is taken otherwise than it was."""
        self._changed.append(Note(what=_short(what), why=why))

    def result(self, memory: Memory | None = None) -> ImportResult:
        """Return what was gathered, with the summaries of *memory*."""
        memory = (memory or Memory()).with_facts(tuple(self._facts.values()))
        summaries = sum(bool(section.summary) for _, section in memory.sections())
        report = ImportReport(
            facts=len(self._facts), summaries=summaries, changed=tuple(self._changed), left=tuple(self._left)
        )
        return ImportResult(memory, report)

    def _fact(self, text: str, fields: Mapping[str, object]) -> Fact:
        given = {name: value for name, value in fields.items() if value not in (None, "")}
        given = {"id": new_fact_id(), "source": self._system, "confidence": self._confidence, **given}
        category = self._category(text, given.pop("category", None))
        fact = Fact.model_validate({**given, "content": self._cut(text), "category": category})
        if category != "correction" and fact.source_error:
            fact = fact.model_copy(update={"source_error": None})
        if fact.created_at and not fact.created_at.endswith("Z"):
            self.note_change(text, f"its time {fact.created_at[:40]!r} is none, so it has none now")
            fact = fact.model_copy(update={"created_at": ""})
        if fact.id in self._ids:
            fact = fact.model_copy(update={"id": new_fact_id()})
        self._ids.add(fact.id)
        return fact

    def _cut(self, text: str) -> str:
        longest = Policy().max_fact_chars
        if len(text) <= longest:
            return text
        self.note_change(text, f"it had {len(text):,} characters, and was cut to {longest:,}")
        return cut_at_sentence(text, longest, len)

    def _category(self, text: str, given: object) -> str:
        """Which of our categories it is; the last resort is context."""
        name = given.strip().lower() if isinstance(given, str) else ""
        if name in CATEGORIES:
            return name
        kind = KINDS.get(name, "context")
        if name:
            self.note_change(text, f"its category {name[:40]!r} is {kind!r} here")
        return kind


def _short(what: object) -> str:
    text = single_line(str(what))
    return f"{text[: SHOWN - 3]}..." if len(text) > SHOWN else text
