"""The history in a LangGraph store: one item per revision, and one per scope that has the number of the first.

The stores of PostgreSQL and SQLite write the document and its revision together or not at all. In another store, a
process that is killed in between may leave a revision that the document has not reached; it is not read, and the next
save puts its own under the same key.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from memgraph.models import Revision, Scope
from memgraph.storage.langgraph_episodes import namespace_of
from memgraph.storage.revision_json import decode_revision, encode_revision
from memgraph.storage.revisions import current_recording, horizon

if TYPE_CHECKING:
    from langgraph.store.base import BaseStore, PutOp

LABEL = "history"
"""The last label of the namespace of the revisions, and the key of the item that has the number of the first."""

_PAGE = 100
_MAX_EVICTED = 20
"""How many expired revisions a save removes: more than it adds."""


def writes_of(store: BaseStore, scope: Scope, entry: Revision) -> list[PutOp]:
    """Return the writes that append *entry* and evict what the limits of the current recording exclude."""
    from langgraph.store.base import PutOp

    namespace, policy = namespace_of(scope), current_recording().policy
    below = (*namespace, LABEL)
    first = kept = _first(store, scope) or entry.revision
    allowed = horizon(policy, entry.revision)
    while kept < entry.revision and kept - first < _MAX_EVICTED:
        oldest = _decoded(store.get(below, _key(kept), refresh_ttl=False))
        if oldest and not allowed.excludes(oldest.revision, oldest.at):
            break
        kept += 1
    writes = [PutOp(below, _key(number), None) for number in range(first, kept)]
    if policy.max_revisions:
        value = {"revision": encode_revision(entry)}
        writes += [PutOp(below, _key(entry.revision), value, index=False), _first_is(namespace, kept)]
    return writes


def read_revisions(
    store: BaseStore, scope: Scope, newest: int, *, limit: int | None, before: int | None
) -> list[Revision]:
    """Return the revisions up to *newest*, that of the document, the newest first."""
    from langgraph.store.base import GetOp

    below, first = (*namespace_of(scope), LABEL), _first(store, scope)
    number = newest if before is None else min(newest, before - 1)
    found: list[Revision] = []
    while first and number >= first and (limit is None or len(found) < limit):
        numbers = range(number, max(first - 1, number - _PAGE), -1)
        items = store.batch([GetOp(below, _key(each), refresh_ttl=False) for each in numbers])
        found += filter(None, (_decoded(item) for item in items if item))
        number = numbers[-1] - 1
    return found[:limit]


def delete_history(store: BaseStore, scope: Scope, newest: int) -> None:
    """Remove all revisions up to *newest*, and the one after it, which a killed process may have left."""
    from langgraph.store.base import PutOp

    namespace, first = namespace_of(scope), _first(store, scope)
    numbers = range(first, newest + 2) if first else ()
    for start in range(0, len(numbers), _PAGE):
        store.batch([PutOp((*namespace, LABEL), _key(each), None) for each in numbers[start : start + _PAGE]])
    if first:
        store.put(namespace, LABEL, {"first": newest + 1}, index=False, ttl=None)


def _first(store: BaseStore, scope: Scope) -> int:
    """Return the number of the first revision; 0 if there is no history."""
    item = store.get(namespace_of(scope), LABEL, refresh_ttl=False)
    first = item.value.get("first") if item else None
    return first if isinstance(first, int) else 0


def _first_is(namespace: tuple[str, ...], first: int) -> PutOp:
    from langgraph.store.base import PutOp

    return PutOp(namespace, LABEL, {"first": first}, index=False)


def _decoded(item: object) -> Revision | None:
    from langgraph.store.base import Item

    return decode_revision(str(item.value.get("revision"))) if isinstance(item, Item) else None


def _key(revision: int) -> str:
    return f"{revision:012d}"
