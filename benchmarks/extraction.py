"""What a model learns from labelled conversations: precision, recall, junk and duplicates.

    python benchmarks/extraction.py [--quick]                                     # the built-in model
    python benchmarks/extraction.py --model openai:gpt-4.1-mini --jobs 4 --show   # any other model; --limit N: a sample

The conversations are in sets/extraction.en.yaml and sets/extraction.zh.yaml; they were written and labelled by hand
before any model had read them. Each runs through the complete update graph with a separate memory.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from common import Measurement, Plot, Row, bootstrap, sha256_of, table
from datasets import new_turns
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from sets import scoring
from sets.labels import LANGUAGES, Conversation, all_conversations, path_of
from sets.scoring import Judged, Share, failed, judge

from memgraph import Context, Fact, MemgraphError, MemoryDocument, Policy, Scope, build_graph, open_storage
from memgraph.analysis.sentences import sentences
from memgraph.testing import ScriptedModel, update_answer

SHARES = {
    "precision": scoring.precision,
    "recall": scoring.recall,
    "junk": scoring.junk,
    "duplicates": scoring.duplicates,
}
RARE = (
    ("corrections caught", scoring.caught, "conversations"),
    ("corrections categorised as such", scoring.filed_as_correction, "conversations"),
    ("false corrections", scoring.false_alarms, "conversations"),
    ("outdated facts removed", scoring.retired, "facts"),
)
NOTES = (
    (
        "Conversations written and labelled by hand, each with a separate memory, through the complete update graph. A"
        " fact matches a label by the words it must and must not contain. Precision: the share of stored facts that"
        " are labelled as true of the user. Recall: the share of the expected facts that are stored. Junk: stored"
        " facts that are labelled as not to be stored, or match no label. Duplicates: add nothing to earlier facts,"
        " and count as precise. An interval is the wider of a bootstrap over conversations and Wilson's."
    ),
    (
        "`every sentence` is a baseline that stores everything a user says except questions, which memgraph never"
        " stores: it shows what recall is worth without precision."
    ),
    "Labels are words: a fact that states the opposite in the same words may pass, one in unforeseen words may fail.",
)


# -- a conversation through the graph -------------------------------------------------------------


def to_messages(conversation: Conversation) -> list[BaseMessage]:
    """Return the messages as an agent has them; each tool message follows its call."""
    messages: list[BaseMessage] = []
    for number, message in enumerate(conversation.messages):
        if message.role == "tool":
            call = ToolCall(name="look_up", args={}, id=f"call{number}")
            messages.append(AIMessage("", tool_calls=[call], id=f"m{number}a"))
            messages.append(ToolMessage(message.text, tool_call_id=f"call{number}", id=f"m{number}"))
        else:
            kind = HumanMessage if message.role == "human" else AIMessage
            messages.append(kind(message.text, id=f"m{number}"))
    return messages


def initial_memory(conversation: Conversation) -> MemoryDocument:
    """Return the memory before the conversation."""
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
    return MemoryDocument(facts=facts)


def learn(context: Context, conversation: Conversation) -> Judged:
    """Run one conversation through the graph; a failed update is part of the result."""
    scope, before = Scope(conversation.id), initial_memory(conversation)
    storage = open_storage("memory:")
    storage.save(scope, before)
    graph: Any = build_graph()
    context = context.model_copy(update={"user_id": scope.user_id, "thread_id": "t1", "storage": storage})
    try:
        graph.invoke({"messages": to_messages(conversation)}, context=context)
    except MemgraphError as error:
        return failed(conversation, f"{type(error).__name__}: {error}")
    return judge(conversation, before, storage.load(scope))


def learn_all(context: Context, conversations: Sequence[Conversation], jobs: int = 1) -> Iterator[Judged]:
    """Learn from the conversations, *jobs* at a time; yield the results in order."""
    with ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(partial(learn, context), conversations)


def every_sentence() -> BaseChatModel:
    """Return the baseline: a model that makes one fact of each sentence of a user turn."""
    return ScriptedModel(
        lambda prompt: update_answer(*(sentence for turn in new_turns(prompt) for sentence in sentences(turn)))
    )


def sample(conversations: Sequence[Conversation], limit: int | None) -> list[Conversation]:
    """Return *limit* conversations, evenly spaced over the set."""
    if not limit or limit >= len(conversations):
        return list(conversations)
    return [conversations[number * len(conversations) // limit] for number in range(limit)]


# -- rows -----------------------------------------------------------------------------------------


def rows_of(name: str, judged: Sequence[Judged]) -> Iterator[Row]:
    """Yield the figures of a model, by language and in total."""
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
    """Yield one row, or none if there is nothing to count."""
    total = sum(map(share.whole, judged))
    if total:
        low, high = share.interval(judged)
        yield Row(name, share(judged), "share", low, high, note=f"{total:.0f} {counted}" if counted else "")


def _counts(name: str, judged: Sequence[Judged]) -> Iterator[Row]:
    stored = sum(one.stored for one in judged)
    yield Row(f"{name}: facts stored", stored, "facts", note=f"from {len(judged)} conversations")
    yield Row(f"{name}: labelled as not to be stored", sum(one.count("forbidden") for one in judged), "facts")
    yield Row(f"{name}: true facts lost", sum(one.lost for one in judged), "facts")
    yield Row(f"{name}: secrets stored", sum(one.leaked for one in judged), "secrets")
    yield Row(f"{name}: updates that failed", sum(bool(one.error) for one in judged), "updates")


def plot(every: Mapping[str, Sequence[Judged]]) -> Plot:
    """Plot precision and recall by language."""

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


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure the built-in model, and the baseline that stores every sentence."""
    conversations = sample(list(all_conversations()), 20 if quick else None)
    contexts = {"offline": Context(model="offline"), "every sentence": Context(model=every_sentence())}
    every = {name: list(learn_all(context, conversations)) for name, context in contexts.items()}
    rows = [row for name, judged in every.items() for row in rows_of(name, judged)]
    data = {path_of(language).name: sha256_of(path_of(language)) for language in LANGUAGES}
    return Measurement("Extraction from labelled conversations", rows, [plot(every)], data, NOTES)


def describe(one: Judged) -> Iterator[str]:
    """Yield lines with the stored and the missing facts of a conversation."""
    yield f"\n{one.conversation.id} ({one.conversation.kind}){f': {one.error}' if one.error else ''}"
    for fact, verdict in one.facts:
        yield f"  {verdict:9} [{fact.category}] {fact.content}"
    for label, found in zip(one.conversation.should, one.found, strict=True):
        if not found:
            yield f"  missing   {' / '.join(label.any_of)}"
    if stale := list(one.retired).count(False):
        yield f"  outdated  {stale} still stored"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a sample, as a smoke test")
    parser.add_argument("--model", default="offline", help="offline, openai:NAME, or provider:NAME")
    parser.add_argument("--structured", choices=("none", "json_schema", "function_calling"), help="structured output")
    parser.add_argument("--timeout", type=float, default=60, help="seconds per model call")
    parser.add_argument("--jobs", type=int, default=1, help="conversations in parallel")
    parser.add_argument("--limit", type=int, help="number of conversations, evenly spaced over the set")
    parser.add_argument("--show", action="store_true", help="print the stored facts of each conversation")
    args = parser.parse_args()
    policy = Policy(model_timeout_seconds=args.timeout)
    context = Context(model=args.model, structured_output=args.structured, policy=policy)
    conversations = sample(list(all_conversations()), args.limit or (20 if args.quick else None))
    judged: list[Judged] = []
    for one in learn_all(context, conversations, args.jobs):
        judged.append(one)
        if args.show:
            print(*describe(one), sep="\n", flush=True)
    print("", *table(list(rows_of(args.model, judged))), "", *NOTES, sep="\n")
    for error, times in Counter(one.error for one in judged if one.error).items():
        print(f"failures: {times} x {error}")


if __name__ == "__main__":
    main()
