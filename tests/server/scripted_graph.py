"""The memory update with a model that tests can hold up and break by files, run by the server in a folder of its own.

A turn says `item-TEST-N`, and the model makes a fact of each item it is shown. While the file `TEST.hold` is there it
takes its time, and while `TEST.down` is there it fails. What it was shown is written to `TEST.asked`, a line a call.
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
    """Learns items."""

    @property
    def _llm_type(self) -> str:
        return "items"

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        items = sorted({match[0]: match[1] for match in ITEM.finditer(str(messages[-1].content))}.items())
        for test in sorted({test for _, test in items}):
            with Path(f"{test}.asked").open("a") as asked:
                asked.write(" ".join(item for item, _ in items) + "\n")
            self._obey(test)
        answer = update_answer(*(f"Said {item}." for item, _ in items))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(answer))])

    def _obey(self, test: str) -> None:
        deadline = time.monotonic() + 60
        while Path(f"{test}.hold").exists() and time.monotonic() < deadline:
            time.sleep(0.02)
        if Path(f"{test}.down").exists():
            raise RuntimeError("the model is down")


# the model is shown new turns only: it cannot tell them from those of the context
_defaults = make_context(load_settings(context_turns=0))
graph = build_graph(defaults=_defaults, model=ItemModel())
reviewed = build_graph(defaults=_defaults, model=ItemModel(), review="always")
