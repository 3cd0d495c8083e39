"""Revisions: who changed a memory, when, and what it takes to reverse the change."""

from __future__ import annotations

from operator import not_
from typing import Generic, Literal, TypeVar

from pydantic import BaseModel, Field

from memgraph.models.document import AsSaid, Fact, PastFact, PendingChange, Section, StoredItem, Upkeep, Watermark
from memgraph.models.values import Count, DocumentModel, Text, Timestamp

Author = Literal["update", "person", "tool", "import", "upkeep", "undo", "revert", "rebuild", "delete"]
"""Who changed a memory.

- update: it was learned from a conversation.
- person: an edit, a decision about a pending change, or code that called `save` itself.
- tool: an agent, by one of its memory tools.
- import: a document that was merged or took its place.
- upkeep: the upkeep of the memory.
- undo: an earlier revision was reversed.
- revert: what came from a thread, or since a date, was taken back.
- rebuild: the memory was learned again from its episodes.
- delete: the memory was deleted, with its history.
"""

T = TypeVar("T")


class PersonDecision(DocumentModel):
    """What a person decided about a proposed change, in a review of a run or of a pending change."""

    item: Text
    """The id of the pending change; the key of an item, such as `add:fact_1`, if a release before 0.3 wrote it."""
    verdict: Text
    """"accept", "always", "reject" or "edit"; an unknown one is kept."""
    text: Text = ""
    """What the change states, if a reviewer of a run decided; else the revision has the change as a whole."""


class ChangeOrigin(BaseModel, frozen=True, extra="forbid"):
    """Who changes a memory. It is stored with the revision."""

    by: Author = "person"
    thread: str = ""
    """The thread that the change comes from; empty if it comes from none."""
    run: str = ""
    """Id of the run of a graph; empty if there was none."""
    undoes: int = 0
    """The revision that an undo reversed."""
    decisions: tuple[PersonDecision, ...] = ()
    """What a person decided before the save."""


class EntryChange(DocumentModel, Generic[T]):
    """One entry of the document before and after: added, removed, changed or moved."""

    key: Text
    """Names the entry among its kind, such as the id of a fact."""
    position: Count = 0
    """Its index before."""
    before: T | None = None
    """None: it was added."""
    after: T | None = None
    """None: it was removed."""


class IdsChange(DocumentModel):
    """A change of a list of which the oldest ids are dropped, and to which the newest are appended."""

    removed: tuple[str, ...] = ()
    """What stood at the start before."""
    added: tuple[str, ...] = ()
    """What stands at the end after."""


class WatermarkChange(EntryChange[Watermark]):
    """The watermark of a thread, without its lists of ids, of which only the difference is kept."""

    message_ids: IdsChange = IdsChange()
    gaps: IdsChange = IdsChange()


class UpkeepChange(DocumentModel):
    """The mark of the last upkeep, without its questions, of which only the difference is kept."""

    before: Upkeep | None = None
    after: Upkeep | None = None
    asked: IdsChange = IdsChange()


class KeyChange(EntryChange[str]):
    """Any other key of the document; its values as JSON."""

    parent: Text = ""
    """The part of the document that has the key: "user", "history", or "" for the document itself."""


class MemoryChanges(DocumentModel):
    """The entries that differ between two revisions of a memory."""

    facts: tuple[EntryChange[Fact], ...] = Field(default=(), exclude_if=not_)
    past: tuple[EntryChange[PastFact], ...] = Field(default=(), exclude_if=not_)
    as_said: tuple[EntryChange[AsSaid], ...] = Field(default=(), exclude_if=not_)
    sections: tuple[EntryChange[Section], ...] = Field(default=(), exclude_if=not_)
    """By SectionName."""
    quarantine: tuple[EntryChange[PendingChange], ...] = Field(default=(), exclude_if=not_)
    store_items: tuple[EntryChange[StoredItem], ...] = Field(default=(), exclude_if=not_)
    threads: tuple[WatermarkChange, ...] = Field(default=(), exclude_if=not_)
    upkeep: UpkeepChange | None = Field(default=None, exclude_if=not_)
    keys: tuple[KeyChange, ...] = Field(default=(), exclude_if=not_)

    @property
    def has_content(self) -> bool:
        """Whether more than watermarks and the mark of the upkeep changed."""
        entries = (self.facts, self.past, self.as_said, self.sections, self.quarantine, self.store_items, self.keys)
        return any(entries)


class Revision(DocumentModel):
    """One save of a memory: who changed it, when, and what differs from the revision before."""

    revision: Count
    """Its number: 1 is the first save."""
    at: Timestamp = ""
    """When it was saved."""
    by: Text = "person"
    """An Author; an unknown one is kept."""
    thread: Text = ""
    """The conversation; empty if it came from none."""
    run: Text = ""
    """Id of LangGraph's run; empty if it came from none."""
    undoes: Count = 0
    """The revision that it reversed; 0 if it is not an undo."""
    decisions: tuple[PersonDecision, ...] = ()
    """What a person decided before the save: the rejected changes, too."""
    changes: MemoryChanges = MemoryChanges()
    """What differs, so that it can be reversed."""
