"""The state of the graphs: one TypedDict per stage, and one per node input.

A stage is what one node returns; `State` is the sum of all. A node's signature names what it reads and the stage it
writes. LangGraph passes it only the keys of its input type, so the signatures alone show the data flow.
"""

from __future__ import annotations

from functools import cached_property
from typing import Annotated, Literal, NotRequired, cast

from langchain_core.messages import AnyMessage
from langgraph.channels import EphemeralValue, UntrackedValue
from typing_extensions import TypedDict

from memgraph.analysis.message import convert_message
from memgraph.langgraph_adapter import NodeValue, ValidatedValue
from memgraph.models import (
    UNKNOWN_THREAD,
    Answer,
    Candidate,
    Check,
    DerivingModel,
    MemoryDocument,
    MemoryUpdate,
    Prompt,
    Refusal,
    Scope,
    Turn,
)
from memgraph.policy import Review, ReviewBy
from memgraph.report import Outcome, RemovedFact, Report, Usage
from memgraph.retrieval.query import Query
from memgraph.retrieval.results import Ranked, RecallResult, Selection


def to_messages(_: object, new: object) -> list[AnyMessage]:
    """Convert a conversation to messages. It replaces the previous one: a thread does not accumulate its runs.

    Raises:
        ConversationError: If an item is not a message; the error names its index.
    """
    items = cast("list[object]", new if isinstance(new, list) else [new])
    return [message for index, item in enumerate(items) for message in convert_message(item, f"messages[{index}]")]


class Origin(DerivingModel):
    """The owner of an update. It is part of the state, since a run's context is not checkpointed."""

    scope: Scope
    thread_id: str | None
    storage: str
    """Name of the storage to load from and to save to."""
    review: Review = "never"
    """The least strict review allowed: a run resumed without its context is not reviewed less strictly."""
    review_by: ReviewBy = "pending"
    """How the run asks for it, also after it was resumed without its context."""

    @cached_property
    def thread(self) -> str:
        """The key of the thread's watermark."""
        return self.thread_id or UNKNOWN_THREAD


# -- stages of the update -------------------------------------------------------------------------


class Conversation(TypedDict):
    """The input."""

    messages: Annotated[list[AnyMessage], to_messages]


class RunOutcome(TypedDict, total=False):
    """How the run ended; absent before. Ephemeral, so the next run on the thread does not see it."""

    outcome: Annotated[Outcome, EphemeralValue]


class Filtered(TypedDict):
    """The turns to learn from, and the owner of the memory."""

    turns: Annotated[tuple[Turn, ...], ValidatedValue]
    origin: Annotated[Origin, NodeValue]


class MessageCalls(DerivingModel):
    """How often the model was called for one message, the last one that it was shown."""

    message_id: str = ""
    calls: int = 0


class FilterOutput(Filtered, RunOutcome):
    """filter_messages also clears the report and the calls of an earlier run on the same thread."""

    report: Annotated[Report, ValidatedValue]
    message_calls: NotRequired[Annotated[MessageCalls, ValidatedValue]]


class Signalled(TypedDict):
    """Names of the signals detected in the user's turns."""

    signals: Annotated[tuple[str, ...], ValidatedValue]


class ConflictCount(TypedDict, total=False):
    """How many saves in a row this run lost; never checkpointed, since it concerns this run only."""

    conflicts: Annotated[int, UntrackedValue]


class MemoryLoaded(TypedDict):
    """The stored document."""

    memory: Annotated[MemoryDocument, ValidatedValue]


class Loaded(MemoryLoaded):
    """The stored document, and how many of the turns it has not learned from."""

    pending_turns: Annotated[int, ValidatedValue]


class LoadOutput(Loaded, RunOutcome):
    """The turns and their signals, if they repeat the document; after a save conflict, whether the change set still
    applies to it, and what of it does.
    """

    turns: NotRequired[Annotated[tuple[Turn, ...], ValidatedValue]]
    signals: NotRequired[Annotated[tuple[str, ...], ValidatedValue]]
    report: NotRequired[Annotated[Report, ValidatedValue]]
    reusable: NotRequired[Annotated[bool, EphemeralValue]]
    changes: NotRequired[Annotated[MemoryUpdate, ValidatedValue]]
    change_digests: NotRequired[Annotated[tuple[str, ...], NodeValue]]
    reviewed: NotRequired[Annotated[str, ValidatedValue]]


class Prompted(TypedDict):
    """The prompt, and the ids of the messages that this pass learns from."""

    prompt: Annotated[Prompt, ValidatedValue]
    batch: Annotated[tuple[str, ...], ValidatedValue]


Question = Literal["update", "check", "conflicts"]
"""What the model was asked for: an update, or whether its claims follow from what was said. Threads of release 0.2 may
have "conflicts" in their checkpoints, and no check for it."""


class Answered(TypedDict):
    """The model's answer and what it answers, the number of the attempt, and the usage of all calls of this pass."""

    response: Annotated[Answer, ValidatedValue]
    question: Annotated[Question, ValidatedValue]
    attempt: Annotated[int, ValidatedValue]
    usage: Annotated[Usage, ValidatedValue]
    message_calls: NotRequired[Annotated[MessageCalls, ValidatedValue]]


class Problem(TypedDict, total=False):
    """Why the last answer is unreadable; cleared one step later."""

    problem: Annotated[str, EphemeralValue]


class BatchLimit(TypedDict, total=False):
    """Maximum number of turns of the next batches; never checkpointed, since it concerns this run only."""

    batch_limit: Annotated[int, UntrackedValue]


class Checked(TypedDict, total=False):
    """What the model is asked about the claims of this pass, and what it answered."""

    check: Annotated[Check | None, ValidatedValue]
    """None if nothing is checked."""
    check_is_due: Annotated[bool, EphemeralValue]
    """Whether the model is asked next; cleared one step later."""


class ChangesWritten(TypedDict, total=False):
    """A change set, and what shows later whether a person edited it."""

    changes: Annotated[MemoryUpdate, ValidatedValue]
    change_digests: Annotated[tuple[str, ...], NodeValue]
    """Digests of its items as the node wrote them; an item with another digest is a person's."""


class Parsed(Problem, Checked, BatchLimit, ChangesWritten):
    """The change set that the model proposed; after an incomplete answer also a limit for the next batch."""


class Applied(TypedDict):
    """The memory with the changes applied, and what was removed and refused.

    If a person edited the changes, also these, with the person's marked.
    """

    changes: NotRequired[Annotated[MemoryUpdate, ValidatedValue]]
    applied: Annotated[MemoryDocument, ValidatedValue]
    removed: Annotated[tuple[RemovedFact, ...], ValidatedValue]
    refused: Annotated[tuple[Refusal, ...], ValidatedValue]


class Scrubbed(TypedDict):
    """The memory without what this update wrote about uploads."""

    scrubbed: Annotated[MemoryDocument, ValidatedValue]
    uploads: Annotated[tuple[Refusal, ...], ValidatedValue]


class Reviewed(ChangesWritten, total=False):
    """The change set that the reviewer approved, replacing parse_update's; empty if no review was needed."""

    reviewed: Annotated[str, ValidatedValue]
    """Fingerprint of the approved change set. Any other one, such as the next batch's, needs its own review."""
    altered: Annotated[bool, EphemeralValue]
    """Whether the reviewer changed it, so that it must be applied again."""


class Saved(ConflictCount, RunOutcome):
    """The saved document. A save is also a load: the next batch starts from it."""

    saved: NotRequired[Annotated[MemoryDocument, EphemeralValue]]
    memory: NotRequired[Annotated[MemoryDocument, ValidatedValue]]
    pending_turns: NotRequired[Annotated[int, ValidatedValue]]
    report: NotRequired[Annotated[Report, ValidatedValue]]


class Result(RunOutcome):
    """The output."""

    saved: NotRequired[Annotated[MemoryDocument, EphemeralValue]]
    report: Annotated[Report, ValidatedValue]


# A key that is required in one stage is optional in another that may write it too.
class Stages(  # pyright: ignore[reportIncompatibleVariableOverride]
    FilterOutput, Signalled, LoadOutput, Prompted, Answered, Parsed, Applied, Scrubbed, Reviewed, Saved
):
    """Every stage, without the conversation: as the output schema, it shows clients all that an update did."""


class State(Conversation, Stages):
    """Every key of the update graph."""


# -- inputs of the update's nodes -----------------------------------------------------------------


class LoadInput(Filtered, ConflictCount):
    """load_memory; the keys below belong to this run only after a save conflict."""

    memory: NotRequired[MemoryDocument]
    changes: NotRequired[MemoryUpdate]
    reviewed: NotRequired[str]
    usage: NotRequired[Usage]
    report: NotRequired[Report]


class BuildPromptInput(Filtered, Signalled, Loaded, BatchLimit):
    """build_prompt."""


class CallModelInput(Loaded, Prompted, Problem, Checked, ConflictCount):
    """call_model; the previous response counts only together with a problem, the check only if it is due."""

    response: NotRequired[Answer]
    usage: NotRequired[Usage]
    message_calls: NotRequired[MessageCalls]


class ParseInput(Filtered, Loaded, Prompted, Answered):
    """parse_update; changes and check count only if the model was asked about them."""

    changes: NotRequired[MemoryUpdate]
    change_digests: NotRequired[tuple[str, ...]]
    check: NotRequired[Check | None]


class ScrubInput(Loaded):
    """scrub_uploads."""

    changes: MemoryUpdate
    applied: MemoryDocument


class ApplyInput(Loaded):
    """apply_update; without a prompt the changes are those that a person accepted."""

    turns: tuple[Turn, ...]
    changes: MemoryUpdate
    change_digests: NotRequired[tuple[str, ...]]
    prompt: NotRequired[Prompt]
    check: NotRequired[Check | None]


class ReviewInput(Filtered, ApplyInput):
    """review_changes."""

    reviewed: NotRequired[str]


class Owned(TypedDict):
    """The owner of the memory: all that the route to review_changes reads."""

    origin: Origin


class SaveInput(Filtered, Loaded, ConflictCount):
    """save_memory."""

    changes: MemoryUpdate
    removed: tuple[RemovedFact, ...]
    refused: tuple[Refusal, ...]
    scrubbed: MemoryDocument
    uploads: tuple[Refusal, ...]
    usage: Usage
    report: Report


class ErrorInput(Filtered, total=False):
    """ErrorHandlers.fail_open: as little as possible, since any stage may be missing."""


# -- upkeep ---------------------------------------------------------------------------------------


class UpkeepRequest(TypedDict):
    """The input: nothing, since the context names the user."""


class UpkeepLoaded(FilterOutput, Loaded):
    """The owner and the stored document, as for an update without turns.

    After a save conflict: whether the change set still applies to it.
    """

    usage: NotRequired[Annotated[Usage, ValidatedValue]]
    reusable: NotRequired[Annotated[bool, EphemeralValue]]


class CandidatesFound(RunOutcome, ChangesWritten):
    """What a model is asked about; without any, perhaps a change set that only lets the rules run."""

    candidates: Annotated[tuple[Candidate, ...], ValidatedValue]


class UpkeepPrompted(TypedDict):
    """The prompt."""

    prompt: Annotated[Prompt, ValidatedValue]


class UpkeepParsed(Problem, ChangesWritten):
    """The change set that the model proposed."""


# As in Stages.
class UpkeepStages(  # pyright: ignore[reportIncompatibleVariableOverride]
    UpkeepLoaded, CandidatesFound, UpkeepPrompted, Answered, UpkeepParsed, Applied, Scrubbed, Reviewed, Saved
):
    """Every stage."""


class UpkeepState(UpkeepRequest, UpkeepStages):
    """Every key of the upkeep graph."""


class LoadUpkeepInput(ConflictCount):
    """load_upkeep; the other keys belong to this run only after a save conflict."""

    origin: NotRequired[Origin]
    memory: NotRequired[MemoryDocument]
    changes: NotRequired[MemoryUpdate]


class FindCandidatesInput(Owned, MemoryLoaded):
    """find_candidates."""


class UpkeepPromptInput(MemoryLoaded):
    """build_upkeep_prompt."""

    candidates: tuple[Candidate, ...]


class UpkeepParseInput(UpkeepPromptInput, Owned, Answered):
    """parse_upkeep."""


# -- recall ---------------------------------------------------------------------------------------


class MemoryRanked(TypedDict):
    """What the memory is compared with, and the ranked facts and episodes, the best first."""

    query: Annotated[Query, ValidatedValue]
    ranked: Annotated[Ranked, ValidatedValue]


class MemoryChosen(TypedDict):
    """The summaries, facts and episodes that fit the token budget."""

    chosen: Annotated[Selection, ValidatedValue]


class TextRendered(TypedDict):
    """The text for a prompt. The only key of the output."""

    recalled: Annotated[RecallResult, ValidatedValue]


class RecallStages(MemoryLoaded, MemoryRanked, MemoryChosen, TextRendered):
    """Every stage, without the conversation."""


class RecallState(Conversation, RecallStages):
    """Every key of the recall graph."""


class RankInput(Conversation, MemoryLoaded):
    """recall_rank."""


class FitInput(MemoryLoaded, MemoryRanked):
    """recall_fit."""


class RecallErrorInput(TypedDict):
    """ErrorHandlers.recall_nothing: reads nothing."""
