"""What a memory consists of after fifty days with a noisy model.

    python benchmarks/fifty_days.py [--quick]

Each day the user has a chat, of which a scripted model makes five facts. A quarter of them is junk: small talk, advice
of the assistant, inventions. Of the rest more than 60 % are known facts in other words. After each week the memory gets
its upkeep, as background workers do it by default; the model merges what it is asked about if it states the same.
"""

from __future__ import annotations

import csv
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from common import HERE, Measurement, Row, at_most, run_standalone, sha256_of
from duplicates import LANGUAGES, path_of, read_pairs
from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage
from sets.statements import read_ordinary

from memgraph import (
    Context,
    MemoryDocument,
    MemoryStorage,
    Policy,
    Scope,
    Settings,
    build_graph,
    build_upkeep_graph,
    open_storage,
)
from memgraph.analysis.remarks import is_passing_remark
from memgraph.prompts.check import ShownClaim
from memgraph.prompts.update_prompt import ShownFact
from memgraph.prompts.upkeep_prompt import read_groups
from memgraph.testing import ScriptedModel, check_answer, update_answer

DAYS = 50
FACTS_A_DAY = 5
TRUTHS = 60
JUNK_SHARE = 0.25
MAX_FACTS = 100
UPKEEP_DAYS = Settings().upkeep_days
MAX_JUNK = 0.10
MAX_LOST = 2
SEED = 20_261_122
REMARKS = HERE / "sets" / "remarks.tsv"
BEGIN = datetime(2026, 1, 5, 9, tzinfo=UTC)
SMALL_TALK = {
    "en": "The {0} was late today. | It is raining on the {0} again. | Just saw a funny video about a {0}.",
    "zh": "今天的{0}又晚了。 | 外面的{0}被雨淋湿了。 | 刚看了一个关于{0}的搞笑视频。",
}
ADVICE = {
    "en": "You could try a {0} for that. | A {0} of good quality lasts for years.",
    "zh": "可以试试买一个{0}。 | 质量好的{0}能用很多年。",
}
INVENTIONS = {
    "en": "Owns a {0} factory in Utah. | Dreams of a {0} museum. | Is the heir of a {0} company.",
    "zh": "在青海有一家{0}工厂。 | 梦想开{0}博物馆。 | 继承了一家{0}公司。",
}
THINGS = {
    "en": "lamp kettle tram ladder carpet mirror candle bridge pillow bucket fountain statue curtain anchor whistle",
    "zh": "台灯 水壶 电车 梯子 地毯 镜子 蜡烛 桥 枕头 水桶 喷泉 雕像 窗帘 船锚 哨子 篮子",
}
_ADDED_DATE = re.compile(r" ?[(（][\d-]+[)）]")
NOTES = (
    (
        f"{DAYS} days, {FACTS_A_DAY} proposed facts a day, {TRUTHS} true facts, each in up to four wordings of"
        " sets/pairs; the user writes the wording of the day, and the model quotes it. Junk is said by the user (small"
        " talk, with a quote), by the assistant (advice, with its words as the quote), or by none (inventions, with an"
        f" invented quote), a third each. Asked to check, the model finds that all follows, and which known fact states"
        f" the same truth. grounding: strict, max_facts {MAX_FACTS}. The wordings are among those with"
        " which the measure was developed."
    ),
    (
        "Junk: facts that are no truth, and further wordings of one that is there already. Lost: no wording is among"
        " the current facts; also reported: of these, in no wording in the past either, where questions about the past"
        " find it."
    ),
    (
        "The upkeep runs every seven days, the default. It finds the groups of facts that are alike; the scripted model"
        " merges those of a group that are wordings of one truth. Of the small talk, whose words are the user's own,"
        " passing remarks are refused: sentences about the moment without a word for the user. The words by which they"
        " are told, and their limits, were chosen with all sentences of sets/remarks.tsv in sight, and the events that"
        " change a life after two errors among labelled sentences."
    ),
)


class Proposal(NamedTuple):
    """A fact that the model proposes, and who said what it rests on."""

    content: str
    speaker: str


class Result(NamedTuple):
    """What was counted in a memory."""

    facts: int
    small_talk: int
    unsaid: int
    further: int
    lost: int
    lost_for_good: int

    @property
    def junk(self) -> float:
        """The share of facts that are no truth, or a further wording of one."""
        return (self.small_talk + self.unsaid + self.further) / self.facts


def truths_of(language: str) -> list[tuple[str, ...]]:
    """Return the wordings of each truth."""
    prefix = "The user: " if language == "en" else "用户："
    found: list[tuple[str, ...]] = []
    for pair in read_pairs():
        if pair.language != language or not pair.is_same or any(pair.one in wordings for wordings in found):
            continue
        found.append((pair.one, pair.other, f"{prefix}{pair.other}", f"{prefix}{pair.one}"))
    return found[:TRUTHS]


def junk_of(language: str, draw: random.Random, count: int) -> Iterator[Proposal]:
    """Yield small talk, advice and inventions, a third each."""
    kinds = (("user", SMALL_TALK), ("assistant", ADVICE), ("", INVENTIONS))
    for number in range(count):
        speaker, templates = kinds[number % len(kinds)]
        template = draw.choice(templates[language].split(" | "))
        yield Proposal(template.format(draw.choice(THINGS[language].split())), speaker)


def days_of(truths: Sequence[tuple[str, ...]], language: str) -> list[list[Proposal]]:
    """Return the proposals of each day: each truth is first stated within forty days, and repeated later."""
    draw = random.Random(SEED)  # noqa: S311
    count = DAYS * FACTS_A_DAY
    junk = list(junk_of(language, draw, int(count * JUNK_SHARE)))
    repetitions = count - len(junk) - len(truths)
    mentions = [*range(len(truths)), *(draw.randrange(len(truths)) for _ in range(repetitions))]
    slots: list[int | None] = [*mentions, *(None for _ in junk)]
    draw.shuffle(slots)
    said = [0] * len(truths)
    proposals: list[Proposal] = []
    for slot in slots:
        if slot is None:
            proposals.append(junk.pop())
        else:
            wordings = truths[slot]
            proposals.append(Proposal(wordings[said[slot] % len(wordings)], "user"))
            said[slot] += 1
    return [proposals[start : start + FACTS_A_DAY] for start in range(0, count, FACTS_A_DAY)]


def messages_of(day: int, proposals: Sequence[Proposal]) -> list[AnyMessage]:
    """Return the conversation of a day."""
    at = (BEGIN + timedelta(days=day)).isoformat()
    said = {who: " ".join(each.content for each in proposals if each.speaker == who) for who in ("user", "assistant")}
    stamp = {"created_at": at}
    return [
        HumanMessage(said["user"] or "What is new?", id=f"h{day}", additional_kwargs=stamp),
        AIMessage(said["assistant"] or "Noted.", id=f"a{day}", additional_kwargs=stamp),
    ]


def live(days: Sequence[Sequence[Proposal]], truths: Sequence[tuple[str, ...]], *, has_upkeep: bool) -> MemoryDocument:
    """Return the memory after all days."""
    scope, storage, graph = Scope("ada"), open_storage("memory:"), build_graph()
    policy = Policy(max_facts=MAX_FACTS)
    truth_of = {wording: number for number, wordings in enumerate(truths) for wording in wordings}

    def judge(claim: ShownClaim, known: Mapping[int, str]) -> Mapping[str, object]:
        truth = truth_of.get(_ADDED_DATE.sub("", claim.claim), -1)
        stated = ((number, truth_of.get(_ADDED_DATE.sub("", content))) for number, content in known.items())
        return {"follows": "yes", "same": next((number for number, other in stated if other == truth), None)}

    for day, proposals in enumerate(days):
        model = ScriptedModel(
            update_answer(*({"content": one.content, "quote": one.content, "confidence": 0.9} for one in proposals)),
            check=check_answer(judge),
        )
        context = Context(user_id="ada", thread_id=f"day{day}", storage=storage, model=model, policy=policy)
        inputs: Any = {"messages": messages_of(day, proposals)}
        graph.invoke(inputs, context=context)
        if has_upkeep and day % UPKEEP_DAYS == UPKEEP_DAYS - 1:
            maintain(storage, scope, policy, truths)
    return storage.load(scope)


def maintain(storage: MemoryStorage, scope: Scope, policy: Policy, truths: Sequence[tuple[str, ...]]) -> None:
    """Run the upkeep, with a model that merges those facts of a group that are wordings of one truth."""
    known = {wording: number for number, wordings in enumerate(truths) for wording in wordings}

    def answer(prompt: Sequence[BaseMessage]) -> str:
        merges: list[dict[str, object]] = []
        for group in read_groups(prompt[-1].text):
            same: dict[int, list[ShownFact]] = {}
            for fact in group:
                same.setdefault(known.get(_ADDED_DATE.sub("", fact.content), -1), []).append(fact)
            merges += [
                {"ids": [fact.id for fact in facts], "content": facts[0].content}
                for truth, facts in same.items()
                if truth >= 0 and len(facts) > 1
            ]
        return json.dumps({"merge": merges, "end": []}, ensure_ascii=False)

    graph = build_upkeep_graph(model=ScriptedModel(answer), storage=storage, policy=policy)
    graph.invoke({}, context=Context(user_id=scope.user_id))


def count(memory: MemoryDocument, truths: Sequence[tuple[str, ...]], days: Sequence[Sequence[Proposal]]) -> Result:
    """Count junk, further wordings and lost truths."""
    # an update adds the date of "today" and "in April"
    current = [_ADDED_DATE.sub("", fact.content) for fact in memory.facts]
    said = {proposal.content for proposals in days for proposal in proposals if proposal.speaker == "user"}
    known = {wording for wordings in truths for wording in wordings}
    past = {_ADDED_DATE.sub("", fact.content) for fact in memory.past}
    kept = [wordings for wordings in truths if any(wording in current for wording in wordings)]
    lost = [wordings for wordings in truths if wordings not in kept]
    return Result(
        facts=len(current),
        small_talk=sum(content in said and content not in known for content in current),
        unsaid=sum(content not in said and content not in known for content in current),
        further=sum(content in known for content in current) - len(kept),
        lost=len(lost),
        lost_for_good=sum(past.isdisjoint(wordings) for wordings in lost),
    )


def rows_of_remarks(label: str, language: str) -> list[Row]:
    """Count the sentences of sets/remarks.tsv that are taken for passing remarks, and of ordinary people."""
    with REMARKS.open(encoding="utf-8", newline="") as file:
        rows = csv.reader((line for line in file if not line.startswith("#")), "excel-tab", quoting=csv.QUOTE_NONE)
        written = [(kind == "lasting", text) for kind, of, text in rows if of == language]
    ordinary = [(one.is_kept, one.text) for one in read_ordinary() if one.language == language]
    found: list[Row] = []
    for name, sentences in (("without a word for the user", written), ("of ordinary people", ordinary)):
        lasting, others = (
            [is_passing_remark(text) for lasts, text in sentences if lasts is kept] for kept in (True, False)
        )
        title = f"{label}, sentences {name}"
        found.append(
            Row(f"{title}: lasting ones refused, of {len(lasting)}", sum(lasting), "sentences", bound=at_most(1))
        )
        found.append(Row(f"{title}: others refused, of {len(others)}", sum(others), "sentences"))
    return found


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure fifty days in each language; English only as a smoke test."""
    rows: list[Row] = []
    for language, label in list(LANGUAGES.items())[: 1 if quick else None]:
        truths = truths_of(language)
        days = days_of(truths, language)
        result, without = (count(live(days, truths, has_upkeep=has), truths, days) for has in (True, False))
        name, note = f"{label}, after {DAYS} days", f"{result.facts} facts, {len(truths)} truths"
        rows += [
            Row(f"{name}: share of junk", result.junk, "share", bound=at_most(MAX_JUNK), note=note),
            Row(f"{name}: small talk that the user said", result.small_talk, "facts"),
            Row(f"{name}: advice and inventions", result.unsaid, "facts"),
            Row(f"{name}: further wordings", result.further, "facts"),
            Row(f"{name}: truths that are not current any more", result.lost, "facts", bound=at_most(MAX_LOST)),
            Row(f"{name}: of these, also not in the past", result.lost_for_good, "facts"),
            Row(f"{name}, without an upkeep: share of junk", without.junk, "share", note=f"{without.facts} facts"),
            *rows_of_remarks(label, language),
        ]
    files = [*(path_of(language) for language in LANGUAGES), REMARKS]
    return Measurement("Fifty days with a noisy model", rows, [], {file.name: sha256_of(file) for file in files}, NOTES)


if __name__ == "__main__":
    run_standalone(measure)
