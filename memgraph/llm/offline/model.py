"""The offline chat model: reads the update prompt, answers by a classifier and a few rules."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, ClassVar

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from memgraph.errors import EmbeddingError
from memgraph.llm.offline.extraction import Embed, Extraction, find_all
from memgraph.llm.offline.sentences import MAX_CHARS
from memgraph.llm.offline.slot_statements import find_known_slot
from memgraph.prompts.parse import JsonObject
from memgraph.prompts.update_prompt import ShownFact, read_facts, read_turns
from memgraph.prompts.upkeep_prompt import read_groups, read_summaries
from memgraph.rules.end import topic_terms
from memgraph.text.names import names_of
from memgraph.text.normalize import clean, fold, words_of
from memgraph.text.relative_days import weekdays_in
from memgraph.text.signals import find_change
from memgraph.text.similarity import Profile, sentence_similarity
from memgraph.text.statement import Word, classes_of, read_words
from memgraph.text.subjects import dropped_subject
from memgraph.text.words import states_standing_need

logger = logging.getLogger("memgraph.llm")

MAX_ESCAPED = 5 * MAX_CHARS + 100
"""Maximum characters of an escaped turn: escaping makes at most five of one."""
MIN_NAMED = 0.5
"""More than this share of the words of a standing need must recur in the words that end it."""
_TAGS = ("<conversation>", "<group>", "<old>", "<summaries>", "<learned>")
"""One of them is in each prompt that it answers."""


def answer(prompt: str, embed: Embed | None = None) -> JsonObject:
    """Return the update for the conversation in *prompt*; missing parts of it are empty, and empty parts left out.

    Raises:
        EmbeddingError: From *embed*.
    """
    known = tuple(read_facts(prompt))
    endings = Endings(known)
    findings = _last_of_each_slot(find_all(tuple(read_turns(_shortened(prompt))), embed, endings.ended_by))
    resolved = [addition for finding in findings if (addition := resolve(finding, known))]
    return {"newFacts": [_to_fact(one, replaced or endings.ended_by(one.quote)) for one, replaced in resolved]}


def _shortened(prompt: str) -> str:
    """Return the turns of *prompt*, each cut to the part that is read: unescaping megabytes would take seconds."""
    *turns, _ = prompt.partition("<conversation>")[2].split("</turn>")
    return "".join(f"{turn[:MAX_ESCAPED]}</turn>" for turn in turns)


def _last_of_each_slot(findings: Sequence[Extraction]) -> list[Extraction]:
    """Of several values of one slot the last counts; a tentative one only if there is no other."""
    certain_last = sorted(findings, key=lambda finding: not finding.is_tentative)
    last = {finding.slot: finding for finding in certain_last if finding.slot}
    return [finding for finding in findings if not finding.slot or last[finding.slot] is finding]


class Endings:
    """What ends the facts that a prompt shows, by the user's words alone.

    Args:
        known: These facts.
    """

    def __init__(self, known: Sequence[ShownFact]) -> None:
        self._named = [(fact, topic_terms(fact.content)) for fact in known if find_change(fact.content) != "ends"]

    def ended_by(self, text: str) -> tuple[str, ...]:
        """Return the id of the fact that the statement *text* ends; empty if there is none.

        It names what the fact is about, and announces an end or denies all of the fact: "I ate no nuts today" ends no
        allergy. Most of a standing need must be named: nor does "I quit nuts"; and all of what was so before: "I used
        to live in Bath" ends no other home. Of several facts it ends the one that it names most of.
        """
        words, profile, is_end, days = read_words(text), Profile(text), find_change(text) == "ends", weekdays_in(text)
        said, qualified, is_past = topic_terms(text), _qualified(text, words), "past" in classes_of(words)
        denies = not is_end and not any(word.lemma == "do" and word.form == "past" for word in words)  # on one occasion
        shares = {
            fact: sum(qualified.get(term, terms) <= terms for term in said & terms) / len(terms)
            for fact, terms in self._named
            if said & terms
        }
        about = [
            fact
            for fact, share in shares.items()
            if share
            and (share == 1 or not is_past)
            and (share > MIN_NAMED or not states_standing_need(fact.content))
            and (is_end or (denies and profile.opposes(Profile(fact.content))))
            and not (days and (others := weekdays_in(fact.content)) and days.isdisjoint(others))
            and not dropped_subject(fact.content, text)
        ]
        return tuple(fact.id for fact in sorted(about, key=lambda fact: -shares[fact])[:1])


def _qualified(text: str, words: Sequence[Word]) -> Mapping[str, frozenset[str]]:
    """Return by the term of a noun that of the next one, which it only qualifies: "the dog crate" is not the dog."""
    names = {part for name in names_of(text) for part in words_of(fold(name))}
    return {
        term: topic_terms(other.text)
        for one, other in pairwise(words)
        if one.text.isascii() and one.text not in names and not (one.form or one.classes or other.form or other.classes)
        for term in topic_terms(one.text)
    }


def _to_fact(finding: Extraction, replaced: tuple[str, ...]) -> JsonObject:
    optional = {"slot": finding.slot, "sourceError": finding.source_error, "replaces": replaced}
    return {
        "turn": finding.turn,
        "quote": finding.quote,
        "content": finding.content,
        "category": finding.category,
        "confidence": finding.confidence,
        **{key: value for key, value in optional.items() if value},
    }


class OfflineChatModel(BaseChatModel):
    """Keeps the sentences in which users state something lasting about themselves, in English and Chinese.

    It answers the prompts of the update and the upkeep and nothing else, without a network. The same
    prompt always has the same answer.

    Args:
        embeddings: The embedding model `local`, by which it finds more. If it fails, words alone decide, and a warning
            is logged.
    """

    embeddings: Embeddings | None = Field(default=None, exclude=True)
    can_check: ClassVar[bool] = False
    """It does not decide whether a claim follows: see `Checkers`."""

    @property
    def _llm_type(self) -> str:
        return "memgraph-offline"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - so is this
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - so is this
        **kwargs: Any,  # noqa: ANN401, ARG002 - the signature is BaseChatModel's
    ) -> ChatResult:
        prompt = _prompt(messages)
        found = self._answer(prompt) if "<conversation>" in prompt or not prompt else answer_upkeep(prompt)
        text = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(text))])

    def _answer(self, prompt: str) -> JsonObject:
        embeddings = self.embeddings
        if embeddings is None:
            return answer(prompt)
        try:
            return answer(prompt, lambda text: embeddings.embed_documents([text])[0])
        except EmbeddingError as error:
            logger.warning("the offline model goes by words alone: %s", error)
            return answer(prompt)


def _prompt(messages: list[BaseMessage]) -> str:
    """Return the last human message that contains a conversation, or known facts; else an empty text."""
    texts = (message.text for message in reversed(messages) if isinstance(message, HumanMessage))
    return clean(next((text for text in texts if any(tag in text for tag in _TAGS)), ""))


def resolve(finding: Extraction, known: Sequence[ShownFact]) -> tuple[Extraction, tuple[str, ...]] | None:
    """Return *finding*, in the words of the known fact that it repeats, and the ids of the facts it replaces.

    None if it is tentative and contradicts a known fact.
    """
    if finding.filled is None:
        return finding, ()
    rivals = _holding(finding.slot, known)
    for fact in rivals:
        if _has(fact.content, finding.filled.value):
            return (finding._replace(content=fact.content) if finding.filled.content else finding), ()
    if rivals and finding.is_tentative:
        return None
    return finding, tuple(fact.id for fact in rivals)


def _holding(slot: str, known: Sequence[ShownFact]) -> list[ShownFact]:
    """Return the known facts that fill *slot*, as a model named it, or by their standard wording."""
    return [fact for fact in known if (fact.slot or find_known_slot(fact.content)) == slot]


def _has(text: str, value: str) -> bool:
    """Return whether *text* contains *value* as a whole word, in any case."""
    whole = rf"(?<![A-Za-z]){re.escape(_plain(value))}(?![A-Za-z])"
    return re.search(whole, _plain(text)) is not None


def _plain(text: str) -> str:
    return " ".join(fold(text).split()).strip(" .。")


MIN_SIMILARITY = 0.95
"""Similarity from which two facts are merged without a model that understands them."""


def answer_upkeep(prompt: str) -> JsonObject:
    """Return which facts of the groups in *prompt* are one, and the summaries as shown: without outdated sentences.

    Whether a fact still holds is not for rules to guess.
    """
    merges = [merge for group in read_groups(prompt) for merge in _merges(group)]
    summaries = [{"section": name, "text": text} for name, text in read_summaries(prompt)]
    return {"merge": merges, "end": []} | ({"summaries": summaries} if summaries else {})


def _merges(group: list[ShownFact]) -> list[JsonObject]:
    """Return for each longest wording the shorter ones that state the same as it."""
    left = sorted(group, key=lambda fact: -len(fact.content))
    merges: list[JsonObject] = []
    while left:
        longest, *others = left
        same = [fact for fact in others if sentence_similarity(longest.content, fact.content) >= MIN_SIMILARITY]
        if same:
            merges.append({"ids": [fact.id for fact in (longest, *same)], "content": longest.content})
        left = [fact for fact in others if fact not in same]
    return merges
