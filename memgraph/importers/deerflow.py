"""DeerFlow: memory.json of any version, and its newer format: one Markdown file per fact, with YAML front matter.

In a folder, the files called memory.json and the Markdown files in folders called facts are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence

from memgraph.errors import DamagedMemoryError, EditError
from memgraph.importers.documents import (
    ExportDocument,
    FactCollector,
    ImportResult,
    Item,
    as_item,
    select_owner,
    thread_source,
)
from memgraph.models import MANUAL, Fact, MemoryDocument
from memgraph.storage.document import decode

CONFIDENCE = 0.5
"""The default that DeerFlow itself uses."""

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)\n---[ \t]*(?:\n|\Z)(.*)", re.DOTALL)
_TITLE = re.compile(r"\A\s*# [^\n]*(?:\n+|\Z)")
_FENCE = re.compile(r"```memory-json\s*\n(.*)```", re.DOTALL)  # greedy, up to the last fence: facts may contain fences
_USER = re.compile(r"(?:^|/)users/([^/]+)/")


def read_deerflow(documents: Sequence[ExportDocument], owner: str | None) -> ImportResult:
    """Read memories of DeerFlow. Summaries that memgraph has too are kept; other sections become facts."""
    selected = select_owner((_owner(document) for document in documents), owner, "deerflow")
    collector, memory = FactCollector("deerflow", confidence=CONFIDENCE), MemoryDocument()
    for document in documents:
        if selected is not None and _owner(document) != selected:
            continue
        if document.name.lower().endswith((".md", ".markdown")):
            memory = _read_markdown(collector, memory, document)
        else:
            memory = _read_memory(collector, memory, document)
    return collector.result(memory)


def _owner(document: ExportDocument) -> str:
    match = _USER.search(document.name)
    return match[1] if match else ""


# -- memory.json ----------------------------------------------------------------------------------


def _read_memory(collector: FactCollector, memory: MemoryDocument, document: ExportDocument) -> MemoryDocument:
    try:
        read = decode(document.data, document.name)
    except DamagedMemoryError as error:
        raise EditError(f"{document.name} is not a memory of deerflow: {error.reason}") from None
    if not read.model_fields_set & {"user", "history", "facts"}:
        raise EditError(f"{document.name} is not a memory of deerflow: it has no user, history or facts")
    for fact in read.facts:
        collector.add(fact.content, _stored_fields(fact))
    for item in read.unreadable_facts:
        collector.skip(item, "its content is not a text")
    for part in (read.user, read.history):
        for name, section in (part.model_extra or {}).items():
            _add_section(collector, name, section)
    for name, section in read.sections():
        if section.summary and memory.section(name).summary:
            collector.skip(f"{name}: {section.summary}", "another document already has this summary")
        elif section.summary:
            memory = memory.with_section(name, section)
    return memory


def _stored_fields(fact: Fact) -> Item:
    fields = {name: getattr(fact, name) for name in Fact.model_fields if name != "content"}
    extension = (fact.model_extra or {}).get("categoryExtension")
    return {**fields, "category": extension} if isinstance(extension, str) else fields


def _add_section(collector: FactCollector, name: str, section: object) -> None:
    """Add a section that memgraph does not have as a fact."""
    fields = as_item(section)
    summary = fields.get("summary") if fields else section
    if isinstance(summary, str) and summary.strip():
        collector.note_change(summary, f"the section {name!r} became a fact")
        collector.add(summary, {"category": "behavior"})


# -- Markdown -------------------------------------------------------------------------------------


def _read_markdown(collector: FactCollector, memory: MemoryDocument, document: ExportDocument) -> MemoryDocument:
    text = document.text()
    fence, front = _FENCE.search(text), _FRONT_MATTER.match(text)
    if fence and not front:
        return _read_memory(collector, memory, ExportDocument(document.name, fence[1].encode()))
    fields = _front_matter(front[1]) if front else None
    if front is None or fields is None:
        collector.skip(document.name, "it has no YAML front matter")
        return memory
    fact = {
        **fields,
        "content": _TITLE.sub("", front[2], count=1).strip() or fields.get("content"),
        "source": _source(fields.get("source")),
        "confirmations": fields.get("confirmationCount"),
    }
    data = json.dumps({"facts": [{key: value for key, value in fact.items() if value is not None}]}, default=str)
    return _read_memory(collector, memory, ExportDocument(document.name, data.encode()))


def _front_matter(text: str) -> Item | None:
    import yaml

    try:
        return as_item(yaml.safe_load(text))
    except (yaml.YAMLError, RecursionError, ValueError):
        return None


def _source(value: object) -> object:
    """Return a thread id or "manual"; newer files store the type and the thread id separately."""
    source = as_item(value)
    if source is None:
        return value
    return MANUAL if source.get("type") == MANUAL else thread_source(source.get("threadId"))
