"""A fake model for LangMem that matches `datasets.learning_model`: same latency, one memory for each user message."""

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
from datasets import fact_from_turn
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
    """Waits *seconds*, then calls the tool that stores a memory once for each user message.

    If the prompt contains a profile, it appends to the profile instead.
    """

    seconds: float = 0.0
    _asked: list[list[BaseMessage]] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> Sequence[Sequence[BaseMessage]]:
        """All prompts, in order."""
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
    return ToolCall(name="Memory", args={"content": fact_from_turn(turn)}, id=secrets.token_hex(4))


def _patch(document: str, turns: Sequence[str]) -> list[ToolCall]:
    patches = [{"op": "add", "path": "/items/-", "value": fact_from_turn(turn)} for turn in turns]
    args = {"json_doc_id": document, "planned_edits": "Append what was said.", "patches": patches}
    return [ToolCall(name="PatchDoc", args=args, id=secrets.token_hex(4))]


class LoggingStore(InMemoryStore):
    """A store in RAM that logs each write to a file immediately, so that writes of a killed process can be counted."""

    def __init__(self, log: Path) -> None:
        super().__init__()
        self._log = log.open("a", encoding="utf-8")
        self._lock = threading.Lock()

    def batch(self, ops: Any) -> list[Result]:  # noqa: ANN401
        operations: list[Op] = list(ops)
        results = super().batch(operations)
        with self._lock:
            for op in operations:
                if isinstance(op, PutOp):
                    self._log.write(json.dumps(op.value) + "\n")
            self._log.flush()
        return results


def langmem() -> Any:  # noqa: ANN401 - LangMem is untyped
    """Import LangMem; skip the part if it is not installed."""
    try:
        import langmem as package
    except ImportError:
        raise Skipped("needs the extra bench: pip install 'langgraph-memgraph[bench]'") from None
    return package


def make_manager(model: ToolCaller, store: InMemoryStore, **options: Any) -> Any:  # noqa: ANN401
    """Return LangMem's memory manager for *store*, with one namespace per user."""
    return langmem().create_memory_store_manager(
        model, namespace=("memories", "{langgraph_user_id}"), store=store, **options
    )


def user_config(user: str) -> Any:  # noqa: ANN401
    """Return the configuration that selects the user's namespace."""
    return {"configurable": {"langgraph_user_id": user}}
