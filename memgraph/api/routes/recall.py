"""/recall: what an agent would be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response
from langchain_core.messages import AnyMessage

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.messages import to_messages
from memgraph.api.responses import json_response
from memgraph.api.schemas import RecallRequest, ScopeQuery
from memgraph.models import Memory
from memgraph.retrieval.recall import RecallPipeline
from memgraph.retrieval.render import render
from memgraph.retrieval.results import RecallResult, ScoredFact
from memgraph.text.tokens import count_tokens

router = APIRouter(tags=["recall"])


@router.post("/recall", response_model=RecallResult)
def recall(
    body: RecallRequest, query: Annotated[ScopeQuery, Query()], desk: ServicesDep, caller: PrincipalDep
) -> Response:
    """Tell what an agent should know for its next answer: a text that fits a prompt, and which facts got in.

    The text is empty where nothing is known, nothing fits, or `enabled` or `injection_enabled` is false.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    messages = to_messages(body.messages)
    is_on = desk.settings.enabled and desk.settings.injection_enabled
    recaller = replace(desk.recaller, max_tokens=body.max_tokens) if body.max_tokens else desk.recaller
    return json_response(recalled(recaller, desk.storage.load(scope) if is_on else Memory(), messages))


def recalled(recaller: RecallPipeline, memory: Memory, messages: Sequence[AnyMessage]) -> RecallResult:
    """Recall in its steps, to tell also which facts are in the text."""
    indexed, ranking = recaller.rank(memory.facts, recaller.query(messages))
    fitted = recaller.fit(memory, indexed, ranking.order)
    text = render(fitted.summaries, [indexed.lines[place] for place in fitted.positions])
    facts = tuple(
        ScoredFact(
            fact=memory.facts[place],
            score=float(ranking.scores[place]),
            similarity=float(ranking.similarity[place]),
        )
        for place in fitted.positions
    )
    return RecallResult(text=text, tokens=count_tokens(text), facts=facts)
