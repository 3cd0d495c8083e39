"""Import of complete documents: merged into a memory, or in its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from memgraph._validation import field_errors
from memgraph.editing.admission import AdmittedEpisodes, admit_document, admit_episodes
from memgraph.errors import DamagedMemoryError, EditError
from memgraph.models import DocumentModel, Episode, MemoryDocument, StoredProfile, current_time
from memgraph.policy import Policy
from memgraph.rules.add import new_facts
from memgraph.storage.document import decode

MAX_FACTS = 100_000
"""Maximum number of facts of a document, and of a memory after an import. They take 5 s of CPU."""
MAX_THREADS = 100_000
"""Maximum number of watermarks of a document."""

EPISODES = "episodes"
"""The key of an export that holds the episodes. A stored document does not have it."""
_OF_OTHERS = "an export of another system is imported by `memgraph import --from SYSTEM`"
_EPISODES = TypeAdapter(tuple[Episode, ...])

_Part = TypeVar("_Part", bound=DocumentModel)


def read_document(data: bytes, name: str) -> MemoryDocument:
    """Parse a memory document, in any format that was ever released.

    Args:
        data: JSON in UTF-8.
        name: The name of the document in errors.

    Raises:
        EditError: If it is not a memory document, or is too large.
    """
    try:
        memory = decode(data, name)
    except DamagedMemoryError as error:
        raise EditError(f"{name} is not a memory document: {error.reason}; {_OF_OTHERS}") from None
    if not memory.model_fields_set & {"user", "history", "facts"}:
        raise EditError(f"{name} is not a memory document: it has no user, history or facts; {_OF_OTHERS}")
    for count, limit, kind in (
        (len(memory.facts), MAX_FACTS, "facts"),
        (len(memory.past), MAX_FACTS, "past facts"),
        (len(memory.as_said), MAX_FACTS, "claims as said"),
        (len(memory.threads), MAX_THREADS, "threads"),
    ):
        if count > limit:
            raise EditError(f"{name} has {count:,} {kind}; at most {limit:,} can be imported")
    return memory


def with_episodes(memory: MemoryDocument, episodes: Sequence[Episode]) -> MemoryDocument:
    """Return *memory* with *episodes* under the key `episodes`, for an export or a backup; unchanged without any."""
    if not episodes:
        return memory
    return memory.model_copy(update={EPISODES: [episode.model_dump(by_alias=True) for episode in episodes]})


def take_episodes(memory: MemoryDocument) -> tuple[MemoryDocument, tuple[Episode, ...]]:
    """Return an imported memory without its key `episodes`, and what it holds, for `missing_episodes`.

    Raises:
        EditError: If one of them is not an episode.
    """
    extra = memory.model_extra or {}
    if EPISODES not in extra:
        return memory, ()
    try:
        episodes = _EPISODES.validate_python(extra[EPISODES])
    except ValidationError as error:
        first = field_errors(error)[0]
        raise EditError(f"{EPISODES}.{first.path}: {first.message}") from None
    without = memory.model_copy()  # which copies the dict of its unknown keys
    (without.model_extra or {}).pop(EPISODES, None)
    return without, tuple(episode for episode in episodes if episode.id)


def missing_episodes(
    stored: Sequence[Episode], imported: Sequence[Episode], policy: Policy, *, trusted: bool = False
) -> AdmittedEpisodes:
    """Return those of *imported* that are not *stored*, as far as they are admitted; none if *policy* keeps none."""
    if policy.episodes == "off":
        return AdmittedEpisodes((), ())
    known = {episode.id for episode in stored}
    return admit_episodes([episode for episode in imported if episode.id not in known], trusted=trusted)


def merge_memory(memory: MemoryDocument, imported: MemoryDocument, *, trusted: bool = False) -> MemoryDocument:
    """Return *memory* with new facts, missing summaries and missing unknown keys from *imported*.

    Args:
        memory: The memory to extend.
        imported: What to add.
        trusted: Take *imported* as it is, the export or backup of its owner. Without it only what `admit_document`
            admits is taken: a document from anywhere could steer a model, forbid that its facts are ever corrected,
            and keep conversations from being learned.

    Raises:
        EditError: If the memory would have too many facts.
    """
    if not trusted:
        imported = admit_document(imported, memory).memory
    ids, items = {fact.id for fact in memory.recallable}, {item.id for item in memory.store_items}
    known = {fact.id for fact in (*memory.facts, *memory.past)}
    added = new_facts(memory.facts, imported.facts, ids)
    if added and len(memory.facts) + len(added) > MAX_FACTS:
        total = len(memory.facts) + len(added)
        raise EditError(f"the memory would have {total:,} facts; at most {MAX_FACTS:,} are possible: import fewer")
    base = _with_missing_summaries(memory, imported)
    merged = (
        _fill(base, imported)
        .model_copy(
            update={
                "user": _fill(base.user, imported.user),
                "history": _fill(base.history, imported.history),
                "facts": (*memory.facts, *added),
                "past": (*(fact for fact in imported.past if fact.id not in known), *memory.past),
                "as_said": (*memory.as_said, *new_facts(memory.as_said, imported.as_said, ids)),
                "profile": _with_missing_values(memory.profile, imported.profile),
                "unreadable_facts": memory.unreadable_facts or imported.unreadable_facts,
                "store_items": (*memory.store_items, *(one for one in imported.store_items if one.id not in items)),
                "threads": {**imported.threads, **memory.threads},
            }
        )
        .with_pending(*imported.pending)
    )
    return merged if merged == memory else merged.model_copy(update={"last_updated": current_time()})


def replace_memory(memory: MemoryDocument, imported: MemoryDocument, *, trusted: bool = False) -> MemoryDocument:
    """Return *imported* as the next version of *memory*.

    The watermarks of *memory* are kept, so that messages it has learned from are not learned again.

    Args:
        memory: The memory to replace.
        imported: What replaces it.
        trusted: As in `merge_memory`. A backup is restored completely only with it.
    """
    if not trusted:
        imported = admit_document(imported, memory).memory
    return imported.model_copy(
        update={
            "revision": memory.revision,
            "forgotten": memory.forgotten,
            "threads": {**imported.threads, **memory.threads},
        }
    )


def _with_missing_summaries(memory: MemoryDocument, imported: MemoryDocument) -> MemoryDocument:
    for name, section in imported.sections():
        own = memory.section(name)
        if own.summary:
            continue
        found = section.model_dump(include={"summary", "updated_at", "source"}) if section.summary else {}
        filled = _fill(own.model_copy(update=found), section)
        if filled != own:
            memory = memory.with_section(name, filled)
    return memory


def _with_missing_values(own: StoredProfile, other: StoredProfile) -> StoredProfile:
    if set(other.values) <= set(own.values):
        return _fill(own, other)
    values, at = {**other.values, **own.values}, max(own.updated_at, other.updated_at)
    return _fill(own.model_copy(update={"values": values, "updated_at": at}), other)


def _fill(own: _Part, other: _Part) -> _Part:
    """Return *own* with the unknown keys of *other* that it does not have."""
    taken = {*type(own).model_fields, *(own.model_extra or {})}
    return own.model_copy(
        update={name: value for name, value in (other.model_extra or {}).items() if name not in taken}
    )
