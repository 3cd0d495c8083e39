"""Runs a memory update node by node: inspect and edit stages, go back, or stop before anything is saved."""

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
from memgraph.langgraph_adapter import NodeValue, ValidatedValue
from memgraph.update.graph import in_memory_saver

if TYPE_CHECKING:
    from langchain_core.messages import MessageLikeRepresentation
    from langchain_core.runnables import RunnableConfig

    from memgraph.context import Context
    from memgraph.models import MemoryDocument
    from memgraph.update.graph import UpdateGraph

NO_THREAD: RunnableConfig = {"configurable": {"thread_id": ""}}
"""Empty, because a thread id here would become the conversation's if the context has none."""

_MAX_PROBLEMS = 3


@dataclass(frozen=True, slots=True)
class Step:
    """One executed node."""

    node: str
    reads: tuple[str, ...]
    """The stages that the node can read."""
    before: Mapping[str, Any]
    """All stages when the node started."""
    wrote: Mapping[str, Any]
    """The stages that the node returned."""


@dataclass(frozen=True, slots=True)
class _Position:
    """A position in the run from which it can continue."""

    config: RunnableConfig
    """Identifies the checkpoint."""
    node: str
    """The node that ran last."""
    wrote: Mapping[str, Any]
    """What that node wrote, with later edits."""
    uncheckpointed: Mapping[str, Any]
    """Stages that LangGraph keeps for one run only (each step is one): the number of save conflicts."""


class Stepper:
    """Runs a memory update node by node, in this process.

    ```python
    from langchain_core.messages import HumanMessage

    from memgraph import Context, build_graph
    from memgraph.stepper import Stepper

    graph = build_graph(model="offline", storage="memory:")
    stepper = Stepper(graph, [HumanMessage("I live in Lisbon.")], Context(user_id="ada"))
    while stepper.next_node:
        stepper.next()
    ```

    Nothing is saved before the node `save_memory` runs. Going back does not undo a save: if the update continues from
    before it, it finds that these turns are already learned.

    Args:
        graph: The memory update graph; its own checkpointer and interrupts are replaced.
        messages: The conversation.
        context: Run context of every step. What needs a review is pending, whatever its `review_by`.

    Raises:
        ConversationError: If *messages* is not a conversation.
    """

    def __init__(self, graph: UpdateGraph, messages: Sequence[MessageLikeRepresentation], context: Context) -> None:
        self._graph = graph.copy(
            {"checkpointer": in_memory_saver(), "interrupt_before_nodes": "*", "interrupt_after_nodes": ()}
        )
        self._context = context.model_copy(update={"review_by": "pending"})
        self._saved: MemoryDocument | None = None
        self._stream({"messages": list(messages)}, NO_THREAD)
        self._history = [_Position(self._graph.get_state(NO_THREAD).config, START, {}, {})]

    # -- inspecting --

    @property
    def next_node(self) -> str | None:
        """The next node; None at the end of the run."""
        return next(iter(self._snapshot.next), None)

    @property
    def stages(self) -> Mapping[str, Any]:
        """The current stages by name."""
        return self._snapshot.values

    @property
    def reads(self) -> tuple[str, ...]:
        """The stages that the next node can read; those not written yet are missing in `stages`."""
        channels = self._graph.nodes[self.next_node].channels if self.next_node else ()
        return (channels,) if isinstance(channels, str) else tuple(channels)

    @property
    def editable(self) -> tuple[str, ...]:
        """The stages that can be edited: not what only nodes write, such as the origin, which names whose it is."""
        channels = cast("Mapping[str, object]", self._graph.channels)
        return tuple(name for name in self.stages if name == "messages" or _is_editable(channels[name]))

    @property
    def saved(self) -> MemoryDocument | None:
        """The memory last saved by a step, even if that step was undone; None if none was saved."""
        return self._saved

    # -- running --

    def next(self) -> Step:
        """Run the next node.

        Raises:
            EditError: If the run has ended.
            MemgraphError: Raised by the node. The position is unchanged, so the step can be retried.
        """
        node, reads, before, position = self.next_node, self.reads, self.stages, self._position
        if node is None:
            raise EditError("the run has ended")
        uncheckpointed = dict(position.uncheckpointed)
        command: Command[Any] | None = Command(update=uncheckpointed) if uncheckpointed else None
        wrote: dict[str, Any] = self._stream(command, position.config).get(node) or {}
        self._saved = wrote.get("saved", self._saved)
        config = self._graph.get_state(NO_THREAD).config
        self._history.append(_Position(config, node, wrote, {**uncheckpointed, **self._uncheckpointed(wrote)}))
        return Step(node, reads, before, wrote)

    def run_to_end(self) -> Iterator[Step]:
        """Yield steps lazily until the run ends."""
        while self.next_node:
            yield self.next()

    # -- editing --

    def edit(self, stage: str, value: object) -> None:
        """Replace a stage with *value*, an object of its type or its JSON form.

        The changes of an update that differ from the model's count as a person's.

        Raises:
            EditError: If the stage is unknown or not editable, or *value* is invalid; nothing changes.
            ConversationError: If *stage* is messages and *value* is not a conversation; nothing changes.
        """
        self.check_editable(stage)
        position = self._position
        # The last writer selects the next node from what it wrote, part of which is not checkpointed: write it again.
        wrote = {**position.wrote, stage: value}
        try:
            config = self._graph.update_state(position.config, wrote, as_node=position.node)
        except ValidationError as error:
            raise EditError(_describe_problems(stage, error)) from error
        except (TypeError, ValueError) as error:  # an integer that no checkpoint can hold
            raise EditError(f"{stage} cannot be stored: {error}") from error
        self._history.append(replace(position, config=config, wrote=wrote))

    def check_editable(self, stage: str) -> None:
        """Raise an EditError if *stage* cannot be edited now."""
        if self.next_node is None:
            raise EditError("the run has ended: go back before editing")
        if stage not in self.editable:
            raise EditError(f"stage {stage[:80]!r} cannot be edited here; editable stages: {', '.join(self.editable)}")

    def back(self) -> None:
        """Undo the last step or edit, except for a save.

        Raises:
            EditError: At the beginning of the run.
        """
        if len(self._history) == 1:
            raise EditError("already at the beginning: nothing has run yet")
        self._history.pop()

    # -- internals --

    @property
    def _position(self) -> _Position:
        return self._history[-1]

    @property
    def _snapshot(self) -> Any:  # noqa: ANN401
        return self._graph.get_state(self._position.config)

    def _stream(self, graph_input: object, config: RunnableConfig) -> dict[str, Any]:
        """Run up to the next interrupt, and return what each node wrote."""
        events = self._graph.stream(cast("Any", graph_input), config, context=self._context, stream_mode="updates")
        return {node: wrote for event in events for node, wrote in cast("dict[str, Any]", event).items()}

    def _uncheckpointed(self, wrote: Mapping[str, Any]) -> Mapping[str, Any]:
        channels = cast("Mapping[str, object]", self._graph.channels)
        return {stage: value for stage, value in wrote.items() if isinstance(channels[stage], UntrackedValue)}


def as_json(value: object) -> Any:  # noqa: ANN401
    """Return a stage as JSON with the keys of the stored document; `Stepper.edit` accepts it."""
    if isinstance(value, list | tuple):
        return [as_json(item) for item in cast("Sequence[object]", value)]
    document = to_jsonable_python(value, by_alias=True)
    if isinstance(value, BaseMessage):  # most of its fields are empty, and would not be read back as they were
        return {key: field for key, field in document.items() if field or key == "content"}
    return document


def _is_editable(channel: object) -> bool:
    return isinstance(channel, ValidatedValue) and not isinstance(channel, NodeValue)


def _describe_problems(stage: str, error: ValidationError) -> str:
    problems = [str(problem) for problem in field_errors(error, root=stage)]
    more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
    return "; ".join(problems[:_MAX_PROBLEMS]) + more
