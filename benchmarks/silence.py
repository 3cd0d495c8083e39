"""Whether recall and search stay silent if the memory does not answer, and what a turn of a conversation pays.

    python benchmarks/silence.py [--quick]

From Python, for other texts: `search_rows(facts, queries)` and `silence_row(facts, questions)`. The facts of the larger
memories are LoCoMo's, which is read from outside the checkout.
"""

from __future__ import annotations

import itertools
import json
import random
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from os.path import commonprefix

from common import HERE, Measurement, Row, at_least, at_most, run_standalone, sha256_of
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from locomo import LOCOMO, read_conversations
from ordering import small_model
from sets.intervals import wilson

from memgraph import Fact, MemoryDocument, RecallPipeline
from memgraph.analysis.requests import is_bare_question
from memgraph.analysis.terms import content_terms
from memgraph.analysis.tokens import count_tokens
from memgraph.retrieval.query import asks_in_general
from memgraph.retrieval.split import split

SET = HERE / "sets/silence.json"
QUESTIONS = HERE / "sets/questions.tsv"
CATEGORIES = ("context", "knowledge", "preference", "behavior", "goal", "context", "correction")
TURNS = 50
NOTES = (
    (
        "Search: precision and recall of what is returned, over all queries; a third of the queries shares no word with"
        " its fact. Tokens: the median of the recalled block, which stands after the user's message. Half of the turns"
        " ask something that LoCoMo asks, half something that no fact answers. The set is for development."
    ),
    (
        "Questions of a user have no line in the memory text, unless they state something. By two writers; the first"
        " 300 guided the rule. Of the other 240 none of 120 that state something was left out, and 22 of 120 bare ones."
    ),
    (
        "A question about the user in general, such as what is known of them, is shown what the budget holds. By one"
        " writer: 29 of 60 were recognised before traditional characters were added, and 2 of 60 others taken for one."
    ),
)


def search_rows(
    facts: Sequence[str], queries: Sequence[tuple[str, Sequence[int]]], pipeline: RecallPipeline, name: str
) -> Iterator[Row]:
    """Yield precision and recall of a search for each query and the positions of its facts."""
    memory = MemoryDocument(facts=tuple(Fact(id=str(place), content=text) for place, text in enumerate(facts)))
    found = [{int(each.fact.id) for each in pipeline.search(memory, query)} for query, _ in queries]  # type: ignore[union-attr]
    hits = [
        (place in got, query, place) for got, (query, wanted) in zip(found, queries, strict=True) for place in wanted
    ]
    shared = [hit for hit, query, place in hits if content_terms(query) & content_terms(facts[place])]
    right = sum(hit for hit, _, _ in hits)
    yield Row(f"search, {name}: precision", right / max(1, sum(map(len, found))), "share", bound=at_least(0.6))
    yield Row(f"search, {name}: recall", right / len(hits), "share", note=f"{len(queries)} queries")
    yield Row(f"search, {name}: recall of what shares a word", statistics.fmean(shared), "share", bound=at_least(0.93))


def recalled_tokens(facts: Sequence[Fact], talk: Sequence[BaseMessage], pipeline: RecallPipeline) -> int:
    """Return the tokens of the recalled block of a request."""
    memory = MemoryDocument(facts=tuple(facts))
    return count_tokens(split(pipeline, memory, talk, base=memory).recalled)


def silence_row(facts: Sequence[str], questions: Sequence[str], pipeline: RecallPipeline, name: str) -> Row:
    """Return the median tokens of the block for questions that no fact answers."""
    known = to_facts(facts)
    spent = [recalled_tokens(known, [HumanMessage(question)], pipeline) for question in questions]
    row = f"{len(questions)} questions about nothing known, {len(facts):,} facts, {name}: recalled block"
    return Row(row, statistics.median(spent), "tokens", bound=at_most(200) if name == "lexical" else None)


def to_facts(texts: Sequence[str]) -> list[Fact]:
    """Return facts of all categories."""
    return [Fact(content=text, category=kind) for text, kind in zip(texts, itertools.cycle(CATEGORIES), strict=False)]


def talk_rows(facts: Sequence[str], questions: Sequence[str]) -> Iterator[Row]:
    """Yield what the turns of a conversation pay, and how much before the recalled block the next request repeats."""
    memory, pipeline = MemoryDocument(facts=tuple(to_facts(facts))), RecallPipeline()
    talk, spent, before = list[BaseMessage](), list[int](), list[str]()
    for question in questions:
        talk.append(HumanMessage(question))
        text = split(pipeline, memory, talk, base=memory)
        spent.append(count_tokens(text.recalled))
        before.append("\n".join((text.stable, *(message.text for message in talk))))
        talk.append(AIMessage("Let us look at that together, step by step."))
    shares = [len(commonprefix(pair)) / len(pair[0]) for pair in itertools.pairwise(before)]  # noqa: RUF071 - characters are compared
    name = f"{len(questions)} turns, {len(facts):,} facts"
    yield Row(f"{name}: recalled block", statistics.median(spent), "tokens", bound=at_most(400))
    yield Row(f"{name}: share before it that the next request repeats", min(shares), "share", bound=at_least(0.97))


def question_rows() -> Iterator[Row]:
    """Yield how many questions are left out, of those that state something and of those that only ask."""
    lines = (line.split("\t") for line in QUESTIONS.read_text("utf-8").splitlines() if not line.startswith("#"))
    texts = [(kind, text) for _, kind, text in lines]
    for kind, name in (("states", "that state something"), ("bare", "that only ask")):
        bare = [is_bare_question(text) for label, text in texts if label == kind]
        yield Row(f"questions {name}: left out", sum(bare) / len(bare), "share", *wilson(sum(bare), len(bare)))
    for kind, name in (("general", "about the user in general"), ("particular", "about something else")):
        general = [asks_in_general(text) for label, text in texts if label == kind]
        row = f"questions {name}: shown what the budget holds"
        yield Row(row, sum(general) / len(general), "share", *wilson(sum(general), len(general)))


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure search, silence and the block of a turn."""
    data = json.loads(SET.read_text("utf-8"))
    queries = [(item["query"], item["relevant"]) for item in data["queries"]]
    pipelines = {"lexical": RecallPipeline()}
    if model := None if quick else small_model():
        pipelines["hybrid"] = replace(pipelines["lexical"], ranker="hybrid", embeddings=model)
    rows = [row for name, one in pipelines.items() for row in search_rows(data["facts"], queries, one, name)]
    if LOCOMO.exists():
        conversations = read_conversations(LOCOMO)
        facts = [fact.content for conversation in conversations for fact in conversation.facts]
        asked = [question.text for conversation in conversations for question in conversation.questions]
        random.Random(1).shuffle(facts)  # noqa: S311 - reproducible
        random.Random(1).shuffle(asked)  # noqa: S311
        turns = [text for pair in zip(asked, data["nothing"], strict=False) for text in pair][:TURNS]
        rows += [silence_row(facts[:1_000], data["nothing"], one, name) for name, one in pipelines.items()]
        rows += [row for size in ((200,) if quick else (200, 1_000)) for row in talk_rows(facts[:size], turns)]
    rows += question_rows()
    return Measurement("Silence", rows, data={path.name: sha256_of(path) for path in (SET, QUESTIONS)}, notes=NOTES)


if __name__ == "__main__":
    run_standalone(measure)
