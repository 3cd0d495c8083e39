"""An update beside LangMem's memory manager: what it costs, how often the model is asked, what two at once lose.

python benchmarks/langmem_updates.py [--quick]
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from common import Measured, Plot, Row, alone, at_most, median_row
from datasets import conversation, cpu_ms, learning_model, some_facts
from fakes import ToolCaller, langmem, manager, of_user
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.store.memory import InMemoryStore
from pydantic import BaseModel
from update import tokens_of

from memgraph import Context, Memory, Policy, Scope, build_graph, open_storage

NAMESPACE = ("memories", "ada")
MODEL_SECONDS = 0.05
THREADS = 8
NOTES = (
    (
        "Both in RAM, with a fake model that makes one memory of each thing a person said. LangMem looks up memories"
        " without an index of embeddings, as a store has none by default, and shows its model five; memgraph shows "
        "its model those of the memory that matter, within its budget, and asks for summaries too. That is why its "
        "prompt is the longer one at first."
    ),
    (
        "Handed over after every exchange: the whole conversation each time, as LangMem's documentation does. "
        "memgraph learns from what is new in it; LangMem leaves it to the model to see what it knows. The tokens are"
        " of the texts of the prompts, the descriptions of LangMem's tools not counted."
    ),
    (
        "At once: 8 threads hand over conversations of one user. A collection of LangMem gets a new entry a memory, "
        "so none can be lost; a profile (one document, `enable_inserts=False`) is read, patched and written, and a "
        "write that comes between is overwritten. LangGraph's stores have no compare-and-set, and LangMem claims "
        "none."
    ),
)


class Profile(BaseModel):
    """What is known of the user."""

    items: list[str] = []


# -- what an update costs -------------------------------------------------------------------------


def our_update(facts: int) -> Callable[[int], object]:
    """An update of a memory of that many facts."""
    storage = open_storage("memory:")
    storage.save(Scope("ada"), Memory(facts=some_facts(facts)))
    graph = build_graph(model=learning_model(), storage=storage, policy=Policy(max_facts=max(10, facts)))
    return lambda number: graph.invoke(
        {"messages": _one(number)}, context=Context(user_id="ada", thread_id=f"t{number}")
    )


def their_update(facts: int) -> Callable[[int], object]:
    """The same of LangMem."""
    store = InMemoryStore()
    for number, fact in enumerate(some_facts(facts)):
        store.put(NAMESPACE, str(number), {"kind": "Memory", "content": {"content": fact.content}})
    manages = manager(ToolCaller(), store)
    return lambda number: manages.invoke({"messages": _one(number)}, config=of_user("ada"))


def _one(number: int) -> list[BaseMessage]:
    return [HumanMessage(f"I work on project {number} and prefer Rust.", id=f"m{number}"), AIMessage("Noted.")]


def costs(sizes: Sequence[int], rounds: int) -> list[Row]:
    """CPU of an update of one exchange."""
    rows: list[Row] = []
    for name, made in (("memgraph", our_update), ("LangMem", their_update)):
        for facts in sizes:
            update = made(facts)
            update(10_000)
            rows.append(median_row(f"update, {facts:,} memories: {name}", cpu_ms(update, rounds), "ms CPU"))
    return rows


# -- a conversation that goes on ------------------------------------------------------------------


def our_talk(exchanges: int) -> list[int]:
    """Tokens of each prompt, in order."""
    model = learning_model()
    graph = build_graph(model=model, storage="memory:")
    for length in range(1, exchanges + 1):
        context = Context(user_id="ada", thread_id="t")
        graph.invoke({"messages": conversation(length * 2, length=6)}, context=context)
    return [tokens_of(prompt) for prompt in model.asked]


def their_talk(exchanges: int) -> list[int]:
    """The same of LangMem."""
    model = ToolCaller()
    manages = manager(model, InMemoryStore())
    for length in range(1, exchanges + 1):
        manages.invoke({"messages": conversation(length * 2, length=6)}, config=of_user("ada"))
    return [tokens_of(prompt) for prompt in model.asked]


def again() -> list[Row]:
    """Calls of the model for one conversation that is handed over ten times."""
    ours, theirs = learning_model(), ToolCaller()
    graph, manages = build_graph(model=ours, storage="memory:"), manager(theirs, InMemoryStore())
    for _ in range(10):
        graph.invoke({"messages": conversation(4)}, context=Context(user_id="ada", thread_id="t"))
        manages.invoke({"messages": conversation(4)}, config=of_user("ada"))
    said = "calls of the model, the same conversation handed over ten times"
    return [Row(f"{said}: memgraph", len(ours.asked), bound=at_most(1)), Row(f"{said}: LangMem", len(theirs.asked))]


def talk_rows(ours: Sequence[int], theirs: Sequence[int]) -> list[Row]:
    """What the prompts of a conversation take in all."""
    said = f"{len(theirs)} exchanges, handed over after each, all prompts"
    return [Row(f"{said}: {name}", sum(every), "tokens") for name, every in (("memgraph", ours), ("LangMem", theirs))]


def talk_plot(ours: Sequence[int], theirs: Sequence[int]) -> Plot:
    """Tokens of a prompt against the length of the conversation."""

    def draw(axes: Any) -> None:  # noqa: ANN401
        for name, tokens in (("memgraph", ours), ("LangMem", theirs)):
            axes.plot(range(1, len(tokens) + 1), tokens, label=f"{name}: {sum(tokens):,} tokens in all")
        axes.set(xlabel="exchanges so far", ylabel="tokens of the prompt", ylim=(0, None))
        axes.legend()

    caption = "A conversation handed over whole after each exchange: tokens of each update's prompt."
    return Plot("langmem_prompts", caption, draw)


# -- two at once ----------------------------------------------------------------------------------


def at_once(update: Callable[[int], object], conversations: int) -> None:
    """Run updates in several threads."""
    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(update, range(conversations)))


def our_race(conversations: int) -> int:
    """How many things of those said are in the memory."""
    storage = open_storage("memory:")
    graph = build_graph(model=learning_model(MODEL_SECONDS), storage=storage, policy=Policy(max_facts=10_000))
    at_once(
        lambda n: graph.invoke({"messages": _one(n)}, context=Context(user_id="ada", thread_id=f"t{n}")), conversations
    )
    return len({fact.content for fact in storage.load(Scope("ada")).facts})


def collection_race(conversations: int) -> int:
    """The same of LangMem's collection."""
    store = InMemoryStore()
    manages = manager(ToolCaller(seconds=MODEL_SECONDS), store)
    at_once(lambda n: manages.invoke({"messages": _one(n)}, config=of_user("ada")), conversations)
    return len({item.value["content"]["content"] for item in store.search(NAMESPACE, limit=10_000)})


def profile_race(conversations: int) -> int:
    """The same of LangMem's profile."""
    store = InMemoryStore()
    profile = {"schemas": [Profile], "enable_inserts": False, "default": {"items": []}}
    manages = manager(ToolCaller(seconds=MODEL_SECONDS), store, **profile)
    at_once(lambda n: manages.invoke({"messages": _one(n)}, config=of_user("ada")), conversations)
    (item,) = store.search(NAMESPACE, limit=10)
    return len(set(item.value["content"]["items"]))


def races(conversations: int, rounds: int) -> list[Row]:
    """What is lost, of what was said."""
    rows: list[Row] = []
    for name, race in (
        ("memgraph", our_race),
        ("LangMem, collection", collection_race),
        ("LangMem, profile", profile_race),
    ):
        lost = [conversations - race(conversations) for _ in range(rounds)]
        bound = at_most(0) if name == "memgraph" else None
        said = f"lost, of {conversations} learned by {THREADS} threads at once: {name}"
        rows.append(median_row(said, lost, "", bound))
    return rows


def measure(quick: bool) -> Measured:  # noqa: FBT001 - as all parts
    """Measure both."""
    langmem()
    sizes, rounds, exchanges = ((10,), 8, 4) if quick else ((10, 100, 1_000), 40, 30)
    ours, theirs = our_talk(exchanges), their_talk(exchanges)
    rows = [
        *costs(sizes, rounds),
        *talk_rows(ours, theirs),
        *again(),
        *races(16 if quick else 40, 2 if quick else 10),
    ]
    return Measured("An update, beside LangMem", rows, [talk_plot(ours, theirs)], notes=NOTES)


if __name__ == "__main__":
    alone(measure)
