"""The offline chat model: reads the update prompt, answers by a classifier and a few rules."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import partial
from itertools import chain, filterfalse
from typing import Any, ClassVar

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import Field

from memgraph.analysis.corrections import read_correction
from memgraph.analysis.endings import end_probability
from memgraph.analysis.normalize import clean, find_whole, fold
from memgraph.analysis.requests import words_to_forget
from memgraph.analysis.similarity import sentence_similarity
from memgraph.analysis.statement import classes_of, read_words, states_only_past
from memgraph.analysis.words import language_of, states_standing_need
from memgraph.errors import EmbeddingError
from memgraph.llm.offline.extraction import Embed, Ending, Extraction, find_all
from memgraph.llm.offline.sentences import MAX_CHARS, Sentence, read_sentences, read_statements
from memgraph.llm.offline.slot_statements import find_known_slot
from memgraph.models.values import JsonObject
from memgraph.prompts.update_prompt import ShownFact, read_facts, read_turns
from memgraph.prompts.upkeep_prompt import read_groups, read_summaries
from memgraph.rules.end import topic_terms

logger = logging.getLogger("memgraph.llm")

MAX_ESCAPED = 5 * MAX_CHARS + 100
"""Maximum characters of an escaped turn: escaping makes at most five of one."""
MIN_NAMED = 0.5
"""More than this share of the words of a standing need must recur in the words that end it, or that are only past."""
MAX_SENTENCES = 3
"""Sentences in a row that end a fact together."""
UNREAL = frozenset({"conditional", "fiction", "jests"})
"""Classes of words with which a sentence ends nothing."""
MIN_PROBABILITY = 0.205
"""From which words end a fact.

Moved by a quarter it is noticed by benchmarks/life_changes.py."""
_TAGS = ("<conversation>", "<group>", "<old>", "<summaries>", "<learned>")
"""One of them is in each prompt that it answers."""


def answer(prompt: str, embed: Embed | None = None) -> JsonObject:
    """Return the update for the conversation in *prompt*; missing parts of it are empty, and empty parts left out.

    Raises:
        EmbeddingError: From *embed*.
    """
    known = tuple(read_facts(prompt))
    findings = _last_of_each_slot(find_all(tuple(read_turns(_shortened(prompt))), embed, partial(find_endings, known)))
    resolved = [addition for finding in findings if (addition := resolve(finding, known))]
    return {"newFacts": [_to_fact(one, replaced or one.ends) for one, replaced in resolved]}


def _shortened(prompt: str) -> str:
    """Return the turns of *prompt*, each cut to the part that is read: unescaping megabytes would take seconds."""
    *turns, _ = prompt.partition("<conversation>")[2].split("</turn>")
    return "".join(f"{turn[:MAX_ESCAPED]}</turn>" for turn in turns)


def _last_of_each_slot(findings: Sequence[Extraction]) -> list[Extraction]:
    """Of several values of one slot the last counts; a tentative one only if there is no other."""
    certain_last = sorted(findings, key=lambda finding: not finding.is_tentative)
    last = {finding.slot: finding for finding in certain_last if finding.slot}
    return [finding for finding in findings if not finding.slot or last[finding.slot] is finding]


def find_endings(known: Sequence[ShownFact], text: str) -> Mapping[str, Ending]:
    """Return by the statements in *text* that end one of the facts *known* which one that is, and what holds instead.

    A change may take more than one sentence: "That was my last shift. They have a new cook at the Anchor now."
    A condition and fiction end nothing.
    """
    sentences = [each for each in read_sentences(text) if classes_of(read_words(each.text)).isdisjoint(UNREAL)]
    found = dict[str, Ending]()
    read = [read_statements(sentence) for sentence in sentences]
    terms = {fact: topic_terms(fact.content) for fact in known}
    for start in range(max(1, len(sentences) - MAX_SENTENCES + 1)):
        window = slice(start, start + MAX_SENTENCES)
        statements = [*chain.from_iterable(read[window])]
        if statements and (fact := _ended_by([*map(_with_stop, sentences[window])], terms)):
            found[max(statements, key=partial(end_probability, fact.content))] = Ending(fact.id)
    for statement in chain.from_iterable(read):
        if forgotten := topic_terms(words_to_forget(statement)):
            shares = {fact: len(of & forgotten) / (len(of) or 1) for fact, of in terms.items()}
            if (fact := max(shares, key=lambda one: shares[one], default=None)) and shares[fact] > MIN_NAMED:
                found[statement] = Ending(fact.id)
        if correction := read_correction(statement):
            corrected = ((fact.id, correction.of(fact.content)) for fact in known)
            found.update((statement, Ending(*one)) for one in corrected if one[1])
    return found


def _ended_by(sentences: Sequence[str], terms: Mapping[ShownFact, AbstractSet[str]]) -> ShownFact | None:
    """Return the fact that *sentences* most probably end, if any, of those of whose *terms* they have one.

    Most of a standing need must be named: "I quit nuts" ends no allergy. So must most of a fact if they state only the
    past of it: "We used to live in Ghent." ends no life in Aachen.
    """
    text = " ".join(sentences)
    said, present = topic_terms(text), topic_terms("\n".join(filterfalse(states_only_past, sentences)))
    probable = [
        (end_probability(fact.content, text), fact)
        for fact, of in terms.items()
        if len(said & of) > MIN_NAMED * len(of) * (states_standing_need(fact.content) or present.isdisjoint(of))
    ]
    probability, fact = max(probable, key=lambda pair: pair[0], default=(0, None))
    return fact if probability >= MIN_PROBABILITY else None


def _with_stop(sentence: Sentence) -> str:
    stops = {"en": ".?", "zh": "。？"}[language_of(sentence.text)]
    return f"{sentence.text}{stops[sentence.is_asked]}"


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

    It repeats a fact with its value, and its role if it names one. A known fact fills a slot as a model named it, or by
    its standard wording. None if the finding is tentative and contradicts one.
    """
    if finding.filled is None:
        return finding, ()
    slots = {finding.slot, *finding.filled.ends}
    rivals = [fact for fact in known if (fact.slot or find_known_slot(fact.content)) in slots]
    for fact in rivals:
        values = filter(None, (finding.filled.value, finding.filled.role))  # each a whole word, in any case
        if all(find_whole(_plain(value), _plain(fact.content)) >= 0 for value in values):
            return (finding._replace(content=fact.content) if finding.filled.content else finding), ()
    if rivals and finding.is_tentative:
        return None
    return finding, tuple(fact.id for fact in rivals)


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
    return {"merge": merges, "end": [], **({"summaries": summaries} if summaries else {})}


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
