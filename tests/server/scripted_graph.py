"""The memory update with a model that tests control by files in the working folder of the server.

A turn contains `item-TEST-N`, and the model answers with a fact for each item. While the file `TEST.hold` exists it
blocks, and while `TEST.down` exists it fails. The items of each call are a line of `TEST.calls`.
"""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult

from memgraph import build_graph, load_settings, make_context
from memgraph.testing import update_answer

ITEM = re.compile(r"item-(\w+)-\w+")


class ItemModel(BaseChatModel):
    """A model that learns the items in its prompt."""

    @property
    def _llm_type(self) -> str:
        return "items"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        items = sorted({match[0]: match[1] for match in ITEM.finditer(str(messages[-1].content))}.items())
        for test in sorted({test for _, test in items}):
            with Path(f"{test}.calls").open("a") as calls:
                calls.write(" ".join(item for item, _ in items) + "\n")
            self._wait_or_fail(test)
        answer = update_answer(*(f"Please note {item}" for item, _ in items))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])

    def _wait_or_fail(self, test: str) -> None:
        deadline = time.monotonic() + 300
        while Path(f"{test}.hold").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        if Path(f"{test}.down").exists():
            raise RuntimeError("the model is down")


# no context turns, since the model cannot distinguish them from new turns
_defaults = make_context(load_settings(context_turns=0))
graph = build_graph(defaults=_defaults, model=ItemModel())
