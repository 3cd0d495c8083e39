"""What some texts support: the names, numbers, dates and content words that a fact may consist of."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import date, timedelta
from functools import cached_property

from memgraph.analysis.answers import function_words
from memgraph.analysis.date_phrases import find_dates
from memgraph.analysis.names import USER_NAMES, KnownNames
from memgraph.analysis.normalize import MIN_SHARED_CHARS
from memgraph.models.dates import days_of
from memgraph.policy import Grounding
from memgraph.retrieval.terms import content_terms, extract_terms

MIN_SHARE = {"strict": 1 / 3, "lenient": 1 / 2}
"""The least share of the content words of a fact that the user said, by grounding."""
UNKNOWN_DAY = date(1970, 1, 1)
"""Of a text of which the time is unknown."""

_FRAME = frozenset(
    extract_terms(
        " ".join(USER_NAMES | function_words())
        + """
        person name named called like likes love loves enjoy enjoys prefer prefers preference dislike dislikes
        hate hates use uses using work works working live lives living want wants plan plans planning need needs
        interested interest think thinks believe feel feels mention mentioned said state stated asked
        now currently recently since new day month year old age time always usually often never instead rather also
        together speak speaks know knows learn learning decide decided start started begin began
        """
    )
) | frozenset("喜欢爱偏好讨厌使用工作住在想要计划需要感兴趣认为觉得提到说现目前最近从新天月年时候总经常不再而改叫名字")
_TIME = re.compile(
    r"\b(?:(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th|[./]\d{1,2})|ago|last|next|this|since|today|tonight|tomorrow|yesterday|week|month|years?|morning|evening|now"
    r"|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b|[今明昨前后去][天日年晚]|[上下这本]个?[周月礼]"
    r"|(?:周|星期|礼拜)[一二三四五六日天末]|第[一二三四五六七八九十\d]{1,3}个?[天周月年]|[年月号日]|刚才?|现在",
    re.IGNORECASE,
)
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
        return any(find_dates(text, UNKNOWN_DAY) or _TIME.search(text) for text in self._texts)

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
        terms = terms - _FRAME or terms
        return sum(map(self._contains, terms)) / len(terms) if terms else 1.0

    def _contains(self, term: str) -> bool:
        return term.isdigit() or term in self._terms or self._has_form(term)

    def _has_form(self, term: str) -> bool:
        """Return whether another form of *term* is among them, such as "allergy" for "allergic"."""
        beginning = term[: max(MIN_SHARED_CHARS, len(term) * 2 // 3)]
        at = bisect_left(self._sorted, beginning)
        return len(term) > len(beginning) and at < len(self._sorted) and self._sorted[at].startswith(beginning)
