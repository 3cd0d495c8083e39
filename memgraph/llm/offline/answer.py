"""The answer of the model: what was found, as the JSON object that the prompt asks for."""

import json
from collections.abc import Mapping, Sequence
from typing import NotRequired, TypedDict

from memgraph.llm.offline.extract import find_all
from memgraph.llm.offline.finding import Finding
from memgraph.llm.offline.reading import Reading
from memgraph.llm.offline.replacing import ended, settle
from memgraph.llm.offline.summaries import write_summaries
from memgraph.prompts.blocks import ShownFact


class NewFact(TypedDict):
    content: str
    category: str
    confidence: float
    sourceError: NotRequired[str]
    durable: bool
    aboutUser: bool
    replaces: list[str]


class Removed(TypedDict):
    id: str
    reason: str


class Summary(TypedDict):
    summary: str
    shouldUpdate: bool


class Answer(TypedDict):
    user: dict[str, Summary]
    history: dict[str, Summary]
    newFacts: list[NewFact]
    factsToRemove: list[Removed]


def answer(reading: Reading) -> Answer:
    """What is to be remembered of the conversation in *reading*."""
    findings = _last_of_each_slot(find_all(reading.turns))
    settled = [settle(finding, reading.known) for finding in findings if not finding.ends]
    removed = _removed(findings, settled, reading.known)
    outdated = [fact.content for fact in reading.known if fact.id in removed]
    texts = write_summaries([finding for finding, _ in settled], reading.summaries, outdated)
    return {
        "user": {name: _summary(texts, name) for name in ("workContext", "personalContext", "topOfMind")},
        "history": {name: _summary({}, name) for name in ("recentMonths", "earlierContext", "longTermBackground")},
        "newFacts": [_new_fact(finding, replaced) for finding, replaced in settled],
        "factsToRemove": [{"id": fact_id, "reason": reason} for fact_id, reason in removed.items()],
    }


def render(answer: Answer) -> str:
    """Write *answer* as JSON that any encoder of UTF-8 takes."""
    return json.dumps(answer, ensure_ascii=False).encode("utf-8", "replace").decode("utf-8")


def _last_of_each_slot(findings: Sequence[Finding]) -> list[Finding]:
    """Who says two things where one can be true means the last."""
    last = {finding.slot: finding for finding in findings if finding.slot and not finding.ends}
    return [finding for finding in findings if finding.ends or not finding.slot or last[finding.slot] is finding]


def _removed(
    findings: Sequence[Finding], settled: Sequence[tuple[Finding, tuple[str, ...]]], known: Sequence[ShownFact]
) -> dict[str, str]:
    replaced = {fact_id: f"Replaced by: {finding.content}" for finding, ids in settled for fact_id in ids}
    over = {
        fact.id: "The user said it is over." for finding in findings if finding.ends for fact in ended(finding, known)
    }
    return over | replaced


def _new_fact(finding: Finding, replaced: Sequence[str]) -> NewFact:
    fact: NewFact = {
        "content": finding.content,
        "category": finding.category,
        "confidence": finding.confidence,
        "durable": True,
        "aboutUser": True,
        "replaces": list(replaced),
    }
    if finding.source_error:
        fact["sourceError"] = finding.source_error
    return fact


def _summary(texts: Mapping[str, str], name: str) -> Summary:
    return {"summary": texts.get(name, ""), "shouldUpdate": name in texts}
