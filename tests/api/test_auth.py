"""Which token, user or host gets access, and to whose memory."""

from __future__ import annotations

import pytest
from api_tokens import ADA, ADMIN, BOB, ApiCall
from starlette.authentication import SimpleUser, UnauthenticatedUser
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from memgraph import MemoryStorage, Settings
from memgraph import Scope as MemoryScope
from memgraph.api import Authenticator, create_app
from memgraph.editing import add_fact, update_memory

FACT = {"content": "Likes rum."}
FOREIGN_HOSTS = [
    "evil.example",
    "",
    "[::1].evil.example",
    "[::1]@evil.example",
    "user@localhost",
    "localhost.evil.example",
    "localhost:80:80",
    "localhost:x",
    "localhost/.evil.example",
    "localhost, evil.example",
    "[localhost]",
    "::1",
]
REQUESTS = [
    ("GET", "document", None),
    ("DELETE", "document", None),
    ("GET", "facts", None),
    ("POST", "facts", FACT),
    ("GET", "facts/{tea}", None),
    ("GET", "accepted", None),
    ("DELETE", "accepted/context", None),
    ("GET", "history", None),
    ("GET", "history/1/document", None),
    ("GET", "history/0/diff/1", None),
    ("GET", "history/facts/{tea}", None),
    ("POST", "history/1/undo", None),
    ("POST", "history/revert", None),
    ("GET", "rebuild", None),
    ("POST", "rebuild", None),
    ("PATCH", "facts/{tea}", FACT),
    ("DELETE", "facts/{tea}", None),
    ("PUT", "summaries/workContext", {"summary": "Pilot."}),
    ("POST", "recall", {}),
    ("GET", "episodes", None),
    ("GET", "export", None),
    ("POST", "import", {"facts": []}),
    ("GET", "backups", None),
    ("GET", "backups/20260101T000000000000Z.json", None),
    ("POST", "conversations", {"messages": [{"role": "user", "content": "I like rum."}]}),
    ("GET", "updates", None),
    ("POST", "updates/retry", None),
    ("POST", "upkeep", None),
    ("GET", "reviews", None),
    ("POST", "reviews/1", "accept"),
    ("POST", "erase", None),
]
"""One request for each route that is about a user."""


def test_every_route_about_a_user_is_in_the_list(client: TestClient) -> None:
    """New routes are included in the tests of tokens."""
    paths = client.get("/memory/openapi.json").json()["paths"]

    routes = {(method.upper(), path) for path, item in paths.items() for method in item} - {
        ("GET", "/status"),
        ("GET", "/config"),
        ("GET", "/users"),
    }

    assert len(routes) == len(REQUESTS)


@pytest.mark.parametrize(("method", "path", "body"), REQUESTS)
def test_requests_without_a_token_are_refused(client: TestClient, method: str, path: str, body: object) -> None:
    response = client.request(method, f"/memory/{path}", params={"user_id": "ada"}, json=body)

    assert (response.status_code, response.headers["WWW-Authenticate"]) == (401, 'Bearer realm="memgraph"')


@pytest.mark.parametrize("request_", REQUESTS)
def test_a_users_token_gives_no_access_to_another_memory(
    call: ApiCall, storage: MemoryStorage, tea: str, request_: tuple[str, str, object]
) -> None:
    """It can be neither read nor changed, by any route."""
    method, path, body = request_
    before = storage.load(MemoryScope("ada"))

    response = call(method, path.format(tea=tea), token=BOB, if_match="*", json=body, user_id="ada")

    assert (response.status_code, response.json()["error"]) == (403, "Forbidden")
    assert "tea" not in response.text
    assert storage.load(MemoryScope("ada")) == before


def test_a_user_id_is_optional_with_a_users_token(call: ApiCall, tea: str) -> None:
    response = call("GET", "facts", token=ADA)

    assert [fact["id"] for fact in response.json()["facts"]] == [tea]


def test_a_user_id_is_required_with_the_administrators_token(call: ApiCall) -> None:
    """The memory without a user must be named: it is called "default"."""
    response = call("GET", "facts", token=ADMIN)

    assert (response.status_code, response.json()["detail"]) == (422, "no user: add ?user_id=... to the URL")


def test_an_agents_memory_is_separate_from_the_shared_one(call: ApiCall, tea: str) -> None:
    call("POST", "facts", json=FACT, user_id="ada", agent_name="Barkeeper")

    shared = call("GET", "document", user_id="ada").json()
    own = call("GET", "document", user_id="ada", agent_name="barkeeper").json()

    assert [fact["content"] for fact in shared["facts"]] == ["Likes tea."]
    assert [fact["content"] for fact in own["facts"]] == ["Likes tea.", "Likes rum."]


@pytest.mark.parametrize("authorization", ["Bearer wrong", "Bearer", f"Basic {ADMIN}", ADMIN, f"Bearer {ADMIN[:-1]}"])
def test_an_invalid_token_is_refused(client: TestClient, authorization: str) -> None:
    response = client.get("/memory/status", headers={"Authorization": authorization})

    assert (response.status_code, response.json()["detail"].partition(":")[0]) == (
        401,
        "send a valid token in the header",
    )


def test_without_configured_tokens_every_request_is_refused_with_the_remedy(storage: MemoryStorage) -> None:
    """An API that is mounted on a server must not be open by accident."""
    with TestClient(create_app(Settings(outbox="memory:"), storage=storage)) as client:
        response = client.get("/memory/document?user_id=ada")

    assert response.status_code == 401
    assert "MEMGRAPH_API_TOKEN" in response.json()["detail"]


def test_an_open_api_needs_no_token(storage: MemoryStorage) -> None:
    app = create_app(Settings(outbox="memory:"), authenticator=Authenticator(is_open=True), storage=storage)
    with TestClient(app) as client:
        response = client.get("/memory/document?user_id=ada")

    assert response.status_code == 200


class OuterServer:
    """A server around the app, which authenticates a user."""

    def __init__(self, app: ASGIApp, user: object) -> None:
        self._app = app
        self._user = user

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app({**scope, "user": self._user}, receive, send)


class StudioUser(SimpleUser):
    """The user that LangGraph Studio connects with."""

    kind = "StudioUser"
    identity = "langgraph-studio-user"


class ServerUser(SimpleUser):
    """A user that the outer server has authenticated."""

    @property
    def identity(self) -> str:
        return self.username


@pytest.mark.parametrize(
    ("user", "status"),
    [(ServerUser("ada"), 200), (ServerUser("bob"), 403), (StudioUser("x"), 401), (UnauthenticatedUser(), 401)],
)
def test_a_user_of_the_outer_server_has_access_to_their_own_memory(
    settings: Settings, storage: MemoryStorage, user: object, status: int
) -> None:
    with TestClient(OuterServer(create_app(settings, storage=storage), user)) as client:
        response = client.get("/memory/document?user_id=ada")

    assert response.status_code == status


def test_a_user_id_is_optional_for_a_user_of_the_outer_server(settings: Settings, storage: MemoryStorage) -> None:
    update_memory(storage, MemoryScope("ada"), lambda memory: add_fact(memory, "Likes tea."))
    with TestClient(OuterServer(create_app(settings, storage=storage), ServerUser("ada"))) as client:
        response = client.get("/memory/document")

    assert [fact["content"] for fact in response.json()["facts"]] == ["Likes tea."]


@pytest.mark.parametrize(
    "headers",
    [
        *({"Host": host} for host in FOREIGN_HOSTS),
        *({"Origin": f"http://{host}"} for host in FOREIGN_HOSTS),
        {"Origin": "null"},
        {"Origin": "file://localhost"},
    ],
    ids=repr,
)
def test_requests_from_pages_of_other_hosts_are_refused(
    settings: Settings, storage: MemoryStorage, headers: dict[str, str]
) -> None:
    """A page can make its own name resolve to the loopback address, or send simple requests there."""
    app = create_app(settings, authenticator=Authenticator(is_open=True), hosts=["localhost", "::1"], storage=storage)
    with TestClient(app, base_url="http://localhost:8765") as client:
        assert client.get("/memory/status").status_code == 200

        response = client.get("/memory/status", headers=headers)

    assert (response.status_code, response.json()["error"]) == (421, "WrongHost")


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:8765", "[::1]", "[::1]:8765"])
def test_requests_under_a_served_name_are_answered(settings: Settings, storage: MemoryStorage, host: str) -> None:
    app = create_app(settings, authenticator=Authenticator(is_open=True), hosts=["localhost", "::1"], storage=storage)
    with TestClient(app, base_url="http://localhost:8765") as client:
        response = client.get("/memory/status", headers={"Host": host, "Origin": f"http://{host}"})

    assert response.status_code == 200


def test_users_cannot_read_the_configuration(call: ApiCall) -> None:
    assert call("GET", "config", token=ADA).status_code == 403
    assert call("GET", "status", token=ADA).json()["service"] is None


def test_the_configuration_contains_no_token(call: ApiCall) -> None:
    responses = call("GET", "config").text + call("GET", "status").text

    assert '"api_max_body_bytes":20000' in responses
    assert not any(token in responses for token in (ADMIN, ADA, BOB))
