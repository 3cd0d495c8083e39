"""MemoryClient: the operations of a memory as methods, for scripts and applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from memgraph._concurrency import Closing
from memgraph.opened import OpenMemory
from memgraph.operations import Operations

if TYPE_CHECKING:
    from langchain_core.embeddings import Embeddings
    from langchain_core.language_models import BaseChatModel
    from pydantic import BaseModel

    from memgraph.report import Report
    from memgraph.settings import Settings
    from memgraph.storage import MemoryStorage


class MemoryClient(Operations, Closing):
    """Long-term memory of users: what they said, and the facts that follow from it.

    ```python
    from memgraph import MemoryClient

    with MemoryClient("sqlite:memory.db", model="offline") as memory:  # or "openai:gpt-4.1-mini"
        memory.add("I live in Lisbon and I'm vegetarian.", user_id="ada")
        print("vegetarian" in memory.context("Plan dinner for tonight", user_id="ada"))  # True
    ```

    The methods may be called from several threads; `AsyncMemoryClient` has the same ones for an event loop.

    Args:
        storage: A URL such as `file:DIR` or `sqlite:FILE`, or a MemoryStorage, which is not closed here; None is the
            one of *settings*. An open memory, see `Memory.client`, has all of the others but the ids.
        model: The chat model that learns, or its name; None is the one of *settings*.
        user_id: Whose memory, for calls that name no user.
        agent_name: The agent, if it has its own memory of the user.
        settings: The configuration; None reads memgraph.yaml and the environment, as `load_settings` does.
        embeddings: A model for semantic ranking; None is the one of *settings*.
        schema: A pydantic model as a profile, which updates fill: see `profile`; None is the one of *settings*.

    Raises:
        ConfigError: If the settings are invalid, or the storage cannot be opened.
        ValueError: If *schema* has no fields, too many, or some that cannot be filled from JSON.
    """

    def __init__(
        self,
        storage: str | MemoryStorage | OpenMemory | None = None,
        *,
        model: str | BaseChatModel | None = None,
        user_id: str | None = None,
        agent_name: str | None = None,
        settings: Settings | None = None,
        embeddings: Embeddings | None = None,
        schema: type[BaseModel] | None = None,
    ) -> None:
        self._opened: OpenMemory | None = None
        if not isinstance(storage, OpenMemory):
            storage = self._opened = OpenMemory(
                storage, model=model, settings=settings, embeddings=embeddings, schema=schema
            )
        super().__init__(storage, user_id=user_id, agent_name=agent_name)

    def upkeep(self, *, user_id: str | None = None, dry_run: bool = False) -> Report:
        """Return what `keep_up` merged and ended, or would if it is a dry run."""
        return self.keep_up(user_id=user_id, dry_run=dry_run).report

    def flush(self, timeout: float | None = None) -> bool:
        """Learn now from what was added in the background; return whether all of it was learned in time."""
        return self._memory.invoker.flush(timeout)

    def close(self, *, wait: bool = True) -> None:
        """Learn from what waits, for at most `exit_seconds`, and close what was opened here.

        Args:
            wait: Whether to learn. If not, or if the time runs out, the next process learns from it. A client does not
                wait if another one of this process shares its threads.
        """
        if self._opened is not None:
            self._opened.close(wait=wait)
