"""Manual edits of facts and summaries."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from pydantic.alias_generators import to_camel

from memgraph.analysis.admission import entry_problem, problem_of
from memgraph.analysis.normalize import fact_key
from memgraph.analysis.secrets import mask
from memgraph.errors import EditError, NoSuchFactError
from memgraph.models import (
    CATEGORIES,
    MANUAL,
    SECTIONS,
    Evidence,
    Fact,
    MemoryDocument,
    Section,
    SectionName,
    current_time,
)
from memgraph.models.values import last_of
from memgraph.retrieval.summary_facts import without_support
from memgraph.rules.add import merge_evidence, unique_fact_id
from memgraph.rules.validation import (
    validate_category,
    validate_confidence,
    validate_source_error,
    validate_summary,
    validate_text,
)

DEFAULT_CATEGORY = "context"
DEFAULT_CONFIDENCE = 1.0
"""A person who writes a fact down is sure of it."""
WRITTEN_BY_USER = "the user wrote it, and only the user may change it: on the page, or with `memgraph fact`"
"""Why a program may not change a manual fact."""


def add_fact(
    memory: MemoryDocument,
    content: str,
    *,
    category: str = DEFAULT_CATEGORY,
    confidence: float = DEFAULT_CONFIDENCE,
    source_error: str | None = None,
    evidence: Sequence[Evidence] = (),
    categories: Collection[str] = tuple(CATEGORIES),
    by_person: bool = False,
) -> MemoryDocument:
    """Return *memory* with a manual fact appended.

    Args:
        memory: The memory to change.
        content: 1-2,000 characters.
        category: One of *categories*.
        confidence: From 0 to 1.
        source_error: What went wrong; for corrections only.
        evidence: The user's own words, if the fact is taken from a message.
        categories: The categories that the policy has.
        by_person: Whether a person wrote it by hand, and may give orders; a program may not, and its secrets are
            masked.

    Raises:
        EditError: If an argument is invalid or not admitted, or another fact has the same content.
    """
    fact = Fact(
        id=unique_fact_id({fact.id for fact in memory.facts}),
        content=_validate_content(content, memory, category=category, by_person=by_person),
        category=validate_category(category, categories),
        confidence=validate_confidence(confidence),
        created_at=current_time(),
        source=MANUAL,
        source_error=_validate_source_error(source_error, category, by_person=by_person),
        evidence=merge_evidence((), evidence),
    )
    return _with_facts(memory, (*memory.facts, fact))


def edit_fact(
    memory: MemoryDocument,
    fact_id: str,
    *,
    content: str | None = None,
    category: str | None = None,
    confidence: float | None = None,
    source_error: str | None = None,
    categories: Collection[str] = tuple(CATEGORIES),
    by_person: bool = False,
) -> MemoryDocument:
    """Return *memory* with the given fields of the fact *fact_id* changed; the fact is manual from then on.

    A claim that was kept as said becomes a fact by it. Its category is one of *categories*, or stays: one that is no
    longer configured is kept. *by_person* is that of `add_fact`.

    Raises:
        EditError: If there is no such fact, no field is given, or a field is invalid or not admitted.
    """
    claim = memory.said_claim(fact_id)
    fact = claim.as_current() if claim else find_fact(memory, fact_id)
    if content is None and category is None and confidence is None and source_error is None:
        raise EditError(f"nothing to change in {fact_id}: give a content, a category, a confidence or what went wrong")
    new_category = fact.category
    if category not in (None, fact.category):
        new_category = validate_category(category, categories)
    edited = fact.model_copy(
        update={
            "content": fact.content
            if content is None
            else _validate_content(content, memory, category=new_category, ignored_id=fact_id, by_person=by_person),
            "category": new_category,
            "confidence": fact.confidence if confidence is None else validate_confidence(confidence),
            "source": MANUAL,
            "origin": None,
            "source_error": _validate_source_error(source_error, new_category, by_person=by_person)
            or (fact.source_error if new_category == "correction" else None),
        }
    )
    if claim:
        return _with_facts(_without_claim(memory, fact_id), (*memory.facts, edited))
    after = _with_facts(memory, tuple(edited if other.id == fact_id else other for other in memory.facts))
    return without_support(after, [(fact, edited)])


def remove_fact(memory: MemoryDocument, fact_id: str) -> MemoryDocument:
    """Return *memory* without the fact *fact_id*, which may be learned, manual, past or kept as said.

    Sentences of learned summaries that rest on it go with it.

    Raises:
        EditError: If there is no such fact.
    """
    removed = find_any_fact(memory, fact_id)
    past = tuple(fact for fact in memory.past if fact.id != fact_id)
    kept = tuple(fact for fact in memory.facts if fact.id != fact_id)
    rest = _with_facts(_without_claim(memory, fact_id).model_copy(update={"past": past}), kept)
    return without_support(rest, [(removed, None)])


def _without_claim(memory: MemoryDocument, fact_id: str) -> MemoryDocument:
    return memory.model_copy(update={"as_said": tuple(claim for claim in memory.as_said if claim.id != fact_id)})


def find_any_fact(memory: MemoryDocument, fact_id: str) -> Fact:
    """Return the current or past fact *fact_id*, or the claim that is kept as said.

    Raises:
        EditError: If there is none of them.
    """
    known = memory.fact(fact_id) or memory.past_fact(fact_id) or memory.said_claim(fact_id)
    return known or find_fact(memory, fact_id)


def find_fact(memory: MemoryDocument, fact_id: str) -> Fact:
    """Return the current fact *fact_id*.

    Raises:
        EditError: If there is none; the error names the fact that replaced it, and never one whose id is similar.
    """
    fact = memory.fact(fact_id)
    if fact:
        return fact
    followed = last_of(fact_id, {past.id: past.ended_by for past in memory.past})
    known = f"{followed!r} replaced it" if memory.fact(followed or "") else f"known facts: {len(memory.facts)}"
    raise NoSuchFactError(f"there is no fact {fact_id[:80]!r}; {known}")


def edit_section(
    memory: MemoryDocument,
    name: SectionName,
    summary: str,
    *,
    sections: Collection[str] = tuple(SECTIONS),
    by_person: bool = False,
) -> MemoryDocument:
    """Return *memory* with the summary *name* replaced; an empty text removes the summary.

    An update whose model saw the old text will not overwrite the new one. The name is one of *sections*, those that
    the policy has, or that of a summary which the memory has. *by_person* is that of `add_fact`.

    Raises:
        EditError: If there is no such summary, or *summary* is not admitted, or has more than 1,000 tokens.
    """
    if name not in sections and not memory.section(name).summary:
        raise EditError(f"there is no summary {name[:80]!r}; there are {', '.join(map(to_camel, sections))}")
    text = _admitted(validate_summary(summary), "a summary", by_person=by_person) if summary.strip() else ""
    section = memory.section(name)
    if text == section.summary:
        return memory
    at = current_time()
    written = {"summary": text, "updated_at": at, "source": MANUAL if by_person else ""}
    edited = section.model_copy(update=written) if text else Section(updated_at=at)
    return memory.with_section(name, edited).model_copy(update={"last_updated": at})


def _admitted(text: str, name: str, *, category: str = "", by_person: bool) -> str:
    """Return what a person wrote as it is; what a program wrote with secrets masked, if it is admitted."""
    if by_person:
        return text
    masked = mask(text)
    if problem := entry_problem(masked, category=category) if category else problem_of(masked):
        raise EditError(f"{name} is not admitted: {problem}; a person may write it on the page or by `memgraph fact`")
    return masked


def _validate_source_error(source_error: str | None, category: str, *, by_person: bool) -> str | None:
    text = validate_source_error(source_error, category)
    return text and _admitted(text, "source_error", category=category, by_person=by_person)


def _validate_content(
    content: str, memory: MemoryDocument, *, category: str, ignored_id: str | None = None, by_person: bool
) -> str:
    """Return *content*, stripped, if it is valid and admitted and no fact but *ignored_id* has the same content."""
    content = _admitted(validate_text(content, "a fact"), "a fact", category=category, by_person=by_person)
    key = fact_key(content)
    same = next((fact for fact in memory.facts if fact.id != ignored_id and fact_key(fact.content) == key), None)
    if same:
        raise EditError(f"{same.id} already has the same content")
    return content


def _with_facts(memory: MemoryDocument, facts: tuple[Fact, ...]) -> MemoryDocument:
    return memory.model_copy(update={"facts": facts, "last_updated": current_time()})
