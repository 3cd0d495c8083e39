"""Every error of memgraph.

MemgraphError                    a RuntimeError, since LangGraph Server shows clients those
|- ConfigError                   a setting is unknown, of the wrong type or out of range
|- IdentityError                 the user is missing, or a user, agent or thread id is invalid
|- ConversationError             the input is not a conversation
|- EditError                     a manual edit of a memory is invalid
|  |- AlreadyDecidedError        the change does not wait for a decision any more
|  |- ChangePendingError         the change waits until a person accepts it
|  |- NoSuchFactError            there is no fact of this id
|  |- NoSuchBackupError          there is no backup of this name
|  `- NotInHistoryError          the history has no such revision
|- MemoryClosedError             the memory was closed
|- MemoryOffError                the settings turn memory off
|- ModelError                    the chat model failed
|  |- ModelSetupError            the chat model cannot be created: a package or a key is missing
|  `- UnreadableAnswerError      the model answered twice, and neither answer is a memory update
|- EmbeddingError                the embedding model is missing or failed
|- MemoryStoreError              an attachable memory failed
|- OutboxError                   the outbox failed
|  |- OutboxClosedError          the invoker was closed
|  `- QueueFullError             too many conversations are queued
|     `- UserQueueFullError      too many of them are one user's
`- StorageError                  the storage failed
   |- DamagedMemoryError         a stored document cannot be read; it is left unchanged
   |- RevisionConflictError      another writer saved first
   |- ForgottenError             the memory was deleted after it was loaded
   `- WrongStorageError          a run would save to another storage than it loaded from
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from memgraph.models import Scope


class MemgraphError(RuntimeError):
    """Base class of all errors of memgraph."""

    code: ClassVar[str] = "MemgraphError"
    """What identifies the error on the command line and over HTTP."""

    http_status: ClassVar[int] = 500
    """The status of the answer of an HTTP API."""

    def __init_subclass__(cls, *, code: str = "", http_status: int | None = None) -> None:
        cls.code = code or cls.__name__
        cls.http_status = http_status or cls.http_status


class ConfigError(MemgraphError):
    """A setting is unknown, of the wrong type or out of range."""


class IdentityError(MemgraphError, ValueError, http_status=422):
    """The user is missing, or a user, agent or thread id is invalid."""


class ConversationError(MemgraphError, ValueError, http_status=422):
    """The input is not a conversation."""


class EditError(MemgraphError, ValueError, http_status=422):
    """A manual edit of a memory is invalid."""


class AlreadyDecidedError(EditError, http_status=404):
    """The change does not wait for a decision: it was decided already, or dropped from the full list."""

    def __init__(self, change_id: str) -> None:
        super().__init__(
            f"no change {change_id[:80]!r} is pending: it was already decided, or dropped from the full list"
        )
        self.change_id = change_id


class ChangePendingError(EditError, code="ChangePending"):
    """The change was not applied: it waits until a person accepts it, with `memgraph review` or on the page."""


class NoSuchFactError(EditError, code="NoSuchFact", http_status=404):
    """There is no fact of this id."""


class NoSuchFileError(EditError, code="NoSuchFile"):
    """There is no file of this path: see `Memory.files`."""


class NoSuchBackupError(EditError, code="NoSuchBackup", http_status=404):
    """There is no backup of this name."""


class NotInHistoryError(EditError, code="NotInHistory", http_status=404):
    """The history has no such revision."""


class MemoryClosedError(MemgraphError, code="MemoryClosed", http_status=503):
    """The memory was closed; what it stored is unchanged."""

    def __init__(self) -> None:
        super().__init__("this memory is closed: use it before its close, or open another one")


class MemoryOffError(MemgraphError, code="MemoryOff", http_status=409):
    """The settings turn memory off, so nothing is learned or changed by a model."""

    def __init__(self) -> None:
        super().__init__(
            "memory is off (enabled: false): nothing is learned or changed; set MEMGRAPH_ENABLED=true and restart"
        )


class ModelError(MemgraphError, http_status=502):
    """The chat model failed."""


class ModelSetupError(ModelError, http_status=500):
    """The chat model cannot be created: a package or a key is missing."""


class UnreadableAnswerError(ModelError):
    """The model answered twice, and neither answer is a memory update."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the model's answer is not a memory update, even after a retry: {problem}")
        self.problem = problem


class EmbeddingError(MemgraphError):
    """The embedding model is missing or failed: retry later, or rank without it by `ranker="lexical"`."""


class MemoryStoreError(MemgraphError):
    """An attachable memory failed; its content is unchanged."""


class OutboxError(MemgraphError, http_status=503):
    """The outbox failed; its content is unchanged."""


class OutboxClosedError(OutboxError, code="OutboxError"):
    """The invoker was closed; earlier submissions are kept."""


class QueueFullError(OutboxError):
    """Too many conversations are queued, so another one is rejected."""

    def __init__(self, outbox: str, limit: int) -> None:
        super().__init__(
            f"{limit:,} conversations are queued in {outbox}, which is the maximum: check that updates run and succeed "
            "(`memgraph pending`), submit again later, or raise max_queued"
        )
        self.outbox = outbox
        self.limit = limit


class UserQueueFullError(QueueFullError, http_status=429):
    """Too many conversations of one user are queued, so another one is rejected; other users are not affected."""

    def __init__(self, outbox: str, limit: int) -> None:
        OutboxError.__init__(
            self,
            f"{limit:,} conversations of this user are queued, which is a tenth of the queue and the maximum for one "
            "user: submit again later, or raise max_queued",
        )
        self.outbox = outbox
        self.limit = limit


class StorageError(MemgraphError, http_status=503):
    """The storage failed; the stored documents are unchanged."""


class DamagedMemoryError(StorageError, http_status=500):  # a retry does not help
    """A stored document cannot be read. It is left unchanged: repair it, or restore the last good one."""

    def __init__(self, location: str, reason: str) -> None:
        super().__init__(f"{location} is not a memory document: {reason}. It was left unchanged; repair or remove it")
        self.location = location
        self.reason = reason


class RevisionConflictError(StorageError, http_status=409):
    """The memory changed between load and save: load it again and re-apply."""

    def __init__(self, scope: Scope, revision: int) -> None:
        super().__init__(f"the memory has changed since it was loaded at revision {revision}")
        self.scope = scope
        self.revision = revision


class ForgottenError(StorageError, http_status=409):
    """The memory was deleted after it was loaded: nothing learned before the deletion may be saved."""

    def __init__(self, scope: Scope, revision: int) -> None:
        super().__init__(f"the memory was deleted after it was loaded at revision {revision}")
        self.scope = scope
        self.revision = revision


class WrongStorageError(StorageError):
    """A run would save to another storage than it loaded from."""

    def __init__(self, loaded_from: str, resumed_with: str) -> None:
        super().__init__(
            f"this run loaded its memory from {loaded_from} but was resumed with {resumed_with}: "
            "resume it with the context it was started with"
        )
        self.loaded_from = loaded_from
        self.resumed_with = resumed_with
