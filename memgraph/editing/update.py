"""update_memory: load, change and save a memory, with retries after conflicts. remove_words: the words of a fact."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from memgraph.analysis.normalize import fact_key
from memgraph.analysis.quotes import sentences_of
from memgraph.analysis.sentences import sentences
from memgraph.errors import EditError, ForgottenError, RevisionConflictError
from memgraph.models import ChangeOrigin, Episode, Evidence, Fact, MemoryDocument, Scope
from memgraph.policy import Policy
from memgraph.storage import MemoryStorage
from memgraph.storage.document import serialize
from memgraph.storage.revisions import recorded_as

MAX_ATTEMPTS = 50
MAX_DOCUMENT_BYTES = 50_000_000
"""Maximum bytes of a document after an edit or an import."""

Change = Callable[[MemoryDocument], MemoryDocument]


def update_memory(
    storage: MemoryStorage,
    scope: Scope,
    change: Change,
    *,
    origin: ChangeOrigin | None = None,
    policy: Policy | None = None,
) -> MemoryDocument:
    """Load the memory of *scope*, change it and save it; retry if another writer saved or deleted it meanwhile.

    Args:
        storage: Where the memory is stored.
        scope: Whose memory.
        change: Called in each attempt with the stored memory. If it changes nothing, nothing is saved.
        origin: Who changes it, for its history; None is a person.
        policy: The limits of the memory and of its history; None is the defaults.

    Returns:
        The memory as it is stored now.

    Raises:
        EditError: If *change* raised it, or the memory would exceed its limits; nothing was saved.
        RevisionConflictError: If 50 attempts in a row lost the race.
        StorageError: If the memory cannot be loaded or saved; the stored memory is intact.
    """
    writer = object()
    storage.turns.wait(scope, writer)
    memory = storage.load(scope)
    try:
        for attempt in range(1, MAX_ATTEMPTS + 1):
            changed = change(memory)
            if changed == memory:
                return memory
            check_limits(memory, changed, policy or Policy())
            try:
                with recorded_as(origin or ChangeOrigin(), policy or Policy()):
                    return storage.save(scope, changed)
            except (RevisionConflictError, ForgottenError):
                storage.turns.pause(scope, writer, attempt)
                memory = storage.reload(scope)
    finally:
        storage.turns.end(scope, writer)
    raise RevisionConflictError(scope, memory.revision)


def check_limits(before: MemoryDocument, after: MemoryDocument, policy: Policy) -> None:
    """Refuse a change by which a memory grows beyond its limits. A memory that exceeds them can still be made smaller.

    Manual and learned facts count separately: facts that updates learned leave a person's room free.

    Raises:
        EditError: If there are more facts, past facts or claims than their limits, or the document is too large.
    """
    known = _counts(before)
    for (kind, setting), count in _counts(after).items():
        limit: int = getattr(policy, setting)
        if count > max(known[kind, setting], limit):
            raise EditError(
                f"the memory would have {count:,} {kind}; {setting} allows {limit:,}: remove some, or raise {setting}"
            )
    size = len(serialize(after)[1])
    if size > MAX_DOCUMENT_BYTES and size > len(serialize(before)[1]):
        raise EditError(f"the memory would have {size:,} bytes; at most {MAX_DOCUMENT_BYTES:,} are possible")


def _counts(memory: MemoryDocument) -> Mapping[tuple[str, str], int]:
    """Return how many of each kind a memory has, by the kind and the setting that limits it."""
    manual = sum(fact.is_manual for fact in memory.facts)
    return {
        ("manual facts", "max_facts"): manual,
        ("learned facts", "max_facts"): len(memory.facts) - manual,
        ("past facts", "max_past_facts"): len(memory.past),
        ("claims as said", "max_as_said"): len(memory.as_said),
    }


class FactWords(NamedTuple):
    """What the user said that a removed fact rested on."""

    removed: tuple[Episode, ...]
    kept: tuple[Episode, ...]
    """Another fact rests on these."""


def remove_words(
    storage: MemoryStorage, scope: Scope, memory: MemoryDocument, removed: Fact, policy: Policy
) -> FactWords:
    """Remove the sentences that *removed* rests on, and no fact of *memory* does: recall would find the fact in them.

    So would it in the same sentence that was said again.

    Args:
        storage: Where the memory is stored.
        scope: Whose memory.
        memory: As it is stored, without the fact.
        removed: The fact that a person removed.
        policy: The limits of the memory.

    Raises:
        StorageError: If the episodes cannot be removed.
    """
    rested_on = {item.episode for item in removed.evidence if item.episode}
    if not rested_on:
        return FactWords((), ())
    others = [item for fact in (*memory.recallable, *memory.past) for item in fact.evidence]
    own = own_episodes(storage, scope)
    texts = {episode.id: episode.text for episode in own}
    quoted = (sentences_of(item.quote, texts[item.episode]) for item in removed.evidence if item.episode in texts)
    stated = frozenset(fact_key(sentence) for found in quoted for sentence in found.touched)
    said = (one for one in own if one.id in rested_on or any(key in fact_key(one.text) for key in stated))
    divided = [_divide(episode, removed.evidence, others, stated) for episode in said]
    rewrite_episodes(storage, scope, [parts.rest for parts in divided if parts.removed.text], policy)
    return FactWords(
        tuple(parts.removed for parts in divided if parts.removed.text),
        tuple(parts.kept for parts in divided if parts.kept.text),
    )


def own_episodes(storage: MemoryStorage, scope: Scope) -> list[Episode]:
    """Return the episodes of exactly this memory: an agent cannot change those that all agents share."""
    shared = {episode.id for episode in storage.episodes(scope.shared)} if scope.agent_name else set[str]()
    return [episode for episode in storage.episodes(scope) if episode.id not in shared]


def rewrite_episodes(storage: MemoryStorage, scope: Scope, episodes: Sequence[Episode], policy: Policy) -> None:
    """Replace the stored episodes of the same ids by *episodes*; those without a text are removed."""
    if episodes:
        storage.remove_episodes(scope, [episode.id for episode in episodes])
        storage.append_episodes(scope, [episode for episode in episodes if episode.text], policy)


class _Divided(NamedTuple):
    """An episode with the words that go with a fact, with those that another fact needs, and with all that remain."""

    removed: Episode
    kept: Episode
    rest: Episode


def _divide(
    episode: Episode, removed: Iterable[Evidence], others: Iterable[Evidence], stated: Collection[str]
) -> _Divided:
    """Divide *episode*; the sentences with the keys *stated* go with the removed fact, wherever they stand."""
    parts = sentences(episode.text)
    of_fact, needed = _quoted(episode, parts, removed), _quoted(episode, parts, others)
    of_fact |= {at for at, part in enumerate(parts) if fact_key(part) in stated}
    chosen = (of_fact - needed, of_fact & needed, set(range(len(parts))) - (of_fact - needed))
    texts = ("".join(part for number, part in enumerate(parts) if number in numbers).strip() for numbers in chosen)
    return _Divided(*(episode.model_copy(update={"text": text}) for text in texts))


def _quoted(episode: Episode, parts: Sequence[str], evidence: Iterable[Evidence]) -> set[int]:
    """Return which of *parts*, the sentences of *episode*, are quoted; all of them if a quote is not found."""
    found = [sentences_of(item.quote, episode.text).touched for item in evidence if item.episode == episode.id]
    touched = [sentence for each in found for sentence in each]
    return {at for at, part in enumerate(parts) if not all(found) or any(one in part for one in touched)}
