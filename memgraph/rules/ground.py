"""Keep only what the user said: an addition must rest on the user's own words in the turns that the prompt showed."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, timedelta
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from memgraph.models import Addition, Evidence, Memory, Refusal, Turn
from memgraph.policy import Grounding
from memgraph.retrieval.terms import extract_terms
from memgraph.rules.draft import Draft
from memgraph.rules.watermark import without_progress
from memgraph.text.date_phrases import find_dates
from memgraph.text.dates import days_of, local_day
from memgraph.text.names import MIN_SHARED_CHARS, KnownNames
from memgraph.text.normalize import HAN, fact_key, fold
from memgraph.text.quotes import FoundQuote, QuoteFinder
from memgraph.text.sentences import sentences
from memgraph.text.signals import detect, load_signals
from memgraph.text.spans import own_words
from memgraph.text.turns import asks

MIN_QUOTE_WORDS = 2
"""Content words of a quote; a shorter one must be a whole clause of the user, or answer the assistant."""
MIN_QUOTE_CHARACTERS = 4
"""Chinese characters of a quote, likewise."""
MIN_SHARE = {"strict": 1 / 3, "lenient": 1 / 2}
"""The least share of the content words of a fact that the user said, by grounding."""
MAX_ANSWER_WORDS = 8
"""Words, or Chinese characters, of an answer that the words of its question complete."""

_CONFIRMABLE = frozenset({"correction", "behavior", "preference"})
_FRAME = frozenset(
    extract_terms(
        """
        user person name named called like likes love loves enjoy enjoys prefer prefers preference dislike dislikes
        hate hates use uses using work works working live lives living want wants plan plans planning need needs
        interested interest think thinks believe feel feels mention mentioned said state stated asked
        now currently recently since new day month year old age time always usually often never instead rather also
        together speak speaks know knows learn learning decide decided start started begin began
        """
    )
) | frozenset(
    "用户喜欢爱偏好讨厌使用工作住在想要计划需要感兴趣认为觉得提到说现目前最近从新天月年时候总经常不再而改叫名字"
)
_HAN_CHARACTER = re.compile(f"[{HAN}]")
_CLAUSE = re.compile(r"[.,;:!?\n。，、；：！？…()（）]+|\s[-–—]+\s|\b(?:and|but|so)\b")
_TIME = re.compile(
    r"\b(?:(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th|[./]\d{1,2})|ago|last|next|this|since|today|tonight|tomorrow|yesterday|week|month|years?|morning|evening|now"
    r"|mon|tues|wednes|thurs|fri|satur|sun)(?:day)?\b|[今明昨前后去][天日年晚]|[上下这本]个?[周月礼]"
    r"|(?:周|星期|礼拜)[一二三四五六日天末]|第[一二三四五六七八九十\d]{1,3}个?[天周月年]|[年月号日]|刚才?|现在",
    re.IGNORECASE,
)
_DATE = re.compile(r"(?<![\d.,-])(?:19|20)\d\d(?:-\d\d){0,2}(?![\d-]|[.,]\d)")
_PART = re.compile(r"[^.!?\n。！？]++[?？]?")
_ASKING = ("?", "？", "吗", "呢")
_YES = re.compile(
    r"(?:oh |ah |ha |haha |hm+ |well |嗯+ ?|啊 ?)?(?:yes|yeah|yep|yup|sure|exactly|correct|right|perfect|absolutely"
    r"|definitely|of course|indeed|agreed|ok|okay|sounds good|do (?:that|it)|please do|go ahead|that works|always|keep"
    r"|是|对|好|没错|可以|行|当然|同意|正确|就这样|就是|正是|完全正确)"
)
_NO = re.compile(r"(?:oh |ah |well |嗯+ ?)?(?:no|nope|nah|not|never|neither)\b|(?:不|没|别|否)")


class Judgement(NamedTuple):
    """Whether an addition is grounded."""

    problem: str | None
    """Why it is refused; None if it is accepted."""
    quoted: FoundQuote | None = None
    """The user's words that it rests on."""


def ground(draft: Draft) -> Draft:
    """Refuse the additions that do not rest on the user's own words; those that a reviewer wrote pass.

    A known fact is confirmed only by a new turn of the user: the assistant repeats what it knows.
    """
    mode = draft.policy.grounding
    if mode == "off":
        return draft
    said = SaidWords(draft.turns, draft.memory)
    new = frozenset(map(without_progress, draft.changes.message_ids))
    grounded: list[Addition] = []
    refused: list[Refusal] = []
    for addition in draft.changes.additions:
        if addition.edited_by_user:
            grounded.append(addition)
            continue
        problem, quoted = said.judge(addition, mode)
        is_from_new_turn = quoted is not None and quoted.turn.id in new
        if problem is None and not is_from_new_turn and _is_known(addition, draft.memory):
            problem = "already known, and the user did not repeat it"
        if problem:
            refused.append(Refusal(item=addition.content, reason=problem))
        else:
            grounded.append(_with_evidence(addition, quoted))
    return replace(draft.with_additions(grounded), refused=(*draft.refused, *refused))


def _is_known(addition: Addition, memory: Memory) -> bool:
    key = fact_key(addition.content)
    return any(fact_key(fact.content) == key for fact in memory.facts)


def _with_evidence(addition: Addition, quoted: FoundQuote | None) -> Addition:
    """Return *addition* with the user's words, unless their episode is known already."""
    if quoted is None or addition.evidence:
        return addition
    return addition.model_copy(update={"evidence": (Evidence(quote=quoted.words),)})


class SaidWords:
    """What the user said in the turns that the prompt showed.

    Args:
        turns: The turns, in their order.
        memory: The facts that an addition may replace.
    """

    def __init__(self, turns: Sequence[Turn], memory: Memory) -> None:
        self._turns = list({turn.id: turn for turn in turns}.values())
        self._users = [turn for turn in self._turns if turn.is_users]
        self._memory = memory
        self._finder = QuoteFinder(self._turns)
        self._previous = {after.id: before for before, after in pairwise(self._turns)}
        self._next = {before.id: after for before, after in pairwise(self._turns)}

    def judge(self, addition: Addition, mode: Grounding) -> Judgement:
        """Return whether *addition* rests on the user's words."""
        quote = addition.quote or next((evidence.quote for evidence in addition.evidence), "")
        quoted = self._finder.find(quote) if quote else None
        if quoted is None and addition.category in _CONFIRMABLE and (approach := self._confirmed(quote)):
            quoted, confirmed = approach
            return Judgement(self.missing(addition, quoted, [own_words(confirmed)], mode), quoted)
        if mode == "strict":
            if not quote:
                return Judgement("it has no quote of the user")
            if quoted is None:
                return Judgement("its quote is not in the user's own words")
            if not self._is_long_enough(quoted):
                return Judgement("its quote is too short", quoted)
        if quoted is None:
            quoted = self._latest_mention(addition)
        return Judgement(self.missing(addition, quoted, self._asked(quoted), mode), quoted)

    def missing(
        self, addition: Addition, quoted: FoundQuote | None, extra: Sequence[str], mode: Grounding
    ) -> str | None:
        """Return what of *addition* the user's words and *extra* lack, as a reason to refuse it; None for nothing."""
        replaced = [fact.content for old in addition.replaces if (fact := self._memory.fact(old))]
        texts = [*extra, *replaced]
        content, has_wrong_date = self._without_dates(addition, quoted, texts)
        if has_wrong_date:
            return "the user named no such date"
        names = KnownNames([*self._texts, *texts]) if texts else self._names
        if missing := names.missing_from(content):
            return f"the user did not mention {missing!r}"
        terms = _SaidTerms([*self._texts, *texts]) if texts else self._terms
        return None if terms.share(content) >= MIN_SHARE[mode] else "the words of the user do not support it"

    def _without_dates(self, addition: Addition, quoted: FoundQuote | None, texts: Iterable[str]) -> tuple[str, bool]:
        """Return the content without its dates, and whether one of them comes from nowhere.

        A date comes from the user if the user named any time, since the model resolves "last week"; or it is the day
        on which the user wrote.
        """
        day = local_day(addition.said_at) or local_day(quoted.turn.at if quoted else "") or date(1970, 1, 1)
        content = addition.content
        mentions = find_dates(content, day)
        dates = [mention.date for mention in mentions]
        for mention in reversed(mentions):
            content = f"{content[: mention.start]} {content[mention.end :]}"
        dates += _DATE.findall(content)
        if not dates:
            return content, False
        content = _DATE.sub(" ", content)
        sources = [own_words(quoted.turn)] if quoted and quoted.words else self._texts
        names_time = any(find_dates(text, day) or _TIME.search(text) for text in (*sources, *texts))
        return content, not names_time and not all(_is_about(partial, day) for partial in dates)

    @cached_property
    def _texts(self) -> list[str]:
        return [own_words(turn) for turn in self._users]

    @cached_property
    def _names(self) -> KnownNames:
        return KnownNames(self._texts)

    @cached_property
    def _terms(self) -> _SaidTerms:
        return _SaidTerms(self._texts)

    def _latest_mention(self, addition: Addition) -> FoundQuote | None:
        """Return the latest turn of the user that has most words of *addition*, of which no quote is known."""
        share = MIN_SHARE["lenient"]
        for turn in reversed(self._users):
            if _SaidTerms([own_words(turn)]).share(addition.content) >= share:
                return FoundQuote(turn, "")
        return None

    # -- answers to the assistant -----------------------------------------------------------------

    def _is_long_enough(self, quoted: FoundQuote) -> bool:
        """Return whether the words of a quote suffice: so many content words, a whole clause, or an answer."""
        terms = [term for term in extract_terms(quoted.words) if _is_unit(term)]
        characters = len([term for term in terms if _HAN_CHARACTER.match(term)])
        if characters >= MIN_QUOTE_CHARACTERS or len(terms) - characters >= MIN_QUOTE_WORDS or self._asked(quoted):
            return True
        clauses = (_content_terms(clause) for clause in _CLAUSE.split(own_words(quoted.turn)))
        return bool(terms) and any(clause and clause.issubset(terms) for clause in clauses)

    def _asked(self, quoted: FoundQuote | None) -> list[str]:
        """Return the questions of the assistant that a short answer of the user affirms or chooses from."""
        before = self._previous.get(quoted.turn.id) if quoted else None
        if quoted is None or before is None or before.role != "ai" or not asks(own_words(before)):
            return []
        answer = own_words(quoted.turn)
        first = fold(sentences(answer)[0] if answer.strip() else answer)
        is_short = len(answer.split()) + len(_HAN_CHARACTER.findall(answer)) <= MAX_ANSWER_WORDS
        if _NO.match(first) or not (is_short or _YES.match(first)):
            return []
        return [part for part in _PART.findall(own_words(before)) if part.endswith(_ASKING)]

    def _confirmed(self, quote: str) -> tuple[FoundQuote, Turn] | None:
        """Return the turn in which the user confirmed an approach, and that in which the assistant proposed it."""
        proposed = self._finder.find_assistants(quote) if quote else None
        answer = self._next.get(proposed.id) if proposed else None
        if proposed is None or answer is None or not answer.is_users:
            return None
        words = own_words(answer)
        confirms = _YES.match(fold(words)) or "reinforcement" in detect([answer], load_signals())
        return (FoundQuote(answer, words), proposed) if confirms else None


def _is_about(partial: str | None, day: date) -> bool:
    """Return whether a partial date contains *day*, or the day before or after: that of another time zone."""
    days = days_of(partial) if partial else None
    margin = timedelta(days=1)
    return days is None or days.first - margin <= day <= days.last + margin


def _content_terms(text: str) -> frozenset[str]:
    """Return the stems of the content words of *text*, and its Chinese characters."""
    return frozenset(filter(_is_unit, extract_terms(text)))


def _is_unit(term: str) -> bool:
    """Return whether *term* is a word or a character: a pair of Chinese characters would count twice."""
    return len(term) == 1 or not _HAN_CHARACTER.match(term)


class _SaidTerms:
    """The content words of some texts."""

    def __init__(self, texts: Iterable[str]) -> None:
        self._terms = frozenset[str]().union(*map(_content_terms, texts))
        self._sorted = sorted(self._terms)

    def share(self, content: str) -> float:
        """Return which share of the content words of a fact they contain; frame words such as "likes" do not count.

        Numbers were compared before, since the user may have written them as words.
        """
        terms = _content_terms(content)
        terms = terms - _FRAME or terms
        return sum(map(self._contains, terms)) / len(terms) if terms else 1.0

    def _contains(self, term: str) -> bool:
        return term.isdigit() or term in self._terms or self._has_form(term)

    def _has_form(self, term: str) -> bool:
        """Return whether another form of *term* is among them, such as "allergy" for "allergic"."""
        beginning = term[: max(MIN_SHARED_CHARS, len(term) * 2 // 3)]
        at = bisect_left(self._sorted, beginning)
        return len(term) > len(beginning) and at < len(self._sorted) and self._sorted[at].startswith(beginning)
