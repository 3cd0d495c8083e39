"""The change set: what the model proposes to change in a memory."""

from __future__ import annotations

import hashlib
from operator import not_
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, JsonValue
from pydantic.alias_generators import to_camel

from memgraph.models.document import Evidence, Modality, PendingChange, SectionName
from memgraph.models.history import PersonDecision
from memgraph.models.values import PartialDate, Timestamp


class ChangeModel(BaseModel):
    """A part of a change set. Clients may edit it as JSON, so camelCase and snake_case keys are both accepted."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", alias_generator=to_camel, validate_by_name=True, validate_by_alias=True
    )


EditedByUser = Annotated[bool, Field(validation_alias=AliasChoices("editedByUser", "by_hand"))]
"""Release 0.1 stored it as `by_hand`."""


Follows = Literal["yes", "weaker", "no"]
"""Whether a claim follows from the user's words.

- yes: they state it.
- weaker: they state less, such as a wish, a guess or another time.
- no: they do not state it.
"""


class Rewrite(ChangeModel):
    """A new text for one of the summaries."""

    section: SectionName
    summary: str
    base: str
    """The summary that the model saw; if it changed since, the newer text is kept."""
    edited_by_user: EditedByUser = False
    """A person wrote it: it is neither shortened nor scrubbed."""


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
    repeats: str = ""
    """Id of the known fact that states the same in other words, and is confirmed instead; empty if none is known."""
    said_at: Timestamp = ""
    """When the user said it; empty if unknown."""
    valid_from: PartialDate = ""
    valid_until: PartialDate = ""
    quote: str = ""
    """The user's words, as the model wrote them; `evidence` has them as the user did, if they were found."""
    evidence: tuple[Evidence, ...] = ()
    slot: str | None = None
    checked: Annotated[Follows | None, Field(exclude_if=not_)] = None
    """What a model found that checked it; None if none did."""
    ends: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()
    """Those of `replaces` that the check found to end."""
    ended_parts: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()
    """The statements of these facts that the check found to end, if that is not all of a fact."""
    modality: Annotated[Modality | None, Field(exclude_if=not_)] = None
    """How it was said, if that was more or less than asserted."""
    edited_by_user: EditedByUser = False
    """A person wrote it: it becomes a manual fact, and no quality check applies."""


class ProfileChange(ChangeModel):
    """A new value of a field of the profile."""

    field: str
    value: JsonValue = None
    """None: it is no longer known."""
    quote: str = ""
    """The user's words, as the model wrote them."""
    edited_by_user: bool = Field(default=False, exclude_if=not_)
    """A person wrote it: it needs no quote."""


class Removal(ChangeModel):
    """A fact that the model considers no longer true."""

    id: str
    reason: str = "contradicted"
    quote: str = Field(default="", exclude_if=not_)
    """The user's words that end it, as the model wrote them; without them a person has to accept the removal."""
    edited_by_user: bool = Field(default=False, exclude_if=not_)
    """A person wrote it: it needs no quote, and no limit applies."""


class CheckedClaim(ChangeModel):
    """A claim as the check shows it: with the words that it quotes, and with what was asked before them."""

    addition_id: str
    """The addition that makes it; empty for a control, whose answer is known."""
    content: str
    said: str
    """The sentences of the user that hold the quote."""
    said_at: Timestamp = ""
    asked: str = ""
    """What the assistant asked before; empty if it asked nothing."""


class ClaimVerdict(ChangeModel):
    """What a model found about a claim."""

    follows: Follows
    modality: Modality = Field(default="asserted", validation_alias=AliasChoices("as", "modality"))
    ends: tuple[str, ...] = ()
    """Ids of known facts that no longer hold."""
    ended_parts: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()
    """The statements of these facts that no longer hold, if the facts were shown in parts."""
    same: str = ""
    """Id of the known fact that states the same; empty if there is none."""


class Check(ChangeModel):
    """What the model is asked about the claims of an update, and its answer."""

    claims: tuple[CheckedClaim, ...]
    """Numbered from 1, with the controls."""
    language: Literal["en", "zh"] = "en"
    """Of the prompt and the controls."""
    is_probe: bool = False
    """Whether its claims and known facts are made up, to learn whether the model can check."""
    known: tuple[str, ...] = ()
    """Ids of the known facts that the claims could touch, numbered from 1; of one that is shown in parts, one each."""
    parts: Annotated[tuple[str, ...], Field(exclude_if=not_)] = ()
    """For each of `known` the statement that is shown; empty for all of the fact."""
    verdicts: tuple[ClaimVerdict | None, ...] = ()
    """One for each claim; None if the answer has none. Empty before the answer, and if a control was answered wrongly:
    then the model counts as silent."""


class Merge(ChangeModel):
    """Known facts that state the same, as one fact."""

    id: str
    """The fact that stays, and gets all evidence, dates and confirmations of the others."""
    content: str
    """Its new wording. A manual fact keeps its own."""
    merged: tuple[str, ...]
    """The facts that are past afterwards."""


class Refusal(ChangeModel):
    """A change that was not applied, and why."""

    item: str
    reason: str


CandidateKind = Literal["alike", "stale", "summaries"]
"""Facts that may state the same; one that was not repeated for longer than its kind lives; or those learned since the
summaries were written, if these have to follow."""


class Candidate(ChangeModel):
    """Known facts that the upkeep asks a model about."""

    kind: CandidateKind
    ids: tuple[str, ...]
    digest: str
    """Identifies the question, so that it is asked once. It changes with the facts."""

    @classmethod
    def make(cls, kind: CandidateKind, ids: tuple[str, ...], *about: str) -> Candidate:
        """Return the candidate whose digest is that of *about*."""
        identity = repr((kind, *about)).encode("utf-8", "surrogatepass")
        return cls(kind=kind, ids=ids, digest=hashlib.sha256(identity).hexdigest()[:12])


class MemoryUpdate(ChangeModel):
    """The change set that the model proposed. Applying it twice has the effect of applying it once."""

    at: Timestamp
    """When the answer was parsed; the time of everything it changes."""
    thread: str
    """The thread learned from, or "unknown"; the source of its new facts."""
    message_ids: tuple[str, ...]
    """The messages learned from, the newest last."""
    origin: Literal["tool"] | None = Field(default=None, exclude_if=not_)
    """"tool" if a model reports what the user said, and no conversation shows it."""
    rewrites: tuple[Rewrite, ...] = ()
    """New texts of summaries."""
    additions: tuple[Addition, ...] = ()
    """New facts, and known ones that were repeated."""
    removals: tuple[Removal, ...] = ()
    """Known facts that no longer hold, each with the reason."""
    merges: tuple[Merge, ...] = ()
    """Known facts that state the same, by an upkeep."""
    profile: tuple[ProfileChange, ...] = Field(default=(), exclude_if=not_)
    """New values of fields of the profile, if there is one."""
    refused: tuple[Refusal, ...] = ()
    """Items of the answer that are not valid changes."""
    quarantined: tuple[PendingChange, ...] = ()
    """What the rules hold back before a review, which does not decide it."""
    accepted: tuple[PendingChange, ...] = Field(default=(), exclude_if=not_)
    """What a reviewer of the run accepted, in the wording that they gave it."""
    decisions: tuple[PersonDecision, ...] = ()
    """What a reviewer of the run decided."""
    asked: tuple[str, ...] | None = None
    """Of an upkeep: the candidates that the model was asked about, see `Upkeep.asked`; None for an update."""
