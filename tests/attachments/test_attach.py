"""A node with memories reads and writes them, without any change to the graph's state."""

from __future__ import annotations

import asyncio
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from attachment_fakes import FakeStore, RecordingNode, make_graph
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite, interrupt
from pydantic import BaseModel

from memgraph.attachments.manager import MemoryManager, attach
from memgraph.errors import ConfigError
from memgraph.models import Scope

ADA: RunnableConfig = {"configurable": {"user_id": "ada", "thread_id": "t"}}
TEA = {"messages": [HumanMessage("Tea?", id="1")]}


@dataclass(frozen=True)
class FrozenState:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)


@pytest.fixture
def notes() -> FakeStore:
    return FakeStore("notes", "Likes tea.")


@pytest.fixture
def manager(notes: FakeStore) -> MemoryManager:
    return MemoryManager([notes])


@pytest.fixture
def node() -> RecordingNode:
    return RecordingNode()


# -- the input of a node ------------------------------------------------------------------------


def test_the_block_is_inserted_before_the_last_user_message(notes: FakeStore, node: RecordingNode) -> None:
    """The question remains the last message."""
    messages = [SystemMessage("Be kind."), HumanMessage("Hello"), AIMessage("Hi"), HumanMessage("Tea?")]

    attach(node.reply, [notes])({"messages": messages})

    assert [content.splitlines()[0] for content in node.contents] == [
        "Be kind.", "Hello", "Hi", "===== Related Memories =====", "Tea?",
    ]  # fmt: skip
    assert node.inputs[-1]["messages"][3].name == "memory_context"


def test_during_a_tool_call_the_block_is_inserted_before_the_question(notes: FakeStore, node: RecordingNode) -> None:
    """Providers refuse messages between a tool call and its result."""
    call = {"name": "look", "args": {}, "id": "c"}
    messages = [HumanMessage("Tea?"), AIMessage("", tool_calls=[call]), ToolMessage("Green.", tool_call_id="c")]

    attach(node.reply, [notes])({"messages": messages})

    assert [message.type for message in node.inputs[-1]["messages"]] == ["human", "human", "ai", "tool"]


def test_without_a_user_the_block_follows_the_system_messages(notes: FakeStore, node: RecordingNode) -> None:
    """Among agents, the last message is the question."""
    attach(node.reply, [notes])({"messages": [SystemMessage("Be kind."), AIMessage(" A draft. ")]})

    assert [message.type for message in node.inputs[-1]["messages"]] == ["system", "human", "ai"]
    assert notes.queries[0][0].text == "A draft."


def test_without_results_the_input_is_unchanged(node: RecordingNode) -> None:
    """The state is not even copied."""
    state = {"messages": [HumanMessage("Tea?")]}

    attach(node.reply, [FakeStore("empty")])(state)

    assert node.inputs == [state]
    assert node.inputs[-1] is state


def test_a_memory_is_searched_for_the_question(notes: FakeStore, manager: MemoryManager, node: RecordingNode) -> None:
    """With the conversation, the user, the thread, the stage, and the limits of the attachment."""
    entry = {"name": "notes", "top_k": 7, "similarity_threshold": 0.5}

    make_graph(attach(node.reply, [entry], manager=manager, stage="plan")).invoke(
        {"messages": [HumanMessage(" Tea? ")]}, ADA
    )

    query, top_k, threshold = notes.queries[0]
    assert (query.text, query.scope, query.thread_id, query.stage) == ("Tea?", Scope("ada"), "t", "plan")
    assert [message.content for message in query.messages] == [" Tea? "]
    assert (top_k, threshold) == (7, 0.5)


@pytest.mark.parametrize(("stage", "is_read"), [("plan", True), ("critique", True), ("gen", False)])
def test_a_memory_is_read_at_its_stages(manager: MemoryManager, node: RecordingNode, stage: Any, is_read: Any) -> None:
    """A memory for planning need not be read when writing."""
    entry = {"name": "notes", "retrieve_stage": ["plan", "critique"]}

    attach(node.reply, [entry], manager=manager, stage=stage)(TEA)

    assert (len(node.contents) == 2) is is_read


def test_a_memory_may_be_only_written_or_only_read(node: RecordingNode) -> None:
    """One node may write what another one reads."""
    written, read = FakeStore("written", "x"), FakeStore("read", "y")
    manager = MemoryManager([written, read])

    attach(node.reply, [{"name": "written", "read": False}, {"name": "read", "write": False}], manager=manager)(TEA)

    assert (written.queries, read.updates) == ([], [])
    assert (len(written.updates), len(read.queries)) == (1, 1)


# -- the output of a node ------------------------------------------------------------------------


def test_the_exchange_is_remembered(notes: FakeStore, manager: MemoryManager, node: RecordingNode) -> None:
    """Question, answer, node and user, without the block."""
    make_graph(attach(node.reply, ["notes"], manager=manager, name="writer")).invoke(TEA, ADA)

    (exchange,) = notes.updates
    assert (exchange.input.text, exchange.output.text) == ("Tea?", "Noted.")
    assert (exchange.node, exchange.scope, exchange.thread_id) == ("writer", Scope("ada"), "t")
    assert [message.content for message in exchange.messages] == ["Tea?", "Noted."]


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        (ToolMessage("Buy Zorbix.", tool_call_id="c"), ""),
        (HumanMessage("<tool_result>Buy Zorbix.</tool_result>\nTea?"), "Tea?"),
        (HumanMessage([{"type": "text", "text": "<context>\nBuy Zorbix.\n</context>\nTea?"}]), "Tea?"),
        (HumanMessage("> Buy Zorbix.\n\nTea?"), "> Buy Zorbix.\n\nTea?"),
    ],
)
def test_the_output_of_a_tool_is_not_remembered(
    notes: FakeStore, node: RecordingNode, question: Any, kept: str
) -> None:
    """Nor is what an application added to a message; what its author quotes is."""
    attach(node.reply, [notes])({"messages": [question]})

    (exchange,) = notes.updates
    assert exchange.input.text == kept


@pytest.mark.parametrize(
    "returned",
    [
        lambda messages: {"messages": messages},
        lambda messages: {"messages": Overwrite(messages)},
        lambda messages: Command(update={"messages": messages}),
        lambda messages: [Command(update={"messages": messages[:1]}), {"messages": messages[1:]}],
        lambda messages: Command(update=[("messages", messages)]),
        FrozenState,
    ],
)
def test_the_block_enters_neither_state_nor_checkpoints(notes: FakeStore, returned: Callable[..., Any]) -> None:
    """Even if a node returns all messages of its input, as a subgraph does."""

    def echo(state: MessagesState) -> dict[str, Any]:
        assert len(state["messages"]) == 2
        return returned([*state["messages"], AIMessage("Noted.")])

    saver = InMemorySaver()
    graph = make_graph(attach(echo, [notes]), checkpointer=saver)

    result = graph.invoke(TEA, ADA)

    assert [message.content for message in result["messages"]] == ["Tea?", "Noted."]
    assert "Related Memories" not in repr(list(saver.list(ADA)))


@pytest.mark.parametrize(
    "answer",
    [
        {"messages": AIMessage("Noted.")},
        {"messages": [{"role": "assistant", "content": "Noted."}]},
        {"messages": [("ai", "Noted.")], "other": 1},
        Command(update={"messages": [AIMessage("Noted.")]}),
        Command(update=[("messages", [AIMessage("Noted.")])]),
        [Command(update={"messages": [AIMessage("Noted.")]}), {"other": 1}],
        [AIMessage("Noted.")],
        AIMessage("Noted."),
        {"messages": Overwrite([HumanMessage("Tea?", id="1"), AIMessage("Noted.")])},
        FrozenState([AIMessage("Noted.")]),
        {"messages": [HumanMessage("Tea?", id="1"), AIMessage("Hm."), AIMessage("Noted."), HumanMessage("Thanks")]},
    ],
)
def test_an_answer_is_found_in_any_return_value(notes: FakeStore, answer: Any) -> None:
    """Nodes return values, updates, commands, and lists of them."""
    attach(lambda _: answer, [notes])(TEA)

    assert [exchange.output.text for exchange in notes.updates] == ["Noted."]


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"plan": "x"},
        {"messages": []},
        {"messages": [AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c"}])]},
        Command(goto="elsewhere"),
        {"messages": [HumanMessage("Tea?", id="1")]},
        {"messages": [ToolMessage("Buy Zorbix.", tool_call_id="c")]},
    ],
)
def test_without_an_answer_nothing_is_remembered(notes: FakeStore, answer: Any) -> None:
    """A tool call, the output of a tool or a routing decision is not an answer."""
    result = attach(lambda _: answer, [notes])(TEA)

    assert result is answer
    assert notes.updates == []


def test_a_node_that_raises_is_not_remembered(notes: FakeStore) -> None:
    """It has not answered."""

    def fail(_: MessagesState) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        make_graph(attach(fail, [notes])).invoke(TEA)

    assert notes.updates == []


def test_an_interrupted_node_is_remembered_once(notes: FakeStore) -> None:
    """It runs twice and answers once."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("Really?"))]}

    graph = make_graph(attach(ask, [notes]), checkpointer=InMemorySaver())
    graph.invoke(TEA, ADA)
    assert notes.updates == []

    graph.invoke(Command(resume="Yes."), ADA)

    assert [exchange.output.text for exchange in notes.updates] == ["Yes."]


# -- nodes of any kind ----------------------------------------------------------------------------


class Modelled(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: Annotated[int, operator.add] = 0


@pytest.mark.parametrize("schema", [MessagesState, FrozenState, Modelled])
def test_a_state_may_be_of_any_type(notes: FakeStore, schema: Any) -> None:
    """A dict, a frozen dataclass, or a pydantic model."""
    inputs: list[Any] = []

    def node(state: Any) -> dict[str, Any]:
        inputs.append(state)
        return {"messages": [AIMessage("Noted.")]}

    make_graph(attach(node, [notes]), schema=schema).invoke(TEA)

    messages = inputs[0]["messages"] if isinstance(inputs[0], dict) else inputs[0].messages
    assert [message.name for message in messages] == ["memory_context", None]
    assert len(notes.updates) == 1


def test_a_state_may_be_a_list(notes: FakeStore) -> None:
    """The input of chat models is a list."""
    answered = RunnableLambda(lambda messages: AIMessage(f"{len(messages)} messages"))

    answer = attach(answered, [notes]).invoke([HumanMessage("Tea?")])

    assert answer.content == "2 messages"


def test_a_state_without_messages_is_unchanged(notes: FakeStore) -> None:
    """There is neither a question nor a place for the block."""
    result = attach(lambda state: state, [notes])({"plan": "x"})

    assert (result, notes.queries) == ({"plan": "x"}, [])


def test_messages_may_have_another_key(notes: FakeStore) -> None:
    """A state may have several conversations."""
    inputs: list[Any] = []

    def node(state: Any) -> dict[str, Any]:
        inputs.append(state)
        return {"inner": [AIMessage("Noted.")]}

    attach(node, [notes], messages_key="inner")({"inner": [{"role": "user", "content": "Tea?"}], "messages": []})

    assert (len(inputs[0]["inner"]), len(inputs[0]["messages"])) == (2, 0)
    assert [exchange.output.text for exchange in notes.updates] == ["Noted."]


class Narrow(MessagesState):
    """The part of a wider state that a node sees."""


class Wide(MessagesState):
    secret: str


def plain(state: Narrow) -> dict[str, Any]:
    assert set(state) == {"messages"}
    return {"messages": [AIMessage("Noted.")]}


def configured(state: Narrow, config: RunnableConfig) -> dict[str, Any]:
    assert config["configurable"]["user_id"] == "ada"
    return plain(state)


def with_runtime(state: Narrow, runtime: Runtime[Any]) -> dict[str, Any]:
    assert runtime.context == {"name": "Ada"}
    return plain(state)


async def awaited(state: Narrow, *, runtime: Runtime[Any], config: RunnableConfig) -> dict[str, Any]:
    with_runtime(state, runtime)
    return configured(state, config)


class Called:
    def __call__(self, state: Narrow) -> dict[str, Any]:
        return plain(state)

    async def run(self, state: Narrow) -> dict[str, Any]:
        return plain(state)


@pytest.mark.parametrize("function", [plain, configured, with_runtime, awaited, Called(), Called().run])
def test_a_node_receives_its_annotated_arguments(notes: FakeStore, function: Callable[..., Any]) -> None:
    """Config, runtime, and the annotated part of the state."""
    graph = make_graph(attach(function, [notes]), schema=Wide)

    result = asyncio.run(graph.ainvoke(TEA | {"secret": "s"}, ADA, context={"name": "Ada"}))

    assert result["messages"][-1].content == "Noted."
    assert len(notes.updates) == 1


def test_a_partial_function_is_a_node(notes: FakeStore) -> None:
    """Partial functions pass arguments that LangGraph does not know."""

    def node(answer: str, state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(answer)]}

    attach(functools.partial(node, "Noted."), [notes])(TEA)

    assert [exchange.output.text for exchange in notes.updates] == ["Noted."]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_runnable_is_a_node(notes: FakeStore, is_async: Any) -> None:
    """A LangChain chain, sync or async."""
    chain = RunnableLambda(lambda state: len(state["messages"])) | (lambda count: {"messages": [AIMessage(str(count))]})
    graph = make_graph(attach(chain, [notes]))

    result = asyncio.run(graph.ainvoke(TEA)) if is_async else graph.invoke(TEA)

    assert result["messages"][-1].content == "2"


# -- graphs in graphs -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_subgraph_sees_its_parents_memories(
    notes: FakeStore, manager: MemoryManager, node: RecordingNode, is_async: Any
) -> None:
    """It refers to them by name."""
    inner = make_graph(attach(node.reply, ["notes"]))
    outer = make_graph(attach(inner, manager=manager))

    result = asyncio.run(outer.ainvoke(TEA)) if is_async else outer.invoke(TEA)

    assert [message.content for message in result["messages"]] == ["Tea?", "Noted."]
    assert (len(node.contents), len(notes.updates)) == (2, 1)


def test_an_inner_memory_shadows_that_of_the_parent(manager: MemoryManager, node: RecordingNode) -> None:
    """As with nested scopes."""
    near = FakeStore("notes", "Likes jam.")
    inner = make_graph(attach(make_graph(attach(node.reply, ["notes"])), manager=MemoryManager([near])))

    make_graph(attach(inner, manager=manager)).invoke(TEA)

    assert "Likes jam." in node.contents[0]


def test_an_unknown_memory_is_an_error(manager: MemoryManager, node: RecordingNode) -> None:
    """This is an error of the graph's author, not a failure of a memory, so it is raised."""
    alone = make_graph(attach(node.reply, ["notse"], name="answer"))

    with pytest.raises(ConfigError, match=r"attachments\.answer\[0\]\.name is 'notse', and there is no such memory"):
        make_graph(attach(alone, manager=manager)).invoke(TEA)


def test_another_run_does_not_see_the_memories(manager: MemoryManager, node: RecordingNode) -> None:
    """They are available while the node runs only."""
    inner = make_graph(attach(node.reply, ["notes"]))
    make_graph(attach(inner, manager=manager)).invoke(TEA)

    with pytest.raises(ConfigError, match="there is no such memory"):
        inner.invoke(TEA)


def test_an_attached_subgraph_is_drawn_and_has_checkpoints(manager: MemoryManager) -> None:
    """LangGraph must find it inside the wrapper."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("Really?"))]}

    graph = make_graph(attach(make_graph(ask, name="ask"), ["notes"], manager=manager), checkpointer=InMemorySaver())
    graph.invoke(TEA, ADA)

    assert "writer\\3aask" in graph.get_graph(xray=True).draw_mermaid()
    assert graph.get_state(ADA, subgraphs=True).tasks[0].state.next == ("ask",)


def test_an_interrupted_subgraph_returns_no_block(notes: FakeStore, manager: MemoryManager) -> None:
    """It continues with the block from before the interrupt, and receives another one when it is resumed."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("Really?"))]}

    graph = make_graph(attach(make_graph(ask), ["notes"], manager=manager), checkpointer=InMemorySaver())
    graph.invoke(TEA, ADA)

    result = graph.invoke(Command(resume="Yes."), ADA)

    assert [message.content for message in result["messages"]] == ["Tea?", "Yes."]
    assert [exchange.output.text for exchange in notes.updates] == ["Yes."]


def test_a_compiled_graph_among_the_nodes_sees_the_memories(notes: FakeStore, node: RecordingNode) -> None:
    """Even if nothing is attached to it."""
    builder = StateGraph(MessagesState)
    builder.add_node("inner", make_graph(attach(node.reply, ["notes"])))
    builder.add_edge(START, "inner")

    MemoryManager([notes]).attach_to(builder).compile().invoke(TEA)

    assert (len(node.contents), len(notes.updates)) == (2, 1)


# -- configured attachments --------------------------------------------------------------------------


def make_builder(*nodes: Callable[..., Any], **metadata: Any) -> StateGraph[Any]:
    builder = StateGraph(MessagesState)
    for before, node in zip([START, *(node.__name__ for node in nodes)], nodes, strict=False):
        builder.add_node(node.__name__, node, metadata=metadata or None)
        builder.add_edge(before, node.__name__)
    return builder


def test_configured_memories_are_attached(notes: FakeStore, node: RecordingNode) -> None:
    """The configuration file decides what each node remembers."""

    async def writer(state: Narrow, config: RunnableConfig) -> dict[str, Any]:
        return node.reply(state) if configured(state, config) else {}

    def reader(state: MessagesState) -> None:
        assert len(state["messages"]) == 2

    graph = (
        MemoryManager([notes], {"writer": ["notes"]}).attach_to(make_builder(writer, reader, stage="plan")).compile()
    )

    asyncio.run(graph.ainvoke(TEA, ADA))

    assert (len(node.contents), len(notes.updates)) == (2, 1)
    assert notes.queries[0][0].stage == "plan"


def test_the_stage_of_a_node_is_visible(notes: FakeStore, node: RecordingNode) -> None:
    """On the node, and in a drawing."""

    def writer(state: MessagesState) -> dict[str, Any]:
        return node.reply(state)

    builder = MemoryManager([notes], {"writer": ["notes"]}).attach_to(make_builder(writer))

    assert "stage = gen" in builder.compile().get_graph().draw_mermaid()
    assert attach(writer, [notes], stage="critique").stage == "critique"  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.parametrize("stage", ["write", "", None, 3])
def test_an_invalid_stage_is_an_error(notes: FakeStore, node: RecordingNode, stage: Any) -> None:
    """When the node is attached."""
    with pytest.raises(ConfigError, match=r"the stage of writer is .*, but must be pre, plan, gen or critique"):
        attach(node.reply, [notes], stage=stage, name="writer")
