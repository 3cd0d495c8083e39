"""Keep only what the user said: an addition must rest on the user's own words in the turns that the prompt showed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from memgraph.models import Addition, Evidence, Memory, Refusal, Turn
from memgraph.policy import Grounding
from memgraph.retrieval.terms import content_terms, extract_terms, is_unit
from memgraph.rules.draft import Draft
from memgraph.rules.merge import KnownFacts
from memgraph.rules.support import MIN_SHARE, UNKNOWN_DAY, Support
from memgraph.rules.watermark import without_progress
from memgraph.text.dates import local_day
from memgraph.text.normalize import HAN, fold
from memgraph.text.polarity import states_opposite
from memgraph.text.quotes import FoundQuote, QuoteFinder, sentences_of
from memgraph.text.remarks import is_about_assistant, is_passing_remark, mentions_user
from memgraph.text.sentences import sentences
from memgraph.text.signals import detect, load_signals
from memgraph.text.turns import asks

MIN_QUOTE_WORDS = 2
"""Content words of a quote; a shorter one must be a whole clause of the user, or answer the assistant."""
MIN_QUOTE_CHARACTERS = 4
"""Chinese characters of a quote, likewise."""
MAX_ANSWER_WORDS = 8
"""Words, or Chinese characters, of an answer that the words of its question complete."""

_OF_REMARKS = frozenset({"context", "knowledge"})
"""Categories of which a fact may be a passing remark; the others are about what the user wants or does."""
_CONFIRMABLE = frozenset({"correction", "behavior", "preference"})
_HAN_CHARACTER = re.compile(f"[{HAN}]")
_CLAUSE = re.compile(r"[.,;:!?\n。，、；：！？…()（）]+|\s[-–—]+\s|\b(?:and|but|so)\b")
_PART = re.compile(r"[^.!?\n。！？]++[?？]?")
_ASKING = ("?", "？", "吗", "呢")
_YES = re.compile(
    r"(?:oh |ah |ha |haha |hm+ |well |嗯+ ?|啊 ?)?(?:yes|yeah|yep|yup|sure|exactly|correct|right|perfect|absolutely"
    r"|definitely|of course|indeed|agreed|ok|okay|sounds good|do (?:that|it)|please do|go ahead|that works|always|keep"
    r"|是|对|好|没错|可以|行|当然|同意|正确|就这样|就是|正是|完全正确)"
)
_THANKS = re.compile(
    r"(?:oh |ah |well |嗯+ ?|啊 ?)?(?:(?:okay|ok|right|好的?|行|可以)[\s,.!，。！~]{0,3})?+"
    r"(?:many thanks|thank|thx|cheers|i(?:'ll| will)\b|let me\b|谢|多谢|感谢|我(?:会|去|来|再|先|试))"
)
"""Such an answer confirms nothing that was not a question, unless it praises."""
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
    known = KnownFacts(draft.memory.facts, draft.slots)
    new = frozenset(map(without_progress, draft.changes.message_ids))
    grounded: list[Addition] = []
    refused: list[Refusal] = []
    for addition in draft.changes.additions:
        if addition.edited_by_user:
            grounded.append(addition)
            continue
        problem, quoted = said.judge(addition, mode)
        is_from_new_turn = quoted is not None and quoted.turn.id in new
        if problem is None and not is_from_new_turn and (addition.repeats or known.find(addition)):
            problem = "already known, and the user did not repeat it"
        if problem:
            refused.append(Refusal(item=addition.content, reason=problem))
        else:
            grounded.append(_with_evidence(addition, quoted))
    return replace(draft.with_additions(grounded), refused=(*draft.refused, *refused))


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
        self._own_words = {turn.id: turn.own_words for turn in self._turns}
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
            return Judgement(self._missing(addition, quoted, [self._own_words[confirmed.id]], mode), quoted)
        if mode == "strict" and (problem := self._quote_problem(quote, quoted)):
            return Judgement(problem, quoted)
        if quoted is None:
            quoted = self._latest_mention(addition)
        if quoted and states_opposite(addition.content, quoted.words, self._own_words[quoted.turn.id]):
            return Judgement("its quote states the opposite", quoted)
        problem = self._missing(addition, quoted, self._asked(quoted), mode)
        if problem is None and quoted:
            problem = self._remark_problem(quoted, addition.category)
        return Judgement(problem, quoted)

    def quote_problem(self, quote: str) -> str | None:
        """Return why *quote* is not a quote of the user that is long enough; None if it is."""
        return self._quote_problem(quote, self._finder.find(quote))

    def _quote_problem(self, quote: str, quoted: FoundQuote | None) -> str | None:
        if not quote.strip():
            return "it has no quote of the user"
        if quoted is None:
            return "its quote is not in the user's own words"
        return None if self._is_long_enough(quoted) else "its quote is too short"

    def support(self, extra: Sequence[str]) -> Support:
        """Return what the user's words and the texts *extra* support."""
        return Support([*self._texts, *extra]) if extra else self._support

    def _missing(
        self, addition: Addition, quoted: FoundQuote | None, extra: Sequence[str], mode: Grounding
    ) -> str | None:
        """Return what of *addition* the user's words and *extra* lack, as a reason to refuse it; None for nothing."""
        replaced = [fact.content for old in addition.replaces if (fact := self._memory.fact(old))]
        texts = [*extra, *replaced]
        day = local_day(addition.said_at) or local_day(quoted.turn.at if quoted else "") or UNKNOWN_DAY
        support = self.support(texts)
        times = Support([self._own_words[quoted.turn.id], *texts]) if quoted and quoted.words else None
        return support.missing_from(addition.content, mode, day=day, times=times)

    @cached_property
    def _texts(self) -> list[str]:
        return [self._own_words[turn.id] for turn in self._users]

    @cached_property
    def _support(self) -> Support:
        return Support(self._texts)

    def _latest_mention(self, addition: Addition) -> FoundQuote | None:
        """Return the latest turn of the user that has most words of *addition*, of which no quote is known."""
        share = MIN_SHARE["lenient"]
        for turn in reversed(self._users):
            if Support([self._own_words[turn.id]]).share(addition.content) >= share:
                return FoundQuote(turn, "")
        return None

    def _remark_problem(self, quoted: FoundQuote, category: str) -> str | None:
        """Return why the sentences of a quote state nothing about the user; None if they do, or answer a question."""
        before = self._previous.get(quoted.turn.id)
        if not quoted.words or (before and before.role == "ai" and asks(self._own_words[before.id])):
            return None
        before_it, touched = sentences_of(quoted.words, self._own_words[quoted.turn.id])
        if touched and all(map(is_about_assistant, touched)):
            return "it is about the assistant, not about the user"
        goes_on = mentions_user(before_it)
        if category in _OF_REMARKS and touched and not goes_on and all(map(is_passing_remark, touched)):
            return "a passing remark, not something about the user that lasts"
        return None

    # -- answers to the assistant -----------------------------------------------------------------

    def _is_long_enough(self, quoted: FoundQuote) -> bool:
        """Return whether the words of a quote suffice: so many content words, a whole clause, or an answer."""
        terms = [term for term in extract_terms(quoted.words) if is_unit(term)]
        characters = len([term for term in terms if _HAN_CHARACTER.match(term)])
        if characters >= MIN_QUOTE_CHARACTERS or len(terms) - characters >= MIN_QUOTE_WORDS or self._asked(quoted):
            return True
        clauses = (content_terms(clause) for clause in _CLAUSE.split(self._own_words[quoted.turn.id]))
        return bool(terms) and any(clause and clause.issubset(terms) for clause in clauses)

    def _asked(self, quoted: FoundQuote | None) -> list[str]:
        """Return the questions of the assistant that a short answer of the user affirms or chooses from."""
        before = self._previous.get(quoted.turn.id) if quoted else None
        if quoted is None or before is None or before.role != "ai" or not asks(self._own_words[before.id]):
            return []
        answer = self._own_words[quoted.turn.id]
        first = fold(sentences(answer)[0] if answer.strip() else answer)
        is_short = len(answer.split()) + len(_HAN_CHARACTER.findall(answer)) <= MAX_ANSWER_WORDS
        if _NO.match(first) or not (is_short or _YES.match(first)):
            return []
        return [part for part in _PART.findall(self._own_words[before.id]) if part.endswith(_ASKING)]

    def _confirmed(self, quote: str) -> tuple[FoundQuote, Turn] | None:
        """Return the turn in which the user confirmed an approach, and that in which the assistant proposed it."""
        proposed = self._finder.find_assistants(quote) if quote else None
        answer = self._next.get(proposed.id) if proposed else None
        if proposed is None or answer is None or not answer.is_users:
            return None
        words = self._own_words[answer.id]
        is_polite = _THANKS.match(fold(words)) and not asks(self._own_words[proposed.id])
        says_yes = _YES.match(fold(words)) and not is_polite
        confirms = says_yes or "reinforcement" in detect([answer], load_signals())
        return (FoundQuote(answer, words), proposed) if confirms else None
