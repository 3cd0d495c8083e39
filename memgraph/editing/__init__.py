"""Manual edits: add, change and remove facts, rewrite summaries, import documents. Memory in, memory out.

A fact that a person wrote or edited has the source "manual"; learning never removes or rewrites it.
"""

from __future__ import annotations

from memgraph.editing.admission import admit_document
from memgraph.editing.documents import merge_memory, read_document, replace_memory
from memgraph.editing.facts import add_fact, edit_fact, edit_section, remove_fact
from memgraph.editing.update import update_memory
from memgraph.rules.decide import accept_pending, reject_pending

__all__ = [
    "accept_pending",
    "add_fact",
    "admit_document",
    "edit_fact",
    "edit_section",
    "merge_memory",
    "read_document",
    "reject_pending",
    "remove_fact",
    "replace_memory",
    "update_memory",
]
