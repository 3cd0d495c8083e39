"""A memory as it was on a day: the facts that held then, and the summaries of that time."""

from __future__ import annotations

from functools import partial

from memgraph._validation import check_arguments
from memgraph.errors import EditError
from memgraph.models.dates import DAY_CHARS, days_of
from memgraph.models.document import Fact, MemoryDocument, PastFact, Section, StoredProfile


@partial(check_arguments, error=EditError)
def last_day(date: str) -> str:
    """Return the last day of the partial date *date*: `2026-02-28` of `2026-02`.

    Raises:
        EditError: If it is not one.
    """
    days = days_of(date)
    if days is None:
        raise EditError(f"{date[:40]!r} is not a date: write 2026, 2026-05 or 2026-05-03")
    return days.last.isoformat()


def as_of(memory: MemoryDocument, date: str) -> MemoryDocument:
    """Return *memory* as it was at the end of the partial date *date*: see `MemoryDocument.as_of`."""
    day = last_day(date)
    holding = [fact for fact in memory.facts if _begins_by(fact, day) and not fact.has_expired(day)]
    held = [fact for fact in memory.past if _begins_by(fact, day) and not _has_ended(fact, day)]
    current = {fact.id for fact in (*holding, *held)}
    merged = {fact.id for fact in held if fact.reason == "merged" and fact.ended_by in current}
    facts = (*(fact.as_current() for fact in held if fact.id not in merged), *holding)
    over = [fact for fact in memory.facts if fact.id not in current and _begins_by(fact, day)]
    past = (*memory.past, *(PastFact.of(fact, "expired", at=fact.valid_until) for fact in over))
    view = memory.model_copy(
        update={
            "facts": tuple(sorted(facts, key=lambda fact: fact.created_at)),
            "past": tuple(fact for fact in past if fact.id not in current and _begins_by(fact, day)),
            "as_said": tuple(claim for claim in memory.as_said if _begins_by(claim, day)),
            "pending": (),
            "store_items": tuple(item for item in memory.store_items if item.updated_at[:DAY_CHARS] <= day),
        }
    )
    if memory.profile.updated_at[:DAY_CHARS] > day:
        view = view.model_copy(update={"profile": StoredProfile()})
    for name, section in memory.sections():
        if section.updated_at[:DAY_CHARS] > day:
            view = view.with_section(name, Section())
    return view


def _begins_by(fact: Fact, day: str) -> bool:
    """Return whether *fact* holds since *day* or earlier, or was known then; one of an unknown time has always held.

    What was said before it begins is a plan, which holds since it was said.
    """
    since, said = _first_day(fact.valid_from), _first_day(fact.said_at or fact.created_at)
    return min(since or said, said or since) <= day


def _has_ended(fact: PastFact, day: str) -> bool:
    """Return whether *fact* ended on *day* or earlier; what expired held on its last day, too."""
    if fact.reason == "expired":
        return fact.has_expired(day)
    return _first_day(fact.ended_at) <= day or fact.has_expired(day)


def _first_day(at: str) -> str:
    days = days_of(at[:DAY_CHARS])
    return days.first.isoformat() if days else ""
