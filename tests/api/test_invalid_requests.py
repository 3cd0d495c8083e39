"""Invalid requests are refused with an explanation, before they cost anything."""

from __future__ import annotations

import pytest
from api_tokens import ADMIN, ApiCall
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from memgraph import Fact, MemoryDocument, MemoryStorage, Scope

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=8,
)
PROBLEM = "application/problem+json"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b"[" * 5_000, 400),
        (b'{"content": NaN}', 422),
        (b'{"content": "x", "confidence": NaN}', 422),
        (b'{"content": "x", "confidence": Infinity}', 422),
        (b'{"content": "x", "confidence": true}', 422),
        (b'{"content": "\\ud800"}', 422),
        (b'{"content": "a\\u0000b"}', 422),
        (b'{"content": " "}', 422),
        (b'{"content": "x", "\\ud800": 1}', 422),
        (b'{"content": "x", "{0}": 1}', 422),
        (b'{"content": "x", "sourceError": "y"}', 422),
        (b'{"content": "x", "category": "gossip"}', 422),
        (b'"\xff"', 400),
        (b"", 422),
        (b"null", 422),
    ],
)
def test_an_invalid_fact_is_refused(call: ApiCall, storage: MemoryStorage, body: bytes, status: int) -> None:
    response = call("POST", "facts", content=body, user_id="ada")

    assert (response.status_code, response.headers["Content-Type"]) == (status, PROBLEM)
    assert response.json()["detail"]
    assert storage.load(Scope("ada")).revision == 0


@given(body=JSON, route=st.sampled_from(["facts", "recall", "import", "conversations", "reviews/1"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_causes_a_server_error(call: ApiCall, body: object, route: str) -> None:
    import json

    response = call("POST", route, content=json.dumps(body).encode(), user_id="eve")

    assert response.status_code < 500


@pytest.mark.parametrize(
    ("query", "hint"),
    [
        ({"user_id": "ada", "limt": 3}, "did you mean limit?"),
        ({"user": "ada"}, "did you mean user_id?"),
        ({"user_id": "ada", "limit": 0}, "query.limit"),
        ({"user_id": "ada", "limit": 501}, "query.limit"),
        ({"user_id": "ada", "offset": -1}, "query.offset"),
        ({"user_id": "a\0"}, "control character"),
        ({"user_id": "x" * 257}, "query.user_id"),
        ({"user_id": "ada", "agent_name": "a/b"}, "query.agent_name"),
        ({}, "?user_id="),
    ],
)
def test_the_problem_of_an_invalid_query_explains_it(call: ApiCall, query: dict[str, str | int], hint: str) -> None:
    """A typo must not silently select another memory."""
    response = call("GET", "facts", **query)

    assert (response.status_code, response.headers["Content-Type"]) == (422, PROBLEM)
    assert hint in response.json()["detail"]


def test_the_problem_of_a_misspelt_key_suggests_the_right_one(call: ApiCall) -> None:
    response = call("POST", "recall", json={"mesages": []}, user_id="ada")

    assert response.json()["wrong"] == [{"where": "body", "what": "'mesages' is unknown; did you mean messages?"}]


def test_a_long_body_is_refused_by_its_length_header(call: ApiCall) -> None:
    response = call("POST", "import", content=b" " * 20_001, user_id="ada")

    assert (response.status_code, response.headers["Content-Type"]) == (413, PROBLEM)
    assert "20,000 bytes at most; the setting api_max_body_bytes raises the limit" in response.json()["detail"]


@pytest.mark.parametrize("route", ["import", "facts"])
def test_a_long_body_without_a_length_header_is_refused(client: TestClient, route: str) -> None:
    """As in a chunked request."""
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}

    response = client.post(f"/memory/{route}?user_id=ada", headers=headers, content=iter([b" " * 15_000] * 2))

    assert (response.status_code, response.headers["Content-Type"]) == (413, PROBLEM)


@pytest.mark.parametrize(
    "route", ["POST upkeep", "POST rebuild", "POST updates/retry", "POST history/revert", "DELETE document"]
)
def test_a_body_that_would_be_ignored_is_refused(call: ApiCall, storage: MemoryStorage, route: str) -> None:
    """An upkeep ran although the body asked for a dry run: that is an argument of the query."""
    storage.save(Scope("ada"), MemoryDocument(facts=(Fact(content="Likes tea."),)))

    refused = call(*route.split(), json={"dry_run": True, "thread_id": "t1"}, user_id="ada")

    assert (refused.status_code, "takes no body" in refused.json()["detail"]) == (422, True)
    assert storage.load(Scope("ada")).revision == 1


@pytest.mark.parametrize("route", ["import", "facts", "recall", "conversations", "reviews/change_1"])
@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/octet-stream"])
def test_content_types_that_any_page_can_send_are_refused(client: TestClient, kind: str, route: str) -> None:
    """A browser sends them across origins without a preflight request."""
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": kind}

    response = client.post(f"/memory/{route}?user_id=ada", headers=headers, content=b'{"facts": []}')

    assert (response.status_code, response.json()["error"]) == (415, "UnsupportedMediaType")
    assert "Content-Type: application/json" in response.json()["detail"]


def test_the_problem_of_a_wrong_method_names_all_that_are_possible(call: ApiCall) -> None:
    assert call("PUT", "facts", user_id="ada").headers["Allow"] == "GET, POST"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "nothing", 404), ("PUT", "document", 405), ("GET", "facts/a%0Ab", 404), ("GET", "../elsewhere", 404)],
)
def test_unknown_routes_are_answered_with_a_problem(call: ApiCall, method: str, path: str, status: int) -> None:
    response = call(method, path)

    assert (response.status_code, response.headers["Content-Type"]) == (status, PROBLEM)
