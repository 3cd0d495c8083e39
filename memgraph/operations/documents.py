"""Operations on whole memories: export and import, backups, audit, deletion and erasure."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from pydantic import Field

from memgraph._validation import preview_value
from memgraph.editing import admit_document, merge_memory, read_document, replace_memory
from memgraph.editing.documents import missing_episodes, take_episodes, with_episodes
from memgraph.editing.update import check_limits, own_episodes, rewrite_episodes
from memgraph.editing.users import MemorySummary, list_users, summarize_memories
from memgraph.errors import EditError, NoSuchBackupError, StorageError
from memgraph.history.diff import changes_between
from memgraph.models import ChangeOrigin, MemoryChanges, MemoryDocument, Refusal
from memgraph.operations.session import Changed, MemorySession
from memgraph.storage.backups import new_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from memgraph.audit import Finding
    from memgraph.erasure import ErasureReceipt
    from memgraph.storage.backups import Backup

ImportMode = Literal["merge", "replace"]


class Imported(NamedTuple):
    """What an import did, or would do."""

    changed: Changed
    episodes: int
    """How many were added."""
    backup: Path | None
    """The memory before; None if it was empty, or is unchanged."""
    held: tuple[Refusal, ...]
    """What was held back or changed, and why."""

    @property
    def memory(self) -> MemoryDocument:
        """The memory after it."""
        return self.changed.after

    @property
    def changes(self) -> MemoryChanges:
        """What differs from the memory before."""
        return changes_between(self.changed.before, self.changed.after)

    @property
    def counts(self) -> dict[str, int]:
        """How many facts, summaries and episodes were added, confirmed, removed and rewritten."""
        return {**self.changed.counts, "episodes": self.episodes}


class Fixed(NamedTuple):
    """What the fixes of an audit changed."""

    counts: dict[str, int]
    backup: Path


class Deleted(NamedTuple):
    """A deleted memory."""

    memory: MemoryDocument
    """The tombstone."""
    agents: tuple[str, ...]
    """Agents that have a memory of the same user, which remains."""


class DocumentOperations(MemorySession):
    """What a caller does with whole memories."""

    def export(self, *, user_id: str | None = None) -> MemoryDocument:
        """Return the memory with its episodes, which `import_document` takes."""
        return with_episodes(self._load(user_id), self._episodes(user_id))

    def import_document(
        self,
        document: MemoryDocument | bytes | str,
        *,
        user_id: str | None = None,
        mode: Annotated[
            ImportMode,
            Field(description="merge adds what is not known yet; replace overwrites the memory with the document."),
        ] = "merge",
        trusted: Annotated[
            bool,
            Field(
                description="Take the document as it is: nothing is held back, and it states which facts a person "
                "wrote and which threads were learned from. For your own backups; it needs the administrator's token."
            ),
        ] = False,
        dry_run: bool = False,
        name: str = "the document",
    ) -> Imported:
        """Import a document, after it was validated as a whole. A memory that changes is backed up first.

        Episodes that are not stored yet are added in either mode. What steers a model is held back, and secrets are
        masked, unless the document is trusted.

        Args:
            document: A memory document of any release, also as JSON.
            user_id: Whose memory; default: that of the client.
            mode: `merge` adds what is not known yet; `replace` overwrites the memory with the document.
            trusted: Take it as it is: for your own exports and backups.
            dry_run: Find the changes, and save nothing.
            name: What errors call it.

        Raises:
            EditError: If it is not a memory document, or the memory would exceed its limits.
        """
        data = document.encode() if isinstance(document, str) else document
        if not isinstance(data, bytes | MemoryDocument):  # pyright: ignore[reportUnnecessaryIsInstance] - a caller's
            raise EditError(f"{name} is {preview_value(data)}, but must be a MemoryDocument, or one as JSON")
        imported, episodes = take_episodes(read_document(data, name) if isinstance(data, bytes) else data)
        scope, stored = self._scope(user_id), self._episodes(user_id)
        new, words_held = missing_episodes(stored, episodes, self._policy, trusted=trusted)
        held: list[Refusal] = []
        backups: list[Path] = []
        backup = new_name()

        def preview(memory: MemoryDocument) -> MemoryDocument:
            admitted = imported
            if not trusted:
                admitted, held[:] = admit_document(imported, memory)
            return (replace_memory if mode == "replace" else merge_memory)(memory, admitted, trusted=True)

        def change(memory: MemoryDocument) -> MemoryDocument:
            changed = preview(memory)
            backups.clear()  # a conflict calls this again
            if changed != memory and (stored or not memory.is_empty):
                backups.append(self._memory.backups.save(scope, with_episodes(memory, stored), backup))
            return changed

        if dry_run:
            before = self._load(user_id)
            changed = Changed(before, preview(before))
            check_limits(*changed, self._policy)
        else:
            changed = self._change(user_id, change, ChangeOrigin(by="import"))
            self.storage.append_episodes(scope, new, self._policy)
        return Imported(changed, len(new), next(iter(backups), None), (*held, *words_held))

    def backups(self, *, user_id: str | None = None) -> tuple[Backup, ...]:
        """Return the names and sizes of the backups, the newest first; at most 20 are kept."""
        return self._memory.backups.list(self._scope(user_id))

    def read_backup(
        self,
        name: Annotated[str, Field(max_length=200, description="A name of `backups`.")],
        *,
        user_id: str | None = None,
    ) -> bytes:
        """Return a backup as JSON. To restore it as it is, import it trusted, in the mode `replace`.

        Raises:
            EditError: If there is none of this name.
        """
        data = self._memory.backups.read(self._scope(user_id), name)
        if data is None:
            raise NoSuchBackupError(f"there is no backup {name!r}; list the backups for their names")
        return data

    def audit(self, *, user_id: str | None = None) -> tuple[Finding, ...]:
        """Return duplicates, contradictions, secrets and similar problems of the memory, with suggested fixes."""
        from memgraph.audit import audit

        return audit(self._load(user_id), datetime.now(UTC), own_episodes(self.storage, self._scope(user_id)))

    def fix(self, findings: Sequence[Finding], *, user_id: str | None = None) -> Fixed:
        """Apply the fixes that *findings* of `audit` suggest. The memory is backed up first.

        A finding about text that was edited since is not applied.
        """
        from memgraph.audit import apply_fixes, audit, rewritten_episodes

        scope, shown = self._scope(user_id), set(map(_identify, findings))
        episodes = own_episodes(self.storage, scope)
        rewritten = rewritten_episodes(episodes, findings)
        name = new_name()
        backups: list[Path] = []

        def change(memory: MemoryDocument) -> MemoryDocument:
            backups[:] = [self._memory.backups.save(scope, with_episodes(memory, episodes), name)]
            found = audit(memory, datetime.now(UTC))
            return apply_fixes(memory, [finding for finding in found if _identify(finding) in shown])

        counts = self._change(user_id, change).counts
        rewrite_episodes(self.storage, scope, rewritten, self._policy)
        counts["rewritten"] += len(rewritten)
        return Fixed(counts, backups[0])

    def forget(self, *, user_id: str | None = None) -> Deleted:
        """Delete the memory, what the user said, its backups, and what waits to be learned.

        Messages from before the deletion are not learned again; later ones are.
        """
        scope = self._scope(user_id)
        memory = self._seen(self._memory.forget(scope, self._guard))
        return Deleted(memory, tuple(self._agents_of(scope.user_id)))

    def erase(self, *, user_id: str | None = None) -> ErasureReceipt:
        """Erase everything that is kept of a user, in all places, and return a receipt. It cannot be undone.

        That is every memory of the user, also those of agents, with episodes, history and vectors; conversations that
        wait or failed; backups; and items of the attachable memories of the settings. All caches of this process are
        cleared, and the stored bytes are searched for the erased texts. A place has an `error` if something was not
        erased: then erase again.

        Returns:
            The receipt: places, counts, the result of the search, and what is out of reach.

        Raises:
            IdentityError: If no user is named, or the id is invalid.
            ConfigError: If the settings name a place that cannot be opened.
        """
        from memgraph.erasure import erase_user, open_places

        owner, opened = self._scope(user_id).user_id, self._memory
        with open_places(self.settings, self.storage, outbox=opened.outbox, backups=opened.backups) as places:
            return erase_user(owner, places)

    def users(self) -> list[str]:
        """Return the ids of the users that have a memory, in alphabetical order.

        Raises:
            StorageError: If the storage cannot list them.
        """
        return list(list_users(self.storage))

    def memories(
        self,
        *,
        limit: Annotated[int | None, Field(ge=1, le=500, description="Maximum number of users.")] = None,
        offset: Annotated[int, Field(ge=0, le=1_000_000, description="Number of users to skip.")] = 0,
    ) -> Mapping[str, tuple[MemorySummary, ...]]:
        """Return the memories of each user, how large they are, and when they last changed.

        Raises:
            StorageError: If the storage cannot list them.
        """
        page = islice(list_users(self.storage).items(), offset, None if limit is None else offset + limit)
        return {user: tuple(summarize_memories(self.storage, scopes)) for user, scopes in page}

    def _agents_of(self, user_id: str) -> list[str]:
        """Return the agents with a memory of a user; none if the storage cannot list them."""
        try:
            scopes = list_users(self.storage).get(user_id, [])
        except StorageError:
            return []
        return [scope.agent_name for scope in scopes if scope.agent_name]


def _identify(finding: Finding) -> tuple[object, ...]:
    """Identify a finding by its text, too."""
    return finding.kind, finding.facts, finding.section, finding.episode, finding.what, finding.remove
