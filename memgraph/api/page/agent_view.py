"""The agent: the text that a question would inject, with what is in it and why; and a chat next to the memory."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from itertools import groupby
from typing import Annotated

from fastapi import Form, Query, Response
from langchain_core.messages import HumanMessage

from memgraph._cache import LRUCache
from memgraph.analysis.tokens import count_tokens
from memgraph.api.page.access import ChangeDep, Visit, VisitDep, page_router
from memgraph.api.page.rendering import page_language
from memgraph.chat_agent import RECENT_MESSAGES, TEXTS, ChatAgent, new_thread
from memgraph.config import choose_model, make_chat_model
from memgraph.llm import OFFLINE
from memgraph.models import Scope

router = page_router()

MAX_CHATS = 32
"""How many conversations are kept open at a time; in the least recently used one, the agent forgets its messages."""

MAX_TOKENS = 8_000
NEAR_MISSES = 10
"""How many facts and episodes are listed that a larger budget would add."""


@router.get("/page/recall")
def show_recall(visit: VisitDep) -> Response:
    """Show the question box and the budget."""
    budget = visit.services.settings.max_injection_tokens
    return visit.render("recall.html", budget=budget, max_tokens=MAX_TOKENS)


@router.get("/page/recall/result")
def show_result(
    visit: VisitDep,
    q: Annotated[str, Query(max_length=4_000)] = "",
    budget: Annotated[int, Query(ge=50, le=MAX_TOKENS)] = 2_000,
) -> Response:
    """Show the text within *budget* tokens for the question *q*."""
    messages = [HumanMessage(q)] if q.strip() else []
    result, larger = (visit.operations().recall(messages, max_tokens=tokens) for tokens in (budget, 2 * budget))
    inside = {item.fact.id for item in result.facts} | {item.episode.id for item in result.episodes}
    return visit.render(
        "recall_result.html",
        result=result,
        budget=budget,
        parts=[(line, count_tokens(line)) for line in result.text.splitlines() if line.strip()],
        missed_facts=[item for item in larger.facts if item.fact.id not in inside][:NEAR_MISSES],
        missed_episodes=[item for item in larger.episodes if item.episode.id not in inside][:NEAR_MISSES],
    )


# -- chat ------------------------------------------------------------------------------------------


@dataclass
class OpenChat:
    """A conversation of a browser with the agent."""

    agent: ChatAgent
    lock: threading.Lock = field(default_factory=threading.Lock)


Chats = LRUCache[tuple[str, Scope], OpenChat]
"""The conversations by their thread and memory, in RAM. An erasure clears them, since they have users' words."""


@router.get("/page/chat")
def show_chat(visit: VisitDep) -> Response:
    """Show a new conversation, and the facts."""
    if visit.scope is None:
        return visit.render("empty.html")
    model, greeting = choose_model(visit.services.settings).name, TEXTS[page_language(visit.request)].greeting
    return visit.render("chat.html", thread=new_thread(), model="" if model == OFFLINE else model, greeting=greeting)


@router.post("/page/chat", dependencies=[ChangeDep])
def send_message(
    visit: VisitDep,
    thread: Annotated[str, Form(pattern=r"^chat-[0-9a-f]{8}$")],
    message: Annotated[str, Form(max_length=4_000, pattern=r"\S")],
) -> Response:
    """Show the reply to a message, once the message is learned from; the facts on the page then load themselves."""
    chats: Chats = visit.request.app.state.chats
    chat = chats.get((thread, visit.chosen), lambda: OpenChat(_make_agent(visit, thread)))
    with chat.lock, chat.agent as agent:
        grouped = groupby(agent.reply(message.strip()), lambda piece: piece.kind)
        reply = [
            (kind, ("" if kind == "answer" else "\n").join(text for _, text in pieces)) for kind, pieces in grouped
        ]
        del agent.messages[:-RECENT_MESSAGES]
    response = visit.render("chat_reply.html", message=message.strip(), reply=reply, said_in=agent.language)
    response.headers["HX-Trigger"] = "memory-changed"
    return response


def _make_agent(visit: Visit, thread: str) -> ChatAgent:
    model = make_chat_model(visit.services.settings)
    return ChatAgent(visit.services.memory, visit.chosen, thread, model, immediate=True)
