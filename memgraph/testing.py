"""Test doubles for applications that use memgraph: a scripted chat model and its answers."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import ConfigDict, PrivateAttr

from memgraph.prompts.check import ShownClaim, read_claims, read_known

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

    It is asked to check what an update adds only if it has an answer to that, and spends no other answer on it.

    Args:
        answers: The answers in order; at least one.
        check: Its answer to each check; `memgraph.prompts.check` reads the prompt.
    """

    model_config = ConfigDict(arbitrary_types_allowed=True)

    answers: tuple[Any, ...]
    """The answers, in order."""
    check: Any = None
    """The answer to a check; None if it is asked for none."""
    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list[list[BaseMessage]])
    _checked: int = PrivateAttr(default=0)

    def __init__(self, *answers: Answer, check: Answer | None = None) -> None:
        super().__init__(answers=answers, check=check)  # pyright: ignore[reportCallIssue] - pydantic generates the signature

    @property
    def can_check(self) -> bool:
        """Whether it has an answer to a check."""
        return self.check is not None

    @property
    def asked(self) -> Sequence[Sequence[BaseMessage]]:
        """The prompts received, in order."""
        return tuple(self._asked)

    @property
    def _llm_type(self) -> str:
        return "memgraph-scripted"

    def bind_tools(
        self,
        tools: Sequence[dict[str, Any] | type | Callable[..., Any] | BaseTool],
        **kwargs: Any,  # noqa: ANN401 - the signature is BaseChatModel's
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Return this model with *tools*: which of them it calls is in its answers. An agent with tools needs this."""
        return self.bind(tools=list(map(convert_to_openai_tool, tools)), **kwargs)

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: object,  # noqa: ARG002
    ) -> ChatResult:
        answer: Answer = self._next_answer(messages)
        if isinstance(answer, BaseException):
            raise answer
        reply = answer if isinstance(answer, str | AIMessage) else answer(messages)
        return ChatResult(generations=[ChatGeneration(message=AIMessage(reply) if isinstance(reply, str) else reply)])

    def _next_answer(self, messages: list[BaseMessage]) -> Answer:
        self._asked.append(messages)
        if self.check is not None and any(read_claims(messages[-1].text)):
            self._checked += 1
            return self.check
        return self.answers[min(len(self._asked) - self._checked, len(self.answers)) - 1]


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


def check_answer(judge: Callable[[ShownClaim, Mapping[int, str]], Mapping[str, object]]) -> Answer:
    """Return a model's answer to each check, for `ScriptedModel(check=...)`. It answers the controls right.

    Args:
        judge: Returns the verdict on a claim, as `{"follows": "yes", "ends": [1]}`; it gets the known facts by number.
    """

    def answer(messages: Sequence[BaseMessage]) -> str:
        prompt = messages[-1].text
        (first, *claims, last), known = read_claims(prompt), read_known(prompt)
        verdicts = {str(claim.number): judge(claim, known) for claim in claims}
        return json.dumps({str(first.number): {"follows": "no"}, **verdicts, str(last.number): {"follows": "yes"}})

    return answer
