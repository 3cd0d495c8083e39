"""The routes: one module per resource, all of which are listed in ROUTERS."""

from __future__ import annotations

from memgraph.api.routes import (
    conversations,
    documents,
    episodes,
    facts,
    history,
    recall,
    reviews,
    service,
    summaries,
    transfer,
    upkeep,
    users,
)

ROUTERS = tuple(
    module.router
    for module in (
        documents,
        facts,
        episodes,
        summaries,
        recall,
        transfer,
        conversations,
        upkeep,
        reviews,
        history,
        users,
        service,
    )
)
