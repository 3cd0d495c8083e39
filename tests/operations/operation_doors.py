"""The doors of a memory under test: each calls an operation, and gives its result or error in one form."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

from mcp import Client
from starlette.testclient import TestClient

from memgraph import AsyncMemoryClient, MemoryClient, MemoryStorage, Scope, Settings, errors
from memgraph.api import create_app
from memgraph.api.routes import ROUTES
from memgraph.cli.app import start
from memgraph.errors import MemgraphError
from memgraph.mcp import create_server
from memgraph.mcp.tools import TOOLS

Arguments = Mapping[str, Any]
ROUTE_OF = {route.called: route for routes in reversed(ROUTES.values()) for route in reversed(routes)}
STATUS_OF = {
    error.code: error.http_status
    for error in vars(errors).values()
    if isinstance(error, type) and issubclass(error, MemgraphError)
}
TOOL_OF = {tool.operation.name: name for name, tool in TOOLS.items()}
COMMANDS: Mapping[str, Callable[[Arguments], list[str]]] = {
    "recall": lambda given: ["recall", given["messages"], *options(given, messages=None)],
    "get": lambda given: ["show", *options(given)],
    "episodes": lambda given: ["episodes", *options(given, thread_id="thread")],
    "facts": lambda given: ["show", *options(given)],
    "remember": lambda given: ["fact", "add", given["content"], *options(given, content=None, source_error="avoid")],
    "update": lambda given: ["fact", "edit", given["fact_id"], *options(given, fact_id=None)],
    "delete": lambda given: ["fact", "remove", given["fact_id"], *options(given, fact_id=None)],
    "decide": lambda given: ["review", "--change", given["change_id"], f"--{given['verdict']}"],
    "ask_again": lambda given: ["review", "--ask-again", given["category"]],
    "history": lambda given: ["history", *options(given)],
    "diff": lambda given: ["diff", str(given["first"]), str(given["second"])],
    "undo": lambda given: ["undo", str(given["revision"]), "--yes"],
    "revert": lambda given: ["revert", *options(given, thread_id="thread")],
    "why": lambda given: ["why", given["fact_id"]],
    "export": lambda given: ["export"],
    "audit": lambda given: ["audit"],
    "memories": lambda given: ["users"],
    "keep_up": lambda given: ["upkeep", "--dry-run", "--model", "offline"],
    "forget": lambda given: ["forget", "--yes"],
    "erase": lambda given: ["erase", "--yes"],
}


def options(given: Arguments, **renamed: str | None) -> list[str]:
    """Return arguments as options of a command; those renamed to None are positional."""
    named = {renamed.get(name, name): value for name, value in given.items()}
    return [word for name, value in named.items() if name for word in (f"--{name.replace('_', '-')}", str(value))]


@dataclass(frozen=True)
class Outcome:
    """What a door answered."""

    value: Any = None
    code: str = ""
    """What identifies the error; empty on success."""
    sentence: str = ""
    """What the error says."""


class Doors:
    """All doors of one storage. The user is Ada.

    Args:
        storage: The storage, which every door shares.
        url: Its URL.
        settings: The configuration.
    """

    def __init__(self, storage: MemoryStorage, url: str, settings: Settings) -> None:
        self.storage, self.url, self.settings = storage, url, settings

    def python(self, name: str, given: Arguments) -> Outcome:
        with MemoryClient(self.storage, user_id="ada", settings=self.settings) as client:
            return _outcome(lambda: getattr(client, name)(**given))

    def coroutine(self, name: str, given: Arguments) -> Outcome:
        async def run() -> Any:
            async with AsyncMemoryClient(self.storage, user_id="ada", settings=self.settings) as client:
                return await getattr(client, name)(**given)

        return _outcome(lambda: asyncio.run(run()))

    def command_line(self, name: str, given: Arguments) -> Outcome | None:
        if name not in COMMANDS:
            return None
        user = [] if name == "memories" else ["--user", "ada"]
        with redirect_stdout(StringIO()) as out, redirect_stderr(StringIO()):
            code = start([*COMMANDS[name](given), *user, "--storage", self.url, "--json"])
        answer = json.loads(out.getvalue())
        if code == 0:
            return Outcome(answer)
        return Outcome(code=answer["error"]["type"], sentence=answer["error"]["message"])

    def http(self, name: str, given: Arguments) -> Outcome | None:
        if name not in ROUTE_OF:
            return None
        route = ROUTE_OF[name]
        method, path = route.request.split()
        in_path = re.findall(r"\{(\w+)", path)
        path = re.sub(r"\{(\w+)(:path)?\}", lambda found: str(given[found[1]]), path)
        rest = {key: value for key, value in given.items() if key not in in_path}
        body = {"recall": {"messages": [given.get("messages")]}, "decide": given.get("verdict")}.get(name)
        if isinstance(route.body, str):
            body = {re.sub(r"_(\w)", lambda found: found[1].upper(), key): value for key, value in rest.items()}
        query = {key: value for key, value in rest.items() if body is None or key == "as_of"} | {"user_id": "ada"}
        if name == "memories":
            query = {}
        authorized = {"Authorization": "Bearer administrator-token"}
        headers = {**authorized, "If-Match": "*", "Content-Type": "application/json"}
        with TestClient(create_app(self.settings, storage=self.storage)) as client:
            content = {"content": given["document"]} if name == "import_document" else {"json": body}
            query.pop("document", None)
            response = client.request(method, f"/memory{path}", params=query, headers=headers, **content)  # type: ignore[arg-type]
        answer = response.json()
        if not response.is_error:
            return Outcome(answer)
        assert response.status_code == STATUS_OF[answer["error"]]
        return Outcome(code=answer["error"], sentence=answer["detail"])

    def assistant(self, name: str, given: Arguments) -> Outcome | None:
        if name not in TOOL_OF:
            return None
        if name == "context":
            given = {"message": given["messages"], **{key: given[key] for key in given if key != "messages"}}

        async def run(client: MemoryClient) -> Any:
            async with Client(create_server(client, lambda _: Scope("ada"))) as caller:
                return await caller.call_tool(TOOL_OF[name], dict(given))

        with MemoryClient(self.storage, settings=self.settings) as client:
            result = asyncio.run(run(client))
        text = result.content[0].text
        return Outcome(sentence=text) if result.is_error else Outcome(result.structured_content or text)


def _outcome(call: Callable[[], Any]) -> Outcome:
    try:
        return Outcome(call())
    except MemgraphError as error:
        return Outcome(code=error.code, sentence=str(error))
