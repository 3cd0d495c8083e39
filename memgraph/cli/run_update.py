"""One update, watched node by node; where it is reviewed, the person at the terminal is asked."""

# LangGraph leaves some of its types open
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from langgraph.types import Command

from memgraph.cli.review_view import Answer, ask_person
from memgraph.cli.update_view import Progress
from memgraph.graph import UpdateGraph, build_graph, in_memory_saver
from memgraph.review import Proposal

if TYPE_CHECKING:
    from collections.abc import Iterator

    from langchain_core.messages import AnyMessage
    from langchain_core.runnables import RunnableConfig

    from memgraph.cli.output import Output
    from memgraph.context import Context

_INTERRUPT = "__interrupt__"


def run_update(
    output: Output, messages: list[AnyMessage], context: Context, progress: Progress
) -> dict[str, Any] | None:
    """Learn from *messages*, asking where *context* has it reviewed; None if the person quit instead of answering."""
    review = context.review or "never"
    graph = build_graph(review=review, checkpointer=in_memory_saver() if review != "never" else None)
    final = _watched(graph, {"messages": messages}, context, progress)
    while _INTERRUPT in final:
        answer = _answer(output, final, progress)
        if answer is None:
            return None
        final = _watched(graph, Command(resume=answer), context, progress)
    return final


def _watched(graph: UpdateGraph, given: Any, context: Context, progress: Progress) -> dict[str, Any]:  # noqa: ANN401
    """Run the graph on, and return what is in its state then."""
    here: RunnableConfig = {"configurable": {"thread_id": "here"}}
    final: dict[str, Any] = {}
    events: Iterator[Any] = graph.stream(given, here, context=context, stream_mode=["tasks", "values"])
    for mode, event in events:
        if mode == "tasks":
            progress.follow(event)
        else:
            final = event
    return final


def _answer(output: Output, final: dict[str, Any], progress: Progress) -> Answer | None:
    (question,) = final[_INTERRUPT]
    proposal = Proposal.model_validate(question.value)
    answer: Answer | None = None
    try:
        if proposal.problem:
            output.notice(f"That cannot be: {proposal.problem}")
        answer = ask_person(output, proposal)
        output.line()
    finally:  # also after Ctrl-C
        if answer is None:
            _say_left(output, progress)
    return answer


def _say_left(output: Output, progress: Progress) -> None:
    if any(node["node"] == "save_memory" for node in progress.nodes):
        output.notice("What was decided before is saved; the rest of the conversation can be learned again.")
    else:
        output.notice("Nothing was saved; the conversation can be learned again.")
