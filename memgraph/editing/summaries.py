"""Write a summary, by a person's hand."""

from __future__ import annotations

from memgraph.editing.checks import now
from memgraph.models import Memory, Section, SectionName
from memgraph.rules.written import checked_summary


def edit_section(memory: Memory, name: SectionName, summary: str) -> Memory:
    """Put *summary* in the place of the one called *name*; an empty one removes it.

    An update whose model saw the text before leaves the new one as it is.

    Raises:
        EditError: If it holds control characters, or more than 1,000 tokens.
    """
    text = checked_summary(summary) if summary.strip() else ""
    section = memory.section(name)
    if text == section.summary:
        return memory
    at = now()
    written = section.model_copy(update={"summary": text, "updated_at": at}) if text else Section(updated_at=at)
    return memory.with_section(name, written).model_copy(update={"last_updated": at})
