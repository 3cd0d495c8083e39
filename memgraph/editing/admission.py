"""The gate of imports: what a memory takes of a document from elsewhere, as it would of a conversation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import NamedTuple, TypeVar, cast

from memgraph.analysis.admission import MAY_ACT, MAY_WAIT, admitted_sentences, entry_problem, fact_problem, problem_of
from memgraph.analysis.episodes import kept_words
from memgraph.analysis.normalize import clean_visible, fact_key
from memgraph.analysis.secrets import mask
from memgraph.models import (
    MANUAL,
    MAX_OF_THREAD,
    DocumentModel,
    Episode,
    Fact,
    MemoryDocument,
    Refusal,
    StoredProfile,
    current_time,
    learned_source,
)
from memgraph.policy import Policy
from memgraph.profile import render_value
from memgraph.rules.pending import WAITS, make_pending

CLEANED = "secrets were masked, and hidden characters removed"
LEFT_OUT = "a sentence of it is not admitted, and was left out"
MAX_CHARS = Policy().max_fact_chars
TOO_LONG = f"it has more than {MAX_CHARS:,} characters"
FIELD_HELD = "an unknown field is not admitted by its name or value, and was left out"
NO_FACT = "a fact has a text as `content`"
MAX_SHOWN = 200
ITEM_HELD = "items of a store are only imported with `trusted`: nothing checks them"
_TEXTS = frozenset({"content", "source_error", "quote", "asked", "summary", "values", "unreadable_facts", "attributes"})
"""The fields whose texts may be anything; the others are ids, dates and names."""

_OWN_ID = re.compile(r"(?:e_|run-)[0-9a-f]{20}(?:-\d{1,6})?|fact_[0-9a-f]{8}")
"""An id that memgraph made; otherwise a name with so many digits is taken for a secret."""
_OF_DATES = frozenset("0123456789-:.TZ")
MAX_DATE_CHARS = len("2026-05-03T12:00:00.000000Z")

_Value = TypeVar("_Value")
_SomeFact = TypeVar("_SomeFact", bound=Fact)


class AdmittedDocument(NamedTuple):
    """What a memory takes of a document, and what was held back or changed, with the reasons."""

    memory: MemoryDocument
    held: tuple[Refusal, ...]


def admit_document(imported: MemoryDocument, memory: MemoryDocument) -> AdmittedDocument:
    """Return what *memory* may take of *imported*, which may come from anywhere.

    Its facts are learned ones of the origin "import", except those that a person wrote in *memory*; watermarks are
    left out, and the items of a store are those of *memory*. Secrets are masked, and hidden characters removed. What
    steers a model is left out. The first MAX_OF_THREAD facts that may make an agent act are pending; the other pending
    changes are those of *memory*.
    """
    gate = _Gate([], cache(_is_admitted_name))
    kept = {name: getattr(memory, name) for name in ("pending", "rejected", "accepted_kinds", "store_items")}
    cleaned = _clean(imported.model_copy(update={"threads": {}, **kept}), gate)
    facts, problems = _admit_facts(imported.facts, cleaned.facts, memory, are_plain=True)
    past, past_problems = _admit_facts(imported.past, cleaned.past, memory)
    as_said, said_problems = _admit_facts(imported.as_said, cleaned.as_said, memory)
    held_back = [(fact, problem) for fact, problem in problems if problem in MAY_WAIT][:MAX_OF_THREAD]
    waiting = [make_pending(problem, at=current_time(), thread="import", facts=[fact]) for fact, problem in held_back]
    listed = {change.id for change in cleaned.with_pending(*waiting).pending}
    waiting_ids = {change.facts[0].id for change in waiting if change.id in listed}
    held = [
        Refusal(item=fact.content, reason=f"{WAITS}: {problem}" if fact.id in waiting_ids else problem)
        for fact, problem in (*problems, *past_problems, *said_problems)
    ]
    profile = _admit_profile(cleaned.profile, held)
    custom = {name: part for name, part in cleaned.custom_sections.items() if gate.is_admitted(name)}
    admitted = cleaned.model_copy(
        update={"facts": facts, "past": past, "as_said": as_said, "profile": profile, "custom_sections": custom}
    ).with_pending(*waiting)
    admitted = _admit_summaries(admitted, imported, memory, held)
    held += [Refusal(item=item.id, reason=ITEM_HELD) for item in imported.store_items]
    held += [
        Refusal(item=mask(clean_visible(str(item)[:MAX_SHOWN])), reason=NO_FACT) for item in imported.unreadable_facts
    ]
    return AdmittedDocument(admitted, (*held, *gate.held))


class AdmittedEpisodes(NamedTuple):
    """The episodes that a memory takes of a document, and what was held back or changed, with the reasons."""

    episodes: tuple[Episode, ...]
    held: tuple[Refusal, ...]


def admit_episodes(episodes: Sequence[Episode], *, trusted: bool = False) -> AdmittedEpisodes:
    """Return what a memory may take of imported *episodes*: a document may state words that the user never said.

    Sentences that are not admitted are left out, also orders, which an episode of a conversation keeps. A thread or a
    date that is not admitted becomes unknown. Of *trusted* ones all is taken that a conversation would keep.
    """
    admitted: list[Episode] = []
    gate = _Gate(held := [], cache(_is_admitted_name))
    for episode in episodes:
        if not trusted and not gate.is_admitted(episode.id):
            held.append(Refusal(item=mask(clean_visible(episode.id)), reason=LEFT_OUT))
            continue
        named = episode.model_copy(update={"text": ""})
        others = named if trusted else _clean(named, gate)
        if others != named:
            held.append(Refusal(item=episode.id, reason=CLEANED))
        visible = clean_visible(episode.text)
        masked = mask(visible)
        text = kept_words(visible) if trusted else admitted_sentences(masked)
        if text != episode.text:
            held.append(Refusal(item=masked, reason=CLEANED if text == masked else LEFT_OUT))
        if text:
            admitted.append(others.model_copy(update={"text": text}))
    return AdmittedEpisodes(tuple(admitted), tuple(held))


def _admit_facts(
    facts: Sequence[_SomeFact], cleaned: Sequence[_SomeFact], memory: MemoryDocument, *, are_plain: bool = False
) -> tuple[tuple[_SomeFact, ...], list[tuple[_SomeFact, str]]]:
    """Return those that are admitted, and those of which there is something to report; these may be admitted, too.

    What an agent may act with is reported of those that *are_plain* only: the others are shown as words, or as past.
    """
    manual = [fact for fact in memory.facts if fact.is_manual]
    keys, written = {fact_key(fact.content) for fact in manual}, set(map(_words, manual))
    known = set(map(_words, memory.facts))  # was admitted before, perhaps by a person
    admitted: list[_SomeFact] = []
    reported: list[tuple[_SomeFact, str]] = []
    for original, clean in zip(facts, cleaned, strict=True):
        if _words(original) in written:  # a person wrote it here
            admitted.append(original)
            continue
        if not original.content.strip():
            reported.append((original.model_copy(update={"content": original.id}), NO_FACT))
            continue
        is_manual = original.is_manual and fact_key(original.content) in keys
        fact = clean.model_copy(
            update={
                "source": MANUAL if is_manual else learned_source(clean.source),
                "origin": None if is_manual else "import",
            }
        )
        # importers put a topic before the text: what follows is read by itself, too
        text, words = fact.content, _words(fact)
        whole = f"{words}\n{text.partition(': ')[2]}".rstrip("\n")
        is_long = len(text) > MAX_CHARS
        problem = TOO_LONG if is_long else fact_problem(text, fact.source_error, whole, fact.category, is_masked=True)
        is_known = problem in MAY_WAIT and words in known
        if problem and not is_known and (are_plain or problem != MAY_ACT):
            reported.append((fact, problem))
            continue
        admitted.append(fact)
        if words != _words(original):
            reported.append((fact, CLEANED))
    return tuple(admitted), reported


def _words(fact: Fact) -> str:
    attributes = json.dumps(fact.attributes, ensure_ascii=False, default=str) if fact.attributes else ""
    evidence = (f"{item.asked}\n{item.quote}" for item in fact.evidence)
    return "\n".join((fact.content, fact.source_error or "", attributes, *evidence))


def _admit_profile(profile: StoredProfile, held: list[Refusal]) -> StoredProfile:
    """Return *profile* without the fields that are not admitted; these are added to *held*."""
    texts = {name: render_value(value) for name, value in profile.values.items()}
    problems = {name: entry_problem(text, f"{name}\n{text}") for name, text in texts.items()}
    held += [Refusal(item=name, reason=problem) for name, problem in problems.items() if problem]
    values = {name: value for name, value in profile.values.items() if not problems[name]}
    return profile.model_copy(update={"values": values})


def _admit_summaries(
    admitted: MemoryDocument, imported: MemoryDocument, memory: MemoryDocument, held: list[Refusal]
) -> MemoryDocument:
    """Return *admitted* with the sentences that are admitted; what differs from *imported* is added to *held*.

    One that *memory* has stays as it is.
    """
    held += [
        Refusal(item=name, reason="its name is not admitted")
        for name in imported.custom_sections
        if name not in admitted.custom_sections
    ]
    for name, section in admitted.sections():
        summary = admitted_sentences(section.summary, entry_problem)
        original, known = imported.section(name), memory.section(name)
        if original.summary == known.summary:
            summary, source = known.summary, known.source
        else:
            source = ""
            if summary != original.summary:
                held.append(Refusal(item=name, reason=CLEANED if summary == section.summary else LEFT_OUT))
        if (summary, source) != (section.summary, section.source):
            written = section.model_copy(update={"summary": summary, "source": source})
            admitted = admitted.with_section(name, written)
    return admitted


class _Gate(NamedTuple):
    """Decides on the names of one document, each once: the facts share most of them. Collects what is left out."""

    held: list[Refusal]
    is_admitted: Callable[[str], bool]


def _clean(value: _Value, gate: _Gate, *, is_text: bool = False, is_unknown: bool = False) -> _Value:
    """Return a part of a document with secrets masked and without hidden characters.

    Unknown fields that are not admitted are left out. An id, a date or a name that is not becomes what the field is
    without one.
    """
    cleaned: object = value
    if isinstance(value, str):
        is_free = is_text or is_unknown
        cleaned = mask(clean_visible(value)) if is_free else value if gate.is_admitted(value) else ""
    elif isinstance(value, DocumentModel):
        known = type(value).model_fields
        own = {name: getattr(value, name) for name in known}  # an unknown field may have the same name
        parts = {name: _clean(part, gate, is_text=name in _TEXTS) for name, part in own.items() if part}
        lost = (name for name, part in parts.items() if part == "")
        parts |= {name: known[name].get_default(call_default_factory=True) for name in lost}
        cleaned = value.model_copy(update=parts)
        unknown = cast("dict[str, object]", cleaned.model_extra)  # any model of a document has them
        gate.held.extend(Refusal(item=name, reason=FIELD_HELD) for name in unknown if name in known)
        admitted = _clean({name: part for name, part in unknown.items() if name not in known}, gate, is_unknown=True)
        unknown.clear()
        unknown.update(admitted)
    elif isinstance(value, Mapping):
        items = cast("Mapping[str, object]", value).items()
        admitted = {name: part for name, part in items if not is_unknown or _is_admitted_pair(name, part, gate)}
        lost = (mask(clean_visible(name)) for name, _ in items if name not in admitted)
        gate.held.extend(Refusal(item=name, reason=FIELD_HELD) for name in lost)
        cleaned = {name: _clean(part, gate, is_text=is_text, is_unknown=is_unknown) for name, part in admitted.items()}
    elif isinstance(value, list | tuple):
        parts = [_clean(one, gate, is_text=is_text, is_unknown=is_unknown) for one in cast("Sequence[object]", value)]
        cleaned = parts if isinstance(value, list) else tuple(parts)
    return cast("_Value", cleaned)


def _is_admitted_name(value: str) -> bool:
    is_date = set(value) <= _OF_DATES and len(value) <= MAX_DATE_CHARS
    return (
        is_date or _OWN_ID.fullmatch(value) is not None or (clean_visible(value) == value and problem_of(value) is None)
    )


def _is_admitted_pair(name: str, value: object, gate: _Gate) -> bool:
    """Return whether an unknown field is admitted by its name, and by its value next to it: `pin: 4471`."""
    return gate.is_admitted(f"{name}: {value}" if isinstance(value, str | int) else name)
