"""Check what ends known facts: words of the user that end them, or an addition that may replace them."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain, islice

from memgraph.analysis.endings import end_probability
from memgraph.analysis.lasting import confidence_of
from memgraph.analysis.names import names_of
from memgraph.analysis.normalize import fold, words_of
from memgraph.analysis.parts import parts_of
from memgraph.analysis.quotes import QuoteFinder, sentences_of
from memgraph.analysis.remarks import names_life_event
from memgraph.analysis.signals import find_change
from memgraph.analysis.similarity import Profile
from memgraph.analysis.statement import PRONOUNS, read_words, statement, states_firmly
from memgraph.analysis.subjects import dropped_subject, other_subject, people_in
from memgraph.analysis.turns import asks
from memgraph.analysis.words import language_of
from memgraph.models import Addition, Fact, Removal
from memgraph.rules.add import rejection_reason
from memgraph.rules.draft import Draft
from memgraph.rules.end import asked_before, is_later, is_related, named_share, quoted_sentences, topic_terms
from memgraph.rules.pending import hold
from memgraph.rules.support import Support

MAX_ENDED = 2
"""Known facts that an addition ends because the model names them."""

MIN_ENDING = 7e-4
"""Probability that what was said ends a fact, times that the claim lasts, from which a model that names one is right.

Moved by a quarter it is noticed by what benchmarks/life_changes.py has a model name."""
SURE_LASTING, SURE_LASTING_OF_EVENT, SURE_SAID = 0.4, 0.1, 0.8
"""Probability that a claim lasts from which it is more than small talk; of one with a word for an event of a life; of
the sentence that it quotes. The same measures them."""

_UNENDED = "no words of the user end it"
_OTHER_PERSON = "what was said is about another person"
_TOO_MANY = f"a new fact ends at most {MAX_ENDED} facts that the model names"
_UNRELATED = "what was said has nothing to do with it"
_ENDING_MARKS = frozenset({"denials", "dislikes", "ends", "pasts"})
_CLAUSE_END = re.compile(
    r"[,;:()，；：。]|\b(?:and|but|because|since|that|que|dass)\b|(?<=.)(?=\bI\b|我)", re.IGNORECASE
)


def check_endings(draft: Draft) -> Draft:
    """Hold back what neither words of the user nor an admitted addition ends.

    A removal needs a quote that states the end of that fact, unless the policy trusts the model. An addition replaces
    facts about the same person only. If it names more than MAX_ENDED facts, it replaces the most related ones. One that
    has nothing to do with it ends only if it is the only such one of the update. Neither counts for what a check found
    to end. What a person wrote passes, and so does an upkeep, which asks about facts that the rules chose.
    """
    changes = draft.changes
    if changes.asked is not None:
        return draft
    proposed = (*changes.additions, *(one.addition for one in draft.as_said))
    # what is rejected anyway replaces nothing
    judged = [one for one in proposed if not (one.edited_by_user or rejection_reason(one, draft.policy))]
    unrelated = _unrelated(judged, draft)
    reasons = {addition.id: _not_replaced(addition, draft, unrelated) for addition in judged}
    held: dict[str, str] = {}
    for fact_id, reason in (item for found in reasons.values() for item in found.items()):
        held.setdefault(fact_id, reason)

    def replaced(addition: Addition) -> tuple[str, ...]:
        return tuple(old for old in addition.replaces if old not in reasons.get(addition.id, {}))

    additions = (one.model_copy(update={"replaces": replaced(one)}) for one in changes.additions)
    set_aside = tuple(one.ending(_said_before(one.addition, replaced(one.addition), draft)) for one in draft.as_said)
    unended = frozenset(removal.id for removal in changes.removals if _is_unended(removal, draft))
    held |= {fact_id: _UNENDED for fact_id in unended if fact_id not in held}
    checked = tuple(removal for removal in changes.removals if removal.id not in unended)
    changes = changes.model_copy(update={"additions": tuple(additions), "removals": checked})
    return _hold(replace(draft, changes=changes, as_said=set_aside), held)


def _hold(draft: Draft, held: dict[str, str]) -> Draft:
    """Hold back the removals of *held*, ids with reasons, unless they wait already; manual facts just stay."""
    waiting = {fact_id for item in draft.memory.pending if not item.facts for fact_id in item.removes}
    by_reason: dict[str, list[Removal]] = defaultdict(list)
    for fact in draft.memory.facts:
        if reason := held.get(fact.id):
            if fact.is_manual or fact.id in waiting:
                note = "a person wrote it" if fact.is_manual else "its removal waits for a decision"
                draft = draft.with_refusal(fact.content, f"{note}, so it stays: {reason}")
            else:
                by_reason[reason].append(Removal(id=fact.id, reason=reason))
    for reason, removals in by_reason.items():
        draft = hold(draft, reason, removals=removals)
    return draft


# -- replacements ----------------------------------------------------------------------------------


def _unrelated(additions: Iterable[Addition], draft: Draft) -> frozenset[str]:
    """Return the known facts that *additions* name and have nothing to do with, unless it is a single one.

    A model that read both facts may be right about one, if the new one may last or the user's words may end the
    known one; a model that names several repeats what it was shown.
    """
    if draft.policy.grounding == "off":
        return frozenset()
    found = [
        (fact, addition)
        for addition in additions
        for old in dict.fromkeys(addition.replaces)
        if old not in addition.ends
        if (fact := draft.memory.fact(old)) and not _is_about(addition, fact, draft)
    ]
    ids = frozenset(fact.id for fact, _ in found)
    if len(ids) == 1 and any(_may_end(one, fact, draft) for fact, one in found):
        return frozenset()
    return ids


def _said_before(addition: Addition, ids: Iterable[str], draft: Draft) -> tuple[str, ...]:
    return tuple(old for old in ids if is_later(addition, draft.memory.fact(old)))


def _is_about(addition: Addition, fact: Fact, draft: Draft) -> bool:
    """Return whether *addition* has to do with *fact*; of a claim that is kept as said only the user's words count."""
    if all(addition.id != one.addition.id for one in draft.as_said):
        return is_related(addition, fact, draft.slots)
    return _names_topic("".join(quoted_sentences(addition, draft.turns)), fact)


def _names_topic(said: str, fact: Fact) -> bool:
    """Return whether *said* has a word that names what *fact* is about."""
    return not topic_terms(said).isdisjoint(topic_terms(fact.content))


def _not_replaced(addition: Addition, draft: Draft, unrelated: frozenset[str]) -> dict[str, str]:
    """Return the known facts that *addition* names and does not replace, with the reasons."""
    named = [fact for old in dict.fromkeys(addition.replaces) if (fact := draft.memory.fact(old))]
    if not named:
        return {}
    said = "".join(quoted_sentences(addition, draft.turns))
    named = [fact for fact in named if fact.id not in addition.ends]
    is_other = _lacks_subject(addition.content, said, draft)
    others = [fact for fact in named if is_other or not _is_same_person(addition.content, said, fact, draft)]
    reasons = {fact.id: _OTHER_PERSON for fact in others}
    named = [fact for fact in named if fact.id not in reasons]
    if len(named) > MAX_ENDED:
        related = [fact for fact in named if is_related(addition, fact, draft.slots)]
        ended = sorted(related, key=lambda fact: -named_share(addition, fact))[:MAX_ENDED]
        reasons |= {fact.id: _TOO_MANY for fact in named if fact not in ended}
    return {fact.id: _UNRELATED for fact in named if fact.id in unrelated} | reasons


def _is_same_person(content: str, said: str, fact: Fact, draft: Draft) -> bool:
    """Return whether *content*, which rests on the sentence *said*, may be about the person whom *fact* is about.

    A fact may state something about several.
    """
    new = _person(content, draft) or _leading_name(content) or _person_of_sentence(content, said, draft)
    parts = parts_of(fact.content, [one.quote for one in fact.evidence])
    return any(
        _may_be_one(new, _person(part, draft) or _leading_name(part), f"{content}\n{said}", part) for part in parts
    )


def _may_be_one(new: str, known: str, said: str, fact: str) -> bool:
    return new == known or ((not new or _names(fact, new)) and (not known or _names(said, known)))


def _lacks_subject(content: str, said: str, draft: Draft) -> bool:
    """Return whether *content* lacks the other person whom *said* is about: see `dropped_subject`."""
    return not _person(content, draft) and dropped_subject(content, said) != ""


def _person(content: str, draft: Draft) -> str:
    """Return the person other than the user whom *content* is about; "Partner is Ada." states something of the user."""
    person = other_subject(content)
    return "" if draft.slots.normalize(person) else person


def _person_of_sentence(content: str, said: str, draft: Draft) -> str:
    """Return the person whom *said* is about, unless *content* names that person as well: "Had a daughter."."""
    person = _person(said, draft)
    return "" if person in people_in(content) else person


def _leading_name(content: str) -> str:
    """Return the name with which *content* begins, such as "lena" of "Lena is married."; empty if there is none."""
    name, second = islice(chain(names_of(content), ("", "")), 2)
    is_verb = second and read_words(name)[0].form == "past"  # "Left Siemens."
    return name if fold(content).startswith(name) and not is_verb else ""


def _names(text: str, person: str) -> bool:
    """Return whether *text* names *person*, or may by a pronoun."""
    people = people_in(text)
    is_named = person in people or person in words_of(text)
    return is_named or (person in PRONOUNS and bool(people)) or not PRONOUNS.isdisjoint(people)


# -- removals --------------------------------------------------------------------------------------


def _is_unended(removal: Removal, draft: Draft) -> bool:
    """Return whether no words of the user end the fact of *removal*; False for an unknown or manual one.

    A person needs no words of the user.
    """
    fact = draft.memory.fact(removal.id)
    if removal.edited_by_user or fact is None or fact.is_manual or draft.policy.grounding == "off":
        return False
    found = QuoteFinder(draft.turns).find(removal.quote) if removal.quote else None
    if found is None:
        return True
    sentences = sentences_of(found.words, found.turn.own_words).touched
    said = "".join(sentences)
    is_other = _lacks_subject(fact.content, said, draft) or not _is_same_person(said, said, fact, draft)
    if any(map(asks, sentences)) or not _names_topic(said, fact) or is_other:
        return True
    about = [clause for clause in _CLAUSE_END.split(said) if _names_topic(clause, fact)]
    ends = bool(about) and all(map(_announces_end, about))  # "Don't forget I'm allergic" does not
    return not (ends and states_firmly(fact.content, statement(found.words, found.turn)))


def _announces_end(said: str) -> bool:
    """Return whether *said* has words of a change or a denial."""
    return find_change(said) is not None or not _ENDING_MARKS.isdisjoint(Profile(said).marks)


def _may_end(addition: Addition, fact: Fact, draft: Draft) -> bool:
    """Return whether *addition* may last, or its sentence may end *fact*.

    A claim that has no word of its sentence, or of the question that it answers, states nothing that the user said: the
    sentence is read in its place.
    """
    said = "".join(quoted_sentences(addition, draft.turns))
    is_said = Support([said, asked_before(said, draft.turns)]).has_word_of(addition.content)
    claim = addition.content if is_said else said
    lasts = confidence_of(claim, language_of(claim))
    sure = SURE_LASTING_OF_EVENT if names_life_event(claim) else SURE_LASTING
    is_sure = is_said and (lasts >= sure or confidence_of(said, language_of(said)) >= SURE_SAID)
    return is_sure or lasts * end_probability(fact.content, said) >= MIN_ENDING
