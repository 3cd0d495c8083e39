"""Keep only what the user said: an addition must rest on the user's own words in the turns that the prompt showed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from functools import cached_property
from itertools import islice, pairwise
from types import MappingProxyType
from typing import Literal, NamedTuple

from memgraph.analysis.admission import problem_of
from memgraph.analysis.answers import (
    Clause,
    affirms,
    clauses_of,
    consents,
    content_words,
    denies,
    is_bare_answer,
    is_tag,
    offers,
)
from memgraph.analysis.corrections import read_correction
from memgraph.analysis.date_phrases import UNKNOWN_DAY, names_time, without_named_dates
from memgraph.analysis.dates import local_day
from memgraph.analysis.normalize import fact_key, is_chinese, stems_of, words_of
from memgraph.analysis.orders import may_act, orders_assistant
from memgraph.analysis.quotes import FoundQuote, QuoteFinder, find_quote, sentences_of
from memgraph.analysis.remarks import is_about_assistant, is_passing_remark, mentions_user
from memgraph.analysis.requests import words_to_forget
from memgraph.analysis.signals import detect, load_signals
from memgraph.analysis.statement import (
    PRONOUNS,
    Statement,
    asks_for,
    follows,
    has_firm_clause,
    is_as_firm,
    is_fragment,
    modality_of,
    statement,
    states_firmly,
)
from memgraph.analysis.subjects import lacks_referent, other_subject, people_in
from memgraph.analysis.terms import content_terms, extract_terms, is_unit
from memgraph.analysis.turns import asks
from memgraph.models import UNFIRM, Addition, Evidence, MemoryDocument, Refusal, Turn
from memgraph.policy import Grounding
from memgraph.rules.draft import Draft, SetAside
from memgraph.rules.merge import KnownFacts
from memgraph.rules.support import MIN_SHARE, NO_SUCH_DATE, Support, without_other_dates
from memgraph.rules.watermark import without_progress

MIN_QUOTE_WORDS = 2
"""Content words of a quote; a shorter one must be a whole clause of the user, or answer the assistant."""
MIN_QUOTE_CHARACTERS = 4
"""Chinese characters of a quote, likewise."""
MAX_ANSWER_WORDS = 8
"""Words, or Chinese characters, of an answer of which each clause may name what it chose."""
MAX_QUESTION_CHARS = 200
"""Characters of a question that is kept with its answer."""

PASSING_REMARK = "a passing remark, not something about the user that lasts"
"""Why a claim is refused that may still end a known fact: then it lasts."""

_OF_REMARKS = frozenset({"context", "knowledge"})
"""Categories of which a fact may be a passing remark; the others are about what the user wants or does."""
_CONFIRMABLE = frozenset({"correction", "behavior", "preference"})
_NOT_PLAIN: Mapping[str, str | None] = MappingProxyType(
    {
        "plain": None,
        "as said": "it is firmer than it was said, or about another person or time",
        "refused": "its quote states nothing about the user",
    }
)
"""Why a claim whose words the user used is not a fact, by what becomes of it."""
_FOUND: Mapping[str, str] = MappingProxyType(
    {"weaker": "the model that checked it found that the user said less", "no": "the model that checked it denied it"}
)
_NOT_FIRM = "it stays: what would replace it was not said firmly, such as a plan or a guess"
_OF_WORDS = "it is a request, or about a person or a thing that it does not name"
_MAY_ACT = "it names what an agent may act with, so that only the user's words are kept"
_MAY_ORDER = "it may be an order to an assistant, so that only the user's words are kept"
_CLAUSE = re.compile(r"[.,;:!?\n。，、；：！？…()（）]+|\s[-–—]+\s|\b(?:and|but|so)\b")
_PART = re.compile(r"[^.!?\n。！？]++[?？]?")
_ASKING = ("?", "？", "吗", "呢")


class Judgement(NamedTuple):
    """Whether an addition follows from what the user said."""

    outcome: Literal["plain", "as said", "refused"]
    """Whether it becomes a fact, is kept as the user said it, or neither."""
    problem: str | None = None
    """Why it is not plain."""
    quoted: FoundQuote | None = None
    """The user's words that it rests on."""


def ground(draft: Draft) -> Draft:
    """Keep the additions that follow from the user's own words, collect what is kept as said, and refuse the rest.

    Those that a person wrote pass. A known fact is confirmed only by a new turn of the user: the
    assistant repeats what it knows.
    """
    mode = draft.policy.grounding
    if mode == "off":
        return draft
    said = SaidWords(draft.turns, draft.memory)
    known = KnownFacts(draft.memory.facts)
    new = frozenset(map(without_progress, draft.changes.message_ids))
    grounded: list[Addition] = []
    set_aside: list[SetAside] = []
    refused: list[Refusal] = []
    for proposed in draft.changes.additions:
        if proposed.edited_by_user:
            grounded.append(proposed)
            continue
        addition, (outcome, problem, quoted) = judge_addition(proposed, draft, said)
        is_from_new_turn = quoted is not None and quoted.turn.id in new
        if outcome == "plain" and not is_from_new_turn and (addition.repeats or known.find(addition)):
            outcome, problem = "refused", "already known, and the user did not repeat it"
        kept = addition
        if outcome == "plain":
            kept = _with_modality(addition)
            grounded.append(_with_evidence(kept, quoted))
        elif outcome == "as said" and is_from_new_turn and quoted:
            kept, is_firm = said.firmness(addition, quoted)
            claim = said.with_question(_with_evidence(kept, quoted), quoted)
            set_aside.append(SetAside(claim, problem or "", is_firm, addition.replaces))
        else:
            refused.append(Refusal(item=addition.content, reason=problem or ""))
        left = (draft.memory.fact(old) for old in addition.replaces if old not in kept.replaces)
        refused += [Refusal(item=fact.content, reason=_NOT_FIRM) for fact in left if fact]
    draft = draft.with_additions(grounded)
    return replace(draft, as_said=tuple(set_aside), refused=(*draft.refused, *refused))


def judge_addition(addition: Addition, draft: Draft, said: SaidWords) -> tuple[Addition, Judgement]:
    """Return whether *addition* is plain, kept as said or refused, without the dates that were not said if it then is.

    Nothing else decides that. Kept as said is what the quoted words do not support, if they are a statement of the
    user, and admitted.
    """
    addition, judged = said.judge_without_other_dates(addition, draft.policy.grounding)
    return addition, _admitted(addition, judged, draft)


def _admitted(addition: Addition, judged: Judgement, draft: Draft) -> Judgement:
    """Return *judged*, and refuse what is not admitted; an action that is plain waits for a person."""
    is_strict = draft.policy.grounding == "strict"
    is_plain = judged.outcome == "plain" and is_strict and judged.quoted
    acts = _action_in(addition.content) if is_plain else ""
    if judged.outcome != "as said" and not acts:
        return judged
    texts = (addition.content, addition.source_error or "", *(item.quote for item in addition.evidence), addition.quote)
    is_admitted = not draft.changes.origin and not problem_of("\n".join(texts))
    if acts:  # what is not admitted may wait for a person
        return judged._replace(outcome="as said", problem=acts) if is_admitted else judged
    return judged if is_admitted else judged._replace(outcome="refused")


def _action_in(content: str) -> str:
    """Return why an agent might act by *content*; empty if it might not."""
    return _MAY_ACT if may_act(content) else _MAY_ORDER if orders_assistant(content) else ""


def _with_modality(addition: Addition) -> Addition:
    """Return *addition* as firm as its words are, unless a model has read them. What is not firm ends no fact.

    A clause that is firm suffices: "Got married, plans a party for May."
    """
    modality = None if addition.checked else modality_of(addition.content)
    if modality not in UNFIRM or has_firm_clause(addition.content):
        return addition.model_copy(update={"modality": modality}) if modality else addition
    return addition.model_copy(update={"modality": modality, "slot": None, "replaces": ()})


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

    def __init__(self, turns: Sequence[Turn], memory: MemoryDocument) -> None:
        self._turns = list({turn.id: turn for turn in turns}.values())
        self._users = [turn for turn in self._turns if turn.is_users]
        self._own_words = {turn.id: turn.own_words for turn in self._turns}
        self._texts = [self._own_words[turn.id] for turn in self._users]
        self._memory = memory
        self._finder = QuoteFinder(self._turns)
        self._previous = {after.id: before for before, after in pairwise(self._turns) if before.role == "ai"}
        """The turn of the assistant just before a turn."""
        self._statements: dict[tuple[str, str], Statement] = {}
        self._next = {before.id: after for before, after in pairwise(self._turns)}

    def judge(self, addition: Addition, mode: Grounding) -> Judgement:
        """Return whether *addition* rests on the user's words."""
        quote = addition.quote or next((evidence.quote for evidence in addition.evidence), "")
        quoted = self._finder.find(quote) if quote else None
        if quoted is None and addition.category in _CONFIRMABLE and (approach := self._confirmed(quote)):
            quoted, confirmed = approach
            problem = self._missing(addition, quoted, [self._own_words[confirmed.id]], mode)
            return Judgement("refused" if problem else "plain", problem, quoted)
        if mode == "strict" and (problem := self._quote_problem(quote, quoted, addition)):
            is_said = quoted and content_terms(quote) and self._statement(quoted).source == "user"
            return self._as_checked(Judgement("as said" if is_said else "refused", problem, quoted), addition)
        if quoted is None:
            quoted = self._latest_mention(addition)
        answered = self._answered(quoted, addition)
        missing = self._missing(addition, quoted, answered, mode)
        remark = self._remark_problem(quoted, addition, mode) if quoted else None
        if remark or quoted is None or not quoted.words or (missing and mode != "strict"):
            return Judgement("refused" if remark or missing else "plain", remark or missing, quoted)
        outcome = "plain"
        if mode == "strict" and not (answered and not missing and self._is_completed(addition, quoted, answered[-1])):
            missing = self._missing(addition, quoted, [], mode) if answered else missing
            claim = without_named_dates(addition.content)
            outcome = follows(claim, self._statement(quoted), is_supported=not missing)
            outcome = "plain" if outcome == "as said" and self._is_corrected(addition, quoted) else outcome
            missing = missing or _needs_its_talk(addition.content, quoted.words)
            outcome = "as said" if missing and outcome == "plain" else outcome
        return self._as_checked(Judgement(outcome, missing or _NOT_PLAIN[outcome], quoted), addition)

    def judge_without_other_dates(self, addition: Addition, mode: Grounding) -> tuple[Addition, Judgement]:
        """Judge *addition*, without dates other than those that the user named if it is plain then."""
        judged = self.judge(addition, mode)
        if judged.problem != NO_SUCH_DATE or judged.quoted is None:
            return addition, judged
        texts = [self._dated_words(judged.quoted), *self._question_to(judged.quoted), *self._replaced(addition)]
        content = without_other_dates(addition.content, texts, self._day(addition, judged.quoted))
        cut = addition.model_copy(update={"content": content})
        judged_cut = self.judge(cut, mode)
        return (cut, judged_cut) if judged_cut.outcome == "plain" else (addition, judged)

    def _day(self, addition: Addition, quoted: FoundQuote | None) -> date:
        """Return on which day *addition* was said."""
        return local_day(addition.said_at) or local_day(quoted.turn.at if quoted else "") or UNKNOWN_DAY

    def _is_completed(self, addition: Addition, quoted: FoundQuote, question: str) -> bool:
        """Return whether *question* completes the quoted words: a yes to it, or no clause by themselves."""
        if is_bare_answer(quoted.words) and affirms(quoted.words):  # "please" accepts an offer
            return asks_for(addition.content, question)
        is_yes = affirms(self._own_words[quoted.turn.id], question, addition.content)
        return is_yes or is_fragment(addition.content, self._statement(quoted))

    def _is_corrected(self, addition: Addition, quoted: FoundQuote) -> bool:
        """Return whether *addition* is a fact that it replaces, but for the part that the quoted words correct."""
        said = sentences_of(quoted.words, self._own_words[quoted.turn.id]).touched
        corrections = [found for one in said if (found := read_correction(one))]
        right = {fact_key(correction.of(content)) for content in self._replaced(addition) for correction in corrections}
        is_firm = states_firmly(addition.content, self._statement(quoted))
        return is_firm and fact_key(without_named_dates(addition.content)) in right

    def _as_checked(self, judged: Judgement, addition: Addition) -> Judgement:
        """Return *judged* with what a model found that checked it. It lifts no refusal, and adds no name or date."""
        outcome, _, quoted = judged
        if addition.checked == "yes" and outcome == "as said" and quoted:
            added = self._added(addition, quoted) or _needs_its_talk(addition.content, quoted.words)
            return Judgement("as said" if added else "plain", added, quoted)
        if addition.checked in {"weaker", "no"} and outcome == "plain" and quoted:
            is_users = self._statement(quoted).source == "user"
            return Judgement("as said" if is_users else "refused", _FOUND[addition.checked], quoted)
        return judged

    def _added(self, addition: Addition, quoted: FoundQuote) -> str | None:
        """Return what name, number or date of *addition* the user said neither now nor before."""
        said = "".join(sentences_of(quoted.words, self._own_words[quoted.turn.id]).touched) or quoted.words
        words, refers = content_terms(said), not PRONOUNS.isdisjoint(people_in(said))
        linked = {*addition.replaces, addition.repeats}
        known = [
            fact.content
            for fact in self._memory.facts
            if refers or fact.id in linked or not words.isdisjoint(content_terms(fact.content))
        ]
        before = self._previous.get(quoted.turn.id)
        asked = [self._own_words[before.id]] if before else []
        support, day = self.support([*known, *asked]), self._day(addition, quoted)
        return support.missing_from(addition.content, None, day=day, times=Support([said]))

    def firmness(self, addition: Addition, quoted: FoundQuote) -> tuple[Addition, bool]:
        """Return *addition*, which is kept as said, with what it ends, and whether it is as firm as its sentence.

        It ends nothing unless a clause about it is firm.
        """
        stated = self._statement(quoted)
        kept = addition if states_firmly(addition.content, stated) else addition.model_copy(update={"replaces": ()})
        return kept, addition.checked is None and is_as_firm(addition.content, stated)

    def with_question(self, addition: Addition, quoted: FoundQuote) -> Addition:
        """Return *addition* with the assistant's question that its words answer, if they state nothing without it."""
        question = "".join(self._question_to(quoted)).strip()
        lacks = content_terms(addition.content) - content_terms(quoted.words)
        completes = not lacks.isdisjoint(content_terms(question)) and len(question) <= MAX_QUESTION_CHARS
        if not completes or problem_of(question):
            return addition
        *others, last = addition.evidence
        return addition.model_copy(update={"evidence": (*others, last.model_copy(update={"asked": question}))})

    def _question_to(self, quoted: FoundQuote | None) -> list[str]:
        """Return the last question of the assistant before the turn of *quoted*, if it asked one just before."""
        before = self._previous.get(quoted.turn.id) if quoted else None
        asked = self._own_words[before.id] if before else ""
        return _last_question(asked) if asks(asked) else []

    def _statement(self, quoted: FoundQuote) -> Statement:
        """Return what the quoted words state; each quote is read once, as several rules ask for it."""
        key, before = (quoted.turn.id, quoted.words), self._previous.get(quoted.turn.id)
        if key not in self._statements:
            self._statements[key] = statement(quoted.words, quoted.turn, before.text if before else "")
        return self._statements[key]

    def quote_problem(self, quote: str) -> str | None:
        """Return why *quote* is not a quote of the user that is long enough; None if it is."""
        return self._quote_problem(quote, self._finder.find(quote))

    def _quote_problem(self, quote: str, quoted: FoundQuote | None, claim: Addition | None = None) -> str | None:
        if not quote.strip():
            return "it has no quote of the user"
        if quoted is None:
            return "its quote is not in the user's own words"
        return None if self._is_long_enough(quoted, claim) else "its quote is too short"

    def support(self, extra: Sequence[str]) -> Support:
        """Return what the user's words and the texts *extra* support."""
        return Support([*self._texts, *extra]) if extra else self._support

    def _missing(
        self, addition: Addition, quoted: FoundQuote | None, extra: Sequence[str], mode: Grounding
    ) -> str | None:
        """Return what of *addition* the user's words and *extra* lack, as a reason to refuse it; None for nothing.

        What it replaces completes them, if they have a word of it.
        """
        is_said = addition.replaces and self.support(extra).has_word_of(addition.content)
        texts = [*extra, *(self._replaced(addition) if is_said else ())]
        times = Support([self._dated_words(quoted), *texts]) if quoted and quoted.words else None
        return self.support(texts).missing_from(addition.content, mode, day=self._day(addition, quoted), times=times)

    def _dated_words(self, quoted: FoundQuote) -> str:
        """Return the quoted sentences if they name a time, else all that the user said there."""
        own = self._own_words[quoted.turn.id]
        said = "".join(sentences_of(quoted.words, own).touched)
        return said if names_time(said) else own

    def _replaced(self, addition: Addition) -> list[str]:
        return [fact.content for old in addition.replaces if (fact := self._memory.fact(old))]

    @cached_property
    def _support(self) -> Support:
        return Support(self._texts)

    def _latest_mention(self, addition: Addition) -> FoundQuote | None:
        """Return the latest turn of the user that has most words of *addition*, of which no quote is known."""
        for turn in reversed(self._users):
            if Support([self._own_words[turn.id]]).share(addition.content) >= MIN_SHARE["lenient"]:
                return FoundQuote(turn, "")
        return None

    def _remark_problem(self, quoted: FoundQuote, addition: Addition, mode: Grounding) -> str | None:
        """Return why the sentences of a quote state nothing about the user; None if they do, or answer a question."""
        before = self._previous.get(quoted.turn.id)
        before_it, touched = sentences_of(quoted.words, self._own_words[quoted.turn.id])
        if not quoted.words or (before and asks(self._own_words[before.id])):
            # without a quote nothing is kept as said
            is_other = mode != "strict" and not people_in(addition.content) and all(map(other_subject, touched))
            asks_back = "asked" in self._statement(quoted).marks if quoted.words else all(map(asks, touched))
            is_no_answer = touched and not affirms(self._own_words[quoted.turn.id]) and (asks_back or is_other)
            return "its quote asks back, or is about another person" if is_no_answer else None
        if touched and all(map(is_about_assistant, touched)):
            return "it is about the assistant, not about the user"
        goes_on = mentions_user(before_it)
        may_pass = addition.category in _OF_REMARKS and not addition.replaces  # what ends a known fact matters
        if may_pass and touched and not goes_on and all(map(is_passing_remark, touched)):
            return PASSING_REMARK
        return None

    # -- answers to the assistant -----------------------------------------------------------------

    def _is_long_enough(self, quoted: FoundQuote, claim: Addition | None) -> bool:
        """Return whether the words of a quote suffice: so many content words, a whole clause, or an answer."""
        terms = [term for term in extract_terms(quoted.words) if is_unit(term)]
        characters = sum(map(is_chinese, terms))
        is_long = characters >= MIN_QUOTE_CHARACTERS or len(terms) - characters >= MIN_QUOTE_WORDS
        answered = self._answered(quoted, claim)
        if is_bare_answer(quoted.words):  # says only what was asked: the user's other words do not complete it
            asked = content_terms("\n".join(answered))
            return bool(answered) and (claim is None or not asked.isdisjoint(content_terms(claim.content)))
        if is_long or answered:
            return True
        clauses = (content_terms(clause) for clause in _CLAUSE.split(self._own_words[quoted.turn.id]))
        return bool(terms) and any(clause and clause.issubset(terms) for clause in clauses)

    def _answered(self, quoted: FoundQuote | None, claim: Addition | None = None) -> list[str]:
        """Return the questions of the assistant that complete the quoted answer of the user.

        A yes completes the last question, which has to state *claim* itself. A short answer, or the first clause of a
        longer one, completes all if it names what it chose, or says something of *claim* that was not asked. Without a
        claim only a yes counts.
        """
        question = self._question_to(quoted)
        if quoted is None or not question:
            return []
        answer, asked = self._own_words[quoted.turn.id], self._own_words[self._previous[quoted.turn.id].id]
        may_consent = claim is None or offers("".join(question))
        if affirms(answer, "".join(question), claim.content if claim else "") or (may_consent and consents(answer)):
            return question
        is_short = len(words_of(answer)) <= MAX_ANSWER_WORDS
        questions = [part for part in _PART.findall(asked) if part.endswith(_ASKING)]
        read = list(islice(clauses_of(answer), None if is_short else 1))
        return questions if claim and _gives_answer(read, claim.content, questions) else []

    def _confirmed(self, quote: str) -> tuple[FoundQuote, Turn] | None:
        """Return the turn in which the user confirmed an approach, and that in which the assistant proposed it."""
        proposed = self._finder.find_assistants(quote) if quote else None
        answer = self._next.get(proposed.id) if proposed else None
        if proposed is None or answer is None or not answer.is_users:
            return None
        words, said = self._own_words[answer.id], self._own_words[proposed.id]
        if asks(said):
            confirms = consents(words) and any(find_quote(quote, part) for part in _last_question(said))
        else:
            confirms = affirms(words) or "reinforcement" in detect([answer], load_signals())
        return (FoundQuote(answer, words), proposed) if confirms else None


def _needs_its_talk(content: str, said: str) -> str | None:
    """Return why *content* and what it rests on are clear only among other words: "She is late", "Forget my age"."""
    is_unclear = lacks_referent(content) and lacks_referent(said)
    return _OF_WORDS if is_unclear or words_to_forget(content) else None


def _last_question(asked: str) -> list[str]:
    """Return the last question of the assistant; with the sentence before it if it only asks whether that is right."""
    parts = [part for part in _PART.findall(asked) if part.strip()]
    last = max((at for at, part in enumerate(parts) if part.endswith(_ASKING)), default=-1)
    return parts[max(0, last - is_tag(parts[last])) : last + 1] if last >= 0 else []


def _gives_answer(clauses: Sequence[Clause], content: str, questions: Sequence[str]) -> bool:
    """Return whether one of *clauses* is a part of *content*, or has words of it that were not in the questions.

    A clause that asks or denies does not count, nor does one about another person, and none after an opening denial.
    """
    claimed, asked = _stems(content), _stems("\n".join(questions))
    for number, clause in enumerate(clauses):
        if denies(clause.text):
            if not number:
                return False
            continue
        terms = list(map(stems_of, content_words(clause.text)))
        states = terms and not clause.asks and not other_subject(clause.text)
        known = [term for term in terms if not term.isdisjoint(claimed)]
        if states and (len(known) == len(terms) or any(map(asked.isdisjoint, known))):
            return True
    return False


def _stems(text: str) -> frozenset[str]:
    return frozenset[str]().union(*map(stems_of, content_words(text)))
