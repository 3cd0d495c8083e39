"""An update compared with LangMem's memory manager: cost, model calls, and lost updates under concurrency.

python benchmarks/langmem_updates.py [--quick]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from common import Measurement, Plot, Row, at_most, median_row, run_standalone
from datasets import conversation, cpu_ms, learning_model, some_facts
from fakes import ToolCaller, langmem, make_manager, user_config
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel
from update import tokens_of

from memgraph import Context, MemoryDocument, Policy, Scope, build_graph, open_storage

NAMESPACE = ("memories", "ada")
MODEL_SECONDS = 0.05
THREADS = 8
NOTES = (
    (
        "Both in RAM, with a fake model that makes one memory of each user message. LangMem searches memories without "
        "an embedding index, which a store does not have by default, and shows five to its model; memgraph shows the "
        "relevant facts within its budget and also asks for summaries, so its prompt is longer at first."
    ),
    (
        "Submitted after every exchange: the whole conversation each time, as in LangMem's documentation. memgraph "
        "learns only from new messages; LangMem leaves it to the model to recognise known ones. Tokens are those of "
        "the prompts' texts, without the descriptions of LangMem's tools."
    ),
    (
        "Concurrency: 8 threads submit conversations of one user. A LangMem collection gets a new entry per memory, so "
        "none can be lost; a profile (one document, `enable_inserts=False`) is read, patched and written, and a write "
        "in between is overwritten. LangGraph's stores have no compare-and-set, and LangMem does not claim it."
    ),
)


class Profile(BaseModel):
    """The user's profile."""

    items: list[str] = []


# -- cost of an update -------------------------------------------------------------------------


def memgraph_update(facts: int) -> Callable[[int], object]:
    """Return a function that updates a memory of that many facts."""
    storage = open_storage("memory:")
    storage.save(Scope("ada"), MemoryDocument(facts=some_facts(facts)))
    graph = build_graph(model=learning_model(), storage=storage, policy=Policy(max_facts=max(10, facts)))
    return lambda number: graph.invoke(
        {"messages": _one(number)}, context=Context(user_id="ada", thread_id=f"t{number}")
    )


def langmem_update(facts: int) -> Callable[[int], object]:
    """Return the same for LangMem."""
    store = InMemoryStore()
    for number, fact in enumerate(some_facts(facts)):
        store.put(NAMESPACE, str(number), {"kind": "Memory", "content": {"content": fact.content}})
    memory_manager = make_manager(ToolCaller(), store)
    return lambda number: memory_manager.invoke({"messages": _one(number)}, config=user_config("ada"))


def _one(number: int) -> list[BaseMessage]:
    return [HumanMessage(f"I work on project {number} and prefer Rust.", id=f"m{number}"), AIMessage("Noted.")]


def costs(sizes: Sequence[int], rounds: int) -> list[Row]:
    """Measure the CPU of an update of one exchange."""
    rows: list[Row] = []
    for name, make_update in (("memgraph", memgraph_update), ("LangMem", langmem_update)):
        for facts in sizes:
            update = make_update(facts)
            update(10_000)
            rows.append(median_row(f"update, {facts:,} memories: {name}", cpu_ms(update, rounds), "ms CPU"))
    return rows


# -- a growing conversation ------------------------------------------------------------------


def memgraph_tokens(exchanges: int) -> list[int]:
    """Return the tokens of each of memgraph's prompts, in order."""
    model = learning_model()
    graph = build_graph(model=model, storage="memory:")
    for length in range(1, exchanges + 1):
        context = Context(user_id="ada", thread_id="t")
        graph.invoke({"messages": conversation(length * 2, length=6)}, context=context)
    return [tokens_of(prompt) for prompt in model.asked]


def langmem_tokens(exchanges: int) -> list[int]:
    """Return the same for LangMem."""
    model = ToolCaller()
    memory_manager = make_manager(model, InMemoryStore())
    for length in range(1, exchanges + 1):
        memory_manager.invoke({"messages": conversation(length * 2, length=6)}, config=user_config("ada"))
    return [tokens_of(prompt) for prompt in model.asked]


def repeat_rows() -> list[Row]:
    """Count model calls for one conversation that is submitted ten times."""
    ours, theirs = learning_model(), ToolCaller()
    graph, memory_manager = build_graph(model=ours, storage="memory:"), make_manager(theirs, InMemoryStore())
    for _ in range(10):
        graph.invoke({"messages": conversation(4)}, context=Context(user_id="ada", thread_id="t"))
        memory_manager.invoke({"messages": conversation(4)}, config=user_config("ada"))
    name = "model calls, the same conversation submitted ten times"
    return [Row(f"{name}: memgraph", len(ours.asked), bound=at_most(1)), Row(f"{name}: LangMem", len(theirs.asked))]


def token_rows(ours: Sequence[int], theirs: Sequence[int]) -> list[Row]:
    """Sum the tokens of all prompts of a conversation."""
    name = f"{len(theirs)} exchanges, submitted after each, all prompts"
    return [Row(f"{name}: memgraph", sum(ours), "tokens"), Row(f"{name}: LangMem", sum(theirs), "tokens")]


def token_plot(ours: Sequence[int], theirs: Sequence[int]) -> Plot:
    """Plot the tokens of a prompt against the length of the conversation."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for name, tokens in (("memgraph", ours), ("LangMem", theirs)):
            axes.plot(range(1, len(tokens) + 1), tokens, label=f"{name}: {sum(tokens):,} tokens in total")
        axes.set(xlabel="exchanges so far", ylabel="tokens of the prompt", ylim=(0, None))
        axes.legend()

    caption = "A conversation submitted after each exchange: tokens of each update's prompt."
    return Plot("langmem_prompts", caption, draw)


# -- concurrency ----------------------------------------------------------------------------------


def run_concurrently(update: Callable[[int], object], conversations: int) -> None:
    """Run updates in several threads."""
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(update, range(conversations)))


def memgraph_race(conversations: int) -> int:
    """Return how many messages are in memgraph's memory."""
    storage = open_storage("memory:")
    graph = build_graph(model=learning_model(MODEL_SECONDS), storage=storage, policy=Policy(max_facts=10_000))
    run_concurrently(
        lambda n: graph.invoke({"messages": _one(n)}, context=Context(user_id="ada", thread_id=f"t{n}")), conversations
    )
    return len({fact.content for fact in storage.load(Scope("ada")).recallable})


def collection_race(conversations: int) -> int:
    """Return the same for LangMem's collection."""
    store = InMemoryStore()
    memory_manager = make_manager(ToolCaller(seconds=MODEL_SECONDS), store)
    run_concurrently(lambda n: memory_manager.invoke({"messages": _one(n)}, config=user_config("ada")), conversations)
    return len({item.value["content"]["content"] for item in store.search(NAMESPACE, limit=10_000)})


def profile_race(conversations: int) -> int:
    """Return the same for LangMem's profile."""
    store = InMemoryStore()
    profile = {"schemas": [Profile], "enable_inserts": False, "default": {"items": []}}
    memory_manager = make_manager(ToolCaller(seconds=MODEL_SECONDS), store, **profile)
    run_concurrently(lambda n: memory_manager.invoke({"messages": _one(n)}, config=user_config("ada")), conversations)
    (item,) = store.search(NAMESPACE, limit=10)
    return len(set(item.value["content"]["items"]))


def races(conversations: int, rounds: int) -> list[Row]:
    """Count lost messages."""
    rows: list[Row] = []
    for name, race in (
        ("memgraph", memgraph_race),
        ("LangMem, collection", collection_race),
        ("LangMem, profile", profile_race),
    ):
        lost = [conversations - race(conversations) for _ in range(rounds)]
        bound = at_most(0) if name == "memgraph" else None
        label = f"lost, of {conversations} learned by {THREADS} threads at once: {name}"
        rows.append(median_row(label, lost, "", bound))
    return rows


def measure(quick: bool) -> Measurement:  # noqa: FBT001 - the signature of every part
    """Measure memgraph and LangMem."""
    langmem()
    sizes, rounds, exchanges = ((10,), 8, 4) if quick else ((10, 100, 1_000), 40, 30)
    ours, theirs = memgraph_tokens(exchanges), langmem_tokens(exchanges)
    rows = [
        *costs(sizes, rounds),
        *token_rows(ours, theirs),
        *repeat_rows(),
        *races(16 if quick else 40, 2 if quick else 10),
    ]
    return Measurement("An update, compared with LangMem", rows, [token_plot(ours, theirs)], notes=NOTES)


if __name__ == "__main__":
    run_standalone(measure)
