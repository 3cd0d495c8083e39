"""DeerFlow: memory.json of any version, and the newer facts, one Markdown file each with YAML front matter.

Given a folder, what is read are its files called memory.json and the Markdown files in folders called facts.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from memgraph.errors import DamagedMemoryError, EditError
from memgraph.importers.collector import FactCollector
from memgraph.importers.documents import ExportDocument, Item, as_item, select_owner
from memgraph.importers.report import ImportResult
from memgraph.models import MANUAL, Fact, Memory
from memgraph.storage.serialization import decode

CONFIDENCE = 0.5
"""What DeerFlow itself takes a missing one for."""

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)(.*)", re.DOTALL)
_TITLE = re.compile(r"\s*# [^\n]*(?:\n+|\Z)")
_FENCE = re.compile(r"```memory-json\s*\n(.*)```", re.DOTALL)  # to the last fence: what is remembered may hold others
_USER = re.compile(r"(?:^|/)users/([^/]+)/")


def read_deerflow(documents: Sequence[ExportDocument], of: str | None) -> ImportResult:
    """Read memories of DeerFlow. Its summaries come as they are; its other sections become facts."""
    whose = select_owner((_owner(document) for document in documents), of, "deerflow")
    basket, memory = FactCollector("deerflow", confidence=CONFIDENCE), Memory()
    for document in documents:
        if whose is not None and _owner(document) != whose:
            continue
        if document.name.lower().endswith((".md", ".markdown")):
            memory = _with_markdown(basket, memory, document)
        else:
            memory = _with_memory(basket, memory, document)
    return basket.result(memory)


def _owner(document: ExportDocument) -> str:
    found = _USER.search(document.name)
    return found[1] if found else ""


# -- memory.json ----------------------------------------------------------------------------------


def _with_memory(basket: FactCollector, memory: Memory, document: ExportDocument) -> Memory:
    try:
        read = decode(document.data, document.name)
    except DamagedMemoryError as error:
        raise EditError(f"{document.name} is no memory of deerflow: {error.reason}") from None
    if not read.model_fields_set & {"user", "history", "facts"}:
        raise EditError(f"{document.name} is no memory of deerflow: there is no user, history or facts in it")
    for fact in read.facts:
        basket.add(fact.content, _stored_fields(fact))
    for part in (read.user, read.history):
        for name, section in (part.model_extra or {}).items():
            _take_section(basket, name, section)
    for name, section in read.sections():
        if section.summary and memory.section(name).summary:
            basket.skip(f"{name}: {section.summary}", "another document has this summary already")
        elif section.summary:
            memory = memory.with_section(name, section)
    return memory


def _stored_fields(fact: Fact) -> Item:
    fields = {name: getattr(fact, name) for name in Fact.model_fields if name != "content"}
    extension = (fact.model_extra or {}).get("categoryExtension")
    return {**fields, "category": extension} if isinstance(extension, str) else fields


def _take_section(basket: FactCollector, name: str, section: object) -> None:
    """A section that we do not have is a fact here."""
    held = as_item(section)
    summary = held.get("summary") if held else section
    if isinstance(summary, str) and summary.strip():
        basket.note_change(summary, f"the section {name!r} is a fact here")
        basket.add(summary, {"category": "behavior"})


# -- Markdown -------------------------------------------------------------------------------------


def _with_markdown(basket: FactCollector, memory: Memory, document: ExportDocument) -> Memory:
    text = document.text()
    fence, front = _FENCE.search(text), _FRONT_MATTER.match(text)
    if fence and not front:
        return _with_memory(basket, memory, ExportDocument(document.name, fence[1].encode()))
    fields = _front_matter(front[1]) if front else None
    if front is None or fields is None:
        basket.skip(document.name, "there is no YAML front matter in it")
    else:
        basket.add(_TITLE.sub("", front[2], count=1).strip() or fields.get("content"), _fact_fields(fields))
    return memory


def _front_matter(text: str) -> Item | None:
    import yaml

    try:
        return as_item(yaml.safe_load(text))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _fact_fields(fields: Item) -> Item:
    return {
        "id": fields.get("id"),
        "category": fields.get("categoryExtension") or fields.get("category"),
        "confidence": fields.get("confidence"),
        "created_at": fields.get("createdAt"),
        "source": _source(fields.get("source")),
        "source_error": fields.get("sourceError"),
        "last_confirmed_at": fields.get("lastConfirmedAt"),
        "confirmations": fields.get("confirmationCount"),
    }


def _source(given: object) -> object:
    """A thread, or `manual`; the newer files say both apart."""
    held = as_item(given)
    if held is None:
        return given
    return MANUAL if held.get("type") == MANUAL else held.get("threadId")
