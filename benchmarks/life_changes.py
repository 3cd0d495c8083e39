"""What changed in a life: what holds now, what held before, and until when.

    python benchmarks/life_changes.py [--quick]
    python benchmarks/life_changes.py --show    # print what fails, and what LoCoMo's observations supersede

The changes are in sets/life_changes.yaml, what a model names as replaced in sets/endings.tsv, and what people told
later of what they had told before in sets/told_changes.tsv.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

import yaml
from common import HERE, Measurement, Row, at_least, at_most, sha256_of, table
from langchain_core.messages import AIMessage, HumanMessage
from locomo import LOCOMO, read_conversations
from pydantic import BaseModel, ConfigDict, TypeAdapter
from sets.intervals import wilson

from memgraph import Context, MemoryClient, MemoryDocument, RecallPipeline, Scope, build_graph, open_storage
from memgraph.analysis.date_phrases import without_named_dates
from memgraph.models import Fact
from memgraph.prompts.check import ShownClaim
from memgraph.retrieval.results import RecallResult
from memgraph.storage import MemoryStorage
from memgraph.testing import ScriptedModel, check_answer, update_answer
from memgraph.update.graph import UpdateGraph

CHANGES, ENDINGS = HERE / "sets/life_changes.yaml", HERE / "sets/endings.tsv"
TOLD = HERE / "sets/told_changes.tsv"
LANGUAGES = {"en": "English", "zh": "Chinese"}
FIRST, SECOND, ASKED = (datetime(2026, month, day, 9, tzinfo=UTC) for month, day in ((3, 2), (9, 28), (10, 5)))
MAX_FORGOTTEN = 2
MAX_SUPERSEDED = 3
QUICK_STEP = 5
_UNTIL = re.compile(r"^- until (\d{4}-\d{2}): (.+)$", re.MULTILINE)
_SUMMARY = re.compile(r"^- Personal: (.+)$", re.MULTILINE)
NOTES = (
    (
        f"Changes: in {FIRST:%B} the user states a fact, and one about another person; in {SECOND:%B} what changed; a"
        f" week later he asks. A scripted model states each in its own words with a true quote, without `replaces` and"
        " `slot`; it writes a summary in the first conversation only. Default settings. Asked to check"
        " them, it answers truly. A fact is recognised by a word of it."
    ),
    (
        "Stale: the fact that held before, among the facts that are recalled for a question about the present. What"
        " was before, and until when: a question about the past gets a line with the old fact and a month after the"
        " first conversation and not after the second."
    ),
    (
        "Named by the model: one known fact, and one update whose model says that a new fact replaces it; no model"
        " checks. Sentences of two writers who had read nothing of the package."
    ),
    (
        "LoCoMo: the observations about each speaker, `The user` instead of the name, are one memory; each session is"
        " one update. The model names nothing that is replaced. Asked to check, it finds that all follows and nothing"
        " ends."
    ),
)


class Ending(NamedTuple):
    """What a model says to replace a known fact."""

    kind: str
    """`change`: it does; `other`: it is about another person; `talk`: it has nothing to do with it."""
    language: str
    known: str
    said: str
    new: str

    def is_ended_by(self, graph: UpdateGraph) -> bool:
        """Return whether one update ends the known fact, without a check."""
        storage, scope = open_storage("memory:"), Scope("ada")
        known = Fact(id="fact_00000001", content=self.known, category="context", confidence=0.9)
        storage.save(scope, MemoryDocument(facts=(known,)))
        new = {"content": self.new, "quote": self.said, "confidence": 0.9, "replaces": [known.id]}
        model = ScriptedModel(json.dumps({"newFacts": [new]}))
        context = Context(user_id=scope.user_id, thread_id="t", at=SECOND, storage=storage, model=model)
        graph.invoke({"messages": [HumanMessage(self.said)]}, context=context)
        return storage.load(scope).fact(known.id) is None


def read_endings() -> list[Ending]:
    """Return what stands in ENDINGS."""
    lines = ENDINGS.read_text("utf-8").splitlines()
    return [Ending(*line.split("\t")) for line in lines if not line.startswith("#")]


def ending_rows(endings: Sequence[Ending]) -> Iterator[Row]:
    """Yield how often it is wrong that what a model names ends, or stays, without a check."""
    graph = build_graph()
    for kind, name in (("change", "stale"), ("other", "another person's, ended"), ("talk", "small talk, ended")):
        for language, called in LANGUAGES.items():
            of_kind = [one for one in endings if (one.kind, one.language) == (kind, language)]
            wrong = sum(one.is_ended_by(graph) != (kind == "change") for one in of_kind)
            low, high = wilson(wrong, len(of_kind))
            row = f"named by the model, {called}: {name}"
            yield Row(row, wrong / len(of_kind), "share", low, high, note=f"of {len(of_kind)}")


def told_rows(step: int) -> Iterator[Row]:
    """Yield how often what is told later ends what the built-in model learned before."""
    told = [line.split("\t") for line in TOLD.read_text("utf-8").splitlines() if not line.startswith("#")]
    for kind, name in (("ends", "ended"), ("looks", "that only look so: ended")):
        for language, called in LANGUAGES.items():
            of_kind = [(first, later) for each, of, first, later in told if (each, of) == (kind, language)][::step]
            ended = sum(_is_ended(first, later) for first, later in of_kind)
            low, high = wilson(ended, len(of_kind))
            row = f"told to the built-in model, {called}: {name}"
            yield Row(row, ended / len(of_kind), "share", low, high, note=f"of {len(of_kind)}")


def _is_ended(first: str, later: str) -> bool:
    with MemoryClient("memory:", user_id="ada", model="offline") as memory:
        memory.add(first, thread_id="first")
        known = {fact.id for fact in memory.facts()}
        memory.add(later, thread_id="later")
        return not known <= {fact.id for fact in memory.facts()}


class Change(BaseModel):
    """What changed, and the questions about it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    language: str
    slot: str
    old: str
    """A word of what held before; `new` is one of what holds now."""
    new: str
    before: str
    """What the user says; `first` is the fact that the model makes of it. So are `other`, `after` and theirs."""
    first: str
    other: str
    about_other: str
    after: str
    then: str
    ask: str
    past: str


class Outcome(NamedTuple):
    """What is recalled after a change."""

    change: Change
    now: RecallResult
    """For the question about the present."""
    before: RecallResult
    """For the question about the past."""
    memory: MemoryDocument
    calls: int
    """Checks."""

    @property
    def is_known(self) -> bool:
        """Whether what holds now is recalled."""
        return self._rank(self.change.new) is not None

    @property
    def is_stale(self) -> bool:
        """Whether the fact that held before is recalled as a current one."""
        return self._rank(self.change.old) is not None

    @property
    def is_stale_first(self) -> bool:
        """Whether it stands above the fact that holds now."""
        stale, new = self._rank(self.change.old), self._rank(self.change.new)
        return stale is not None and (new is None or stale < new)

    @property
    def is_summary_stale(self) -> bool:
        """Whether the summary in the text says what held before."""
        summaries = (text.replace(self.change.about_other, "") for text in _SUMMARY.findall(self.now.text))
        return any(_has(summary, self.change.old) for summary in summaries)

    @property
    def is_past_told(self) -> bool:
        """Whether the text says what held before, and until when."""
        lines: list[tuple[str, str]] = _UNTIL.findall(self.before.text)
        return any(
            f"{FIRST:%Y-%m}" < month <= f"{SECOND:%Y-%m}" and _has(line, self.change.old) for month, line in lines
        )

    @property
    def is_other_lost(self) -> bool:
        """Whether the fact about another person is not current any more."""
        return not any(map(self._is_about_other, self.memory.facts))

    def _rank(self, word: str) -> int | None:
        """Return the rank of the recalled fact about the user that has *word*."""
        facts = (entry.fact for entry in self.now.facts)
        found = (rank for rank, fact in enumerate(facts) if _has(fact.content, word) and not self._is_about_other(fact))
        return next(found, None)

    def _is_about_other(self, fact: Fact) -> bool:
        # an update may add a date at the end
        return fact.content.startswith(self.change.about_other.rstrip(".。"))


def _has(text: str, word: str) -> bool:
    return word.casefold() in text.casefold()


def read_changes() -> list[Change]:
    """Read the changes of both languages."""
    return TypeAdapter(list[Change]).validate_python(yaml.safe_load(CHANGES.read_text("utf-8")))


# -- living through a change -----------------------------------------------------------------------


class Life:
    """The memory of one user and a scripted model, with default settings.

    Args:
        ends: Answers a check: whether the known fact ends with the new one. Each claim follows.
    """

    def __init__(self, ends: Callable[[str, str], bool]) -> None:
        self.storage: MemoryStorage = open_storage("memory:")
        self.scope = Scope("ada")
        self.calls = 0
        self._ends = ends
        self._graph = build_graph()

    @property
    def memory(self) -> MemoryDocument:
        return self.storage.load(self.scope)

    def talk(self, at: datetime, said: Sequence[str], answer: str) -> None:
        """Have a conversation, of which the model makes *answer*."""

        def judge(claim: ShownClaim, known: Mapping[int, str]) -> Mapping[str, object]:
            ended = [number for number, content in known.items() if self._ends(content, claim.claim)]
            return {"follows": "yes", "ends": ended}

        self.calls += 1
        thread = f"{at:%Y%m%d%H%M}"
        stamp = {"created_at": at.isoformat()}
        messages = [
            message
            for number, text in enumerate(said)
            for message in (
                HumanMessage(text, id=f"h{thread}.{number}", additional_kwargs=stamp),
                AIMessage("Noted.", id=f"a{thread}.{number}", additional_kwargs=stamp),
            )
        ]
        context = Context(
            user_id=self.scope.user_id,
            thread_id=thread,
            storage=self.storage,
            model=ScriptedModel(answer, check=check_answer(judge)),
        )
        inputs: Any = {"messages": messages}
        self._graph.invoke(inputs, context=context)


def live(change: Change, pipeline: RecallPipeline) -> Outcome:
    """Live through a change, and ask about it."""

    def ends(known: str, new: str) -> bool:
        pairs = ((new, change.then), (known, change.first))  # an update may add a date
        return all(without_named_dates(content).startswith(stated.rstrip(".。")) for content, stated in pairs)

    life = Life(ends)
    separator = "" if change.language == "zh" else " "
    summary = f"{change.first}{separator}{change.about_other}"
    first = ({"content": change.first, "quote": change.before}, {"content": change.about_other, "quote": change.other})
    life.talk(FIRST, [change.before, change.other], update_answer(*first, personalContext=summary))
    life.talk(SECOND, [change.after], update_answer({"content": change.then, "quote": change.after}))
    memory, episodes = life.memory, life.storage.episodes(life.scope)
    now, before = (
        pipeline.recall(memory, [question], episodes=episodes, now=ASKED) for question in (change.ask, change.past)
    )
    return Outcome(change, now, before, memory, life.calls)


def change_rows(outcomes: Sequence[Outcome]) -> Iterator[Row]:
    """Yield the figures of all changes."""
    note = f"of {len(outcomes)}"
    for name, count in (
        ("stale facts in recall", sum(one.is_stale for one in outcomes)),
        ("stale fact above the new one", sum(one.is_stale_first for one in outcomes)),
        ("stale sentences of summaries in recall", sum(one.is_summary_stale for one in outcomes)),
        ("facts about others that are lost", sum(one.is_other_lost for one in outcomes)),
    ):
        yield Row(f"changes: {name}", count, "changes", bound=at_most(0), note=note)
    known, told = sum(one.is_known for one in outcomes), sum(one.is_past_told for one in outcomes)
    yield Row("changes: what holds now is recalled", known, "changes", bound=at_least(len(outcomes)), note=note)
    least = at_least(len(outcomes) - MAX_FORGOTTEN)
    yield Row("changes: what was before, and until when", told, "changes", bound=least, note=note)
    yield Row("changes: checks", sum(one.calls for one in outcomes), "calls", note=note)


# -- LoCoMo ----------------------------------------------------------------------------------------


def observed_memories() -> Iterator[MemoryDocument]:
    """Yield the memory of each speaker after all sessions."""
    for conversation in read_conversations(LOCOMO):
        for name in sorted(set(conversation.speakers)):
            life = Life(lambda _known, _new: False)
            facts = conversation.of_speaker(name).facts
            for said_at, session in groupby(facts, attrgetter("said_at")):
                contents = [re.sub(rf"\b{name}\b", "The user", fact.content) for fact in session]
                life.talk(datetime.fromisoformat(said_at), contents, update_answer(*contents))
            yield life.memory


def superseded_facts(memory: MemoryDocument) -> Iterator[tuple[str, str]]:
    """Yield the facts that another one superseded, and the other."""
    known = {fact.id: fact.content for fact in (*memory.facts, *memory.past)}
    yield from ((fact.content, known[fact.ended_by]) for fact in memory.past if fact.reason == "superseded")


def observation_rows(memories: Sequence[MemoryDocument]) -> Iterator[Row]:
    """Yield what became of the observations."""
    facts = [fact for memory in memories for fact in (*memory.facts, *memory.past)]
    superseded = sum(len([*superseded_facts(memory)]) for memory in memories)
    note = f"of {len(facts)}"
    yield Row("LoCoMo: observations that are superseded", superseded, "facts", bound=at_most(MAX_SUPERSEDED), note=note)
    yield Row("LoCoMo: observations with a slot", sum(fact.slot is not None for fact in facts), "facts", note=note)


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure the changes, and what is superseded in LoCoMo; every fifth change as a smoke test."""
    pipeline = RecallPipeline()
    changes = read_changes()[:: QUICK_STEP if quick else 1]
    rows = [*change_rows([live(change, pipeline) for change in changes])]
    rows += ending_rows(read_endings()[:: QUICK_STEP if quick else 1])
    rows += told_rows(QUICK_STEP if quick else 1)
    data = {path.name: sha256_of(path) for path in (CHANGES, ENDINGS, TOLD)}
    if LOCOMO.exists() and not quick:
        rows += observation_rows([*observed_memories()])
        data[LOCOMO.name] = sha256_of(LOCOMO)
    return Measurement("What changed in a life", rows, [], data, NOTES)


def _print_failures() -> None:
    pipeline = RecallPipeline()
    failures = ("is_stale", "is_stale_first", "is_summary_stale", "is_other_lost")
    for change in read_changes():
        outcome = live(change, pipeline)
        failed = [name for name in failures if getattr(outcome, name)]
        failed += [name for name in ("is_known", "is_past_told") if not getattr(outcome, name)]
        if failed:
            print(f"{change.language} {change.slot}: {', '.join(failed)}\n{outcome.now.text}\n{outcome.before.text}\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="every fifth change, without LoCoMo")
    parser.add_argument("--show", action="store_true", help="print what fails, and what is superseded in LoCoMo")
    args = parser.parse_args()
    if args.show:
        _print_failures()
        pairs = (pair for memory in observed_memories() for pair in superseded_facts(memory))
        print(*(f"LoCoMo: {old} | {new}" for old, new in pairs), sep="\n")
        return
    measured = measure(args.quick)
    print(*table(measured.rows), "", *measured.notes, sep="\n")


if __name__ == "__main__":
    main()
