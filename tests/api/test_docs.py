"""The page at /memory/docs, and the headers of every answer."""

from __future__ import annotations

import re

import pytest
from starlette.testclient import TestClient


@pytest.mark.parametrize("path", ["/memory/docs", "/memory/docs.js"])
def test_the_documentation_loads_nothing_from_another_host(client: TestClient, path: str) -> None:
    """A server may have no internet, and a script of another host could read tokens."""
    response = client.get(path)

    assert response.status_code == 200
    assert not re.search(r"https?:|//[a-z]", response.text.replace("// Renders", ""))
    assert response.headers["content-security-policy"].startswith("default-src 'self'")


def test_the_page_refers_to_its_script_and_its_data(client: TestClient) -> None:
    page = client.get("/memory/docs")

    assert page.headers["content-type"].startswith("text/html")
    for name in re.findall(r'(?:src|href)="(.*?)"', page.text):
        assert client.get(f"/memory/{name}").status_code == 200
    assert 'src="docs.js"' in page.text


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/memory/docs", 200),
        ("/memory/openapi.json", 200),
        ("/memory/document?user_id=ada", 401),
        ("/memory/nothing", 401),
        ("/elsewhere", 404),
    ],
)
def test_every_answer_forbids_guessing_its_type(client: TestClient, path: str, status: int) -> None:
    """Memories contain text of any origin."""
    response = client.get(path)

    assert (response.status_code, response.headers["x-content-type-options"]) == (status, "nosniff")
