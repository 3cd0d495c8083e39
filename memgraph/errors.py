"""Every error of memgraph.

MemgraphError                    a RuntimeError, since LangGraph Server shows clients those
|- ConfigError                   a setting is unknown, of the wrong type or out of range
|- IdentityError                 no user, or a user, agent or thread id that may not be used
|- ConversationError             what was given as a conversation is none
|- EditError                     what a person asked to change in a memory cannot be changed so
|- ModelError                    the chat model did not answer
|  |- ModelSetupError            the model asked for cannot be built: a package or a key is missing
|  `- UnreadableAnswerError      the model answered twice, and neither answer is an update
|- EmbeddingError                there is no embedding model, or it did not answer
|- MemoryStoreError              an attachable memory could not do its work
|- OutboxError                   the outbox could not do its work
|  |- NotInReviewError           what was to be decided does not wait for a decision
|  `- QueueFullError             too many conversations wait
`- StorageError                  the storage could not do its work
   |- DamagedMemoryError         a stored document cannot be read; it is left as it is
   |- RevisionConflictError      somebody else saved first
   |- ForgottenError             the memory was deleted after it was loaded
   `- WrongStorageError          a run would save elsewhere than it loaded from
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from memgraph.models import Scope


class MemgraphError(RuntimeError):
    """Something memgraph was asked to do cannot be done."""


class ConfigError(MemgraphError):
    """A setting is unknown, of the wrong type or out of range."""


class IdentityError(MemgraphError, ValueError):
    """There is no user to remember for, or an id that may not be used."""


class ConversationError(MemgraphError, ValueError):
    """What was given as a conversation is none."""


class EditError(MemgraphError, ValueError):
    """What a person asked to change in a memory cannot be changed so."""


class ModelError(MemgraphError):
    """The chat model did not answer."""


class ModelSetupError(ModelError):
    """The model asked for cannot be built: a package or a key is missing."""


class UnreadableAnswerError(ModelError):
    """The model was asked twice, and neither answer is a memory update."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the model's answer is no memory update, also when asked again: {problem}")
        self.problem = problem


class EmbeddingError(MemgraphError):
    """There is no embedding model, or it did not answer: rank by words, by `ranker="lexical"`, or try again later."""


class MemoryStoreError(MemgraphError):
    """An attachable memory could not do its work; what it held before is intact."""


class OutboxError(MemgraphError):
    """The outbox could not do its work; what it held before is intact."""


class NotInReviewError(OutboxError):
    """What was to be decided does not wait for a decision: somebody else decided, or it was forgotten."""

    def __init__(self, review_id: str) -> None:
        super().__init__(
            f"nothing waits for review under {review_id[:80]!r}: it was decided already, was forgotten, or something "
            "else is proposed by now (`memgraph review` lists what waits)"
        )
        self.review_id = review_id


class QueueFullError(OutboxError):
    """Too many conversations wait to be learned from, so one more is refused."""

    def __init__(self, outbox: str, limit: int) -> None:
        super().__init__(
            f"{limit:,} conversations wait in {outbox}, and no more may: see whether updates run and succeed "
            "(`memgraph pending` tells), submit again later, or raise max_queued"
        )
        self.outbox = outbox
        self.limit = limit


class StorageError(MemgraphError):
    """The storage could not do its work; what was stored before is intact."""


class DamagedMemoryError(StorageError):
    """A stored document cannot be read. It is left as it is: repair it, or put the last good one back."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place} is no memory document: {reason}. It was left as it is; repair or remove it")
        self.place = place
        self.reason = reason


class RevisionConflictError(StorageError):
    """The memory changed between load and save: load it again and re-apply."""

    def __init__(self, scope: Scope, revision: int) -> None:
        super().__init__(f"the memory of {scope} is no longer the one loaded at revision {revision}")
        self.scope = scope
        self.revision = revision


class ForgottenError(StorageError):
    """The memory was deleted after it was loaded: what was learned from before must not come back."""

    def __init__(self, scope: Scope, revision: int) -> None:
        super().__init__(f"the memory of {scope} was deleted after it was loaded at revision {revision}")
        self.scope = scope
        self.revision = revision


class WrongStorageError(StorageError):
    """A run would save into another storage than the one it loaded from."""

    def __init__(self, loaded_from: str, in_hand: str) -> None:
        super().__init__(
            f"this run loaded its memory from {loaded_from} but was resumed with {in_hand}: "
            "resume it with the context it was started with"
        )
        self.loaded_from = loaded_from
        self.in_hand = in_hand
