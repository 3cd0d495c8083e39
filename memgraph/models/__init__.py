"""The frozen values of memgraph: scope, conversation, memory document and change set."""

from memgraph.models.changes import Addition, ChangeModel, MemoryUpdate, Refusal, Removal, Rewrite
from memgraph.models.conversation import Answer, Episode, Prompt, PromptExample, Span, SpanOrigin, Turn
from memgraph.models.document import (
    CATEGORIES,
    MANUAL,
    MAX_QUOTE_CHARS,
    SECTIONS,
    UNKNOWN_THREAD,
    Deletion,
    Evidence,
    Fact,
    Memory,
    Section,
    SectionName,
    Watermark,
    learned_source,
    new_fact_id,
)
from memgraph.models.scope import MAX_ID_CHARS, Scope, validate_id
from memgraph.models.values import PARTIAL_DATE, DocumentModel, is_partial_date, timestamp

__all__ = [
    "CATEGORIES",
    "MANUAL",
    "MAX_ID_CHARS",
    "MAX_QUOTE_CHARS",
    "PARTIAL_DATE",
    "SECTIONS",
    "UNKNOWN_THREAD",
    "Addition",
    "Answer",
    "ChangeModel",
    "Deletion",
    "DocumentModel",
    "Episode",
    "Evidence",
    "Fact",
    "Memory",
    "MemoryUpdate",
    "Prompt",
    "PromptExample",
    "Refusal",
    "Removal",
    "Rewrite",
    "Scope",
    "Section",
    "SectionName",
    "Span",
    "SpanOrigin",
    "Turn",
    "Watermark",
    "is_partial_date",
    "learned_source",
    "new_fact_id",
    "timestamp",
    "validate_id",
]
