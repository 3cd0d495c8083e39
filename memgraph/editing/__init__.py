"""Manual edits: add, change and remove facts, rewrite summaries, import documents. Memory in, memory out.

A fact that a person wrote or edited has the source "manual"; learning never removes or rewrites it.
"""

from __future__ import annotations

from memgraph.editing.admission import admit_document as admit_document
from memgraph.editing.documents import merge_memory as merge_memory
from memgraph.editing.documents import read_document as read_document
from memgraph.editing.documents import replace_memory as replace_memory
from memgraph.editing.facts import add_fact as add_fact
from memgraph.editing.facts import edit_fact as edit_fact
from memgraph.editing.facts import edit_section as edit_section
from memgraph.editing.facts import remove_fact as remove_fact
from memgraph.editing.update import update_memory as update_memory
from memgraph.rules.decide import accept_pending as accept_pending
from memgraph.rules.decide import reject_pending as reject_pending
