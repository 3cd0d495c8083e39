"""Nodes wrapped so that each run of them is a turn at a seat; LangGraph takes them for what they were."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, cast

from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

if TYPE_CHECKING:
    from memgraph.attachments.seat import Seat


def wrapped_function(seat: Seat, node: Any) -> Callable[..., Any]:  # noqa: ANN401 - a function, or what can be called as one
    """Wrap a function. functools.wraps keeps its signature, by which LangGraph knows what it may see."""
    is_plain = inspect.isroutine(node) or isinstance(node, functools.partial)
    function: Callable[..., Any] = cast("Any", node if is_plain else node.__call__)
    wrapped = _awaiting(seat, function) if inspect.iscoroutinefunction(function) else _calling(seat, function)
    wrapped.__name__ = seat.node
    return wrapped


def wrapped_runnable(seat: Seat, node: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Wrap a Runnable. It is named in both functions, since that is how LangGraph finds a graph inside them."""

    def invoke(state: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
        return _calling(seat, node.invoke)(state, config)

    async def ainvoke(state: Any, config: RunnableConfig) -> Any:  # noqa: ANN401
        return await _awaiting(seat, node.ainvoke)(state, config)

    return RunnableLambda(invoke, ainvoke, name=seat.node)


def _calling(seat: Seat, node: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(node)
    def call(state: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        turn = seat.begin(state)
        told = turn.told(turn.make(turn.reads()))
        with seat.around():
            result = node(told, *args, **kwargs)
        return turn.ended(result, turn.make(turn.writes(result)))

    return call


def _awaiting(seat: Seat, node: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
    @functools.wraps(node)
    async def call(state: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        turn = seat.begin(state)
        told = turn.told(await turn.amake(turn.reads()))
        with seat.around():
            result = await node(told, *args, **kwargs)
        return turn.ended(result, await turn.amake(turn.writes(result)))

    return call
