"""The routes about memories, as clients see them."""

from __future__ import annotations

import json

import pytest
from api_tokens import ADA, ApiCall
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.testclient import TestClient

from memgraph import Fact, MemoryDocument, MemoryStorage, Scope, Settings
from memgraph.api import create_app
from memgraph.editing import add_fact, update_memory
from memgraph.history.rebuild import RebuildProgress, rebuild_scope, with_progress
from memgraph.storage import open_storage

ME = Scope("ada")
ODD_IDS = ["a/b", "..", ".", "%2F", "李雷", "a&b=c#d?e", " a ", "😀", "x" * 256]


@pytest.mark.parametrize("user_id", ODD_IDS)
def test_any_user_id_reaches_the_route_unchanged(call: ApiCall, storage: MemoryStorage, user_id: str) -> None:
    """In a path, `/` and `..` would select another user."""
    call("POST", "facts", json={"content": "Likes tea."}, user_id=user_id)

    assert list(storage.scopes()) == [Scope(user_id)]
    assert call("GET", "facts", user_id=user_id).json()["total"] == 1


@given(user_id=st.text(max_size=300))
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_id_is_taken_as_it_is_or_refused(call: ApiCall, user_id: str) -> None:
    response = call("GET", "document", user_id=user_id)

    assert response.status_code in {200, 422}


@pytest.mark.parametrize("fact_id", ["a/b", "x y", "ü", "a?b", "a%b"])
def test_a_fact_of_any_id_has_a_url(call: ApiCall, storage: MemoryStorage, fact_id: str) -> None:
    """Imported facts keep ids of any form."""
    from urllib.parse import quote

    storage.save(ME, MemoryDocument(facts=(Fact(id=fact_id, content="Likes tea."),)))

    response = call("DELETE", f"facts/{quote(fact_id, safe='')}", if_match="*", user_id="ada")

    assert response.json()["fact"]["id"] == fact_id
    assert storage.load(ME).facts == ()


def test_an_export_is_the_stored_document(call: ApiCall, storage: MemoryStorage) -> None:
    """Unknown keys are included."""
    stored = storage.save(
        ME, MemoryDocument.model_validate({"facts": [{"content": "喜欢茶", "mood": "good"}], "extra": 1})
    )

    response = call("GET", "export", user_id="ada")

    assert MemoryDocument.model_validate_json(response.content) == stored
    assert (response.json()["extra"], response.json()["facts"][0]["mood"]) == (1, "good")
    assert "attachment" in response.headers["Content-Disposition"]


def test_facts_are_listed_in_pages(call: ApiCall, storage: MemoryStorage) -> None:
    facts = tuple(Fact(id=f"f{n}", content=f"Fact {n}", category="goal" if n % 2 else "context") for n in range(7))
    storage.save(ME, MemoryDocument(facts=facts))

    first = call("GET", "facts", user_id="ada", limit=2, category="goal").json()
    rest = call("GET", "facts", user_id="ada", limit=2, category="goal", offset=first["next_offset"]).json()

    assert [fact["id"] for fact in (*first["facts"], *rest["facts"])] == ["f1", "f3", "f5"]
    assert (first["total"], rest["next_offset"]) == (3, None)


def test_a_changed_fact_becomes_manual(call: ApiCall, tea: str) -> None:
    changed = call("PATCH", f"facts/{tea}", if_match="*", json={"category": "preference"}, user_id="ada").json()

    assert (changed["fact"]["content"], changed["fact"]["category"]) == ("Likes tea.", "preference")
    assert changed["fact"]["source"] == "manual"


def test_an_unknown_fact_id_is_not_found(call: ApiCall, tea: str) -> None:
    """No other fact that is spelled alike is proposed: it would be deleted by mistake."""
    response = call("PATCH", f"facts/{tea[:-1]}", if_match="*", json={"content": "x"}, user_id="ada")

    assert response.status_code == 404
    assert tea not in response.json()["detail"].replace(f"'{tea[:-1]}'", "")


def test_a_summary_is_replaced_and_removed(call: ApiCall, storage: MemoryStorage) -> None:
    response = call("PUT", "summaries/topOfMind", if_match="*", json={"summary": " Moving to Lyon. "}, user_id="ada")
    assert response.json()["section"]["summary"] == "Moving to Lyon."

    call("PUT", "summaries/topOfMind", if_match="*", json={"summary": ""}, user_id="ada")

    assert storage.load(ME).section("top_of_mind").summary == ""


def test_a_long_summary_is_refused_and_not_cut(call: ApiCall) -> None:
    response = call("PUT", "summaries/topOfMind", if_match="*", json={"summary": "word " * 1_500}, user_id="ada")

    assert response.status_code == 422
    assert "at most 1,000 tokens" in response.json()["detail"]


def test_recall_returns_the_text_and_its_facts(call: ApiCall, tea: str) -> None:
    messages = [{"role": "user", "content": "What do I drink?"}, "tea, I think"]

    response = call("POST", "recall", json={"messages": messages}, user_id="ada").json()

    assert "Likes tea." in response["text"]
    assert [entry["fact"]["id"] for entry in response["facts"]] == [tea]
    assert 0 < response["tokens"] <= 2_000


def test_disabled_memory_recalls_nothing_and_refuses_conversations(settings: Settings, storage: MemoryStorage) -> None:
    """A conversation must not be lost silently."""
    update_memory(storage, ME, lambda memory: add_fact(memory, "Likes tea."))
    off = settings.model_copy(update={"enabled": False})
    with TestClient(create_app(off, storage=storage), headers={"Authorization": f"Bearer {ADA}"}) as client:
        recalled = client.post("/memory/recall", json={})
        submitted = client.post("/memory/conversations", json={"messages": [{"role": "user", "content": "Hi!"}]})

    assert recalled.json()["text"] == ""
    assert (submitted.status_code, submitted.json()["error"]) == (409, "MemoryOff")


def test_an_invalid_document_changes_nothing(call: ApiCall, storage: MemoryStorage, tea: str) -> None:
    """It is validated as a whole first: nothing is imported, and no backup is made."""
    before = storage.load(ME)
    broken = b'{"facts": [{"content": "Good."}, 7]}'

    responses = [
        call("POST", "import", content=data, if_match="*", mode="replace", user_id="ada")
        for data in (broken, b"{", b"[]", b"{}", b"\xff")
    ]

    assert [response.status_code for response in responses] == [422] * 5
    assert storage.load(ME) == before
    assert call("GET", "backups", user_id="ada").json() == {"backups": []}


def test_a_backup_restores_what_an_import_replaced(call: ApiCall, storage: MemoryStorage, tea: str) -> None:
    before = storage.load(ME)
    name = call("POST", "import", json={"facts": ["Knows Go."]}, if_match="*", mode="replace", user_id="ada").json()[
        "backup"
    ]

    backup = call("GET", f"backups/{name}", user_id="ada").content
    call("POST", "import", content=backup, if_match="*", mode="replace", trusted="true", user_id="ada")

    assert storage.load(ME).facts == before.facts


def test_merging_keeps_existing_facts(call: ApiCall, storage: MemoryStorage, tea: str) -> None:
    response = call("POST", "import", json={"facts": ["Knows Go.", "likes TEA."]}, user_id="ada").json()

    assert response["counts"]["added"] == 1
    assert [fact.content for fact in storage.load(ME).facts] == ["Likes tea.", "Knows Go."]
    assert response["backup"] is not None


@pytest.mark.parametrize("mode", ["merge", "replace"])
def test_an_import_brings_no_manual_facts_and_watermarks_unless_it_is_trusted(
    call: ApiCall, storage: MemoryStorage, mode: str
) -> None:
    """Learning never corrects a manual fact, and skips the messages before a watermark."""
    document = {"facts": [{"content": "Likes tea.", "source": "manual"}], "threads": {"t1": {"lastMessageId": "m1"}}}

    call("POST", "import", json=document, if_match="*", mode=mode, user_id="ada")
    call("POST", "import", json=document, if_match="*", mode=mode, user_id="bob", trusted="true")

    loaded = [storage.load(Scope(user)) for user in ("ada", "bob")]
    assert [(memory.facts[0].source, [*memory.threads]) for memory in loaded] == [("unknown", []), ("manual", ["t1"])]


def test_an_import_that_changes_nothing_makes_no_backup(call: ApiCall, tea: str) -> None:
    assert call("POST", "import", json={"facts": ["Likes tea."]}, user_id="ada").json()["backup"] is None


def test_backups_belong_to_their_memory_and_names_cannot_leave_the_folder(call: ApiCall, tea: str) -> None:
    name = call("POST", "import", json={"facts": ["Knows Go."]}, user_id="ada").json()["backup"]

    responses = [
        call("GET", f"backups/{name}", user_id="bob"),
        call("GET", f"backups/{name}", user_id="ada", agent_name="x"),
        call("GET", "backups/..%2F..%2Fmemory.json", user_id="ada"),
        call("GET", "backups/memory.json", user_id="ada"),
    ]

    assert [response.status_code for response in responses] == [404] * 4


def test_old_backups_are_deleted(call: ApiCall) -> None:
    for number in range(24):
        call("POST", "import", json={"facts": [f"Fact {number}"]}, user_id="ada")

    backups = call("GET", "backups", user_id="ada").json()["backups"]

    assert len(backups) == 20
    assert [backup["name"] for backup in backups] == sorted((backup["name"] for backup in backups), reverse=True)


def test_deleting_a_memory_deletes_its_copies(call: ApiCall, storage: MemoryStorage, tea: str) -> None:
    """Deleted data must not survive in a backup, nor in what an unfinished rebuild has learned."""
    call("POST", "import", json={"facts": ["Knows Go."]}, user_id="ada")
    storage.save(
        rebuild_scope(ME),
        with_progress(MemoryDocument(facts=(Fact(content="Likes tea."),)), RebuildProgress(model="m")),
    )

    response = call("DELETE", "document", if_match="*", user_id="ada")

    assert response.json()["revision"] == storage.load(ME).revision
    assert storage.load(ME).is_empty
    assert list(storage.scopes()) == []
    assert call("GET", "backups", user_id="ada").json() == {"backups": []}


def test_the_path_of_a_damaged_document_is_shown_to_administrators_only(
    settings: Settings, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Users must not see paths of the server."""
    folder = tmp_path_factory.mktemp("memories")
    (folder / "users/ada").mkdir(parents=True)
    (folder / "users/ada/memory.json").write_text("{")
    app = create_app(settings, storage=open_storage(f"file:{folder}"))
    with TestClient(app) as client:
        for_admin = client.get("/memory/document?user_id=ada", headers={"Authorization": "Bearer administrator-token"})
        for_user = client.get("/memory/document", headers={"Authorization": f"Bearer {ADA}"})

    assert for_admin.status_code == for_user.status_code == 500
    assert str(folder) in for_admin.json()["detail"]
    assert str(folder) not in for_user.text


def test_mounting_the_app_does_not_replace_names_of_the_server(settings: Settings) -> None:
    """In LangGraph Server's OpenAPI document, a mounted app's schemas replace those of the same name."""
    app = create_app(settings)

    document = app.openapi()

    assert all(path.startswith("/memory/") for path in document["paths"])
    assert all(name.startswith("Memgraph") for name in document["components"]["schemas"])
    references = {part.split('"')[0] for part in json.dumps(document).split('"$ref": "#/components/schemas/')[1:]}
    assert references <= set(document["components"]["schemas"])
    assert app.user_middleware == []
    assert app.exception_handlers == {}
