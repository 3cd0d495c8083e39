"""memory_tools: an agent looks things up in its memory, and keeps it, when the conversation calls for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from langchain_core.tools import BaseTool, StructuredTool

from memgraph.agents.callers import Callers
from memgraph.agents.desk import Answer, Desk
from memgraph.agents.recollection import WAIT_SECONDS, storage_for
from memgraph.retrieval.render import one_line
from memgraph.settings import Settings

if TYPE_CHECKING:
    from pydantic import ValidationError
    from pydantic.v1 import ValidationError as OldValidationError

    from memgraph.storage import MemoryStorage


def memory_tools(
    storage: str | MemoryStorage | None = None,
    *,
    agent_name: str | None = None,
    settings: Settings | None = None,
    wait_seconds: float | None = WAIT_SECONDS,
) -> list[BaseTool]:
    """Make the tools memory_search, memory_add, memory_update and memory_delete.

        agent = create_agent(model, tools=memory_tools("sqlite:memory.db"), checkpointer=InMemorySaver())

    Whose memory they see is found in the run, as by `MemoryMiddleware`: no argument that a model can give leads
    to another one. What they add has the thread as its source. A fact that a person wrote is changed or deleted only
    after the run was interrupted to ask, and resumed by `Command(resume="yes")`; that needs a checkpointer. Errors
    are told to the model.

    Args:
        storage: Where memories are, or its URL; None is where *settings* say, else files in the user's data folder.
        agent_name: Whose memory of the user it is, where the run does not say.
        settings: How much is kept; None is the defaults.
        wait_seconds: How long a tool waits for the memory; None is for ever.

    Raises:
        ConfigError: If the storage cannot be opened.
    """
    given = settings or Settings()
    desk = Desk(storage_for(storage, given), given, Callers(given, agent_name=agent_name), wait_seconds)
    return [
        _tool("memory_search", desk.search),
        _tool("memory_add", desk.add),
        _tool("memory_update", desk.update),
        _tool("memory_delete", desk.delete),
    ]


def _tool(name: str, function: Callable[..., Answer]) -> BaseTool:
    tool = StructuredTool.from_function(function, name=name, response_format="content_and_artifact")
    tool.handle_tool_error = True
    tool.handle_validation_error = _explained
    return tool


def _explained(error: ValidationError | OldValidationError) -> str:
    problems = (f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in error.errors())
    return one_line(f"These arguments cannot be used: {'; '.join(problems)}")
