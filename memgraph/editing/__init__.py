"""Manual edits: add, change and remove facts, rewrite summaries, import documents. Memory in, memory out.

A fact that a person wrote or edited has the source "manual"; learning never removes or rewrites it.
"""

from __future__ import annotations

from memgraph.editing.admission import AdmittedDocument, admit_document
from memgraph.editing.documents import (
    merge_memory,
    missing_episodes,
    read_document,
    replace_memory,
    take_episodes,
    with_episodes,
)
from memgraph.editing.facts import (
    add_fact,
    edit_fact,
    edit_section,
    find_any_fact,
    find_fact,
    remove_fact,
    unused_evidence,
)
from memgraph.editing.history import (
    discard_copies,
    discard_rebuild,
    explain_fact,
    find_revision,
    iterate_revisions,
    load_revision,
    revert_source,
    undo_revision,
)
from memgraph.editing.pending import Decided, accept_pending, decide_pending, find_pending, reject_pending
from memgraph.editing.update import Change, FactWords, remove_words, update_memory
from memgraph.editing.users import MemorySummary, list_users, summarize_memories

__all__ = [
    "AdmittedDocument",
    "Change",
    "Decided",
    "FactWords",
    "MemorySummary",
    "accept_pending",
    "add_fact",
    "admit_document",
    "decide_pending",
    "discard_copies",
    "discard_rebuild",
    "edit_fact",
    "edit_section",
    "explain_fact",
    "find_any_fact",
    "find_fact",
    "find_pending",
    "find_revision",
    "iterate_revisions",
    "list_users",
    "load_revision",
    "merge_memory",
    "missing_episodes",
    "read_document",
    "reject_pending",
    "remove_fact",
    "remove_words",
    "replace_memory",
    "revert_source",
    "summarize_memories",
    "take_episodes",
    "undo_revision",
    "unused_evidence",
    "update_memory",
    "with_episodes",
]
