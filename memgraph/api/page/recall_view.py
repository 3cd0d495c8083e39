"""What the agent sees: the text that a question would inject, what is in it and why, and what just is not."""

from __future__ import annotations

from typing import Annotated

from fastapi import Query, Response
from langchain_core.messages import HumanMessage

from memgraph.api.page.access import VisitDep, page_router
from memgraph.text.tokens import count_tokens

router = page_router()

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
