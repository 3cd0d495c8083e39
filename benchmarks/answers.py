"""Whether a yes to a leading question of the assistant is taken for one, and whether anything else is.

    python benchmarks/answers.py [--show]      # print the wrong ones, too

From Python, for other answers: `outcome_of(question, answer, claim)`. The model is scripted: it states the claim as a
fact and quotes the answer, or the question. Each runs through the update graph with a memory of its own.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, NamedTuple, get_args

from common import HERE, Measurement, Row, at_most, sha256_of, table
from langchain_core.messages import AIMessage, HumanMessage
from sets.intervals import wilson

from memgraph import Context, Scope, build_graph, open_storage
from memgraph.testing import ScriptedModel

ANSWERS, UNSEEN = HERE / "sets/answers.tsv", HERE / "sets/answers_unseen.tsv"
MOST_STORED, MOST_LOST = 2, 6
CATEGORIES = ("context", "preference")
NOTES = (
    (
        "Stored: the claim is a fact after the conversation, quoted by the answer or by the question, as context or as"
        " a preference. Lost: it is neither a fact nor kept as said, with its question, although the answer is a yes"
        " and the model quotes it. No model checks the claims. The first set is for development. The second has answers"
        " in five languages by three writers who had read nothing of the package: messages of young people, shop talk,"
        " and indirect answers. Its denials and non-answers are tried with the answer as the quote, as context."
    ),
)
Outcome = Literal["fact", "as said", "nothing"]


class Answer(NamedTuple):
    """An answer to a leading question."""

    language: str
    is_yes: bool
    question: str
    claim: str
    answer: str


def outcome_of(question: str, answer: str, claim: str = "", *, category: str = "context", quote: str = "") -> Outcome:
    """Return what the claim becomes; by default, it is the question without its mark, and the answer is the quote."""
    fact = {"content": claim or question.rstrip("?？ "), "category": category, "quote": quote or answer}
    storage = open_storage("memory:")
    graph = build_graph(model=ScriptedModel(json.dumps({"newFacts": [fact]})), storage=storage)
    messages = [HumanMessage("Hello!"), AIMessage(question), HumanMessage(answer)]
    graph.invoke({"messages": messages}, context=Context(user_id="ada", thread_id="t1"))
    memory = storage.load(Scope("ada"))
    return "fact" if memory.facts else "as said" if memory.as_said else "nothing"


def read_answers(path: Path = ANSWERS) -> list[Answer]:
    """Read the answers of a set."""
    lines = (line.split("\t") for line in path.read_text("utf-8").splitlines() if not line.startswith("#"))
    return [Answer(language, yes == "yes", *rest) for language, yes, *rest in lines]


def is_wrong(one: Answer) -> bool:
    """Return whether a yes is lost, or another answer stored by any quote and category."""
    if one.is_yes:
        return outcome_of(one.question, one.answer, one.claim) == "nothing"
    return "fact" in {
        outcome_of(one.question, one.answer, one.claim, category=category, quote=quote)
        for category in CATEGORIES
        for quote in (one.answer, one.question)
    }


def unseen_rows(quick: bool) -> Iterator[Row]:  # noqa: FBT001
    """Yield what became of the answers of UNSEEN, as shares."""
    answers = read_answers(UNSEEN)[:: 20 if quick else 1]
    for name, is_yes in (("denials and non-answers", False), ("yes", True)):
        outcomes = [outcome_of(one.question, one.answer) for one in answers if one.is_yes is is_yes]
        for outcome in get_args(Outcome):
            count = outcomes.count(outcome)
            low, high = wilson(count, len(outcomes))
            title = f"answers of three writers: {name}, {outcome}"
            yield Row(title, count / len(outcomes), "share", low, high, note=f"of {len(outcomes)}")


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure all answers; every tenth as a smoke test."""
    answers = read_answers()[:: 10 if quick else 1]
    rows: list[Row] = []
    for name, is_yes, bound in (("denials and non-answers stored", False, MOST_STORED), ("yes lost", True, MOST_LOST)):
        ours = [one for one in answers if one.is_yes is is_yes]
        wrong = sum(map(is_wrong, ours))
        rows.append(Row(f"answers: {name}", wrong, "answers", bound=at_most(bound), note=f"of {len(ours)}"))
    rows += unseen_rows(quick)
    data = {path.name: sha256_of(path) for path in (ANSWERS, UNSEEN)}
    return Measurement("Answers to leading questions", rows, data=data, notes=NOTES)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print the wrong ones")
    if parser.parse_args().show:
        print(*(one for one in read_answers() if is_wrong(one)), sep="\n")
    print("\n".join(table(measure(quick=False).rows)))
