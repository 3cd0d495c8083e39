"""The stages of an update. Each is what one node returns; State is their sum.

A node's signature names the stages it reads and the one it writes, and LangGraph hands it no more
than that, so the data flow can be read from the signatures alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Annotated, Any, NotRequired, Self, cast

from langchain_core.messages import AnyMessage, convert_to_messages
from langgraph.channels import EphemeralValue, LastValue, UntrackedValue
from pydantic import BaseModel, ConfigDict, TypeAdapter
from typing_extensions import TypedDict

from memgraph.errors import ConversationError
from memgraph.models import UNKNOWN_THREAD, Answer, Memory, MemoryUpdate, Prompt, Refusal, Scope, Turn
from memgraph.report import Outcome, RemovedFact, Report, Usage
from memgraph.review import Review


class ValidatedValue(LastValue[Any]):
    """A key that always holds a value of its own type.

    What a client edited over HTTP or in Studio comes back as plain JSON, and out of a checkpoint
    a tuple comes back as a list, and a strict one's model as a dict.
    """

    def __init__(self, typ: Any, key: str = "") -> None:  # noqa: ANN401 - LangGraph hands over a type form
        super().__init__(typ, key)
        self._adapter = _adapter_of(typ)

    def from_checkpoint(self, checkpoint: Any) -> Self:  # noqa: ANN401
        restored = super().from_checkpoint(checkpoint)
        if restored.is_available():
            restored.value = self._adapter.validate_python(restored.value)
        return restored

    def update(self, values: Sequence[Any]) -> bool:
        return super().update([self._adapter.validate_python(value) for value in values])


@cache
def _adapter_of(typ: Any) -> TypeAdapter[Any]:  # noqa: ANN401
    """LangGraph makes its channels anew for every run; an adapter is made once."""
    return TypeAdapter(typ)


def to_messages(_: object, given: object) -> list[AnyMessage]:
    """Read a conversation, replacing the one before: runs of one thread do not pile up.

    Raises:
        ConversationError: If an item is no message, saying which.
    """
    items = cast("list[Any]", given if isinstance(given, list) else [given])
    messages: list[AnyMessage] = []
    for place, item in enumerate(items):
        try:
            messages.extend(convert_to_messages([item]))  # pyright: ignore[reportArgumentType]
        except (ValueError, TypeError, NotImplementedError, KeyError, AttributeError) as error:
            raise ConversationError(f"messages[{place}] is no message: {error}") from error
    return messages


class Origin(BaseModel):
    """Whose update this is. It lives in the state, since a run's context is not checkpointed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    scope: Scope
    thread_id: str | None
    storage: str
    """Name of the storage that is loaded from, and must be saved to."""
    review: Review = "never"
    """What a person must be asked, at least: a run resumed without its context is no less strict."""

    @property
    def thread(self) -> str:
        """The name under which progress is kept."""
        return self.thread_id or UNKNOWN_THREAD


class Conversation(TypedDict):
    """What comes in."""

    messages: Annotated[list[AnyMessage], to_messages]


class RunOutcome(TypedDict, total=False):
    """How the run ended; only there once it has. Gone one step later, so no later run is misled."""

    outcome: Annotated[Outcome, EphemeralValue]


class Filtered(TypedDict):
    """What people said, and whose memory it is for."""

    turns: Annotated[tuple[Turn, ...], ValidatedValue]
    origin: Annotated[Origin, ValidatedValue]


class FilterOutput(Filtered, RunOutcome):
    """filter_messages also clears the report of an earlier run on the same thread."""

    report: Annotated[Report, ValidatedValue]


class Signalled(TypedDict):
    """What the user's way of talking hints at."""

    signals: Annotated[tuple[str, ...], ValidatedValue]


class ConflictCount(TypedDict, total=False):
    """How many saves in a row this run lost; for this run only, so it is never checkpointed."""

    conflicts: Annotated[int, UntrackedValue]


class Loaded(TypedDict):
    """The document as it is stored, and how many of the last turns it has not learned from."""

    memory: Annotated[Memory, ValidatedValue]
    pending_turns: Annotated[int, ValidatedValue]


class LoadOutput(Loaded, RunOutcome):
    """After a lost race: whether the changes in hand still fit what is stored now."""

    report: NotRequired[Annotated[Report, ValidatedValue]]
    reusable: NotRequired[Annotated[bool, EphemeralValue]]


class Prompted(TypedDict):
    """What the model is asked, and which messages this pass learns from."""

    prompt: Annotated[Prompt, ValidatedValue]
    batch: Annotated[tuple[str, ...], ValidatedValue]


class Answered(TypedDict):
    """What the model said, at which attempt, and what both attempts cost."""

    response: Annotated[Answer, ValidatedValue]
    attempt: Annotated[int, ValidatedValue]
    usage: Annotated[Usage, ValidatedValue]


class Problem(TypedDict, total=False):
    """What was wrong with the last answer; gone one step later."""

    problem: Annotated[str, EphemeralValue]


class Parsed(Problem):
    """What the model proposed, understood."""

    changes: NotRequired[Annotated[MemoryUpdate, ValidatedValue]]


class Applied(TypedDict):
    """The memory with the changes in it, and what policy had to say."""

    applied: Annotated[Memory, ValidatedValue]
    removed: Annotated[tuple[RemovedFact, ...], ValidatedValue]
    refused: Annotated[tuple[Refusal, ...], ValidatedValue]


class Scrubbed(TypedDict):
    """The memory less what this update wrote about uploads."""

    scrubbed: Annotated[Memory, ValidatedValue]
    uploads: Annotated[tuple[Refusal, ...], ValidatedValue]


class Reviewed(TypedDict, total=False):
    """What a person agreed to, in the place of what parse_update wrote; nothing where nobody had to be asked."""

    changes: Annotated[MemoryUpdate, ValidatedValue]
    reviewed: Annotated[str, ValidatedValue]
    """Fingerprint of the changes that were decided. Any other change set, as of the next batch, is asked about."""
    altered: Annotated[bool, EphemeralValue]
    """Whether the changes are others than those applied, so that they must be applied anew."""


class Saved(ConflictCount, RunOutcome):
    """What is stored now. A save is also a load: the next batch starts from what was saved."""

    saved: NotRequired[Annotated[Memory, EphemeralValue]]
    memory: NotRequired[Annotated[Memory, ValidatedValue]]
    pending_turns: NotRequired[Annotated[int, ValidatedValue]]
    report: NotRequired[Annotated[Report, ValidatedValue]]


class Result(RunOutcome):
    """What comes out."""

    saved: NotRequired[Annotated[Memory, EphemeralValue]]
    report: Annotated[Report, ValidatedValue]


# A key that is required in one stage is optional in another that may write it too.
class Stages(  # pyright: ignore[reportIncompatibleVariableOverride]
    FilterOutput, Signalled, LoadOutput, Prompted, Answered, Parsed, Applied, Scrubbed, Reviewed, Saved
):
    """Every stage, without the conversation: as an output schema it shows a client all that an update did."""


class State(Conversation, Stages):
    """Every key of the graph."""
