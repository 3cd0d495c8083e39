"""memgraph serve and mcp: run the HTTP API, or the MCP server, for one user over stdio or for many over HTTP."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
import threading
import webbrowser
from collections.abc import Collection, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import CommandContext
from memgraph.cli.output import UsageError
from memgraph.client import MemoryClient
from memgraph.errors import ConfigError
from memgraph.models import Scope

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from memgraph.api import Authenticator

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
REQUEST_SECONDS = 10
"""Maximum wait for running requests on shutdown."""
STOP = "Press Ctrl-C to stop."
OPEN = "No token is required: any user of this machine can read and change every memory."

PortOption = Annotated[int, typer.Option(min=0, max=65_535, help="Port to listen on; 0 picks a free one.")]


def serve(
    ctx: CommandContext,
    *,
    host: str = "127.0.0.1",
    port: PortOption = 8765,
    no_token: bool = False,
    browse: Annotated[bool, typer.Option("--open")] = False,
) -> None:
    """Serve the HTTP API until stopped.

    If no token is configured (MEMGRAPH_API_TOKEN), generates and prints one.

        memgraph serve
        memgraph serve --port 9000
        memgraph serve --open

    Args:
        browse: Open the page in a browser.
        no_token: Require no token: any user of this machine has access.
        host: Address to listen on.
    """
    try:
        from memgraph.api import create_app
    except ImportError as error:  # it names the extra
        raise ConfigError(str(error)) from error
    token, authenticator = _make_authenticator(ctx, host, no_token=no_token)
    app = create_app(ctx.settings, authenticator=authenticator, hosts=_allowed_hosts(host), storage=ctx.storage)
    app.services.open()  # invalid settings fail before the port is opened
    with _listen(host, port) as listener:
        url, code = _make_url(listener, "/memory"), app.sessions.issue_code()
        header = "" if authenticator.is_open else f' -H "Authorization: Bearer {token or "$MEMGRAPH_API_TOKEN"}"'
        page = f"{url}/{f'page/sign-in?code={code}' if code else ''}"
        usage = [
            f"Serving the memories in {ctx.storage.name} at {url} (API documentation: {url}/docs)",
            *([f"Generated token: {token}"] if token else []),
            f"See the memories in a browser: {page}",
            *(["The link works once, within 15 minutes."] if code else []),
            *([OPEN] if authenticator.is_open else []),
            f"Try: curl{header} '{url}/document?user_id=ada'",
            STOP,
        ]
        if browse:
            usage = [f"The page is at {page} until you press Ctrl-C."]
            # a browser in the terminal blocks until it is closed
            threading.Thread(target=webbrowser.open, args=(page,), daemon=True).start()
        _run_app(ctx, app, listener, usage, {"url": url, "token": token})


def mcp(
    ctx: CommandContext,
    *,
    user: Annotated[str | None, typer.Option(envvar="MEMGRAPH_USER")] = None,
    agent: str | None = None,
    http: bool = False,
    host: str = "127.0.0.1",
    port: PortOption = 8766,
    no_token: bool = False,
) -> None:
    """Serve a memory to assistants over the Model Context Protocol.

    Without --http, the assistant starts the command, and it serves the memory of USER over stdin and stdout.

        memgraph mcp --user ada
        memgraph mcp --http --port 8766

    Args:
        user: Whose memory, over stdio.
        http: Serve streamable HTTP: the token names the user.
        no_token: Require no token: any user of this machine has access.
        host: Address to listen on, with --http.
    """
    if not http and not user:
        raise UsageError("name the user whose memory is served: pass --user, or set MEMGRAPH_USER")
    try:
        from memgraph.mcp import create_mcp_app
    except ImportError as error:  # it names the extra
        raise ConfigError(str(error)) from error
    with MemoryClient(ctx.storage, settings=ctx.settings, agent_name=agent) as client:
        if not http:
            _serve_stdio(client, Scope(user or "", agent))
            return
        token, authenticator = _make_authenticator(ctx, host, no_token=no_token)
        app = create_mcp_app(client, authenticator, agent_name=agent, hosts=_allowed_hosts(host))
        with _listen(host, port) as listener:
            url = _make_url(listener, "/mcp")
            usage = [
                f"Serving the memories in {ctx.storage.name} to MCP clients at {url}",
                *([f"Generated token: {token}"] if token else []),
                *([OPEN] if authenticator.is_open else []),
                *([f"Name the user in the URL: {url}?user_id=ada"] if token or authenticator.is_open else []),
                STOP,
            ]
            _run_app(ctx, app, listener, usage, {"url": url, "token": token})


def _serve_stdio(client: MemoryClient, scope: Scope) -> None:
    """Serve one user until stdin ends."""
    import anyio
    from mcp.server.stdio import stdio_server

    from memgraph.mcp import create_server

    server = create_server(client, lambda _: scope)

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    with suppress(KeyboardInterrupt):
        anyio.run(run)


def _make_authenticator(ctx: CommandContext, host: str, *, no_token: bool) -> tuple[str | None, Authenticator]:
    """Return the generated token, if any, and the authenticator.

    Raises:
        ConfigError: If other machines would reach memories without a configured token.
    """
    from pydantic import SecretStr

    from memgraph.api import Authenticator

    settings = ctx.settings
    is_configured = bool(settings.api_token or settings.api_tokens)
    if not _is_local(host) and (no_token or not is_configured):
        raise ConfigError(
            f"{host} is reachable from other machines, which requires a token: set MEMGRAPH_API_TOKEN"
            f"{' and omit --no-token' if no_token else ''}"
        )
    if no_token:
        return None, Authenticator(is_open=True)
    if is_configured:
        return None, Authenticator.from_settings(settings)
    token = secrets.token_urlsafe(24)
    return token, Authenticator.from_settings(settings.model_copy(update={"api_token": SecretStr(token)}))


def _is_local(host: str) -> bool:
    """Whether only this machine reaches *host*."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _allowed_hosts(host: str) -> Collection[str]:
    """Return the names under which requests to a server at *host* come: any, if other machines reach it."""
    return {*LOCAL_NAMES, host} if _is_local(host) else ()


def _listen(host: str, port: int) -> socket.socket:
    """Open the port.

    Raises:
        ConfigError: If it cannot be opened.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        detail = error.strerror or error
        raise ConfigError(f"cannot listen on {host}, port {port}: {detail}; choose another port with --port") from error


def _make_url(listener: socket.socket, path: str) -> str:
    """Return the URL of *path* on the server that listens."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def _run_app(
    ctx: CommandContext, app: ASGIApp, listener: socket.socket, usage: Sequence[str], document: object
) -> None:
    """Serve until SIGINT or SIGTERM, then finish running requests and updates."""
    import uvicorn

    from memgraph.api.connections import KEEP_ALIVE_SECONDS, MAX_CONNECTIONS, BoundedConnection

    for text in usage:
        ctx.output.line(text, "yellow" if text == OPEN else "")
    ctx.output.result(document)
    sys.stdout.flush()
    # uvicorn re-raises the signal after its shutdown; here that is a normal exit.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config = uvicorn.Config(
        app,
        http=BoundedConnection,
        ws="none",  # a WebSocket would leave the limits of BoundedConnection
        log_level="warning",
        access_log=False,
        server_header=False,
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=KEEP_ALIVE_SECONDS,
        timeout_graceful_shutdown=REQUEST_SECONDS,
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
    ctx.output.line("Stopped.")
