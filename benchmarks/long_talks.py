"""Recall from a year of messages and from months of projects, as a memory has it that the built-in model learned.

    python benchmarks/long_talks.py [--quick]

It takes half an hour, and is not part of `make bench`.

LifeBench and RealMem are read from outside the checkout (`../shared/data`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from common import HERE, Measurement, Row, run_standalone, share_row
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from memgraph import Context, MemoryDocument, MemoryStorage, RecallPipeline, Scope, build_graph, open_storage
from memgraph.analysis.dates import parse_time
from memgraph.analysis.normalize import escape
from memgraph.analysis.terms import content_terms, extract_terms
from memgraph.models import Episode
from memgraph.retrieval.memory_index import Ranking, scale_to_best
from memgraph.retrieval.terms import bm25

DATA = HERE.parent.parent / "shared/data"
BUDGETS = (500, 2_000)
MIN_ANSWER_CHARS = 2
"""A shorter answer is the letter of a choice that the question does not show."""
PROTOCOL = (
    "LifeBench (Apache-2.0): a year of chats, messages, notes and calendar entries of two people, in English and "
    "Chinese; RealMem (MIT): months of projects of two people with an assistant, where a question sees the sessions "
    "before its own. The built-in model learns session by session with default settings; a session is a thread. "
    "A question scores the share of its evidence sessions of which a fact or an episode is in the text. Answer words: "
    "the share of the stems of the answer that stand in the text. BM25 is the plain formula over the user's turns, "
    "with the same lines, headings and budget. The intervals are over questions."
)


@dataclass(frozen=True)
class Talk:
    """A session: an own thread."""

    id: str
    messages: tuple[BaseMessage, ...]


@dataclass(frozen=True)
class Asked:
    """A question, the sessions that answer it, and how many sessions were there when it was asked."""

    text: str
    answer: str
    evidence: frozenset[str]
    sessions: int


@dataclass(frozen=True)
class Person:
    """The sessions of a person, the oldest first, and questions in the order in which they are asked."""

    name: str
    talks: tuple[Talk, ...]
    questions: tuple[Asked, ...]


@dataclass(frozen=True)
class Snapshot:
    """A memory at the time of some questions."""

    memory: MemoryDocument
    episodes: tuple[Episode, ...]
    questions: tuple[Asked, ...]


@dataclass
class Hits:
    """The shares of the evidence, and of the words of the answers, of each question."""

    evidence: list[float] = field(default_factory=list[float])
    words: list[float] = field(default_factory=list[float])

    def extend(self, other: Hits) -> None:
        """Append the shares of *other*."""
        self.evidence += other.evidence
        self.words += other.words


# -- data -----------------------------------------------------------------------------------------


def read_people(pattern: str, *, quick: bool = False) -> list[Person]:
    """Read the people of a set; with *quick* only the first, and less of the sessions."""
    paths = sorted(DATA.glob(pattern))[: 1 if quick else None]
    return [_to_person(path, quick=quick) for path in paths]


def _to_person(path: Path, *, quick: bool) -> Person:
    data = json.loads(path.read_text("utf-8"))
    sessions = data["sessions"][: 60 if quick else None]
    place = {session["id"]: number for number, session in enumerate(sessions)}
    talks = tuple(Talk(session["id"], tuple(_messages(session, data["person"]))) for session in sessions)
    questions = (_to_question(item, place) for item in data["questions"])
    known = (question for question in questions if question.evidence and question.evidence <= place.keys())
    return Person(path.stem, talks, tuple(sorted(known, key=lambda question: question.sessions)))


def _messages(session: Mapping[str, Any], person: str) -> Iterator[BaseMessage]:
    for number, message in enumerate(session["messages"]):
        identity = {"id": f"{session['id']}-{number}", "additional_kwargs": {"timestamp": session["at"]}}
        if message["role"] == "assistant":
            yield AIMessage(message["text"], **identity)
        else:
            other = message.get("name", "other") if message["role"] == "other" else None
            yield HumanMessage(message["text"], name=other if other != person else None, **identity)


def _to_question(item: Mapping[str, Any], place: Mapping[str, int]) -> Asked:
    answer = str(item.get("answer", "")).strip()
    return Asked(
        item["question"],
        answer if len(answer) >= MIN_ANSWER_CHARS else "",
        frozenset(item["evidence"]),
        place.get(item.get("session", ""), len(place)),
    )


# -- learning -------------------------------------------------------------------------------------


def learn(person: Person) -> Iterator[Snapshot]:
    """Learn session by session with the built-in model, and yield the memory at the time of each question."""
    storage, scope = open_storage("memory:"), Scope("user")
    graph = build_graph(model="offline", storage=storage)
    learned = 0
    for sessions in sorted({question.sessions for question in person.questions}):
        for talk in person.talks[learned:sessions]:
            graph.invoke({"messages": list(talk.messages)}, context=Context(user_id="user", thread_id=talk.id))
        learned = sessions
        asked = tuple(question for question in person.questions if question.sessions == sessions)
        yield _snapshot(storage, scope, asked)


def _snapshot(storage: MemoryStorage, scope: Scope, questions: tuple[Asked, ...]) -> Snapshot:
    return Snapshot(storage.load(scope), tuple(storage.episodes(scope)), questions)


# -- recall ---------------------------------------------------------------------------------------


def recall_hits(snapshot: Snapshot, pipeline: RecallPipeline, *, plain_bm25: bool = False) -> Hits:
    """Recall for each question of *snapshot*, asked when the last of its words was said."""
    hits = Hits()
    asked_at = parse_time(snapshot.episodes[-1].at) if snapshot.episodes else None
    for question in snapshot.questions:
        query = pipeline.query([question.text], asked_at)
        ranked = pipeline.rank(snapshot.memory, snapshot.episodes, query)
        if plain_bm25:
            ranked = ranked._replace(episode_ranking=_bm25_ranking(question.text, snapshot.episodes))
        fitted = pipeline.fit(snapshot.memory, ranked)
        facts = [snapshot.memory.recallable[position] for position in fitted.facts]
        said = {snapshot.episodes[position].id for position in fitted.episodes}
        said |= {evidence.episode for fact in facts for evidence in fact.evidence}
        found = {*(fact.source for fact in facts), *(one.thread_id for one in snapshot.episodes if one.id in said)}
        hits.evidence.append(len(question.evidence & found) / len(question.evidence))
        if wanted := content_terms(question.answer):
            hits.words.append(len(wanted & _shown_terms(fitted.text)) / len(wanted))
    return hits


def _bm25_ranking(question: str, episodes: Sequence[Episode]) -> Ranking:
    found = bm25(extract_terms(question), [extract_terms(episode.text) for episode in episodes])
    (scores,) = scale_to_best(np.array(found))
    order = [position for position in np.argsort(-scores, kind="stable").tolist() if scores[position] > 0]
    return Ranking(order, scores, scores)


def _shown_terms(text: str) -> AbstractSet[str]:
    return content_terms(text.replace(escape("&"), "&"))


def measure(quick: bool) -> Measurement:  # noqa: FBT001
    """Measure both sets."""
    rows: list[Row] = []
    for title, pattern in (("LifeBench", "life_bench_*.json"), ("RealMem", "real_mem_*.json")):
        ways = {name: {budget: Hits() for budget in BUDGETS} for name in ("default", "episodes alone", "BM25")}
        for person in read_people(pattern, quick=quick):
            for snapshot in learn(person):
                words = replace(snapshot, memory=MemoryDocument(threads=snapshot.memory.threads))
                for budget in BUDGETS:
                    pipeline = RecallPipeline(max_tokens=budget)
                    ways["default"][budget].extend(recall_hits(snapshot, pipeline))
                    ways["episodes alone"][budget].extend(recall_hits(words, pipeline))
                    ways["BM25"][budget].extend(recall_hits(words, pipeline, plain_bm25=True))
        rows += _rows(title, ways)
    return Measurement("Recall from long talks, learned by the built-in model", rows, notes=(PROTOCOL,))


def _rows(title: str, ways: Mapping[str, Mapping[int, Hits]]) -> Iterator[Row]:
    for name, budgets in ways.items():
        for budget, hits in budgets.items():
            yield share_row(f"{title}, evidence, {name}, {budget:,} tokens", hits.evidence)
            if hits.words:
                yield share_row(f"{title}, words of the answers, {name}, {budget:,} tokens", hits.words)


if __name__ == "__main__":
    run_standalone(measure)
