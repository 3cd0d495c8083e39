"""The memory inspector: a page for the person whose memory it is, and for the developer of an agent.

The views call the same services as the routes of the HTTP API, and render templates; forms and links are enhanced by
htmx. They are served at the path of the API: `/memory/`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from starlette.staticfiles import StaticFiles

from memgraph.api.auth import PAGE_PREFIX
from memgraph.api.page import access, agent_view, health_view, history_view, memory_view, try_view, waiting_view
from memgraph.api.page.agent_view import MAX_CHATS, Chats
from memgraph.api.page.session import Sessions
from memgraph.api.page.try_view import MAX_TRIALS, Trials

if TYPE_CHECKING:
    from fastapi import FastAPI

    from memgraph.api.auth import Authenticator

VIEWS = (memory_view, agent_view, waiting_view, try_view, history_view, health_view, access)


def add_page(app: FastAPI, authenticator: Authenticator) -> None:
    """Add the routes of the page, and what they keep, to the app of the API."""
    app.state.sessions = Sessions(authenticator, app.state.services)
    app.state.trials = Trials(MAX_TRIALS)
    app.state.chats = Chats(MAX_CHATS)
    app.mount(f"{PAGE_PREFIX}/static", StaticFiles(directory=Path(__file__).parent / "static"), name="static")
    for view in VIEWS:
        app.include_router(view.router)
