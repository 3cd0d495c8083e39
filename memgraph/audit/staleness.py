"""Stale: what was true for a while, or may have ceased to be."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime

from memgraph.audit.findings import Finding, fact_finding, latest
from memgraph.models import Fact, Memory

DATE_PASSED_DAYS = 30
PASSING_DAYS = 90
"""After which what was said of a day or a week is over."""
CURRENT_DAYS = 365
"""After which what was current then may not be any more."""
UNSURE_DAYS = 365
"""After which what was never sure, and never said again, is worth a look."""
UNSURE = 0.75

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]{0,6}"
_DATE = re.compile(
    rf"(?P<y1>20\d\d)-(?P<m1>\d\d)(?:-(?P<d1>\d\d))?"
    rf"|\b(?P<m2>{_MONTH})\.?(?: (?P<d2>\d{{1,2}})(?:st|nd|rd|th)?,)? (?P<y2>20\d\d)"
    r"|(?P<y3>20\d\d)年(?:(?P<m3>\d{1,2})月)?",
    re.IGNORECASE,
)
_AIMED = re.compile(
    r"\b(?:by|until|till|before|due|deadline|scheduled|planned|plans?|planning|going to|aims?|wants?|will|upcoming)\b"
    r"|截止|之前|计划|打算|将要|将于|目标|准备",
    re.IGNORECASE,
)
_PASSING = re.compile(
    r"\b(?:today|tomorrow|yesterday|tonight|(?:this|next|last) (?:morning|evening|week|weekend|month|"
    r"monday|tuesday|wednesday|thursday|friday|saturday|sunday))\b|今天|明天|昨天|今晚|(?:这|本|下|上)(?:周|个月|星期|礼拜)",
    re.IGNORECASE,
)
_CURRENT = re.compile(r"\b(?:currently|right now|at the moment|these days|for now)\b|目前|眼下|最近", re.IGNORECASE)


def stale(memory: Memory, now: datetime) -> Iterator[Finding]:
    """Find facts that time has passed by. Manual ones are a person's to judge."""
    for fact in memory.facts:
        if found := _staleness(fact, now):
            why, is_over = found
            yield fact_finding("stale", fact, why, remove=is_over)


def _staleness(fact: Fact, now: datetime) -> tuple[str, bool] | None:
    """Why *fact* is stale, and whether that is certain."""
    passed = _date_passed(fact.content, now)
    if passed and (fact.effective_category == "goal" or _AIMED.search(fact.content)):
        return f"it looks ahead to {passed}, which is over", True
    days = _days_since(latest(fact), now)
    if days is None or fact.effective_category == "correction":
        return None
    if days > PASSING_DAYS and (match := _PASSING.search(fact.content)):
        return f"{match[0]!r} was said {days:,} days ago", True
    if days > CURRENT_DAYS and (match := _CURRENT.search(fact.content)):
        return f"{match[0]!r} was said {days:,} days ago", False
    if days > UNSURE_DAYS and fact.confidence < UNSURE and not fact.is_manual:
        return f"it was never sure ({fact.confidence:.2f}), and not said again for {days:,} days", False
    return None


def _date_passed(text: str, now: datetime) -> str | None:
    """The last date in *text*, if it was over for a while."""
    dates = [(end, match[0]) for match in _DATE.finditer(text) if (end := _end_of(match))]
    if not dates:
        return None
    last, said = max(dates)
    return said if (now - last).days > DATE_PASSED_DAYS else None


def _end_of(match: re.Match[str]) -> datetime | None:
    """The last day that a date may mean, roughly."""
    said = match.groupdict()
    year = int(said["y1"] or said["y2"] or said["y3"])
    name = (said["m2"] or "").lower()[:3]
    month = int(said["m1"] or said["m3"] or 0) or next(
        (at for at, full in enumerate(_MONTHS, 1) if full[:3] == name), 12
    )
    day = int(said["d1"] or said["d2"] or 28)
    try:
        return datetime(year, month, day, tzinfo=UTC)
    except ValueError:
        return None


def _days_since(time: str, now: datetime) -> int | None:
    try:
        return (now - datetime.fromisoformat(time)).days
    except (ValueError, TypeError):
        return None
