"""Logs outlive an erasure, so they name no user."""

from __future__ import annotations

import logging

import pytest
from api_tokens import ADMIN
from starlette.testclient import TestClient

from memgraph import RevisionConflictError, Scope, Settings, StorageError
from memgraph.api import create_app
from memgraph.storage import MemoryStorage

CANARY = "canary-0b5e@example.org"
CONVERSATION = {"messages": [{"role": "user", "content": "I live in Paris."}], "thread_id": "t1"}
FAILURES = {
    "nothing": None,
    "storage": StorageError("the disk is full"),
    "conflict": RevisionConflictError(Scope(CANARY), 1),
}


@pytest.mark.parametrize("failure", FAILURES)
@pytest.mark.parametrize("changes", [{}, {"review": "always"}, {"model_name": "no-such-provider:x"}], ids=repr)
def test_no_record_at_info_names_the_user(
    settings: Settings,
    storage: MemoryStorage,
    changes: dict[str, str],
    failure: str,
    *,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Of any library, with its fields and its traceback; the digest tells users apart."""
    caplog.set_level(logging.INFO)
    error = FAILURES[failure]
    headers = {"Authorization": f"Bearer {ADMIN}", "If-Match": "*"}
    app = create_app(settings.model_copy(update=changes), storage=storage)
    with TestClient(app, base_url="http://api/memory/", headers=headers, raise_server_exceptions=False) as client:
        client.post("conversations", params={"user_id": CANARY}, json=CONVERSATION)
        if error:
            monkeypatch.setattr(storage, "save", lambda *_: (_ for _ in ()).throw(error))
        app.services.memory.invoker.flush(timeout=30)
        for method, path in (
            ("GET", "document"),
            ("POST", "upkeep"),
            ("POST", "updates/retry"),
            ("DELETE", "document"),
        ):
            client.request(method, path, params={"user_id": CANARY})
        client.post("facts", params={"user_id": CANARY}, json={"content": "Likes tea."})

    ours = [record for record in caplog.records if record.name.startswith("memgraph")]
    formatter = logging.Formatter("%(message)s %(memgraph)s", defaults={"memgraph": ""})
    assert ours
    assert [line for line in map(formatter.format, ours) if CANARY in line] == []
    assert any(Scope(CANARY).log_name.removeprefix("user ") in line for line in map(formatter.format, ours))
