"""The chat model that needs no key and no network."""

from typing import Any

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from memgraph.llm.offline.answer import answer, render
from memgraph.llm.offline.reading import read_prompt


class OfflineChatModel(BaseChatModel):
    """Learns what users state plainly of themselves, in English and Chinese, by rules.

    It answers the update prompt and nothing else. It would rather miss a fact than
    store a wrong one; the same prompt always has the same answer.
    """

    @property
    def _llm_type(self) -> str:
        return "memgraph-offline"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - so is this
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002 - so is this
        **kwargs: Any,  # noqa: ANN401, ARG002 - the signature is BaseChatModel's
    ) -> ChatResult:
        message = AIMessage(render(answer(read_prompt(_prompt(messages)))))
        return ChatResult(generations=[ChatGeneration(message=message)])


def _prompt(messages: list[BaseMessage]) -> str:
    """The last human message with a conversation in it; empty where there is none."""
    texts = (message.text for message in reversed(messages) if isinstance(message, HumanMessage))
    return next((text for text in texts if "<conversation>" in text), "")
