"""A memory with what was suggested done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from memgraph.audit.finding import Finding, Kind
from memgraph.audit.masking import removed
from memgraph.models import Memory
from memgraph.text.uploads import without_uploads

REWRITES: Mapping[Kind, Callable[[str], str]] = MappingProxyType({"secret": removed, "upload": without_uploads})
"""How a summary is cleared of what was found in it; several may apply to one, so each works on what is left."""


def fixed(memory: Memory, findings: Iterable[Finding]) -> Memory:
    """Do what *findings* suggest. What a person wrote stays, whatever is suggested."""
    findings = tuple(findings)
    gone = {fact_id for finding in findings for fact_id in finding.remove}
    changed = memory.with_facts(tuple(fact for fact in memory.facts if fact.is_manual or fact.id not in gone))
    for finding in findings:
        if finding.section and finding.kind in REWRITES:
            section = changed.section(finding.section)
            text = REWRITES[finding.kind](section.summary)
            changed = changed.with_section(finding.section, section.model_copy(update={"summary": text}))
    return changed
