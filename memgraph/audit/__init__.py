"""Audit: find problems in a memory by rules, and suggest fixes. Memory in, findings out.

To add a check, write a function `(MemoryDocument, now) -> Iterator[Finding]` and add it to CHECKS.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

from memgraph.analysis.secrets import mask
from memgraph.audit import checks
from memgraph.audit.checks import Finding, Kind, apply_fixes, rewritten_episodes
from memgraph.models import Episode, MemoryDocument

__all__ = ["CHECKS", "Check", "Finding", "Kind", "apply_fixes", "audit", "mask", "rewritten_episodes"]

Check = Callable[[MemoryDocument, datetime], Iterator[Finding]]

CHECKS: tuple[Check, ...] = (
    checks.secrets,
    checks.instructions,
    checks.about_assistant,
    checks.uploads,
    checks.duplicates,
    checks.contradictions,
    checks.stale,
    checks.meaningless,
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
    return (*checks.secrets_in_episodes(episodes), *found)
