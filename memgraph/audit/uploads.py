"""Uploads: a file is gone the next session, so no memory may send an agent looking for it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.finding import Finding, of_fact, of_section
from memgraph.models import Memory
from memgraph.text.uploads import mentions_upload, without_uploads

WHY = "it says a file was uploaded, which is gone by now"


def uploads(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find what says that a file was given to the assistant."""
    del now
    for fact in memory.facts:
        if mentions_upload(fact.content):
            yield of_fact("upload", fact, WHY)
    for name, section in memory.sections():
        left = without_uploads(section.summary)
        if left != section.summary:
            yield of_section("upload", name, section.summary, WHY, left)
