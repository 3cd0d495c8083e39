"""Who gets in, and to whose memory."""

from __future__ import annotations

import pytest
from api_tokens import ADA, ALL, BOB, Ask
from starlette.authentication import SimpleUser, UnauthenticatedUser
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from memgraph import MemoryStorage, Settings
from memgraph import Scope as MemoryScope
from memgraph.api import Authenticator, create_app
from memgraph.editing import add_fact, update_memory

FACT = {"content": "Likes rum."}
REQUESTS = [
    ("GET", "document", None),
    ("DELETE", "document", None),
    ("GET", "facts", None),
    ("POST", "facts", FACT),
    ("GET", "facts/{tea}", None),
    ("PATCH", "facts/{tea}", FACT),
    ("DELETE", "facts/{tea}", None),
    ("PUT", "summaries/workContext", {"summary": "Pilot."}),
    ("POST", "recall", {}),
    ("GET", "export", None),
    ("POST", "import", {"facts": []}),
    ("GET", "backups", None),
    ("GET", "backups/20260101T000000000000Z.json", None),
    ("POST", "conversations", {"messages": [{"role": "user", "content": "I like rum."}]}),
    ("GET", "updates", None),
    ("POST", "updates/retry", None),
    ("GET", "reviews", None),
    ("POST", "reviews/1", "accept"),
]
"""One for each route that is about a user."""


def test_every_route_about_a_user_is_tried_here(client: TestClient) -> None:
    """A new route must not be forgotten when tokens are tested."""
    paths = client.get("/memory/openapi.json").json()["paths"]

    there = {(method.upper(), path) for path, item in paths.items() for method in item} - {
        ("GET", "/status"),
        ("GET", "/config"),
    }

    assert len(there) == len(REQUESTS)


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_nobody_gets_in_without_a_token(client: TestClient, method: str, path: str, body: object) -> None:
    answer = client.request(method, f"/memory/{path}", params={"user_id": "ada"}, json=body)

    assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, 'Bearer realm="memgraph"')


@pytest.mark.parametrize("asked", REQUESTS)
def test_a_users_token_opens_no_other_memory(
    ask: Ask, storage: MemoryStorage, tea: str, asked: tuple[str, str, object]
) -> None:
    """Neither read nor written, whatever the route."""
    method, path, body = asked
    before = storage.load(MemoryScope("ada"))

    answer = ask(method, path.format(tea=tea), token=BOB, if_match="*", json=body, user_id="ada")

    assert (answer.status_code, answer.json()["error"]) == (403, "Forbidden")
    assert "tea" not in answer.text
    assert storage.load(MemoryScope("ada")) == before


def test_a_users_token_says_whose_memory_it_is(ask: Ask, tea: str) -> None:
    answer = ask("GET", "facts", token=ADA)

    assert [fact["id"] for fact in answer.json()["facts"]] == [tea]


def test_the_token_for_everybody_needs_a_name(ask: Ask) -> None:
    """The scope without a user is named "default"; it is never meant by silence."""
    answer = ask("GET", "facts", token=ALL)

    assert (answer.status_code, answer.json()["detail"]) == (422, "say whose memory it is: ?user_id=...")


def test_an_agents_memory_is_not_the_users(ask: Ask, tea: str) -> None:
    ask("POST", "facts", json=FACT, user_id="ada", agent_name="Barkeeper")

    shared = ask("GET", "document", user_id="ada").json()
    own = ask("GET", "document", user_id="ada", agent_name="barkeeper").json()

    assert [fact["content"] for fact in shared["facts"]] == ["Likes tea."]
    assert [fact["content"] for fact in own["facts"]] == ["Likes tea.", "Likes rum."]


@pytest.mark.parametrize("authorization", ["Bearer wrong", "Bearer", f"Basic {ALL}", ALL, f"Bearer {ALL[:-1]}"])
def test_a_wrong_token_is_none(client: TestClient, authorization: str) -> None:
    answer = client.get("/memory/status", headers={"Authorization": authorization})

    assert (answer.status_code, answer.json()["detail"].partition(":")[0]) == (
        401,
        "show a token that the server knows",
    )


def test_where_no_token_is_set_the_remedy_is_said(storage: MemoryStorage) -> None:
    """Mounted on a server, an API without a token is closed, not open."""
    with TestClient(create_app(Settings(outbox="memory:"), storage=storage)) as client:
        answer = client.get("/memory/document?user_id=ada")

    assert answer.status_code == 401
    assert "MEMGRAPH_API_TOKEN" in answer.json()["detail"]


def test_an_open_api_asks_for_nothing(storage: MemoryStorage) -> None:
    app = create_app(Settings(outbox="memory:"), access=Authenticator(is_open=True), storage=storage)
    with TestClient(app) as client:
        answer = client.get("/memory/document?user_id=ada")

    assert answer.status_code == 200


class Server:
    """A server around the app that knows who is calling."""

    def __init__(self, app: ASGIApp, user: object) -> None:
        self._app = app
        self._user = user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "user": self._user}, receive, send)


class Studio(SimpleUser):
    """Who looks at any server from Studio."""

    kind = "StudioUser"
    identity = "langgraph-studio-user"


class Known(SimpleUser):
    """Somebody the server knows."""

    @property
    def identity(self) -> str:
        return self.username


@pytest.mark.parametrize(
    ("user", "status"), [(Known("ada"), 200), (Known("bob"), 403), (Studio("x"), 401), (UnauthenticatedUser(), 401)]
)
def test_whom_the_server_knows_reaches_their_own_memory(
    settings: Settings, storage: MemoryStorage, user: object, status: int
) -> None:
    with TestClient(Server(create_app(settings, storage=storage), user)) as client:
        answer = client.get("/memory/document?user_id=ada")

    assert answer.status_code == status


def test_whom_the_server_knows_need_not_say_it(settings: Settings, storage: MemoryStorage) -> None:
    update_memory(storage, MemoryScope("ada"), lambda memory: add_fact(memory, "Likes tea."))
    with TestClient(Server(create_app(settings, storage=storage), Known("ada"))) as client:
        answer = client.get("/memory/document")

    assert [fact["content"] for fact in answer.json()["facts"]] == ["Likes tea."]


@pytest.mark.parametrize("headers", [{"Host": "evil.example"}, {"Origin": "http://evil.example"}, {"Host": ""}])
def test_pages_of_other_hosts_are_kept_out(settings: Settings, storage: MemoryStorage, headers: dict[str, str]) -> None:
    """A page may have its own name resolved to the loopback, or send simple requests there."""
    app = create_app(settings, access=Authenticator(is_open=True), hosts=["localhost"], storage=storage)
    with TestClient(app, base_url="http://localhost:8765") as client:
        assert client.get("/memory/status").status_code == 200

        answer = client.get("/memory/status", headers=headers)

    assert (answer.status_code, answer.json()["error"]) == (421, "WrongHost")


def test_what_the_service_is_configured_to_is_not_for_users(ask: Ask) -> None:
    assert ask("GET", "config", token=ADA).status_code == 403
    assert ask("GET", "status", token=ADA).json()["service"] is None


def test_no_token_is_shown(ask: Ask) -> None:
    answers = ask("GET", "config").text + ask("GET", "status").text

    assert '"api_max_body_bytes":20000' in answers
    assert not any(token in answers for token in (ALL, ADA, BOB))
