"""The same fake model for LangMem as `material.learning_model` is for memgraph: as slow, and as eager to learn."""

from __future__ import annotations

import json
import re
import secrets
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from common import Skipped
from datasets import learned_from
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, ToolCall
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.store.base import Op, PutOp, Result
from langgraph.store.memory import InMemoryStore
from pydantic import PrivateAttr

SAID = re.compile(r"Human Message =+\n\n(.*?)\n(?:\n=|</session)", re.DOTALL)
PROFILE = re.compile(r'<instance id=(\w+) schema_type="Profile">')


class ToolCaller(BaseChatModel):
    """Takes *seconds*, then calls the tool that stores a memory once for each thing a person said.

    Where it is shown a profile it appends to that instead.
    """

    seconds: float = 0.0
    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> Sequence[Sequence[BaseMessage]]:
        """The prompts it was given, in order."""
        return tuple(self._asked)

    @property
    def _llm_type(self) -> str:
        return "tool-caller"

    def bind_tools(self, tools: Sequence[Any], **kwargs: Any) -> ToolCaller:  # noqa: ARG002, ANN401
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002 - LangChain's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002
        **kwargs: object,  # noqa: ARG002
    ) -> ChatResult:
        self._asked.append(messages)
        time.sleep(self.seconds)
        prompt = "\n".join(str(message.content) for message in messages)
        turns = [turn.strip() for turn in SAID.findall(prompt)]
        calls = _patch(profile[1], turns) if (profile := PROFILE.search(prompt)) else [_insert(turn) for turn in turns]
        return ChatResult(generations=[ChatGeneration(message=AIMessage("", tool_calls=calls))])


def _insert(turn: str) -> ToolCall:
    return ToolCall(name="Memory", args={"content": learned_from(turn)}, id=secrets.token_hex(4))


def _patch(document: str, turns: Sequence[str]) -> list[ToolCall]:
    patches = [{"op": "add", "path": "/items/-", "value": learned_from(turn)} for turn in turns]
    args = {"json_doc_id": document, "planned_edits": "Append what was said.", "patches": patches}
    return [ToolCall(name="PatchDoc", args=args, id=secrets.token_hex(4))]


class NotedStore(InMemoryStore):
    """A store in RAM that notes each write in a file at once, so that it can be told what a killed process kept."""

    def __init__(self, noted: Path) -> None:
        super().__init__()
        self._noted = noted.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def batch(self, ops: Any) -> list[Result]:  # noqa: ANN401
        done: list[Op] = list(ops)
        results = super().batch(done)
        with self._lock:
            for op in done:
                if isinstance(op, PutOp):
                    self._noted.write(json.dumps(op.value) + "\n")
            self._noted.flush()
        return results


def langmem() -> Any:  # noqa: ANN401 - it comes without types
    """LangMem, where it is installed."""
    try:
        import langmem as package
    except ImportError:
        raise Skipped("needs the extra bench: pip install 'langgraph-memgraph[bench]'") from None
    return package


def manager(model: ToolCaller, store: InMemoryStore, **given: Any) -> Any:  # noqa: ANN401
    """LangMem's manager of memories in a store, one namespace a user."""
    return langmem().create_memory_store_manager(
        model, namespace=("memories", "{langgraph_user_id}"), store=store, **given
    )


def of_user(user: str) -> Any:  # noqa: ANN401
    """The configuration that says whose memory it is."""
    return {"configurable": {"langgraph_user_id": user}}
