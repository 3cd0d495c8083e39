"""What some texts support: the names, numbers, dates and content words that a fact may consist of."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from datetime import date
from functools import cached_property

from memgraph.analysis.date_phrases import UNKNOWN_DAY, DateMention, find_dates, names_time
from memgraph.analysis.names import KnownNames, numbers_of
from memgraph.analysis.normalize import MIN_SHARED_CHARS, single_line
from memgraph.analysis.terms import content_terms, frame_terms
from memgraph.models.dates import DAY_CHARS, days_of
from memgraph.policy import Grounding

MIN_SHARE = {"strict": 1 / 3, "lenient": 1 / 2}
"""The least share of the content words of a fact that the user said, by grounding."""
NO_SUCH_DATE = "the user named no such date"
# not inside a name with digits, such as "XR2019b"; the last part allows "1990s"
_DATE = re.compile(r"(?<![a-zA-Z\d.,-])(?:19|20)\d\d(?:-\d\d){0,2}(?![\d-]|[.,]\d|(?!s\b)[a-zA-Z])")


_CUT_BEFORE = re.compile(
    r"(?:[\s,，(（]|\b(?:on|in|at|since|from|until|till|to|through|by|before|after|around|and|or|the)\s|[在于自从到至]){0,6}$",
    re.IGNORECASE,
)
_CUT_AFTER = re.compile(r"[)）]|为止|以前|之前|以来|起")


def _overlap(one: str, other: str, *, has_year: bool = True) -> bool:
    """Return whether two partial dates have a day in common, or nearly so, as in another time zone."""
    ours, theirs = days_of(one), days_of(other)
    if ours is None or theirs is None or (not has_year and one[4:] != "" and one[4:] == other[4:]):
        return True
    margin = DAY_CHARS in {len(one), len(other)}
    between = max(ours.first, theirs.first).toordinal() - min(ours.last, theirs.last).toordinal()
    return between <= margin


def _mentions_in(text: str, day: date) -> tuple[DateMention, ...]:
    """Return the dates in *text*, also years without a word before them; *day* is that of "today" in it."""
    mentions = find_dates(text, day)
    years = (DateMention(*found.span(), found[0]) for found in _DATE.finditer(text))
    others = [one for one in years if not any(one.start < known.end and known.start < one.end for known in mentions)]
    return tuple(sorted((*mentions, *others)))


def without_other_dates(content: str, texts: Sequence[str], day: date) -> str:
    """Return *content* without the dates other than those that *texts* name, nor the prepositions before them.

    It is as it was if they name none, or if little is left.
    """
    support, mentions = Support(texts), _mentions_in(content, day)
    parts, end = list[str](), 0
    for one in support.unsaid_dates(content, mentions, day) if support.has_time else ():
        before = _CUT_BEFORE.sub("", content[end : one.start])
        after = _CUT_AFTER.match(content, one.end)
        parts, end = [*parts, before], after.end() if after else one.end
    rest = single_line("".join([*parts, content[end:]])).lstrip(" ,，") if parts else content
    return rest[:1].upper() + rest[1:] if content_terms(rest) - frame_terms() else content


def _undated(content: str, mentions: Sequence[DateMention]) -> str:
    ends, starts = [0, *(one.end for one in mentions)], [*(one.start for one in mentions), len(content)]
    return " ".join(content[end:start] for end, start in zip(ends, starts, strict=True))


def _numbers(text: str, mention: DateMention) -> frozenset[str]:
    return numbers_of(text[mention.start : mention.end], in_words=True)


def _is_said(content: str, mention: DateMention, said: Sequence[tuple[str, DateMention]], day: date) -> bool:
    """Return whether one of *said*, texts with a date, is *mention*; of a date in an uncertain year the day decides."""
    days = {str(int(mention.date[8:]))} if mention.date and mention.date[8:] else _numbers(content, mention)
    has_year = _DATE.search(content[mention.start : mention.end]) is not None
    return any(
        _overlap(mention.date, one.date, has_year=has_year and _DATE.search(text[one.start : one.end]) is not None)
        if mention.date and one.date
        else days <= _numbers(text, one)
        for text, one in said
    ) or bool(mention.date and _overlap(mention.date, str(day)))


class Support:
    """The names, numbers, times and content words of some texts: what a fact may consist of.

    Args:
        texts: What was said, or is known.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._texts = texts

    def missing_from(
        self, content: str, mode: Grounding | None, *, day: date = UNKNOWN_DAY, times: Support | None = None
    ) -> str | None:
        """Return what of *content* is not in the texts, as a reason to refuse it; None if nothing is missing.

        Args:
            content: A fact, or a sentence of a summary.
            mode: Which share of its words must be there; None asks for its names, numbers and dates only.
            day: When it was said.
            times: Where a time must be named for a date of *content*; by default in the texts.
        """
        mentions = _mentions_in(content, day)
        undated = _undated(content, mentions)
        if (times or self).unsaid_dates(content, mentions, day):
            return NO_SUCH_DATE
        if missing := self._names.missing_from(undated):
            return f"the user did not mention {missing!r}"
        is_supported = mode is None or self.share(undated) >= MIN_SHARE[mode]
        return None if is_supported else "the words of the user do not support it"

    def unsaid_dates(self, content: str, mentions: Sequence[DateMention], day: date) -> Sequence[DateMention]:
        """Return those of *mentions*, the dates in *content*, that no text names; *day*, on which it was said, is said.

        A model resolves "last week". So any time will do if none is certain here, or as precise.
        """
        if not mentions:
            return ()
        said = [(text, one) for text in self._texts for one in _mentions_in(text, day)] if day != UNKNOWN_DAY else []
        if not said or any(one.date is None and not _numbers(text, one) for text, one in said):
            return () if self.has_time else [one for one in mentions if one.date and not _overlap(one.date, str(day))]
        exact = {len(one.date) for _, one in said if one.date}  # "1998" is no other date than "3 June"
        compared = [one for one in mentions if not (one.date and exact) or len(one.date) in exact]
        return [one for one in compared if not _is_said(content, one, said, day)]

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

    def has_word_of(self, content: str) -> bool:
        """Return whether they contain a content word of a fact, other than a number or a frame word."""
        return any(self._contains(term) for term in content_terms(content) - frame_terms() if not term.isdigit())

    def _contains(self, term: str) -> bool:
        return term.isdigit() or term in self._terms or self._has_form(term)

    def _has_form(self, term: str) -> bool:
        """Return whether another form of *term* is among them, such as "allergy" for "allergic"."""
        beginning = term[: max(MIN_SHARED_CHARS, len(term) * 2 // 3)]
        at = bisect_left(self._sorted, beginning)
        return len(term) > len(beginning) and at < len(self._sorted) and self._sorted[at].startswith(beginning)
