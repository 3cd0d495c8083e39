"""Secrets: a memory is put into prompts, and copied."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.finding import Finding, of_fact, of_section
from memgraph.audit.masking import found_in, removed
from memgraph.models import Memory


def secrets(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find keys, passwords and card numbers."""
    del now
    for fact in memory.facts:
        if what := next(found_in(f"{fact.content}\n{fact.source_error or ''}"), None):
            yield of_fact("secret", fact, f"it holds {what[0]}")
    for name, section in memory.sections():
        if what := next(found_in(section.summary), None):
            yield of_section("secret", name, section.summary, f"it holds {what[0]}", removed(section.summary))
