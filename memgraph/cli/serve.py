"""memgraph serve: the HTTP API, alone."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import TYPE_CHECKING, Annotated

import typer

from memgraph.cli.command import CommandContext, add_command

if TYPE_CHECKING:
    import socket

    from memgraph.api import Authenticator
    from memgraph.api.app import MountedApp

LOCAL_NAMES = ("localhost", "127.0.0.1", "::1")
REQUEST_SECONDS = 10
"""How long a stop waits for requests that are being answered."""
NEEDS_EXTRA = "serve needs FastAPI and uvicorn: pip install 'langgraph-memgraph[api]'"


def register(app: typer.Typer) -> None:
    """Add the command to *app*."""
    add_command(app, serve)


def serve(
    ctx: CommandContext,
    *,
    host: Annotated[str, typer.Option(metavar="HOST", help="Where to listen.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="PORT", min=0, max=65_535, help="0 is any free one.")] = 8765,
    no_token: Annotated[bool, typer.Option("--no-token", help="Let everybody on this machine in.")] = False,
) -> None:
    """Serve the HTTP API until it is stopped.

    Where no token is configured (MEMGRAPH_API_TOKEN), one is made for this run.
    """
    from memgraph.errors import ConfigError

    try:
        from memgraph.api import create_app
    except ModuleNotFoundError as error:
        raise ConfigError(f"{NEEDS_EXTRA} ({error.name} is missing)") from error
    token, access = _access(ctx, host, no_token=no_token)
    hosts = {*LOCAL_NAMES, host} if _is_local(host) else ()
    app = create_app(ctx.settings, access=access, hosts=hosts, storage=ctx.storage)
    app.desk.open()  # what is wrong with the settings is said before anything is served
    with _listening(host, port) as listener:
        _tell(ctx, _url(listener), token, is_open=access.is_open)
        _serve(app, listener)
    ctx.output.line("Stopped.")


def _access(ctx: CommandContext, host: str, *, no_token: bool) -> tuple[str | None, Authenticator]:
    """Who gets in, and the token that was made for this run, if one was."""
    import secrets

    from pydantic import SecretStr

    from memgraph.api import Authenticator
    from memgraph.errors import ConfigError

    settings = ctx.settings
    is_configured = bool(settings.api_token or settings.api_tokens)
    if not _is_local(host) and (no_token or not is_configured):
        raise ConfigError(
            f"{host} can be reached from other machines, so a token has to be configured: set MEMGRAPH_API_TOKEN"
            f"{', and leave --no-token out' if no_token else ''}"
        )
    if no_token:
        return None, Authenticator(is_open=True)
    if is_configured:
        return None, Authenticator.from_settings(settings)
    token = secrets.token_urlsafe(24)
    return token, Authenticator.from_settings(settings.model_copy(update={"api_token": SecretStr(token)}))


def _is_local(host: str) -> bool:
    from ipaddress import ip_address

    with suppress(ValueError):
        return ip_address(host).is_loopback
    return host == "localhost"


def _listening(host: str, port: int) -> socket.socket:
    import socket

    from memgraph.errors import ConfigError

    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except OSError as error:
        detail = error.strerror or error
        raise ConfigError(f"cannot listen on {host}, port {port}: {detail}; another one: --port NUMBER") from error


def _url(listener: socket.socket) -> str:
    host, port = listener.getsockname()[:2]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/memory"


def _tell(ctx: CommandContext, url: str, token: str | None, *, is_open: bool) -> None:
    line = ctx.output.line
    line(f"Serving the memories in {ctx.storage.name} at {url} (what there is: {url}/docs)")
    if token:
        line(f"Token of this run: {token}")
    if is_open:
        line("Whoever can use this machine can read and change every memory.", "yellow")
    shown = "" if is_open else f' -H "Authorization: Bearer {token or "$MEMGRAPH_API_TOKEN"}"'
    line(f"Try: curl{shown} '{url}/document?user_id=ada'")
    line("Stop it with Ctrl-C.")
    ctx.output.result({"url": url, "token": token})
    sys.stdout.flush()


def _serve(app: MountedApp, listener: socket.socket) -> None:
    """Serve until SIGINT or SIGTERM: then what is being answered, and learned, is finished."""
    import signal

    import uvicorn

    # uvicorn raises the signal again when it has ended, which is no failure here
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=REQUEST_SECONDS
    )
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[listener])
