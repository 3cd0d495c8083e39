"""/recall: the memory text for a prompt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response
from langchain_core.messages import AnyMessage

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.responses import json_response
from memgraph.api.schemas import RecallRequest, ScopeQuery, to_messages
from memgraph.models import Memory
from memgraph.retrieval.recall import RecallPipeline
from memgraph.retrieval.render import render
from memgraph.retrieval.results import RecallResult, ScoredFact
from memgraph.text.tokens import count_tokens

router = APIRouter(tags=["recall"])


@router.post("/recall", response_model=RecallResult)
def recall(
    body: RecallRequest, query: Annotated[ScopeQuery, Query()], services: ServicesDep, principal: PrincipalDep
) -> Response:
    """Return the memory text for an agent's next prompt, and the facts in it.

    The text is empty if nothing is known, nothing fits, or `enabled` or `injection_enabled` is false.
    """
    scope = principal.scope(query.user_id, query.agent_name)
    messages = to_messages(body.messages)
    is_enabled = services.settings.enabled and services.settings.injection_enabled
    pipeline = services.recall_pipeline
    if body.max_tokens:
        pipeline = replace(pipeline, max_tokens=body.max_tokens)
    return json_response(run_pipeline(pipeline, services.storage.load(scope) if is_enabled else Memory(), messages))


def run_pipeline(pipeline: RecallPipeline, memory: Memory, messages: Sequence[AnyMessage]) -> RecallResult:
    """Run the steps of *pipeline* one by one, in order to return the facts of the text, too."""
    indexed, ranking = pipeline.rank(memory.facts, pipeline.query(messages))
    fitted = pipeline.fit(memory, indexed, ranking.order)
    text = render(fitted.summaries, [indexed.lines[position] for position in fitted.positions])
    facts = tuple(
        ScoredFact(
            fact=memory.facts[position],
            score=float(ranking.scores[position]),
            similarity=float(ranking.similarity[position]),
        )
        for position in fitted.positions
    )
    return RecallResult(text=text, tokens=count_tokens(text), facts=facts)
