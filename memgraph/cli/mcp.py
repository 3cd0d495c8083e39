"""memgraph mcp: run the MCP server, for one user over stdio, or for many over HTTP."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated

import typer

from memgraph.cli.command import AgentOption, CommandContext
from memgraph.cli.errors import UsageError
from memgraph.cli.serve import allowed_hosts, listen, make_authenticator, make_url, run_app
from memgraph.client import MemoryClient
from memgraph.errors import ConfigError
from memgraph.models import Scope


def mcp(
    ctx: CommandContext,
    *,
    user: Annotated[
        str | None, typer.Option("--user", "-u", envvar="MEMGRAPH_USER", help="Whose memory, over stdio.")
    ] = None,
    agent: AgentOption = None,
    http: Annotated[bool, typer.Option("--http", help="Serve streamable HTTP: the token names the user.")] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --http.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 picks a free one.")] = 8766,
    no_token: Annotated[
        bool, typer.Option("--no-token", help="Require no token: any user of this machine has access.")
    ] = False,
) -> None:
    """Serve a memory to assistants over the Model Context Protocol.

    Without --http, the assistant starts the command, and it serves the memory of USER over stdin and stdout.

        memgraph mcp --user ada
        memgraph mcp --http --port 8766
    """
    if not http and not user:
        raise UsageError("name the user whose memory is served: pass --user, or set MEMGRAPH_USER")
    try:
        import memgraph.mcp  # noqa: F401  # pyright: ignore[reportUnusedImport] - a missing package is an error of the user
    except ImportError as error:  # it names the extra
        raise ConfigError(str(error)) from error
    with MemoryClient(ctx.storage, settings=ctx.settings, agent_name=agent) as client:
        if http:
            _serve_http(ctx, client, agent, host, port, no_token=no_token)
        else:
            _serve_stdio(client, user or "", agent)


def _serve_stdio(client: MemoryClient, user: str, agent: str | None) -> None:
    """Serve one user until stdin ends."""
    import anyio
    from mcp.server.stdio import stdio_server

    from memgraph.mcp import create_server

    scope = Scope(user, agent)
    server = create_server(client, lambda _: scope)

    async def run() -> None:
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())

    with suppress(KeyboardInterrupt):
        anyio.run(run)


def _serve_http(
    ctx: CommandContext, client: MemoryClient, agent: str | None, host: str, port: int, *, no_token: bool
) -> None:
    """Serve the users of the tokens until stopped."""
    from memgraph.mcp import create_mcp_app

    token, authenticator = make_authenticator(ctx, host, no_token=no_token)
    app = create_mcp_app(client, authenticator, agent_name=agent, hosts=allowed_hosts(host))
    with listen(host, port) as listener:
        _print_usage(ctx, make_url(listener, "/mcp"), token, is_open=authenticator.is_open)
        run_app(app, listener)
    ctx.output.line("Stopped.")


def _print_usage(ctx: CommandContext, url: str, token: str | None, *, is_open: bool) -> None:
    line = ctx.output.line
    line(f"Serving the memories in {ctx.storage.name} to MCP clients at {url}")
    if token:
        line(f"Generated token: {token}")
    if is_open:
        line("No token is required: any user of this machine can read and change every memory.", "yellow")
    if token or is_open:
        line(f"Name the user in the URL: {url}?user_id=ada")
    line("Press Ctrl-C to stop.")
    ctx.output.result({"url": url, "token": token})
    sys.stdout.flush()
