"""Hints: what the prompt points out in the conversation, so that a small model overlooks less of it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from collections.abc import Set as AbstractSet
from heapq import nlargest
from typing import NamedTuple

from memgraph.analysis.lasting import confidence_of
from memgraph.analysis.normalize import escape, single_line
from memgraph.analysis.remarks import is_about_period, mentions_user
from memgraph.analysis.sentences import cut_at_sentence, sentences
from memgraph.analysis.words import Language
from memgraph.models import Turn
from memgraph.prompts.template import load_template, substitute

MIN_PROBABILITY = 0.4
"""Probability of being worth remembering from which a sentence is pointed out."""
MIN_SENTENCES = 4
"""Of the user; a shorter conversation is read whole by any model."""
MAX_SENTENCES = 8
"""Sentences that are pointed out, the most probable ones."""
MAX_CLASSIFIED = 16
"""Sentences that are classified, the longest ones."""
MAX_CHARS = 200
"""Characters of a sentence that is pointed out."""

_ASKING = ("?", "？")


class _Sentence(NamedTuple):
    turn: int
    """The number of its turn in the prompt, from 1."""
    text: str


def render_hints(
    signal_hints: Iterable[str],
    turns: Sequence[Turn],
    new_ids: AbstractSet[str],
    language: Language,
) -> str:
    """Return the hints of the signals and the sentences that may be worth remembering, as a list; empty without any.

    Args:
        signal_hints: One for each signal that was detected.
        turns: The turns that the prompt shows, in its order.
        new_ids: The ids of those to learn from.
        language: Of the prompt, and of the sentences.
    """
    template = load_template(language)
    pointed_out = (
        _render_sentence(sentence, template.lasting) for sentence in _lasting_sentences(turns, new_ids, language)
    )
    lines = "\n".join(f"- {hint}" for hint in (*signal_hints, *pointed_out))
    return substitute(template.hints, hints=lines) if lines else ""


def _lasting_sentences(turns: Sequence[Turn], new_ids: AbstractSet[str], language: Language) -> list[_Sentence]:
    """Return the sentences of the user in the new turns that are probably worth remembering, in their order."""
    numbered = enumerate(turns, 1)
    texts = [(number, turn.own_words) for number, turn in numbered if turn.is_users and turn.id in new_ids]
    said = [_Sentence(number, sentence.strip()) for number, text in texts for sentence in sentences(text)]
    if len(said) < MIN_SENTENCES:
        return []
    # an English sentence without a word for the user is hardly ever worth it; a Chinese one often leaves it out
    own = [
        sentence
        for sentence in said
        if not sentence.text.endswith(_ASKING) and (language == "zh" or mentions_user(sentence.text))
    ]
    longest = nlargest(MAX_CLASSIFIED, range(len(own)), key=lambda place: len(own[place].text))
    probabilities = {place: _rate(own[place].text, language) for place in longest}
    likely = [place for place, probability in probabilities.items() if probability >= MIN_PROBABILITY]
    chosen = nlargest(MAX_SENTENCES, likely, key=probabilities.__getitem__)
    return [own[place] for place in sorted(chosen)]


def _rate(sentence: str, language: Language) -> float:
    """Return the probability that *sentence* is worth remembering, of what the user does these days at least the least.

    The classifier learned from what lasts for years.
    """
    probability = confidence_of(sentence, language)
    return max(probability, MIN_PROBABILITY) if is_about_period(sentence) else probability


def _render_sentence(sentence: _Sentence, template: str) -> str:
    text = escape(cut_at_sentence(single_line(sentence.text), MAX_CHARS, len))
    return substitute(template, number=str(sentence.turn), sentence=text)
