"""A memory update, one node at a time: look at each stage, edit it, go back, or stop before anything is saved."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from langchain_core.messages import BaseMessage
from langgraph.channels import UntrackedValue
from langgraph.graph import START
from langgraph.types import Command
from pydantic import ValidationError
from pydantic_core import to_jsonable_python

from memgraph._validation import field_errors
from memgraph.errors import EditError
from memgraph.graph import in_memory_saver
from memgraph.langgraph_adapter import ValidatedValue

if TYPE_CHECKING:
    from langchain_core.messages import MessageLikeRepresentation
    from langchain_core.runnables import RunnableConfig

    from memgraph.context import Context
    from memgraph.graph import UpdateGraph
    from memgraph.models import Memory

NO_THREAD: RunnableConfig = {"configurable": {"thread_id": ""}}
"""A name here would become the conversation's, where the context has none."""

_MOST_PROBLEMS = 3


@dataclass(frozen=True, slots=True)
class Step:
    """What a node did."""

    node: str
    reads: tuple[str, ...]
    """The stages that it can see."""
    before: Mapping[str, Any]
    """All stages as they were when it began."""
    wrote: Mapping[str, Any]
    """The stages that it returned; none where it stopped to ask a question."""


@dataclass(frozen=True, slots=True)
class _Position:
    """Where the run can be gone on with."""

    config: RunnableConfig
    """Names the checkpoint."""
    node: str
    """The node that ran last."""
    wrote: Mapping[str, Any]
    """What it wrote, and what was edited since."""
    uncheckpointed: Mapping[str, Any]
    """What lives for one run only, which to LangGraph each step is: the count of lost races."""


class Stepper:
    """Runs a memory update node by node, in this process.

        stepper = Stepper(build_graph(), messages, Context(user_id="ada"))
        while stepper.where:
            print(stepper.next().wrote)

    Nothing is saved before the node `save_memory` runs: whoever stops earlier leaves the memory as it is. Only that
    save cannot be undone by going back: it stays, and the update that is gone on with from before
    it finds that these turns were learned meanwhile.

    Args:
        graph: The memory update; its own checkpointer and interrupts are not used.
        messages: The conversation.
        context: Whose memory, as for a run of the graph. It counts for every step.

    Raises:
        ConversationError: If *messages* is no conversation.
    """

    def __init__(self, graph: UpdateGraph, messages: Sequence[MessageLikeRepresentation], context: Context) -> None:
        own = {"checkpointer": in_memory_saver(), "interrupt_before_nodes": "*"}
        self._graph = graph.copy({**own, "interrupt_after_nodes": ()})
        self._context = context
        self._saved: Memory | None = None
        self._stream({"messages": list(messages)}, NO_THREAD)
        self._history = [_Position(self._graph.get_state(NO_THREAD).config, START, {}, {})]

    # -- looking --

    @property
    def next_node(self) -> str | None:
        """The node that is next; None at the end."""
        return next(iter(self._snapshot.next), None)

    @property
    def question(self) -> Any | None:  # noqa: ANN401 - whatever a node asks
        """What the next node asks before it goes on, such as whether the changes are right; `answer` answers it."""
        return next((asked.value for task in self._snapshot.tasks for asked in task.interrupts), None)

    @property
    def stages(self) -> Mapping[str, Any]:
        """The stages there are now, by name."""
        return self._snapshot.values

    @property
    def reads(self) -> tuple[str, ...]:
        """The stages that the next node can see; what is not written yet is missing in `stages`."""
        channels = self._graph.nodes[self.next_node].channels if self.next_node else ()
        return (channels,) if isinstance(channels, str) else tuple(channels)

    @property
    def saved(self) -> Memory | None:
        """The memory as it was last saved by a step, also where that step was gone back on; None if none saved."""
        return self._saved

    # -- running --

    def next(self) -> Step:
        """Run the next node.

        Raises:
            EditError: If the run has ended, or a question is to be answered first.
            MemgraphError: What the node raised. The place is the same as before, so it can be tried again.
        """
        if self.question is not None:
            raise EditError(f"{self.next_node} waits for an answer")
        races = self._here.uncheckpointed
        return self._step(Command(update=dict(races)) if races else None)

    def answer(self, value: object) -> Step:
        """Answer the question of the next node, and have it go on.

        Raises:
            EditError: If nothing is asked.
            MemgraphError: What the node raised.
        """
        if self.question is None:
            raise EditError("nothing is asked")
        return self._step(Command(resume=value, update=dict(self._here.uncheckpointed)))

    def run_to_end(self) -> Iterator[Step]:
        """Run node after node, as they are asked for, until the run ends or a question comes up."""
        while self.next_node and self.question is None:
            yield self.next()

    # -- changing what happens --

    def edit(self, stage: str, value: object) -> None:
        """Replace a stage by *value*, an object of its type or the same as JSON.

        Raises:
            EditError: If there is no such stage, it cannot be edited, or *value* is none; nothing changes then.
            ConversationError: If the messages would be no conversation; nothing changes then.
        """
        self.check_editable(stage)
        here = self._here
        # Who wrote last decides what comes next, from what it wrote: some of that is gone one step later.
        wrote = {**here.wrote, stage: value}
        try:
            config = self._graph.update_state(here.config, wrote, as_node=here.node)
        except ValidationError as error:
            raise EditError(_problems(stage, error)) from error
        self._history.append(replace(here, config=config, wrote=wrote))

    def check_editable(self, stage: str) -> None:
        """Raise an EditError if *stage* cannot be edited now."""
        if self.next_node is None:
            raise EditError("the run has ended: go back first")
        channels = cast("Mapping[str, object]", self._graph.channels)
        editable = [name for name in self.stages if name == "messages" or isinstance(channels[name], ValidatedValue)]
        if stage not in editable:
            raise EditError(f"no stage {stage[:80]!r} can be edited here; there are {', '.join(editable)}")

    def back(self) -> None:
        """Undo the last step or edit. A save stays.

        Raises:
            EditError: At the beginning.
        """
        if len(self._history) == 1:
            raise EditError("this is the beginning: nothing has run yet")
        self._history.pop()

    # -- inside --

    @property
    def _here(self) -> _Position:
        return self._history[-1]

    @property
    def _snapshot(self) -> Any:  # noqa: ANN401
        return self._graph.get_state(self._here.config)

    def _step(self, given: Command[Any] | None) -> Step:
        node, reads, before, here = self.next_node, self.reads, self.stages, self._here
        if node is None:
            raise EditError("the run has ended")
        wrote: dict[str, Any] = self._stream(given, here.config).get(node) or {}
        self._saved = wrote.get("saved", self._saved)
        after = self._graph.get_state(NO_THREAD)
        if after.interrupts:
            self._history[-1] = replace(here, config=after.config)
        else:
            self._history.append(_Position(after.config, node, wrote, self._uncheckpointed(wrote)))
        return Step(node, reads, before, wrote)

    def _stream(self, given: object, config: RunnableConfig) -> dict[str, Any]:
        """Run until the next node would, and tell what each node wrote."""
        events = self._graph.stream(cast("Any", given), config, context=self._context, stream_mode="updates")
        return {node: wrote for event in events for node, wrote in cast("dict[str, Any]", event).items()}

    def _uncheckpointed(self, wrote: Mapping[str, Any]) -> Mapping[str, Any]:
        channels = cast("Mapping[str, object]", self._graph.channels)
        lost = {stage: value for stage, value in wrote.items() if isinstance(channels[stage], UntrackedValue)}
        return {**self._here.uncheckpointed, **lost}


def as_json(value: object) -> Any:  # noqa: ANN401
    """A stage as JSON, in the spelling of the stored document; `Stepper.edit` reads it."""
    if isinstance(value, list | tuple):
        return [as_json(item) for item in cast("Sequence[object]", value)]
    document = to_jsonable_python(value, by_alias=True)
    if isinstance(value, BaseMessage):  # of its many fields most are empty, and would come back as something else
        return {key: said for key, said in document.items() if said or key == "content"}
    return document


def _problems(stage: str, error: ValidationError) -> str:
    found = [str(problem) for problem in field_errors(error, root=stage)]
    more = f"; and {len(found) - _MOST_PROBLEMS} more" if len(found) > _MOST_PROBLEMS else ""
    return "; ".join(found[:_MOST_PROBLEMS]) + more
