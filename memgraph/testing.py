"""Test doubles for applications that use memgraph: a scripted chat model and its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Self

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import ConfigDict, PrivateAttr

Answer = str | AIMessage | BaseException | Callable[[Sequence[BaseMessage]], "str | AIMessage"]
"""What a scripted model does on a call: return it, raise it, or call it with the prompt."""


class ScriptedModel(BaseChatModel):
    """A chat model that returns scripted answers, one per call; the last one is repeated.

    ```python
    from memgraph import build_graph
    from memgraph.testing import ScriptedModel, update_answer

    model = ScriptedModel(update_answer("I live in Lisbon"), TimeoutError())
    graph = build_graph(model=model, storage="memory:")
    ```

    It works in an agent with tools, too: an answer that calls one is an `AIMessage` with `tool_calls`.

    Args:
        answers: The answers in order; at least one.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    answers: tuple[Any, ...]
    """The answers, in order."""
    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list[list[BaseMessage]])

    def __init__(self, *answers: Answer) -> None:
        super().__init__(answers=answers)  # pyright: ignore[reportCallIssue] - pydantic generates the signature

    @property
    def asked(self) -> Sequence[Sequence[BaseMessage]]:
        """The prompts received, in order."""
        return tuple(self._asked)

    @property
    def _llm_type(self) -> str:
        return "memgraph-scripted"

    def bind_tools(self, tools: Sequence[object], **kwargs: object) -> Self:  # noqa: ARG002 - LangChain's signature
        """Return this model: which tools it calls is in its answers. An agent with tools needs the method."""
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: object,  # noqa: ARG002
    ) -> ChatResult:
        self._asked.append(messages)
        answer: Answer = self.answers[min(len(self._asked), len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        reply = answer if isinstance(answer, str | AIMessage) else answer(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply) if isinstance(reply, str) else reply)])


def update_answer(*facts: str | Mapping[str, object], remove: Sequence[str] = (), **summaries: str) -> str:
    """Return a model's answer to the update prompt, as JSON.

    Args:
        facts: New facts, as mappings, or as their content, which is also the quote, so the user must have written it.
            Their confidence is 0.9.
        remove: Ids of facts to remove.
        summaries: New texts by section, such as `workContext="..."`.
    """

    def section(name: str) -> dict[str, object]:
        return {"summary": summaries.get(name, ""), "shouldUpdate": name in summaries}

    return json.dumps(
        {
            "user": {name: section(name) for name in ("workContext", "personalContext", "topOfMind")},
            "history": {name: section(name) for name in ("recentMonths", "earlierContext", "longTermBackground")},
            "newFacts": [
                {"content": fact, "quote": fact, "confidence": 0.9} if isinstance(fact, str) else dict(fact)
                for fact in facts
            ],
            "factsToRemove": list(remove),
        },
        ensure_ascii=False,
    )
