"""Audit: find problems in a memory by rules, and suggest fixes. Memory in, findings out.

To add a check, write a function `(MemoryDocument, now) -> Iterator[Finding]` and add it to CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from memgraph.audit.checks import (
    about_assistant,
    contradictions,
    duplicates,
    instructions,
    meaningless,
    secrets,
    secrets_in_episodes,
    stale,
    uploads,
)
from memgraph.audit.findings import Finding, Kind, apply_fixes, rewritten_episodes
from memgraph.models import Episode, MemoryDocument
from memgraph.text.secrets import mask

__all__ = ["CHECKS", "Check", "Finding", "Kind", "apply_fixes", "audit", "mask", "rewritten_episodes"]

Check = Callable[[MemoryDocument, datetime], Iterator[Finding]]

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
"""The checks in the order in which findings are shown: the most harmful first."""


def audit(memory: MemoryDocument, now: datetime, episodes: Sequence[Episode] = ()) -> tuple[Finding, ...]:
    """Return the problems that rules can find in *memory*. Secrets in the findings are masked.

    Args:
        memory: Any memory.
        now: The current time, with a time zone.
        episodes: Its episodes, which are checked for secrets.
    """
    found = tuple(finding for check in CHECKS for finding in check(memory, now))
    return (*secrets_in_episodes(episodes), *found)
