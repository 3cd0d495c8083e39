"""Hostile texts, and values that contain them for every annotation of a public function: see test_hostile_text."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import Policy, Scope, open_storage
from memgraph.analysis.lasting import load_weights
from memgraph.analysis.marks import MarkedPart
from memgraph.analysis.message import MessageText, read_messages
from memgraph.analysis.signals import load_signals
from memgraph.analysis.slots import packaged_slots
from memgraph.analysis.statement import read_words, statement
from memgraph.analysis.terms import extract_terms
from memgraph.attachments.item import MemoryItem
from memgraph.attachments.store import SearchResult
from memgraph.audit import Finding
from memgraph.importers.documents import ExportDocument, FactCollector
from memgraph.models import (
    Addition,
    Answer,
    Candidate,
    Check,
    CheckedClaim,
    ClaimVerdict,
    Episode,
    Evidence,
    Fact,
    MemoryDocument,
    MemoryUpdate,
    PastFact,
    Prompt,
    Rewrite,
    Section,
    Span,
    Turn,
    Watermark,
)
from memgraph.prompts.parse import AskedAbout
from memgraph.retrieval.embedding_models import FunctionEmbeddings
from memgraph.retrieval.embeddings import EmbeddingCache
from memgraph.retrieval.pipeline import RecallPipeline
from memgraph.retrieval.query import Document, build_query
from memgraph.retrieval.recalled import Entries
from memgraph.retrieval.render import DATED, FACTS, Line
from memgraph.review.proposal import Proposed, make_proposal
from memgraph.rules.draft import Draft
from memgraph.rules.ground import SaidWords
from memgraph.rules.pending import make_pending

SHAPES = (
    (" ", "a", "我", "{", "<a>", ", ", "- ", "e\u0301\u0334", "1 ", "tomorrow ", "[1,", "<turn>", "I like "),
    ("\n", "a ", "😀", '{"a":', "&#", '"', "to ", "uploaded a ", "password: ", "```\n", "。", "\\"),
)
"""The units of each text; `test_hostile_patterns` tries more of them on each pattern."""


def text_of_length(units: tuple[str, ...], length: int) -> str:
    """Return one long run for each of *units*, and many different words."""
    share = length // (len(units) + 1)
    repeated = (f"x{unit * (share // len(unit))}x!\n" for unit in units)
    return "".join((*repeated, *(f"w{number} " for number in range(share // 7))))


def memory_of(text: str) -> MemoryDocument:
    facts = (
        Fact(id="f1", content=text),
        Fact(id="f2", content=f"The user lives in {text}", source="t1", confidence=0.5),
        Fact(id="f3", content="Lives in Oslo.", source="t1", confidence=0.9),
    )
    return MemoryDocument(facts=facts, threads={"t1": Watermark(last_message_id="m1")}).with_section(
        "work_context", Section(summary=text)
    )


def update_of(text: str) -> MemoryUpdate:
    return MemoryUpdate(
        at="2026-05-01T10:00:00Z",
        thread="t1",
        message_ids=("m1", "m2"),
        additions=(
            Addition(id="a1", content=text, confidence=0.9, replaces=("f3",)),
            Addition(id="a2", content="No, use uv.", category="correction", confidence=0.9, source_error=text),
        ),
        rewrites=(Rewrite(section="work_context", summary=f"Works.{text}", base=text),),
    )


def chat_of(text: str) -> dict[str, Any]:
    """Return a conversation of an export, in the shapes of both systems."""
    content = {"content_type": "text", "parts": [text, text]}
    mapping = {
        str(key): {"parent": str(key - 1), "message": {"author": {"role": "user"}, "content": content}}
        for key in range(3)
    }
    messages = [{"uuid": text, "sender": "human", "content": [{"type": "text", "text": text}]}]
    return {"id": text, "title": text, "mapping": mapping, "current_node": "2", "chat_messages": messages}


def documents_of(text: str) -> list[ExportDocument]:
    item = {"memory": text, "value": {"content": text}, "content": text, "user_id": "ada", "facts": [{"content": text}]}
    front = f"---\n{text}\n---\n# {text}\n\n{text}\n```memory-json\n{text}\n```"
    return [
        ExportDocument("users/ada/memory.json", json.dumps({"facts": [{"id": "f", "content": text}]}).encode()),
        ExportDocument("items.json", json.dumps({"results": [item], "memories": [item]}).encode()),
        ExportDocument("users/ada/note.md", front.encode()),
    ]


def answers_of(text: str) -> Answer:
    return Answer(
        text=f'<think>{text}</think>{text}{{"user": {{}}, "history": {{}}, "newFacts": [{{"content": "{text}"}}, {text}'
    )


def upkeep_answer_of(text: str) -> Answer:
    merge = {"ids": ["f1", "f2"], "content": text}
    return Answer(text=json.dumps({"merge": [merge], "end": ["f3", text]}, ensure_ascii=False))


def turns_of(text: str) -> tuple[Turn, ...]:
    return (
        Turn(id="m1", role="human", text="Hi."),
        Turn(id="m2", role="human", text=text),
        Turn(id="m3", role="ai", text=text),
    )


def proposed_of(text: str) -> Proposed:
    return make_proposal(update_of(text), memory_of(text), Policy())


def messages_of(text: str) -> list[Any]:
    return [
        HumanMessage(text, id="m1"),
        AIMessage(text, id="m2"),
        HumanMessage([{"type": "text", "text": text}], id="m3"),
    ]


def message_texts_of(text: str) -> list[MessageText]:
    return [found for found in read_messages(messages_of(text)) if found]


def item_of(text: str) -> MemoryItem:
    return MemoryItem(id="i1", content_summary=text, metadata={"source": text}, timestamp="2026-05-01T10:00:00.000000Z")


def episode_of(text: str) -> Episode:
    return Episode(id="e1", thread_id="t1", message_id="m1", at="2026-05-01T10:00:00Z", text=text)


def episodes_of(text: str) -> tuple[Episode, ...]:
    return episode_of(text), Episode(id="e2", thread_id="t1", text=f"Then {text}", author="assistant")


def document_of(text: str) -> Document:
    return Document(text, context=(text,))


def lines_of(text: str) -> list[Line]:
    return [Line(text, FACTS), Line(f"- {text}", DATED, day="2026-05")]


Value = Callable[[str], object]
"""Makes a value of which a text is a part."""

VALUES: Mapping[str, Value] = {
    **dict.fromkeys(("str", "str | None", "object", "str | Query", "str | datetime"), str),
    **dict.fromkeys(
        ("Sequence[str]", "Iterable[str]", "Collection[str]", "list[str]", "tuple[str, ...]"),
        lambda text: (text, "other"),
    ),
    **dict.fromkeys(
        ("AbstractSet[str]", "AbstractSet[str] | None", "Container[str]"), lambda text: frozenset({text, "m2"})
    ),
    "bytes": lambda text: json.dumps({"facts": [{"id": "f", "content": text}], text: 1}).encode(),
    "BaseMessage": HumanMessage,
    "Sequence[BaseMessage]": messages_of,
    "Sequence[MessageLike]": messages_of,
    "str | Sequence[MessageLike]": messages_of,
    "Collection[str] | None": lambda text: frozenset({text}),
    **dict.fromkeys(("Iterable[MessageText]", "Sequence[MessageText]"), message_texts_of),
    "MemoryDocument": memory_of,
    "Section": lambda text: Section(summary=text),
    **dict.fromkeys(("Fact", "Fact | None", "Fact | Addition"), lambda text: memory_of(text).facts[1]),
    "Sequence[Fact]": lambda text: memory_of(text).facts,
    **dict.fromkeys(("PastFact", "PastFact | None"), lambda text: PastFact(content=text, ended_at=text)),
    "Sequence[PastFact]": lambda text: [PastFact(content=text, ended_at=text), PastFact(content="Likes tea.")],
    "Iterable[Fact]": lambda text: memory_of(text).facts,
    "Iterable[tuple[Fact, Fact | None]]": lambda text: [(fact, fact) for fact in memory_of(text).facts],
    "Terms": extract_terms,
    "Sequence[Terms]": lambda text: [extract_terms(text)],
    "Sequence[Evidence]": lambda text: (Evidence(quote=text), Evidence(quote=f"{text}.")),
    "Episode": episode_of,
    **dict.fromkeys(("Iterable[Episode]", "Sequence[Episode]"), episodes_of),
    "Addition": lambda text: update_of(text).additions[0],
    "MemoryUpdate": update_of,
    "Draft": lambda text: Draft(memory_of(text), update_of(text), Policy()),
    "Turn": lambda text: turns_of(text)[1],
    "Sequence[PendingChange]": lambda text: [make_pending("x", at="", thread="t1", facts=memory_of(text).facts)],
    "Sequence[Addition]": lambda text: update_of(text).additions,
    "Sequence[Candidate]": lambda text: (
        Candidate.make("alike", ("f1", "f2"), text),
        Candidate.make("stale", ("f3",), text),
        Candidate.make("summaries", ("f2",), text),
    ),
    "Sequence[Turn]": turns_of,
    "Sequence[MarkedPart]": lambda text: (MarkedPart("Hi. ", "user"), MarkedPart(text, "relayed")),
    "Mapping[int, Turn]": lambda text: dict(enumerate(turns_of(text))),
    "Answer": answers_of,
    "JsonObject": lambda text: {"summaries": {"workContext": text, text: text}},
    "AskedAbout": lambda text: AskedAbout(memory_of(text), dict(enumerate(turns_of(text)))),
    "Prompt": lambda text: Prompt(system=text, human=f'<turn speaker="user" part="new">{text}'),
    "Sequence[ExportDocument]": documents_of,
    "BaseMessage | str | list[str | Block] | Block | None": str,
    "MemoryItem": item_of,
    "Mapping[str, Sequence[SearchResult]]": lambda text: {"notes": [SearchResult(item_of(text), text, 0.5)]},
    "Query": build_query,
    "Sequence[Sequence[str]]": lambda text: [[text]],
    "Entries": lambda text: Entries(memory_of(text)),
    "Document": document_of,
    "Sequence[Document]": lambda text: (document_of(text), document_of("Lives in Oslo.")),
    "Mapping[str, Terms]": lambda text: {text: extract_terms(text), "Lives in Oslo.": ("live", "oslo")},
    **dict.fromkeys(("Iterable[Line]", "Sequence[Line]", "Sequence[Line | None]"), lines_of),
    "re.Match[str]": lambda text: re.search(r"\w+", text),
    "Mapping[str, str]": lambda text: {"e1": text},
    "Iterable[object]": lambda text: (text, 1, None),
    "Iterable[Iterable[str]]": lambda text: [[text, "car"]],
    "Mapping[SectionName, str]": lambda text: {"work_context": text},
    "TextIO": lambda text: io.StringIO(json.dumps([chat_of(text)] * 3)),
    "Item": chat_of,
    "Statement": lambda text: statement(text[:200], turns_of(text)[0], text),
    "Check": lambda text: Check(
        claims=(CheckedClaim(addition_id="n1", content=text, said=text, asked=text),),
        known=("f1",),
        verdicts=(ClaimVerdict(follows="yes"),),
    ),
    "Mapping[str, Fact]": lambda text: {fact.id: fact for fact in memory_of(text).facts},
    "SaidWords": lambda text: SaidWords(turns_of(text), memory_of(text)),
    "Iterable[Word]": lambda text: read_words(text[:2_000]),
    "Iterable[tuple[int, Line]]": lambda text: [(0, Line(text=text, group=FACTS))],
    "SomeFact": lambda text: memory_of(text).facts[0],
    **dict.fromkeys(("Iterable[SomeFact]", "Sequence[SomeFact]"), lambda text: memory_of(text).facts),
    "K": lambda text: text,
    "Mapping[K, K]": lambda text: {text[:number]: text[: number + 1] for number in range(min(len(text), 1_000))},
    "JsonSchema": lambda text: {text: {"type": "string"}},
    "Iterable[Item]": lambda text: [chat_of(text)],
    "Proposed": proposed_of,
    "PendingChange": lambda text: make_pending("x", at="", thread="t1", facts=memory_of(text).facts),
}
"""A value with hostile text for every annotation that holds text."""

FINDINGS = (
    Finding(kind="duplicate", facts=("f1", "f2"), what="x", why="x", remove=("f2",)),
    Finding(kind="upload", section="work_context", what="x", why="x", rewrite=""),
    Finding(kind="secret", episode="e1", what="x", why="x", rewrite="x"),
)

OTHERS: Mapping[str, Value] = {
    "Verdict": lambda _: "accept",
    "Scores | float": lambda _: 0.5,
    "Sequence[Item]": lambda _: (),
    "Callable[[object], str]": lambda _: str,
    "list[Refusal]": lambda _: [],
    "Callable[[str], str]": lambda _: str.upper,
    "Callable[[int], Days | None]": lambda _: lambda year: None,
    "Weights": lambda _: load_weights(),
    "Language": lambda _: "en",
    "WordList": lambda _: "keys",
    "frozenset[str]": lambda text: frozenset(text.split()),
    "RecallPipeline": lambda _: RecallPipeline(),
    "Mapping[str, object]": lambda _: {"memgraph_spans": [{"start": 0, "end": 5, "origin": "quoted"}]},
    "Iterable[Span]": lambda _: (Span(start=0, end=5, origin="quoted"), Span(start=3, end=9, origin="recalled")),
    **dict.fromkeys(("int", "int | None"), lambda _: 1_000),
    "bool": lambda _: True,
    "float": lambda _: 0.5,
    "Policy": lambda _: Policy(),
    "MemoryStorage": lambda _: open_storage("memory:"),
    "Scope": lambda _: Scope("ada"),
    "Sequence[Scope]": lambda _: [Scope("ada"), Scope("ada", "coder")],
    "Signals": lambda _: load_signals(),
    "Slots": lambda _: packaged_slots(),
    **dict.fromkeys(("datetime", "datetime | None"), lambda _: datetime(2026, 1, 1, tzinfo=UTC)),
    **dict.fromkeys(("date", "date | None"), lambda _: date(2026, 1, 1)),
    **dict.fromkeys(("Language", "Language | Literal['auto']"), lambda _: "en"),
    "Bracket": lambda _: "{",
    "Callable[[object], T | None]": lambda _: lambda found: None,
    "Callable[[Item], T | None]": lambda _: dict,
    "Iterable[Finding]": lambda _: FINDINGS,
    "SectionName": lambda _: "work_context",
    "Kind": lambda _: "duplicate",
    **dict.fromkeys(("Review", "Review | None"), lambda _: "always"),
    "Watermark | None": lambda _: Watermark(last_message_id="m1"),
    "EndReason": lambda _: "superseded",
    "Timestamp": lambda _: "2026-01-01T00:00:00Z",
    "str | Mapping[str, Any] | None": lambda _: "local",
    "EmbeddingCache": lambda _: EmbeddingCache(FunctionEmbeddings(lambda texts: [[1.0, 0.5] for _ in texts])),
    "FactCollector": lambda _: FactCollector("x", confidence=0.5),
    "NDArray[np.int64]": lambda _: np.zeros((2, 1), dtype=np.int64),
}
"""A value for every annotation that holds no text from outside."""

NO_TEXT = frozenset(
    {"Path", "Path | None", "Settings", "Scope | None", "Scores", "NDArray[np.float64]", "datetime", "float | None"}
    | {
        "Backups",
        "Candidates",
        "Overlap",
        "Callable[[Iterable[int]], AbstractSet[int]]",
        "Shares",
        "Postings",
        "Sequence[Postings]",
        "Days",
    }
    | {"Days", "AbstractSet[int]", "Sequence[float]", "Sequence[int]", "list[list[float]]"}
)
"""Annotations of functions that take no text."""
