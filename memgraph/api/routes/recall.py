"""/recall: what an agent would be told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query, Response
from langchain_core.messages import AnyMessage

from memgraph.api.answers import told
from memgraph.api.asked import Question, Whose
from memgraph.api.messages import messages_of
from memgraph.api.wanted import TheCaller, TheDesk
from memgraph.models import Memory
from memgraph.retrieval.recalled import Recalled
from memgraph.retrieval.recaller import Recaller
from memgraph.retrieval.render import render
from memgraph.retrieval.scored import ScoredFact
from memgraph.text.tokens import count_tokens

router = APIRouter(tags=["recall"])


@router.post("/recall", response_model=Recalled)
def recall(body: Question, query: Annotated[Whose, Query()], desk: TheDesk, caller: TheCaller) -> Response:
    """Tell what an agent should know for its next answer: a text that fits a prompt, and which facts got in.

    The text is empty where nothing is known, nothing fits, or `enabled` or `injection_enabled` is false.
    """
    scope = caller.scope(query.user_id, query.agent_name)
    messages = messages_of(body.messages)
    is_on = desk.settings.enabled and desk.settings.injection_enabled
    recaller = replace(desk.recaller, max_tokens=body.max_tokens) if body.max_tokens else desk.recaller
    return told(recalled(recaller, desk.storage.load(scope) if is_on else Memory(), messages))


def recalled(recaller: Recaller, memory: Memory, messages: Sequence[AnyMessage]) -> Recalled:
    """Recall in its steps, to tell also which facts are in the text."""
    indexed, ranking = recaller.rank(memory.facts, recaller.query(messages))
    fitted = recaller.fit(memory, indexed, ranking.order)
    text = render(fitted.summaries, [indexed.lines[place] for place in fitted.places])
    facts = tuple(
        ScoredFact(
            fact=memory.facts[place],
            score=float(ranking.scores[place]),
            similarity=float(ranking.similarity[place]),
        )
        for place in fitted.places
    )
    return Recalled(text=text, tokens=count_tokens(text), facts=facts)
