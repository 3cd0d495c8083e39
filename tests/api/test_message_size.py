"""A message of more than 1 MB is refused before its body is parsed."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from api_tokens import ADA
from starlette.testclient import TestClient

from memgraph import MemoryStorage, Settings
from memgraph.api import create_app
from memgraph.api.middleware import MAX_MESSAGE_BYTES


@pytest.fixture
def large(settings: Settings, storage: MemoryStorage) -> TestClient:
    """A client of an app with the default limit of a body."""
    default = Settings.model_fields["api_max_body_bytes"].default
    app = create_app(settings.model_copy(update={"api_max_body_bytes": default}), storage=storage)
    headers = {"Authorization": f"Bearer {ADA}", "Content-Type": "application/json"}
    return TestClient(app, base_url="http://api/memory/", headers=headers)


def post(client: TestClient, path: str, messages: list[dict[str, Any]]) -> int:
    body = json.dumps({"messages": messages}, ensure_ascii=False).encode()
    return client.post(path, content=body).status_code


@pytest.mark.parametrize("path", ["conversations", "recall"])
@pytest.mark.parametrize("text", ["a" * MAX_MESSAGE_BYTES, "\u4e2d" * 400_000], ids=["letters", "Chinese"])
def test_a_message_of_more_than_a_megabyte_is_refused(large: TestClient, path: str, text: str) -> None:
    assert post(large, path, [{"role": "user", "content": f"{text}x"}]) == 413


def test_a_text_in_a_content_block_counts(large: TestClient) -> None:
    block = {"type": "text", "text": "a" * (MAX_MESSAGE_BYTES + 1)}

    assert post(large, "conversations", [{"role": "user", "content": [block]}]) == 413


def test_the_texts_of_all_its_content_blocks_count(large: TestClient) -> None:
    blocks = [{"type": "text", "text": "a" * (MAX_MESSAGE_BYTES // 3)}] * 4

    assert post(large, "conversations", [{"role": "user", "content": blocks}]) == 413


def test_it_is_refused_before_it_is_parsed(large: TestClient) -> None:
    """Invalid JSON is a 400 once it is parsed."""
    body = b'{"messages": ["' + b"a" * (MAX_MESSAGE_BYTES + 1) + b'", nonsense'

    assert large.post("conversations", content=body).status_code == 413


def test_several_messages_may_have_more(large: TestClient) -> None:
    """Only the limit of a body bounds their sum."""
    quoted = 'I said: "tea", not "coffee". \\ '
    messages = [{"role": "assistant", "content": quoted * 10_000}, {"role": "user", "content": "Thanks."}] * 5

    assert post(large, "conversations", messages) == 202


def test_a_conversation_to_try_on_the_page_has_a_megabyte_at_most(settings: Settings, storage: MemoryStorage) -> None:
    app = create_app(settings.model_copy(update={"api_max_body_bytes": 10_000_000}), storage=storage)
    with TestClient(app, base_url="http://api/memory/", headers={"Authorization": f"Bearer {ADA}"}) as browser:
        csrf = re.findall(r'"X-CSRF-Token": "(\w+)"', browser.get("page/chat").text)[0]

        file = ("a.txt", b"User: " + b"a" * MAX_MESSAGE_BYTES)
        answer = browser.post("page/try", headers={"X-CSRF-Token": csrf}, files={"file": file})

    assert (answer.status_code, "1,000,000 bytes" in answer.text) == (413, True)


@pytest.mark.parametrize("depth", [400, 600, 5_000])
def test_a_message_that_is_nested_too_deeply_is_refused(large: TestClient, depth: int) -> None:
    """The blocks are read one within the other."""
    nested = '{"a": [' * depth + '"tea"' + "]}" * depth
    body = f'{{"messages": [{{"role": "user", "content": [{{"type": "json", "data": {nested}}}]}}]}}'

    assert large.post("conversations", content=body.encode()).status_code in {400, 422}
