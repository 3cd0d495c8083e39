"""The memory document of one scope: facts, summaries, watermarks.

Reading a stored document is lenient, since users must not lose their memory: older formats load, unknown keys are
preserved, and unreadable values are kept rather than dropped. New content is validated by `memgraph.rules`.
"""

from __future__ import annotations

import hashlib
import json
import re
import secrets
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from functools import cached_property, partial
from operator import is_, not_
from types import MappingProxyType
from typing import Annotated, Literal, cast

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from memgraph.models.dates import DAY_CHARS, is_before
from memgraph.models.values import (
    Confidence,
    Count,
    DerivingModel,
    DocumentModel,
    Ids,
    JsonObject,
    OptionalText,
    PartialDate,
    Text,
    Timestamp,
    as_list,
    as_object,
    is_list,
    is_object,
)

CATEGORIES: Mapping[str, str] = MappingProxyType(
    {
        "preference": "tools, styles, approaches liked or not",
        "knowledge": "expertise",
        "context": "job, projects, places, languages",
        "behavior": "ways of working",
        "goal": "aims",
        "correction": "a mistake and the right way",
    }
)
"""The categories of facts, and what each means."""

MANUAL = "manual"
"""The source of a fact that a person wrote or edited."""

UNKNOWN_THREAD = "unknown"
"""The thread of learned facts and watermarks if the conversation has no thread id."""


def learned_source(thread_id: str | None) -> str:
    """Return the source of facts learned in a thread. A thread called "manual" does not pass for a person."""
    return thread_id if thread_id and thread_id != MANUAL else UNKNOWN_THREAD


def new_fact_id() -> str:
    """Generate a random fact id: `fact_` and 8 hex digits."""
    return f"fact_{secrets.token_hex(4)}"


MAX_QUOTE_CHARS = 400
"""Maximum characters of a quote."""


class Evidence(DocumentModel):
    """The user's own words that a fact rests on."""

    episode: Text = ""
    """Id of the episode that the words are from; empty if it is not kept."""
    quote: Text = ""
    """What the user wrote, at most MAX_QUOTE_CHARS characters."""
    asked: Text = Field(default="", exclude_if=not_)
    """The question of the assistant without which these words state nothing; of claims that are kept as said."""


def _read_evidence(value: object) -> object:
    """Read the evidence of a stored fact; a bare text is a quote."""
    items = as_list(value) if value is None or is_list(value) else [value]
    return tuple(cast("object", item) if isinstance(item, dict | Evidence) else {"quote": item} for item in items)


def _read_attributes(value: object) -> object:
    """Keep a value of another form."""
    return cast("object", value) if value is None or isinstance(value, Mapping) else {"unreadable": value}


Modality = Literal["asserted", "hedged", "conditional", "planned", "hoped", "reported", "past", "habitual"]
"""How something was said."""
UNFIRM: frozenset[Modality] = frozenset({"hedged", "conditional", "planned", "hoped", "reported"})
"""How something is said that ends no known fact, and fills no slot."""


_FIRST_PERSON = re.compile(r"\b(?:I|(?i:my|we|ours?)|me|mine|us|im|ive)\b|^(?:i|Me)\b|[我咱俺]")


def as_quotation(text: str) -> str:
    """Return *text* in quotation marks if it is in the first person."""
    return f'"{text}"' if _FIRST_PERSON.search(text) and text[0] != '"' else text


class Fact(DerivingModel, DocumentModel):
    """One thing known about the user."""

    id: Text = Field(default_factory=new_fact_id)
    """Unique in its memory."""
    content: Text = ""
    """One sentence, in the user's language."""
    category: Text = "context"
    """One of CATEGORIES; an unknown one is kept and ranks as "context"."""
    confidence: Confidence = 0.5
    """How certain the fact is, in [0, 1]."""
    created_at: Timestamp = ""
    """When it was learned or written: ISO 8601 in UTC, as all times of the document."""
    source: Text = UNKNOWN_THREAD
    """The thread it was learned in, or "manual" if a person wrote it."""
    source_error: OptionalText = Field(default=None, exclude_if=not_)
    """On corrections: what went wrong."""
    last_confirmed_at: Timestamp = Field(default="", exclude_if=not_)
    """When it was last repeated; empty if never."""
    confirmations: Count = Field(default=0, exclude_if=not_)
    """How often it was repeated."""
    replaces: Ids = Field(default=(), exclude_if=not_)
    """Ids of the facts it replaced."""
    said_at: Timestamp = Field(default="", exclude_if=not_)
    """When the user said it, which may be long before it was learned; empty if unknown."""
    valid_from: PartialDate = Field(default="", exclude_if=not_)
    """When it became true, or when it happened: a year, month or day; empty if not stated."""
    valid_until: PartialDate = Field(default="", exclude_if=not_)
    """When it ceases to be true: a year, month or day; empty if not stated."""
    evidence: Annotated[tuple[Evidence, ...], BeforeValidator(_read_evidence)] = Field(default=(), exclude_if=not_)
    """What the user said, at most 3 quotes; a fact that others were merged into keeps all of theirs."""
    slot: OptionalText = Field(default=None, exclude_if=not_)
    """The attribute it states, if a person has one value of it at a time."""
    modality: OptionalText = Field(default=None, exclude_if=not_)
    """How it was said, a Modality; None if it was asserted."""
    origin: OptionalText = Field(default=None, exclude_if=not_)
    """Who added it, if no conversation shows that the user said it: "tool", a model by a tool, or "import"."""
    attributes: Annotated[Mapping[str, object] | None, BeforeValidator(_read_attributes)] = Field(
        default=None, exclude_if=partial(is_, None)
    )
    """What else a program put into a store with the content, see `Memory.store`: never recalled. None if none did."""

    @property
    def shown(self) -> str:
        """Its content, in quotation marks if the user speaks of themselves in it: then a reader is not meant."""
        return as_quotation(self.content)

    @property
    def is_manual(self) -> bool:
        """Whether a person wrote or edited it; no update removes, rewrites or evicts it then."""
        return self.source == MANUAL

    @property
    def effective_category(self) -> str:
        """The category that ranking uses."""
        return self.category if self.category in CATEGORIES else "context"

    @property
    def said_last(self) -> str:
        """When the user said it last; when it was learned if that is not known."""
        return max(self.said_at or self.created_at, self.last_confirmed_at)

    def as_current(self) -> Fact:
        """The fact without what only a past one, or a claim that is kept as said, has."""
        return Fact.model_validate(self.model_dump(exclude=type(self).model_fields.keys() - Fact.model_fields.keys()))

    def has_expired(self, now: str) -> bool:
        """Return whether it was true until a day before *now*, a time in ISO 8601 or a day.

        A fact that was said after that day is about the past, such as "Lived in Rome until 2020": it stays true.
        """
        if not self.valid_until:
            return False
        said = (self.said_at or self.created_at)[:DAY_CHARS]
        return is_before(self.valid_until, now[:DAY_CHARS]) and not is_before(self.valid_until, said)


EndReason = Literal["superseded", "removed", "expired", "evicted", "merged"]
"""Why a fact is past.

- superseded: another fact states what holds now.
- removed: the conversation contradicted it.
- expired: its `valid_until` has passed.
- evicted: the memory was full.
- merged: another fact states the same.
"""


class PastFact(Fact):
    """A fact that held once, or is not kept among the current ones. Only questions about the past recall it."""

    ended_at: Timestamp = ""
    """When it ceased to hold, as far as the conversation shows; else when it was moved here."""
    ended_by: Text = Field(default="", exclude_if=not_)
    """Id of the fact that followed it."""
    reason: Text = ""
    """An EndReason; an unknown one is kept."""
    why: Text = Field(default="", exclude_if=not_)
    """What decided it, in words, such as "the check found that it ends"; empty if the reason is enough."""

    @classmethod
    def of(cls, fact: Fact, reason: EndReason, *, at: str, by: str = "", why: str = "") -> PastFact:
        """*fact* as a past one, that ended at the time or on the partial date *at*."""
        return cls.model_validate(fact.model_dump() | {"ended_at": at, "ended_by": by, "reason": reason, "why": why})


class AsSaid(Fact):
    """A claim that is not known to follow from what the user said. Recall gives only these words, with their date.

    It fills no slot, confirms nothing, and is in no summary.
    """

    reason: Text = Field(default="", exclude_if=not_)
    """Why it is not a plain fact."""

    @property
    def words(self) -> str:
        """What the user said last, after the question that it answers; empty if a document was edited so."""
        if not self.evidence:
            return ""
        said = self.evidence[-1]
        return f'(asked "{said.asked}") {said.quote}' if said.asked else said.quote


MAX_PENDING = 200
"""Maximum number of pending changes."""
MAX_PENDING_BYTES = 64_000
"""Maximum bytes of all pending changes."""
MAX_CHANGE_BYTES = 8_000
"""Maximum bytes of a pending change."""
MAX_OF_THREAD = MAX_PENDING // 10
"""How many of those that the rules hold back one conversation may fill."""
MAX_REJECTED = 500
"""How many rejected changes are remembered."""
REVIEW_ASKED = "a review is asked for"
"""The reason of a change that waits because of the setting `review`."""


class PendingChange(DocumentModel):
    """A change that a person has to accept first. It is never recalled, shown to a model or counted as known."""

    id: Text = ""
    """Derived from what it changes."""
    at: Timestamp = ""
    """When it was proposed."""
    reason: Text = ""
    """Why it was not applied."""
    thread: Text = Field(default="", exclude_if=not_)
    """The conversation that it comes from; "tool", "import" or "upkeep" if it comes from none. Empty in older
    documents."""
    facts: tuple[Fact, ...] = ()
    """Facts that it would add, or put in the place of those with the same ids that it removes."""
    removes: Ids = Field(default=(), exclude_if=not_)
    """Ids of facts that it would remove, in addition to those that `facts` replace."""
    summaries: Mapping[str, Text] = Field(default_factory=dict[str, str], exclude_if=not_)
    """New texts of summaries, by their keys in the document."""
    profile: Mapping[str, object] = Field(default_factory=dict[str, object], exclude_if=not_)
    """New values of fields of the profile; None removes one."""

    @property
    def conversation(self) -> str:
        """Its thread; of an older one that of its first fact."""
        return self.thread or next((fact.source for fact in self.facts), "")

    @property
    def replaced(self) -> tuple[str, ...]:
        """Ids of all facts that would not be current any more."""
        return tuple(dict.fromkeys((*self.removes, *(old for fact in self.facts for old in fact.replaces))))

    @property
    def category(self) -> str | None:
        """The category of its new facts, if a person may always accept such changes.

        None if it changes anything else, or a rule holds it back, since it is an order or beyond a limit.
        """
        categories = {fact.category for fact in self.facts}
        others = self.replaced or self.summaries or self.profile or not self.is_asked
        return categories.pop() if len(categories) == 1 and not others else None

    @property
    def text(self) -> str | None:
        """The text of its only fact or summary, which a person may edit; None if it has no or several."""
        texts = [*(fact.content for fact in self.facts), *self.summaries.values()]
        return texts[0] if len(texts) == 1 else None

    @property
    def is_asked(self) -> bool:
        """Whether a review asks for it; otherwise a rule holds it back."""
        return self.reason == REVIEW_ASKED

    @property
    def size(self) -> int:
        """Its bytes in the document."""
        text = json.dumps(self.model_dump(by_alias=True), ensure_ascii=False, default=str)
        return len(text.encode("utf-8", "surrogatepass"))


class AcceptedKind(DocumentModel):
    """New facts that are saved without a review, since a person has decided so once."""

    category: Text = ""
    """Of the facts."""
    reason: Text = REVIEW_ASKED
    """Why they would wait."""
    at: Timestamp = ""
    """Since when."""


def _make_room(waiting: dict[str, PendingChange], sizes: dict[str, int], new: PendingChange) -> None:
    """Drop what the rules hold back, the oldest of a conversation that has too much, or the most if the list is full.

    What a review asks for is not dropped: if *new* is that, and the list is full, it is left out. A change counts its
    bytes, and no less than all would have if the list were full.
    """
    least = MAX_PENDING_BYTES // MAX_PENDING
    while new.id in waiting:
        held = [item for item in waiting.values() if not item.is_asked]
        taken = Counter[str]()
        for item in held:
            taken[item.conversation] += max(sizes[item.id], least)
        most = max(MAX_PENDING_BYTES // 10, least, sizes[new.id])
        is_crowded = taken[new.conversation] > most and not new.is_asked
        if not (is_crowded or len(waiting) > MAX_PENDING or sum(map(sizes.__getitem__, waiting)) > MAX_PENDING_BYTES):
            return
        fullest = new.conversation if is_crowded else max(taken, key=taken.__getitem__, default="")
        del waiting[new.id if new.is_asked else next(item.id for item in held if item.conversation == fullest)]


def _is_change(item: object) -> bool:
    if not is_object(item):
        return isinstance(item, PendingChange)
    facts, texts = item.get("facts", []), (item.get("summaries", {}), item.get("profile", {}))
    return is_list(facts) and all(is_object(one) for one in (*as_list(facts), *texts))


class StoredItem(DocumentModel):
    """What a program put into a store and is not a fact, see `Memory.store`. It is kept as it is, and never recalled.

    Namespace and key name it.
    """

    namespace: Ids = ()
    """The labels under which it was put."""
    key: Text = ""
    """Its name in the namespace."""
    value: Mapping[str, object] = Field(default_factory=dict[str, object])
    """JSON."""
    created_at: Timestamp = ""
    """When its name was used first."""
    updated_at: Timestamp = ""
    """When it was put last."""
    expires_at: Timestamp = Field(default="", exclude_if=not_)
    """When it ceases to be found; empty if never."""

    @property
    def id(self) -> str:
        """Its name among all items of the memory."""
        return json.dumps([*self.namespace, self.key], ensure_ascii=False)


def _is_item(item: object) -> bool:
    return isinstance(item, StoredItem) or (is_object(item) and isinstance(item.get("value", {}), Mapping))


class Section(DocumentModel):
    """A summary."""

    summary: Text = ""
    """Some sentences; empty if there is nothing to summarize."""
    updated_at: Timestamp = ""
    """When it was last changed."""
    source: Text = Field(default="", exclude_if=not_)
    """"manual" if a person wrote or accepted it as it is; else empty."""

    @property
    def is_manual(self) -> bool:
        """Whether a person wrote or accepted it as it is."""
        return self.source == MANUAL

    @model_validator(mode="before")
    @classmethod
    def _read_bare_text(cls, value: object) -> object:
        return {"summary": value} if isinstance(value, str) else {} if value is None else value


class UserSections(DocumentModel):
    """The user's current situation."""

    work_context: Section = Section()
    """Role, company, projects, main technologies."""
    personal_context: Section = Section()
    """Languages, communication, interests outside work."""
    top_of_mind: Section = Section()
    """What the user is working on at the moment."""


class HistorySections(DocumentModel):
    """The user's history."""

    recent_months: Section = Section()
    """The last 1-3 months."""
    earlier_context: Section = Section()
    """3-12 months ago."""
    long_term_background: Section = Section()
    """Stable background."""


class StoredProfile(DocumentModel):
    """What is known of the fields of a pydantic model, see `memgraph.profile`."""

    values: Mapping[str, object] = Field(default_factory=dict[str, object])
    """JSON values by field, also of fields that the model no longer has."""
    updated_at: Timestamp = ""
    """When it was last changed."""

    @model_validator(mode="before")
    @classmethod
    def _read_other(cls, value: object) -> object:
        """Keep a value of another form, which an older version preserved as an unknown key."""
        if isinstance(value, StoredProfile) or (is_object(value) and isinstance(value.get("values", {}), Mapping)):
            return value
        return {} if value is None else {"unreadable": value}


SectionName = str
"""The name of a summary: one of SECTIONS, or the key of a custom summary."""
SECTIONS: Mapping[SectionName, Literal["user", "history"]] = MappingProxyType(
    {
        "work_context": "user",
        "personal_context": "user",
        "top_of_mind": "user",
        "recent_months": "history",
        "earlier_context": "history",
        "long_term_background": "history",
    }
)
"""The six built-in summaries in reading order, and which part of the document contains each."""


class Watermark(DocumentModel):
    """How far a conversation was learned from."""

    last_message_id: Text = ""
    """The last message learned from."""
    at: Timestamp = ""
    """When it was learned from."""
    message_ids: Ids = Field(default=(), exclude_if=not_)
    """The last messages learned from, the newest last."""
    gaps: Ids = Field(default=(), exclude_if=not_)
    """Those of `message_ids` before which messages were learned whose ids are not kept any more."""

    @property
    def known(self) -> frozenset[str]:
        """Ids of the messages it remembers."""
        return frozenset((*self.message_ids, self.last_message_id)) - {""}


class Deletion(DocumentModel):
    """A deletion of the memory: nothing loaded before *revision* may be saved any more."""

    revision: Count
    """The revision that was deleted."""
    at: Timestamp
    """When it was deleted."""


class Upkeep(DocumentModel):
    """The last upkeep that changed the memory."""

    at: Timestamp = ""
    """When it was saved."""
    revision: Count = 0
    """The revision that it saved."""
    asked: Ids = Field(default=(), exclude_if=not_)
    """Digests of what a model was asked about and left as it is: it is not asked again before a fact changes."""


def _has_readable_content(item: object) -> bool:
    """Whether the content of a stored fact is a text or missing; anything but an object is an error elsewhere."""
    return isinstance(as_object(item).get("content"), str | None)


_READABLE: Mapping[str, Callable[[object], bool]] = MappingProxyType(
    {
        **dict.fromkeys(("facts", "past", "as_said", "asSaid"), _has_readable_content),
        **dict.fromkeys(("pending", "quarantine"), _is_change),
        **dict.fromkeys(("store_items", "storeItems"), _is_item),
    }
)
"""Whether an item of a list can be read, by the keys under which documents have it."""


class MemoryDocument(DerivingModel, DocumentModel):
    """The memory document of one scope."""

    model_config = ConfigDict(title="Memory")

    version: Text = "1.0"
    """The format of the document."""
    revision: Count = 0
    """How often it was saved; 0 means never."""
    last_updated: Timestamp = ""
    """When it was last saved."""
    user: UserSections = UserSections()
    """Three summaries of the user's current situation."""
    history: HistorySections = HistorySections()
    """Three summaries of the user's past."""
    custom_sections: Mapping[str, Section] = Field(default_factory=dict[str, Section], exclude_if=not_)
    """Summaries that are not built in, by name, also those that are no longer configured."""
    profile: StoredProfile = Field(default_factory=StoredProfile, exclude_if=lambda profile: profile == StoredProfile())
    """Typed fields about the user, if a pydantic model is configured or was."""
    facts: tuple[Fact, ...] = ()
    """What is known now, the earliest learned first."""
    past: tuple[PastFact, ...] = Field(default=(), exclude_if=not_)
    """What was superseded, removed, expired, evicted or merged, the earliest first."""
    as_said: tuple[AsSaid, ...] = Field(default=(), exclude_if=not_)
    """Claims that are not known to follow from what the user said, the earliest learned first."""
    unreadable_facts: tuple[object, ...] = Field(default=(), exclude_if=not_)
    """What stands among the facts, pending changes or store items and is none, such as a fact with a number as content:
    kept in the document, but never used."""
    store_items: tuple[StoredItem, ...] = Field(default=(), exclude_if=not_)
    """What programs put into a store and is not a fact, the latest put last."""
    pending: Annotated[tuple[PendingChange, ...], BeforeValidator(lambda value: as_list(value)[-MAX_PENDING:])] = Field(
        default=(), exclude_if=not_, validation_alias="quarantine", serialization_alias="quarantine"
    )
    """Changes that wait for a person, the newest last."""
    rejected: Ids = Field(default=(), exclude_if=not_)
    """Ids of the last pending changes that a person rejected: they are not proposed again."""
    accepted_kinds: tuple[AcceptedKind, ...] = Field(default=(), exclude_if=not_)
    """Which changes are always accepted."""
    threads: Mapping[str, Watermark] = Field(default_factory=dict[str, Watermark])
    """Learning progress by thread id."""
    upkeep: Upkeep | None = Field(default=None, exclude_if=not_)
    """The last upkeep, if any."""
    forgotten: Deletion | None = Field(default=None, exclude_if=not_)
    """The last deletion, if any."""

    @field_validator("user", "history", "custom_sections", "threads", mode="before")
    @classmethod
    def _read_missing(cls, value: object) -> object:
        return {} if value is None else value

    @model_validator(mode="before")
    @classmethod
    def _set_unreadable_aside(cls, value: object) -> object:
        """Move what cannot be read to `unreadable_facts`, so that nothing recalls, shows or applies it."""
        if not is_object(value):
            return value
        document, unreadable = dict(value), list[object]()
        for key, is_readable in _READABLE.items():
            stored = document.get(key)
            if is_list(stored):
                unreadable += [item for item in stored if not is_readable(item)]
                document[key] = [item for item in stored if is_readable(item)]
            elif stored is not None and is_readable is not _has_readable_content:  # facts that are no list are an error
                unreadable.append(stored)
                document[key] = []
        if not unreadable:
            return cast("object", value)
        key = "unreadable_facts" if "unreadable_facts" in document else "unreadableFacts"
        return document | {key: [*as_list(document.get(key)), *unreadable]}

    @field_validator("facts", "past", "as_said", mode="before")
    @classmethod
    def _read_facts(cls, value: object) -> object:
        """Give every fact a unique id, the same one at every load."""
        if value is not None and not is_list(value):
            return value
        return tuple(_with_unique_ids(value or ()))

    @field_validator("unreadable_facts", mode="before")
    @classmethod
    def _read_unreadable(cls, value: object) -> object:
        return value or () if value is None or is_list(value) else (value,)

    def section(self, name: SectionName) -> Section:
        """The summary named *name*, an empty one if there is none."""
        if name not in SECTIONS:
            return self.custom_sections.get(name, Section())
        return getattr(getattr(self, SECTIONS[name]), name)

    def sections(self) -> tuple[tuple[SectionName, Section], ...]:
        """The six built-in summaries in reading order, then the others, with their names."""
        names = (*SECTIONS, *(name for name in self.custom_sections if name not in SECTIONS))
        return tuple((name, self.section(name)) for name in names)

    def with_section(self, name: SectionName, section: Section) -> MemoryDocument:
        """A copy in which the summary named *name* is *section*."""
        if name not in SECTIONS:
            return self.model_copy(update={"custom_sections": {**self.custom_sections, name: section}})
        part = SECTIONS[name]
        parent: UserSections | HistorySections = getattr(self, part)
        return self.model_copy(update={part: parent.model_copy(update={name: section})})

    def with_facts(self, facts: tuple[Fact, ...]) -> MemoryDocument:
        """A copy with *facts* in place of its own."""
        return self.model_copy(update={"facts": facts})

    def fact(self, fact_id: str) -> Fact | None:
        """The fact with that id, or None."""
        return next((fact for fact in self.facts if fact.id == fact_id), None)

    def said_claim(self, fact_id: str) -> AsSaid | None:
        """The claim with that id which is kept as said, or None."""
        return next((claim for claim in self.as_said if claim.id == fact_id), None)

    def past_fact(self, fact_id: str) -> PastFact | None:
        """The latest past fact with that id, or None."""
        return next((fact for fact in reversed(self.past) if fact.id == fact_id), None)

    def as_of(self, date: str) -> MemoryDocument:
        """The memory as it was on *date*: the current and past facts that held, and the summaries of that time.

        A fact holds from `valid_from`, else from when it was said or learned, until its `valid_until`, and before the
        day on which another one followed it or it was removed. What had ended by then is `past`; pending
        changes are left out. Days are those in UTC.

        Args:
            date: A year, a month or a day such as `2026-05-03`; its end counts.

        Raises:
            EditError: If *date* is not one; it is a ValueError, too.
        """
        from memgraph.models.as_of import as_of

        return as_of(self, date)

    def end_facts(
        self, ids: Collection[str], reason: EndReason, *, at: Timestamp, by: str = "", limit: int, why: str = ""
    ) -> MemoryDocument:
        """A copy in which the facts with these ids are past. Only this method moves facts there.

        Args:
            ids: Ids of current facts; unknown ones are ignored.
            reason: Stored with each fact.
            at: When they ceased to hold.
            by: Id of the fact that follows them; empty if none does.
            limit: How many past facts are kept; of more, the earliest moved are dropped.
            why: What decided it, for people.
        """
        ended = [PastFact.of(fact, reason, at=at, by=by, why=why) for fact in self.facts if fact.id in ids]
        if not ended:
            return self
        return self.with_facts(tuple(fact for fact in self.facts if fact.id not in ids)).with_past(ended, limit)

    def with_past(self, facts: Iterable[PastFact], limit: int) -> MemoryDocument:
        """A copy in which *facts* are past too, each id once; beyond *limit* the earliest moved are dropped."""
        past = {fact.id: fact for fact in self.past} | {fact.id: fact for fact in facts}
        return self.model_copy(update={"past": tuple(past.values())[max(0, len(past) - limit) :]})

    def with_pending(self, *items: PendingChange) -> MemoryDocument:
        """A copy in which *items* wait for a person too, each once; none that a person rejected, or that is too large.

        What the rules hold back of one conversation fills at most a tenth of the number and of the bytes: its next
        change drops its oldest one. If the list is full, the conversation with the most loses its oldest one. What a
        review asks for is never dropped, and left out if the list is full, see `unplaced`.
        """
        waiting = {item.id: item for item in self.pending}
        known = {*waiting, *self.rejected}
        new = [item for item in items if item.id not in known and item.size <= MAX_CHANGE_BYTES]
        sizes = {item.id: item.size for item in (*self.pending, *new)}
        for item in new:
            if waiting.setdefault(item.id, item) is item:
                _make_room(waiting, sizes, item)
        return self.model_copy(update={"pending": tuple(waiting.values())}) if new else self

    def unplaced(self, items: Iterable[PendingChange]) -> tuple[PendingChange, ...]:
        """Those of *items* that a review asks for and `with_pending` has left out, since the list is full."""
        known = {*(item.id for item in self.pending), *self.rejected}
        return tuple(one for one in items if one.is_asked and one.id not in known and one.size <= MAX_CHANGE_BYTES)

    def without_pending(self, change_id: str, *, rejected: bool = False) -> MemoryDocument:
        """A copy in which the change *change_id* does not wait; if it is *rejected*, it is not proposed again."""
        rest = tuple(item for item in self.pending if item.id != change_id)
        ids = (*self.rejected, change_id)[-MAX_REJECTED:] if rejected else self.rejected
        return self.model_copy(update={"pending": rest, "rejected": ids})

    @cached_property
    def recallable(self) -> tuple[Fact, ...]:
        """The facts, then what is kept as said."""
        return (*self.facts, *self.as_said) if self.as_said else self.facts

    @property
    def is_empty(self) -> bool:
        """Whether it has neither facts, readable or not, nor claims as said, summaries, a profile or items."""
        has_summary = any(section.summary for _, section in self.sections())
        has_facts = self.facts or self.as_said or self.unreadable_facts
        return not (has_facts or has_summary or self.profile.values or self.store_items)


EMPTY_MEMORY = MemoryDocument()
"""What is known of a user before anything was learned."""


def _with_unique_ids(items: Iterable[object]) -> Iterator[object]:
    """Yield stored facts, each with its id, or a hash of its content if that is missing or taken."""
    taken, salts = set[str](), Counter[str]()  # equal facts without an id are numbered, not counted again each time
    for item in items:
        if isinstance(item, Fact):
            fields: JsonObject = {"id": item.id, "content": item.content}
        elif isinstance(item, str) or is_object(item):
            fields = {"content": item} if isinstance(item, str) else item
        else:
            yield item
            continue
        fact_id, content = str(fields.get("id") or ""), str(fields.get("content"))
        while not fact_id or fact_id in taken:
            salted = f"{salts[content]}:{content}".encode("utf-8", "replace")
            fact_id = f"fact_{hashlib.sha256(salted).hexdigest()[:8]}"
            salts[content] += 1
        taken.add(fact_id)
        if not isinstance(item, Fact):
            yield {**fields, "id": fact_id}
        else:
            yield item if fact_id == item.id else item.model_copy(update={"id": fact_id})


def __getattr__(name: str) -> type[MemoryDocument]:
    if name == "Memory":  # the class path in checkpoints of release 0.2
        return MemoryDocument
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
