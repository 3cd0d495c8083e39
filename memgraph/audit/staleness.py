"""Check for stale facts: those that have expired, dates that have passed, temporary statements, old uncertain facts."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from memgraph.audit.findings import Finding, fact_finding, last_seen
from memgraph.models import Fact, MemoryDocument, timestamp

DATE_GRACE_DAYS = 30
"""Days after which a date has passed."""
TEMPORARY_DAYS = 90
"""Days after which a statement about a day or a week is over."""
CURRENT_DAYS = 365
"""Days after which a statement about the present may be outdated."""
UNCERTAIN_DAYS = 365
"""Days after which an uncertain fact that was never confirmed needs a look."""
MIN_CERTAIN_CONFIDENCE = 0.75

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DATE = re.compile(
    rf"(?P<y1>20\d\d)-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?"
    rf"|\b(?P<m2>{_MONTH})\.?(?: (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,)? (?P<y2>20\d\d)"
    r"|(?P<y3>20\d\d)年(?:(?P<m3>\d{1,2})月)?",
    re.IGNORECASE,
)
_FUTURE = re.compile(
    r"\b(?:by|until|till|before|due|deadline|scheduled|planned|plans?|planning|going to|aims?|wants?|will|upcoming)\b"
    r"|截止|之前|计划|打算|将要|将于|目标|准备",
    re.IGNORECASE,
)
_TEMPORARY = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|(?:this|next|last) (?:morning|evening|week|weekend|month|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b|今天|明天|昨天|今晚|(?:这|本|下|上)(?:周|个月|星期|礼拜)",
    re.IGNORECASE,
)
_CURRENT = re.compile(r"\b(?:currently|right now|at the moment|these days|for now)\b|目前|眼下|最近", re.IGNORECASE)


def stale(memory: MemoryDocument, now: datetime) -> Iterator[Finding]:
    """Find facts that are outdated. Removing a manual fact is never suggested."""
    for fact in memory.facts:
        expired = (f"it was true until {fact.valid_until}", True) if fact.has_expired(timestamp(now)) else None
        if result := expired or _check_staleness(fact, now):
            why, is_over = result
            yield fact_finding("stale", fact, why, remove=is_over)


def _check_staleness(fact: Fact, now: datetime) -> tuple[str, bool] | None:
    """Return why *fact* is stale, and whether that is certain; None if it is not stale."""
    date = _find_passed_date(fact.content, now)
    if date and (fact.effective_category == "goal" or _FUTURE.search(fact.content)):
        return f"it is about the future until {date}, which has passed", True
    days = _days_since(last_seen(fact), now)
    if days is None or fact.effective_category == "correction":
        return None
    if days > TEMPORARY_DAYS and (match := _TEMPORARY.search(fact.content)):
        return f"{match[0]!r} is {days:,} days old", True
    if days > CURRENT_DAYS and (match := _CURRENT.search(fact.content)):
        return f"{match[0]!r} is {days:,} days old", False
    if days > UNCERTAIN_DAYS and fact.confidence < MIN_CERTAIN_CONFIDENCE and not fact.is_manual:
        return f"its confidence is low ({fact.confidence:.2f}), and it was not confirmed for {days:,} days", False
    return None


def _find_passed_date(text: str, now: datetime) -> str | None:
    """Return the last date in *text* if it has passed."""
    dates = [(end, match[0]) for match in _DATE.finditer(text) if (end := _last_day(match))]
    if not dates:
        return None
    end, date = max(dates)
    return date if (now - end).days > DATE_GRACE_DAYS else None


def _last_day(match: re.Match[str]) -> datetime | None:
    """Return the last day that a date may mean, roughly; None if there is no such date."""
    groups = match.groupdict()
    year = int(groups["y1"] or groups["y2"] or groups["y3"])
    name = (groups["m2"] or "").lower()[:3]
    month = int(groups["m1"] or groups["m3"] or 0) or (_MONTHS.index(name) + 1 if name in _MONTHS else 12)
    day = int(groups["d1"] or groups["d2"] or 28)
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _days_since(time: str, now: datetime) -> int | None:
    try:
        return (now - datetime.fromisoformat(time)).days
    except (ValueError, TypeError):
        return None
