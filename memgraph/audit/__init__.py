"""Audit: what is wrong with a memory, and what might be done about it. Memory in, findings out.

A new check is a function `(Memory, now) -> Iterator[Finding]` in a file of its own, and its place in CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from memgraph.audit.content import about_assistant, instructions, meaningless, secrets, uploads
from memgraph.audit.findings import Finding, Kind, apply_fixes
from memgraph.audit.pairs import contradictions, duplicates
from memgraph.audit.secrets import mask
from memgraph.audit.staleness import stale
from memgraph.models import Memory

__all__ = ["CHECKS", "Check", "Finding", "Kind", "apply_fixes", "audit", "mask"]

Check = Callable[[Memory, datetime], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    secrets,
    instructions,
    about_assistant,
    uploads,
    duplicates,
    contradictions,
    stale,
    meaningless,
)
"""In the order in which findings are shown: what may do harm first."""


def audit(memory: Memory, now: datetime) -> tuple[Finding, ...]:
    """Return what is wrong with *memory*, as far as rules can see; no secret is quoted whole.

    Args:
        memory: Any memory.
        now: Against which dates are compared; with a time zone.
    """
    return tuple(finding for check in CHECKS for finding in check(memory, now))
