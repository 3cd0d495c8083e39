"""What some texts support: the names, numbers, dates and content words that a fact may consist of."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cached_property

from memgraph.analysis.date_phrases import UNKNOWN_DAY, find_dates, names_time
from memgraph.analysis.names import KnownNames
from memgraph.analysis.normalize import MIN_SHARED_CHARS
from memgraph.analysis.terms import content_terms, frame_terms
from memgraph.models.dates import days_of
from memgraph.policy import Grounding

MIN_SHARE = {"strict": 1 / 3, "lenient": 1 / 2}
"""The least share of the content words of a fact that the user said, by grounding."""
# not inside a name with digits, such as "XR2019b"; the last part allows "1990s"
_DATE = re.compile(r"(?<![a-zA-Z\d.,-])(?:19|20)\d\d(?:-\d\d){0,2}(?![\d-]|[.,]\d|(?!s\b)[a-zA-Z])")


def _is_about(partial: str | None, day: date) -> bool:
    """Return whether a partial date contains *day*, or the day before or after: that of another time zone."""
    days = days_of(partial) if partial else None
    margin = timedelta(days=1)
    return days is None or days.first - margin <= day <= days.last + margin


def _split_dates(content: str, day: date) -> tuple[str, list[str | None]]:
    """Return *content* without its dates, and the dates; *day* is that of "today" in it."""
    mentions = find_dates(content, day)
    ends = [0, *(mention.end for mention in mentions)]
    starts = [*(mention.start for mention in mentions), len(content)]
    rest = " ".join(content[end:start] for end, start in zip(ends, starts, strict=True))
    return _DATE.sub(" ", rest), [*(mention.date for mention in mentions), *_DATE.findall(rest)]


class Support:
    """The names, numbers, times and content words of some texts: what a fact may consist of.

    Args:
        texts: What was said, or is known.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def missing_from(
        self, content: str, mode: Grounding, *, day: date = UNKNOWN_DAY, times: Support | None = None
    ) -> str | None:
        """Return what of *content* is not in the texts, as a reason to refuse it; None if nothing is missing.

        Args:
            content: A fact, or a sentence of a summary.
            mode: Which share of its words must be there.
            day: When it was said.
            times: Where a time must be named for a date of *content*; by default in the texts.
        """
        undated, dates = _split_dates(content, day)
        if added := self._added(undated, dates, day, times or self):
            return added
        return None if self.share(undated) >= MIN_SHARE[mode] else "the words of the user do not support it"

    def added_by(self, content: str, *, day: date = UNKNOWN_DAY, times: Support | None = None) -> str | None:
        """Return which name, number or date of *content* is not in the texts, as `missing_from` does."""
        return self._added(*_split_dates(content, day), day, times or self)

    def _added(self, undated: str, dates: Sequence[str | None], day: date, times: Support) -> str | None:
        # a model resolves "last week", so any named time will do; so does the day on which it was said
        if dates and not times.has_time and not all(_is_about(partial, day) for partial in dates):
            return "the user named no such date"
        missing = self._names.missing_from(undated)
        return f"the user did not mention {missing!r}" if missing else None

    @cached_property
    def has_time(self) -> bool:
        """Whether one of the texts names a time."""
        return any(map(names_time, self._texts))

    @cached_property
    def _names(self) -> KnownNames:
        return KnownNames(self._texts)

    @cached_property
    def _terms(self) -> frozenset[str]:
        return frozenset[str]().union(*map(content_terms, self._texts))

    @cached_property
    def _sorted(self) -> list[str]:
        return sorted(self._terms)

    def share(self, content: str) -> float:
        """Return which share of the content words of a fact they contain; frame words such as "likes" do not count.

        Numbers were compared before, since the user may have written them as words.
        """
        terms = content_terms(content)
        terms = terms - frame_terms() or terms
        return sum(map(self._contains, terms)) / len(terms) if terms else 1.0

    def _contains(self, term: str) -> bool:
        return term.isdigit() or term in self._terms or self._has_form(term)

    def _has_form(self, term: str) -> bool:
        """Return whether another form of *term* is among them, such as "allergy" for "allergic"."""
        beginning = term[: max(MIN_SHARED_CHARS, len(term) * 2 // 3)]
        at = bisect_left(self._sorted, beginning)
        return len(term) > len(beginning) and at < len(self._sorted) and self._sorted[at].startswith(beginning)
