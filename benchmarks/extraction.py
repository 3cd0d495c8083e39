"""What a model learns from labelled conversations: what it finds, what it should have left, what it says twice.

    python benchmarks/extraction.py [--quick]                                     # the built-in model
    python benchmarks/extraction.py --model openai:gpt-4.1-mini --jobs 4 --show   # any other; --limit N: a sample

The conversations are in sets/extraction.en.yaml and sets/extraction.zh.yaml; they were written and labelled by hand
before any model had read them. Each goes through the whole update graph, with a memory of its own.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from common import Measured, Plot, Row, bootstrap, sha256_of, table
from datasets import new_turns
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from sets import scoring
from sets.labels import LANGUAGES, Conversation, all_conversations, path_of
from sets.scoring import Judged, Share, judge, unlearned

from memgraph import Context, Fact, MemgraphError, Memory, Policy, Scope, build_graph, open_storage
from memgraph.testing import ScriptedModel, update_answer
from memgraph.text.sentences import sentences

SHARES = {
    "precision": scoring.precision,
    "recall": scoring.recall,
    "junk": scoring.junk,
    "said twice": scoring.duplicates,
}
RARE = (
    ("corrections caught", scoring.caught, "conversations"),
    ("corrections filed as such", scoring.filed_as_correction, "conversations"),
    ("corrections where there was none", scoring.false_alarms, "conversations"),
    ("outdated facts that were retired", scoring.retired, "facts"),
)
NOTES = (
    (
        "Conversations that were written and labelled by hand, each with a memory of its own, through the whole update"
        " graph. A fact is compared with labels by the words it must and must not hold. Precision: of what was stored,"
        " what is labelled as true of the user. Recall: of the facts that should be known, those that are. Junk: "
        "stored, and labelled as not to be stored or not at all. Said twice: adds nothing to what was stored before, "
        "and counts as precise. An interval is the wider of two: drawn from the conversations, and Wilson's."
    ),
    (
        "`every sentence` is the memory that keeps all a person says, less questions, which no memory of ours keeps: "
        "what recall is worth by itself."
    ),
    "Labels are words: a fact that says the opposite in the same words may pass, and one in unforeseen words may not.",
)


# -- a conversation through the graph -------------------------------------------------------------


def messages_of(conversation: Conversation) -> list[BaseMessage]:
    """The conversation as a lead agent has it; a tool's answer follows the call for it."""
    said: list[BaseMessage] = []
    for number, message in enumerate(conversation.messages):
        if message.role == "tool":
            call = ToolCall(name="look_up", args={}, id=f"call{number}")
            said.append(AIMessage("", tool_calls=[call], id=f"m{number}a"))
            said.append(ToolMessage(message.text, tool_call_id=f"call{number}", id=f"m{number}"))
        else:
            kind = HumanMessage if message.role == "human" else AIMessage
            said.append(kind(message.text, id=f"m{number}"))
    return said


def known_before(conversation: Conversation) -> Memory:
    """The memory as it is before the conversation."""
    facts = tuple(
        Fact(
            id=f"fact_{number:08x}",
            content=known.content,
            category=known.category,
            confidence=0.9,
            created_at="2026-01-05T09:00:00Z",
            source="before",
        )
        for number, known in enumerate(conversation.memory)
    )
    return Memory(facts=facts)


def learn(asking: Context, conversation: Conversation) -> Judged:
    """Put one conversation through the graph; an update that fails is part of the result."""
    scope, before = Scope(conversation.id), known_before(conversation)
    storage = open_storage("memory:")
    storage.save(scope, before)
    graph: Any = build_graph()
    context = asking.model_copy(update={"user_id": scope.user_id, "thread_id": "t1", "storage": storage})
    try:
        graph.invoke({"messages": messages_of(conversation)}, context=context)
    except MemgraphError as error:
        return unlearned(conversation, f"{type(error).__name__}: {error}")
    return judge(conversation, before, storage.load(scope))


def all_learned(asking: Context, conversations: Sequence[Conversation], jobs: int = 1) -> Iterator[Judged]:
    """Learn from each conversation, so many at once; yield them in order, as they are done."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(partial(learn, asking), conversations)


def every_sentence() -> BaseChatModel:
    """A model that makes one fact of each sentence of a human turn: what to compare with."""
    return ScriptedModel(
        lambda prompt: update_answer(*(said for turn in new_turns(prompt) for said in sentences(turn)))
    )


def sample(conversations: Sequence[Conversation], limit: int | None) -> list[Conversation]:
    """So many of them, spread over the whole."""
    if not limit or limit >= len(conversations):
        return list(conversations)
    return [conversations[number * len(conversations) // limit] for number in range(limit)]


# -- rows -----------------------------------------------------------------------------------------


def rows_of(name: str, judged: Sequence[Judged]) -> Iterator[Row]:
    """Yield the figures of a model, by language and of all."""
    for language, heading in {**LANGUAGES, "": "both"}.items():
        part = [one for one in judged if language in ("", one.conversation.language)]
        if not part:
            continue
        for what, share in SHARES.items():
            yield from _share(f"{name}, {heading}: {what}", share, part)
        low, high = bootstrap(part, scoring.f1)
        yield Row(f"{name}, {heading}: F1", scoring.f1(part), "share", low, high)
    for what, share, counted in RARE:
        yield from _share(f"{name}: {what}", share, [one for one in judged if share.whole(one)], counted)
    yield from _counts(name, judged)


def _share(name: str, share: Share, judged: Sequence[Judged], counted: str = "") -> Iterator[Row]:
    """Yield one row, or none where there was nothing to count: a share of nothing is no figure."""
    whole = sum(map(share.whole, judged))
    if whole:
        low, high = share.interval(judged)
        yield Row(name, share(judged), "share", low, high, note=f"{whole:.0f} {counted}" if counted else "")


def _counts(name: str, judged: Sequence[Judged]) -> Iterator[Row]:
    stored = sum(one.stored for one in judged)
    yield Row(f"{name}: facts stored", stored, "facts", note=f"of {len(judged)} conversations")
    yield Row(f"{name}: labelled as not to be stored", sum(one.count("forbidden") for one in judged), "facts")
    yield Row(f"{name}: true facts that were lost", sum(one.lost for one in judged), "facts")
    yield Row(f"{name}: secrets kept", sum(one.leaked for one in judged), "secrets")
    yield Row(f"{name}: updates that failed", sum(bool(one.error) for one in judged), "updates")


def plot(every: Mapping[str, Sequence[Judged]]) -> Plot:
    """Precision and recall by language."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for name, judged in every.items():
            for language, heading in LANGUAGES.items():
                part = [one for one in judged if one.conversation.language == language]
                if part:
                    x, y = scoring.recall(part), scoring.precision(part)
                    across, up = scoring.recall.interval(part), scoring.precision.interval(part)
                    spread = {"xerr": [[x - across[0]], [across[1] - x]], "yerr": [[y - up[0]], [up[1] - y]]}
                    axes.errorbar(x, y, **spread, marker="o", capsize=3, label=f"{name}, {heading}")
        axes.set(xlabel="recall", ylabel="precision", xlim=(0, 1.05), ylim=(0, 1.05))
        axes.legend(loc="lower left")

    return Plot("extraction", "Facts learned from labelled conversations, with 95 % intervals.", draw)


# -- running --------------------------------------------------------------------------------------


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure the built-in model, and a memory that keeps every sentence to compare with."""
    conversations = sample(list(all_conversations()), 20 if quick else None)
    asked = {"offline": Context(model="offline"), "every sentence": Context(model=every_sentence())}
    every = {name: list(all_learned(asking, conversations)) for name, asking in asked.items()}
    rows = [row for name, judged in every.items() for row in rows_of(name, judged)]
    data = {path_of(language).name: sha256_of(path_of(language)) for language in LANGUAGES}
    return Measured("What is learned from labelled conversations", rows, [plot(every)], data, NOTES)


def told(one: Judged) -> Iterator[str]:
    """Yield what was stored of a conversation, and what is missing."""
    yield f"\n{one.conversation.id} ({one.conversation.kind}){f': {one.error}' if one.error else ''}"
    for fact, verdict in one.facts:
        yield f"  {verdict:9} [{fact.category}] {fact.content}"
    for label, found in zip(one.conversation.should, one.found, strict=True):
        if not found:
            yield f"  missing   {' / '.join(label.any_of)}"
    if stale := list(one.retired).count(False):
        yield f"  outdated  {stale} still there"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a sample: does it run at all?")
    parser.add_argument("--model", default="offline", help="offline, openai:NAME, or provider:NAME")
    parser.add_argument("--structured", choices=("none", "json_schema", "function_calling"), help="how it answers")
    parser.add_argument("--timeout", type=float, default=60, help="seconds that one call may take")
    parser.add_argument("--jobs", type=int, default=1, help="conversations at once")
    parser.add_argument("--limit", type=int, help="so many conversations, spread over the set")
    parser.add_argument("--show", action="store_true", help="print what was stored of each conversation")
    given = parser.parse_args()
    policy = Policy(model_timeout_seconds=given.timeout)
    asking = Context(model=given.model, structured_output=given.structured, policy=policy)
    conversations = sample(list(all_conversations()), given.limit or (20 if given.quick else None))
    judged: list[Judged] = []
    for one in all_learned(asking, conversations, given.jobs):
        judged.append(one)
        if given.show:
            print(*told(one), sep="\n", flush=True)
    print("", *table(list(rows_of(given.model, judged))), "", *NOTES, sep="\n")
    for error, times in Counter(one.error for one in judged if one.error).items():
        print(f"failed {times} times: {error}")


if __name__ == "__main__":
    main()
