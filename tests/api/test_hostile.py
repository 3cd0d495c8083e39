"""Bad requests are told what is wrong with them, and cost nothing."""

from __future__ import annotations

import pytest
from api_tokens import ALL, Ask
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from memgraph import MemoryStorage, Scope

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
def test_a_bad_fact_is_refused(ask: Ask, storage: MemoryStorage, body: bytes, status: int) -> None:
    answer = ask("POST", "facts", content=body, user_id="ada")

    assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM)
    assert answer.json()["detail"]
    assert storage.load(Scope("ada")).revision == 0


@given(body=JSON, route=st.sampled_from(["facts", "recall", "import", "conversations", "reviews/1"]))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_json_breaks_a_route(ask: Ask, body: object, route: str) -> None:
    import json

    answer = ask("POST", route, content=json.dumps(body).encode(), user_id="eve")

    assert answer.status_code < 500


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
def test_a_wrong_query_is_explained(ask: Ask, query: dict[str, str | int], hint: str) -> None:
    """A typo must not quietly read another memory."""
    answer = ask("GET", "facts", **query)

    assert (answer.status_code, answer.headers["Content-Type"]) == (422, PROBLEM)
    assert hint in answer.json()["detail"]


def test_a_misspelt_key_is_named(ask: Ask) -> None:
    answer = ask("POST", "recall", json={"mesages": []}, user_id="ada")

    assert answer.json()["wrong"] == [{"where": "body", "what": "'mesages' is unknown; did you mean messages?"}]


def test_a_long_body_is_refused_before_it_is_read(ask: Ask) -> None:
    answer = ask("POST", "import", content=b" " * 20_001, user_id="ada")

    assert (answer.status_code, answer.headers["Content-Type"]) == (413, PROBLEM)
    assert "20,000 bytes; api_max_body_bytes raises that" in answer.json()["detail"]


@pytest.mark.parametrize("route", ["import", "facts"])
def test_a_long_body_that_does_not_say_so_is_refused(client: TestClient, route: str) -> None:
    """Chunked, it comes without its length."""
    headers = {"Authorization": f"Bearer {ALL}", "Content-Type": "application/json"}

    answer = client.post(f"/memory/{route}?user_id=ada", headers=headers, content=iter([b" " * 15_000] * 2))

    assert (answer.status_code, answer.headers["Content-Type"]) == (413, PROBLEM)


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "application/octet-stream"])
def test_what_a_page_may_send_unasked_is_no_document(client: TestClient, kind: str) -> None:
    """A browser sends these kinds for any page, without asking first."""
    headers = {"Authorization": f"Bearer {ALL}", "Content-Type": kind}

    answer = client.post("/memory/import?user_id=ada", headers=headers, content=b'{"facts": []}')

    assert answer.status_code == 415


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "nothing", 404), ("PUT", "document", 405), ("GET", "facts/a%0Ab", 404), ("GET", "../", 404)],
)
def test_what_there_is_not_is_a_problem_too(ask: Ask, method: str, path: str, status: int) -> None:
    answer = ask(method, path)

    assert (answer.status_code, answer.headers["Content-Type"]) == (status, PROBLEM)
