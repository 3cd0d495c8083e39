"""The frozen values of memgraph: Scope, Turn, Fact, Section, Memory, MemoryUpdate.

Reading a stored document is lenient, since users must not lose their memory: older formats load, unknown keys are
preserved, and unreadable values are kept rather than dropped. New content is validated by `memgraph.rules`.
"""

from __future__ import annotations

import hashlib
import math
import re
import secrets
import unicodedata
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic.alias_generators import to_camel

from memgraph.errors import IdentityError

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


# -- times ----------------------------------------------------------------------------------------

_CANONICAL_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")


def timestamp(moment: datetime) -> str:
    """Return *moment* as ISO 8601 in UTC, to the second: `2026-06-11T16:47:59Z`."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _read_time(value: object) -> object:
    """Convert a stored time to the canonical form, reading times without a zone as UTC.

    A text that is not a time is kept: stored data is never dropped.
    """
    if value is None:
        return ""
    if isinstance(value, str):
        if not value or _CANONICAL_TIME.fullmatch(value):
            return value
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            return value
    if isinstance(value, datetime):
        return timestamp(value if value.tzinfo else value.replace(tzinfo=UTC))
    return str(value)


Timestamp = Annotated[str, BeforeValidator(_read_time)]
"""ISO 8601, UTC, ending in Z, so that later times sort later; empty if unknown."""


# -- identity -------------------------------------------------------------------------------------

MAX_ID_CHARS = 256
_AGENT_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


def validate_id(value: str, name: str) -> str:
    """Return *value* if it is a valid id; *name* is the field that an error refers to.

    Raises:
        IdentityError: If it is empty, longer than 256 characters, or contains a control character
            or an unpaired surrogate.
    """
    if not value:
        raise IdentityError(f"{name} is empty: use 1 to {MAX_ID_CHARS} characters")
    if len(value) > MAX_ID_CHARS:
        raise IdentityError(f"{name} {value[:20]!r}... has {len(value)} characters; at most {MAX_ID_CHARS} are allowed")
    if any(unicodedata.category(character) in {"Cc", "Cs"} for character in value):
        raise IdentityError(f"{name} {value!r} contains a control character")
    return value


class Scope(BaseModel):
    """The owner of a memory: a user, or a user with one agent.

    Args:
        user_id: 1-256 characters without control characters. "default" is the memory without a user.
        agent_name: Letters, digits, `-` and `_`, at most 64, lower-cased. None or "" is the user's shared memory.

    Raises:
        IdentityError: If an id is invalid.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    user_id: str
    agent_name: str | None = None

    def __init__(self, user_id: str, agent_name: str | None = None) -> None:
        if agent_name and not _AGENT_NAME.fullmatch(agent_name):
            raise IdentityError(
                f"agent_name {agent_name[:80]!r} is invalid: use letters, digits, - and _ only, at most 64 characters"
            )
        super().__init__(user_id=validate_id(user_id, "user_id"), agent_name=agent_name.lower() if agent_name else None)

    def __str__(self) -> str:
        return f"{self.user_id!r} with agent {self.agent_name!r}" if self.agent_name else f"{self.user_id!r}"

    @property
    def shared(self) -> Scope:
        """The user's memory that all agents share; the scope itself if it has no agent."""
        return Scope(self.user_id) if self.agent_name else self


# -- the conversation -----------------------------------------------------------------------------


class Turn(BaseModel):
    """One message of the user or the assistant that memory may learn from."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """The message's own id, or a hash of its text if it has none."""
    role: Literal["human", "ai"]
    text: str


# -- prompt and answer ----------------------------------------------------------------------------


class Prompt(BaseModel):
    """The prompt. Plain texts, not messages: a lead agent's stream shows every message that a node returns."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    system: str
    """Static, so that providers cache it."""
    human: str


class Answer(BaseModel):
    """The answer of the chat model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: str
    """The text, or the arguments of the tool call that structured output asks for."""
    cut_off: bool = False
    """The provider stopped it at a length limit."""
    refused: bool = False


# -- the document ---------------------------------------------------------------------------------


class DocumentModel(BaseModel):
    """A part of the document: camelCase in JSON, snake_case in Python; unknown keys are preserved."""

    model_config = ConfigDict(
        frozen=True, extra="allow", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


def _read_text(value: object) -> object:
    return "" if value is None else value if isinstance(value, str) else str(value)


def _read_confidence(value: object) -> object:
    """Read a stored confidence, clamped to [0, 1]; a value that is not a number counts as 0.5."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return 0.5
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return 0.5
    return min(1.0, max(0.0, float(value)))


def _read_count(value: object) -> object:
    try:
        return max(0, int(cast("Any", value)))
    except (TypeError, ValueError, OverflowError):
        return 0


def _read_ids(value: object) -> object:
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    return tuple(str(item) for item in cast("list[object]", value)) if isinstance(value, list | tuple) else ()


def _read_optional(value: object) -> object:
    return None if value is None else _read_text(value)


_Json = dict[str, object]
"""An object of a stored document."""


def _is_empty(value: object) -> bool:
    return not value


Text = Annotated[str, BeforeValidator(_read_text)]
Confidence = Annotated[float, BeforeValidator(_read_confidence)]
Count = Annotated[int, BeforeValidator(_read_count)]


def new_fact_id() -> str:
    """Generate a random fact id: `fact_` and 8 hex digits."""
    return f"fact_{secrets.token_hex(4)}"


class Fact(DocumentModel):
    """One thing known about the user."""

    id: Text = Field(default_factory=new_fact_id)
    content: Text = ""
    category: Text = "context"
    """One of CATEGORIES; an unknown one is kept and ranks as "context"."""
    confidence: Confidence = 0.5
    """How certain the fact is, in [0, 1]."""
    created_at: Timestamp = ""
    source: Text = UNKNOWN_THREAD
    """The thread it was learned in, or "manual" if a person wrote it."""
    source_error: Annotated[str | None, BeforeValidator(_read_optional)] = Field(default=None, exclude_if=_is_empty)
    """On corrections: what went wrong."""
    last_confirmed_at: Timestamp = Field(default="", exclude_if=_is_empty)
    confirmations: Count = Field(default=0, exclude_if=_is_empty)
    """How often it was repeated."""
    replaces: Annotated[tuple[str, ...], BeforeValidator(_read_ids)] = Field(default=(), exclude_if=_is_empty)
    """Ids of the facts it replaced."""

    @property
    def is_manual(self) -> bool:
        return self.source == MANUAL

    @property
    def effective_category(self) -> str:
        """The category that ranking uses."""
        return self.category if self.category in CATEGORIES else "context"


class Section(DocumentModel):
    """One of the six summaries."""

    summary: Text = ""
    updated_at: Timestamp = ""

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


SectionName = Literal[
    "work_context", "personal_context", "top_of_mind", "recent_months", "earlier_context", "long_term_background"
]
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
"""The six summaries in reading order, and which part of the document contains each."""


class Watermark(DocumentModel):
    """How far a conversation was learned from."""

    last_message_id: Text = ""
    at: Timestamp = ""
    message_ids: Annotated[tuple[str, ...], BeforeValidator(_read_ids)] = Field(default=(), exclude_if=_is_empty)
    """The last messages learned from, the newest last."""
    gaps: Annotated[tuple[str, ...], BeforeValidator(_read_ids)] = Field(default=(), exclude_if=_is_empty)
    """Those of `message_ids` before which messages were learned whose ids are not kept any more."""

    @property
    def known(self) -> frozenset[str]:
        """Ids of the messages it remembers."""
        return frozenset((*self.message_ids, self.last_message_id)) - {""}


class Deletion(DocumentModel):
    """A deletion of the memory: nothing loaded before *revision* may be saved any more."""

    revision: Count
    at: Timestamp


class Memory(DocumentModel):
    """The memory document of one scope."""

    version: Text = "1.0"
    revision: Count = 0
    """How often it was saved; 0 means never."""
    last_updated: Timestamp = ""
    user: UserSections = UserSections()
    history: HistorySections = HistorySections()
    facts: tuple[Fact, ...] = ()
    unreadable_facts: tuple[object, ...] = Field(default=(), exclude_if=_is_empty)
    """Stored facts whose content is not a text: kept in the document, but never recalled."""
    threads: Mapping[str, Watermark] = Field(default_factory=dict[str, Watermark])
    """Learning progress by thread id."""
    forgotten: Deletion | None = Field(default=None, exclude_if=_is_empty)
    """The last deletion, if any."""

    @field_validator("user", "history", "threads", mode="before")
    @classmethod
    def _read_missing(cls, value: object) -> object:
        return {} if value is None else value

    @model_validator(mode="before")
    @classmethod
    def _set_unreadable_aside(cls, value: object) -> object:
        """Move facts whose content is not a text to `unreadable_facts`, so that nothing recalls or shows them."""
        if not isinstance(value, dict) or not isinstance(facts := cast("_Json", value).get("facts"), list | tuple):
            return cast("object", value)
        items = cast("list[object]", facts)
        unreadable = [item for item in items if not _has_readable_content(item)]
        if not unreadable:
            return cast("object", value)
        document = dict(cast("_Json", value))
        key = "unreadable_facts" if "unreadable_facts" in document else "unreadableFacts"
        known = document.get(key)
        known = cast("list[object]", known) if isinstance(known, list | tuple) else []
        return document | {"facts": [item for item in items if _has_readable_content(item)], key: [*known, *unreadable]}

    @field_validator("facts", mode="before")
    @classmethod
    def _read_facts(cls, value: object) -> object:
        """Give every fact a unique id, the same one at every load."""
        if value is None:
            return ()
        if not isinstance(value, list | tuple):
            return value
        ids = _FactIds()
        return tuple(ids.identify(item) for item in cast("list[object]", value))

    @field_validator("unreadable_facts", mode="before")
    @classmethod
    def _read_unreadable(cls, value: object) -> object:
        if value is None:
            return ()
        return tuple(cast("list[object]", value)) if isinstance(value, list | tuple) else (value,)

    def section(self, name: SectionName) -> Section:
        """The summary named *name*."""
        return getattr(getattr(self, SECTIONS[name]), name)

    def sections(self) -> tuple[tuple[SectionName, Section], ...]:
        """The six summaries in reading order, with their names."""
        return tuple((name, self.section(name)) for name in SECTIONS)

    def with_section(self, name: SectionName, section: Section) -> Memory:
        """A copy in which the summary named *name* is *section*."""
        part = SECTIONS[name]
        parent: UserSections | HistorySections = getattr(self, part)
        return self.model_copy(update={part: parent.model_copy(update={name: section})})

    def with_facts(self, facts: tuple[Fact, ...]) -> Memory:
        """A copy with *facts* in place of its own."""
        return self.model_copy(update={"facts": facts})

    def fact(self, fact_id: str) -> Fact | None:
        """The fact with that id, or None."""
        return next((fact for fact in self.facts if fact.id == fact_id), None)

    @property
    def is_empty(self) -> bool:
        """Whether it has neither facts, readable or not, nor summaries."""
        has_summary = any(section.summary for _, section in self.sections())
        return not (self.facts or self.unreadable_facts or has_summary)


def _has_readable_content(item: object) -> bool:
    """Whether the content of a stored fact is a text or missing; anything but an object is an error elsewhere."""
    return not isinstance(item, dict) or isinstance(cast("_Json", item).get("content"), str | None)


class _FactIds:
    """Gives the stored facts of one document unique ids."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._salts: dict[str, int] = {}
        """The next salt by content: many equal facts without an id are numbered, not counted again each time."""

    def identify(self, item: object) -> object:
        """Return a stored fact with an id that no other has."""
        if isinstance(item, Fact):
            fact_id = self._unique(item.id, item.content)
            return item if fact_id == item.id else item.model_copy(update={"id": fact_id})
        if not isinstance(item, str | dict):
            return item
        fields = {"content": item} if isinstance(item, str) else cast("_Json", item)
        return {**fields, "id": self._unique(str(fields.get("id") or ""), str(fields.get("content")))}

    def _unique(self, fact_id: str, content: str) -> str:
        """Return *fact_id*, or a hash of *content* if it is missing or taken."""
        while not fact_id or fact_id in self._taken:
            salt = self._salts.get(content, 0)
            self._salts[content] = salt + 1
            fact_id = f"fact_{hashlib.sha256(f'{salt}:{content}'.encode('utf-8', 'replace')).hexdigest()[:8]}"
        self._taken.add(fact_id)
        return fact_id


# -- the change set -------------------------------------------------------------------------------


class ChangeModel(BaseModel):
    """A part of a change set. Clients may edit it as JSON, so camelCase and snake_case keys are both accepted."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


class Rewrite(ChangeModel):
    """A new text for one of the summaries."""

    section: SectionName
    summary: str
    base: str
    """The summary that the model saw; if it changed since, the newer text is kept."""
    edited_by_user: bool = False
    """A reviewer wrote it: it is neither shortened nor scrubbed."""


class Addition(ChangeModel):
    """A fact that the model proposes."""

    id: str
    """Generated when the answer is parsed, so that applying it twice adds one fact."""
    content: str
    category: str = "context"
    confidence: Annotated[float, Field(ge=0, le=1)] = 0.5
    source_error: str | None = None
    durable: bool = True
    """False: it matters only to the current task."""
    about_user: bool = True
    replaces: tuple[str, ...] = ()
    edited_by_user: bool = False
    """A reviewer wrote it: it becomes a manual fact, and no quality check applies."""


class Removal(ChangeModel):
    """A fact that the model considers no longer true."""

    id: str
    reason: str = "contradicted"


class Refusal(ChangeModel):
    """A change that was not applied, and why."""

    item: str
    reason: str


class MemoryUpdate(ChangeModel):
    """The change set that the model proposed. Applying it twice has the effect of applying it once."""

    at: Timestamp
    """When the answer was parsed; the time of everything it changes."""
    thread: str
    """The thread learned from, or "unknown"; the source of its new facts."""
    message_ids: tuple[str, ...]
    """The messages learned from, the newest last."""
    rewrites: tuple[Rewrite, ...] = ()
    additions: tuple[Addition, ...] = ()
    removals: tuple[Removal, ...] = ()
    refused: tuple[Refusal, ...] = ()
    """Items of the answer that are not valid changes."""
