"""Without a model that understands them, only what is beyond doubt is merged."""

from __future__ import annotations

import json
from datetime import UTC, datetime

from langchain_core.messages import HumanMessage, SystemMessage
from update_values import fact

from memgraph import MemoryDocument, Policy
from memgraph.llm.offline.model import OfflineChatModel
from memgraph.models import Candidate
from memgraph.prompts.upkeep_prompt import upkeep_prompt


def answer(*contents: str, kind: str = "alike") -> dict[str, list[object]]:
    memory = MemoryDocument(facts=tuple(fact(text, id=f"f{n}") for n, text in enumerate(contents)))
    candidate = Candidate.model_validate({"kind": kind, "ids": [known.id for known in memory.facts], "digest": "d"})
    prompt = upkeep_prompt(memory, (candidate,), policy=Policy(), now=datetime(2026, 5, 3, tzinfo=UTC))
    reply = OfflineChatModel().invoke([SystemMessage(prompt.system), HumanMessage(prompt.human)])
    return json.loads(str(reply.content))


def test_the_same_thing_in_the_same_words_is_merged() -> None:
    """Into the longest wording."""
    assert answer("Lives in Lisbon.", "The user lives in Lisbon.", "Used to live in Lisbon.")["merge"] == [
        {"ids": ["f1", "f0"], "content": "The user lives in Lisbon."}
    ]


def test_what_differs_stays_apart() -> None:
    """In yes and no, a number, or a person."""
    assert answer("Likes tea.", "Does not like tea.", "Her sister likes tea.")["merge"] == []
    assert answer("Has 2 cats.", "Has 3 cats.")["merge"] == []


def test_nothing_is_ended() -> None:
    """Whether it still holds is not known."""
    assert answer("Wants to run a marathon in 2019.", kind="stale") == {"merge": [], "end": []}
