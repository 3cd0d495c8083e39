"""The memory: facts and summaries to read, search, add to, edit and delete; the user's words; the past."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby
from typing import Annotated, Literal, TypeVar

from fastapi import Form, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from memgraph.analysis.dates import local_date
from memgraph.analysis.normalize import fold
from memgraph.api.page.access import ChangeDep, Visit, VisitDep, page_router
from memgraph.api.preconditions import etag_of
from memgraph.models import Fact, MemoryDocument, SectionName
from memgraph.retrieval.results import ScoredFact

router = page_router()

PAGE_SIZE = 50
MAX_THREADS = 200
"""Maximum number of conversations to choose from, the latest ones."""
Item = TypeVar("Item")

Group = Literal["category", "day"]
State = Literal["", "manual", "learned", "uncertain"]
UNCERTAIN_BELOW = 0.8
"""Confidence from which on a fact counts as certain."""


class FactFilter(BaseModel):
    """Which facts are listed, and how."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    q: str = Field(default="", max_length=200)
    category: str = Field(default="", max_length=100)
    state: State = ""
    source: str = Field(default="", max_length=256)
    group: Group = "category"
    as_of: str = Field(default="", max_length=10)
    offset: int = Field(default=0, ge=0, le=1_000_000)
    count: int = Field(default=PAGE_SIZE, ge=0, le=1_000_000)
    """How many are listed at least, after a change of a list of which more was shown."""


FilterDep = Annotated[FactFilter, Query()]
Etag = Annotated[str, Form(max_length=200)]
FactId = Annotated[str, Path(max_length=200)]
SummaryName = Annotated[SectionName, Path(max_length=200)]


# -- reading ---------------------------------------------------------------------------------------


@router.get("/")
def show_memory(visit: VisitDep, shown: FilterDep) -> Response:
    """Show the facts, the summaries and the past of the chosen memory."""
    if visit.scope is None:
        return visit.render("empty.html")
    return visit.render("memory.html", **_memory_values(visit, shown))


@router.get("/page/facts")
def list_facts(visit: VisitDep, shown: FilterDep) -> Response:
    """Show the facts that match, or the next ones of them."""
    return visit.render("facts.html", **_memory_values(visit, shown))


@router.get("/page/facts/{fact_id:path}")
def show_fact(fact_id: FactId, visit: VisitDep) -> Response:
    """Show what a fact rests on, what it superseded and its revisions."""
    session = visit.operations()
    found = session.why(fact_id)
    return visit.render(
        "fact.html",
        found=found,
        said={episode.id: episode for episode in session.episodes()},
        etag=etag_of(_fact_text(found.fact)),
        categories=_categories(visit, found.fact.category),
    )


@router.get("/page/episodes")
def list_episodes(
    visit: VisitDep,
    q: Annotated[str, Query(max_length=200)] = "",
    thread: Annotated[str, Query(max_length=256)] = "",
    offset: Annotated[int, Query(ge=0, le=1_000_000)] = 0,
) -> Response:
    """Show what the user said, the latest day first."""
    said, words = visit.operations().episodes(), _words(q)
    found = [one for one in said if thread in ("", one.thread_id) and _contains(fold(one.text), words)]
    page = found[::-1][offset : offset + PAGE_SIZE]
    return visit.render(
        "episodes.html" if offset == 0 else "episode_list.html",
        days=_by_day(page, lambda episode: episode.at, visit),
        total=len(found),
        q=q,
        thread=thread,
        threads=list(dict.fromkeys(one.thread_id for one in reversed(said)))[:MAX_THREADS],
        next_offset=_next(offset + PAGE_SIZE, len(found)),
    )


def _memory_values(visit: Visit, shown: FactFilter) -> Mapping[str, object]:
    memory = visit.operations().get()
    view = memory.as_of(shown.as_of) if shown.as_of else memory
    words = _words(shown.q)
    known = _found(visit, view, shown.q, words) if words else _ordered(view.facts, shown.group, visit)
    ordered = [fact for fact in known if _matches(fact, shown)]
    end = shown.offset + max(shown.count, PAGE_SIZE)
    page = ordered[shown.offset : end]
    times = sorted(filter(None, (fact.said_at or fact.created_at for fact in (*memory.facts, *memory.past))))
    return {
        "memory": view,
        "sections": _sections(visit, view),
        "etag_of": etag_of,
        "categories": _categories(visit, *(fact.category for fact in memory.facts)),
        "new_categories": _categories(visit),
        "shown": shown,
        "total": len(ordered),
        "groups": [("", page)] if words else _groups(page, shown.group, visit),
        "next_offset": _next(end, len(ordered)),
        "as_said": sorted(view.as_said, key=lambda claim: claim.said_last, reverse=True)[: 0 if words else PAGE_SIZE],
        "past": sorted(view.past, key=lambda fact: fact.ended_at, reverse=True)[:PAGE_SIZE],
        "first_day": local_date(times[0], visit.services.settings.timezone) if times else "",
        "sources": sorted({fact.source for fact in memory.facts})[:PAGE_SIZE],
    }


def _categories(visit: Visit, *kept: str) -> Sequence[str]:
    """Return the names of the categories; those of facts that are no longer configured come last."""
    return tuple(dict.fromkeys((*visit.services.settings.policy.category_names, *sorted(set(kept)))))


def _sections(visit: Visit, memory: MemoryDocument) -> Sequence[SectionName]:
    """Return the names of the summaries; those that are no longer configured come last, if there is one."""
    kept = (name for name, section in memory.sections() if section.summary)
    return tuple(dict.fromkeys((*visit.services.settings.policy.section_names, *kept)))


def _found(visit: Visit, memory: MemoryDocument, query: str, words: Sequence[str]) -> list[Fact]:
    """Return the facts, claims and past facts that a search finds, the best first; then the others with the *words*."""
    known = {fact.id: fact for fact in (*memory.past, *memory.recallable)}
    # past facts are searched as if they still held: a search leaves out what has expired
    past = (fact.model_copy(update={"valid_until": ""}) for fact in memory.past)
    hits = visit.services.memory.pipeline.search(memory.with_facts((*memory.facts, *past)), query, limit=PAGE_SIZE)
    best = [known[hit.fact.id if isinstance(hit, ScoredFact) else hit.episode.id] for hit in hits]
    others = (fact for fact in known.values() if _contains(fact.derive(_folded), words))
    return list({fact.id: fact for fact in (*best, *others)}.values())


def _folded(fact: Fact) -> str:
    return fold(" ".join((fact.content, *(item.quote for item in fact.evidence))))


def _matches(fact: Fact, shown: FactFilter) -> bool:
    if shown.category not in ("", fact.category) or shown.source not in ("", fact.source):
        return False
    if shown.state == "uncertain" and fact.confidence >= UNCERTAIN_BELOW:
        return False
    return shown.state not in ("manual", "learned") or fact.is_manual is (shown.state == "manual")


def _words(query: str) -> Sequence[str]:
    return fold(query).split()


def _contains(folded: str, words: Sequence[str]) -> bool:
    return all(word in folded for word in words)


def _ordered(facts: Sequence[Fact], group: Group, visit: Visit) -> list[Fact]:
    latest = sorted(facts, key=lambda fact: fact.said_at or fact.created_at, reverse=True)
    if group == "day":
        return latest
    names = _categories(visit, *(fact.category for fact in facts))
    return sorted(latest, key=lambda fact: names.index(fact.category))


def _groups(facts: Iterable[Fact], group: Group, visit: Visit) -> list[tuple[str, list[Fact]]]:
    if group == "day":
        return _by_day(facts, lambda fact: fact.said_at or fact.created_at, visit)
    return [(name, list(found)) for name, found in groupby(facts, key=lambda fact: fact.category)]


def _by_day(items: Iterable[Item], time_of: Callable[[Item], str], visit: Visit) -> list[tuple[str, list[Item]]]:
    zone = visit.services.settings.timezone
    return [(day, list(found)) for day, found in groupby(items, key=lambda item: local_date(time_of(item), zone))]


def _next(end: int, total: int) -> int | None:
    return end if end < total else None


def _fact_text(fact: Fact | None) -> str:
    """Return what the form of a fact shows; "" if there is no such fact."""
    return f"{fact.category}\n{fact.content}" if fact else ""


def _text_by_id(fact_id: str) -> Callable[[MemoryDocument], str]:
    return lambda memory: _fact_text(memory.said_claim(fact_id) or memory.fact(fact_id))


# -- changing --------------------------------------------------------------------------------------


@router.post("/page/facts", dependencies=[ChangeDep])
def create_fact(
    visit: VisitDep, content: Annotated[str, Form()] = "", category: Annotated[str, Form()] = "context"
) -> Response:
    """Add a manual fact."""
    session = visit.operations()
    session.remember(content, category=category)
    return visit.render_change("added", session.get())


@router.post("/page/facts/{fact_id:path}", dependencies=[ChangeDep])
def change_fact(
    fact_id: FactId,
    visit: VisitDep,
    etag: Etag,
    content: Annotated[str, Form()] = "",
    category: Annotated[str, Form()] = "context",
) -> Response:
    """Change a fact, which becomes a manual one."""
    session = visit.operations(etag, _text_by_id(fact_id))
    fact = session.update(fact_id, content, category=category)
    return visit.render_change("changed", session.get(), etag_of(_fact_text(fact)))


@router.delete("/page/facts/{fact_id:path}", dependencies=[ChangeDep])
def delete_fact(fact_id: FactId, visit: VisitDep, etag: Annotated[str, Query(max_length=200)]) -> Response:
    """Delete a fact and the words that only it rests on."""
    session = visit.operations(etag, _text_by_id(fact_id))
    session.delete(fact_id)
    return visit.render_change("deleted", session.get())


@router.post("/page/summaries/{name}", dependencies=[ChangeDep])
def write_summary(
    name: SummaryName, visit: VisitDep, etag: Etag, summary: Annotated[str, Form(max_length=20_000)] = ""
) -> Response:
    """Rewrite a summary."""
    session = visit.operations(etag, lambda memory: memory.section(name).summary)
    section = session.write_summary(name, summary)
    return visit.render_change("changed", session.get(), etag_of(section.summary))


@router.post("/page/undo/{revision}", dependencies=[ChangeDep])
def undo(revision: Annotated[int, Path(ge=1, le=2**53)], visit: VisitDep) -> Response:
    """Undo a revision; what cannot be undone cleanly is listed, and stays."""
    done = visit.operations().undo(revision)
    if done.conflicts:
        return visit.render("conflicts.html", conflicts=done.conflicts, revision=revision)
    return visit.render_change("nothing" if done.outcome == "nothing" else "undone", done.memory)
