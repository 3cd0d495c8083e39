"""Optional: how often a chat model answers LoCoMo's questions right from what recall tells it. It costs money.

    python benchmarks/question_answering.py --model openai:gpt-4.1-mini --judge openai:gpt-4.1 [--limit 50]

It is no part of the benchmarks that run by themselves. For each question the model is given the text that an agent
would be given, and the judge is shown the question, the right answer and the model's. Adversarial questions are left
out, as they have no answer. LoCoMo is read where it is, beside the checkout (`../shared/data/locomo_dev.json`).
"""

from __future__ import annotations

import argparse
import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

from common import Row, share_row, table
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from locomo import CATEGORY_NAMES, LOCOMO, read_talks
from ordering import small_model
from sets.intervals import hit_row

from memgraph import Fact, IndexCache, MemgraphError, Memory, Policy, recall
from memgraph.llm.call import call
from memgraph.llm.models import chat_model

SEED = 3
ANSWER = (
    "You are asked about two people whose conversations you remember in the notes below. Answer from the notes alone, "
    "in a few words, with dates where they are asked for. If the notes do not say, answer: not known."
)
JUDGE = (
    "You mark answers. You are given a question, the right answer and a student's answer. Say right if the student's "
    "answer means the same as the right one or contains it, whatever its wording or the form of its dates; say wrong "
    "if it is different, incomplete in what matters, or says that it is not known. Reply with one word: right or wrong."
)


@dataclass(frozen=True)
class Asked:
    """A question, its answer, and the memory it is asked of."""

    question: str
    answer: str
    category: int
    memory: Memory


@dataclass(frozen=True)
class Marked:
    """What became of a question."""

    asked: Asked
    said: str = ""
    is_right: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""


def read_questions() -> list[Asked]:
    """Read LoCoMo's questions that have an answer; each fact says when it was said."""
    conversations = json.loads(LOCOMO.read_text("utf-8"))
    return [
        Asked(item["question"], str(item["answer"]), item["category"], memory)
        for conversation, talk in zip(conversations, read_talks(LOCOMO), strict=True)
        for memory in [dated(Memory(facts=talk.facts), conversation["conversation"])]
        for item in conversation["qa"]
        if "answer" in item and CATEGORY_NAMES[item["category"]] != "adversarial"
    ]


def dated(memory: Memory, conversation: Mapping[str, Any]) -> Memory:
    """The memory whose facts say when they were said: what asks for a time cannot be answered otherwise."""

    def with_date(fact: Fact) -> Fact:
        session = "_".join(fact.source.split("_")[:2])
        return fact.model_copy(update={"content": f"{fact.content} (said {conversation[f'{session}_date_time']})"})

    return memory.with_facts(tuple(map(with_date, memory.facts)))


# -- answering and marking ------------------------------------------------------------------------


class Exam:
    """Asks the model, and has the judge mark it."""

    def __init__(self, model: BaseChatModel, judge: BaseChatModel, recalling: partial[str], policy: Policy) -> None:
        self._model = model
        self._judge = judge
        self._recalling = recalling
        self._policy = policy

    def __call__(self, asked: Asked) -> Marked:
        """Ask one question; where a model fails, that is what became of it."""
        notes = self._recalling(asked.memory, [asked.question])
        try:
            said = self._say(self._model, ANSWER, f"{notes}\n\nQuestion: {asked.question}")
            marks = f"Question: {asked.question}\nRight answer: {asked.answer}\nStudent's answer: {text_of(said)}"
            verdict = self._say(self._judge, JUDGE, marks)
            is_right = read_verdict(text_of(verdict))
        except (MemgraphError, ValueError) as error:
            return Marked(asked, error=f"{type(error).__name__}: {error}")
        used = [message.usage_metadata for message in (said, verdict) if message.usage_metadata]
        return Marked(
            asked,
            text_of(said),
            is_right,
            sum(usage["input_tokens"] for usage in used),
            sum(usage["output_tokens"] for usage in used),
        )

    def _say(self, model: BaseChatModel, system: str, human: str) -> AIMessage:
        return call(model, [SystemMessage(system), HumanMessage(human)], self._policy)


def text_of(message: AIMessage) -> str:
    """What a model said."""
    return message.text.strip()


def read_verdict(said: str) -> bool:
    """Read what the judge said.

    Raises:
        ValueError: If it is neither right nor wrong, or both.
    """
    words = set(re.findall(r"[a-z]+", said.casefold())) & {"right", "wrong"}
    if len(words) != 1:
        raise ValueError(f"the judge said neither right nor wrong: {said[:80]!r}")
    return words == {"right"}


def token_f1(said: str, answer: str) -> float:
    """The words that two answers share: a mark that needs no judge, and that is hard on other wordings."""
    ours, theirs = Counter(_words(said)), Counter(_words(answer))
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def _words(text: str) -> list[str]:
    found = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return [word for word in found if word not in {"a", "an", "the", "and"}]


# -- telling --------------------------------------------------------------------------------------


def rows_of(marked: Sequence[Marked]) -> Iterator[Row]:
    """Yield the shares that were right, in all and by kind; what failed counts as wrong."""
    yield hit_row("right, says the judge", [one.is_right for one in marked], note=f"{len(marked)} questions")
    for kind in sorted({one.asked.category for one in marked}):
        hits = [one.is_right for one in marked if one.asked.category == kind]
        yield hit_row(f"right, {CATEGORY_NAMES[kind]}", hits, note=f"{len(hits)} questions")
    yield share_row("words shared with the right answer, F1", [token_f1(one.said, one.asked.answer) for one in marked])
    yield Row("failed", sum(bool(one.error) for one in marked), "questions")
    yield Row("input", sum(one.input_tokens for one in marked), "tokens")
    yield Row("output", sum(one.output_tokens for one in marked), "tokens")


def told(one: Marked) -> str:
    """A question and what became of it, on one line."""
    verdict = f"failed ({one.error})" if one.error else "right" if one.is_right else "wrong"
    return f"{verdict}: {one.asked.question} | {one.asked.answer} | {one.said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="who answers: openai:NAME, or provider:NAME")
    parser.add_argument("--judge", required=True, help="who marks; a stronger model than the one that answers")
    parser.add_argument("--limit", type=int, help="so many questions, drawn the same at every run; default: all")
    parser.add_argument("--budget", type=int, default=2_000, help="tokens of what recall tells")
    parser.add_argument("--ranker", choices=("lexical", "tfidf", "hybrid"), default="lexical")
    parser.add_argument("--jobs", type=int, default=4, help="questions at once")
    parser.add_argument("--timeout", type=float, default=60, help="seconds that one call may take")
    parser.add_argument("--prices", type=float, nargs=2, metavar=("IN", "OUT"), help="of a million tokens")
    given = parser.parse_args()
    if not LOCOMO.exists():
        parser.exit(1, f"LoCoMo is not there: {LOCOMO.name} belongs into shared/data beside the checkout\n")
    embeddings = small_model() if given.ranker == "hybrid" else None
    if given.ranker == "hybrid" and not embeddings:
        parser.exit(1, "hybrid needs the extra local, with its small embedding model\n")
    recalling = partial(recall, max_tokens=given.budget, ranker=given.ranker, embeddings=embeddings, cache=IndexCache())
    policy = Policy(model_timeout_seconds=given.timeout)
    try:
        exam = Exam(chat_model(given.model), chat_model(given.judge), recalling, policy)
    except MemgraphError as error:
        parser.exit(1, f"{error}\n")
    questions = read_questions()
    random.Random(SEED).shuffle(questions)  # noqa: S311 - the same at every run
    marked: list[Marked] = []
    with ThreadPoolExecutor(given.jobs) as pool:
        for one in pool.map(exam, islice(questions, given.limit)):
            marked.append(one)
            print(told(one), flush=True)
    print("", *table(list(rows_of(marked))), sep="\n")
    if given.prices:
        spent = sum(one.input_tokens * given.prices[0] + one.output_tokens * given.prices[1] for one in marked)
        print(f"\ncost: {spent / 1e6:.4f} if both models have these prices")


if __name__ == "__main__":
    main()
