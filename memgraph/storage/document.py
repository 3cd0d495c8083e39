"""The stored document and its episodes: their JSON, revisions and tombstones, the order and the limits of episodes.

Decoding tolerates odd encodings (a byte order mark, unpaired surrogates) but not damage: anything that is not
a memory document raises an error that names its location, so that it is not overwritten.

Episodes are read when a memory is recalled, and never on the way of an update: appending does not parse what is stored.
"""

from __future__ import annotations

import codecs
import functools
import json
import logging
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from memgraph._validation import field_errors
from memgraph.errors import DamagedMemoryError, ForgottenError, RevisionConflictError
from memgraph.models import EMPTY_MEMORY, Deletion, Episode, MemoryDocument, Scope, timestamp
from memgraph.policy import Policy


def encode(memory: MemoryDocument) -> bytes:
    """Return *memory* as JSON: camelCase, indent 2, non-ASCII unescaped, a newline at the end.

    Raises:
        PydanticSerializationError: If it contains an unpaired surrogate, which `serialize` replaces.
    """
    return f"{memory.model_dump_json(by_alias=True, indent=2)}\n".encode()


def serialize(memory: MemoryDocument) -> tuple[MemoryDocument, bytes]:
    """Return *memory* as a later load will return it, and its bytes.

    Unpaired surrogates, which UTF-8 cannot encode, become U+FFFD.
    """
    try:
        return memory, encode(memory)
    except PydanticSerializationError:
        repaired = MemoryDocument.model_validate(repair_surrogates(memory.model_dump(by_alias=True)))
        return repaired, encode(repaired)


def decode(data: bytes, location: str) -> MemoryDocument:
    """Parse the document found at *location*.

    Raises:
        DamagedMemoryError: If it is not UTF-8, not JSON, or not a memory. The reason never quotes the document.
    """
    data = data.removeprefix(codecs.BOM_UTF8)
    try:
        memory = _validate(data)
    except ValidationError as error:
        raise DamagedMemoryError(location, _first_reason(error)) from None
    except (UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DamagedMemoryError(location, f"it is not JSON in UTF-8 ({type(error).__name__})") from None
    return _cap_deletion(memory)


def _validate(data: bytes) -> MemoryDocument:
    try:
        return MemoryDocument.model_validate_json(data)
    except ValidationError as error:
        if field_errors(error)[0].type != "json_invalid" or b"\\u" not in data:
            raise
        # Python's json module writes and reads unpaired surrogates; pydantic's parser rejects them as bad JSON.
        return MemoryDocument.model_validate(repair_surrogates(json.loads(data.decode())))


def _first_reason(error: ValidationError) -> str:
    first = field_errors(error)[0]
    return f"{first.message} at {first.path}" if first.path else first.message


def repair_surrogates(value: object) -> Any:  # noqa: ANN401 - of the same shape
    """Return a JSON *value* with surrogate pairs joined and unpaired ones replaced, in every string it contains."""
    text = json.dumps(value, ensure_ascii=False)
    return json.loads(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))


def _cap_deletion(memory: MemoryDocument) -> MemoryDocument:
    """Cap the revision of the deletion at that of the document; a later one would reject every future save."""
    deletion = memory.forgotten
    if deletion is None or deletion.revision <= memory.revision:
        return memory
    return memory.model_copy(update={"forgotten": deletion.model_copy(update={"revision": memory.revision})})


# -- revisions and deletion -----------------------------------------------------------------------


def load_with_fallback(scope: Scope, read: Callable[[Scope], MemoryDocument | None]) -> MemoryDocument:
    """Return the memory of *scope*; for an agent without a document, a copy of the shared one.

    The copy starts the agent's own memory: at revision 0, so that saving creates the agent's document, and
    without watermarks, items of a store and deletion, since the agent has learned from no thread, has put nothing into
    a store, and had no memory to delete.
    A tombstone is a document: an agent whose memory was deleted does not read the shared one.

    Args:
        scope: Whose memory.
        read: Returns the document of exactly one scope, or None if there is none.
    """
    own = read(scope)
    return initial_memory(scope, read) if own is None else own


def initial_memory(scope: Scope, read: Callable[[Scope], MemoryDocument | None]) -> MemoryDocument:
    """Return what *scope* has without a document of its own; see `load_with_fallback`."""
    shared = read(scope.shared) if scope.agent_name else None
    return (shared or EMPTY_MEMORY).model_copy(
        update={"revision": 0, "threads": {}, "forgotten": None, "store_items": ()}
    )


def next_revision(scope: Scope, stored: MemoryDocument | None, memory: MemoryDocument) -> MemoryDocument:
    """Return *memory* as it has to be stored over *stored*, which is None if there is no document yet.

    The last deletion is carried over even if *memory* lost it, since a run that was loaded before the
    deletion may end much later.

    Raises:
        ForgottenError: If the memory was deleted after *memory* was loaded.
        RevisionConflictError: If *memory* is not based on *stored*.
    """
    deletion = stored.forgotten if stored else None
    require_not_deleted(scope, stored, memory.revision)
    if memory.revision != (stored.revision if stored else 0):
        raise RevisionConflictError(scope, memory.revision)
    revision = memory.revision + 1
    # An imported document may carry a deletion at a revision that this one has not reached: drop it.
    imported = memory.forgotten if memory.forgotten and memory.forgotten.revision <= revision else None
    return memory.model_copy(update={"revision": revision, "forgotten": latest_deletion(deletion, imported)})


def require_not_deleted(scope: Scope, stored: MemoryDocument | None, since: int) -> None:
    """Raise a ForgottenError if *stored* was deleted after the revision *since*."""
    if stored and stored.forgotten and stored.forgotten.revision > since:
        raise ForgottenError(scope, since)


def latest_deletion(one: Deletion | None, other: Deletion | None) -> Deletion | None:
    """Return the deletion at the higher revision."""
    if one is None or other is None:
        return one or other
    return other if other.revision > one.revision else one


def tombstone(stored: MemoryDocument | None) -> MemoryDocument:
    """Return the document that replaces *stored* when it is deleted: its next revision and its watermarks.

    The watermarks stay, so that messages from before the deletion are not learned again.
    """
    revision = stored.revision + 1 if stored else 1
    now = datetime.now(UTC)
    return MemoryDocument(
        revision=revision,
        last_updated=timestamp(now),
        threads=stored.threads if stored else {},
        # in microseconds, to order the deletion among submitted messages
        forgotten=Deletion(revision=revision, at=timestamp(now, "microseconds")),
    )


def is_tombstone(memory: MemoryDocument | None) -> bool:
    """Whether the latest revision of *memory* is its deletion."""
    if memory is None or memory.forgotten is None:
        return False
    return memory.forgotten.revision == memory.revision and memory.is_empty


def was_deleted(memory: MemoryDocument | None) -> bool:
    """Whether *memory* was ever deleted, also if something was learned since."""
    return memory is not None and memory.forgotten is not None


# -- episodes ---------------------------------------------------------------------------------------

logger = logging.getLogger("memgraph.storage")

EVICTED_AT_ONCE = 20
"""An eviction removes one of so many of the allowed episodes more than it must."""
_EPISODE_BYTES = 1_200
"""Size of a parsed episode without its text."""


def storable(episode: Episode) -> Episode:
    """Return *episode* as it is read after it was stored: unpaired surrogates become U+FFFD."""
    try:
        episode.model_dump_json()
    except PydanticSerializationError:
        return Episode.model_validate(repair_surrogates(episode.model_dump(by_alias=True)))
    return episode


def encode_episode(episode: Episode) -> str:
    """Return a storable *episode* as JSON on one line, in camelCase."""
    return episode.model_dump_json(by_alias=True)


def decode_episode(data: bytes | str) -> Episode | None:
    """Parse an episode; None if *data* is not one."""
    try:
        return Episode.model_validate_json(data)
    except ValidationError:
        return None


def merge_episodes(known: tuple[Episode, ...], new: Iterable[Episode]) -> tuple[Episode, ...]:
    """Return *known* and those of *new* with other ids, the oldest first; *known* itself if there are none.

    Episodes of an unknown time come first; those of the same time keep their order.
    """
    ids = {episode.id for episode in known}
    added: dict[str, Episode] = {}
    for episode in new:
        if episode.id not in ids:
            added.setdefault(episode.id, episode)
    if not added:
        return known
    return tuple(sorted((*known, *added.values()), key=lambda episode: episode.at))


def oldest_allowed(policy: Policy, now: datetime) -> str:
    """Return the time before which an episode is evicted; "" if there is none."""
    return timestamp(now - timedelta(days=policy.episode_days)) if policy.episode_days else ""


def within_limits(episodes: Sequence[Episode], policy: Policy, now: datetime) -> Sequence[Episode]:
    """Return those of *episodes*, the oldest first, that *policy* keeps. Those of an unknown time never expire."""
    limit = oldest_allowed(policy, now)
    allowed = [episode for episode in episodes if not "" < episode.at < limit]
    return allowed[excess_of(len(allowed), policy) :]


def excess_of(count: int, policy: Policy) -> int:
    """Return how many of *count* episodes are evicted: none within the limit, else down to 95 % of it.

    After an eviction, a file is rewritten and what recall has indexed is indexed again. So it has to be rare.
    """
    if count <= policy.max_episodes:
        return 0
    return count - policy.max_episodes + policy.max_episodes // EVICTED_AT_ONCE


@functools.lru_cache(maxsize=64)
def log_kept_words(storage: str, kept_words: str) -> None:
    """Log, once a process, what *storage* keeps word for word: `Policy.kept_words`."""
    logger.info("%s: %s", storage, kept_words)


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeSnapshot:
    """The episodes of one scope, as they were read."""

    version: object
    """Differs if the stored episodes do."""
    episodes: tuple[Episode, ...]
    unreadable: int = 0
    """Stored lines that cannot be read as episodes."""

    @property
    def bytes(self) -> int:
        """About how much RAM it takes."""
        return sum(_EPISODE_BYTES + len(episode.text) for episode in self.episodes)
