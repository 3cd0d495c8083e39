"""The second look of the offline model."""

from __future__ import annotations

import json

import pytest
from langchain_core.messages import HumanMessage
from update_values import addition, fact, update

from memgraph import MemoryDocument
from memgraph.llm.offline.model import OfflineChatModel
from memgraph.models import Conflict, Evidence
from memgraph.prompts.reconcile import reconcile_prompt


def answer(known: str, new: str, said: str) -> str:
    """The verdict on one pair."""
    changes = update(additions=(addition(new, id="n1", evidence=(Evidence(quote=said),)),))
    memory = MemoryDocument(facts=(fact(known, id="f1"),))
    prompt = reconcile_prompt((Conflict(known_id="f1", addition_id="n1"),), changes, memory, language="auto")
    reply = OfflineChatModel().invoke([HumanMessage(prompt)])
    return json.loads(str(reply.content))["1"]


@pytest.mark.parametrize(
    ("known", "new", "said"),
    [
        ("Plans to learn Spanish.", "Stopped learning Spanish.", "I stopped learning Spanish, no time."),
        ("Is allergic to peanuts.", "Is not allergic to peanuts.", "Turns out I'm not allergic to peanuts."),
        ("在学西班牙语。", "放弃了西班牙语。", "西班牙语我放弃了,没时间。"),
    ],
)
def test_what_the_user_ends_is_replaced(known: str, new: str, said: str) -> None:
    """If most of the known fact is named."""
    assert answer(known, new, said) == "replaces"


@pytest.mark.parametrize(
    ("known", "new", "said"),
    [
        ("Learns Spanish.", "Learns Italian.", "I learn Italian now, next to Spanish."),
        ("Is trying a dairy-free dessert recipe.", "Uses almond milk.", "I use almond milk instead, for the recipe."),
        ("每天学西班牙语。", "现在也学法语。", "我现在也学法语。"),
    ],
)
def test_in_doubt_both_hold(known: str, new: str, said: str) -> None:
    """Words alone do not decide it."""
    assert answer(known, new, said) == "both"
