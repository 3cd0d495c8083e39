"""Ada tries to read and to change Bob's memory: by every route, form, stage, tool and setting that there is.

What is tried is listed by the things themselves (routes, JSON schemas, templates, channels, model fields), so that a
new one is in it. Bob's memory has a word that is nowhere else, and every access to his memory is recorded.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import inspect
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import httpx
import pytest
from fastapi import Request
from fastapi.routing import APIRoute
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, HumanMessage
from mcp import Client
from mcp.shared.exceptions import MCPError
from starlette.testclient import TestClient

import memgraph.api.page
from memgraph import (
    ConfigError,
    Context,
    ConversationError,
    EditError,
    Fact,
    IdentityError,
    MemoryClient,
    MemoryDocument,
    MemoryStorage,
    Policy,
    Scope,
    Settings,
    build_graph,
    build_recall_graph,
    build_upkeep_graph,
    memory_tools,
    open_storage,
)
from memgraph.api import create_app
from memgraph.api.app import MountedApp
from memgraph.mcp import create_server
from memgraph.models import Episode, PendingChange
from memgraph.stepper import as_json
from memgraph.testing import ScriptedModel
from memgraph.update.graph import in_memory_saver

ADA, BOB = Scope("ada"), Scope("bob")
TOKENS = {"ada": "token-of-ada-alone", "bob": "token-of-bob-alone"}
CANARY = "Quixelbourne"
"""A word of Bob's alone."""
TEMPLATES = Path(memgraph.api.page.__file__).parent / "templates"
CSRF = re.compile(r'"X-CSRF-Token": ?"([^"]+)"')
ORIGIN = {"scope": {"user_id": "bob", "agent_name": None}, "thread_id": None, "review": "never"}
MALFORMED = (
    *(None, 0, -1, "x", [], {}, [3], {"x": 1}, {"scope": {"x": 1}}, {"scope": {"user_id": 5}}, {"scope": None}),
    *({"scope": {"user_id": ""}, "storage": 1}, {"scope": {"user_id": "a", "agent_name": "/"}}),
)


TRIED: ContextVar[bool] = ContextVar("tried", default=False)
"""Set where Ada tries; the server's own workers, which also have Bob's jobs to do, run in contexts of their own."""


class Bob:
    """Bob's memory, its ids, and who touched it."""

    def __init__(self) -> None:
        self.storage: MemoryStorage = open_storage("memory:")
        fact = Fact(id="fact_bob", content=f"Lives in {CANARY}.", confidence=1.0)
        held = PendingChange(id="change_bob", reason="order", facts=(fact.model_copy(update={"id": "fact_held"}),))
        said = Episode(id="episode_bob", thread_id="thread_bob", message_id="message_bob", text=f"I live in {CANARY}.")
        self.storage.save_with_episodes(BOB, MemoryDocument(facts=(fact,), past=(), pending=(held,)), [said], Policy())
        self.ids = ["bob", "fact_bob", "change_bob", "episode_bob", "message_bob", "thread_bob", "1"]
        self.touched: list[str] = []
        self.document = self.storage.load(BOB).model_dump_json()
        for name, method in inspect.getmembers(self.storage, inspect.ismethod):
            # the private ones also list whose memories there are, of which a user is shown only their own
            if name[0] != "_" and list(inspect.signature(method).parameters)[:1] in (["scope"], ["user_id"]):
                setattr(self.storage, name, self._recorded(name, method))

    def _recorded(self, name: str, method: Any) -> Any:
        @functools.wraps(method)
        def call(owner: Any, *arguments: Any, **options: Any) -> Any:
            if TRIED.get() and "bob" in (owner, getattr(owner, "user_id", None)):
                self.touched.append(name)
            return method(owner, *arguments, **options)

        return call

    def check(self, what: object, shown: str = "") -> None:
        """Fail if his memory was read or changed, or is in what was *shown*."""
        assert (self.touched, CANARY in shown) == ([], False), what


@pytest.fixture
def bob() -> Iterator[Bob]:
    bob = Bob()
    token = TRIED.set(True)
    yield bob
    TRIED.reset(token)
    bob.touched.clear()
    assert bob.storage.load(BOB).model_dump_json() == bob.document


# -- every route of the HTTP app, every form of the page --------------------------------------------


@pytest.fixture
def app(bob: Bob, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MountedApp]:
    """The app, with pending changes of Bob and a conversation that waits. Its streams end after one round."""

    async def is_asked_again(request: Request) -> bool:
        asked = getattr(request.state, "is_asked", False)
        request.state.is_asked = True
        return asked

    monkeypatch.setattr(Request, "is_disconnected", is_asked_again)
    settings = Settings(
        model_name="offline",
        outbox=str(tmp_path / "outbox.db"),
        review="always",
        debounce_seconds=3_600,
        max_wait_seconds=3_600,
        api_tokens=TOKENS,  # pyright: ignore[reportArgumentType] - pydantic wraps them
        api_backups=str(tmp_path / "backups"),
    )
    app = create_app(settings, storage=bob.storage)
    said = [HumanMessage(f"I live in {CANARY}.", id="m1")]
    invoker = app.services.memory.invoker
    invoker.submit(said, BOB, "thread_bob")
    invoker.flush(60)
    (asked,) = [change.id for change in bob.storage.load(BOB).pending if change.id != "change_bob"]
    bob.ids.append(asked)
    invoker.submit(said, BOB, "thread_waiting")
    bob.document = bob.storage.load(BOB).model_dump_json()
    with TestClient(app):
        yield app
        assert bob.storage.load(BOB).model_dump_json() == bob.document
    bob.document = bob.storage.load(BOB).model_dump_json()  # the exit has learned what waited


def routes_of(routes: Iterable[Any]) -> Iterator[APIRoute]:
    """Yield every route with a handler, also of included routers."""
    for route in routes:
        if isinstance(route, APIRoute):
            yield route
        else:
            yield from routes_of(getattr(getattr(route, "original_router", route), "routes", None) or ())


def sign_in(app: MountedApp, user: str) -> TestClient:
    """Return a browser that is signed in, with the token that its changes carry."""
    browser = TestClient(app, base_url="http://testserver/memory", raise_server_exceptions=False)
    csrf = re.findall(r'name="csrf" type="hidden" value="(\w+)"', browser.get("/page/sign-in").text)[0]
    browser.post("/page/sign-in", data={"token": TOKENS[user], "csrf": csrf})
    browser.headers["X-CSRF-Token"] = next(iter(CSRF.findall(browser.get("/").text.replace("&#34;", '"'))))
    return browser


def begin_trial(browser: TestClient, said: str) -> str:
    """Return the id of a new trial."""
    answer = browser.post("/page/try", data={"text": json.dumps([{"role": "user", "content": said}])})
    return re.findall(r"/page/try/([\w-]+)/", answer.text)[0]


def fill(schema: Mapping[str, Any], bait: str, document: Mapping[str, Any]) -> Any:  # noqa: PLR0911 - one per kind
    """Return a value of a JSON schema with *bait* wherever text is expected, and every optional key."""
    if "$ref" in schema:
        found = functools.reduce(lambda part, key: part[key], schema["$ref"].split("/")[1:], document)
        return fill(found, bait, document)
    for options in (schema[key] for key in ("anyOf", "oneOf", "allOf") if key in schema):
        return fill(options[0], bait, document)
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    match schema.get("type"):
        case "object":
            named = {key: fill(part, bait, document) for key, part in schema.get("properties", {}).items()}
            return named | ({"user_id": "bob"} if schema.get("additionalProperties") else {})
        case "array":
            return [fill(schema.get("items", {}), bait, document)]
        case "integer" | "number":
            return max(1, schema.get("minimum", 1))
        case "boolean":
            return True
        case _:
            return "2026-05-01T00:00:00Z" if schema.get("format") == "date-time" else bait


def attempts(app: MountedApp, route: APIRoute, method: str, baits: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Yield the arguments of requests that name Bob, or what is his: in the path, the query, the body and headers."""
    document = app.openapi()
    operation = document["paths"].get(f"/memory{route.path_format}", {}).get(method.lower(), {})
    content = operation.get("requestBody", {}).get("content", {})
    fields = {name for page in TEMPLATES.glob("*.html") for name in re.findall(r'name="(\w+)"', page.read_text())}
    names = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"] if operation else fields
    for bait in baits if "{" in route.path else ("bob",):
        path = re.sub(r"{\w+}", lambda _, bait=bait: bait, route.path_format)
        query = {name: bait for name in names if name != "user_id"}
        headers = {"If-Match": "*", "X-User-Id": "bob", "X-Forwarded-User": "bob"}
        for named in ({"user_id": "bob"}, {"user_id": "bob", **query}, query):
            arguments = {"url": path, "params": named, "headers": headers}
            if not operation:  # a form of the page
                forms = dict.fromkeys(fields, bait) | {"user_id": "bob"}
                yield arguments | {"data": forms} if method == "POST" else arguments
                continue
            yield arguments
            for kind in content.values():
                body = fill(kind["schema"], bait, document)
                yield arguments | {"json": body}
                if isinstance(body, dict):
                    yield arguments | {"json": body | {"user_id": "bob", "scope": ORIGIN["scope"]}}


def walk(app: MountedApp, bob: Bob, user: str) -> set[str]:
    """Try every route as *user*, by token and by cookie; return those by which Bob's memory was reached."""
    trial = begin_trial(sign_in(app, "bob"), f"I live in {CANARY}.")
    bob.touched.clear()
    browser = sign_in(app, user)
    client = TestClient(
        app,
        base_url="http://testserver/memory",
        headers={"Authorization": f"Bearer {TOKENS[user]}"},
        raise_server_exceptions=False,
    )
    inner = app._inner  # pyright: ignore[reportPrivateUsage]
    routes = list(routes_of(inner.routes))
    assert {f"/memory{route.path_format}" for route in routes} >= set(app.openapi()["paths"])
    reached: set[str] = set()
    for route in routes:
        sender = client if route.include_in_schema else browser
        for method in sorted(route.methods - {"HEAD"}):
            if "sign-" in route.path:
                continue
            for arguments in attempts(app, route, method, [*bob.ids, trial]):
                response = sender.request(method, **arguments, follow_redirects=False)
                if bob.touched or CANARY in response.text:
                    reached.add(f"{method} {route.path_format}: {bob.touched}")
                bob.touched.clear()
    return reached


def test_no_route_and_no_form_reaches_the_memory_of_another_user(app: MountedApp, bob: Bob) -> None:
    """By query, path, body, form and header, by his ids with and without his name."""
    assert walk(app, bob, "ada") == set()


def test_the_walk_reaches_what_the_owner_reaches(app: MountedApp, bob: Bob) -> None:
    """It would find an open route."""
    inner = app._inner  # pyright: ignore[reportPrivateUsage]

    reached = walk(app, bob, "bob")

    bob.document = bob.storage.load(BOB).model_dump_json()
    assert (
        len({name.partition(":")[0].partition(" ")[2] for name in reached})
        > len({route.path_format for route in routes_of(inner.routes)}) / 2
    )


# -- every stage of every graph, as the threads API of a server edits it ----------------------------

SAID = {"messages": [HumanMessage("I live in Lisbon.", id="m1")]}
GRAPHS: Mapping[str, Any] = {"update": build_graph, "upkeep": build_upkeep_graph, "recall": build_recall_graph}
USER = SimpleNamespace(identity="ada", is_authenticated=True, display_name="ada", permissions=[])
PRINCIPALS = {
    "authenticated": ({"langgraph_auth_user": USER, "user_id": "bob"}, {"user_id": "bob"}),
    "context": ({}, {"user_id": "ada"}),
    "configurable": ({"user_id": "ada"}, None),
}


def replaced(value: Any) -> Any:
    """Return JSON in which Ada is Bob."""
    return json.loads(json.dumps(value, default=str).replace('"ada"', '"bob"'))


@pytest.mark.parametrize("principal", PRINCIPALS)
@pytest.mark.parametrize("kind", GRAPHS)
def test_no_stage_of_a_thread_leads_to_the_memory_of_another_user(bob: Bob, kind: str, principal: str) -> None:
    """Before each node each stage names Bob: the run is refused, or goes on with Ada's memory."""
    pair = [Fact(id=f"f{n}", content=text, confidence=1.0) for n, text in enumerate(["Likes tea.", "Likes tea a lot."])]
    bob.storage.save(ADA, MemoryDocument(facts=tuple(pair)))
    graph = GRAPHS[kind](storage=bob.storage, checkpointer=in_memory_saver(), output="stages")
    configurable, context = PRINCIPALS[principal]
    inputs = {} if kind == "upkeep" else SAID
    for number, node in enumerate(name for name in graph.nodes if not name.startswith("__")):
        config: Any = {"configurable": {"thread_id": f"{kind}-{principal}-{number}", **configurable}}
        for stage in [*graph.channels]:
            if stage.startswith("__") or ":" in stage:
                continue
            graph.invoke(inputs, config, context=context, interrupt_before=[node])
            state = graph.get_state(config)
            if not state.next:
                break
            own = as_json(state.values.get(stage, {}))
            for value in (replaced(own), ORIGIN | {"storage": bob.storage.name}, *MALFORMED):
                with contextlib.suppress(ValueError, ConversationError, EditError):  # 400 on a server
                    graph.update_state(config, {stage: value})
            with contextlib.suppress(IdentityError, ValueError, KeyError, AttributeError, TypeError):
                graph.update_state(config, {stage: replaced(own)})
                bob.check((node, stage), str(graph.invoke(None, config, context=context)))
            bob.check((node, stage), str(graph.get_state(config).values))


# -- the same stages on the page, every setting of a context, every tool ----------------------------


def test_no_stage_of_a_trial_leads_to_the_memory_of_another_user(app: MountedApp, bob: Bob) -> None:
    """Each is refused or has no such effect; a malformed one is a 422 with a sentence."""
    browser = sign_in(app, "ada")
    stages = [name for name in build_graph(storage=bob.storage).channels if not name.startswith("__")]
    trial = f"/page/try/{begin_trial(browser, 'I live in Lisbon.')}"
    bob.touched.clear()
    for _ in range(9):
        for stage in stages:
            for value in (*map(json.dumps, (ORIGIN, *MALFORMED[:10:3])), "[" * 20_000, "9" * 30):
                answer = browser.post(f"{trial}/edit/{stage}", data={"value": value})
                assert answer.status_code in (200, 422), (stage, value[:80], answer.text)
                if answer.status_code == httpx.codes.OK:
                    assert stage != "origin"
                    browser.post(f"{trial}/back")
        answer = browser.post(f"{trial}/next")
        bob.check("next", answer.text)
        assert answer.status_code == httpx.codes.OK


def test_an_edit_that_is_taken_back_takes_no_step_off_a_trial(app: MountedApp) -> None:
    browser = sign_in(app, "ada")
    trial = f"/page/try/{begin_trial(browser, 'I live in Lisbon.')}"
    browser.post(f"{trial}/next")
    done = browser.post(f"{trial}/next").text.count('<li class="done')
    browser.post(f"{trial}/edit/turns", data={"value": "[]"})

    assert browser.post(f"{trial}/back").text.count('<li class="done') == done > 0


@pytest.mark.parametrize("name", [*Context.model_fields, *Policy.model_fields])
@pytest.mark.parametrize("kind", GRAPHS)
def test_no_setting_of_a_run_leads_to_the_memory_of_another_user(bob: Bob, kind: str, name: str) -> None:
    graph = GRAPHS[kind](storage=bob.storage)
    config: Any = {"configurable": {"langgraph_auth_user": USER, "user_id": "bob", "thread_id": "thread_bob"}}
    for value in ("bob", "thread_bob", bob.storage.name, ["bob"], {"user_id": "bob"}, 1, True, ORIGIN):
        with contextlib.suppress(ConfigError, IdentityError):
            shown = graph.invoke({} if kind == "upkeep" else SAID, config, context={name: value})
            bob.check((name, value), str(shown))
        bob.check((name, value))


def test_no_tool_and_no_resource_leads_to_the_memory_of_another_user(bob: Bob) -> None:
    """Neither over MCP nor as a tool of an agent: each argument is one of Bob's ids, and he is named besides."""
    settings = Settings(model_name="offline", outbox="memory:")

    async def talk(memory: MemoryClient) -> None:
        async with Client(create_server(memory, lambda _: ADA)) as client:
            for tool in (await client.list_tools()).tools:
                for bait in bob.ids:
                    arguments = fill(tool.input_schema, bait, tool.input_schema)
                    for more in ({}, {"user_id": "bob"}, {"scope": ORIGIN["scope"]}):
                        bob.check((tool.name, bait), str(await client.call_tool(tool.name, arguments | more)))
            for resource in (await client.list_resources()).resources:
                for uri in (str(resource.uri), f"{resource.uri}?user_id=bob"):
                    with contextlib.suppress(MCPError):
                        bob.check(uri, str(await client.read_resource(uri)))

    with MemoryClient(bob.storage, user_id="ada", settings=settings) as memory:
        asyncio.run(talk(memory))
    tools = memory_tools(bob.storage, settings=settings)
    for tool in tools:
        schema: Any = cast("Any", tool.tool_call_schema).model_json_schema()
        for bait in bob.ids:
            call = {
                "name": tool.name,
                "args": fill(schema, bait, schema) | {"user_id": "bob"},
                "id": "c",
                "type": "tool_call",
            }
            model = ScriptedModel(AIMessage("", tool_calls=[call]), "Done.")  # type: ignore[list-item]
            config: Any = {"configurable": {"user_id": "ada", "thread_id": "t"}}
            shown = create_agent(model, tools).invoke({"messages": [HumanMessage("Hi!")]}, config)
            bob.check((tool.name, bait), str(shown))
    tools.close()
