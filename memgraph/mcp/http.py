"""create_mcp_app: the MCP server over streamable HTTP, authenticated as the HTTP API is."""

from __future__ import annotations

from collections.abc import Collection
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import parse_qs

from mcp.server.transport_security import TransportSecuritySettings

from memgraph.api.auth import Authenticator, AuthMiddleware, get_principal
from memgraph.api.middleware import AdmissionMiddleware, LocalHostMiddleware, NoSniffMiddleware
from memgraph.api.problems import ProblemError
from memgraph.client import MemoryClient
from memgraph.errors import IdentityError
from memgraph.mcp.server import RequestContext, create_server
from memgraph.models import Scope

if TYPE_CHECKING:
    from starlette.types import ASGIApp
    from starlette.types import Scope as ConnectionScope

MCP_PATH = "/mcp"
SCOPE_KEY = "memgraph.scope"
"""The key of the memory in the ASGI scope of a request."""


class ScopeMiddleware(AdmissionMiddleware):
    """ASGI middleware: finds the memory of each request by its principal, or answers 403 or 422.

    An administrator names the user in the URL, `/mcp?user_id=ada`, as in the HTTP API; a user's token gives access to
    that user's memory only.
    """

    def __init__(self, app: ASGIApp, agent_name: str | None) -> None:
        super().__init__(app)
        self._agent_name = agent_name

    def admit(self, scope: ConnectionScope) -> ConnectionScope:
        """Return *scope* with the memory of its request."""
        principal = get_principal(scope)
        if principal is None:  # a path that AuthMiddleware leaves to the API's pages
            raise ProblemError(HTTPStatus.NOT_FOUND, "NotFound", f"there is nothing here: the server is at {MCP_PATH}")
        named = parse_qs(scope["query_string"].decode("latin-1"), max_num_fields=20).get("user_id", [])
        try:
            memory_scope = principal.scope(named[0] if named else None, self._agent_name)
        except IdentityError as error:
            raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, "IdentityError", str(error)) from error
        return {**scope, SCOPE_KEY: memory_scope}


def create_mcp_app(
    client: MemoryClient,
    authenticator: Authenticator,
    *,
    agent_name: str | None = None,
    hosts: Collection[str] = (),
) -> ASGIApp:
    """Return the MCP server as an ASGI app, at /mcp. No session is kept: each request is authenticated by itself.

    Args:
        client: Reads and changes the memories; it is not closed here.
        authenticator: Authenticates requests by their bearer token.
        agent_name: The agent, if it has its own memory of the users: that of *client*.
        hosts: The only host names that are served, which protects a local server from web pages; default: any.
    """
    server = create_server(client, _scope_of)
    app: ASGIApp = server.streamable_http_app(
        streamable_http_path=MCP_PATH,
        json_response=True,
        stateless_http=True,
        max_request_body_size=client.settings.api_max_body_bytes,
        # host names are checked below, for an app that is served under another name, too
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    app = ScopeMiddleware(app, agent_name)
    app = AuthMiddleware(app, authenticator)
    if hosts:
        app = LocalHostMiddleware(app, hosts)
    return NoSniffMiddleware(app)


def _scope_of(context: RequestContext) -> Scope:
    """Return the memory that ScopeMiddleware has found for the HTTP request of *context*."""
    assert context.request is not None  # noqa: S101 - the transport is HTTP
    found = context.request.scope[SCOPE_KEY]
    assert isinstance(found, Scope)  # noqa: S101 - set by ScopeMiddleware
    return found
