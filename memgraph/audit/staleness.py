"""Check for stale facts: those that have expired, dates that have passed, temporary statements, old uncertain facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from memgraph.audit.findings import Finding, fact_finding, last_seen
from memgraph.models import Fact, MemoryDocument, timestamp
from memgraph.models.dates import days_of
from memgraph.text.date_phrases import DateMention, find_dates
from memgraph.text.dates import local_day

DATE_GRACE_DAYS = 30
"""Days after which a date has passed."""
TEMPORARY_DAYS = 90
"""Days after which a statement about a day or a week is over."""
CURRENT_DAYS = 365
"""Days after which a statement about the present may be outdated."""
UNCERTAIN_DAYS = 365
"""Days after which an uncertain fact that was never confirmed needs a look."""
MIN_CERTAIN_CONFIDENCE = 0.75

_FUTURE = re.compile(
    r"\b(?:by|until|till|before|due|deadline|scheduled|planned|plans?|planning|going to|aims?|wants?|will|upcoming)\b"
    r"|截止|之前|计划|打算|将要|将于|目标|准备",
    re.IGNORECASE,
)
_CURRENT = re.compile(r"\b(?:currently|right now|at the moment|these days|for now)\b|目前|眼下|最近", re.IGNORECASE)


def stale(memory: MemoryDocument, now: datetime) -> Iterator[Finding]:
    """Find facts that are outdated. Removing a manual fact is never suggested."""
    for fact in memory.facts:
        expired = (f"it was true until {fact.valid_until}", True) if fact.has_expired(timestamp(now)) else None
        if result := expired or _check_staleness(fact, now):
            why, is_over = result
            yield fact_finding("stale", why, fact, remove=is_over)


def _check_staleness(fact: Fact, now: datetime) -> tuple[str, bool] | None:
    """Return why *fact* is stale, and whether that is certain; None if it is not stale."""
    date = _passed_date(fact, now)
    if date and (fact.effective_category == "goal" or _FUTURE.search(fact.content)):
        return f"it is about the future until {date}, which has passed", True
    days = _days_since(last_seen(fact), now)
    if days is None or fact.effective_category == "correction":
        return None
    if days > TEMPORARY_DAYS and (words := _relative_date(fact, now)):
        return f"{words!r} is {days:,} days old", True
    if days > CURRENT_DAYS and (match := _CURRENT.search(fact.content)):
        return f"{match[0]!r} is {days:,} days old", False
    if days > UNCERTAIN_DAYS and fact.confidence < MIN_CERTAIN_CONFIDENCE and not fact.is_manual:
        return f"its confidence is low ({fact.confidence:.2f}), and it was not confirmed for {days:,} days", False
    return None


def _passed_date(fact: Fact, now: datetime) -> str | None:
    """Return the last date that *fact* names, as it is written, if it has passed."""
    named = [(days.last, mention) for mention in _mentions(fact, now) if (days := days_of(mention.date or ""))]
    if not named:
        return None
    end, mention = max(named)
    return fact.content[mention.start : mention.end] if (now.date() - end).days > DATE_GRACE_DAYS else None


def _relative_date(fact: Fact, now: datetime) -> str | None:
    """Return the first words of *fact* for a time near the day on which it was said, such as "this week"."""
    texts = (fact.content[mention.start : mention.end] for mention in _mentions(fact, now))
    return next((text for text in texts if not any(map(str.isdecimal, text))), None)


def _mentions(fact: Fact, now: datetime) -> tuple[DateMention, ...]:
    return find_dates(fact.content, local_day(last_seen(fact)) or now.date())


def _days_since(time: str, now: datetime) -> int | None:
    try:
        return (now - datetime.fromisoformat(time)).days
    except (ValueError, TypeError):
        return None
