"""Operations that a model asks for: they pass the rules of an update, since it may have been misled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from memgraph.analysis.secrets import mask
from memgraph.editing.facts import DEFAULT_CATEGORY, DEFAULT_CONFIDENCE, WRITTEN_BY_USER
from memgraph.errors import EditError
from memgraph.models import learned_source
from memgraph.operations.session import CategoryName, Confidence, FactId, MemorySession, Text, ThreadId

if TYPE_CHECKING:
    from memgraph.agents.tool_changes import SavedChange, ToolCaller, ToolResult
    from memgraph.models import MemoryDocument

Quote = Annotated[
    str, Field(min_length=1, max_length=2_000, description="The user's own words that ask for it, word for word.")
]
Thread = Annotated[ThreadId | None, Field(description="The conversation in which it was said.")]


class ProposalOperations(MemorySession):
    """What a model does for a user, whose words it quotes. No person is asked to confirm it."""

    def propose_fact(
        self,
        content: Text,
        quote: Quote,
        *,
        user_id: str | None = None,
        category: CategoryName = DEFAULT_CATEGORY,
        confidence: Confidence = DEFAULT_CONFIDENCE,
        thread_id: Thread = None,
    ) -> SavedChange:
        """Remember a fact, if the user's words state it.

        Raises:
            EditError: If it is invalid, known already, or refused.
        """
        values = {"content": mask(content), "category": category, "confidence": confidence}
        return self._propose("add", user_id, quote, thread_id, **values)

    def propose_update(
        self,
        fact_id: FactId,
        quote: Quote,
        *,
        user_id: str | None = None,
        content: Annotated[Text | None, Field(description="The new text; omit to keep it.")] = None,
        category: Annotated[CategoryName | None, Field(description="What it is about; omit to keep it.")] = None,
        confidence: Annotated[Confidence | None, Field(description="Confidence from 0 to 1; omit to keep it.")] = None,
        thread_id: Thread = None,
    ) -> SavedChange:
        """Change a remembered fact, if the user's words ask for it. A fact that a person wrote is not changed.

        Raises:
            EditError: If there is no such fact, or the change is invalid or refused.
        """
        values = {"content": content and mask(content), "category": category, "confidence": confidence}
        changed = {name: value for name, value in values.items() if value is not None}
        return self._propose("update", user_id, quote, thread_id, fact_id=fact_id, **changed)

    def propose_removal(
        self, fact_id: FactId, quote: Quote, *, user_id: str | None = None, thread_id: Thread = None
    ) -> SavedChange:
        """Forget a remembered fact and the words it rests on, if the user asks for it; not one that a person wrote.

        Raises:
            EditError: If there is no such fact, or the user did not ask for it.
        """
        return self._propose("delete", user_id, quote, thread_id, fact_id=fact_id)

    def _propose(
        self,
        action: Literal["add", "update", "delete"],
        user_id: str | None,
        quote: str,
        thread_id: str | None,
        **values: object,
    ) -> SavedChange:
        from memgraph.agents import tool_changes

        tool = getattr(tool_changes, f"{action}_tool_fact")
        scope, caller, fact_id = self._scope(user_id), self._caller(quote, thread_id), values.get("fact_id")

        def act(memory: MemoryDocument) -> ToolResult:
            result = tool(memory, caller=caller, quote=mask(quote), **values)
            return self._made(memory, result, None if fact_id is None else str(fact_id))

        try:
            saved = tool_changes.save_tool_change(self.storage, scope, act, thread=thread_id or "", policy=self._policy)
        except tool_changes.ConfirmationRequiredError as required:
            raise EditError(f"{required.fact.id}: {WRITTEN_BY_USER}") from None
        self._seen(saved.memory)
        return saved

    def _made(self, before: MemoryDocument, result: ToolResult, fact_id: str | None) -> ToolResult:
        """Return what a change of the fact *fact_id* made of the memory *before*, as a door wants it."""
        del before, fact_id
        return result

    def _caller(self, quote: str, thread_id: str | None) -> ToolCaller:
        """Return the conversation in which *quote* was said: no more of it is seen here."""
        from langchain_core.messages import HumanMessage

        from memgraph.agents.tool_changes import ToolCaller

        return ToolCaller(
            messages=[HumanMessage(mask(quote))],
            call_id="",
            thread=learned_source(thread_id),
            user_names=(),
            # the quote is kept as evidence; no episode has it, since the conversation is not submitted
            policy=self._policy.model_copy(update={"episodes": "off"}),
            review=self.settings.review,
            origin=None if self.settings.mcp_trust else "tool",
        )
