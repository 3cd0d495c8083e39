"""memgraph serve: run the HTTP API as a stand-alone server."""

from __future__ import annotations

import secrets
import signal
import socket
import sys
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import CommandContext
from memgraph.errors import ConfigError

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from memgraph.api import Authenticator

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
REQUEST_SECONDS = 10
"""Maximum wait for running requests on shutdown."""


def serve(
    ctx: CommandContext,
    *,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8765,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Require no token: any user of this machine has access.")
    ] = False,
) -> None:
    """Serve the HTTP API until stopped.

    If no token is configured (MEMGRAPH_API_TOKEN), generates and prints one.

        memgraph serve
        memgraph serve --port 9000
    """
    try:
        from memgraph.api import create_app
    except ImportError as error:  # it names the extra
        raise ConfigError(str(error)) from error
    token, authenticator = make_authenticator(ctx, host, no_token=no_token)
    app = create_app(ctx.settings, authenticator=authenticator, hosts=allowed_hosts(host), storage=ctx.storage)
    app.services.open()  # invalid settings fail before the port is opened
    with listen(host, port) as listener:
        url = make_url(listener, "/memory")
        _print_usage(ctx, url, token, app.sessions.issue_code(), is_open=authenticator.is_open)
        run_app(app, listener)
    ctx.output.line("Stopped.")


def make_authenticator(ctx: CommandContext, host: str, *, no_token: bool) -> tuple[str | None, Authenticator]:
    """Return the generated token, if any, and the authenticator.

    Raises:
        ConfigError: If other machines would reach memories without a configured token.
    """
    from pydantic import SecretStr

    from memgraph.api import Authenticator

    settings = ctx.settings
    is_configured = bool(settings.api_token or settings.api_tokens)
    if not is_local(host) and (no_token or not is_configured):
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


def is_local(host: str) -> bool:
    """Whether only this machine reaches *host*."""
    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def allowed_hosts(host: str) -> Collection[str]:
    """Return the names under which requests to a server at *host* come: any, if other machines reach it."""
    return {*LOCAL_NAMES, host} if is_local(host) else ()


def listen(host: str, port: int) -> socket.socket:
    """Open the port.

    Raises:
        ConfigError: If it cannot be opened.
    """
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        detail = error.strerror or error
        raise ConfigError(f"cannot listen on {host}, port {port}: {detail}; choose another port with --port") from error


def make_url(listener: socket.socket, path: str) -> str:
    """Return the URL of *path* on the server that listens."""
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{path}"


def _print_usage(ctx: CommandContext, url: str, token: str | None, code: str | None, *, is_open: bool) -> None:
    line = ctx.output.line
    line(f"Serving the memories in {ctx.storage.name} at {url} (API documentation: {url}/docs)")
    if token:
        line(f"Generated token: {token}")
    line(f"See the memories in a browser: {url}/{f'page/sign-in?code={code}' if code else ''}")
    if code:
        line("The link works once, within 15 minutes.")
    if is_open:
        line("No token is required: any user of this machine can read and change every memory.", "yellow")
    header = "" if is_open else f' -H "Authorization: Bearer {token or "$MEMGRAPH_API_TOKEN"}"'
    line(f"Try: curl{header} '{url}/document?user_id=ada'")
    line("Press Ctrl-C to stop.")
    ctx.output.result({"url": url, "token": token})
    sys.stdout.flush()


def run_app(app: ASGIApp, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM, then finish running requests and updates."""
    import uvicorn

    from memgraph.api.connections import KEEP_ALIVE_SECONDS, MAX_CONNECTIONS, BoundedConnection

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
