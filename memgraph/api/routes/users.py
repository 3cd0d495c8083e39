"""/users and /erase: who has a memory, and the erasure of a user with all that is kept of one."""

from __future__ import annotations

from http import HTTPStatus
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query, Response

from memgraph.api.dependencies import PrincipalDep, ServicesDep
from memgraph.api.problems import problem_docs
from memgraph.api.responses import json_response
from memgraph.api.schemas import MemoryInfo, UserInfo, UserPage, UserPageQuery, UserQuery
from memgraph.api.services import Services
from memgraph.editing import MemorySummary, list_users, summarize_memories
from memgraph.erasure import ErasureReceipt, erase_user, open_places

router = APIRouter(tags=["users"])


@router.get("/users", response_model=UserPage, responses=problem_docs(HTTPStatus.FORBIDDEN))
def users(query: Annotated[UserPageQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Return a page of the users: their memories, how large they are, and when they last changed."""
    principal.require_admin()
    known = list_users(services.storage)
    page = islice(known.items(), query.offset, query.offset + query.limit)
    found = [
        UserInfo(user_id=user, memories=list(map(_to_info, summarize_memories(services.storage, scopes))))
        for user, scopes in page
    ]
    return json_response(UserPage(users=found, total=len(known)))


@router.post("/erase", response_model=ErasureReceipt)
def erase(query: Annotated[UserQuery, Query()], services: ServicesDep, principal: PrincipalDep) -> Response:
    """Erase everything that is kept of a user, in all places, and return a receipt. It cannot be undone.

    The stored bytes are searched for the erased texts afterwards. `places` have an `error` if something was not erased:
    then send the request again.
    """
    owner = principal.scope(query.user_id, None).user_id
    return json_response(erase_everywhere(services, owner))


def erase_everywhere(services: Services, user_id: str) -> ErasureReceipt:
    """Erase a user in the places of the app and of its settings."""
    opened = services.open()
    with open_places(services.settings, opened.storage, outbox=opened.outbox, backups=opened.backups) as places:
        return erase_user(user_id, places)


def _to_info(memory: MemorySummary) -> MemoryInfo:
    return MemoryInfo(
        agent_name=memory.scope.agent_name,
        facts=memory.facts,
        episodes=memory.episodes,
        revision=memory.revision,
        last_updated=memory.last_updated,
        is_damaged=memory.is_damaged,
    )
