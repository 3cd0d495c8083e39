"""A node with memories is the same node: it is told more, and remembered, and nobody else notices."""

from __future__ import annotations

import asyncio
import functools
import operator
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Annotated, Any

import pytest
from attachment_fakes import Node, Notes, graph_of
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import Command, Overwrite, interrupt
from pydantic import BaseModel

from memgraph.attachments.attach import attach
from memgraph.attachments.manager import MemoryManager
from memgraph.errors import ConfigError
from memgraph.models import Scope

ADA: RunnableConfig = {"configurable": {"user_id": "ada", "thread_id": "t"}}
TEA = {"messages": [HumanMessage("Tea?", id="1")]}


@dataclass(frozen=True)
class Said:
    messages: Annotated[list[AnyMessage], add_messages] = field(default_factory=list)


@pytest.fixture
def notes() -> Notes:
    return Notes("notes", "Likes tea.")


@pytest.fixture
def manager(notes: Notes) -> MemoryManager:
    return MemoryManager([notes])


@pytest.fixture
def node() -> Node:
    return Node()


# -- what a node is told --------------------------------------------------------------------------


def test_what_is_found_stands_before_the_last_user_message(notes: Notes, node: Node) -> None:
    """The question stays the last thing that was said."""
    said = [SystemMessage("Be kind."), HumanMessage("Hello"), AIMessage("Hi"), HumanMessage("Tea?")]

    attach(node.answered, [notes])({"messages": said})

    assert [content.splitlines()[0] for content in node.contents] == [
        "Be kind.", "Hello", "Hi", "===== Related Memories =====", "Tea?",
    ]  # fmt: skip
    assert node.given[-1]["messages"][3].name == "memory_context"


def test_in_the_midst_of_a_tool_call_it_still_stands_before_the_question(notes: Notes, node: Node) -> None:
    """Between a call and its result nothing may stand, or a provider refuses the conversation."""
    call = {"name": "look", "args": {}, "id": "c"}
    said = [HumanMessage("Tea?"), AIMessage("", tool_calls=[call]), ToolMessage("Green.", tool_call_id="c")]

    attach(node.answered, [notes])({"messages": said})

    assert [message.type for message in node.given[-1]["messages"]] == ["human", "human", "ai", "tool"]


def test_without_a_user_it_stands_below_the_instructions(notes: Notes, node: Node) -> None:
    """An agent may talk to an agent; then the last thing said is what is asked."""
    attach(node.answered, [notes])({"messages": [SystemMessage("Be kind."), AIMessage(" A draft. ")]})

    assert [message.type for message in node.given[-1]["messages"]] == ["system", "human", "ai"]
    assert notes.asked[0][0].text == "A draft."


def test_nothing_found_leaves_the_input_as_it_is(node: Node) -> None:
    """Not even a copy is made."""
    state = {"messages": [HumanMessage("Tea?")]}

    attach(node.answered, [Notes("empty")])(state)

    assert node.given == [state]
    assert node.given[-1] is state


def test_a_memory_is_asked_what_the_user_said(notes: Notes, manager: MemoryManager, node: Node) -> None:
    """With the conversation, the user, the thread and the stage, and as much as the attachment wants."""
    entry = {"name": "notes", "top_k": 7, "similarity_threshold": 0.5}

    graph_of(attach(node.answered, [entry], manager=manager, stage="plan")).invoke(
        {"messages": [HumanMessage(" Tea? ")]}, ADA
    )

    query, top_k, threshold = notes.asked[0]
    assert (query.text, query.scope, query.thread_id, query.stage) == ("Tea?", Scope("ada"), "t", "plan")
    assert [message.content for message in query.messages] == [" Tea? "]
    assert (top_k, threshold) == (7, 0.5)


@pytest.mark.parametrize(("stage", "is_told"), [("plan", True), ("critique", True), ("gen", False)])
def test_a_memory_is_read_at_its_stages(manager: MemoryManager, node: Node, stage: Any, is_told: Any) -> None:
    """What helps to plan may disturb the writing."""
    entry = {"name": "notes", "retrieve_stage": ["plan", "critique"]}

    attach(node.answered, [entry], manager=manager, stage=stage)(TEA)

    assert (len(node.contents) == 2) is is_told


def test_a_memory_may_be_only_written_or_only_read(node: Node) -> None:
    """One node learns, another one uses it."""
    heard, told = Notes("heard", "x"), Notes("told", "y")
    manager = MemoryManager([heard, told])

    attach(node.answered, [{"name": "heard", "read": False}, {"name": "told", "write": False}], manager=manager)(TEA)

    assert (heard.asked, told.kept) == ([], [])
    assert (len(heard.kept), len(told.asked)) == (1, 1)


# -- what becomes of its answer -------------------------------------------------------------------


def test_the_exchange_is_remembered(notes: Notes, manager: MemoryManager, node: Node) -> None:
    """What was asked, what was answered, by whom and for whom; the block is no part of it."""
    graph_of(attach(node.answered, ["notes"], manager=manager, name="writer")).invoke(TEA, ADA)

    (kept,) = notes.kept
    assert (kept.input.text, kept.output.text) == ("Tea?", "Noted.")
    assert (kept.node, kept.scope, kept.thread_id) == ("writer", Scope("ada"), "t")
    assert [message.content for message in kept.messages] == ["Tea?", "Noted."]


@pytest.mark.parametrize(
    "returned",
    [
        lambda messages: {"messages": messages},
        lambda messages: {"messages": Overwrite(messages)},
        lambda messages: Command(update={"messages": messages}),
        lambda messages: [Command(update={"messages": messages[:1]}), {"messages": messages[1:]}],
        lambda messages: Command(update=[("messages", messages)]),
        Said,
    ],
)
def test_nothing_of_a_memory_gets_into_the_state_or_a_checkpoint(notes: Notes, returned: Callable[..., Any]) -> None:
    """Also where a node hands back all the messages that it was given, as a graph does."""

    def echo(state: MessagesState) -> dict[str, Any]:
        assert len(state["messages"]) == 2
        return returned([*state["messages"], AIMessage("Noted.")])

    saver = InMemorySaver()
    graph = graph_of(attach(echo, [notes]), checkpointer=saver)

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
        Said([AIMessage("Noted.")]),
        {"messages": [HumanMessage("Tea?", id="1"), AIMessage("Hm."), AIMessage("Noted."), HumanMessage("Thanks")]},
    ],
)
def test_an_answer_is_found_however_it_is_returned(notes: Notes, answer: Any) -> None:
    """Nodes return values, updates, commands, and lists of them."""
    attach(lambda _: answer, [notes])(TEA)

    assert [kept.output.text for kept in notes.kept] == ["Noted."]


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
    ],
)
def test_no_answer_is_no_exchange(notes: Notes, answer: Any) -> None:
    """A node that calls a tool goes on, and one that only decides says nothing."""
    result = attach(lambda _: answer, [notes])(TEA)

    assert result is answer
    assert notes.kept == []


def test_a_node_that_raises_is_not_remembered(notes: Notes) -> None:
    """It answered nothing."""

    def fail(_: MessagesState) -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        graph_of(attach(fail, [notes])).invoke(TEA)

    assert notes.kept == []


def test_a_node_that_asks_a_person_is_remembered_once(notes: Notes) -> None:
    """It runs twice, and answers once."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("Really?"))]}

    graph = graph_of(attach(ask, [notes]), checkpointer=InMemorySaver())
    graph.invoke(TEA, ADA)
    assert notes.kept == []

    graph.invoke(Command(resume="Yes."), ADA)

    assert [kept.output.text for kept in notes.kept] == ["Yes."]


# -- nodes of any kind ----------------------------------------------------------------------------


class Modelled(BaseModel):
    messages: Annotated[list[AnyMessage], add_messages]
    turns: Annotated[int, operator.add] = 0


@pytest.mark.parametrize("schema", [MessagesState, Said, Modelled])
def test_a_state_may_be_of_any_type(notes: Notes, schema: Any) -> None:
    """A dict, a dataclass that is frozen, a pydantic model."""
    given: list[Any] = []

    def node(state: Any) -> dict[str, Any]:
        given.append(state)
        return {"messages": [AIMessage("Noted.")]}

    graph_of(attach(node, [notes]), schema=schema).invoke(TEA)

    messages = given[0]["messages"] if isinstance(given[0], dict) else given[0].messages
    assert [message.name for message in messages] == ["memory_context", None]
    assert len(notes.kept) == 1


def test_a_state_may_be_a_list(notes: Notes) -> None:
    """As chat models take them."""
    answered = RunnableLambda(lambda messages: AIMessage(f"{len(messages)} messages"))

    answer = attach(answered, [notes]).invoke([HumanMessage("Tea?")])

    assert answer.content == "2 messages"


def test_a_state_without_messages_is_handed_on(notes: Notes) -> None:
    """There is nothing to ask by, and nowhere to put what is found."""
    result = attach(lambda state: state, [notes])({"plan": "x"})

    assert (result, notes.asked) == ({"plan": "x"}, [])


def test_messages_may_have_another_key(notes: Notes) -> None:
    """Of several conversations in one state, one is the node's own."""
    given: list[Any] = []

    def node(state: Any) -> dict[str, Any]:
        given.append(state)
        return {"inner": [AIMessage("Noted.")]}

    attach(node, [notes], messages_key="inner")({"inner": [{"role": "user", "content": "Tea?"}], "messages": []})

    assert (len(given[0]["inner"]), len(given[0]["messages"])) == (2, 0)
    assert [kept.output.text for kept in notes.kept] == ["Noted."]


class Narrow(MessagesState):
    """What a node sees of a wider state."""


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
def test_a_node_is_given_what_it_asks_for(notes: Notes, function: Callable[..., Any]) -> None:
    """Config, runtime, and no more of the state than its annotation says."""
    graph = graph_of(attach(function, [notes]), schema=Wide)

    result = asyncio.run(graph.ainvoke(TEA | {"secret": "s"}, ADA, context={"name": "Ada"}))

    assert result["messages"][-1].content == "Noted."
    assert len(notes.kept) == 1


def test_a_partial_function_is_a_node(notes: Notes) -> None:
    """That is how nodes are given what LangGraph does not know."""

    def node(answer: str, state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(answer)]}

    attach(functools.partial(node, "Noted."), [notes])(TEA)

    assert [kept.output.text for kept in notes.kept] == ["Noted."]


@pytest.mark.parametrize("is_async", [False, True])
def test_a_runnable_is_a_node(notes: Notes, is_async: Any) -> None:
    """A chain of LangChain's, called as the graph is."""
    chain = RunnableLambda(lambda state: len(state["messages"])) | (lambda count: {"messages": [AIMessage(str(count))]})
    graph = graph_of(attach(chain, [notes]))

    result = asyncio.run(graph.ainvoke(TEA)) if is_async else graph.invoke(TEA)

    assert result["messages"][-1].content == "2"


# -- graphs in graphs -----------------------------------------------------------------------------


@pytest.mark.parametrize("is_async", [False, True])
def test_a_subgraph_sees_its_parents_memories(notes: Notes, manager: MemoryManager, node: Node, is_async: Any) -> None:
    """It names them, and need not know who has them."""
    inner = graph_of(attach(node.answered, ["notes"]))
    outer = graph_of(attach(inner, manager=manager))

    result = asyncio.run(outer.ainvoke(TEA)) if is_async else outer.invoke(TEA)

    assert [message.content for message in result["messages"]] == ["Tea?", "Noted."]
    assert (len(node.contents), len(notes.kept)) == (2, 1)


def test_a_memory_of_its_own_goes_before_that_of_the_parent(manager: MemoryManager, node: Node) -> None:
    """As with any name: the nearest is meant."""
    near = Notes("notes", "Likes jam.")
    inner = graph_of(attach(graph_of(attach(node.answered, ["notes"])), manager=MemoryManager([near])))

    graph_of(attach(inner, manager=manager)).invoke(TEA)

    assert "Likes jam." in node.contents[0]


def test_a_memory_that_nobody_has_is_named(manager: MemoryManager, node: Node) -> None:
    """Alone a subgraph cannot know its parent's memories; that is an error of who built it, not of a memory."""
    alone = graph_of(attach(node.answered, ["notse"], name="answer"))

    with pytest.raises(ConfigError, match=r"attachments\.answer\[0\]\.name is 'notse', and there is no such memory"):
        graph_of(attach(alone, manager=manager)).invoke(TEA)


def test_another_run_does_not_see_them(manager: MemoryManager, node: Node) -> None:
    """What a node brings along is gone when it ends."""
    inner = graph_of(attach(node.answered, ["notes"]))
    graph_of(attach(inner, manager=manager)).invoke(TEA)

    with pytest.raises(ConfigError, match="there is no such memory"):
        inner.invoke(TEA)


def test_a_graph_in_a_node_is_drawn_and_keeps_its_checkpoints(manager: MemoryManager) -> None:
    """LangGraph has to find it there."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("Really?"))]}

    graph = graph_of(attach(graph_of(ask, name="ask"), ["notes"], manager=manager), checkpointer=InMemorySaver())
    graph.invoke(TEA, ADA)

    assert "writer\\3aask" in graph.get_graph(xray=True).draw_mermaid()
    assert graph.get_state(ADA, subgraphs=True).tasks[0].state.next == ("ask",)


def test_a_graph_that_was_interrupted_hands_back_no_block(notes: Notes, manager: MemoryManager) -> None:
    """It goes on with the block that it was given then, and is told another one now."""

    def ask(_: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(interrupt("Really?"))]}

    graph = graph_of(attach(graph_of(ask), ["notes"], manager=manager), checkpointer=InMemorySaver())
    graph.invoke(TEA, ADA)

    result = graph.invoke(Command(resume="Yes."), ADA)

    assert [message.content for message in result["messages"]] == ["Tea?", "Yes."]
    assert [kept.output.text for kept in notes.kept] == ["Yes."]


def test_a_graph_among_the_nodes_sees_the_memories_too(notes: Notes, node: Node) -> None:
    """Also where nothing is attached to it."""
    builder = StateGraph(MessagesState)
    builder.add_node("inner", graph_of(attach(node.answered, ["notes"])))
    builder.add_edge(START, "inner")

    MemoryManager([notes]).attach_to(builder).compile().invoke(TEA)

    assert (len(node.contents), len(notes.kept)) == (2, 1)


# -- what is said of nodes elsewhere --------------------------------------------------------------


def builder_of(*nodes: Callable[..., Any], **metadata: Any) -> StateGraph[Any]:
    builder = StateGraph(MessagesState)
    for before, node in zip([START, *(node.__name__ for node in nodes)], nodes, strict=False):
        builder.add_node(node.__name__, node, metadata=metadata or None)
        builder.add_edge(before, node.__name__)
    return builder


def test_what_is_said_of_a_node_is_attached_to_it(notes: Notes, node: Node) -> None:
    """So the file alone decides which node remembers what."""

    async def writer(state: Narrow, config: RunnableConfig) -> dict[str, Any]:
        return node.answered(state) if configured(state, config) else {}

    def reader(state: MessagesState) -> None:
        assert len(state["messages"]) == 2

    graph = MemoryManager([notes], {"writer": ["notes"]}).attach_to(builder_of(writer, reader, stage="plan")).compile()

    asyncio.run(graph.ainvoke(TEA, ADA))

    assert (len(node.contents), len(notes.kept)) == (2, 1)
    assert notes.asked[0][0].stage == "plan"


def test_the_stage_of_a_node_is_seen(notes: Notes, node: Node) -> None:
    """On the node, and in a drawing."""

    def writer(state: MessagesState) -> dict[str, Any]:
        return node.answered(state)

    builder = MemoryManager([notes], {"writer": ["notes"]}).attach_to(builder_of(writer))

    assert "stage = gen" in builder.compile().get_graph().draw_mermaid()
    assert attach(writer, [notes], stage="critique").stage == "critique"  # pyright: ignore[reportFunctionMemberAccess]


@pytest.mark.parametrize("stage", ["write", "", None, 3])
def test_a_stage_that_is_none_is_refused(notes: Notes, node: Node, stage: Any) -> None:
    """At once, and by name."""
    with pytest.raises(ConfigError, match=r"the stage of writer is .*, but must be pre, plan, gen or critique"):
        attach(node.answered, [notes], stage=stage, name="writer")
